//! Classifiers by name: whatever the registry lists, with the parameters it lists.

use whyloss::registry::Parameter;

use super::Choice;
use crate::decider::{Decider, Family, RECEIVERS, SENDERS, Unaware};
use crate::scenario::error::Fault;
use crate::scenario::fields::Field;

/// What `family` calls by the name that is given; without a name, what a transport without a classifier does.
pub(super) fn decider<C: Unaware, O, X>(
    field: Option<&Field<'_>>,
    family: &'static Family<C, O, X>,
) -> Result<Decider<C, O, X>, Fault> {
    let Some(field) = field else {
        return Ok(Decider::unaware());
    };
    let expected = r#"a classifier, such as "zigzag" or { name = "mbiaz", upper = 1.25 }"#;
    let ids: Vec<&str> = family.lines().map(|line| line.id).collect();
    let choice = Choice::of(field, "classifier", expected, &ids)?;
    let unknown = || {
        elsewhere(&choice)
            .unwrap_or_else(|| choice.unknown("classifier", family.lines().map(|line| line.id)))
    };
    let line = family.find(choice.name).ok_or_else(unknown)?;
    let known: Vec<&str> = line.parameters.iter().map(|p| p.name).collect();
    choice.only(&known)?;
    let mut values = Vec::new();
    for parameter in line.parameters {
        if let Some(field) = choice.get(parameter.name) {
            values.push((parameter.name, value(&field, parameter)?));
        }
    }
    let built = family.build(line.id, &values).ok_or_else(unknown)?;
    built.map_err(|error| field.fault(error.to_string()))
}

/// It is a classifier, but of the other end.
fn elsewhere(choice: &Choice<'_>) -> Option<Fault> {
    let name = choice.name;
    let of = (RECEIVERS.find(name).is_some(), SENDERS.find(name).is_some());
    let (whose, flows, here) = match of {
        (true, _) => ("a receiver's", "`tfrc`", "its sender"),
        (_, true) => ("a sender's", "`tcp`, `quic` and `iftp`", "its receiver"),
        _ => return None,
    };
    Some(choice.field.fault(format!(
        "`{name}` is {whose} classifier, for {flows} flows; this flow has one at {here}: `whyloss list` names them"
    )))
}

fn value(field: &Field<'_>, parameter: &Parameter) -> Result<f64, Fault> {
    let Parameter { min, max, .. } = *parameter;
    if parameter.whole && (min, max) == (0.0, 1.0) {
        return field.flag().map(f64::from);
    }
    if parameter.whole {
        return Ok(field.integer(min as u64..=max as u64)? as f64);
    }
    field.number(min..=max)
}
