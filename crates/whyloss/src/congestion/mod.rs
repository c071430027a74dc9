//! Window controllers: congestion control as a function of acknowledgements, losses with causes,
//! and timeouts.
//!
//! # Contract
//!
//! The transport detects and repairs losses: it decides what to retransmit, and when a recovery
//! begins and ends. The controller decides how much may be in flight. The transport holds a
//! [`UnderPolicy`] controller and calls
//!
//! - [`UnderPolicy::on_sent`] for every sent packet (optional);
//! - [`UnderPolicy::on_rate_sample`] for every acknowledgement that delivers data, before `on_ack`,
//!   if the controller [wants them](UnderPolicy::wants_rate_samples): see
//!   [`delivery_rate`](crate::bandwidth::delivery_rate);
//! - [`UnderPolicy::on_ack`] for every acknowledgement of new data and every duplicate, in order of
//!   arrival, also during a recovery ([`AckEvent::in_recovery`]);
//! - [`UnderPolicy::on_loss`] once per loss event, when a recovery begins, after `on_ack` of the
//!   acknowledgement that reveals it; later losses of the same window belong to it;
//! - [`UnderPolicy::on_mark`] once per window in which the peer saw ECN-CE;
//! - [`UnderPolicy::on_recovery_end`] once everything in flight at its beginning is acknowledged;
//! - [`UnderPolicy::on_timeout`] when the retransmission timer expires, which ends a recovery
//!   without `on_recovery_end`, and when congestion persists (QUIC);
//! - [`UnderPolicy::on_packet_lost`] for every packet marked as lost, after all of the above, if
//!   the controller wants rate samples;
//! - [`UnderPolicy::on_spurious_loss`] if all packets of the last loss event have arrived after
//!   all, and [`UnderPolicy::on_mtu_change`] when the packet size changes. A transport that cannot
//!   detect these omits the calls.
//!
//! After each call, the transport may read the window and the pacing rate again, with
//! [`UnderPolicy::window`] and [`UnderPolicy::pacing_rate`].
//! Sizes are bytes. The controller does not see the transport's window inflation during a recovery
//! (RFC 5681 §3.2). With a pacing rate, packets leave in groups of at most a [`send_quantum`],
//! spaced at that rate.
//!
//! A controller only sees congestion losses. A [`WirelessPolicy`] around it decides what a wireless
//! loss does to the window, so any classifier can be combined with any controller. A
//! [`scheme`](crate::schemes) combines all three.
//!
//! # Adding a controller
//!
//! Add one file here, one variant of [`ControllerKind`], its type in the list of [`AnyController`],
//! and one entry in [`REGISTRY`].

mod balde;
mod bbr;
mod copa;
mod cubic;
mod pipe;
mod registry;
mod reno;
mod scream;
mod vegas;
mod veno;
mod westwood;
mod whyloss;
mod window;
mod windowed;

pub use balde::Balde;
pub use bbr::Bbr;
pub use copa::{Copa, CopaModes};
pub use cubic::{Cubic, CubicDialect};
pub use registry::{Entry, REGISTRY, find};
pub use reno::{Decrease, Reno};
pub use scream::{Scream, ScreamTarget};
pub use vegas::{Vegas, VegasDialect};
pub use veno::{BacklogRtt, Veno};
pub use westwood::{Reaction, Westwood, WestwoodOptions};
pub use whyloss::{Decision, Under, Whyloss, evidence};
pub use window::{Growth, Window, may_grow};

pub use crate::policy::{Spared, UnderPolicy, WirelessPolicy};

use crate::bandwidth::DuplicateAcks;
use crate::bandwidth::delivery_rate::{LostPacket, RateSample};
use crate::event::{AckEvent, LossEvent, MarkEvent, SentEvent};
use crate::macros::any;
use crate::{Rate, Time};
use pipe::Pipe;

