//! The result of a run: its measurements, or the error that ended it.

use thiserror::Error;
use whyloss::Time;

use crate::delay::DelaySummary;
use crate::measure::Measurement;
use crate::media::FrameCounts;
use crate::scenario::{CheckError, Scenario};

/// The number of events between two calls of the function given to
/// [`Simulation::ask`](super::Simulation::ask): a few milliseconds of work.
pub(super) const ASK_EVERY: u64 = 1 << 16;

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
    /// playout delay. A flow without a stream has none. Empty if not [needed](Needs::frames).
    pub frames: Vec<Vec<FrameCounts>>,
    /// The simulated time at the end: that of the scenario, unless the run was stopped.
    pub reached: Time,
}

/// Explains why a run gave no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The scenario is invalid; nothing was run.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The QUIC engine of this flow is not [installed](crate::host::quic::install); nothing was
    /// run.
    #[error(
        "flow `{0}`: its QUIC engine is not built into this program; `cargo build --release --features quic` builds the command with it"
    )]
    NoEngine(String),
    /// The estimator of this RTP flow is not [installed](crate::host::rtp::install).
    #[error(
        "flow `{0}`: its estimator is not built into this program; `cargo build --release --features rtc` builds the command with all of them"
    )]
    NoEstimator(String),
    /// More packets were in flight or waiting than
    /// [`Scenario::most_packets`](crate::Scenario::most_packets) or memory allows.
    #[error(
        "link `{link}` holds too many packets: at {:.6} s more than {most} are in flight or waiting in the network; give the link a queue with a limit, or raise `most_packets`",
        at.as_secs_f64()
    )]
    TooManyPackets {
        /// The name of the link that held the most packets.
        link: String,
        /// The simulated time at which the limit was exceeded.
        at: Time,
        /// The limit, in packets.
        most: u64,
    },
}
