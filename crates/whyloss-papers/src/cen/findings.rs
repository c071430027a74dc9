//! What the runs say in the paper's terms (Section 4): throughput, congestion loss, Mc, Mw.

use std::collections::BTreeMap;
use std::fmt;

use whyloss::Confusion;
use whyloss_sim::{Measurement, Scenario};

use super::channel::Level;
use super::network::{Network, Topology};
use super::scheme::{self, PACKET, Scheme};
use whyloss_study::statistics::Summary;
use whyloss_study::{Context, ExperimentError};

/// The paper's four measures, all in per cent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Metric {
    /// Bits of all flows over the bottleneck's rate (CEN-28): what was received by TCP, which sends again what was
    /// corrupted; what crossed the link of the TFRC family, to which a wireless loss is "a received packet" (Section 1).
    Throughput,
    /// The same with what crossed the bottleneck, corrupted or not, for all.
    Crossed,
    /// The same with what was received, for all.
    Received,
    /// Congestion losses called wireless over congestion losses, averaged over the flows that had any (CEN-29).
    Mc,
    /// Wireless losses called congestion over wireless losses, averaged likewise (CEN-29).
    Mw,
    /// Packets lost to congestion over the packets behind the throughput (CEN-30).
    Congestion,
    /// Mc of all flows' losses taken together.
    PooledMc,
    /// Mw of all flows' losses taken together.
    PooledMw,
}

impl Metric {
    /// The paper's four.
    pub(crate) const STATED: [Self; 4] = [Self::Throughput, Self::Mc, Self::Mw, Self::Congestion];

    /// Every measure, in the order of tables.
    pub(crate) const ALL: [Self; 8] = [
        Self::Throughput,
        Self::Crossed,
        Self::Received,
        Self::Mc,
        Self::Mw,
        Self::Congestion,
        Self::PooledMc,
        Self::PooledMw,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Crossed => "crossed",
            Self::Received => "received",
            Self::Mc => "Mc",
            Self::Mw => "Mw",
            Self::Congestion => "congestion loss",
            Self::PooledMc => "Mc, pooled",
            Self::PooledMw => "Mw, pooled",
        }
    }

    /// How far a mean may lie from the paper's, in points.
    pub(crate) fn tolerance(self) -> f64 {
        match self {
            Self::Throughput | Self::Crossed | Self::Received => 5.0,
            Self::Mw | Self::PooledMw => 10.0,
            Self::Mc | Self::PooledMc => 3.0,
            Self::Congestion => 0.5,
        }
    }

    /// The metric's value in one replication; `None` if it has none.
    pub(crate) fn of(self, run: &Measurement, topology: Topology) -> Option<f64> {
        let flows = || run.flows.iter().filter(|flow| !flow.background);
        let n = flows().count();
        let pooled = || {
            flows().fold(Confusion::default(), |mut all, flow| {
                all.merge(&flow.packets);
                all
            })
        };
        let per_flow = |rate: fn(&Confusion) -> Option<f64>| {
            let rates: Vec<f64> = flows().filter_map(|flow| rate(&flow.packets)).collect();
            whyloss_study::statistics::mean(&rates)
        };
        let received: u64 = flows().map(|flow| flow.received).sum();
        let crossed = received + flows().map(|flow| flow.lost.wireless).sum::<u64>();
        let counted = received
            + flows()
                .filter(|flow| !scheme::is_tcp(&flow.name))
                .map(|flow| flow.lost.wireless)
                .sum::<u64>();
        let utilisation = |packets: u64| {
            let bits = packets as f64 * f64::from(8 * PACKET);
            bits / run.window.as_secs_f64() / topology.bottleneck(n).as_bps() as f64
        };
        let share = match self {
            Self::Throughput => Some(utilisation(counted)),
            Self::Crossed => Some(utilisation(crossed)),
            Self::Received => Some(utilisation(received)),
            Self::Congestion => {
                let lost: u64 = flows().map(|flow| flow.lost.congestion).sum();
                (counted > 0).then(|| lost as f64 / counted as f64)
            }
            Self::Mc => per_flow(Confusion::mc),
            Self::Mw => per_flow(Confusion::mw),
            Self::PooledMc => pooled().mc(),
            Self::PooledMw => pooled().mw(),
        };
        share.map(|share| 100.0 * share)
    }
}

