//! The choices of TFRC: RFC 5348 by default, each departure of ns-2.35 a field of its own.
//!
//! The papers of 2002–2010 used ns-2, so reproducing them needs its ways; the fields are
//! independent, so that the difference each makes can be measured alone. Departures were read from
//! ns-2.35's `tcp/tfrc.cc`, `tcp/tfrc-sink.cc` and `tcp/formula.h`, with the defaults of
//! `tcl/lib/ns-default.tcl`.
//!
//! | field | RFC 5348 | ns-2.35 |
//! |---|---|---|
//! | [`retransmit_timeout`](Options::retransmit_timeout) | 4R (3.1) | TCP's estimator in ticks of 0.1 s, no minimum |
//! | [`no_feedback_rtts`](Options::no_feedback_rtts) | max(4R, 2s/X) (4.3) | max(2R, 2s/X) |
//! | [`no_feedback`](Options::no_feedback) | lowers the receive limit (4.4) | halves the rate |
//! | [`filter`](Options::filter) | 0.9 (4.3, 4.5) | 0.95 |
//! | [`damping`](Options::damping) | on (4.5) | on |
//! | [`increase`](Options::increase) | to min(X_Bps, recv_limit) (4.3) | by s/R per R |
//! | [`receive_limit`](Options::receive_limit) | X_recv_set (4.3) | twice the last X_recv |
//! | [`initial_rate`](Options::initial_rate) | one packet per second (4.2) | 300 byte/s |
//! | [`initial_window`](Options::initial_window) | 4380 bytes, if they are 2 to 4 packets (4.2) | whole packets |
//! | [`slow_start`](Options::slow_start) | doubles per R (4.3) | ramps within R, falls back to X_recv |
//! | [`pacing`](Options::pacing) | nominal times, moved by a new rate (4.6) | fixed when the last packet left |
//! | [`backoff_limit`](Options::backoff_limit) | 64 s (4.3) | none |
//! | [`cap_timeouts`](Options::cap_timeouts) | no (3.1) | min(1, 3√(3bp/8)) |
//! | [`packets_per_ack`](Options::packets_per_ack) | 1 (3.1) | 1 |
//! | [`loss_threshold`](Options::loss_threshold) | NDUPACK = 3 (5.1) | 1 |
//! | [`new_event_needs_new_round`](Options::new_event_needs_new_round) | no (5.2) | `PreciseLoss_` |
//! | [`loss_clock`](Options::loss_clock) | arrival times (5.2) | the sender's stamps |
//! | [`feedback`](Options::feedback) | a timer of R (6.2) | an arrival after R; a timer of 1.5 R |
//! | [`discount_floor`](Options::discount_floor) | 0.25 (5.5) | 0.5 |
//! | [`header`](Options::header) | the host's business | 32 bytes |

use crate::Duration;

