//! Measures how often an arriving packet finds at least β packets at the bottleneck, the number that
//! Martignon and Fratta's predictor estimates.
//!
//! Channel losses do not depend on the queue, so a wireless loss finds β packets as often as any
//! packet does. Even a perfect estimate therefore has an Mw of at least this share (`queued`).

use whyloss::Time;
use whyloss_sim::{Event, Measurement, RunError, Scenario, Watch};

use super::Probed;

/// β: the number of waiting segments that means congestion (MAR-1).
const BETA: usize = 3;

/// Counts packets of the first flow at the first link.
#[derive(Debug)]
struct Queue {
    from: Time,
    offered: u64,
    queued: u64,
}

impl Watch for Queue {
    fn on(&mut self, event: &Event<'_>) {
        if let Event::Offered {
            link,
            at,
            packet,
            waiting,
            ..
        } = *event
            && (link, packet.flow) == (0, 0)
            && at >= self.from
        {
            self.offered += 1;
            self.queued += u64::from(waiting >= BETA);
        }
    }
}

/// Returns the share of the first flow's packets that find at least β waiting at the first link.
pub(super) fn queue(scenario: &Scenario, seed: u64) -> Result<(Measurement, Probed), RunError> {
    let mut probe = Queue {
        from: scenario.measure_from,
        offered: 0,
        queued: 0,
    };
    let measurement = whyloss_sim::Simulation::new(scenario, seed)
        .watch(&mut probe)
        .run()?;
    let share = probe.queued as f64 / probe.offered as f64;
    let values = vec![("queued", share)];
    Ok((
        measurement,
        Probed {
            values,
            tracks: Vec::new(),
        },
    ))
}
