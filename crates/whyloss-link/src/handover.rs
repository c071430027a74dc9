//! A handover: at one moment a link becomes another one.
//!
//! ```text
//! at             what waits is lost in one bunch, or is sent by the new link
//! at … + pause   nothing begins to be sent; who comes waits
//! from then on   the new rate, the new delay
//! in order       nobody arrives before those that departed ahead of the handover
//! ```
//!
//! The packet in transmission goes through at the old rate. A bunch that is lost was no full queue's: its cause is the
//! radio.

use whyloss::{Duration, Rate, Time};

/// What a scenario says about a handover.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Handover {
    /// When it is.
    pub at: Time,
    /// How long nothing is sent.
    pub pause: Duration,
    /// The rate afterwards; `None`: as before.
    pub rate: Option<Rate>,
    /// The delay afterwards; `None`: as before.
    pub delay: Option<Duration>,
    /// Whether what waits is lost.
    pub lost: bool,
    /// Whether what departs afterwards waits at the far end for what departed before.
    pub in_order: bool,
}
