//! Records the first lost packet (ELA-39).

use whyloss_link::Fate;
use whyloss_sim::{Event, Measurement, RunError, Scenario, Simulation, Watch};

use super::Probed;

#[derive(Default)]
struct FirstLoss(Option<u64>);

impl Watch for FirstLoss {
    fn on(&mut self, event: &Event<'_>) {
        if let Event::Offered { packet, fate, .. } = *event {
            // The flow covers whole packets, so damage also loses a packet.
            if self.0.is_none() && !matches!(fate, Fate::Delivered(_)) {
                self.0 = packet.payload.sequence();
            }
        }
    }
}

/// Runs the scenario. Returns the number of the first lost packet under the name `first`, or NaN if
/// none was lost.
pub(super) fn first_loss(
    scenario: &Scenario,
    seed: u64,
) -> Result<(Measurement, Probed), RunError> {
    let mut first = FirstLoss::default();
    let measurement = Simulation::new(scenario, seed).watch(&mut first).run()?;
    let first = first.0.map_or(f64::NAN, |number| number as f64);
    let values = vec![("first", first)];
    let tracks = Vec::new();
    Ok((measurement, Probed { values, tracks }))
}
