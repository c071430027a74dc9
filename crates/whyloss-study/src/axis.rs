//! Defines axes: their places, the settings of each place, and how figures and evidence show them.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// Varies one or more settings over a list of places.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The column's name and the figure's label, with the unit.
    pub name: Cow<'static, str>,
    /// Whether the axis is logarithmic.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub log: bool,
    /// The format of the points in evidence; `None` for means with intervals.
    #[serde(skip)]
    pub notation: Option<Notation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keys: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) values: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) draw: Option<Draw>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) choices: Option<Vec<Choice>>,
}

/// A named point of an axis, with the keys that it sets.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Choice {
    pub(crate) name: Value,
    /// The scenario file, if it differs from that of the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scenario: Option<String>,
    /// The index of this file among the plan's networks.
    #[serde(skip)]
    pub(crate) network: Option<usize>,
    #[serde(default)]
    pub(crate) set: Table,
}

/// A distribution from which values are drawn.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Draw {
    low: f64,
    high: f64,
    /// Whether the logarithm is uniform.
    #[serde(default)]
    log: bool,
    /// Whether to draw whole numbers only, both ends included.
    #[serde(default)]
    whole: bool,
    /// The text after the number, such as `ms`.
    unit: Option<String>,
}

/// The value of an axis at one place, as a column shows it.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// The value is a text.
    Text(String),
    /// The value is a whole number.
    Whole(i64),
    /// The value is a real number.
    Real(f64),
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Whole(whole) => whole.fmt(f),
            Self::Real(real) => real.fmt(f),
        }
    }
}

/// The format of a line's points in evidence, where `0.1: 4.31 ± 0.02` does not fit.
#[derive(Clone, Copy, Debug)]
pub struct Notation {
    /// Formats a place, with the separator that follows it (`N=4 `).
    pub place: fn(f64) -> String,
    /// Formats a mean, as evidence shows it.
    pub mean: fn(f64) -> String,
}

impl Axis {
    const fn new(name: Cow<'static, str>, log: bool) -> Self {
        Self {
            name,
            log,
            notation: None,
            key: None,
            keys: None,
            values: None,
            draw: None,
            choices: None,
        }
    }

    /// Creates a linear axis.
    pub const fn linear(label: &'static str) -> Self {
        Self::new(Cow::Borrowed(label), false)
    }

    /// Creates a linear axis with a label known only at run time.
    pub const fn named(label: String) -> Self {
        Self::new(Cow::Owned(label), false)
    }

    /// Creates a logarithmic axis.
    pub const fn log(label: &'static str) -> Self {
        Self::new(Cow::Borrowed(label), true)
    }

    pub(crate) fn complaint(&self) -> Option<String> {
        if let Some(choices) = &self.choices {
            let alone = self.key.is_none()
                && self.keys.is_none()
                && self.values.is_none()
                && self.draw.is_none();
            return match (alone, choices.is_empty()) {
                (false, _) => {
                    Some("`choices` stand alone, each with a `name` and a `set`".to_owned())
                }
                (_, true) => Some("`choices` is empty".to_owned()),
                _ => None,
            };
        }
        if self.key.is_some() == self.keys.is_some() {
            return Some("expected `key`, or `keys` for several that move together".to_owned());
        }
        let keys = self.keys();
        if keys.is_empty() {
            return Some("`keys` is empty".to_owned());
        }
        match (&self.values, &self.draw) {
            (Some(values), None) if values.is_empty() => Some("`values` is empty".to_owned()),
            (Some(values), None) if self.keys.is_some() => {
                let fits = |value: &&Value| {
                    value
                        .as_array()
                        .is_some_and(|list| list.len() == keys.len())
                };
                let bad = values.iter().find(|value| !fits(value))?;
                Some(format!(
                    "found {bad}, expected a list with a value for each of the {} `keys`",
                    keys.len()
                ))
            }
            (Some(_), None) => None,
            (None, Some(draw)) => draw.complaint(),
            _ => Some("expected `values`, or `draw` for random ones".to_owned()),
        }
    }

    pub(crate) fn keys(&self) -> &[String] {
        match (&self.key, &self.keys) {
            (Some(key), _) => std::slice::from_ref(key),
            (None, Some(keys)) => keys,
            (None, None) => &[],
        }
    }

    /// Returns the keys that some place sets.
    pub(crate) fn sets_anywhere(&self) -> BTreeSet<&str> {
        let choices = self.choices.iter().flatten();
        let chosen = choices.flat_map(|choice| choice.set.keys());
        self.keys()
            .iter()
            .chain(chosen)
            .map(String::as_str)
            .collect()
    }

