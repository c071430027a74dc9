//! Window controllers: congestion control as a function of acknowledgements, losses with causes, and timeouts.
//!
//! # Contract
//!
//! The transport finds and repairs losses (what to retransmit, when a recovery begins and ends); the controller says how
//! much may be under way. The transport holds a [`Governed`] controller and calls
//!
//! - [`Governed::on_sent`] for every packet that leaves, if it cares to;
//! - [`Governed::on_rate_sample`] for every acknowledgement that delivers something, before `on_ack`, if the controller
//!   [wants them](Governed::wants_rate_samples): see [`delivery_rate`](crate::bandwidth::delivery_rate);
//! - [`Governed::on_ack`] for every acknowledgement that acknowledges something or is a duplicate, in order of
//!   arrival, also during a recovery ([`AckEvent::in_recovery`]);
//! - [`Governed::on_loss`] once per loss event, when a recovery begins, after `on_ack` of the acknowledgement that
//!   reveals it; later losses of the same window belong to it;
//! - [`Governed::on_recovery_end`] once everything that was under way at its beginning has been acknowledged;
//! - [`Governed::on_timeout`] when the retransmission timer expires, which ends a recovery without `on_recovery_end`, and
//!   when congestion persists (QUIC);
//! - [`Governed::on_packet_lost`] for every packet marked as lost, after all of the above, if the controller wants rate
//!   samples;
//! - [`Governed::on_spurious_loss`] if what the last loss event called lost has arrived, and [`Governed::on_mtu_change`]
//!   when packets get larger or smaller, if it finds out.
//!
//! After each call it may read [`Governed::window`] and [`Governed::pacing_rate`] again. Sizes are bytes. The
//! transport's own inflation of the window during a recovery (RFC 5681 §3.2) is not the controller's business. With a
//! pacing rate, packets leave in groups of no more than a [`send_quantum`], each as long after the one before as the
//! rate needs for it.
//!
//! A controller only knows losses by congestion. What a loss that a classifier calls wireless does to the window is
//! stated by a [`WirelessPolicy`] around it, so that any classifier can be paired with any controller;
//! [`scheme`](crate::scheme) holds all three together.
//!
//! # Adding a controller
//!
//! One file here, one variant in [`ControllerKind`], one line in the list of [`AnyController`], one entry in [`REGISTRY`].

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
pub(crate) use whyloss::Queue;
pub use whyloss::{Under, Whyloss};
pub use window::{Growth, Window, may_grow};

pub use crate::policy::{Governed, Spared, WirelessPolicy};

use crate::bandwidth::DuplicateAcks;
use crate::bandwidth::delivery_rate::{LostPacket, RateSample};
use crate::event::{AckEvent, LossEvent, SentEvent};
use crate::{Duration, Rate, Time};
use pipe::Pipe;

