//! Builds algorithms by name, lists them, and suggests names in errors.

use std::collections::BTreeMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use whyloss::registry::{Entry, Parameter};
use whyloss::{Cause, bandwidth, congestion, policy, receiver, schemes, sender};

/// The parameters of an algorithm, by name.
pub(crate) type Parameters = BTreeMap<String, f64>;

/// The families of algorithms, as errors name them.
const RECEIVER: &str = "receiver classifier";
const SENDER: &str = "sender classifier";

/// Builds the algorithm of a registry entry.
pub(crate) fn build<C>(
    family: &[Entry<C>],
    what: &str,
    name: &str,
    parameters: &Parameters,
) -> PyResult<C> {
    let entry = family.iter().find(|entry| entry.id == name);
    let entry = entry.ok_or_else(|| {
        let ids: Vec<&str> = family.iter().map(|entry| entry.id).collect();
        let there = match elsewhere(name) {
            Some(family) if family != what => format!("; it is a {family}"),
            _ => String::new(),
        };
        let known = ids.join(", ");
        PyValueError::new_err(format!(
            "no {what} is called `{name}`{there}; there are {known}"
        ))
    })?;
    let values: Vec<(&str, f64)> = parameters
        .iter()
        .map(|(name, value)| (name.as_str(), *value))
        .collect();
    let built = entry.build(&values);
    built.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Returns the family that has this name.
fn elsewhere(name: &str) -> Option<&'static str> {
    registry()
        .into_iter()
        .find_map(|row| (row.1 == name).then_some(row.0))
}

/// A classifier of either end.
#[derive(Clone)]
pub(crate) enum Either {
    Receiver(receiver::Classifier),
    Sender(sender::Classifier),
}

/// Builds a classifier of this end; without an end, that of the receiver if both ends have the
/// name.
pub(crate) fn classifier(
    name: &str,
    end: Option<&str>,
    parameters: &Parameters,
) -> PyResult<Either> {
    let at_sender = match end {
        Some("sender") => true,
        Some("receiver") => false,
        None => receiver::find(name).is_none() && sender::find(name).is_some(),
        Some(other) => {
            return Err(PyValueError::new_err(format!(
                "end is {other:?}, expected \"receiver\" or \"sender\""
            )));
        }
    };
    if at_sender {
        build(sender::REGISTRY, SENDER, name, parameters).map(Either::Sender)
    } else {
        build(receiver::REGISTRY, RECEIVER, name, parameters).map(Either::Receiver)
    }
}

/// Returns the word for a cause in Python.
pub(crate) fn word(cause: Cause) -> &'static str {
    match cause {
        Cause::Congestion => "congestion",
        Cause::Wireless => "wireless",
    }
}

/// Returns the cause that a word names.
pub(crate) fn cause(word: &str) -> PyResult<Cause> {
    match word {
        "congestion" => Ok(Cause::Congestion),
        "wireless" => Ok(Cause::Wireless),
        other => Err(PyValueError::new_err(format!(
            "cause is {other:?}, expected \"congestion\" or \"wireless\""
        ))),
    }
}

/// The family, name, title, summary, source and parameters of an algorithm.
pub(crate) type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    Vec<(&'static str, f64, f64, f64, &'static str)>,
);

fn rows<C>(family: &'static str, entries: &[Entry<C>]) -> impl Iterator<Item = Row> {
    let parameter = |p: &Parameter| (p.name, p.default, p.min, p.max, p.doc);
    entries.iter().map(move |e| {
        let parameters = e.parameters.iter().map(parameter).collect();
        (family, e.id, e.name, e.summary, e.source, parameters)
    })
}

/// Returns every entry of the registries.
#[pyfunction]
pub(crate) fn registry() -> Vec<Row> {
    rows(RECEIVER, receiver::REGISTRY)
        .chain(rows(SENDER, sender::REGISTRY))
        .chain(rows("estimator", bandwidth::REGISTRY))
        .chain(rows("controller", congestion::REGISTRY))
        .chain(rows("policy", policy::REGISTRY))
        .chain(rows("scheme", schemes::REGISTRY))
        .collect()
}