    /// Returns the keys that every place sets.
    pub(crate) fn sets_always(&self) -> Vec<&str> {
        let mut choices = self.choices.iter().flatten();
        let Some(first) = choices.next() else {
            return self.keys().iter().map(String::as_str).collect();
        };
        let first = first.set.keys().map(String::as_str);
        first
            .filter(|key| choices.clone().all(|choice| choice.set.contains_key(*key)))
            .collect()
    }

    pub(crate) fn len(&self) -> usize {
        let choices = self.choices.as_ref().map(Vec::len);
        choices.or(self.values.as_ref().map(Vec::len)).unwrap_or(0)
    }

    /// Returns the shown value and the network of a place, and appends its settings to `set`.
    pub(crate) fn place(
        &self,
        place: usize,
        set: &mut Vec<(String, String)>,
    ) -> (Setting, Option<usize>) {
        if let Some(choice) = self.choices.as_ref().map(|choices| &choices[place]) {
            let pairs = choice
                .set
                .iter()
                .map(|(key, value)| (key.clone(), value.to_string()));
            set.extend(pairs);
            return (shown(Some(&choice.name)), choice.network);
        }
        let value = self.values.as_ref().map(|values| &values[place]);
        let values: &[Value] = match value {
            Some(Value::Array(list)) if self.keys.is_some() => list,
            Some(value) => std::slice::from_ref(value),
            None => &[],
        };
        for (key, value) in self.keys().iter().zip(values) {
            set.push((key.clone(), value.to_string()));
        }
        (shown(values.first()), None)
    }

    /// Returns the text of each place, as a column shows it. Adds the settings of places that look
    /// alike but differ.
    pub(crate) fn labels(&self) -> Vec<String> {
        let describe = |place: usize| {
            let mut set = Vec::new();
            let (shown, _) = self.place(place, &mut set);
            let choice = self.choices.as_ref().map(|choices| &choices[place]);
            let scenario = choice.and_then(|choice| choice.scenario.as_ref());
            let pairs = set.iter().map(|(key, value)| format!("{key}={value}"));
            let pairs = pairs.chain(scenario.map(|file| format!("scenario={file}")));
            (shown.to_string(), pairs.collect::<Vec<String>>().join(", "))
        };
        let places: Vec<(String, String)> = (0..self.len()).map(describe).collect();
        let mut alike: HashMap<&str, BTreeSet<&str>> = HashMap::new();
        for (shown, set) in &places {
            alike.entry(shown).or_default().insert(set);
        }
        let label = |(shown, set): &(String, String)| match alike[shown.as_str()].len() {
            1 => shown.clone(),
            _ => format!("{shown} ({set})"),
        };
        places.iter().map(label).collect()
    }
}

/// Converts a TOML value into the setting that a column shows.
fn shown(value: Option<&Value>) -> Setting {
    match value {
        Some(Value::String(text)) => Setting::Text(text.clone()),
        Some(&Value::Integer(whole)) => Setting::Whole(whole),
        Some(&Value::Float(real)) => Setting::Real(real),
        Some(other) => Setting::Text(other.to_string()),
        None => Setting::Text(String::new()),
    }
}

impl Draw {
    pub(crate) fn complaint(&self) -> Option<String> {
        let ordered = self.low <= self.high && self.low.is_finite() && self.high.is_finite();
        if !ordered || (self.log && self.low <= 0.0) {
            return Some(format!(
                "draw: found low {} and high {}, expected low ≤ high{}",
                self.low,
                self.high,
                if self.log {
                    ", above zero since `log` is set"
                } else {
                    ""
                }
            ));
        }
        let mut ends = [self.low, self.high].into_iter();
        let fraction = ends.find(|end| end.fract() != 0.0);
        fraction
            .filter(|_| self.whole)
            .map(|end| format!("draw: found {end}, expected a whole number since `whole` is set"))
    }

    /// Maps a uniform number in [0, 1) to a value, and to its TOML text.
    pub(crate) fn at(&self, uniform: f64) -> (Setting, String) {
        let high = if self.whole {
            self.high + 1.0
        } else {
            self.high
        };
        let drawn = if self.log {
            libm::exp(libm::log(self.low) + uniform * (libm::log(high) - libm::log(self.low)))
        } else {
            self.low + uniform * (high - self.low)
        };
        let setting = if self.whole {
            Setting::Whole(libm::floor(drawn) as i64)
        } else {
            // The value is rounded to six digits, so that a row shows exactly the value that ran.
            Setting::Real(format!("{drawn:.5e}").parse().unwrap_or(drawn))
        };
        let text = match &self.unit {
            None => setting.to_string(),
            Some(unit) => Value::String(format!("{setting} {unit}")).to_string(),
        };
        (setting, text)
    }
}
