//! A link at work, with its counts. Both engines use it.

use whyloss::Cause;
use whyloss_link::{Fate, Link, Streams};

use super::busy::Busy;
use crate::measure::{LinkResult, Window};
use crate::scenario::Connection;

/// A link and its counts. `T` is a packet as the engine carries it.
#[derive(Debug)]
pub(super) struct Wire<T> {
    /// The link. If it is busy, this one answers every offer with [`Fate::Held`].
    pub(super) link: Link,
    /// The link that replaces it if it cannot decide at once.
    pub(super) busy: Option<Box<Busy<T>>>,
    pub(super) count: LinkResult,
}

impl<T: Copy> Wire<T> {
    /// Returns link number `index`.
    pub(super) fn new(connection: &Connection, streams: Streams, index: usize) -> Self {
        Self {
            link: Link::new(&connection.link, streams, index as u64),
            busy: Busy::new(&connection.link, streams, index as u64).map(Box::new),
            count: LinkResult {
                name: connection.name.clone(),
                rate: connection.link.rate,
                ..LinkResult::default()
            },
        }
    }

    /// Counts the fate of a packet of this size, whether it took the link's time, and whether it
    /// was marked.
    #[inline]
    pub(super) fn record(
        &mut self,
        (size, used_link): (u32, bool),
        (fate, marked): (Fate, bool),
        window: Window,
    ) {
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
