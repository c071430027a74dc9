//! RMCAT's evaluation of congestion control for media (RFC 8867 and, with a w before the section,
//! RFC 8869; metrics of RFC 8868), as a program.
//!
//! ```text
//! Case      a scenario file of `evaluation/media/`, whose calls name no estimator
//!   ↓ run   cases × estimators × seeds
//! Finding   measures of each case and estimator, and the rate over time of the first call
//!   ↓       a table for each measure, a picture for each case (`outcomes`)
//! ```
//!
//! [`told`] compares our estimator with a copy that knows the truth.

pub mod told;

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use whyloss::{Duration, Time};
use whyloss_sim::scenario::{ScenarioError, Transport};
use whyloss_sim::{Event, Measurement, Registry, RunError, Scenario, Simulation, Watch};

use crate::experiment::Progress;
use crate::report::page::Page;
use crate::report::{html, markdown};
use crate::{Look, Mean, Outcome, Panel, Series, statistics};

/// The cases: their ids and scenario files.
const CASES: [(&str, &str); 14] = [
    ("5.1", include_str!("media/5.1.toml")),
    ("5.1-100ms", include_str!("media/5.1-100ms.toml")),
    ("5.1-jitter", include_str!("media/5.1-jitter.toml")),
    ("5.1-radio", include_str!("media/5.1-radio.toml")),
    ("5.2", include_str!("media/5.2.toml")),
    ("5.3", include_str!("media/5.3.toml")),
    ("5.4", include_str!("media/5.4.toml")),
    ("5.5", include_str!("media/5.5.toml")),
    ("5.6", include_str!("media/5.6.toml")),
    ("5.7", include_str!("media/5.7.toml")),
    ("5.8", include_str!("media/5.8.toml")),
    ("w3.2", include_str!("media/w3.2.toml")),
    ("w4.1", include_str!("media/w4.1.toml")),
    ("w4.2", include_str!("media/w4.2.toml")),
];

/// The measures: name and unit.
const MEASURES: [(&str, &str); 7] = [
    ("rate of a call", "kbit/s"),
    ("capture to display, 95th percentile", "ms"),
    ("time frozen", "%"),
    ("packets lost", "%"),
    ("time to 90 % of the path", "s"),
    ("Jain's index of the calls", ""),
    ("rate of TCP", "kbit/s"),
];

/// The interval over which a figure's rates are averaged.
const BIN: Duration = Duration::from_secs(1);

/// A test case of RFC 8867.
#[derive(Clone, Debug)]
pub struct Case {
    /// The section of RFC 8867, and the name of a variant.
    pub id: &'static str,
    text: &'static str,
}

/// Returns the cases whose id begins with `only`; all cases if it is empty.
pub fn cases(only: &str) -> Vec<Case> {
    let all = CASES.iter().map(|&(id, text)| Case { id, text });
    all.filter(|case| case.id.starts_with(only)).collect()
}

impl Case {
    /// Returns the case with this estimator in its calls.
    ///
    /// # Errors
    /// Returns an error if no estimator has the name.
    pub fn scenario(&self, estimator: &str) -> Result<Scenario, ScenarioError> {
        let text = self.text.replace("ESTIMATOR", estimator);
        Scenario::from_toml_with(&text, self.id, &[], &Registry::new())
    }
}

/// The measured values of an estimator in a case.
#[derive(Clone, Debug)]
struct Found {
    measures: Vec<Mean>,
    /// The rate of the first call in each second under the first seed, in Mbit/s.
    rates: Vec<f64>,
}

/// The findings of a case.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The case that was run.
    pub case: Case,
    title: String,
    found: Vec<Found>,
}

