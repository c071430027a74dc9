//! The measurements that most programs need of a run.

use whyloss::Time;

use crate::delay::DelaySummary;
use crate::measure::Measurement;
use crate::media::FrameCounts;
use crate::scenario::Scenario;

/// What is measured beside the counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Delays of every flow.
    pub delays: bool,
    /// Frames of every flow with a stream.
    pub frames: bool,
}

impl Needs {
    /// Everything that this scenario has.
    pub fn all(scenario: &Scenario) -> Self {
        let mut flows = scenario.flows.iter();
        Self {
            delays: true,
            frames: flows.any(|flow| flow.application.stream().is_some()),
        }
    }
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Run {
    /// The seed.
    pub seed: u64,
    /// Counts of every flow and link.
    pub measurement: Measurement,
    /// One per flow of the scenario, in its order; none if delays were not needed.
    pub delays: Vec<DelaySummary>,
    /// Counts of frames of each flow of the scenario, for each playout delay; none without a stream.
    pub frames: Vec<Vec<FrameCounts>>,
    /// Until when it was simulated: the end of the scenario, unless it was stopped.
    pub reached: Time,
}
