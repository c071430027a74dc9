//! A link at work, with its counts. Both engines use it.

use whyloss::{Cause, Time};
use whyloss_link::{Ecn, Fate, Link, Streams};

use super::busy::Busy;
use crate::measure::{LinkResult, Window};
use crate::scenario::Connection;

/// A link and its counts. `T` is a packet as the engine carries it.
#[derive(Debug)]
pub(super) struct Wire<T> {
    /// The FIFO link. If the wire is busy, this gives every packet [`Fate::Held`].
    pub(super) link: Link,
    /// The event-driven link that replaces `link` if fates are not known on arrival.
    pub(super) busy: Option<Box<Busy<T>>>,
    pub(super) count: LinkResult,
}

/// The offer of a packet to a link.
#[derive(Clone, Copy)]
pub(super) struct Offer {
    pub(super) link: usize,
    pub(super) at: Time,
    /// The number of packets that waited then, if an observer needs it.
    pub(super) waiting: usize,
}

/// The decision of a link about a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decision {
    pub(super) fate: Fate,
    /// Whether the link marked the packet, which arrives.
    pub(super) marked: bool,
    /// Whether the packet took the link's time.
    pub(super) used_link: bool,
}

impl Decision {
    /// Returns the decision about a packet that is transmitted, without a mark.
    #[inline]
    pub(super) fn sent(fate: Fate) -> Self {
        Self {
            fate,
            marked: false,
            used_link: true,
        }
    }
}

impl<T: Copy> Wire<T> {
    /// Returns link number `index`, which is measured in this window.
    pub(super) fn new(
        connection: &Connection,
        streams: Streams,
        index: usize,
        window: Window,
    ) -> Self {
        Self {
            link: Link::new(&connection.link, streams, index as u64),
            busy: Busy::new(&connection.link, streams, index as u64).map(Box::new),
            count: LinkResult {
                name: connection.name.clone(),
                rate: window.mean_rate(&connection.link),
                ..LinkResult::default()
            },
        }
    }

    /// Returns the link's decision about a packet that it has just given this fate. A queue with
    /// ECN marks an ECN-capable packet instead of dropping it early.
    pub(super) fn decision(&mut self, now: Time, size: u32, ecn: Ecn, fate: Fate) -> Decision {
        let instead = match fate {
            Fate::Lost(..) if ecn.is_capable() => self.link.mark_instead(now, size),
            _ => None,
        };
        let fate = instead.unwrap_or(fate);
        Decision {
            fate,
            marked: instead.is_some() && !matches!(fate, Fate::Lost(..)),
            used_link: fate.when() > now,
        }
    }

    /// Counts a decision about a packet of this size.
    #[inline]
    pub(super) fn record(&mut self, size: u32, decision: Decision, window: Window) {
        let Decision {
            fate,
            marked,
            used_link,
        } = decision;
        if !window.contains(fate.when()) {
            return;
        }
        let count = &mut self.count;
        match fate {
            Fate::Delivered(_) | Fate::Damaged(..) => {
                count.delivered += 1;
                count.delivered_bytes += u64::from(size);
                count.damaged += u64::from(matches!(fate, Fate::Damaged(..)));
                count.marked += u64::from(marked);
            }
            Fate::Lost(cause, _) => {
                count.lost.add(cause);
                // A packet lost on arrival, or by its queue, has not used the link's time.
                if cause == Cause::Wireless && used_link {
                    count.corrupted_bytes += u64::from(size);
                }
            }
            Fate::Held => {}
        }
    }
}
