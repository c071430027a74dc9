//! Plans list networks, axes, seeds and metrics, as TOML or from a program. Figures of papers,
//! sweeps and evaluations use them.
//!
//! Points are computed from their number, not stored. The first axis varies slowest; drawn axes
//! vary together and fastest. Each drawn axis has a random stream named after it, so that new axes
//! or more draws leave earlier values unchanged.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toml::Value;
use whyloss_link::Streams;

mod columns;
mod fault;
mod runs;
mod sets;

pub use fault::TomlFault;
pub use runs::{Beside, Told};

use sets::Sets;

use crate::axis::{Axis, Setting};
#[cfg(feature = "sweep")]
use crate::replicate::Precision;

/// The maximum number of runs of a plan.
const MOST: u64 = 100_000_000;

/// A scenario file that a plan runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// The name of the file, which messages show. Paths inside the file are relative to it.
    pub file: String,
    /// The content of the file.
    pub text: String,
}

/// The maximum number of scenarios in a plan; all stay in memory.
const MOST_NETWORKS: usize = 30_000;

/// The runs of a sweep.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The name of the plan in messages: its file, if it has one.
    pub name: String,
    /// The scenarios; points use the first unless an axis names another.
    pub networks: Vec<Network>,
    pub(crate) document: Document,
}

/// One point of a plan.
#[derive(Clone, Debug)]
pub struct Point {
    /// The value in the column of each axis, in the order of the axes.
    pub shown: Vec<Setting>,
    /// The settings as pairs of key and TOML value.
    pub set: Vec<(String, String)>,
    /// The index of the point's scenario among the plan's networks.
    pub network: usize,
}

/// Explains why a plan cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The text is not a valid plan.
    #[error("{file}:{fault}")]
    Syntax {
        /// The file name as the caller gave it.
        file: String,
        /// The fault and its place.
        fault: TomlFault,
    },
    /// The plan is well-formed but cannot be run.
    #[error("{file}: {message}")]
    Useless {
        /// The file name as the caller gave it.
        file: String,
        /// The fault, and the expected form.
        message: String,
    },
    /// A scenario file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// A plan as written in TOML.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    /// The path of the scenario file, relative to the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scenario: Option<String>,
    #[serde(default = "one")]
    pub(crate) seeds: u64,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub(crate) first_seed: u64,
    pub(crate) metrics: Vec<String>,
    /// The settings that apply at every point.
    #[serde(default, skip_serializing_if = "Sets::is_empty")]
    pub(crate) set: Sets,
    #[serde(default, rename = "axis", skip_serializing_if = "Vec::is_empty")]
    pub(crate) axes: Vec<Axis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) draws: Option<Draws>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<Until>,
}

fn one() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_one(number: &u64) -> bool {
    *number == 1
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Draws {
    count: u64,
    #[serde(default = "one")]
    seed: u64,
}

/// Requests more seeds until the mean of a metric is precise enough.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Until {
    pub(crate) metric: String,
    pub(crate) within: f64,
    #[serde(default = "usual_confidence")]
    pub(crate) confidence: f64,
    pub(crate) most: u64,
}

fn usual_confidence() -> f64 {
    crate::CONFIDENCE
}

impl Plan {
    /// Parses a plan whose scenario files are in the same directory.
    ///
    /// # Errors
    /// Returns an error if `text` is not a valid plan, or a scenario file cannot be read.
    pub fn parse(text: &str, file: &str) -> Result<Self, PlanError> {
        let document = Document::parse(text, file)?;
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        let Some(scenario) = &document.scenario else {
            return Err(refused(
                file,
                "`scenario` is missing; expected the scenario's file, such as \"wlh.toml\"",
            ));
        };
        let read = |name: &str| {
            let path = folder.join(name);
            match whyloss_sim::scenario::read_file(&path) {
                Ok(text) => Ok(Network {
                    file: path.to_string_lossy().into_owned(),
                    text,
                }),
                Err(source) => Err(PlanError::File { path, source }),
            }
        };
        let first = read(scenario)?;
        Self::new(file, first, document, read)
    }

