//! A handover: at one moment a link becomes another one.
//!
//! ```text
//! at             what waits is sent by the new link, is lost in one bunch, or is sent twice
//! at … + pause   nothing begins to be sent; who comes waits
//! from then on   the new rate, the new delay, the new channel, the new limit of the queue
//! in order       nobody arrives before those that departed ahead of the handover
//! ```
//!
//! The packet in transmission goes through at the old rate. A bunch that is lost was no full queue's: its cause is the
//! radio.
//!
//! A bunch is *copied* where the old station forwards what it holds and the new one was fed the same: all of it is sent, then all
//! of it again in the same order, then what came later. Of n that wait, with b = max(at + pause, end of the transmission under way),
//! bytes s and the new rate r:
//!
//! ```text
//! departs        packet k at b + 8/r·(s_1 + … + s_k), its copy 8/r·(s_1 + … + s_n) later
//! ```
//!
//! - There were two buffers, so copies need no room: they are put in beyond the limit, and who comes finds no room until what waits is
//!   within it again. (A queue where others make room, FQ-CoDel, is cut back to its limit then. It has the order in each flow.)
//! - Copies come to the link at the handover. What was marked or damaged on its way into the queue is so twice.
//! - A link copies no packet twice, however soon the next handover is, so that a queue at most doubles.
//! - Of a packet and its copy, the first that gets through *is* the packet, and the other the copy. The packet is lost if neither does.

use whyloss::{Duration, Rate, Time};

use crate::channel::ChannelSpec;
use crate::queue::Limit;

/// What a scenario says about a handover.
#[derive(Clone, Debug, PartialEq)]
pub struct Handover {
    /// When it is.
    pub at: Time,
    /// How long nothing is sent.
    pub pause: Duration,
    /// The rate afterwards; `None`: as before.
    pub rate: Option<Rate>,
    /// The delay afterwards; `None`: as before.
    pub delay: Option<Duration>,
    /// The channel afterwards, which starts in equilibrium; `None`: as before.
    pub channel: Option<ChannelSpec>,
    /// How much may wait afterwards; what waits already stays. `None`: as before.
    pub limit: Option<Limit>,
    /// What becomes of what waits.
    pub waiting: Backlog,
    /// Whether what departs afterwards waits at the far end for what departed before.
    pub in_order: bool,
}

/// What becomes of what waits at a handover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backlog {
    /// The new link sends it.
    #[default]
    Kept,
    /// It is lost.
    Lost,
    /// The new link sends it, and then once more.
    Copied,
}