/// What one line of runs is: everything but the seed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Point {
    pub(crate) topology: Topology,
    pub(crate) flows: usize,
    pub(crate) level: Level,
    pub(crate) scheme: String,
}

/// Every measure of every point that was run.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    values: BTreeMap<(Point, Metric), Summary>,
    /// Replications behind every mean; some have more when a run was stopped.
    pub(crate) seeds: u64,
}

/// A grid of points to run.
pub(crate) struct Grid<'a> {
    pub(crate) topologies: &'a [Topology],
    pub(crate) levels: &'a [Level],
    pub(crate) flows: &'a [usize],
    pub(crate) schemes: &'a [Scheme],
}

impl Findings {
    /// Runs the grid with the stand-in channel of each level.
    pub(crate) fn measure(context: &Context<'_>, grid: &Grid<'_>) -> Result<Self, ExperimentError> {
        let mut points = Vec::new();
        let mut scenarios: Vec<Scenario> = Vec::new();
        for &topology in grid.topologies {
            for &level in grid.levels {
                let channel = level.channel();
                for &flows in grid.flows {
                    for scheme in grid.schemes {
                        let schemes = std::slice::from_ref(scheme);
                        let network = Network {
                            topology,
                            flows,
                            schemes,
                            channel: &channel,
                            warm_up: true,
                            before_queue: false,
                        };
                        scenarios.push(network.scenario());
                        points.push(Point {
                            topology,
                            flows,
                            level,
                            scheme: scheme.id.clone(),
                        });
                    }
                }
            }
        }
        let replications = context.replicate(&scenarios)?;
        let mut findings = Self::default();
        for (point, runs) in points.into_iter().zip(&replications) {
            findings.seeds = match findings.seeds {
                0 => runs.len() as u64,
                seeds => seeds.min(runs.len() as u64),
            };
            for metric in Metric::ALL {
                let values: Vec<f64> = runs
                    .iter()
                    .filter_map(|run| metric.of(run, point.topology))
                    .collect();
                findings
                    .values
                    .insert((point.clone(), metric), Summary::of(&values));
            }
        }
        Ok(findings)
    }

    /// The summary of one measure at one point; `None` if it was not run.
    pub(crate) fn summary(
        &self,
        metric: Metric,
        topology: Topology,
        level: Level,
        flows: usize,
        scheme: &str,
    ) -> Option<Summary> {
        let point = Point {
            topology,
            flows,
            level,
            scheme: scheme.into(),
        };
        self.values.get(&(point, metric)).copied()
    }

    /// The same findings, seen for one topology and level.
    pub(crate) fn view(&self, topology: Topology, level: Level) -> View<'_> {
        View {
            findings: self,
            topology,
            level,
        }
    }
}

/// Findings of one topology and level: what claims are decided on. A mean that does not exist is NaN, so that every
/// comparison with it fails and the claim with it.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    findings: &'a Findings,
    topology: Topology,
    level: Level,
}

impl View<'_> {
    /// Mean throughput, %.
    pub(crate) fn throughput(&self, scheme: &str, flows: usize) -> f64 {
        self.mean(Metric::Throughput, scheme, flows)
    }

    /// Mean congestion loss, %.
    pub(crate) fn congestion(&self, scheme: &str, flows: usize) -> f64 {
        self.mean(Metric::Congestion, scheme, flows)
    }

    /// Mean Mc, %.
    pub(crate) fn mc(&self, scheme: &str, flows: usize) -> f64 {
        self.mean(Metric::Mc, scheme, flows)
    }

    /// Mean Mw, %.
    pub(crate) fn mw(&self, scheme: &str, flows: usize) -> f64 {
        self.mean(Metric::Mw, scheme, flows)
    }

    /// The mean of a measure, %.
    pub(crate) fn mean(&self, metric: Metric, scheme: &str, flows: usize) -> f64 {
        let summary = self
            .findings
            .summary(metric, self.topology, self.level, flows, scheme);
        summary.and_then(|summary| summary.mean).unwrap_or(f64::NAN)
    }
}

/// `name 12.3, name 4.56`: the evidence behind a claim. Small values show two decimals.
pub(crate) fn list<N: fmt::Display>(values: impl IntoIterator<Item = (N, f64)>) -> String {
    let parts: Vec<String> = values
        .into_iter()
        .map(|(name, value)| {
            let decimals = if value.abs() < 10.0 { 2 } else { 1 };
            format!("{name} {value:.decimals$}")
        })
        .collect();
    parts.join(", ")
}
