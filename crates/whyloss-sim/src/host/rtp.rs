//! RTP flows: the settings of calls in scenarios, and the installation of their hosts.
//!
//! The hosts are [from outside](super::outside), so this crate needs no media code. A program
//! [installs](install) them once at its start. A run that needs a missing estimator fails with
//! [`RunError::NoEstimator`](crate::RunError::NoEstimator).

use std::sync::OnceLock;

use whyloss::{Duration, Rate, Time};

use super::outside::{Beginning, Hosts};
use super::quic::nothing;
use crate::delay::DelaySummary;

/// The options of an RTP flow, one for each key of the scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The format of the receiver's reports.
    pub feedback: Feedback,
    /// The estimator that sets the rate.
    pub estimator: Estimator,
    /// The time between two reports.
    pub interval: Duration,
    /// The target rate before the first report.
    pub start: Rate,
    /// The lowest rate of the encoder, headers included.
    pub least: Rate,
    /// The highest rate of the encoder, headers included.
    pub most: Rate,
    /// The frame rate, in frames per second.
    pub frame_rate: f64,
    /// The time between two key frames. `None` sends only the first and those that the receiver
    /// requests.
    pub key_interval: Option<Duration>,
    /// The time that the encoder takes to follow the target.
    pub reaction: Duration,
    /// The pacer's rate as a multiple of the target rate.
    pub pacing: f64,
    /// Whether the receiver requests lost packets.
    pub nack: bool,
    /// The time that the jitter buffer waits before it requests a key frame.
    pub patience: Duration,
    /// The delay, beyond that of the fastest frame, at which a frame counts as late.
    pub late: Duration,
    /// The start and end of a pause of the encoder.
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
    /// Transport-wide congestion control feedback (TWCC).
    Twcc,
    /// RTP congestion control feedback (RFC 8888).
    Rfc8888,
}

/// Names an estimator of a call's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Estimator {
    /// The estimator of `whyloss-rtc`.
    Whyloss,
    /// Google congestion control as implemented in rtc-interceptor.
    Gcc,
    /// NADA (RFC 8698).
    Nada,
    /// SCReAM, version 2 (draft-johansson-ccwg-rfc8298bis-screamv2).
    Scream,
    /// The estimator of `whyloss-rtc`, given the true cause of every loss.
    Oracle,
}

/// Measures of a call over the measurement window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallResult {
    /// The number of frames that the camera took while the encoder was on and that could be shown
    /// before the end.
    pub expected: u64,
    /// The number of expected frames that were shown.
    pub shown: u64,
    /// The number of shown frames that were late.
    pub late: u64,
    /// The number of freezes that last longer than the call's setting `late`.
    pub freezes: u64,
    /// The total time of the freezes.
    pub frozen: Duration,
    /// The delays of shown frames, from capture to screen.
    pub delays: DelaySummary,
    /// The time from the flow's start until the received rate, averaged over a second, reached 90 %
    /// of its bound. The bound is the lower of the path's capacity and the encoder's highest rate.
    /// `None` if this never happened.
    pub ramp: Option<Duration>,
}

impl CallResult {
    /// Returns the number of expected frames that were never shown.
    pub fn never(&self) -> u64 {
        self.expected.saturating_sub(self.shown)
    }

    /// Returns `count` as a share of the expected frames; `None` if none were expected.
    pub fn share(&self, count: u64) -> Option<f64> {
        (self.expected > 0).then(|| count as f64 / self.expected as f64)
    }
}

/// Creates the two ends of a call.
pub type Engine = fn(&Options, Beginning) -> Hosts;

/// Returns whether an estimator is built in.
pub type Knows = fn(Estimator) -> bool;

static ENGINE: OnceLock<(Knows, Engine)> = OnceLock::new();

/// Installs the hosts of calls that `engine` makes, for all runs of this process. `knows` tells
/// which estimators are available. Only the first call counts.
pub fn install(knows: Knows, engine: Engine) {
    let _ = ENGINE.set((knows, engine));
}

/// Returns whether the installed hosts have the estimator.
pub(crate) fn knows(estimator: Estimator) -> bool {
    ENGINE.get().is_some_and(|(knows, _)| knows(estimator))
}

/// Creates the two ends of a flow; without an engine, ends that do nothing.
pub(crate) fn hosts(options: &Options, beginning: Beginning) -> Hosts {
    match ENGINE.get() {
        Some((_, engine)) => engine(options, beginning),
        None => nothing(),
    }
}
