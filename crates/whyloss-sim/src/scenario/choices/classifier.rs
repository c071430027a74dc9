//! Classifiers by name: whatever the registry lists, with the parameters it lists.

use whyloss::registry::{Entry, Parameter};

use super::Choice;
use crate::scenario::error::Fault;
use crate::scenario::fields::Field;

/// A classifier of this registry.
pub(super) fn classifier<C>(field: &Field<'_>, registry: &'static [Entry<C>]) -> Result<C, Fault> {
    let expected = r#"a classifier, such as "zigzag" or { name = "mbiaz", upper = 1.25 }"#;
    let choice = Choice::of(field, "classifier", expected)?;
    let ids = registry.iter().map(|entry| entry.id);
    let Some(entry) = registry.iter().find(|entry| entry.id == choice.name) else {
        return Err(choice.unknown("classifier", ids));
    };
    let known: Vec<&str> = entry.parameters.iter().map(|p| p.name).collect();
    choice.only(&known)?;
    let mut values = Vec::new();
    for parameter in entry.parameters {
        if let Some(field) = choice.get(parameter.name) {
            values.push((parameter.name, value(&field, parameter)?));
        }
    }
    build(entry, &values, field)
}

/// What a transport without a classifier does: every loss is congestion.
pub(super) fn unaware<C>(field: &Field<'_>, registry: &'static [Entry<C>]) -> Result<C, Fault> {
    registry
        .iter()
        .find(|entry| entry.id == "unaware")
        .map_or_else(
            || Err(field.fault("this program has no classifier called `unaware`")),
            |entry| build(entry, &[], field),
        )
}

fn build<C>(entry: &Entry<C>, values: &[(&str, f64)], field: &Field<'_>) -> Result<C, Fault> {
    entry
        .build(values)
        .map_err(|error| field.fault(error.to_string()))
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