/// The interface of a congestion controller. See the [module](self) for the contract.
pub trait Controller {
    /// Records a sent packet. Controllers that want rate samples use
    /// [`DeliveryRate`](crate::bandwidth::delivery_rate::DeliveryRate) instead.
    #[inline]
    fn on_sent(&mut self, sent: &SentEvent) {
        let _ = sent;
    }
    /// Updates the window with an acknowledgement.
    fn on_ack(&mut self, ack: &AckEvent);
    /// Reduces the window when a recovery begins after a congestion loss.
    fn on_loss(&mut self, loss: &LossEvent);
    /// Reacts to an ECN-CE mark: congestion without a loss. Called once per window. By default,
    /// treats it as a loss of the oldest packet in flight (RFC 3168 §6.1.2).
    fn on_mark(&mut self, mark: &MarkEvent) {
        self.on_loss(&mark.as_loss());
    }
    /// Reports the start of a recovery after a loss that the policy spares. The window must not
    /// change.
    fn on_spared_loss(&mut self, loss: &LossEvent, spared: Spared) {
        let _ = (loss, spared);
    }
    /// Ends a recovery. The window must not exceed `at_most` bytes afterwards; [`u64::MAX`] means
    /// no limit. The limit prevents a burst of data held back until now (RFC 6582 §3.2 step 3).
    fn on_recovery_end(&mut self, now: Time, at_most: u64);
    /// Reacts to an expired retransmission timer or to persistent congestion.
    fn on_timeout(&mut self, loss: &LossEvent);
    /// Undoes a spurious loss event. `cwnd` and `ssthresh` are the window and the threshold before
    /// the event, in bytes. By default, restores each unless its current value is higher.
    fn on_spurious_loss(&mut self, now: Time, cwnd: u64, ssthresh: u64) {
        let _ = now;
        self.set_window(cwnd.max(self.window()), ssthresh.max(self.ssthresh()));
    }
    /// Sets the size of full segments, in bytes; at least 1.
    fn on_mtu_change(&mut self, segment_size: u32);
    /// Returns whether the controller needs delivery rates and every lost packet. The answer never
    /// changes.
    #[inline]
    fn wants_rate_samples(&self) -> bool {
        false
    }
    /// Updates the controller with the delivery rate that an acknowledgement shows.
    fn on_rate_sample(&mut self, sample: &RateSample) {
        let _ = sample;
    }
    /// Records a packet lost to congestion.
    fn on_packet_lost(&mut self, packet: &LostPacket) {
        let _ = packet;
    }
    /// Returns the window reduction at the last loss event, in thousandths of the full reduction.
    /// `None` unless the controller weighs the causes of losses itself.
    fn own_cut(&self) -> Option<u64> {
        None
    }
    /// Sets the window and ssthresh, in bytes, for a [`WirelessPolicy`] that decides them.
    fn set_window(&mut self, cwnd: u64, ssthresh: u64);
    /// Returns the congestion window in bytes; at least one segment.
    fn window(&self) -> u64;
    /// Returns the slow start threshold in bytes; [`u64::MAX`] if there is none.
    fn ssthresh(&self) -> u64;
    /// Returns the pacing rate; `None` means that acknowledgements clock packets out.
    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// Returns the bandwidth estimate, if there is one.
    fn bandwidth(&self) -> Option<Rate> {
        None
    }
}

/// The initial state of every controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Start {
    /// SMSS, the bytes of a full segment; at least 1.
    pub segment_size: u32,
    /// IW, the initial window in bytes.
    pub initial_window: u64,
    /// The initial slow start threshold in bytes. [`u64::MAX`] means slow start until the first
    /// loss.
    pub initial_ssthresh: u64,
    /// The way congestion avoidance grows the window, for controllers that grow like Reno.
    pub growth: Growth,
}

impl Start {
    /// Returns the initial state that RFC 6928 and RFC 9002 recommend for segments of
    /// `segment_size` bytes. The window is ten segments, but at most 14,720 bytes or two segments,
    /// whichever is larger. Slow start lasts until the first loss.
    pub const fn new(segment_size: u32) -> Self {
        let size = if segment_size == 0 {
            1
        } else {
            segment_size as u64
        };
        let most = if 2 * size > 14_720 { 2 * size } else { 14_720 };
        Self {
            segment_size,
            initial_window: if 10 * size < most { 10 * size } else { most },
            initial_ssthresh: u64::MAX,
            growth: Growth::PerByte,
        }
    }
}

/// Returns C.send_quantum, the bytes that may leave back to back when paced at `rate`
/// (draft-ietf-ccwg-bbr-06 §5.6.3). These are the bytes of one millisecond, at most 64 KiB and at
/// least two segments of `segment_size` bytes.
pub fn send_quantum(rate: Rate, segment_size: u32) -> u64 {
    let millisecond = rate.as_bps() / 8000;
    millisecond.min(1 << 16).max(2 * u64::from(segment_size))
}

/// A controller with the policy for wireless losses, as a scenario selects them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ControllerSpec {
    /// The controller and its options.
    pub kind: ControllerKind,
    /// The effect of a loss called wireless.
    pub wireless: WirelessPolicy,
}

impl ControllerSpec {
    /// Creates the controller with its policy.
    pub fn build(&self, start: &Start) -> UnderPolicy {
        UnderPolicy::new(self.kind.build(start), self.wireless)
    }
}

