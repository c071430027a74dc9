//! Reads the parts of a scenario that have kinds: channels, transports, classifiers.
//!
//! Each is given by its name alone (`channel = "none"`) or by a table with the name and its
//! parameters (`channel = { kind = "bernoulli", loss = 0.01 }`).

/// Defines the keys of `$Options`, and a function that reads each key into the field of the same
/// name. A missing key keeps the value of the base.
macro_rules! options {
    ($Options:ident, keys: $keys:ident, read: $read:ident { $($key:ident: $value:expr,)* }) => {
        pub(super) const $keys: &[&str] = &[$(stringify!($key)),*];

        fn $read(choice: &Choice<'_>, base: &$Options) -> Result<$Options, Fault> {
            Ok($Options {
                $($key: choice.or(stringify!($key), base.$key, $value)?,)*
            })
        }
    };
}

mod application;
mod channel;
mod classifier;
mod iftp;
mod own;
mod queue;
mod quic;
mod rate;
mod rtp;
mod scheme;
mod tcp;
mod tfrc;
mod transport;
mod way;

pub(super) use application::application;
pub(super) use channel::channel;
pub(super) use queue::{QUEUE, arq, queue};
pub(super) use rate::{RATE, rate};
pub(super) use transport::transport;
pub(super) use way::{aggregation, handovers, jitter};

use whyloss::Duration;

use super::document::{Value, selector};
use super::error::Fault;
use super::error::suggest;
use super::fields::{Field, Fields, code};

/// A choice and its parameters, if any.
struct Choice<'a> {
    name: &'a str,
    /// The field that holds the name.
    field: Field<'a>,
    /// The key of the name in a table.
    selector: &'static str,
    parameters: Option<Fields<'a>>,
}

impl<'a> Choice<'a> {
    /// Reads the value of `key` as a choice among `kinds`: a name alone, or a table with the name
    /// and parameters.
    fn of<'k: 'a>(
        field: &Field<'a>,
        key: &str,
        expected: &str,
        kinds: &[&'k str],
    ) -> Result<Self, Fault> {
        let selector = selector(key).unwrap_or("kind");
        if let Some(probe) = field.item.probe() {
            let name = probe.kind(&field.path, selector, kinds);
            let parameters = Field {
                path: format!("{}<{name}>", field.path),
                item: field.item,
            };
            return Ok(Self {
                name,
                field: field.clone(),
                selector,
                parameters: Some(parameters.fields(expected)?),
            });
        }
        if let Value::Table(_) = field.item.value {
            let fields = field.fields(expected)?;
            let name = fields.need(selector, expected)?;
            Ok(Self {
                name: name.text(expected)?,
                field: name,
                selector,
                parameters: Some(fields),
            })
        } else {
            Ok(Self {
                name: field.text(expected)?,
                field: field.clone(),
                selector,
                parameters: None,
            })
        }
    }

    /// Returns whether the choice is a probe, which only records how it is read.
    fn is_probe(&self) -> bool {
        self.field.item.probe().is_some()
    }

    /// Returns the parameter called `key`.
    fn get(&self, key: &str) -> Option<Field<'a>> {
        self.parameters.as_ref().and_then(|fields| fields.get(key))
    }

    /// Returns the required parameter `key`.
    fn need(&self, key: &str, expected: &str) -> Result<Field<'a>, Fault> {
        match &self.parameters {
            Some(fields) => fields.need(key, expected),
            None => Err(self.field.fault(format!(
                "`{name}` needs `{key}`, {expected}: write {{ {selector} = \"{name}\", {key} = … }}",
                name = self.name,
                selector = self.selector
            ))),
        }
    }

    /// Reads the parameter called `key` with `read`; returns `default` if it is missing.
    fn or<T>(
        &self,
        key: &str,
        default: T,
        read: impl FnOnce(&Field<'a>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.get(key).map_or(Ok(default), |field| read(&field))
    }

    /// Rejects parameters other than `known`.
    fn only(&self, known: &[&str]) -> Result<(), Fault> {
        match &self.parameters {
            None => Ok(()),
            Some(fields) => {
                let opening = format!("`{}` has no key", self.name);
                fields.only_of(&opening, &[&[self.selector], known].concat())
            }
        }
    }

    /// Returns the fault that no choice has this name.
    fn unknown<'k>(&self, what: &str, known: impl IntoIterator<Item = &'k str> + Clone) -> Fault {
        let hint = suggest(self.name, known);
        self.field
            .fault(format!("no {what} is called {}{hint}", code(self.name)))
    }
}

/// Reads a probability.
fn probability(field: &Field<'_>) -> Result<f64, Fault> {
    field.number(0.0..=1.0)
}

