//! The options of TFRC: RFC 5348 by default, with a field for each departure of ns-2.35.
//!
//! The papers of 2002–2010 used ns-2, so reproducing them needs its departures. The fields are
//! independent, so that the effect of each can be measured alone. Departures were read from
//! ns-2.35's `tcp/tfrc.cc`, `tcp/tfrc-sink.cc` and `tcp/formula.h`, with the defaults of
//! `tcl/lib/ns-default.tcl`.

use crate::Duration;

/// The options of both ends: RFC 5348, with a field for each departure of ns-2.35.
///
/// The numbers in parentheses are sections of the RFC.
///
/// | field | RFC 5348 | ns-2.35 |
/// |---|---|---|
/// | [`retransmit_timeout`](Options::retransmit_timeout) | 4R (3.1) | TCP's estimator in ticks of 0.1 s, no minimum |
/// | [`no_feedback_rtts`](Options::no_feedback_rtts) | max(4R, 2s/X) (4.3) | max(2R, 2s/X) |
/// | [`no_feedback`](Options::no_feedback) | lowers the receive limit (4.4) | halves the rate |
/// | [`filter`](Options::filter) | 0.9 (4.3, 4.5) | 0.95 |
/// | [`damping`](Options::damping) | on (4.5) | on |
/// | [`increase`](Options::increase) | to min(X_Bps, recv_limit) (4.3) | by s/R per R |
/// | [`receive_limit`](Options::receive_limit) | X_recv_set (4.3) | twice the last X_recv |
/// | [`initial_rate`](Options::initial_rate) | one packet per second (4.2) | 300 byte/s |
/// | [`initial_window`](Options::initial_window) | 4380 bytes, if they are 2 to 4 packets (4.2) | whole packets |
/// | [`slow_start`](Options::slow_start) | doubles per R (4.3) | ramps within R, falls back to X_recv |
/// | [`pacing`](Options::pacing) | nominal times, moved by a new rate (4.6) | fixed when the last packet left |
/// | [`backoff_limit`](Options::backoff_limit) | 64 s (4.3) | none |
/// | [`cap_timeouts`](Options::cap_timeouts) | no (3.1) | min(1, 3√(3bp/8)) |
/// | [`packets_per_ack`](Options::packets_per_ack) | 1 (3.1) | 1 |
/// | [`loss_threshold`](Options::loss_threshold) | NDUPACK = 3 (5.1) | 1 |
/// | [`new_event_needs_new_round`](Options::new_event_needs_new_round) | no (5.2) | `PreciseLoss_` |
/// | [`loss_clock`](Options::loss_clock) | arrival times (5.2) | the sender's stamps |
/// | [`feedback`](Options::feedback) | a timer of R (6.2) | an arrival after R; a timer of 1.5 R |
/// | [`discount_floor`](Options::discount_floor) | 0.25 (5.5) | 0.5 |
/// | [`header`](Options::header) | left to the host | 32 bytes |
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent choices, not one state"
)]
pub struct Options {
    /// The retransmission timeout t_RTO in the throughput equation.
    pub retransmit_timeout: RetransmitTimeout,
    /// The length of the no-feedback timer in round-trip times R, or the time for two packets at
    /// the allowed rate, 2s/X, if that is longer.
    pub no_feedback_rtts: u32,
    /// The effect of the no-feedback timer.
    pub no_feedback: NoFeedback,
    /// The share of the old value that the moving averages of R and √R keep, in [0, 1): q and q2 of
    /// the RFC.
    pub filter: f64,
    /// Whether packets leave at the rate X·mean(√R)/√R_sample instead of the allowed rate X, which
    /// damps oscillations (RFC 5348, 4.5).
    pub damping: bool,
    /// How the rate rises after the first loss.
    pub increase: Increase,
    /// How the receive rate limits the sending rate.
    pub receive_limit: ReceiveLimit,
    /// The rate before the first feedback, in bytes per second; `None` for one packet per second.
    pub initial_rate: Option<f64>,
    /// The initial window W_init: the first feedback raises the rate to W_init/R.
    pub initial_window: InitialWindow,
    /// How the rate rises before the first loss.
    pub slow_start: SlowStart,
    /// The rule for when a packet leaves.
    pub pacing: Pacing,
    /// The longest time t_mbi between two packets, which sets the lowest rate; `None` if the rate
    /// may fall to zero.
    pub backoff_limit: Option<Duration>,
    /// Whether the equation has min(1, 3√(3bp/8)), as in the SIGCOMM 2000 paper, instead of
    /// 3√(3bp/8). For b = 1, results differ above a loss event rate of 0.296.
    pub cap_timeouts: bool,
    /// The number b of packets that one TCP acknowledgement acknowledges.
    pub packets_per_ack: f64,
    /// The number of later packets after whose arrival a packet is lost; at least 1. With 1, the
    /// first packet after the gap reveals the loss.
    pub loss_threshold: u8,
    /// Whether a new loss event also needs a higher [`Data::round`](super::Data::round) than the
    /// last one.
    pub new_event_needs_new_round: bool,
    /// The clock that dates a loss.
    pub loss_clock: LossClock,
    /// When the receiver reports.
    pub feedback: FeedbackTiming,
    /// THRESHOLD, the smallest factor of history discounting; 1 turns discounting off.
    pub discount_floor: f64,
    /// Whether data packets are ECN-capable (RFC 5348, 3.1). The host sets the field, and reports
    /// marks with [`Receiver::on_marked_data`](super::Receiver::on_marked_data).
    pub ecn: bool,
    /// The bytes of header that a host puts on the wire around each packet. The equation, X_recv
    /// and pacing do not count them.
    pub header: u32,
}