/// A controller and its options.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum ControllerKind {
    /// [`Reno`], which halves FlightSize or the window.
    Reno(Decrease),
    /// [`Westwood`] with any bandwidth estimator.
    Westwood(WestwoodOptions),
    /// [`Balde`]: TCP BaLDE, with SARBE's bandwidth estimate.
    Balde(DuplicateAcks),
    /// [`Veno`]: TCP Veno, with a backlog estimate.
    Veno(BacklogRtt),
    /// [`Cubic`] of RFC 9438 or RFC 8312.
    Cubic(CubicDialect),
    /// [`Bbr`], version 3.
    Bbr,
    /// [`Copa`], which follows the queueing delay.
    Copa(CopaModes),
    /// [`Scream`]: a window that keeps the delay tolerable for media.
    Scream(ScreamTarget),
    /// [`Vegas`], as in its paper or as in ns-2.
    Vegas(VegasDialect),
    /// [`Whyloss`] over CUBIC or Reno.
    Whyloss(Under),
}

impl Default for ControllerKind {
    /// Returns Reno as in RFC 5681.
    fn default() -> Self {
        Self::Reno(Decrease::default())
    }
}

impl ControllerKind {
    /// Returns the controller as implemented in ns-2 2.35. Reno halves the window instead of the
    /// data in flight, Veno uses [`BacklogRtt::Latest`], and Vegas uses [`VegasDialect::Ns2`].
    #[must_use]
    pub fn of_ns2(self) -> Self {
        match self {
            Self::Reno(_) => Self::Reno(Decrease::Window),
            Self::Veno(_) => Self::Veno(BacklogRtt::Latest),
            Self::Vegas(_) => Self::Vegas(VegasDialect::Ns2),
            other => other,
        }
    }

    /// Returns whether the controller weighs the causes of losses itself and ignores verdicts.
    #[must_use]
    pub const fn ignores_verdicts(self) -> bool {
        matches!(self, Self::Whyloss(_))
    }

    /// Creates the controller in its initial state.
    pub fn build(&self, start: &Start) -> AnyController {
        match *self {
            Self::Reno(decrease) => AnyController::Reno(Reno::new(start, decrease)),
            Self::Westwood(options) => AnyController::Westwood(Westwood::new(start, options)),
            Self::Balde(duplicates) => AnyController::Balde(Balde::new(start, duplicates)),
            Self::Veno(rtt) => AnyController::Veno(Veno::new(start, rtt)),
            Self::Cubic(dialect) => AnyController::Cubic(Cubic::new(start, dialect)),
            Self::Bbr => AnyController::Bbr(Bbr::new(start)),
            Self::Copa(modes) => AnyController::Copa(Copa::new(start, modes)),
            Self::Scream(target) => AnyController::Scream(Scream::new(start, target)),
            Self::Vegas(dialect) => AnyController::Vegas(Vegas::new(start, dialect)),
            Self::Whyloss(under) => AnyController::Whyloss(Whyloss::new(start, under)),
        }
    }
}

impl From<WestwoodOptions> for ControllerKind {
    fn from(options: WestwoodOptions) -> Self {
        Self::Westwood(options)
    }
}

/// Implements [`Controller`] for an enum of controllers.
#[doc(hidden)]
#[macro_export]
macro_rules! dispatch_controller {
    ($enum:ident $variants:tt) => {
        $crate::dispatch_controller!($enum $variants #[inline]);
    };
    ($enum:ident $variants:tt #[$inline:meta]) => {
        $crate::dispatch! {
            impl Controller for $enum $variants
            #[$inline] fn on_sent(&mut self, sent: &SentEvent);
            #[$inline] fn on_ack(&mut self, ack: &AckEvent);
            fn on_loss(&mut self, loss: &LossEvent);
            fn on_mark(&mut self, mark: &MarkEvent);
            fn on_spared_loss(&mut self, loss: &LossEvent, spared: Spared);
            fn on_recovery_end(&mut self, now: Time, at_most: u64);
            fn on_timeout(&mut self, loss: &LossEvent);
            fn on_spurious_loss(&mut self, now: Time, cwnd: u64, ssthresh: u64);
            fn on_mtu_change(&mut self, segment_size: u32);
            #[$inline] fn wants_rate_samples(&self) -> bool;
            fn on_rate_sample(&mut self, sample: &RateSample);
            fn on_packet_lost(&mut self, packet: &LostPacket);
            fn own_cut(&self) -> Option<u64>;
            fn set_window(&mut self, cwnd: u64, ssthresh: u64);
            #[$inline] fn window(&self) -> u64;
            fn ssthresh(&self) -> u64;
            #[$inline] fn pacing_rate(&self) -> Option<Rate>;
            fn bandwidth(&self) -> Option<Rate>;
        }
    };
}

any! {
    /// Any of the controllers, with static dispatch.
    #[derive(Clone, Debug)]
    pub enum AnyController by dispatch_controller { Reno, Westwood, Balde, Veno, Cubic, Bbr, Copa, Scream, Vegas, Whyloss }
}

#[cfg(test)]
pub(crate) mod tests;
