//! What the runs say in the paper's terms (Section 6): throughput, its improvement, and the counts behind it.
//!
//! ```text
//! improvement     I = 100·(ȳ/x̄ − 1) %      x, y: throughput of the original and of its LDA counterpart (MIL-13)
//! its interval    ± 100·t·s/(√n·x̄)         s: deviation of yᵢ − (ȳ/x̄)·xᵢ over the seeds i, which both share
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::network::{Queueing, Reading, Setting, Topology, Traffic};
use super::probe::{self, Run};
use super::variants::Scheme;
use crate::experiment::{Context, ExperimentError};
use crate::replicate::{Precision, Replications};
use crate::statistics::{self, Summary};
use crate::variant::Variant;
use crate::{CONFIDENCE, Cell};
use whyloss_study::Nulls;

/// "The achieved statistical precision is 5% with 95% confidence interval." The cap is ours.
pub(crate) const PRECISION: Precision = Precision {
    half_width: 0.05,
    confidence: CONFIDENCE,
    at_most: 2_000,
};
/// The paper's packet error rates, in percent.
pub(crate) const PERS: [u32; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/// What a cell can show of a run.
pub(crate) type Metric = fn(&Run) -> f64;

/// The runs of every setting under every variant.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    runs: BTreeMap<(Setting, &'static str), Replications<Run>>,
}

impl Findings {
    /// Runs every setting under all of these variants, which are compared with each other.
    pub(crate) fn measure(
        context: &Context<'_>,
        settings: &[Setting],
        variants: &[Variant],
    ) -> Result<Self, ExperimentError> {
        let groups: Vec<Vec<_>> = settings
            .iter()
            .map(|&setting| {
                let item = |variant| (setting, setting.scenario(variant));
                variants.iter().map(item).collect()
            })
            .collect();
        let done = context.each_until(
            &groups,
            |(_, scenario)| format!("mil {scenario:?}"),
            |(setting, scenario), seed| probe::run(setting, scenario, seed),
            &PRECISION,
            |run| run.throughput,
        )?;
        let mut findings = Self::default();
        for (setting, group) in settings.iter().zip(done) {
            for (variant, runs) in variants.iter().zip(group) {
                findings.runs.insert((*setting, variant.id), runs);
            }
        }
        Ok(findings)
    }

    /// The fewest replications behind a mean.
    pub(crate) fn seeds(&self) -> u64 {
        let counts = self.runs.values().map(|runs| runs.len() as u64);
        counts.min().unwrap_or(0)
    }

    /// Where throughput was not measured to the paper's precision, and how many replications were run; a note.
    pub(crate) fn precision_note(&self) -> String {
        let most = self.runs.values().map(Vec::len).max().unwrap_or(0);
        let mut note = format!(
            "Replicated until the throughput of every variant is known to 5 % with 95 % confidence (MIL-9), from {} to {most} \
             times.",
            self.seeds()
        );
        let short: Vec<String> = self
            .runs
            .iter()
            .filter_map(|((setting, variant), runs)| {
                let values: Vec<f64> = runs.iter().map(|run| run.throughput).collect();
                let half_width = statistics::half_width(&values, CONFIDENCE);
                let share = half_width.unwrap_or(f64::INFINITY) / statistics::mean(&values)?;
                let reached = PRECISION.reached(&values);
                (!reached).then(|| {
                    format!(
                        "{variant}, {}-bottleneck, {}, {} at {} % ({:.0} % after {})",
                        setting.topology.name(),
                        setting.traffic.name(),
                        setting.queueing.name(),
                        setting.per,
                        100.0 * share,
                        runs.len()
                    )
                })
            })
            .collect();
        if !short.is_empty() {
            let _ = write!(note, " Not that precise: {}.", short.join("; "));
        }
        note
    }

    /// The summary of a metric; empty if the setting was not run.
    pub(crate) fn summary(
        &self,
        metric: Metric,
        setting: Setting,
        variant: &'static str,
    ) -> Summary {
        let runs = self.runs.get(&(setting, variant));
        let values: Vec<f64> = runs.into_iter().flatten().map(|run| metric(run)).collect();
        Summary::of(&values)
    }

    /// By how many percent the mean of a metric is larger with one variant than with another, and the interval.
    pub(crate) fn change(
        &self,
        metric: Metric,
        setting: Setting,
        (from, to): (&'static str, &'static str),
    ) -> Summary {
        let values = |variant| -> Vec<f64> {
            let runs = self.runs.get(&(setting, variant));
            runs.into_iter().flatten().map(|run| metric(run)).collect()
        };
        let (x, y) = (values(from), values(to));
        let (Some(x_mean), Some(y_mean)) = (statistics::mean(&x), statistics::mean(&y)) else {
            return Summary::default();
        };
        let ratio = y_mean / x_mean;
        let residuals: Vec<f64> = x.iter().zip(&y).map(|(x, y)| y - ratio * x).collect();
        Summary {
            count: x.len(),
            mean: Some(100.0 * (ratio - 1.0)),
            ci95: statistics::ci95(&residuals).map(|half| 100.0 * half / x_mean),
        }
    }
}

/// One scheme in one traffic: what the claims of a figure are decided on. A mean that does not exist is NaN, so that
/// every comparison with it fails and the claim with it.
pub(crate) struct Study {
    pub(crate) findings: Findings,
    pub(crate) scheme: Scheme,
    pub(crate) traffic: Traffic,
}

