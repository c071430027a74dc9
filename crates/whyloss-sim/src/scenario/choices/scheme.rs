//! Reads a scheme, which combines a classifier, a controller and a policy, by its name.

use whyloss::congestion::{ControllerKind, ControllerSpec};
use whyloss::registry::ParameterError;
use whyloss::schemes::{IDEAL, IFTP, REGISTRY, Scheme};

use super::own::own;
use crate::decider::{Decider, SenderDecider};
use crate::registry::{OutsideController, OutsideScheme, Registry, SchemeController};
use crate::scenario::error::{Fault, suggest};
use crate::scenario::fields::{Field, code};

/// The scheme of a flow. A scheme of IFTP has no other controller.
pub(super) enum Chosen {
    /// A scheme with a window, for TCP and QUIC.
    Windowed(Box<Windowed>),
    Iftp(SenderDecider),
}

/// A scheme with a window.
pub(super) struct Windowed {
    /// The controller and its policy.
    pub(super) spec: ControllerSpec,
    /// A controller from outside, which replaces the kind in `spec`.
    pub(super) outside: Option<OutsideController>,
    /// The decider of the causes of losses.
    pub(super) classifier: SenderDecider,
}

impl From<Scheme<SenderDecider>> for Windowed {
    fn from(scheme: Scheme<SenderDecider>) -> Self {
        Self {
            spec: scheme.controller,
            outside: None,
            classifier: scheme.classifier,
        }
    }
}

impl From<OutsideScheme> for Windowed {
    fn from(scheme: OutsideScheme) -> Self {
        let (kind, outside) = match scheme.controller {
            SchemeController::Ours(kind) => (kind, None),
            SchemeController::Outside(outside) => (ControllerKind::default(), Some(outside)),
        };
        let wireless = scheme.wireless;
        Self {
            spec: ControllerSpec { kind, wireless },
            outside,
            classifier: scheme.classifier,
        }
    }
}

/// Returns the built-in scheme with a window of this name.
fn find(name: &str) -> Option<Result<Scheme<SenderDecider>, ParameterError>> {
    let real = REGISTRY.iter().find(|entry| entry.id == name);
    let real = real.map(|entry| entry.build(&[]).map(|s| s.map(Decider::of)));
    real.or_else(|| {
        let ideal = IDEAL.iter().find(|entry| entry.id == name)?;
        Some(ideal.build(&[]).map(|s| s.map(Decider::Oracle)))
    })
}

pub(super) fn chosen(
    field: &Field<'_>,
    transport: &str,
    registry: &Registry,
) -> Result<Chosen, Fault> {
    let takes = matches!(transport, "tcp" | "quic");
    if takes && let Some(scheme) = own(field, "scheme", registry.own_schemes())? {
        return Ok(Chosen::Windowed(Box::new(scheme.into())));
    }
    let windowed = || registry.schemes().map(|line| line.id);
    let of_iftp = || IFTP.iter().map(|entry| entry.id);
    let known: Vec<&str> = match transport {
        "iftp" => of_iftp().collect(),
        _ => windowed().collect(),
    };
    let name = field.name_of(r#"a scheme, such as "newreno-lp""#, known)?;
    let refused = |error: ParameterError| field.fault(error.to_string());
    let iftp = IFTP.iter().find(|entry| entry.id == name);
    match (transport, find(name), iftp) {
        ("tcp" | "quic", Some(scheme), _) => {
            let scheme = scheme.map_err(refused)?;
            Ok(Chosen::Windowed(Box::new(scheme.into())))
        }
        ("iftp", _, Some(entry)) => {
            let scheme = entry.build(&[]).map_err(refused)?;
            Ok(Chosen::Iftp(Decider::of(scheme.classifier)))
        }
        ("tcp" | "quic", None, Some(_)) => Err(elsewhere(field, name, "iftp", transport)),
        ("iftp", _, None) if windowed().any(|id| id == name) => {
            Err(elsewhere(field, name, "tcp` and `quic", transport))
        }
        ("tcp" | "quic", None, None) => Err(unknown(field, name, windowed())),
        ("iftp", _, None) => Err(unknown(field, name, of_iftp())),
        _ => Err(field.fault(format!(
            "only a `tcp`, `quic` or `iftp` flow has a scheme; this one is `{transport}`"
        ))),
    }
}

fn unknown<'k>(
    field: &Field<'_>,
    name: &str,
    known: impl Iterator<Item = &'k str> + Clone,
) -> Fault {
    let hint = suggest(name, known);
    field.fault(format!("no scheme is called {}{hint}", code(name)))
}

fn elsewhere(field: &Field<'_>, name: &str, of: &str, transport: &str) -> Fault {
    field.fault(format!(
        "{} is a scheme of `{of}` flows; this one is `{transport}`",
        code(name)
    ))
}
