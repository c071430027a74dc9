//! What runs give in the paper's metrics (Section 5.3).
//!
//! ```text
//! throughput   bits received / time of sending                                   [Mbit/s]
//! goodput      packets received / packets whose fate is known by the end         [1]
//! jitter       root of the variance of the first copies' delays (ELA-17)         [ms]
//! ```

use whyloss_sim::Needs;
use whyloss_study::{Context, ExperimentError, Metric, Plan, Runs};

use super::network::Network;

/// What is kept of a flow in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct FlowRun {
    pub(crate) throughput: f64,
    pub(crate) received: u64,
    /// Packets lost to bit errors.
    pub(crate) errors: u64,
    /// Packets lost to full queues.
    pub(crate) drops: u64,
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
pub(crate) const DEVIATION: Metric<FlowRun> =
    Metric::new("jitter (standard deviation)", "ms", |run| {
        run.variance.map(libm::sqrt)
    });

/// A flow of a network, by its protocol's id.
pub(crate) type Item = (Network, &'static str);

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
            variance: delays.variance_ms2(),
        };
        (protocol.id, run)
    };
    Ok(flows.map(flow).collect())
}
