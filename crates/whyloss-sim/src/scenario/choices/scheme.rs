//! Schemes by name: a classifier, a controller and a policy at once.

use whyloss::registry::ParameterError;
use whyloss::schemes::{IDEAL, IFTP, REGISTRY, Scheme};

use crate::decider::{Decider, SenderDecider};
use crate::scenario::error::{Fault, suggest};
use crate::scenario::fields::{Field, code};

/// A scheme of a flow over `transport`. IFTP's has no controller but IFTP.
pub(super) enum Chosen {
    /// One with a window, for TCP and QUIC.
    Windowed(Box<Scheme<SenderDecider>>),
    Iftp(SenderDecider),
}

/// Ids of the schemes with a window, the ideal ones last.
pub(super) fn windowed() -> impl Iterator<Item = &'static str> + Clone {
    let ideal = IDEAL.iter().map(|entry| entry.id);
    REGISTRY.iter().map(|entry| entry.id).chain(ideal)
}

/// The scheme with a window of this name.
fn find(name: &str) -> Option<Result<Scheme<SenderDecider>, ParameterError>> {
    let real = REGISTRY.iter().find(|entry| entry.id == name);
    let real = real.map(|entry| entry.build(&[]).map(|s| s.map(Decider::of)));
    real.or_else(|| {
        let ideal = IDEAL.iter().find(|entry| entry.id == name)?;
        Some(ideal.build(&[]).map(|s| s.map(Decider::Oracle)))
    })
}

pub(super) fn chosen(field: &Field<'_>, transport: &str) -> Result<Chosen, Fault> {
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
            Ok(Chosen::Windowed(Box::new(scheme.map_err(refused)?)))
        }
        ("iftp", _, Some(entry)) => {
            let scheme = entry.build(&[]).map_err(refused)?;
            Ok(Chosen::Iftp(Decider::of(scheme.classifier)))
        }
        ("tcp" | "quic", None, Some(_)) => Err(elsewhere(field, name, "iftp", transport)),
        ("iftp", Some(_), None) => Err(elsewhere(field, name, "tcp` and `quic", transport)),
        ("tcp" | "quic", None, None) => Err(unknown(field, name, windowed())),
        ("iftp", None, None) => Err(unknown(field, name, of_iftp())),
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