/// The choices of both ends. See the table above the source of each field.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent choices, not one state"
)]
pub struct Options {
    /// t_RTO in the throughput equation.
    pub retransmit_timeout: RetransmitTimeout,
    /// The no-feedback timer runs for this many R, or 2s/X if that is longer.
    pub no_feedback_rtts: u32,
    /// The effect of the no-feedback timer.
    pub no_feedback: NoFeedback,
    /// q and q2: the share of the old value that the averages of R and √R keep.
    pub filter: f64,
    /// Whether packets are spaced by X·mean(√R)/√R_sample rather than X, which damps oscillations
    /// (RFC 5348, 4.5).
    pub damping: bool,
    /// How the rate rises once there has been a loss.
    pub increase: Increase,
    /// How the receive rate limits the sending rate.
    pub receive_limit: ReceiveLimit,
    /// The rate before the first feedback, in bytes per second; `None`: one packet per second.
    pub initial_rate: Option<f64>,
    /// W_init: the first feedback raises the rate to W_init/R.
    pub initial_window: InitialWindow,
    /// How the rate rises before the first loss.
    pub slow_start: SlowStart,
    /// When a packet leaves.
    pub pacing: Pacing,
    /// t_mbi: the rate never falls below one packet in this time. `None`: it may fall to nothing.
    pub backoff_limit: Option<Duration>,
    /// Whether the equation has min(1, 3√(3bp/8)) as the SIGCOMM 2000 paper does. They part at p =
    /// 0.296 for b = 1.
    pub cap_timeouts: bool,
    /// b: packets acknowledged by one TCP acknowledgement.
    pub packets_per_ack: f64,
    /// A packet is lost when this many later ones have arrived; 1 declares it at the gap. At least
    /// 1.
    pub loss_threshold: u8,
    /// Whether a new loss event also needs [`Data::round`](super::Data::round) to have risen.
    pub new_event_needs_new_round: bool,
    /// Which clock dates a loss.
    pub loss_clock: LossClock,
    /// When the receiver reports.
    pub feedback: FeedbackTiming,
    /// THRESHOLD: how small history discounting may make the factor; 1 turns it off.
    pub discount_floor: f64,
    /// Whether data packets are ECN-capable (RFC 5348, 3.1): the business of who sends them; the
    /// receiver is told of marks by [`Receiver::on_marked_data`](super::Receiver::on_marked_data).
    pub ecn: bool,
    /// Bytes of header that a host puts on the wire around each packet. The equation, X_recv and
    /// pacing do not count them; the state machines here never look.
    pub header: u32,
}

impl Options {
    /// RFC 5348.
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

    /// ns-2.35 with its defaults.
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

/// t_RTO in the throughput equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum RetransmitTimeout {
    /// 4R.
    FourRtt,
    /// Jacobson's estimator, srtt + 4·rttvar, in integer ticks of this length, without a minimum.
    Ticks(Duration),
}

/// The effect of the no-feedback timer (RFC 5348, 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum NoFeedback {
    /// Lowers the receive limit, so that the rate is halved and feedback can restore it.
    LowerLimit,
    /// Halves the rate, and sends a packet at once if [`Pacing::FromLastPacket`].
    HalveRate,
}

/// How the rate rises once there has been a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Increase {
    /// At once to what the equation and the receive limit allow.
    ToLimit,
    /// By s/R for each R since the last change (for 2R at most), up to the same. The first loss
    /// sets the equation's rate whatever the receive limit.
    PacketPerRtt,
}

/// How the receive rate limits the sending rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ReceiveLimit {
    /// Twice the largest of the rates reported within 2R, with the rules for data-limited senders.
    Set,
    /// Twice the last one reported, and s/R at least.
    Latest,
}

/// W_init, of packets of s bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum InitialWindow {
    /// min(4s, max(2s, 4380 bytes)).
    Bytes,
    /// As many packets as an initial window of TCP has by RFC 3390: four up to 1095 bytes, three
    /// below 2190, else two.
    Packets,
}

/// How the rate rises before the first loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SlowStart {
    /// Doubles once per R, up to the receive limit.
    Doubling,
    /// The same target, kept at W_init/R for the first two rounds and then approached over one R
    /// packet by packet; a rate above the receive limit falls to the receive rate.
    Ramp,
}

/// When a packet leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Pacing {
    /// One interval after the *nominal* time of the last one; a new rate moves the time of the
    /// next.
    Nominal,
    /// One interval after the last one left, whatever the rate becomes meanwhile; but feedback in
    /// slow start, and the no-feedback timer, send one at once.
    FromLastPacket,
}

/// Which clock dates a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum LossClock {
    /// The receiver's: arrivals before and after the gap.
    Arrival,
    /// The sender's: their stamps.
    Sender,
}

/// When the receiver reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum FeedbackTiming {
    /// R after the last report if anything arrived since, else at the next arrival; at once when p
    /// rises.
    Timer,
    /// At the first arrival at least R after the last report, or 1.5 R after it if anything arrived
    /// since; at once on a new loss event and on an urgent packet.
    OnArrival,
}
