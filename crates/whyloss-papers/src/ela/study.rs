//! What runs give in the paper's metrics (Section 5.3): a panel for each reading, a line for each protocol, and for each
//! point the values of the seeds.
//!
//! ```text
//! throughput   bits received / time of sending                                   [Mbit/s]
//! goodput      packets received / packets whose fate is known by the end         [1]
//! delay        first copy's arrival − first departure (TCP: of the segment)      [ms]
//! jitter       of these delays: variance [ms²], and its root [ms] (ELA-17)
//! ```
//!
//! The paper divides by packets sent; those that are still under way when a run ends are neither received nor lost.

use core::fmt::Write;
use std::collections::BTreeMap;

use whyloss_sim::Delays;

use super::network::Network;
use whyloss_study::Mean;
use whyloss_study::Replications;
use whyloss_study::statistics;
use whyloss_study::{CONFIDENCE, Cell, Claim, Figure, Outcome, Panel, Series};
use whyloss_study::{Context, ExperimentError};

/// Bit error rates: the paper's, and one between each two.
pub(crate) const RATES: [f64; 9] = [1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 3e-7, 1e-7];

/// What is kept of a flow in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct FlowRun {
    pub(crate) throughput: f64,
    pub(crate) received: u64,
    /// Packets lost to bit errors.
    pub(crate) errors: u64,
    /// Packets lost to full queues.
    pub(crate) drops: u64,
    pub(crate) delay: Option<f64>,
    pub(crate) variance: Option<f64>,
}

impl FlowRun {
    /// The share of packets that arrive; `None` without one.
    pub(crate) fn goodput(&self) -> Option<f64> {
        let known = self.received + self.errors + self.drops;
        (known > 0).then(|| self.received as f64 / known as f64)
    }
}

/// A metric of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metric {
    Throughput,
    Goodput,
    Delay,
    Variance,
    Deviation,
}

impl Metric {
    pub(crate) fn of(self, run: &FlowRun) -> Option<f64> {
        match self {
            Self::Throughput => Some(run.throughput),
            Self::Goodput => run.goodput(),
            Self::Delay => run.delay,
            Self::Variance => run.variance,
            Self::Deviation => run.variance.map(libm::sqrt),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Goodput => "goodput",
            Self::Delay => "mean delay",
            Self::Variance => "jitter (variance)",
            Self::Deviation => "jitter (standard deviation)",
        }
    }

    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::Throughput => "Mbit/s",
            Self::Goodput => "",
            Self::Delay | Self::Deviation => "ms",
            Self::Variance => "ms²",
        }
    }

    /// Whether its values differ by powers of ten.
    fn log(self) -> bool {
        matches!(self, Self::Delay | Self::Variance | Self::Deviation)
    }
}

/// Four significant digits or so.
pub(crate) fn short(value: f64) -> String {
    let decimals = match value.abs() {
        magnitude if magnitude >= 1000.0 => 0,
        magnitude if magnitude >= 100.0 => 1,
        magnitude if magnitude >= 10.0 => 2,
        _ => 4,
    };
    format!("{value:.decimals$}")
}

/// A place on the axis, as evidence names it.
pub(crate) fn place(x: f64) -> String {
    if x < 0.01 {
        format!("{x:e}")
    } else {
        x.to_string()
    }
}

/// A line to be measured: one flow of a network for each x.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) networks: Vec<Network>,
    pub(crate) flow: usize,
    /// Whether figures show it.
    pub(crate) drawn: bool,
}

/// Lines for every protocol of the networks, which are the same for each x.
pub(crate) fn together(xs: &[f64], network: impl Fn(f64) -> Network) -> Vec<Plan> {
    let networks: Vec<Network> = xs.iter().map(|&x| network(x)).collect();
    let protocols = networks.first().map_or(&[][..], |first| &first.protocols);
    let plan = |(flow, protocol): (usize, &super::protocols::Protocol)| Plan {
        id: protocol.id.into(),
        name: protocol.name.into(),
        networks: networks.clone(),
        flow,
        drawn: true,
    };
    protocols.iter().enumerate().map(plan).collect()
}

/// A line that was measured.
#[derive(Clone, Debug)]
struct Line {
    id: String,
    name: String,
    drawn: bool,
    points: Vec<Vec<FlowRun>>,
}

/// The lines of one reading.
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// The reading; empty if there is one only.
    pub(crate) title: String,
    pub(crate) xs: Vec<f64>,
    lines: Vec<Line>,
}

impl View {
    /// What a line has at the `index`-th x; nothing if there is no such line.
    pub(crate) fn runs(&self, id: &str, index: usize) -> &[FlowRun] {
        let line = self.lines.iter().find(|line| line.id == id);
        let runs = line.and_then(|line| line.points.get(index));
        runs.map_or(&[], Vec::as_slice)
    }

