//! The measurements of a run that most programs need.

use whyloss::Time;

use crate::delay::DelaySummary;
use crate::measure::Measurement;
use crate::media::FrameCounts;
use crate::scenario::Scenario;

/// Selects what a run measures besides the counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Whether to measure the delays of every flow.
    pub delays: bool,
    /// Whether to count the frames of every flow with a media stream.
    pub frames: bool,
}

impl Needs {
    /// Selects delays, and frames if a flow of the scenario has a media stream.
    pub fn all(scenario: &Scenario) -> Self {
        let mut flows = scenario.flows.iter();
        Self {
            delays: true,
            frames: flows.any(|flow| flow.application.stream().is_some()),
        }
    }
}

/// The measurements of one run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The seed of the run.
    pub seed: u64,
    /// The counts of every flow and link.
    pub measurement: Measurement,
    /// The delays of each flow, in the order of the scenario; empty if not [needed](Needs::delays).
    pub delays: Vec<DelaySummary>,
    /// The counts of frames of each flow, in the order of the scenario, with one entry for each
    /// playout delay. A flow without a stream has none. Empty if
    /// not [needed](Needs::frames).
    pub frames: Vec<Vec<FrameCounts>>,
    /// The simulated time at the end: that of the scenario, unless the run was stopped.
    pub reached: Time,
}
