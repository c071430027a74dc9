//! Reads algorithms from outside by name, and the parameters of any registered algorithm.

use whyloss::registry::Parameter;

use super::Choice;
use crate::decider::Line;
use crate::registry::{Labelled, Own};
use crate::scenario::document::Value;
use crate::scenario::error::Fault;
use crate::scenario::fields::Field;

/// Returns the entry that the program registered under the given name, for `key`; `None` if there
/// is no such entry.
pub(super) fn own<X: Labelled>(
    field: &Field<'_>,
    key: &str,
    (known, version): (&[Own<X>], &str),
) -> Result<Option<X>, Fault> {
    let named = matches!(field.item.value, Value::Table(_) | Value::Text(_));
    if known.is_empty() || !named {
        return Ok(None);
    }
    let expected = "a name, or a table with a `name` and parameters";
    let choice = Choice::of(field, key, expected, &[])?;
    let Some(own) = known.iter().find(|own| own.line().id == choice.name) else {
        return Ok(None);
    };
    let values = values(&choice, &own.line())?;
    let built = own.build(&values, version);
    built
        .map(Some)
        .map_err(|error| field.fault(error.to_string()))
}

/// Returns the given parameters of `line`. Any other parameter is a fault.
pub(super) fn values(choice: &Choice<'_>, line: &Line) -> Result<Vec<(&'static str, f64)>, Fault> {
    let known: Vec<&str> = line.parameters.iter().map(|p| p.name).collect();
    choice.only(&known)?;
    let mut values = Vec::new();
    for parameter in line.parameters {
        if let Some(field) = choice.get(parameter.name) {
            values.push((parameter.name, value(&field, parameter)?));
        }
    }
    Ok(values)
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
