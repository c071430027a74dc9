//! What a transport tells sender classifiers, bandwidth estimators and controllers.
//!
//! The events are shaped so that TCP and QUIC can both fill them in. Sizes are bytes; offsets count bytes from the
//! start of the connection (QUIC: of the packets sent, in order). Times are on the sender's clock unless said otherwise.
//!
//! # Where no acknowledgement is cumulative
//!
//! QUIC retransmits no packet. There a packet is settled once it is acknowledged or declared lost, and
//!
//! ```text
//! acknowledged   all packets before this offset are settled
//! acked          bytes of the acknowledged ones that `acknowledged` passes, told as `sacked` before or not; 0 if none
//! sacked         bytes newly acknowledged beyond the first packet that is not settled
//! in_recovery    until a packet that left after the recovery began is acknowledged (RFC 9002 §7.3.2), that one included
//! ```
//!
//! With [`acknowledged`](AckEvent::acknowledged) kept back by a packet that never comes, no round trip would end again.

use crate::{Duration, Time};

/// One acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckEvent {
    /// When it arrived.
    pub now: Time,
    /// Bytes it acknowledges cumulatively for the first time; 0 for a duplicate.
    pub acked: u64,
    /// Bytes it acknowledges selectively for the first time.
    pub sacked: u64,
    /// All bytes before this offset have been acknowledged, this acknowledgement included.
    pub acknowledged: u64,
    /// Bytes sent and not yet acknowledged cumulatively after it: the next byte to leave is at `acknowledged + in_flight`
    /// (a new one, but for what a timeout sends again), so a round trip that begins now is over when `acknowledged`
    /// reaches that.
    pub in_flight: u64,
    /// The window in use when it arrived: the controller's, but no more than the receiver allows.
    pub window: u64,
    /// SMSS: bytes of a full segment, for algorithms that count segments. At least 1.
    pub segment_size: u32,
    /// A round-trip time measured by it, if it measures one.
    pub rtt: Option<Duration>,
    /// When the receiver sent it, on the receiver's clock and to that clock's precision, if it says so (RFC 7323 TSval).
    pub receiver_stamp: Option<Time>,
    /// Whether the sender has nothing to send although the window would allow it.
    pub app_limited: bool,
    /// Whether a recovery is going on, the acknowledgement that ends it included.
    pub in_recovery: bool,
}

/// How a loss was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Detection {
    /// By acknowledgements of later packets (duplicates, SACK, RFC 9002's packet threshold).
    Duplicates,
    /// By time: an acknowledgement of a later packet came, and this one had been under way too long (RFC 9002's time
    /// threshold, Vegas's fine-grained timeout).
    TimeThreshold,
    /// The retransmission timer expired.
    Timeout,
}

/// A loss was found: a recovery begins, or the retransmission timer expired. Told once per loss event; later losses of
/// the same window belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossEvent {
    /// When it was found.
    pub now: Time,
    /// How.
    pub detection: Detection,
    /// Offset of the first byte that was lost.
    pub first: u64,
    /// When the packet that was lost left for the last time, if the transport keeps that.
    pub sent: Option<Time>,
    /// How often it had left before it was found lost, if the transport keeps that; else 1.
    pub transmissions: u32,
    /// FlightSize: bytes in the network. When a recovery begins: sent and not yet acknowledged cumulatively, without what
    /// the duplicates released (RFC 5681 §3.2 step 2). At a timeout: less those that are known to have arrived, since a
    /// long recovery sends several windows. So `first + in_flight` need not be the next new byte.
    pub in_flight: u64,
    /// The window in use: the controller's, but no more than the receiver allows.
    pub window: u64,
    /// SMSS: bytes of a full segment, for algorithms that count segments. At least 1.
    pub segment_size: u32,
    /// The latest round-trip time, if there is one.
    pub rtt: Option<Duration>,
    /// The smallest round-trip time so far, if there is one.
    pub min_rtt: Option<Duration>,
    /// Timeouts: whether the timer had expired for the same packet before, and nothing was acknowledged in between.
    pub repeated: bool,
}