    /// The values of the seeds.
    pub(crate) fn values(&self, id: &str, metric: Metric, index: usize) -> Vec<f64> {
        let runs = self.runs(id, index).iter();
        runs.filter_map(|run| metric.of(run)).collect()
    }

    /// Mean over the replications.
    pub(crate) fn mean(&self, id: &str, metric: Metric, index: usize) -> f64 {
        Mean::of(&self.values(id, metric, index)).value
    }

    /// The difference of two lines, seed by seed where both have a value.
    pub(crate) fn difference(&self, a: &str, b: &str, metric: Metric, index: usize) -> Mean {
        let pairs = self.runs(a, index).iter().zip(self.runs(b, index));
        let both = pairs.filter_map(|(a, b)| Some(metric.of(a)? - metric.of(b)?));
        Mean::of(&both.collect::<Vec<_>>())
    }

    /// The indices of the places in a range of x.
    pub(crate) fn within(&self, low: f64, high: f64) -> Vec<usize> {
        let near = 1e-9;
        let keep = |&(_, &x): &(usize, &f64)| low * (1.0 - near) <= x && x <= high * (1.0 + near);
        let places = self.xs.iter().enumerate().filter(keep);
        places.map(|(index, _)| index).collect()
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<usize> {
        (0..self.xs.len()).collect()
    }

    /// The index of an x.
    pub(crate) fn at(&self, x: f64) -> usize {
        let found = self.within(x, x);
        found.first().copied().unwrap_or(usize::MAX)
    }

    /// As the paper writes it.
    pub(crate) fn name(&self, id: &str) -> String {
        let line = self.lines.iter().find(|line| line.id == id);
        line.map_or_else(|| id.to_owned(), |line| line.name.clone())
    }

    /// The ids of all lines.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.lines.iter().map(|line| line.id.clone()).collect()
    }

    /// `UDP 1e-3 0.91, …; TCP …`: the means behind a claim.
    pub(crate) fn evidence(&self, ids: &[&str], metric: Metric) -> String {
        let mut text = String::new();
        for (count, id) in ids.iter().enumerate() {
            let gap = if count == 0 { "" } else { "; " };
            let _ = write!(text, "{gap}{}", self.name(id));
            for (index, &x) in self.xs.iter().enumerate() {
                let comma = if index == 0 { "" } else { "," };
                let mean = short(self.mean(id, metric, index));
                let _ = write!(text, "{comma} {}: {mean}", place(x));
            }
        }
        if !metric.unit().is_empty() {
            let _ = write!(text, " {}", metric.unit());
        }
        text
    }

    /// A claim about this reading.
    pub(crate) fn claim(&self, id: &str, text: &str, holds: bool, evidence: String) -> Claim {
        let id = if self.title.is_empty() {
            id.to_owned()
        } else {
            format!("{id} ({})", self.title)
        };
        Claim::new(&id, text, holds, evidence)
    }

    fn panel(&self, metric: Metric, axis: Axis) -> Panel {
        let series = self.lines.iter().filter(|line| line.drawn).map(|line| {
            let point = |(index, &x): (usize, &f64)| {
                let mean = Mean::of(&self.values(&line.id, metric, index));
                let drawn = mean.value.is_finite() && (!metric.log() || mean.value > 0.0);
                let half = Some(mean.half_width).filter(|half| half.is_finite());
                drawn.then_some((x, mean.value, half))
            };
            Series {
                name: line.name.clone(),
                look: whyloss_study::Look::line(line.id == "udp"),
                points: self.xs.iter().enumerate().filter_map(point).collect(),
            }
        });
        let unit = metric.unit();
        Panel {
            title: self.title.clone(),
            x_label: axis.label.into(),
            y_label: if unit.is_empty() {
                metric.name().into()
            } else {
                format!("{}, {unit}", metric.name())
            },
            log_x: axis.log,
            log_y: metric.log(),
            series: series.collect(),
        }
    }

    fn cells(&self, metric: Metric) -> Vec<Cell> {
        let row = if self.title.is_empty() {
            metric.name().to_owned()
        } else {
            format!("{}: {}", self.title, metric.name())
        };
        let mut cells = Vec::new();
        for line in &self.lines {
            for (index, &x) in self.xs.iter().enumerate() {
                let mean = Mean::of(&self.values(&line.id, metric, index));
                cells.push(Cell {
                    x: Some(x),
                    ..mean.cell(&row, &line.name, metric.unit())
                });
            }
        }
        cells
    }
}

/// An x axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    pub(crate) label: &'static str,
    pub(crate) log: bool,
}

/// Bit error rates.
pub(crate) const BER: Axis = Axis {
    label: "bit error rate",
    log: true,
};

