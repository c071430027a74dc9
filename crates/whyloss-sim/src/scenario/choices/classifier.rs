//! Reads a classifier by its name in the registry, with its parameters.

use super::{Choice, own};
use crate::decider::{Decider, Known, Unaware};
use crate::registry::{Labelled, Registry};
use crate::scenario::error::Fault;
use crate::scenario::fields::Field;

/// Returns the entry of `known` with the given name; without a name, the decider of a transport
/// without a classifier.
pub(super) fn decider<C: Unaware, O, X: Labelled>(
    field: Option<&Field<'_>>,
    known: &Known<'_, C, O, X>,
    registry: &Registry,
) -> Result<Decider<C, O, X>, Fault> {
    let Some(field) = field else {
        return Ok(Decider::unaware());
    };
    let expected = r#"a classifier, such as "zigzag" or { name = "mbiaz", upper = 1.25 }"#;
    let ids: Vec<&str> = known.lines().map(|line| line.id).collect();
    let choice = Choice::of(field, "classifier", expected, &ids)?;
    let unknown = || {
        elsewhere(&choice, registry)
            .unwrap_or_else(|| choice.unknown("classifier", known.lines().map(|line| line.id)))
    };
    let line = known.find(choice.name).ok_or_else(unknown)?;
    let values = own::values(&choice, &line)?;
    let built = known.build(line.id, &values).ok_or_else(unknown)?;
    built.map_err(|error| field.fault(error.to_string()))
}

/// Returns the fault if the name is that of a classifier of the other end.
fn elsewhere(choice: &Choice<'_>, registry: &Registry) -> Option<Fault> {
    let name = choice.name;
    let of = (
        registry.receivers().find(name).is_some(),
        registry.senders().find(name).is_some(),
    );
    let (whose, flows, here) = match of {
        (true, _) => ("a receiver's", "`tfrc`", "its sender"),
        (_, true) => ("a sender's", "`tcp`, `quic` and `iftp`", "its receiver"),
        _ => return None,
    };
    Some(choice.field.fault(format!(
        "`{name}` is {whose} classifier, for {flows} flows; this flow has one at {here}: `whyloss list` names them"
    )))
}
