//! The events that a transport tells sender classifiers, bandwidth estimators and controllers.
//!
//! The events are shaped so that TCP and QUIC can both fill them in. Sizes are bytes; offsets count
//! bytes from the start of the connection (QUIC: of the packets sent, in order). Times are on the
//! sender's clock unless said otherwise.
//!
//! An event is made with what every transport knows, and completed with what this one knows
//! besides:
//!
//! ```
//! use whyloss::event::{AckEvent, Detection, LossEvent};
//! use whyloss::{Duration, Time};
//!
//! let now = Time::from_nanos(1_050_000_000);
//! let rtt = Some(Duration::from_millis(50));
//! let ack = AckEvent::new(now, 1200).acked(2400).in_flight(12_000).window(14_720).rtt(rtt);
//! let loss = LossEvent::new(now, Detection::Duplicates, 1200).in_flight(12_000).window(14_720).rtt(rtt);
//! # let _ = (ack, loss);
//! ```
//!
//! | what a stack tells | where it goes |
//! |---|---|
//! | a packet leaves | [`SentEvent`] |
//! | an acknowledgement | [`AckEvent`]; application-limited: [`AckEvent::app_limited`] |
//! | a loss event | [`LossEvent`] |
//! | the peer saw ECN-CE | [`MarkEvent`]: congestion, which no classifier is asked about |
//! | a retransmission timeout, persistent congestion | [`LossEvent`] with [`Detection::Timeout`] or [`Detection::PersistentCongestion`], as a timeout |
//! | a loss event was spurious | [`CongestionControl::on_spurious_loss`](crate::schemes::CongestionControl::on_spurious_loss) |
//! | the path's MTU changed | [`CongestionControl::on_mtu_change`](crate::schemes::CongestionControl::on_mtu_change) |
//!
//! # Where no acknowledgement is cumulative
//!
//! QUIC retransmits no packet. There a packet is settled once it is acknowledged or declared lost,
//! and
//!
//! ```text
//! acknowledged   all packets before this offset are settled
//! acked          bytes of the acknowledged ones that `acknowledged` passes, told as `sacked` before or not; 0 if none
//! sacked         bytes newly acknowledged beyond the first packet that is not settled
//! in_recovery    until a packet that left after the recovery began is acknowledged (RFC 9002 §7.3.2), that one included
//! ```
//!
//! With [`acknowledged`](AckEvent::acknowledged) kept back by a packet that never comes, no round
//! trip would end again.

use crate::{Duration, Time};