/// The readings of an experiment.
#[derive(Clone, Debug)]
pub(crate) struct Study {
    pub(crate) views: Vec<View>,
    pub(crate) seeds: u64,
}

impl Study {
    /// Measures the plans of each reading over the same xs.
    pub(crate) fn measure(
        context: &Context<'_>,
        xs: &[f64],
        panels: Vec<(String, Vec<Plan>)>,
    ) -> Result<Self, ExperimentError> {
        let networks = panels
            .iter()
            .flat_map(|(_, plans)| plans)
            .flat_map(|plan| &plan.networks);
        let networks: Vec<&Network> = networks.collect();
        let mut runs = run(context, &networks)?.into_iter();
        let mut seeds = u64::MAX;
        let mut views = Vec::new();
        for (title, plans) in panels {
            let mut lines = Vec::new();
            for plan in plans {
                let mut points = Vec::new();
                for replications in runs.by_ref().take(plan.networks.len()) {
                    seeds = seeds.min(replications.len() as u64);
                    let of_flow = |run: &std::sync::Arc<Vec<FlowRun>>| run.get(plan.flow).copied();
                    points.push(replications.iter().filter_map(of_flow).collect());
                }
                lines.push(Line {
                    id: plan.id,
                    name: plan.name,
                    drawn: plan.drawn,
                    points,
                });
            }
            views.push(View {
                title,
                xs: xs.into(),
                lines,
            });
        }
        Ok(Self { views, seeds })
    }

    /// The first reading.
    pub(crate) fn first(&self) -> &View {
        &self.views[0]
    }

    /// An outcome with every point as a cell and a figure for each metric, the first of which has the experiment's name.
    pub(crate) fn outcome(
        &self,
        (id, title): (&str, &str),
        axis: Axis,
        metrics: &[Metric],
        claims: Vec<Claim>,
        notes: Vec<String>,
    ) -> Outcome {
        let cells = metrics
            .iter()
            .flat_map(|&metric| self.views.iter().flat_map(move |view| view.cells(metric)));
        let figures = metrics.iter().enumerate().map(|(index, &metric)| Figure {
            name: match (index, metric) {
                (0, _) => id.into(),
                (_, Metric::Deviation) => format!("{id}-deviation"),
                (_, Metric::Variance) => format!("{id}-variance"),
                (_, other) => format!("{id}-{}", other.name().replace(' ', "-")),
            },
            caption: title.into(),
            panels: self
                .views
                .iter()
                .map(|view| view.panel(metric, axis))
                .collect(),
        });
        Outcome {
            id: id.into(),
            title: title.into(),
            seeds: self.seeds,
            confidence: CONFIDENCE,
            cells: cells.collect(),
            claims,
            figures: figures.collect(),
            notes,
        }
    }
}

/// Runs every network, each once however often it is listed; the runs of each, a value per flow.
pub(crate) fn run(
    context: &Context<'_>,
    networks: &[&Network],
) -> Result<Vec<Replications<Vec<FlowRun>>>, ExperimentError> {
    let mut indices = BTreeMap::new();
    let mut unique = Vec::new();
    let mut places = Vec::new();
    for network in networks {
        // The key is the network itself, written out: two share a run only if they are the same.
        let key = format!("ELA {network:?}");
        let next = unique.len();
        let index = *indices.entry(key.clone()).or_insert(next);
        if index == next {
            unique.push((key, *network));
        }
        places.push(index);
    }
    let runs = context.each(
        &unique,
        |(key, _)| key.clone(),
        |(_, network), seed| measure(network, seed),
    )?;
    Ok(places
        .into_iter()
        .map(|index| runs[index].clone())
        .collect())
}

fn measure(network: &Network, seed: u64) -> Result<Vec<FlowRun>, ExperimentError> {
    let scenario = network.scenario();
    let mut delays = Delays::new(&scenario);
    let run = whyloss_sim::run(&scenario, seed, &mut delays)
        .map_err(|error| ExperimentError::Failed(Box::new(error)))?;
    let flows = run.flows.iter().zip(&delays.flows);
    let flow = |(flow, delays): (
        &whyloss_sim::measure::FlowResult,
        &whyloss_sim::DelaySummary,
    )| {
        FlowRun {
            throughput: flow.throughput_bps(network.sending) / 1e6,
            received: flow.received,
            errors: flow.lost.wireless,
            drops: flow.lost.congestion,
            delay: delays.mean_ms(),
            variance: delays.variance_ms2(),
        }
    };
    Ok(flows.map(flow).collect())
}

/// The mean of means; NaN if one does not exist.
pub(crate) fn average(values: &[f64]) -> f64 {
    statistics::mean(values).unwrap_or(f64::NAN)
}
