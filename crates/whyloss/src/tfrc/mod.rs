//! TCP-Friendly Rate Control (TFRC): Floyd, Handley, Padhye, Widmer, RFC 5348 (2008).
//!
//! A sender paces its packets by the rate that a TCP flow would get under the same round-trip time
//! and *loss event* rate; the receiver measures that loss event rate and reports it about once per
//! round trip.
//!
//! | file | what | RFC 5348 |
//! |---|---|---|
//! | [`equation`] | the throughput equation and its inverse | 3.1, 6.3.1 |
//! | [`loss_history`] | losses → loss events → loss intervals → p | 5.2–5.5 |
//! | [`Sender`] | rate, pacing, no-feedback timer | 4, 8.2.1 |
//! | [`Receiver`] | gaps, receive rate, feedback | 5.1, 6 |
//! | [`Options`] | every choice the RFC leaves, and every departure of ns-2.35 from it | |
//!
//! # Contract
//!
//! Both ends are sans-I/O. The host carries [`Data`] and [`Feedback`] between them, and after
//! *every* call asks `next_timeout` when to call `on_timeout`. [`Time::MAX`] means never. Times
//! never decrease. Nothing a peer sends can panic, make a call take unbounded time, or make a rate
//! negative, infinite or NaN.
//!
//! # Wireless losses
//!
//! The receiver asks its host for the [`Cause`](crate::Cause) of each missing packet at the arrival
//! that reveals the gap. A wireless loss enters the loss history as a received packet: it is no
//! loss event and it lengthens the open interval (CEN-1, CEN-12). It adds no bytes to the receive
//! rate, since nothing arrived (CEN-A5).
//!
//! # Behaviour of ns-2.35 that these files lack
//!
//! - The open interval I_0 counts the packet that began it (RFC 5348, 5.3); ns-2 counts from the
//!   one after.
//! - While fewer than nine intervals are known, ns-2 lets I_0 stand beside all of them; RFC 5348,
//!   5.4 leaves out the oldest, so that both sums hold equally many.
//! - ns-2's inverse equation stops within 5 % of the rate; ours is exact. Its first interval is cut
//!   to an integer.
//! - ns-2's receive rate over an interval shorter than R counts the arrivals of the last R; ours
//!   goes back to the last report that is at least R old, as RFC 5348, 6.2 allows, so that no
//!   arrival needs to be stored.

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
    /// Sequence number: one more with each packet.
    pub sequence: u64,
    /// When it was sent, on the sender's clock.
    pub stamp: Time,
    /// R: the sender's estimate of the round-trip time; zero before it has one.
    pub rtt: Duration,
    /// The retransmission timeout that the sender puts into the equation; zero before it has one.
    /// In the RFC it is 4R, which the receiver could know; ns-2 sends it.
    pub t_rto: Duration,
    /// Counts the feedbacks received and the no-feedback timers expired, for
    /// [`Options::new_event_needs_new_round`].
    pub round: u32,
    /// The sender has had no feedback since it started, or since its no-feedback timer last
    /// expired. Only [`FeedbackTiming::OnArrival`] looks at it.
    pub urgent: bool,
}

/// The fields of a feedback packet (RFC 5348, 3.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// The stamp of the last data packet received.
    pub echo: Time,
    /// t_delay: how long the receiver held it.
    pub hold: Duration,
    /// X_recv, in bytes per second.
    pub receive_rate: f64,
    /// p, in 0..=1.
    pub loss_event_rate: f64,
    /// Whether a loss event began since the last feedback.
    pub new_loss_event: bool,
}

#[cfg(test)]
mod tests;
