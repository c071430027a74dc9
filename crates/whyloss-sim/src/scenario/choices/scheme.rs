//! Schemes by name: a classifier, a controller and a policy at once.

use whyloss::{iftp, scheme};

use crate::decider::Decider;
use crate::decider::SenderDecider;
use crate::scenario::error::{Fault, suggest};
use crate::scenario::fields::{Field, code};

/// A scheme of a flow over `transport`. IFTP's has no controller but IFTP.
pub(super) enum Chosen {
    /// One with a window, for TCP and QUIC.
    Windowed(Box<scheme::Scheme>),
    Iftp(SenderDecider),
}

pub(super) fn chosen(field: &Field<'_>, transport: &str) -> Result<Chosen, Fault> {
    let known: Vec<&str> = match transport {
        "iftp" => iftp::REGISTRY.iter().map(|entry| entry.id).collect(),
        _ => scheme::REGISTRY.iter().map(|entry| entry.id).collect(),
    };
    let name = field.name_of(r#"a scheme, such as "newreno-lp""#, known)?;
    let refused = |error: whyloss::registry::ParameterError| field.fault(error.to_string());
    match (transport, scheme::find(name), iftp::find(name)) {
        ("tcp" | "quic", Some(entry), _) => {
            let scheme = entry.build(&[]).map_err(refused)?;
            Ok(Chosen::Windowed(Box::new(scheme)))
        }
        ("iftp", _, Some(entry)) => {
            let classifier = entry.build(&[]).map_err(refused)?;
            Ok(Chosen::Iftp(Decider::of(classifier)))
        }
        ("tcp" | "quic", None, Some(_)) => Err(elsewhere(field, name, "iftp", transport)),
        ("iftp", Some(_), None) => Err(elsewhere(field, name, "tcp` and `quic", transport)),
        ("tcp" | "quic", None, None) => {
            Err(unknown(field, name, scheme::REGISTRY.iter().map(|e| e.id)))
        }
        ("iftp", None, None) => Err(unknown(field, name, iftp::REGISTRY.iter().map(|e| e.id))),
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
