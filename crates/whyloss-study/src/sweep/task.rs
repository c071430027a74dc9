//! Tasks: some runs, with everything needed to run them on any machine.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use whyloss_sim::scenario::ScenarioError;
use whyloss_sim::{Registry, Scenario};

use super::Key;
use super::part::{Part, Row};
use crate::metric::{Metric, Observed};
use crate::plan::description;

/// Runs for any machine, sent as JSON. The files that the scenario names must exist on that
/// machine.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Task {
    pub(super) scenario: String,
    pub(super) file: String,
    pub(super) metrics: Vec<String>,
    /// The flow that a metric is about, if the plan's metric has a column for each flow.
    pub(super) flows: Vec<Option<String>>,
    pub(super) points: Vec<Runs>,
}

/// The runs of one point.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Runs {
    pub(super) set: Vec<(String, String)>,
    pub(super) seeds: Vec<u64>,
    /// The keys of the runs in hexadecimal, since JSON has no whole numbers of 128 bits.
    pub(super) keys: Vec<String>,
}

impl Task {
    /// Returns the number of runs in the task.
    pub fn runs(&self) -> usize {
        self.points.iter().map(|runs| runs.seeds.len()).sum()
    }

    /// Returns the task's part without rows.
    pub(super) fn part(&self) -> Part {
        Part::new(&self.scenario, &self.file, &self.metrics)
    }

    /// Runs the task's runs one after another, with algorithms registered in `registry`. Omits runs
    /// during which `stop` is set. Calls `finished` after each completed run.
    ///
    /// # Errors
    /// Returns an error if the scenario has changed since the task was created.
    pub fn run(
        &self,
        registry: &Registry,
        stop: &AtomicBool,
        finished: impl Fn(),
    ) -> Result<Part, ScenarioError> {
        let mut part = self.part();
        self.run_each(registry, stop, |row| {
            finished();
            part.rows.push(row);
            true
        })?;
        Ok(part)
    }

    /// Runs like [`Self::run`], and passes each row to `take` as soon as its run finishes. Ends if
    /// `take` returns false.
    ///
    /// # Errors
    /// Returns the errors of [`Self::run`].
    pub(super) fn run_each(
        &self,
        registry: &Registry,
        stop: &AtomicBool,
        mut take: impl FnMut(Row) -> bool,
    ) -> Result<(), ScenarioError> {
        let metrics = self.metrics.iter();
        let metrics: Vec<Metric> = metrics.filter_map(|name| Metric::find(name).ok()).collect();
        let needs = Metric::needs(&metrics);
        for runs in &self.points {
            let scenario =
                Scenario::from_toml_with(&self.scenario, &self.file, &runs.set, registry)?;
            let set = description(&runs.set);
            for (&seed, key) in runs.seeds.iter().zip(&runs.keys) {
                let mut goes_on = |_| !stop.load(Ordering::Relaxed);
                let run = whyloss_sim::Simulation::new(&scenario, seed)
                    .ask(&mut goes_on)
                    .measure(needs);
                // A stop may have damaged this run, for example by a failed classifier.
                if stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                let (values, error) = match run {
                    Ok(run) => {
                        if run.reached < scenario.end {
                            return Ok(());
                        }
                        (self.values(&metrics, &Observed::from(&run)), None)
                    }
                    Err(error) => (vec![f64::NAN; metrics.len()], Some(error.to_string())),
                };
                let goes_on = take(Row {
                    key: Key::from_str_radix(key, 16).unwrap_or_default(),
                    set: set.clone(),
                    seed,
                    error,
                    values,
                });
                if !goes_on {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Returns the value of each metric; NaN if missing.
    fn values(&self, metrics: &[Metric], run: &Observed<'_>) -> Vec<f64> {
        let flows = &run.measurement.flows;
        let has = |name: &String| flows.iter().any(|flow| flow.name == *name);
        let value = |(at, metric): (usize, &Metric)| {
            // Without this check, a column of flow `a` would show flow `ab` where `a` is missing.
            let of = self.flows.get(at).and_then(Option::as_ref);
            let value = of.is_none_or(has).then(|| metric.of(run, None));
            value.flatten().unwrap_or(f64::NAN)
        };
        metrics.iter().enumerate().map(value).collect()
    }
}
