//! A handover: changes the rate, delay, channel and queue limit of a link at one time, after a
//! pause.
//!
//! ```text
//! at             waiting packets are sent by the new link, are lost in one bunch, or are sent twice
//! at … + pause   no transmission starts; arriving packets wait
//! afterwards     the new rate, the new delay, the new channel, the new limit of the queue
//! in order       no packet arrives before one that departed ahead of the handover
//! ```
//!
//! The packet in transmission finishes at the old rate. A lost backlog counts as a wireless loss,
//! because no full queue caused it.
//!
//! The backlog is *copied* if the old station forwards packets that the new station has also
//! received. The link sends the backlog, then the backlog again in the same order, then later
//! packets. With n waiting packets of sizes s, the new rate r, and b = max(at + pause, end of the
//! current transmission):
//!
//! ```text
//! departs        packet k at b + 8/r·(s_1 + … + s_k), its copy 8/r·(s_1 + … + s_n) later
//! ```
//!
//! - Copies need no room, because two stations buffered the packets. New packets find no room until
//!   the backlog is within the limit again. FQ-CoDel instead drops waiting packets until it is
//!   within the limit; its order holds within each flow.
//! - Copies arrive at the link at the handover. A packet that was marked or damaged before it
//!   entered the queue has a marked or damaged copy.
//! - A link never copies a packet twice, even if the next handover comes soon. A queue therefore at
//!   most doubles.
//! - Of a packet and its copy, the first to arrive counts as the packet and the other as the copy.
//!   The packet is lost if neither arrives.

use whyloss::{Duration, Rate, Time};

use crate::channel::ChannelSpec;
use crate::queue::Limit;

/// Describes a handover: the changes of a link at a given time.
#[derive(Clone, Debug, PartialEq)]
pub struct Handover {
    /// The time of the handover.
    pub at: Time,
    /// The time after `at` during which the link sends nothing.
    pub pause: Duration,
    /// The new rate; `None` keeps the old one.
    pub rate: Option<Rate>,
    /// The new delay; `None` keeps the old one.
    pub delay: Option<Duration>,
    /// The new channel, which starts in equilibrium; `None` keeps the old one.
    pub channel: Option<ChannelSpec>,
    /// The new queue limit; `None` keeps the old one. Packets that already wait are not dropped.
    pub limit: Option<Limit>,
    /// The fate of the packets that wait.
    pub waiting: Backlog,
    /// Whether packets sent after the handover wait at the far end for those sent before it.
    pub in_order: bool,
}

/// The fate of the packets that wait at a handover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backlog {
    /// The new link sends the packets.
    #[default]
    Kept,
    /// The packets are lost.
    Lost,
    /// The new link sends all waiting packets, and then all of them again.
    Copied,
}
