//! The events that a transport reports to sender classifiers, bandwidth estimators and controllers.
//!
//! Both TCP and QUIC can fill them in. Sizes are in bytes. Offsets count bytes from the start of
//! the connection; in QUIC, the bytes of packets in sending order. Times are on the sender's clock
//! unless noted otherwise.
//!
//! Each constructor takes the fields that every transport has; setters add the optional fields.
//! Report all of these:
//!
//! ```
//! use whyloss::event::{AckEvent, Detection, LossEvent};
//! use whyloss::{Duration, Time};
//!
//! let now = Time::from_nanos(1_050_000_000);
//! let rtt = Some(Duration::from_millis(50));
//! let ack = AckEvent::new(now, 1200).acked(2400).acknowledged(48_000);
//! let ack = ack.in_flight(12_000).window(14_720).rtt(rtt).in_recovery(false).app_limited(false);
//! let loss = LossEvent::new(now, Detection::Duplicates, 1200).first(48_000);
//! let loss = loss.in_flight(12_000).window(14_720).rtt(rtt).min_rtt(rtt);
//! # let _ = (ack, loss);
//! ```
//!
//! | the stack sees | report |
//! |---|---|
//! | a packet leave | [`SentEvent`] |
//! | an acknowledgement | [`AckEvent`], with [`AckEvent::app_limited`] if application-limited |
//! | a loss event | [`LossEvent`] |
//! | ECN-CE marks at the peer | [`MarkEvent`]: congestion, without a classifier |
//! | a retransmission timeout | [`LossEvent`] with [`Detection::Timeout`] |
//! | persistent congestion | [`LossEvent`] with [`Detection::PersistentCongestion`] |
//! | a loss event that was spurious | [`on_spurious_loss`] |
//! | a new path MTU | [`on_mtu_change`] |
//!
//! [`on_spurious_loss`]: crate::schemes::CongestionControl::on_spurious_loss
//! [`on_mtu_change`]: crate::schemes::CongestionControl::on_mtu_change
//!
//! # Transports without cumulative acknowledgements
//!
//! QUIC never retransmits a packet. A packet is settled once it is acknowledged or declared lost:
//!
//! ```text
//! acknowledged   all packets before this offset are settled
//! acked          acknowledged bytes that `acknowledged` passes, even those reported as `sacked`
//! sacked         newly acknowledged bytes beyond the first packet that is not settled
//! in_recovery    up to and including the acknowledgement of a packet sent after the recovery began
//!                (RFC 9002 §7.3.2)
//! ```
//!
//! Do not let a packet that never arrives hold back [`acknowledged`](AckEvent::acknowledged),
//! because no more round trips would end.

use crate::{Duration, Time};

/// Declares an event: a constructor for the required fields, and a setter for each optional field.
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
    /// Reports that a packet leaves, for the first time or as a retransmission.
    SentEvent of {
        /// When the packet leaves.
        now: Time,
        /// The size of the packet in bytes, as windows count it.
        bytes: u64,
    } and {
        /// The offset of the packet's first byte.
        offset: u64 = 0,
        /// The number of bytes in flight after the packet has left, this packet included.
        in_flight: u64 = 0,
        /// Whether the packet is a retransmission.
        retransmission: bool = false,
        /// Whether the window allows more data than the application has supplied.
        app_limited: bool = false,
    }
}

event! {
    /// Reports that an acknowledgement arrives.
    AckEvent of {
        /// The arrival time of the acknowledgement.
        now: Time,
        /// SMSS, the bytes in a full segment, for algorithms that count segments; at least 1.
        segment_size: u32,
    } and {
        /// The bytes newly acknowledged cumulatively; 0 for a duplicate.
        acked: u64 = 0,
        /// The bytes newly acknowledged selectively.
        sacked: u64 = 0,
        /// The offset before which all bytes have been acknowledged, by this acknowledgement or
        /// earlier. Without it, each acknowledgement ends a round trip, and delivered rates are
        /// unknown.
        acknowledged: u64 = 0,
        /// The number of bytes sent but not cumulatively acknowledged, after this acknowledgement.
        /// Unless a timeout causes retransmissions, the next byte to leave is at `acknowledged +
        /// in_flight`. A round trip that begins now ends when `acknowledged` reaches that offset.
        /// Without it, each acknowledgement ends a round trip.
        in_flight: u64 = 0,
        /// The window in use at the arrival, in bytes: the controller's, capped by the receiver's.
        /// Without it, no algorithm can tell how much of the window waits in a queue.
        window: u64 = 0,
        /// The round-trip time that this acknowledgement measured, if any. Use the most recently
        /// sent packet that it newly acknowledges: earlier packets may have waited at the receiver.
        rtt: Option<Duration> = None,
        /// When the receiver sent the acknowledgement, on the receiver's clock and at its
        /// precision, if known (RFC 7323 TSval).
        receiver_stamp: Option<Time> = None,
        /// Whether the window allows more data than the application has supplied.
        app_limited: bool = false,
        /// Whether a recovery is in progress. Still true for the acknowledgement that ends it.
        in_recovery: bool = false,
    }
}

