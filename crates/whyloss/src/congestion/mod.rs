//! Window controllers: congestion control as a function of acknowledgements, losses with causes,
//! and timeouts.
//!
//! # Contract
//!
//! The transport finds and repairs losses (what to retransmit, when a recovery begins and ends);
//! the controller says how much may be under way. The transport holds a [`UnderPolicy`] controller
//! and calls
//!
//! - [`UnderPolicy::on_sent`] for every packet that leaves, if it cares to;
//! - [`UnderPolicy::on_rate_sample`] for every acknowledgement that delivers something, before
//!   `on_ack`, if the controller [wants them](UnderPolicy::wants_rate_samples): see
//!   [`delivery_rate`](crate::bandwidth::delivery_rate);
//! - [`UnderPolicy::on_ack`] for every acknowledgement that acknowledges something or is a
//!   duplicate, in order of arrival, also during a recovery ([`AckEvent::in_recovery`]);
//! - [`UnderPolicy::on_loss`] once per loss event, when a recovery begins, after `on_ack` of the
//!   acknowledgement that reveals it; later losses of the same window belong to it;
//! - [`UnderPolicy::on_mark`] once per window in which the peer saw ECN-CE;
//! - [`UnderPolicy::on_recovery_end`] once everything that was under way at its beginning has been
//!   acknowledged;
//! - [`UnderPolicy::on_timeout`] when the retransmission timer expires, which ends a recovery
//!   without `on_recovery_end`, and when congestion persists (QUIC);
//! - [`UnderPolicy::on_packet_lost`] for every packet marked as lost, after all of the above, if
//!   the controller wants rate samples;
//! - [`UnderPolicy::on_spurious_loss`] if what the last loss event called lost has arrived, and
//!   [`UnderPolicy::on_mtu_change`] when packets get larger or smaller, if it finds out.
//!
//! After each call it may read [`UnderPolicy::window`] and [`UnderPolicy::pacing_rate`] again.
//! Sizes are bytes. The transport's own inflation of the window during a recovery (RFC 5681 §3.2)
//! is not the controller's business. With a pacing rate, packets leave in groups of no more than a
//! [`send_quantum`], each as long after the one before as the rate needs for it.
//!
//! A controller only knows losses by congestion. What a loss that a classifier calls wireless does
//! to the window is stated by a [`WirelessPolicy`] around it, so that any classifier can be paired
//! with any controller; [`scheme`](crate::schemes) holds all three together.
//!
//! # Adding a controller
//!
//! One file here, one variant in [`ControllerKind`], its type in the list of [`AnyController`], one
//! entry in [`REGISTRY`].

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
pub use whyloss::{Under, Whyloss};
pub use window::{Growth, Window, may_grow};

pub use crate::policy::{Spared, UnderPolicy, WirelessPolicy};

use crate::bandwidth::DuplicateAcks;
use crate::bandwidth::delivery_rate::{LostPacket, RateSample};
use crate::event::{AckEvent, LossEvent, MarkEvent, SentEvent};
use crate::macros::any;
use crate::{Rate, Time};
use pipe::Pipe;

/// Congestion control. See the [module](self) for the contract.
pub trait Controller {
    /// A packet leaves. Controllers that want rate samples are served by
    /// [`DeliveryRate`](crate::bandwidth::delivery_rate::DeliveryRate) instead.
    #[inline]
    fn on_sent(&mut self, sent: &SentEvent) {
        let _ = sent;
    }
    /// Takes an acknowledgement.
    fn on_ack(&mut self, ack: &AckEvent);
    /// A recovery begins after a loss by congestion.
    fn on_loss(&mut self, loss: &LossEvent);
    /// The peer saw ECN-CE: congestion, and nothing to repair. Told once per window. By default
    /// what the loss of the oldest packet under way would do (RFC 3168 §6.1.2).
    fn on_mark(&mut self, mark: &MarkEvent) {
        self.on_loss(&mark.as_loss());
    }
    /// A recovery begins, but its loss shall not change the window.
    fn on_spared_loss(&mut self, loss: &LossEvent, spared: Spared) {
        let _ = (loss, spared);
    }
    /// A recovery ends. The window must not exceed `at_most` now, so that what the recovery held
    /// back does not leave as one burst (RFC 6582 §3.2 step 3); [`u64::MAX`] if there is no such
    /// bound.
    fn on_recovery_end(&mut self, now: Time, at_most: u64);
    /// The retransmission timer expired, or congestion persists.
    fn on_timeout(&mut self, loss: &LossEvent);
    /// The last loss event was spurious; before it the window was `cwnd` and the threshold
    /// `ssthresh`. Neither falls by this.
    fn on_spurious_loss(&mut self, now: Time, cwnd: u64, ssthresh: u64) {
        let _ = now;
        self.set_window(cwnd.max(self.window()), ssthresh.max(self.ssthresh()));
    }
    /// Full segments have `segment_size` bytes from now on, at least 1.
    fn on_mtu_change(&mut self, segment_size: u32);
    /// Whether it wants to be told of delivery rates and of every lost packet. Does not change.
    #[inline]
    fn wants_rate_samples(&self) -> bool {
        false
    }
    /// Takes the delivery rate that an acknowledgement shows.
    fn on_rate_sample(&mut self, sample: &RateSample) {
        let _ = sample;
    }
    /// A packet is marked as lost to congestion.
    fn on_packet_lost(&mut self, packet: &LostPacket) {
        let _ = packet;
    }
    /// Sets the window and ssthresh, as a [`WirelessPolicy`] wants them.
    fn set_window(&mut self, cwnd: u64, ssthresh: u64);
    /// How many bytes may be under way; at least one segment.
    fn window(&self) -> u64;
    /// The slow start threshold in bytes; [`u64::MAX`] if there is none (yet).
    fn ssthresh(&self) -> u64;
    /// At which rate to pace packets; `None`: as acknowledgements clock them.
    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// The bandwidth estimate at work, if there is one.
    fn bandwidth(&self) -> Option<Rate> {
        None
    }
}

