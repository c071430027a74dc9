//! Window controllers: congestion control as a function of acknowledgements, losses with causes, and timeouts.
//!
//! # Contract
//!
//! The transport finds and repairs losses (what to retransmit, when a recovery begins and ends); the controller says how
//! much may be under way. The transport calls
//!
//! - [`Controller::on_ack`] for every acknowledgement that acknowledges something or is a duplicate, in order of
//!   arrival, also during a recovery ([`AckEvent::in_recovery`]);
//! - [`Controller::on_loss`] once per loss event, when a recovery begins: later losses of the same window belong to it;
//! - [`Controller::on_recovery_end`] once everything that was under way at its beginning has been acknowledged;
//! - [`Controller::on_timeout`] when the retransmission timer expires, which ends a recovery without `on_recovery_end`.
//!
//! After each call it may read [`Controller::window`] and [`Controller::pacing_rate`] again. Sizes are bytes. The
//! transport's own inflation of the window during a recovery (RFC 5681 §3.2) is not the controller's business.
//!
//! What a loss that a classifier calls wireless does to the window is the controller's policy, stated by
//! [`WirelessPolicy`], so that any classifier can be paired with any controller.
//!
//! # Adding a controller
//!
//! One file here, one variant in [`ControllerSpec`] and [`AnyController`].

mod reno;

pub use reno::{Decrease, Reno};

use crate::{Cause, Duration, Rate, Time};

/// One acknowledgement, as a controller sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckEvent {
    /// When it arrived.
    pub now: Time,
    /// Bytes it acknowledges cumulatively for the first time; 0 for a duplicate.
    pub acked: u64,
    /// Bytes it acknowledges selectively for the first time.
    pub sacked: u64,
    /// A round-trip time measured by it, if it measures one.
    pub rtt: Option<Duration>,
    /// Bytes under way after it.
    pub in_flight: u64,
    /// Whether the sender has nothing to send although the window would allow it.
    pub app_limited: bool,
    /// Whether a recovery is going on, the acknowledgement that ends it included.
    pub in_recovery: bool,
    /// The receiver's stamp, on the receiver's clock, if the acknowledgement carries one.
    pub receiver_stamp: Option<Time>,
}

/// The start of a recovery: a loss was found by other means than a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossEvent {
    /// When it was found.
    pub now: Time,
    /// Why the packet was lost, according to whoever classifies.
    pub cause: Cause,
    /// FlightSize: bytes sent and not yet acknowledged cumulatively.
    pub in_flight: u64,
    /// The window in use: the controller's, but no more than the receiver allows.
    pub window: u64,
}

/// An expiry of the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeoutEvent {
    /// When it expired.
    pub now: Time,
    /// FlightSize: bytes sent and not yet acknowledged cumulatively.
    pub in_flight: u64,
    /// The window in use: the controller's, but no more than the receiver allows.
    pub window: u64,
    /// Whether it had expired for the same segment before, and nothing was acknowledged in between.
    pub repeated: bool,
}

/// Congestion control. See the [module](self) for the contract.
pub trait Controller {
    /// Takes an acknowledgement.
    fn on_ack(&mut self, ack: &AckEvent);
    /// A recovery begins.
    fn on_loss(&mut self, loss: &LossEvent);
    /// A recovery ends. The window must not exceed `at_most` now, so that what the recovery held back does not leave as
    /// one burst (RFC 6582 §3.2 step 3); [`u64::MAX`] if there is no such bound.
    fn on_recovery_end(&mut self, now: Time, at_most: u64);
    /// The retransmission timer expired.
    fn on_timeout(&mut self, timeout: &TimeoutEvent);
    /// How many bytes may be under way; at least one segment.
    fn window(&self) -> u64;
    /// The slow start threshold in bytes; [`u64::MAX`] if there is none (yet).
    fn ssthresh(&self) -> u64;
    /// At which rate to pace packets; `None`: as acknowledgements clock them.
    fn pacing_rate(&self) -> Option<Rate>;
}

/// What a loss called wireless does to the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WirelessPolicy {
    /// Nothing: the segment is retransmitted and the window stays.
    #[default]
    Keep,
    /// The same as a congestion loss.
    AsCongestion,
}

impl WirelessPolicy {
    /// Whether a loss of this cause leaves the window as it is.
    #[inline]
    pub fn keeps(self, cause: Cause) -> bool {
        cause == Cause::Wireless && self == Self::Keep
    }
}

/// Where every controller starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// SMSS: bytes of a full segment. At least 1.
    pub segment_size: u32,
    /// IW: the initial window in bytes.
    pub initial_window: u64,
    /// The initial slow start threshold in bytes; [`u64::MAX`]: slow start until the first loss.
    pub initial_ssthresh: u64,
}

/// What a scenario says about a controller; [`ControllerSpec::build`] makes the state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControllerSpec {
    /// See [`Reno`].
    Reno {
        /// What is halved.
        decrease: Decrease,
        /// What a wireless loss does.
        wireless: WirelessPolicy,
    },
}

impl Default for ControllerSpec {
    /// RFC 5681 to the letter.
    fn default() -> Self {
        Self::Reno {
            decrease: Decrease::default(),
            wireless: WirelessPolicy::default(),
        }
    }
}

impl ControllerSpec {
    /// The controller at its start.
    pub fn build(&self, start: &Start) -> AnyController {
        match *self {
            Self::Reno { decrease, wireless } => {
                AnyController::Reno(Reno::new(start, decrease, wireless))
            }
        }
    }
}

/// Any of the controllers, dispatched without indirection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyController {
    /// See [`Reno`].
    Reno(Reno),
}

impl Controller for AnyController {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        match self {
            Self::Reno(reno) => reno.on_ack(ack),
        }
    }

    fn on_loss(&mut self, loss: &LossEvent) {
        match self {
            Self::Reno(reno) => reno.on_loss(loss),
        }
    }

    fn on_recovery_end(&mut self, now: Time, at_most: u64) {
        match self {
            Self::Reno(reno) => reno.on_recovery_end(now, at_most),
        }
    }

    fn on_timeout(&mut self, timeout: &TimeoutEvent) {
        match self {
            Self::Reno(reno) => reno.on_timeout(timeout),
        }
    }

    #[inline]
    fn window(&self) -> u64 {
        match self {
            Self::Reno(reno) => reno.window(),
        }
    }

    fn ssthresh(&self) -> u64 {
        match self {
            Self::Reno(reno) => reno.ssthresh(),
        }
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        match self {
            Self::Reno(reno) => reno.pacing_rate(),
        }
    }
}