    /// Parses a plan for a scenario in memory; `text` must not name a file.
    ///
    /// # Errors
    /// Returns an error if `text` is not a valid plan.
    pub fn of_scenario(
        text: &str,
        file: &str,
        scenario: String,
        scenario_file: String,
    ) -> Result<Self, PlanError> {
        let document = Document::parse(text, file)?;
        let network = Network {
            file: scenario_file,
            text: scenario,
        };
        Self::new(file, network, document, |name| {
            Err(refused(
                file,
                &format!("scenario {name:?}: expected none beside the one at hand"),
            ))
        })
    }

    /// Builds and checks a plan; `read` loads the scenarios that axes name.
    pub(crate) fn new<E: From<PlanError>>(
        file: &str,
        first: Network,
        mut document: Document,
        read: impl Fn(&str) -> Result<Network, E>,
    ) -> Result<Self, E> {
        let mut networks = vec![first];
        let own = document.scenario.clone();
        let mut names: HashMap<String, usize> = own.into_iter().map(|name| (name, 0)).collect();
        for axis in &mut document.axes {
            for choice in axis.choices.iter_mut().flatten() {
                let Some(name) = &choice.scenario else {
                    continue;
                };
                let known = names.get(name).copied();
                if known.is_none() {
                    if networks.len() == MOST_NETWORKS {
                        let message = format!("expected at most {MOST_NETWORKS} scenarios");
                        return Err(refused(file, &message).into());
                    }
                    names.insert(name.clone(), networks.len());
                    networks.push(read(name)?);
                }
                choice.network = Some(known.unwrap_or(networks.len() - 1));
            }
        }
        let plan = Self {
            name: file.to_owned(),
            networks,
            document,
        };
        match plan.complaint() {
            None => Ok(plan),
            Some(message) => Err(plan.refuse(&message).into()),
        }
    }

    pub(crate) fn refuse(&self, message: &str) -> PlanError {
        refused(&self.name, message)
    }

    /// Writes the plan as TOML that [`Plan::parse`] reads next to its scenario files.
    pub fn to_toml(&self) -> String {
        let head = Document {
            axes: Vec::new(),
            ..self.document.clone()
        };
        // Settings that were checked always serialise.
        let mut text = toml::to_string(&head).unwrap_or_default();
        for axis in &self.document.axes {
            let rest = Axis {
                choices: None,
                ..axis.clone()
            };
            text.push_str("\n[[axis]]\n");
            text.push_str(&toml::to_string(&rest).unwrap_or_default());
            if let Some(choices) = &axis.choices {
                text.push_str("choices = [\n");
                for choice in choices.iter().filter_map(|of| Value::try_from(of).ok()) {
                    let _ = writeln!(text, "    {choice},");
                }
                text.push_str("]\n");
            }
        }
        text
    }

