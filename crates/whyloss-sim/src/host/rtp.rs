//! RTP flows: calls as scenarios describe them, and how they come by their hosts.
//!
//! The hosts are [from outside](super::outside), so that this crate needs no media code. A program
//! [installs](install) them once at its start. A run that needs others fails with
//! [`RunError::NoEstimator`](crate::RunError::NoEstimator).

use std::sync::OnceLock;

use whyloss::{Duration, Rate, Time};

use super::outside::{Beginning, Hosts};
use super::quic::nothing;
use crate::delay::DelaySummary;

/// Scenario keys of an RTP flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Format of the receiver's reports.
    pub feedback: Feedback,
    /// Estimator that sets the rate.
    pub estimator: Estimator,
    /// Time between two reports.
    pub interval: Duration,
    /// The first target.
    pub start: Rate,
    /// Least rate of the encoder, on the wire.
    pub least: Rate,
    /// Greatest rate of the encoder, on the wire.
    pub most: Rate,
    /// Frames a second.
    pub frame_rate: f64,
    /// Time between two key frames; `None`: only the first and those that the receiver asks for.
    pub key_interval: Option<Duration>,
    /// How long the encoder takes to follow the target.
    pub reaction: Duration,
    /// How many times the target the pacer sends.
    pub pacing: f64,
    /// Whether the receiver asks for lost packets.
    pub nack: bool,
    /// How long the jitter buffer waits before it asks for a key frame.
    pub patience: Duration,
    /// Delay beyond the fastest frame's from which a frame is late.
    pub late: Duration,
    /// A pause of the encoder.
    pub pause: Option<(Time, Time)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            feedback: Feedback::Twcc,
            estimator: Estimator::Whyloss,
            interval: Duration::from_millis(50),
            start: Rate::from_bps(300_000),
            least: Rate::from_bps(150_000),
            most: Rate::from_bps(1_500_000),
            frame_rate: 30.0,
            key_interval: None,
            reaction: Duration::from_millis(200),
            pacing: 1.5,
            nack: true,
            patience: Duration::from_millis(500),
            late: Duration::from_millis(200),
            pause: None,
        }
    }
}

/// The format in which the receiver reports arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feedback {
    /// Transport-wide congestion control.
    Twcc,
    /// RFC 8888.
    Rfc8888,
}

/// An estimator by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Estimator {
    /// `whyloss-rtc`'s.
    Whyloss,
    /// Google congestion control as rtc-interceptor has it.
    Gcc,
    /// NADA (RFC 8698).
    Nada,
}

/// Measures of a call over the measurement window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallResult {
    /// Frames that the camera took while the encoder was on, and that could be shown before the
    /// end.
    pub expected: u64,
    /// Those that were shown.
    pub shown: u64,
    /// Those shown late.
    pub late: u64,
    /// Times that the picture stood still for longer than `late`.
    pub freezes: u64,
    /// Time for which it did.
    pub frozen: Duration,
    /// From capture to screen.
    pub delays: DelaySummary,
    /// From the flow's start until a second's mean received rate reached 90 % of the path's
    /// capacity or of the encoder's greatest rate, whichever is less.
    pub ramp: Option<Duration>,
}

impl CallResult {
    /// Counts the frames that were never shown.
    pub fn never(&self) -> u64 {
        self.expected.saturating_sub(self.shown)
    }

    /// Returns a count as a share of the expected frames; `None` without any.
    pub fn share(&self, count: u64) -> Option<f64> {
        (self.expected > 0).then(|| count as f64 / self.expected as f64)
    }
}

/// Makes the two ends of a call.
pub type Engine = fn(&Options, Beginning) -> Hosts;

/// Tells whether an estimator is built in.
pub type Knows = fn(Estimator) -> bool;

static ENGINE: OnceLock<(Knows, Engine)> = OnceLock::new();

/// Gives all runs of this process the hosts that `engine` makes, with the estimators that it knows.
/// Only the first call counts.
pub fn install(knows: Knows, engine: Engine) {
    let _ = ENGINE.set((knows, engine));
}

/// Whether the estimator is there.
pub(crate) fn knows(estimator: Estimator) -> bool {
    ENGINE.get().is_some_and(|(knows, _)| knows(estimator))
}

/// Makes the two ends of a flow; without an engine, ends that do nothing.
pub(crate) fn hosts(options: &Options, beginning: Beginning) -> Hosts {
    match ENGINE.get() {
        Some((_, engine)) => engine(options, beginning),
        None => nothing(),
    }
}
