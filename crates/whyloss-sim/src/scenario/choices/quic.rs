//! Reads the parameters of a QUIC flow: the protocol engine and its congestion controller.

use whyloss::congestion::{self, ControllerSpec, WirelessPolicy};

use super::scheme::Windowed;
use super::{Choice, tcp};
use crate::host::quic::{Controller, Options, Own, Stack};
use crate::registry::Registry;
use crate::scenario::error::{Fault, suggest};
use crate::scenario::fields::{Field, code};

pub(super) const KEYS: [&str; 3] = ["stack", "controller", "wireless"];

const OWN: [(&str, Own); 3] = [
    ("stack-newreno", Own::NewReno),
    ("stack-cubic", Own::Cubic),
    ("stack-bbr", Own::Bbr),
];

/// Reads the fields of [`Options`].
pub(super) fn options(
    choice: &Choice<'_>,
    scheme: Option<&Windowed>,
    classified: bool,
    registry: &Registry,
) -> Result<Options, Fault> {
    choice.only(&KEYS)?;
    let stack = choice
        .need("stack", r#"whose protocol engine, "quinn" or "noq""#)?
        .one_of(&[("quinn", Stack::Quinn), ("noq", Stack::Noq)])?;
    let base = match scheme {
        Some(scheme) if scheme.outside.is_some() => {
            return Err(choice.field.fault(
                "a `quic` flow takes only controllers that are built in; the scheme's is from outside",
            ));
        }
        Some(scheme) => Controller::Ours(scheme.spec),
        None => Controller::Own(Own::Cubic),
    };
    let controller = choice.or("controller", base, |field| controller(field, registry))?;
    let policy = choice
        .get("wireless")
        .map(|field| tcp::wireless(&field).map(|policy| (field, policy)));
    let policy = policy.transpose()?;
    let controller = match (controller, policy) {
        (Controller::Own(_), Some((field, _))) if !choice.is_probe() => {
            return Err(field.fault(
                "the stack's own controllers call every loss congestion; name one of ours as `controller`",
            ));
        }
        (Controller::Own(_), None) if classified && !choice.is_probe() => {
            return Err(choice.field.fault(
                "the stack's own controllers ask no classifier; name one of ours as `controller`, such as \"cubic\"",
            ));
        }
        (Controller::Own(own), _) => Controller::Own(own),
        (Controller::Ours(spec), policy) => Controller::Ours(ControllerSpec {
            wireless: policy.map_or_else(
                || scheme.map_or(WirelessPolicy::default(), |scheme| scheme.spec.wireless),
                |(_, policy)| policy,
            ),
            ..spec
        }),
    };
    Ok(Options { stack, controller })
}

fn controller(field: &Field<'_>, registry: &Registry) -> Result<Controller, Fault> {
    let expected =
        r#"a controller, such as "cubic", or one of the stack's own, such as "stack-cubic""#;
    let ours = congestion::REGISTRY.iter().map(|entry| entry.id);
    let ids: Vec<&str> = OWN.iter().map(|own| own.0).chain(ours).collect();
    let name = field.name_of(expected, ids.iter().copied())?;
    if let Some((_, own)) = OWN.iter().find(|own| own.0 == name) {
        return Ok(Controller::Own(*own));
    }
    let Some(entry) = congestion::find(name) else {
        if registry.controllers().any(|line| line.id == name) {
            let message = format!(
                "a `quic` flow takes only controllers that are built in; `{name}` is from outside"
            );
            return Err(field.fault(message));
        }
        let hint = suggest(name, ids);
        return Err(field.fault(format!("no controller is called {}{hint}", code(name))));
    };
    let kind = entry.build(&[]);
    let kind = kind.map_err(|error| field.fault(error.to_string()))?;
    Ok(Controller::Ours(ControllerSpec {
        kind,
        wireless: WirelessPolicy::default(),
    }))
}