/// Reads a duration above zero.
fn positive(field: &Field<'_>) -> Result<Duration, Fault> {
    match field.duration()? {
        Duration::ZERO => Err(field.unexpected("a duration above zero")),
        duration => Ok(duration),
    }
}

/// Reads a duration above zero, or "none".
fn positive_or_none(field: &Field<'_>) -> Result<Option<Duration>, Fault> {
    if field.is_word("none") {
        return Ok(None);
    }
    positive(field).map(Some)
}

#[cfg(test)]
mod tests {
    const LINKS: &str = include_str!("../../../../../docs/reference/scenario-links.md");
    const FLOWS: &str = include_str!("../../../../../docs/reference/scenario-flows.md");
    const CLASSIFIERS: &str = include_str!("../../../../../docs/reference/scenario-classifiers.md");

    /// The reference has a row for every key.
    #[test]
    fn every_key_is_documented() {
        for key in [&super::channel::CHANNELS[..], &super::queue::RED].concat() {
            assert!(LINKS.contains(&format!("`{key}`")), "{key}");
        }
        for key in [
            &super::tcp::KEYS[..],
            super::tfrc::KEYS,
            &super::iftp::KEYS,
            &super::quic::KEYS,
            super::rtp::KEYS,
            &super::transport::BURSTS,
            &super::transport::STEADY,
            &super::transport::POISSON,
            &super::transport::WEB,
            &super::application::TRANSFERS,
            &super::application::VIDEO,
            &super::application::VOICE,
        ]
        .concat()
        {
            assert!(FLOWS.contains(&format!("`{key}`")), "{key}");
        }
        for kind in super::transport::TRANSPORTS {
            assert!(FLOWS.contains(&format!("\n### `{kind}`\n")), "{kind}");
        }
        for kind in super::application::APPLICATIONS {
            assert!(FLOWS.contains(&format!("`\"{kind}\"`")), "{kind}");
        }
        for kind in super::tcp::POLICIES {
            assert!(CLASSIFIERS.contains(&format!("\"{kind}\"")), "{kind}");
        }
    }

    /// The classifiers, the key, and the cell with the defaults.
    type Row = (Vec<&'static str>, &'static str, &'static str);

    /// Returns the items of a list, without the marks of code.
    fn list(cell: &'static str) -> Vec<&'static str> {
        cell.split(", ").map(|one| one.trim_matches('`')).collect()
    }

    /// Returns the default of a classifier. A cell is one value for all, or several such as
    /// "`vegas`, `veno`: 2; others: 0".
    fn default_of(cell: &'static str, id: &str) -> Option<&'static str> {
        cell.split("; ").find_map(|part| {
            let (ids, value) = part.rsplit_once(": ").unwrap_or(("others", part));
            (ids == "others" || list(ids).contains(&id)).then(|| value.trim_matches('`'))
        })
    }

    /// Returns the rows about parameters. An empty first cell means the classifiers of the row
    /// above.
    fn rows() -> Vec<Row> {
        let mut of = Vec::new();
        let mut rows = Vec::new();
        for line in CLASSIFIERS.lines() {
            let cells: Vec<_> = line.split('|').map(str::trim).collect();
            if let [_, classifiers, key, _, defaults, _, _] = cells[..] {
                if !classifiers.is_empty() {
                    of = list(classifiers);
                }
                rows.push((of.clone(), key.trim_matches('`'), defaults));
            }
        }
        rows
    }

    #[test]
    fn every_parameter_is_documented_with_its_default() {
        let rows = rows();
        let receivers = crate::decider::RECEIVERS.lines();
        for line in receivers.chain(crate::decider::SENDERS.lines()) {
            for parameter in line.parameters {
                let named = || rows.iter().filter(|(_, key, _)| *key == parameter.name);
                if parameter.name == "update_first" {
                    assert!((parameter.default - 1.0).abs() < 1e-9);
                    assert!(named().count() == 1 && named().all(|row| row.2 == "`true`"));
                    continue;
                }
                let inverse = (1.0 / parameter.default).round();
                let switch = parameter.whole && parameter.max <= 1.0;
                let shown = if switch {
                    (parameter.default > 0.0).to_string()
                } else if [2.0, 3.0, 32.0].contains(&inverse) {
                    format!("1/{inverse}")
                } else {
                    parameter.default.to_string().replace('-', "−")
                };
                let says = |(of, _, defaults): &Row| {
                    of.contains(&line.id) && default_of(defaults, line.id) == Some(&shown[..])
                };
                assert!(named().any(says), "{} {}: {shown}", line.id, parameter.name);
            }
        }
    }
}