impl Study {
    /// Both topologies and both disciplines over these error rates.
    pub(crate) fn measure(
        context: &Context<'_>,
        scheme: Scheme,
        traffic: Traffic,
        pers: &[u32],
    ) -> Result<Self, ExperimentError> {
        let mut settings = Vec::new();
        for queueing in Queueing::ALL {
            for topology in Topology::ALL {
                settings.extend(pers.iter().map(|&per| Setting {
                    topology,
                    queueing,
                    traffic,
                    per,
                    reading: Reading::Taken,
                }));
            }
        }
        let variants = [scheme.plain.clone(), scheme.lda.clone()];
        Ok(Self {
            findings: Findings::measure(context, &settings, &variants)?,
            scheme,
            traffic,
        })
    }

    pub(crate) fn setting(&self, topology: Topology, queueing: Queueing, per: u32) -> Setting {
        Setting {
            topology,
            queueing,
            traffic: self.traffic,
            per,
            reading: Reading::Taken,
        }
    }

    fn fifo(&self, topology: Topology, per: u32) -> Setting {
        self.setting(topology, Queueing::Fifo, per)
    }

    /// The original and the LDA variant.
    pub(crate) fn pair(&self) -> (&'static str, &'static str) {
        (self.scheme.plain.id, self.scheme.lda.id)
    }

    /// The improvement, %, with FIFO queues.
    pub(crate) fn improvement(&self, topology: Topology, per: u32) -> f64 {
        self.change(|run| run.throughput, topology, per)
    }

    /// The ends of its interval.
    pub(crate) fn bounds(&self, topology: Topology, per: u32) -> (f64, f64) {
        let setting = self.fifo(topology, per);
        let change = self
            .findings
            .change(|run| run.throughput, setting, self.pair());
        let (mean, half) = (
            change.mean.unwrap_or(f64::NAN),
            change.ci95.unwrap_or(f64::NAN),
        );
        (mean - half, mean + half)
    }

    /// The change of a metric, %, with FIFO queues.
    pub(crate) fn change(&self, metric: Metric, topology: Topology, per: u32) -> f64 {
        let change = self
            .findings
            .change(metric, self.fifo(topology, per), self.pair());
        change.mean.unwrap_or(f64::NAN)
    }

    /// The mean of a metric with FIFO queues.
    pub(crate) fn mean(
        &self,
        metric: Metric,
        topology: Topology,
        per: u32,
        variant: &'static str,
    ) -> f64 {
        let summary = self
            .findings
            .summary(metric, self.fifo(topology, per), variant);
        summary.mean.unwrap_or(f64::NAN)
    }

    /// Means of the original.
    pub(crate) fn plain(&self, metric: Metric, topology: Topology, per: u32) -> f64 {
        self.mean(metric, topology, per, self.scheme.plain.id)
    }

    /// Means of the LDA variant.
    pub(crate) fn lda(&self, metric: Metric, topology: Topology, per: u32) -> f64 {
        self.mean(metric, topology, per, self.scheme.lda.id)
    }

    /// Improvements over these error rates, with FIFO queues.
    pub(crate) fn improvements(&self, topology: Topology, pers: &[u32]) -> Vec<f64> {
        pers.iter()
            .map(|&per| self.improvement(topology, per))
            .collect()
    }

    /// `.01 45.2±3.1, .02 …`: the improvements behind a claim.
    pub(crate) fn evidence(&self, topology: Topology, pers: &[u32]) -> String {
        let part = |&per: &u32| {
            let setting = self.fifo(topology, per);
            let change = self
                .findings
                .change(|run| run.throughput, setting, self.pair());
            let (mean, half) = (change.mean.unwrap_or(f64::NAN), change.ci95);
            format!(".0{per} {mean:+.1}±{:.1}", half.unwrap_or(f64::NAN))
        };
        let parts: Vec<String> = pers.iter().map(part).collect();
        format!("{} %", parts.join(", "))
    }

    /// `.01 12.3/14.5, …`: the original's and the LDA variant's mean of a metric.
    pub(crate) fn both(&self, metric: Metric, topology: Topology, pers: &[u32]) -> String {
        let part = |&per: &u32| {
            let (plain, lda) = (
                self.plain(metric, topology, per),
                self.lda(metric, topology, per),
            );
            format!(".0{per} {}/{}", short(plain), short(lda))
        };
        let parts: Vec<String> = pers.iter().map(part).collect();
        parts.join(", ")
    }
}

/// Three significant digits or so.
pub(crate) fn short(value: f64) -> String {
    let decimals = match value.abs() {
        magnitude if magnitude >= 100.0 => 0,
        magnitude if magnitude >= 10.0 => 1,
        magnitude if magnitude >= 1.0 => 2,
        0.0 => 0,
        _ => 4,
    };
    format!("{value:.decimals$}")
}

/// A measured value beside the paper's, if it states one.
pub(crate) fn cell(
    (row, column): (String, String),
    x: Option<u32>,
    unit: &'static str,
    summary: Summary,
    stated: Option<Stated>,
) -> Cell {
    Cell {
        row,
        column,
        x: x.map(f64::from),
        unit,
        paper: stated.map(|stated| stated.value),
        mean: summary.mean,
        half_width: summary.ci95,
        tolerance: stated.and_then(|stated| stated.tolerance),
        metric: match unit {
            "%" => "improvement",
            "ms" => "AckdInterval",
            _ => "count",
        },
        nulls: Nulls {
            // Without an LDA nothing improves. The LDA is the oracle.
            unaware: stated.filter(|_| unit == "%").map(|_| 0.0),
            oracle: None,
        },
        ..Cell::default()
    }
}

/// A number of the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stated {
    pub(crate) value: f64,
    /// How far from it a mean may lie; `None`: shown, but no target.
    pub(crate) tolerance: Option<f64>,
}
