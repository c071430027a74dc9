//! What runs give in the paper's metrics (Section 5.3), for each reading a line for each protocol.
//!
//! ```text
//! throughput   bits received / time of sending                                   [Mbit/s]
//! goodput      packets received / packets whose fate is known by the end         [1]
//! delay        first copy's arrival − first departure (TCP: of the segment)      [ms]
//! jitter       of these delays: variance [ms²], and its root [ms] (ELA-17)
//! ```
//!
//! The paper divides by packets sent; those that are still under way when a run ends are neither received nor lost.

use whyloss_sim::Needs;
use whyloss_study::{
    Axis, Check, Claim, Context, ExperimentError, Figure, Line, Lines, Look, Metric, Notation,
    Outcome, Plan, Runs, Weight,
};

use super::network::Network;

/// Bit error rates: the paper's, and one between each two.
pub(crate) const RATES: [f64; 9] = [1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 3e-7, 1e-7];

/// How evidence writes means: `1e-3: 0.0024`.
const SHORT: Notation = Notation {
    place: |x| place(x) + ": ",
    mean: short,
};
/// Bit error rates as an axis.
pub(crate) const BER: Axis = Axis::log("bit error rate").written(SHORT);
/// UDP's rate as an axis.
pub(crate) const UDP_RATE: Axis = Axis::linear("UDP's rate, kbit/s").written(SHORT);
/// IFTP-W's coverage as an axis.
pub(crate) const COVERAGE: Axis = Axis::linear("sensitive bytes of IFTP-W's 1464").written(SHORT);

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

pub(crate) const THROUGHPUT: Metric<FlowRun> =
    Metric::new("throughput", "Mbit/s", |run| Some(run.throughput));
pub(crate) const GOODPUT: Metric<FlowRun> = Metric::new("goodput", "", FlowRun::goodput);
pub(crate) const DELAY: Metric<FlowRun> = log(Metric::new("mean delay", "ms", |run| run.delay));
pub(crate) const VARIANCE: Metric<FlowRun> =
    log(Metric::new("jitter (variance)", "ms²", |run| run.variance));
pub(crate) const DEVIATION: Metric<FlowRun> =
    log(Metric::new("jitter (standard deviation)", "ms", |run| {
        run.variance.map(libm::sqrt)
    }));