impl Options {
    /// Returns the options of RFC 5348.
    pub const fn rfc5348() -> Self {
        Self {
            retransmit_timeout: RetransmitTimeout::FourRtt,
            no_feedback_rtts: 4,
            no_feedback: NoFeedback::LowerLimit,
            filter: 0.9,
            damping: true,
            increase: Increase::ToLimit,
            receive_limit: ReceiveLimit::Set,
            initial_rate: None,
            initial_window: InitialWindow::Bytes,
            slow_start: SlowStart::Doubling,
            pacing: Pacing::Nominal,
            backoff_limit: Some(Duration::from_secs(64)),
            cap_timeouts: false,
            packets_per_ack: 1.0,
            loss_threshold: 3,
            new_event_needs_new_round: false,
            loss_clock: LossClock::Arrival,
            feedback: FeedbackTiming::Timer,
            discount_floor: 0.25,
            ecn: false,
            header: 0,
        }
    }

    /// Returns the options of ns-2.35 with its defaults.
    pub const fn ns2() -> Self {
        Self {
            retransmit_timeout: RetransmitTimeout::Ticks(Duration::from_millis(100)),
            no_feedback_rtts: 2,
            no_feedback: NoFeedback::HalveRate,
            filter: 0.95,
            damping: true,
            increase: Increase::PacketPerRtt,
            receive_limit: ReceiveLimit::Latest,
            initial_rate: Some(300.0),
            initial_window: InitialWindow::Packets,
            slow_start: SlowStart::Ramp,
            pacing: Pacing::FromLastPacket,
            backoff_limit: None,
            cap_timeouts: true,
            packets_per_ack: 1.0,
            loss_threshold: 1,
            new_event_needs_new_round: true,
            loss_clock: LossClock::Sender,
            feedback: FeedbackTiming::OnArrival,
            discount_floor: 0.5,
            ecn: false,
            header: 32,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::rfc5348()
    }
}

/// Selects the retransmission timeout t_RTO in the throughput equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum RetransmitTimeout {
    /// Four round-trip times R.
    FourRtt,
    /// Jacobson's estimator, srtt + 4·rttvar, in integer ticks of this length, without a minimum.
    Ticks(Duration),
}

/// Selects the effect of the no-feedback timer (RFC 5348, 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum NoFeedback {
    /// Lowers the receive limit, so that the rate is halved and feedback can restore it.
    LowerLimit,
    /// Halves the rate. If [`Pacing::FromLastPacket`], also sends a packet immediately.
    HalveRate,
}

/// Selects how the rate rises after the first loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Increase {
    /// Raises the rate immediately to the limit that the equation and the receive rate set.
    ToLimit,
    /// Raises the rate by s/R for each round-trip time R since the last change (for at most 2R), up
    /// to the same limit. The first loss sets the rate of the equation, even above the receive
    /// limit.
    PacketPerRtt,
}

/// Selects how the receive rate limits the sending rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ReceiveLimit {
    /// Limits the rate to twice the largest receive rate that was reported within 2R, with the
    /// rules for data-limited senders.
    Set,
    /// Limits the rate to twice the last reported receive rate, but not below s/R.
    Latest,
}

/// Selects the initial window W_init for packets of s bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum InitialWindow {
    /// The bytes of RFC 5348: min(4s, max(2s, 4380 bytes)).
    Bytes,
    /// The packets of TCP's initial window (RFC 3390): four up to 1095 bytes, three below 2190,
    /// else two.
    Packets,
}

/// Selects how the rate rises before the first loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SlowStart {
    /// Doubles the rate once per round-trip time R, up to the receive limit.
    Doubling,
    /// Keeps the rate W_init/R for the first two round trips, then approaches the doubled rate over
    /// one round-trip time R, packet by packet. A rate above the receive limit falls to the receive
    /// rate.
    Ramp,
}

/// Selects when a packet leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Pacing {
    /// Sends a packet one interval after the *nominal* time of the last one. A new rate changes the
    /// time of the next packet.
    Nominal,
    /// Sends a packet one interval after the last one left, even if the rate changes in the
    /// meantime. Feedback in slow start and the no-feedback timer trigger an immediate packet.
    FromLastPacket,
}

/// Selects the clock that dates a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum LossClock {
    /// The receiver's clock: the arrivals before and after the gap.
    Arrival,
    /// The sender's clock: the stamps of the packets before and after the gap.
    Sender,
}

/// Selects when the receiver reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum FeedbackTiming {
    /// Reports one round-trip time R after the last report if a packet arrived since, else at the
    /// next arrival. Reports immediately when the loss event rate p rises.
    Timer,
    /// Reports at the first arrival at least R after the last report, or 1.5 R after it if a packet
    /// arrived since. Reports immediately on a new loss event and on an urgent packet.
    OnArrival,
}