    /// Returns the first fault, in words.
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
        let mut names: Vec<&str> = Vec::new();
        for axis in axes {
            if names.contains(&&*axis.name) || columns::is_taken(metrics, &axis.name) {
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
        if let Some(message) = columns::replaced(axes) {
            return Some(message);
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
        if let Some(message) = self.same_column(metrics) {
            return Some(message);
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

    /// Describes the first of these metrics whose column has no name, or the name of another column.
    pub(crate) fn same_column(&self, metrics: &[String]) -> Option<String> {
        columns::complaint(metrics, self.axes())
    }

    /// Returns the number of points.
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

    /// Returns the point with this number, counted from 0 in the order of the plan.
    pub fn point(&self, point: u64) -> Point {
        let draw = point % self.draws();
        let mut places = self.places(point);
        let mut set: Vec<(String, String)> = self.document.set.pairs().collect();
        let (mut shown, mut network) = (Vec::new(), 0);
        let seed = self.document.draws.as_ref().map_or(1, |draws| draws.seed);
        for axis in &self.document.axes {
            match &axis.draw {
                None => {
                    let (setting, other) = axis.place(places.pop().unwrap_or_default(), &mut set);
                    network = other.unwrap_or(network);
                    shown.push(setting);
                }
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
        Point {
            shown,
            set,
            network,
        }
    }

    /// Returns the place of a point on each axis that is not drawn, the last axis first.
    fn places(&self, point: u64) -> Vec<usize> {
        let mut rest = point / self.draws();
        let place = |axis: &Axis| {
            let place = rest % axis.len() as u64;
            rest /= axis.len() as u64;
            place as usize
        };
        self.grid().rev().map(place).collect()
    }

    /// Returns each axis's value at these points as text. Where a column shows places alike although
    /// they differ, the text also has their settings.
    pub fn labels(&self, points: &[u64]) -> Vec<Vec<String>> {
        let axes = &self.document.axes;
        let labels: Vec<Vec<String>> = axes.iter().map(Axis::labels).collect();
        let of_point = |&point: &u64| {
            let mut places = self.places(point);
            let shown = self.point(point).shown.into_iter();
            let shown = axes.iter().zip(&labels).zip(shown);
            let shown = shown.map(|((axis, labels), shown)| match &axis.draw {
                None => labels[places.pop().unwrap_or_default()].clone(),
                Some(_) => shown.to_string(),
            });
            shown.collect()
        };
        points.iter().map(of_point).collect()
    }

    /// Describes the position of a point in messages: `loss 0.01, flows 4`.
    #[cfg(feature = "sweep")]
    pub(crate) fn place(&self, point: u64) -> String {
        let shown = self.point(point).shown;
        let axes = self.document.axes.iter().zip(&shown);
        let places: Vec<String> = axes
            .map(|(axis, at)| format!("{} {at}", axis.name))
            .collect();
        places.join(", ")
    }

    /// Returns the names of the axes in order.
    pub fn axes(&self) -> impl Iterator<Item = &str> {
        self.document.axes.iter().map(|axis| axis.name.as_ref())
    }

    /// Returns the first seed and the minimum number of seeds.
    pub fn seeds(&self) -> (u64, u64) {
        (self.document.first_seed, self.document.seeds)
    }

    /// Returns the index of the metric that must be precise, and the required precision.
    #[cfg(feature = "sweep")]
    pub(crate) fn precision(
        &self,
        metrics: &[String],
    ) -> Result<Option<(usize, Precision)>, PlanError> {
        let Some(until) = &self.document.until else {
            return Ok(None);
        };
        let Some(metric) = metrics.iter().position(|m| *m == until.metric) else {
            return Err(self.refuse(&format!(
                "until: {:?} has a value for each flow; expected one of all, such as `mean(…)`",
                until.metric
            )));
        };
        let precision = Precision {
            half_width: until.within,
            confidence: until.confidence,
            at_most: until.most,
        };
        Ok(Some((metric, precision)))
    }
}

impl Document {
    fn parse(text: &str, file: &str) -> Result<Self, PlanError> {
        toml::from_str(text).map_err(|error| PlanError::Syntax {
            file: file.to_owned(),
            fault: TomlFault::of(text, &error),
        })
    }
}

fn refused(file: &str, message: &str) -> PlanError {
    PlanError::Useless {
        file: file.to_owned(),
        message: message.to_owned(),
    }
}

/// Returns, as JSON, the `--set` pairs that reproduce a row.
#[cfg(feature = "sweep")]
pub(crate) fn description(set: &[(String, String)]) -> String {
    #[derive(Serialize)]
    struct Set<'a>(&'a str, &'a str);
    let pairs: Vec<Set<'_>> = set.iter().map(|(key, value)| Set(key, value)).collect();
    serde_json::to_string(&pairs).unwrap_or_default()
}