/// A metric whose values differ by powers of ten.
const fn log(metric: Metric<FlowRun>) -> Metric<FlowRun> {
    Metric {
        log: true,
        ..metric
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

/// A flow of a network, by its protocol's id.
pub(crate) type Item = (Network, &'static str);

/// Lines for every protocol of the networks, which are the same for each x.
pub(crate) fn together(axis: &Axis, xs: &[f64], network: impl Fn(f64) -> Network) -> Plan<Item> {
    let protocols = xs.first().map_or_else(Vec::new, |&x| network(x).protocols);
    protocols.iter().fold(Plan::new(axis, xs), |plan, of| {
        plan.line(of.id, of.name, |x| (network(x), of.id))
    })
}

/// Runs plans together, each network once however many of its flows are looked at.
pub(crate) fn run(
    context: &Context<'_>,
    plans: &[Plan<Item>],
) -> Result<Vec<Runs<FlowRun>>, ExperimentError> {
    // The key is the network itself, written out: two share a run only if they are the same.
    let key = |(network, _): &Item| format!("ELA {network:?}");
    let runs = Plan::run_all_with(context, plans, key, |(network, _), seed| {
        flows(network, seed)
    })?;
    let flow = |(_, id): &Item, runs: &Vec<(&str, FlowRun)>| {
        let mut flows = runs.iter();
        flows
            .find(|(of, _)| of == id)
            .map_or_else(FlowRun::default, |flow| flow.1)
    };
    Ok(plans
        .iter()
        .zip(runs)
        .map(|(plan, runs)| runs.each(plan, flow))
        .collect())
}

fn flows(network: &Network, seed: u64) -> Result<Vec<(&'static str, FlowRun)>, ExperimentError> {
    let scenario = network.scenario();
    let needs = Needs {
        delays: true,
        ..Needs::default()
    };
    let run = whyloss_sim::Simulation::new(&scenario, seed)
        .measure(needs)
        .map_err(|error| ExperimentError::Failed(Box::new(error)))?;
    let flows = run.measurement.flows.iter().zip(&run.delays);
    let flows = network.protocols.iter().zip(flows);
    let flow = |(protocol, (flow, delays)): (
        &super::protocols::Protocol,
        (
            &whyloss_sim::measure::FlowResult,
            &whyloss_sim::DelaySummary,
        ),
    )| {
        let run = FlowRun {
            throughput: flow.throughput_bps(network.sending) / 1e6,
            received: flow.received,
            errors: flow.lost.wireless,
            drops: flow.lost.congestion,
            delay: delays.mean_ms(),
            variance: delays.variance_ms2(),
        };
        (protocol.id, run)
    };
    Ok(flows.map(flow).collect())
}

/// One reading of an experiment, as it was run.
pub(crate) struct Reading {
    /// What it is called; empty if there is one only.
    pub(crate) title: String,
    /// How its claims count.
    pub(crate) weight: Weight,
    pub(crate) runs: Runs<FlowRun>,
}

/// Runs the plan of each reading, of which the first-named claims count.
pub(crate) fn measure(
    context: &Context<'_>,
    readings: Vec<(String, Weight, Plan<Item>)>,
) -> Result<Vec<Reading>, ExperimentError> {
    let (named, plans): (Vec<_>, Vec<_>) = readings
        .into_iter()
        .map(|(title, weight, plan)| ((title, weight), plan))
        .unzip();
    let runs = run(context, &plans)?;
    let reading = |((title, weight), runs)| Reading {
        title,
        weight,
        runs,
    };
    Ok(named.into_iter().zip(runs).map(reading).collect())
}

impl Reading {
    pub(crate) fn line(&self, id: &str, metric: &Metric<FlowRun>) -> Line {
        self.runs.line(id, metric)
    }

    pub(crate) fn lines<const N: usize>(
        &self,
        ids: [&str; N],
        metric: &Metric<FlowRun>,
    ) -> [Line; N] {
        let lines = self.runs.lines(metric);
        ids.map(|id| lines.line(id))
    }

    /// Whether `holds` says so of these lines, with their means as evidence.
    pub(crate) fn check<const N: usize>(
        &self,
        ids: [&str; N],
        metric: &Metric<FlowRun>,
        holds: impl FnOnce([&Line; N]) -> bool,
    ) -> Check {
        let lines = self.lines(ids, metric);
        let check = Check::of(lines.each_ref(), holds);
        if metric.unit.is_empty() {
            return check;
        }
        let evidence = format!("{} {}", check.evidence, metric.unit);
        check.put(evidence)
    }

    /// A claim about this reading.
    pub(crate) fn claim(&self, id: &str, text: &str, check: Check) -> Claim {
        let id = if self.title.is_empty() {
            id.to_owned()
        } else {
            format!("{id} ({})", self.title)
        };
        check.claim(&id, text).weighing(self.weight)
    }
}

/// An outcome with every point as a cell and a figure for each metric, the first of which has the experiment's name. Lines
/// that are `hidden` are in no figure.
pub(crate) fn outcome(
    (id, title): (&str, &str),
    readings: &[Reading],
    metrics: &[Metric<FlowRun>],
    hidden: Option<&str>,
) -> Outcome {
    let cells = metrics.iter().flat_map(|metric| {
        readings.iter().flat_map(move |reading| {
            let colon = if reading.title.is_empty() { "" } else { ": " };
            let row = format!("{}{colon}{}", reading.title, metric.name);
            reading.runs.lines(metric).cells(&row)
        })
    });
    let panel = |reading: &Reading, metric: &Metric<FlowRun>| {
        let lines: Lines = reading.runs.lines(metric).shown(|line| {
            let look = Look::line(line.id == "udp");
            let bare = line.clone().bare();
            // A logarithm has no place for nothing.
            let drawn = |x: f64| {
                let mean = bare.at(x).value;
                mean.is_finite() && (!metric.log || mean > 0.0)
            };
            (hidden != Some(line.id.as_str())).then(|| line.only(drawn).drawn(look))
        });
        lines.panel(&reading.title)
    };
    let figures = metrics.iter().enumerate().map(|(index, metric)| Figure {
        name: match (index, metric.name) {
            (0, _) => id.into(),
            (_, "jitter (standard deviation)") => format!("{id}-deviation"),
            (_, "jitter (variance)") => format!("{id}-variance"),
            (_, other) => format!("{id}-{}", other.replace(' ', "-")),
        },
        caption: title.into(),
        panels: readings
            .iter()
            .map(|reading| panel(reading, metric))
            .collect(),
    });
    let seeds = readings.iter().map(|reading| reading.runs.seeds()).min();
    let mut outcome = Outcome::new(id, title, seeds.unwrap_or(0)).cells(cells);
    outcome.figures.extend(figures);
    outcome
}
