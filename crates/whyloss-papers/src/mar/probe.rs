//! What a packet meets at the bottleneck: the queue that the predictor estimates, seen from outside.
//!
//! Independent losses strike whatever packet comes, so a wireless loss meets a queue as often as any packet does. A
//! predictor that calls it congestion whenever β segments wait cannot have a smaller Mw than that share.

use whyloss::Time;
use whyloss_link::Fate;
use whyloss_sim::{Packet, Scenario, Watch};
use whyloss_study::{Context, ExperimentError, Lines, Metric, Plan};

use super::measure::CONFIDENCE;

/// β: as many segments waiting are congestion (MAR-1).
const BETA: usize = 3;

/// Counts packets of the first flow at the first link.
#[derive(Debug)]
struct Probe {
    from: Time,
    offered: u64,
    queued: u64,
}

impl Watch for Probe {
    fn offered(&mut self, link: usize, at: Time, packet: &Packet, waiting: usize, _: Fate) {
        if (link, packet.flow) == (0, 0) && at >= self.from {
            self.offered += 1;
            self.queued += u64::from(waiting >= BETA);
        }
    }
}

/// The share of packets that find at least β packets waiting at the first link.
const QUEUED: Metric<Probe> = Metric::new("meets β waiting", "%", |probe| {
    let share = probe.queued as f64 / probe.offered as f64;
    (probe.offered > 0).then_some(100.0 * share)
});

/// That share of the first flow's packets, for every line of each plan.
pub(crate) fn queued(context: &Context<'_>, plans: &[Plan]) -> Result<Vec<Lines>, ExperimentError> {
    let key = |scenario: &Scenario| format!("queued {scenario:?}");
    let probe = |scenario: &Scenario, seed| {
        let mut probe = Probe {
            from: scenario.measure_from,
            offered: 0,
            queued: 0,
        };
        whyloss_sim::run_watched(scenario, seed, &mut probe)
            .map_err(|error| ExperimentError::Failed(Box::new(error)))?;
        Ok(probe)
    };
    let runs = Plan::run_all_with(context, plans, key, probe)?.into_iter();
    Ok(runs
        .map(|runs| runs.with_confidence(CONFIDENCE).lines(&QUEUED))
        .collect())
}
