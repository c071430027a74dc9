//! Plans: a scenario, axes, seeds and metrics, as TOML or from a program.
//!
//! The points of a plan are not kept, but worked out from their number: the first axis turns slowest, axes that are drawn
//! turn together and fastest. Each drawn axis has a random stream of its own, named as the axis, so that another axis, or
//! more draws, leave those there were as they were.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toml::Value;
use whyloss_link::Streams;

use super::SweepError;
use crate::replicate::Precision;

/// Points, or runs of a point, than which no plan has more.
const MOST: u64 = 100_000_000;

/// What an axis sets at one place, as a column shows it.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// A word.
    Text(String),
    /// A whole number.
    Whole(i64),
    /// A real.
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

/// What is to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The plan's name in messages: its file, if it has one.
    pub name: String,
    /// The scenario's text.
    pub scenario: String,
    /// The scenario's name in messages; files that it names are looked up beside it.
    pub scenario_file: String,
    pub(super) document: Document,
}

/// A plan as it is written.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    /// The scenario's file, beside the plan.
    scenario: Option<PathBuf>,
    /// What the scenario says differently at every point.
    #[serde(default)]
    set: toml::Table,
    #[serde(default, rename = "axis")]
    pub(super) axes: Vec<Axis>,
    draws: Option<Draws>,
    #[serde(default = "one")]
    seeds: u64,
    #[serde(default = "one")]
    first_seed: u64,
    until: Option<Until>,
    pub(super) metrics: Vec<String>,
}

fn one() -> u64 {
    1
}

/// One axis: what it sets, and to which values.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Axis {
    /// The column.
    pub(super) name: String,
    key: Option<String>,
    keys: Option<Vec<String>>,
    values: Option<Vec<Value>>,
    draw: Option<Draw>,
    choices: Option<Vec<Choice>>,
}

/// A place of an axis that sets whatever it likes, under a name.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Choice {
    name: Value,
    #[serde(default)]
    set: toml::Table,
}

/// A distribution.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Draw {
    low: f64,
    high: f64,
    /// Whether its logarithm is uniform.
    #[serde(default)]
    log: bool,
    /// Whether only whole numbers are drawn, both ends included.
    #[serde(default)]
    whole: bool,
    /// What comes after the number, such as `ms`.
    unit: Option<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Draws {
    count: u64,
    #[serde(default = "one")]
    seed: u64,
}

/// Seeds are added until the mean of a metric is known well enough.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Until {
    metric: String,
    within: f64,
    #[serde(default = "usual_confidence")]
    confidence: f64,
    most: u64,
}

fn usual_confidence() -> f64 {
    crate::CONFIDENCE
}

impl Plan {
    /// Reads a plan whose scenario is a file beside it.
    ///
    /// # Errors
    /// If `text` is no plan, or its scenario cannot be read.
    pub fn parse(text: &str, file: &str) -> Result<Self, SweepError> {
        let document = Document::parse(text, file)?;
        let Some(scenario) = &document.scenario else {
            return Err(SweepError::Plan {
                file: file.to_owned(),
                message:
                    "`scenario` is missing; expected the scenario's file, such as \"wlh.toml\""
                        .to_owned(),
            });
        };
        let path = Path::new(file)
            .parent()
            .unwrap_or(Path::new(""))
            .join(scenario);
        let read = whyloss_sim::scenario::read_file(&path);
        let text = read.map_err(|source| SweepError::File {
            path: path.clone(),
            source,
        })?;
        Self::checked(file, text, path.to_string_lossy().into_owned(), document)
    }

    /// Reads a plan for a scenario that is at hand; `text` names none.
    ///
    /// # Errors
    /// If `text` is no plan.
    pub fn of_scenario(
        text: &str,
        file: &str,
        scenario: String,
        scenario_file: String,
    ) -> Result<Self, SweepError> {
        Self::checked(file, scenario, scenario_file, Document::parse(text, file)?)
    }

    fn checked(
        file: &str,
        scenario: String,
        scenario_file: String,
        document: Document,
    ) -> Result<Self, SweepError> {
        let plan = Self {
            name: file.to_owned(),
            scenario,
            scenario_file,
            document,
        };
        match plan.complaint() {
            None => Ok(plan),
            Some(message) => Err(plan.refuse(message)),
        }
    }