/// Declares an event: a constructor with what every transport knows, and for each other field a
/// setter of its name.
macro_rules! event {
    (
        $(#[$about:meta])*
        $name:ident of {
            $($(#[$need_doc:meta])* $need:ident: $need_type:ty,)+
        } and {
            $($(#[$field_doc:meta])* $field:ident: $type:ty = $default:expr,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$need_doc])* pub $need: $need_type,)+
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl $name {
            #[doc = concat!("Makes the event; every other field of [`", stringify!($name), "`] is zero, none or false until it is set.")]
            #[inline]
            pub const fn new($($need: $need_type),+) -> Self {
                Self { $($need,)+ $($field: $default,)* }
            }

            $(
                #[doc = concat!("Sets the field [`", stringify!($field), "`](", stringify!($name), "#structfield.", stringify!($field), ").")]
                #[inline]
                #[must_use]
                pub const fn $field(mut self, $field: $type) -> Self {
                    self.$field = $field;
                    self
                }
            )*
        }
    };
}

event! {
    /// A packet leaves, for the first time or again.
    SentEvent of {
        /// When it leaves.
        now: Time,
        /// The packet's size in bytes, as windows count it.
        bytes: u64,
    } and {
        /// Offset of the packet's first byte.
        offset: u64 = 0,
        /// Bytes under way once it has left, this packet included.
        in_flight: u64 = 0,
        /// Whether it repeats what left before.
        retransmission: bool = false,
        /// Whether the sender has nothing more to send although the window would allow it.
        app_limited: bool = false,
    }
}

event! {
    /// One acknowledgement.
    AckEvent of {
        /// When it arrived.
        now: Time,
        /// SMSS: bytes of a full segment, for algorithms that count segments. At least 1.
        segment_size: u32,
    } and {
        /// Bytes it acknowledges cumulatively for the first time; 0 for a duplicate.
        acked: u64 = 0,
        /// Bytes it acknowledges selectively for the first time.
        sacked: u64 = 0,
        /// All bytes before this offset have been acknowledged, this acknowledgement included.
        acknowledged: u64 = 0,
        /// Bytes sent and not yet acknowledged cumulatively after it: the next byte to leave is at
        /// `acknowledged + in_flight` (a new one, but for what a timeout sends again), so a round
        /// trip that begins now is over when `acknowledged` reaches that.
        in_flight: u64 = 0,
        /// The window in use when it arrived: the controller's, but no more than the receiver
        /// allows.
        window: u64 = 0,
        /// A round-trip time measured by it, if it measures one.
        rtt: Option<Duration> = None,
        /// When the receiver sent it, on the receiver's clock and to that clock's precision, if it
        /// says so (RFC 7323 TSval).
        receiver_stamp: Option<Time> = None,
        /// Whether the sender has nothing to send although the window would allow it.
        app_limited: bool = false,
        /// Whether a recovery is going on, the acknowledgement that ends it included.
        in_recovery: bool = false,
    }
}

/// How a loss was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Detection {
    /// Acknowledgements of later packets found it (duplicates, SACK, RFC 9002's packet threshold).
    Duplicates,
    /// Time found it: an acknowledgement of a later packet came, and this one had been under way
    /// too long (RFC 9002's time threshold, Vegas's fine-grained timeout).
    TimeThreshold,
    /// The retransmission timer expired.
    Timeout,
    /// Everything sent over a long period was lost (RFC 9002 §7.6): QUIC's counterpart of a
    /// timeout.
    PersistentCongestion,
}

impl Detection {
    /// Whether the window starts anew: a timeout, or persistent congestion.
    #[inline]
    pub const fn is_timeout(self) -> bool {
        matches!(self, Self::Timeout | Self::PersistentCongestion)
    }
}

event! {
    /// A loss was found (a recovery begins), or a timer expired. Told once per loss event; later
    /// losses of the same window belong to it.
    LossEvent of {
        /// When it was found.
        now: Time,
        /// How it was found.
        detection: Detection,
        /// SMSS: bytes of a full segment, for algorithms that count segments. At least 1.
        segment_size: u32,
    } and {
        /// Offset of the first byte that was lost.
        first: u64 = 0,
        /// When the packet that was lost left for the last time, if the transport keeps that.
        sent: Option<Time> = None,
        /// How often it had left before it was found lost, if the transport keeps that; else 1.
        transmissions: u32 = 1,
        /// FlightSize: bytes in the network. When a recovery begins: sent and not yet acknowledged
        /// cumulatively, without what the duplicates released (RFC 5681 §3.2 step 2). At a timeout:
        /// less those that are known to have arrived, since a long recovery sends several windows.
        /// So `first + in_flight` need not be the next new byte.
        in_flight: u64 = 0,
        /// The window in use: the controller's, but no more than the receiver allows.
        window: u64 = 0,
        /// The latest round-trip time, if there is one.
        rtt: Option<Duration> = None,
        /// The smallest round-trip time so far, if there is one.
        min_rtt: Option<Duration> = None,
        /// Timeouts: whether the timer had expired for the same packet before, and nothing was
        /// acknowledged in between.
        repeated: bool = false,
    }
}

event! {
    /// The peer reports packets marked ECN-CE (RFC 3168, RFC 9002 §7.1). Told once per window.
    MarkEvent of {
        /// When the report arrived.
        now: Time,
        /// SMSS: bytes of a full segment, for algorithms that count segments. At least 1.
        segment_size: u32,
    } and {
        /// Offset of the oldest byte under way.
        first: u64 = 0,
        /// When the oldest packet under way left for the last time, if the transport keeps that.
        sent: Option<Time> = None,
        /// How often it had left, if the transport keeps that; else 1.
        transmissions: u32 = 1,
        /// FlightSize: bytes sent and not yet acknowledged cumulatively.
        in_flight: u64 = 0,
        /// The window in use: the controller's, but no more than the receiver allows.
        window: u64 = 0,
        /// The latest round-trip time, if there is one.
        rtt: Option<Duration> = None,
        /// The smallest round-trip time so far, if there is one.
        min_rtt: Option<Duration> = None,
    }
}

impl MarkEvent {
    /// The loss of the oldest packet under way, to which RFC 3168 §6.1.2 likens a mark.
    pub const fn as_loss(&self) -> LossEvent {
        LossEvent::new(self.now, Detection::Duplicates, self.segment_size)
            .first(self.first)
            .sent(self.sent)
            .transmissions(self.transmissions)
            .in_flight(self.in_flight)
            .window(self.window)
            .rtt(self.rtt)
            .min_rtt(self.min_rtt)
    }
}