/// Says how a loss was detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Detection {
    /// Later packets were acknowledged (duplicate acknowledgements, SACK, RFC 9002's packet
    /// threshold).
    Duplicates,
    /// A later packet was acknowledged, and this one has been in flight for too long (RFC 9002's
    /// time threshold, Vegas's fine-grained timeout).
    TimeThreshold,
    /// The retransmission timer expired.
    Timeout,
    /// Everything sent over a long period was lost (RFC 9002 §7.6), QUIC's counterpart of a
    /// timeout.
    PersistentCongestion,
}

impl Detection {
    /// Returns whether the window restarts from its minimum: at a timeout or persistent congestion.
    #[inline]
    pub const fn is_timeout(self) -> bool {
        matches!(self, Self::Timeout | Self::PersistentCongestion)
    }
}

event! {
    /// Reports a loss that begins a recovery, or an expired timer. Report it once per loss event:
    /// more losses in the same window belong to it.
    LossEvent of {
        /// When the loss was detected.
        now: Time,
        /// The way in which the loss was detected.
        detection: Detection,
        /// SMSS, the bytes in a full segment, for algorithms that count segments; at least 1.
        segment_size: u32,
    } and {
        /// The offset of the first lost byte.
        first: u64 = 0,
        /// When the lost packet was last sent, if known.
        sent: Option<Time> = None,
        /// The number of times that the lost packet was sent before the detection, if known; else
        /// 1.
        transmissions: u32 = 1,
        /// FlightSize: bytes in the network. When a recovery begins: bytes sent but not
        /// cumulatively acknowledged, without those that duplicates released (RFC 5681 §3.2 step
        /// 2). At a timeout: also without those known to have arrived, since a long recovery sends
        /// several windows. The next new byte may therefore not be at `first + in_flight`. Without
        /// it, a cut to a share of FlightSize leaves the smallest window.
        in_flight: u64 = 0,
        /// The window in use, in bytes: the controller's, capped by the receiver's. Without it,
        /// classifiers that compare windows are blind. Whyloss then takes its own.
        window: u64 = 0,
        /// The latest round-trip time, if any.
        rtt: Option<Duration> = None,
        /// The smallest round-trip time so far, if any.
        min_rtt: Option<Duration> = None,
        /// For timeouts, whether the timer had already expired for the same packet, with nothing
        /// acknowledged since.
        repeated: bool = false,
    }
}

event! {
    /// Reports that the peer received packets marked ECN-CE (RFC 3168, RFC 9002 §7.1). Report it
    /// once per window.
    MarkEvent of {
        /// The arrival time of the report.
        now: Time,
        /// SMSS, the bytes in a full segment, for algorithms that count segments; at least 1.
        segment_size: u32,
    } and {
        /// The offset of the oldest byte in flight.
        first: u64 = 0,
        /// When the oldest packet in flight was last sent, if known.
        sent: Option<Time> = None,
        /// The number of times that the oldest packet in flight was sent, if known; else 1.
        transmissions: u32 = 1,
        /// FlightSize: bytes sent but not cumulatively acknowledged.
        in_flight: u64 = 0,
        /// The window in use, in bytes: the controller's, capped by the receiver's.
        window: u64 = 0,
        /// The latest round-trip time, if any.
        rtt: Option<Duration> = None,
        /// The smallest round-trip time so far, if any.
        min_rtt: Option<Duration> = None,
    }
}

impl MarkEvent {
    /// Returns the mark as a loss of the oldest packet in flight, as RFC 3168 §6.1.2 treats it.
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
