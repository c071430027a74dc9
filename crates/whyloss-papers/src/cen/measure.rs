//! What the runs say in the paper's terms (Section 4): throughput, congestion loss, Mc, Mw; and those runs.

use std::fmt;

use whyloss::{Confusion, Rate};
use whyloss_sim::{Measurement, Scenario};
use whyloss_study::statistics::mean;
use whyloss_study::{Axis, Context, ExperimentError, Line, Metric, Notation, Plan, Runs};

use super::channel::Level;
use super::network::{Network, Topology};
use super::scheme::{self, PACKET, Scheme};

/// The base classifiers, in the order of Table 2.
pub(crate) const BASE: [&str; 4] = ["biaz", "mbiaz", "spike", "zigzag"];
/// Numbers of flows of the figures (CEN-19).
pub(crate) const FLOWS: [f64; 8] = [1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0];

/// Numbers of flows as an axis; evidence writes them `N=4`.
pub(crate) const BY_FLOWS: Axis = Axis::linear("flows").written(Notation {
    place: |flows| format!("N={flows} "),
    mean: short,
});

/// The paper's four measures and their kin in one run, all in per cent; `None` if it has none.
#[derive(Debug)]
pub(crate) struct Run {
    throughput: f64,
    crossed: f64,
    received: f64,
    congestion: Option<f64>,
    mc: Option<f64>,
    mw: Option<f64>,
    pooled: Confusion,
}

/// Bits of all flows over the bottleneck's rate (CEN-28): what was received by TCP, which sends again what was corrupted;
/// what crossed the link of the TFRC family, to which a wireless loss is "a received packet" (Section 1).
pub(crate) const THROUGHPUT: Metric<Run> =
    Metric::new("throughput", "%", |run| Some(run.throughput));
/// The same with what crossed the bottleneck, corrupted or not, for all.
const CROSSED: Metric<Run> = Metric::new("crossed", "%", |run| Some(run.crossed));
/// The same with what was received, for all.
const RECEIVED: Metric<Run> = Metric::new("received", "%", |run| Some(run.received));
/// Congestion losses called wireless over congestion losses, averaged over the flows that had any (CEN-29).
pub(crate) const MC: Metric<Run> = Metric::new("Mc", "%", |run| run.mc);
/// Wireless losses called congestion over wireless losses, averaged likewise (CEN-29).
pub(crate) const MW: Metric<Run> = Metric::new("Mw", "%", |run| run.mw);
/// Packets lost to congestion over the packets behind the throughput (CEN-30).
pub(crate) const CONGESTION: Metric<Run> =
    Metric::new("congestion loss", "%", |run| run.congestion);
/// Mc of all flows' losses taken together.
const POOLED_MC: Metric<Run> = Metric::new("Mc, pooled", "%", |run| percent(run.pooled.mc()));
/// Mw of all flows' losses taken together.
const POOLED_MW: Metric<Run> = Metric::new("Mw, pooled", "%", |run| percent(run.pooled.mw()));

/// Every measure, in the order of tables. With one flow, pooled rates are the flow's own.
pub(crate) const ALL: [Metric<Run>; 8] = [
    THROUGHPUT, CROSSED, RECEIVED, MC, MW, CONGESTION, POOLED_MC, POOLED_MW,
];
/// The first of them, which tables of one flow have.
pub(crate) const OF_ONE: &[Metric<Run>] = ALL.split_at(6).0;

fn percent(share: Option<f64>) -> Option<f64> {
    share.map(|share| 100.0 * share)
}

impl Run {
    fn of(run: &Measurement, bottleneck: Rate, before_queue: bool) -> Self {
        let flows = || run.flows.iter().filter(|flow| !flow.background);
        let per_flow = |rate: fn(&Confusion) -> Option<f64>| {
            let rates: Vec<f64> = flows().filter_map(|flow| rate(&flow.packets)).collect();
            percent(mean(&rates))
        };
        let received: u64 = flows().map(|flow| flow.received).sum();
        let corrupted = |flow: &whyloss_sim::measure::FlowResult| flow.lost.wireless;
        let crossed = received + flows().map(corrupted).sum::<u64>();
        let not_tcp = flows().filter(|flow| !scheme::is_tcp(&flow.name));
        let counted = received + not_tcp.map(corrupted).sum::<u64>();
        let utilisation = |packets: u64| {
            // What is lost before the queue never crosses the link.
            let packets = if before_queue { received } else { packets };
            let bits = packets as f64 * f64::from(8 * PACKET);
            100.0 * (bits / run.window.as_secs_f64() / bottleneck.as_bps() as f64)
        };
        let lost: u64 = flows().map(|flow| flow.lost.congestion).sum();
        Self {
            throughput: utilisation(counted),
            crossed: utilisation(crossed),
            received: utilisation(received),
            congestion: percent((counted > 0).then(|| lost as f64 / counted as f64)),
            mc: per_flow(Confusion::mc),
            mw: per_flow(Confusion::mw),
            pooled: flows().fold(Confusion::default(), |mut all, flow| {
                all.merge(&flow.packets);
                all
            }),
        }
    }
}