/// Where every controller starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Start {
    /// SMSS: bytes of a full segment. At least 1.
    pub segment_size: u32,
    /// IW: the initial window in bytes.
    pub initial_window: u64,
    /// The initial slow start threshold in bytes; [`u64::MAX`]: slow start until the first loss.
    pub initial_ssthresh: u64,
    /// The unit of congestion avoidance, for controllers that grow as Reno does.
    pub growth: Growth,
}

impl Start {
    /// The start that RFC 6928 and RFC 9002 recommend for segments of `segment_size` bytes: ten of
    /// them at first, but no more than 14 720 bytes or two segments; slow start until the first
    /// loss.
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

/// C.send_quantum: how many bytes of segments of `segment_size` may leave at once when paced at
/// `rate`: those of a millisecond, no more than 64 KiB, at least two segments
/// (draft-ietf-ccwg-bbr-06 §5.6.3).
pub fn send_quantum(rate: Rate, segment_size: u32) -> u64 {
    let millisecond = rate.as_bps() / 8000;
    millisecond.min(1 << 16).max(2 * u64::from(segment_size))
}

/// A scenario's choice of a controller: which one, and what a loss called wireless does to its
/// window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ControllerSpec {
    /// Which one.
    pub kind: ControllerKind,
    /// The effect of a loss called wireless.
    pub wireless: WirelessPolicy,
}

impl ControllerSpec {
    /// The controller at its start, under its policy.
    pub fn build(&self, start: &Start) -> UnderPolicy {
        UnderPolicy::new(self.kind.build(start), self.wireless)
    }
}

/// A controller and its choices.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum ControllerKind {
    /// See [`Reno`].
    Reno(Decrease),
    /// See [`Westwood`].
    Westwood(WestwoodOptions),
    /// See [`Balde`].
    Balde(DuplicateAcks),
    /// See [`Veno`].
    Veno(BacklogRtt),
    /// See [`Cubic`].
    Cubic(CubicDialect),
    /// See [`Bbr`].
    Bbr,
    /// See [`Copa`].
    Copa(CopaModes),
    /// See [`Scream`].
    Scream(ScreamTarget),
    /// See [`Vegas`].
    Vegas(VegasDialect),
    /// See [`Whyloss`].
    Whyloss(Under),
}

impl Default for ControllerKind {
    /// RFC 5681 to the letter.
    fn default() -> Self {
        Self::Reno(Decrease::default())
    }
}

impl ControllerKind {
    /// The controller as ns-2 2.35 has it: Reno halves the window where the RFCs halve what is
    /// under way, Veno is Linux's, and Vegas departs from the paper.
    #[must_use]
    pub fn of_ns2(self) -> Self {
        match self {
            Self::Reno(_) => Self::Reno(Decrease::Window),
            Self::Veno(_) => Self::Veno(BacklogRtt::Latest),
            Self::Vegas(_) => Self::Vegas(VegasDialect::Ns2),
            other => other,
        }
    }

    /// The controller at its start.
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
            fn set_window(&mut self, cwnd: u64, ssthresh: u64);
            #[$inline] fn window(&self) -> u64;
            fn ssthresh(&self) -> u64;
            #[$inline] fn pacing_rate(&self) -> Option<Rate>;
            fn bandwidth(&self) -> Option<Rate>;
        }
    };
}

any! {
    /// Any of the controllers, dispatched without indirection.
    #[derive(Clone, Debug)]
    pub enum AnyController by dispatch_controller { Reno, Westwood, Balde, Veno, Cubic, Bbr, Copa, Scream, Vegas, Whyloss }
}

#[cfg(test)]
pub(crate) mod tests;
