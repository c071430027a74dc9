//! The packets in transit over a link to a stop, or parked there, in the order of their arrivals.
//!
//! There are many, so they are [parcels](Parcel) in a ring, which grows by a quarter when it is
//! full.

use whyloss::Time;

use super::hops::Hop;
use super::network::Network;
use super::parcel::Parcel;
use super::prefetch::prefetch;

/// A first-in, first-out ring of parcels.
#[derive(Debug, Default)]
pub(crate) struct Transit {
    ring: Vec<Parcel>,
    /// The index of the first parcel.
    head: u32,
    len: u32,
}

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl Transit {
    /// Returns whether no packet is in transit.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of packets in transit.
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns whether the ring must [grow](Self::grow) before a parcel is added.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.len as usize == self.ring.len()
    }

    /// Adds a parcel that is not due before any other. There must be room for it.
    #[inline(always)]
    pub(crate) fn push(&mut self, parcel: Parcel) {
        let mut end = self.head as usize + self.len as usize;
        if end >= self.ring.len() {
            end -= self.ring.len();
        }
        self.ring[end] = parcel;
        self.len += 1;
    }

    /// Returns the first parcel.
    #[inline]
    pub(crate) fn first(&self) -> Option<&Parcel> {
        if self.len == 0 {
            return None;
        }
        self.ring.get(self.head as usize)
    }

    /// Prefetches the first parcel.
    #[inline]
    pub(crate) fn prefetch(&self) {
        self.first().map(prefetch);
    }

    /// Removes and returns the first parcel, with the due time of the next.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<(Parcel, Option<Time>)> {
        let parcel = *self.first()?;
        self.head += 1;
        if self.head as usize == self.ring.len() {
            self.head = 0;
        }
        self.len -= 1;
        Some((parcel, self.first().map(|next| next.due)))
    }

    /// Returns the number of packets for which there is room.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// Makes room for a quarter more parcels, at least four and at most `most`, and subtracts them
    /// from `most`. Returns whether there is more room: memory may also be exhausted.
    #[cold]
    #[inline(never)]
    pub(crate) fn grow(&mut self, most: &mut u64) -> bool {
        self.ring.rotate_left(self.head as usize);
        self.head = 0;
        let more = (self.ring.len() / 4).max(4);
        let more = more.min(usize::try_from(*most).unwrap_or(usize::MAX));
        let more = more.min(u32::MAX as usize - self.ring.len());
        if more == 0 || self.ring.try_reserve_exact(more).is_err() {
            return false;
        }
        self.ring.resize(self.ring.len() + more, Parcel::default());
        *most -= more as u64;
        true
    }
}

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl Network {
    /// Puts a packet in transit over a link. Sets the link's event if it is the first there.
    #[inline(always)]
    pub(super) fn put(&mut self, link: usize, parcel: Parcel) {
        if self.transits[link].is_empty() {
            self.events.push(link, parcel.due);
        }
        self.put_silently(link, parcel);
    }

    /// Puts a packet like [`Self::put`], but sets no event.
    #[inline(always)]
    pub(super) fn put_silently(&mut self, link: usize, parcel: Parcel) {
        let transit = &mut self.transits[link];
        if transit.is_full() && !transit.grow(&mut self.room) {
            return self.end_at_limit(link);
        }
        transit.push(parcel);
    }

    /// Parks a packet that is [at its source](super::send::Sent::AtSource) ahead of time until it
    /// is due.
    #[cold]
    #[inline(never)]
    pub(crate) fn park(&mut self, parcel: Parcel) {
        self.put(self.table.link_before(parcel.hop), parcel);
    }

    /// Removes and returns the packet that is due at the end of a link, with its hop.
    ///
    /// Sets the link's event for the next packet. At a fused source, `Ends::hear_parked` does so
    /// instead, because the source may foresee the next packets, and then they leave the ring
    /// without an event.
    #[inline(always)]
    pub(crate) fn take_due(&mut self, now: Time, link: usize) -> Option<(Parcel, Hop)> {
        let transit = &mut self.transits[link];
        if transit.first()?.due != now {
            return None;
        }
        let (parcel, next) = transit.pop()?;
        let hop = self.table.hops[parcel.hop as usize];
        if hop != Hop::FUSED_SOURCE
            && let Some(due) = next
        {
            self.events.push_next(link, due);
        }
        Some((parcel, hop))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// After any operations, the ring equals the standard library's queue.
        #[test]
        fn agrees_with_a_queue(pushes in prop::collection::vec(prop::bool::weighted(0.55), 0..300)) {
            let (mut transit, mut naive) = (Transit::default(), VecDeque::new());
            for (at, push) in (0..).zip(pushes) {
                let due = Time::from_nanos(at);
                if push {
                    if transit.is_full() {
                        let mut most = u64::MAX;
                        let grown = transit.grow(&mut most);
                        prop_assert!(grown);
                    }
                    transit.push(Parcel { due, ..Parcel::default() });
                    naive.push_back(due);
                } else {
                    let popped = transit.pop().map(|(parcel, next)| (parcel.due, next));
                    let expected = naive.pop_front().map(|due| (due, naive.front().copied()));
                    prop_assert_eq!(popped, expected);
                }
                prop_assert_eq!(transit.is_empty(), naive.is_empty());
            }
        }
    }
}