/// Explains why an evaluation failed.
#[derive(Debug, thiserror::Error)]
pub enum MediaError {
    /// A case cannot be read with an estimator of this name.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A case cannot be run.
    #[error("case {0}: {1}")]
    Run(&'static str, RunError),
}

/// Runs the cases with each estimator, with seeds starting at 1. Returns `None` once `stop` is set.
///
/// # Errors
/// Returns an error if a case cannot be read with an estimator, or a run fails.
pub fn run(
    cases: &[Case],
    estimators: &[&str],
    seeds: u64,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Option<Vec<Finding>>, MediaError> {
    let mut scenarios = Vec::new();
    for case in cases {
        for estimator in estimators {
            scenarios.push((case.id, case.scenario(estimator)?));
        }
    }
    let jobs: Vec<(usize, u64)> = (0..scenarios.len())
        .flat_map(|at| (1..=seeds).map(move |seed| (at, seed)))
        .collect();
    let done = each(&jobs, progress, stop, |&(at, seed)| {
        let (id, scenario) = &scenarios[at];
        let mut rates = Rates::new(scenario);
        let run = Simulation::new(scenario, seed).watch(&mut rates).run();
        let run = run.map_err(|error| MediaError::Run(id, error))?;
        Ok((measures(scenario, &run), rates.into_mbit()))
    })?;
    let Some(done) = done else {
        return Ok(None);
    };
    let found: Vec<Found> = done
        .chunks(seeds as usize)
        .map(|runs| Found {
            measures: (0..MEASURES.len())
                .map(|measure| {
                    let values = runs.iter().map(|run| run.0[measure]);
                    let known: Vec<f64> = values.filter(|value| value.is_finite()).collect();
                    Mean::of(&known)
                })
                .collect(),
            rates: runs.first().map_or_else(Vec::new, |run| run.1.clone()),
        })
        .collect();
    let findings = cases.iter().zip(found.chunks(estimators.len()));
    let titles = scenarios.chunks(estimators.len());
    let findings = findings
        .zip(titles)
        .map(|((case, found), scenarios)| Finding {
            case: case.clone(),
            title: scenarios[0].1.title.clone(),
            found: found.to_vec(),
        });
    Ok(Some(findings.collect()))
}

/// Runs all jobs in parallel. Returns `None` once `stop` is set.
fn each<J: Sync, T: Send>(
    jobs: &[J],
    progress: &dyn Progress,
    stop: &AtomicBool,
    run: impl Fn(&J) -> Result<T, MediaError> + Sync,
) -> Result<Option<Vec<T>>, MediaError> {
    progress.expect(jobs.len() as u64);
    let done = jobs.par_iter().map(|job| {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let done = run(job);
        progress.finish();
        done.map(Some)
    });
    let done: Vec<Option<T>> = done.collect::<Result<_, _>>()?;
    Ok(done.into_iter().collect())
}

/// Returns the values of [`MEASURES`] in a run; NaN for a missing one.
fn measures(scenario: &Scenario, run: &Measurement) -> Vec<f64> {
    let flows = |is: fn(&Transport) -> bool| -> Vec<usize> {
        let all = 0..run.flows.len();
        all.filter(|at| is(&scenario.flows[*at].transport))
            .collect()
    };
    let calls = flows(|transport| matches!(transport, Transport::Rtp { .. }));
    let downloads = flows(|transport| matches!(transport, Transport::Tcp { .. }));
    let kbit = |at: &usize| run.flows[*at].throughput_bps(run.window) / 1e3;
    let mean = |values: &[f64]| statistics::mean(values).unwrap_or(f64::NAN);
    let of = |value: &dyn Fn(&whyloss_sim::CallResult) -> Option<f64>| -> Vec<f64> {
        let results = calls.iter().filter_map(|at| run.flows[*at].call.as_deref());
        results
            .map(|call| value(call).unwrap_or(f64::NAN))
            .collect()
    };
    let rates: Vec<f64> = calls.iter().map(kbit).collect();
    let lost = |at: &usize| {
        let flow = &run.flows[*at];
        let lost = flow.lost.congestion + flow.lost.wireless;
        100.0 * lost as f64 / flow.sent.max(1) as f64
    };
    let seconds = run.window.as_secs_f64();
    let jain = statistics::jain(&rates).filter(|_| rates.len() > 1);
    let worst = |values: Vec<f64>| values.into_iter().fold(f64::NAN, f64::max);
    vec![
        mean(&rates),
        worst(of(&|call| call.delays.quantile_ms(0.95))),
        mean(&of(&|call| {
            Some(100.0 * call.frozen.as_secs_f64() / seconds)
        })),
        mean(&calls.iter().map(lost).collect::<Vec<_>>()),
        mean(&of(&|call| call.ramp.map(Duration::as_secs_f64))),
        jain.unwrap_or(f64::NAN),
        if downloads.is_empty() {
            f64::NAN
        } else {
            downloads.iter().map(kbit).sum()
        },
    ]
}

/// The received rate of the first call over time.
struct Rates {
    flow: usize,
    bits: Vec<f64>,
}

impl Rates {
    fn new(scenario: &Scenario) -> Self {
        let calls = scenario.flows.iter();
        let mut calls = calls.map(|flow| matches!(flow.transport, Transport::Rtp { .. }));
        let bins = (scenario.end - Time::ZERO).as_nanos() / BIN.as_nanos() + 1;
        Self {
            flow: calls.position(|call| call).unwrap_or(0),
            bits: vec![0.0; usize::try_from(bins).unwrap_or(0)],
        }
    }

    fn into_mbit(mut self) -> Vec<f64> {
        // The last bin contains only the instant of the end.
        self.bits.pop();
        let scale = 1e6 * BIN.as_secs_f64();
        self.bits.iter().map(|bits| bits / scale).collect()
    }
}

impl Watch for Rates {
    fn on(&mut self, event: &Event<'_>) {
        if let Event::Arrived {
            flow, at, packet, ..
        } = *event
            && flow == self.flow
        {
            let bin = (at - Time::ZERO).as_nanos() / BIN.as_nanos();
            if let Some(bits) = usize::try_from(bin)
                .ok()
                .and_then(|bin| self.bits.get_mut(bin))
            {
                *bits += 8.0 * f64::from(packet.size);
            }
        }
    }
}

/// Returns a table of all cases for each measure, with a picture of the first call's rate in each
/// case.
pub fn outcomes(findings: &[Finding], estimators: &[&str], seeds: u64) -> Vec<Outcome> {
    let tables = MEASURES.iter().enumerate().map(|(measure, (name, unit))| {
        let mut outcome = Outcome::new(&format!("media-{}", measure + 1), name, seeds);
        for finding in findings {
            let row = format!("{} {}", finding.case.id, finding.title);
            for (found, estimator) in finding.found.iter().zip(estimators) {
                let mean = found.measures[measure];
                if mean.value.is_finite() {
                    outcome.cells.push(mean.cell(&row, estimator, unit));
                }
            }
        }
        outcome
    });
    let mut outcomes: Vec<Outcome> = tables.filter(|table| !table.cells.is_empty()).collect();
    let panels = findings.iter().map(|finding| {
        let series = finding
            .found
            .iter()
            .zip(estimators)
            .map(|(found, estimator)| {
                let points = (0..)
                    .zip(&found.rates)
                    .map(|(second, rate)| (f64::from(second), *rate));
                Series::new(estimator, Look::Line, points)
            });
        Panel::new(finding.case.id, ("time, s", "Mbit/s"), series.collect())
    });
    let caption = "Received rate of the first call, each second, under seed 1";
    let picture = Outcome::new("media-rates", caption, seeds);
    outcomes.push(picture.figure(panels.collect::<Vec<_>>()));
    outcomes
}

/// Returns the page of all outcomes.
pub fn page(outcomes: &[Outcome]) -> String {
    let mut page = Page::new("Estimators for media, by RFC 8867 and RFC 8869");
    for outcome in outcomes {
        html::push_outcome(&mut page, outcome, |_| None);
    }
    page.finish(&format!(
        "Measured by whyloss {} on simulated networks.",
        env!("CARGO_PKG_VERSION")
    ))
}

/// Returns the tables of all outcomes in Markdown.
pub fn document(outcomes: &[Outcome]) -> String {
    let tables = outcomes.iter().filter(|outcome| !outcome.cells.is_empty());
    let sections = tables.map(|outcome| {
        let tables = markdown::tables(outcome, false);
        format!("## {}\n\n{tables}", outcome.title)
    });
    sections.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every case parses with every estimator, lasts until its last change, and has a call.
    #[test]
    fn cases_are_sound() {
        for case in cases("") {
            for estimator in ["whyloss", "oracle", "nada", "scream", "gcc"] {
                let scenario = case.scenario(estimator);
                let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
                assert!(scenario.end.as_secs_f64() >= 100.0, "{}", case.id);
                let rates = Rates::new(&scenario);
                let first = &scenario.flows[rates.flow];
                assert!(matches!(first.transport, Transport::Rtp { .. }));
            }
            assert!(case.scenario("gccc").is_err());
        }
        assert_eq!(cases("5.1").len(), 4);
        assert_eq!(cases("5.8").len(), 1);
    }
}
