//! TCP-Friendly Rate Control (TFRC): Floyd, Handley, Padhye, Widmer, RFC 5348 (2008).
//!
//! A sender paces its packets at the rate that a TCP flow would get with the same round-trip time
//! and *loss event* rate. The receiver measures the loss event rate and reports it about once per
//! round trip.
//!
//! | file | what | RFC 5348 |
//! |---|---|---|
//! | [`equation`] | the throughput equation and its inverse | 3.1, 6.3.1 |
//! | [`loss_history`] | from losses over loss events and loss intervals to p | 5.2–5.5 |
//! | [`Sender`] | rate, pacing, no-feedback timer | 4, 8.2.1 |
//! | [`Receiver`] | gaps, receive rate, feedback | 5.1, 6 |
//! | [`Options`] | every choice that the RFC leaves open, and every departure of ns-2.35 | |
//!
//! # Contract
//!
//! Both ends are sans-I/O. The host carries [`Data`] and [`Feedback`] between them. After *every*
//! call, it reads `next_timeout`, which is when to call `on_timeout`; [`Time::MAX`] means never.
//! Times never decrease. No input from a peer can cause a panic, unbounded time, or a rate that is
//! negative, infinite or NaN.
//!
//! # Wireless losses
//!
//! The receiver gets the [`Cause`](crate::Cause) of each missing packet from its host, at the
//! arrival that reveals the gap. A wireless loss enters the loss history as a received packet: it
//! is not a loss event, and it lengthens the open interval (CEN-1, CEN-12). It adds no bytes to the
//! receive rate, since nothing arrived (CEN-A5).
//!
//! # Behaviour of ns-2.35 that is not implemented
//!
//! - The open interval I_0 counts the packet that began it (RFC 5348, 5.3); ns-2 starts at the next
//!   one.
//! - While fewer than nine intervals are known, ns-2 adds I_0 to all of them. RFC 5348, 5.4 omits
//!   the oldest, so both sums have the same number of intervals.
//! - ns-2's inverse equation stops within 5 % of the rate; ours is exact. ns-2 rounds its first
//!   interval down to an integer.
//! - ns-2's receive rate over an interval shorter than R counts the arrivals of the last R. Ours
//!   starts at the last report that is at least R old, as RFC 5348, 6.2 allows, so no arrivals are
//!   stored.

mod data_limits;
pub mod equation;
pub mod loss_history;
mod options;
mod receive_rates;
mod receiver;
mod retransmit;
mod sender;

pub use options::{
    FeedbackTiming, Increase, InitialWindow, LossClock, NoFeedback, Options, Pacing, ReceiveLimit,
    RetransmitTimeout, SlowStart,
};
pub use receiver::{ASKED_PER_GAP, Receiver};
pub use sender::Sender;

use crate::{Duration, Time};

/// The fields of a data packet (RFC 5348, 3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// The sequence number, which increases by one with each packet.
    pub sequence: u64,
    /// The time of sending, on the sender's clock.
    pub stamp: Time,
    /// The sender's estimate R of the round-trip time; zero before it has one.
    pub rtt: Duration,
    /// The retransmission timeout that the sender uses in the equation; zero before it has one. In
    /// the RFC it is 4R, which the receiver could compute; ns-2 sends it.
    pub t_rto: Duration,
    /// The number of feedback packets received and no-feedback timers expired so far, for
    /// [`Options::new_event_needs_new_round`].
    pub round: u32,
    /// Whether the sender has had no feedback since it started, or since its no-feedback timer last
    /// expired. Only [`FeedbackTiming::OnArrival`] uses it.
    pub urgent: bool,
}

/// The fields of a feedback packet (RFC 5348, 3.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// The stamp of the last data packet received.
    pub echo: Time,
    /// The time from the packet's arrival to this report, t_delay.
    pub hold: Duration,
    /// The receive rate X_recv, in bytes per second.
    pub receive_rate: f64,
    /// The loss event rate p, in 0..=1.
    pub loss_event_rate: f64,
    /// Whether a loss event began since the last feedback.
    pub new_loss_event: bool,
}

#[cfg(test)]
mod tests;