/// Something to run, and what its throughput is a share of.
pub(crate) struct Item {
    scenario: Scenario,
    bottleneck: Rate,
    before_queue: bool,
}

impl Network<'_> {
    pub(crate) fn item(&self) -> Item {
        Item {
            scenario: self.scenario(),
            bottleneck: self.topology.bottleneck(self.flows),
            before_queue: self.before_queue,
        }
    }
}

/// Runs plans together.
pub(crate) fn run(
    context: &Context<'_>,
    plans: &[Plan<Item>],
) -> Result<Vec<Runs<Run>>, ExperimentError> {
    let key = |item: &Item| format!("cen {:?}", item.scenario);
    Plan::run_all_with(context, plans, key, |item, seed| {
        let run = whyloss_sim::Simulation::new(&item.scenario, seed)
            .run()
            .map_err(|error| ExperimentError::Failed(Box::new(error)))?;
        Ok(Run::of(&run, item.bottleneck, item.before_queue))
    })
}

/// Runs these schemes over numbers of flows at each place, with the stand-in channel of its level.
pub(crate) fn measure<const N: usize>(
    context: &Context<'_>,
    places: [(Topology, Level); N],
    flows: &[f64],
    schemes: &[Scheme],
) -> Result<[Runs<Run>; N], ExperimentError> {
    let plans = places.map(|(topology, level)| {
        let channel = level.channel();
        let line = |plan: Plan<Item>, scheme: &Scheme| {
            let schemes = std::slice::from_ref(scheme);
            plan.line(&scheme.id, &scheme.name, |flows| {
                Network::new(topology, flows as usize, schemes, &channel).item()
            })
        };
        let plan = Plan::new(&BY_FLOWS, flows);
        schemes.iter().fold(plan, line)
    });
    let runs = run(context, &plans)?;
    runs.try_into().map_err(|_| ExperimentError::Stopped)
}

/// The part of a line where several flows compete.
pub(crate) fn several(line: &Line) -> Line {
    line.only(|flows| flows > 1.5)
}

/// A line's average where several flows compete.
pub(crate) fn average(line: &Line) -> f64 {
    several(line).average()
}

/// Small values show two decimals.
pub(crate) fn short(value: f64) -> String {
    let decimals = if value.abs() < 10.0 { 2 } else { 1 };
    format!("{value:.decimals$}")
}

/// A value for each of some schemes, as evidence: `Mc: biaz 12.3, mbiaz 4.56`.
pub(crate) struct Each {
    what: &'static str,
    values: Vec<(&'static str, f64)>,
}

impl Each {
    pub(crate) fn of<const N: usize>(
        what: &'static str,
        schemes: [&'static str; N],
        value: impl Fn(&'static str) -> f64,
    ) -> Self {
        let values = schemes.map(|scheme| (scheme, value(scheme))).into();
        Self { what, values }
    }

    /// Value of a scheme; NaN of one that it does not have.
    pub(crate) fn get(&self, scheme: &str) -> f64 {
        let found = self.values.iter().find(|(id, _)| *id == scheme);
        found.map_or(f64::NAN, |(_, value)| *value)
    }

    /// Whether `holds` says so of all.
    pub(crate) fn every(&self, holds: impl Fn(f64) -> bool) -> bool {
        self.values.iter().all(|(_, value)| holds(*value))
    }

    /// Whether they rise strictly.
    pub(crate) fn rise(&self) -> bool {
        self.values.windows(2).all(|pair| pair[0].1 < pair[1].1)
    }
}

impl fmt::Display for Each {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.values.iter();
        let values = values.map(|(scheme, value)| format!("{scheme} {}", short(*value)));
        let values = values.collect::<Vec<_>>().join(", ");
        let colon = if self.what.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}{values}", self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_exist_decides_nothing() {
        let each = Each::of("Mc", ["biaz", "spike"], |scheme| match scheme {
            "biaz" => 1.0,
            _ => f64::NAN,
        });
        assert!(!each.rise() && !each.every(|mc| mc < 5.0));
        assert!(each.get("zigzag").is_nan() && (each.get("biaz") - 1.0).abs() < 1e-12);
        assert_eq!(each.to_string(), "Mc: biaz 1.00, spike NaN");
    }
}