    pub(super) fn refuse(&self, message: String) -> SweepError {
        SweepError::Plan {
            file: self.name.clone(),
            message,
        }
    }

    /// The first thing that is wrong.
    fn complaint(&self) -> Option<String> {
        let Document {
            axes,
            draws,
            seeds,
            first_seed,
            until,
            metrics,
            ..
        } = &self.document;
        let mut names: Vec<&str> = vec!["point", "seed", "set", "error"];
        names.extend(metrics.iter().map(String::as_str));
        for axis in axes {
            if names.contains(&axis.name.as_str()) {
                return Some(format!(
                    "axis {:?}: a column of that name is there already",
                    axis.name
                ));
            }
            names.push(&axis.name);
            if let Some(message) = axis.complaint() {
                return Some(format!("axis {:?}: {message}", axis.name));
            }
        }
        let drawn = axes.iter().any(|axis| axis.draw.is_some());
        if drawn != draws.is_some() {
            return Some(if drawn {
                "an axis is drawn, but `[draws]` is missing; expected `[draws]` with `count` and `seed`".to_owned()
            } else {
                "`[draws]` is there, but no axis has `draw`".to_owned()
            });
        }
        if metrics.is_empty() {
            return Some(
                "`metrics` is empty; expected names such as \"total.throughput_bps\"".to_owned(),
            );
        }
        if let Some(twice) = metrics
            .iter()
            .enumerate()
            .find(|(i, m)| metrics[..*i].contains(m))
        {
            return Some(format!("metrics: {:?} is there twice", twice.1));
        }
        if *seeds == 0
            || seeds
                .checked_add(*first_seed)
                .is_none_or(|last| last > i64::MAX as u64)
        {
            return Some(
                "seeds: expected at least 1, up to 2⁶³ − 1 from `first_seed` on".to_owned(),
            );
        }
        if let Some(until) = until {
            if !metrics.contains(&until.metric) {
                return Some(format!(
                    "until: {:?} is none of the `metrics`",
                    until.metric
                ));
            }
            if !(until.within > 0.0 && until.within.is_finite()) {
                return Some(format!(
                    "until: within is {}, expected a share of the mean, such as 0.05",
                    until.within
                ));
            }
            if !(until.confidence > 0.0 && until.confidence < 1.0) {
                return Some(format!(
                    "until: confidence is {}, expected a share such as 0.95",
                    until.confidence
                ));
            }
            if until.most < *seeds {
                return Some(format!(
                    "until: most is {}, below `seeds`, which is the least",
                    until.most
                ));
            }
        }
        let factors = axes
            .iter()
            .filter(|axis| axis.draw.is_none())
            .map(|axis| axis.len() as u64);
        let most_seeds = until.as_ref().map_or(*seeds, |until| until.most);
        let runs = factors
            .chain(draws.iter().map(|draws| draws.count))
            .try_fold(most_seeds, u64::checked_mul);
        if runs.is_none_or(|runs| runs > MOST || runs == 0) {
            return Some(format!(
                "this makes {} runs; expected from 1 to {MOST}",
                runs.map_or("too many".to_owned(), |runs| runs.to_string())
            ));
        }
        None
    }

    /// How many points there are.
    pub fn points(&self) -> u64 {
        let grid: u64 = self.grid().map(|axis| axis.len() as u64).product();
        grid * self.draws()
    }

    fn draws(&self) -> u64 {
        self.document.draws.as_ref().map_or(1, |draws| draws.count)
    }

    fn grid(&self) -> impl DoubleEndedIterator<Item = &Axis> {
        self.document.axes.iter().filter(|axis| axis.draw.is_none())
    }