/// Congestion control. See the [module](self) for the contract.
pub trait Controller {
    /// A packet leaves. Whoever wants rate samples is served by
    /// [`DeliveryRate`](crate::bandwidth::delivery_rate::DeliveryRate) instead.
    #[inline]
    fn on_sent(&mut self, sent: &SentEvent) {
        let _ = sent;
    }
    /// Takes an acknowledgement.
    fn on_ack(&mut self, ack: &AckEvent);
    /// A recovery begins after a loss by congestion.
    fn on_loss(&mut self, loss: &LossEvent);
    /// A recovery begins, but its loss shall not change the window.
    fn on_spared_loss(&mut self, loss: &LossEvent, spared: Spared) {
        let _ = (loss, spared);
    }
    /// A recovery ends. The window must not exceed `at_most` now, so that what the recovery held back does not leave as
    /// one burst (RFC 6582 §3.2 step 3); [`u64::MAX`] if there is no such bound.
    fn on_recovery_end(&mut self, now: Time, at_most: u64);
    /// The retransmission timer expired, or congestion persists.
    fn on_timeout(&mut self, loss: &LossEvent);
    /// The last loss event was spurious; before it the window was `cwnd` and the threshold `ssthresh`. Neither falls by
    /// this.
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
    /// A packet that has been under way for longer counts as lost at the first duplicate, and at the first two
    /// acknowledgements after a retransmission (Vegas); `None`: there is no such timeout.
    #[inline]
    fn fine_timeout(&self) -> Option<Duration> {
        None
    }
    /// When the algorithm last cut its window, if it remembers (Vegas, which cuts it only for packets sent since).
    fn last_cut(&self) -> Option<Time> {
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
    /// What congestion avoidance counts, for those that grow as Reno does.
    pub growth: Growth,
}

impl Start {
    /// What RFC 6928 and RFC 9002 recommend for segments of `segment_size` bytes: ten of them at first, but no more than
    /// 14 720 bytes or two segments; slow start until the first loss.
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

/// C.send_quantum: how many bytes of segments of `segment_size` may leave at once when paced at `rate`: those of a
/// millisecond, no more than 64 KiB, at least two segments (draft-ietf-ccwg-bbr-06 §5.6.3).
pub fn send_quantum(rate: Rate, segment_size: u32) -> u64 {
    let millisecond = rate.as_bps() / 8000;
    millisecond.min(1 << 16).max(2 * u64::from(segment_size))
}

/// What a scenario says about a controller: which one, and what a loss called wireless does to its window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ControllerSpec {
    /// Which one.
    pub kind: ControllerKind,
    /// What a loss called wireless does.
    pub wireless: WirelessPolicy,
}

impl ControllerSpec {
    /// The controller at its start, under its policy.
    pub fn build(&self, start: &Start) -> Governed {
        Governed::new(self.kind.build(start), self.wireless)
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
    /// Westwood as in Milenkoski & Stojcevska (MIL-3).
    pub const fn westwood() -> Self {
        Self::Westwood(WestwoodOptions::per_ack())
    }

    /// Westwood as in Le & Hong (BAL-1).
    pub const fn westwood_filter() -> Self {
        Self::Westwood(WestwoodOptions::timed())
    }

    /// Westwood of UCLA's module for ns-2, with a sample per acknowledgement.
    pub const fn westwood_ucla() -> Self {
        Self::Westwood(WestwoodOptions::ucla())
    }

    /// Westwood+.
    pub const fn westwood_plus() -> Self {
        Self::Westwood(WestwoodOptions::plus())
    }

    /// Westwood+ as ns-2's `Agent/TCP/Linux` runs it.
    pub const fn westwood_linux() -> Self {
        Self::Westwood(WestwoodOptions::linux())
    }

    /// Westwood with ABSE, for a sender with NewReno's recovery.
    pub const fn westwood_nr() -> Self {
        Self::Westwood(WestwoodOptions::abse())
    }

    /// TIBET (MAR-6).
    pub const fn tibet() -> Self {
        Self::Westwood(WestwoodOptions::tibet())
    }

    /// BaLDE; to go with the classifier `ldea` and [`WirelessPolicy::KeepWindow`].
    pub const fn balde() -> Self {
        Self::Balde(DuplicateAcks::Wait)
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

/// Turns the list of controllers into the enum that dispatches to them.
macro_rules! controllers {
    ($($name:ident),+ $(,)?) => {
        /// Any of the controllers, dispatched without indirection.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "each variant is the type of its name")]
        #[allow(clippy::large_enum_variant, reason = "no allocation, so nothing can be boxed")]
        pub enum AnyController {
            $($name($name)),+
        }

        $(impl From<$name> for AnyController {
            fn from(controller: $name) -> Self {
                Self::$name(controller)
            }
        })+

        impl Controller for AnyController {
            #[inline]
            fn on_sent(&mut self, sent: &SentEvent) {
                match self { $(Self::$name(inner) => inner.on_sent(sent)),+ }
            }

            #[inline]
            fn on_ack(&mut self, ack: &AckEvent) {
                match self { $(Self::$name(inner) => inner.on_ack(ack)),+ }
            }

            fn on_loss(&mut self, loss: &LossEvent) {
                match self { $(Self::$name(inner) => inner.on_loss(loss)),+ }
            }

            fn on_spared_loss(&mut self, loss: &LossEvent, spared: Spared) {
                match self { $(Self::$name(inner) => inner.on_spared_loss(loss, spared)),+ }
            }

            fn on_recovery_end(&mut self, now: Time, at_most: u64) {
                match self { $(Self::$name(inner) => inner.on_recovery_end(now, at_most)),+ }
            }

            fn on_timeout(&mut self, loss: &LossEvent) {
                match self { $(Self::$name(inner) => inner.on_timeout(loss)),+ }
            }

            fn on_spurious_loss(&mut self, now: Time, cwnd: u64, ssthresh: u64) {
                match self { $(Self::$name(inner) => inner.on_spurious_loss(now, cwnd, ssthresh)),+ }
            }

            fn on_mtu_change(&mut self, segment_size: u32) {
                match self { $(Self::$name(inner) => inner.on_mtu_change(segment_size)),+ }
            }

            #[inline]
            fn wants_rate_samples(&self) -> bool {
                match self { $(Self::$name(inner) => inner.wants_rate_samples()),+ }
            }

            fn on_rate_sample(&mut self, sample: &RateSample) {
                match self { $(Self::$name(inner) => inner.on_rate_sample(sample)),+ }
            }

            fn on_packet_lost(&mut self, packet: &LostPacket) {
                match self { $(Self::$name(inner) => inner.on_packet_lost(packet)),+ }
            }

            fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
                match self { $(Self::$name(inner) => inner.set_window(cwnd, ssthresh)),+ }
            }

            #[inline]
            fn window(&self) -> u64 {
                match self { $(Self::$name(inner) => inner.window()),+ }
            }

            fn ssthresh(&self) -> u64 {
                match self { $(Self::$name(inner) => inner.ssthresh()),+ }
            }

            #[inline]
            fn pacing_rate(&self) -> Option<Rate> {
                match self { $(Self::$name(inner) => inner.pacing_rate()),+ }
            }

            #[inline]
            fn fine_timeout(&self) -> Option<Duration> {
                match self { $(Self::$name(inner) => inner.fine_timeout()),+ }
            }

            fn last_cut(&self) -> Option<Time> {
                match self { $(Self::$name(inner) => inner.last_cut()),+ }
            }

            fn bandwidth(&self) -> Option<Rate> {
                match self { $(Self::$name(inner) => inner.bandwidth()),+ }
            }
        }
    };
}

controllers!(
    Reno, Westwood, Balde, Veno, Cubic, Bbr, Copa, Scream, Vegas, Whyloss
);

#[cfg(test)]
pub(crate) mod tests;