    /// What each axis shows at a point, in the order of the axes, and all that the point sets, as `key`, `value`.
    pub fn point(&self, point: u64) -> (Vec<Setting>, Vec<(String, String)>) {
        let draw = point % self.draws();
        let mut rest = point / self.draws();
        let mut places: Vec<usize> = Vec::new();
        for axis in self.grid().rev() {
            places.push((rest % axis.len() as u64) as usize);
            rest /= axis.len() as u64;
        }
        let mut set: Vec<(String, String)> = Vec::new();
        for (key, value) in &self.document.set {
            set.push((key.clone(), value.to_string()));
        }
        let mut shown = Vec::new();
        let seed = self.document.draws.as_ref().map_or(1, |draws| draws.seed);
        for axis in &self.document.axes {
            match &axis.draw {
                None => shown.push(axis.place(places.pop().unwrap_or_default(), &mut set)),
                Some(distribution) => {
                    let uniform = Streams::new(seed).stream(&axis.name, draw).uniform();
                    let (setting, text) = distribution.at(uniform);
                    for key in axis.keys() {
                        set.push((key.clone(), text.clone()));
                    }
                    shown.push(setting);
                }
            }
        }
        (shown, set)
    }

    /// Where a point is, for people: `loss 0.01, flows 4`.
    pub(super) fn place(&self, point: u64) -> String {
        let shown = self.point(point).0;
        let axes = self.document.axes.iter().zip(&shown);
        let places: Vec<String> = axes
            .map(|(axis, at)| format!("{} {at}", axis.name))
            .collect();
        places.join(", ")
    }

    /// The names of the axes, in order.
    pub fn axes(&self) -> impl Iterator<Item = &str> {
        self.document.axes.iter().map(|axis| axis.name.as_str())
    }

    /// The first seed, and how many there are at least.
    pub fn seeds(&self) -> (u64, u64) {
        (self.document.first_seed, self.document.seeds)
    }

    /// The number of the metric that must be precise, and how precise.
    pub(super) fn precision(&self) -> Option<(usize, Precision)> {
        let until = self.document.until.as_ref()?;
        let metric = self
            .document
            .metrics
            .iter()
            .position(|m| *m == until.metric)?;
        let precision = Precision {
            half_width: until.within,
            confidence: until.confidence,
            at_most: until.most,
        };
        Some((metric, precision))
    }
}

impl Document {
    fn parse(text: &str, file: &str) -> Result<Self, SweepError> {
        toml::from_str(text).map_err(|error| {
            let start =
                text.floor_char_boundary(error.span().map_or(text.len(), |span| span.start));
            let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
            SweepError::Syntax {
                file: file.to_owned(),
                line: text[..line_start].matches('\n').count() + 1,
                column: text[line_start..start].chars().count() + 1,
                message: error.message().replace('\n', " "),
            }
        })
    }
}

impl Axis {
    fn complaint(&self) -> Option<String> {
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

    fn keys(&self) -> &[String] {
        match (&self.key, &self.keys) {
            (Some(key), _) => std::slice::from_ref(key),
            (None, Some(keys)) => keys,
            (None, None) => &[],
        }
    }

    pub(super) fn len(&self) -> usize {
        let choices = self.choices.as_ref().map(Vec::len);
        choices.or(self.values.as_ref().map(Vec::len)).unwrap_or(0)
    }

    /// What a place shows; what it sets goes to `set`.
    fn place(&self, place: usize, set: &mut Vec<(String, String)>) -> Setting {
        if let Some(choice) = self.choices.as_ref().map(|choices| &choices[place]) {
            let pairs = choice
                .set
                .iter()
                .map(|(key, value)| (key.clone(), value.to_string()));
            set.extend(pairs);
            return shown(Some(&choice.name));
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
        shown(values.first())
    }
}

/// What a column shows of a value.
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
    fn complaint(&self) -> Option<String> {
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
        None
    }

    /// The value for a uniform number in [0, 1), and its text in TOML.
    fn at(&self, uniform: f64) -> (Setting, String) {
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
            // Six digits: what a row shows is what was run.
            Setting::Real(format!("{drawn:.5e}").parse().unwrap_or(drawn))
        };
        let text = match &self.unit {
            None => setting.to_string(),
            Some(unit) => Value::String(format!("{setting} {unit}")).to_string(),
        };
        (setting, text)
    }
}

/// What makes a row again: the `--set` of each key, as JSON.
pub(super) fn description(set: &[(String, String)]) -> String {
    #[derive(Serialize)]
    struct Set<'a>(&'a str, &'a str);
    let pairs: Vec<Set<'_>> = set.iter().map(|(key, value)| Set(key, value)).collect();
    serde_json::to_string(&pairs).unwrap_or_default()
}
