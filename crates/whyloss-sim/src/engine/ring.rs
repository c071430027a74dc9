//! A first-in, first-out ring of parcels.
//!
//! There are many parcels, so a ring grows by only a quarter when it is full.

use whyloss::Time;

use super::parcel::Parcel;

/// The ring.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    places: Vec<Parcel>,
    /// The index of the first parcel.
    head: u32,
    len: u32,
}

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl Ring {
    /// Returns whether the ring is empty.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of parcels.
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns whether the ring must [grow](Self::grow) before a parcel is added.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.len as usize == self.places.len()
    }

    /// Adds a parcel that is not due before any other. There must be room for it.
    #[inline(always)]
    pub(crate) fn push(&mut self, parcel: Parcel) {
        let mut end = self.head as usize + self.len as usize;
        if end >= self.places.len() {
            end -= self.places.len();
        }
        self.places[end] = parcel;
        self.len += 1;
    }

    /// Returns the first parcel.
    #[inline]
    pub(crate) fn first(&self) -> Option<&Parcel> {
        if self.len == 0 {
            return None;
        }
        self.places.get(self.head as usize)
    }

    /// Removes and returns the first parcel, with the due time of the next.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<(Parcel, Option<Time>)> {
        let parcel = *self.first()?;
        self.head += 1;
        if self.head as usize == self.places.len() {
            self.head = 0;
        }
        self.len -= 1;
        Some((parcel, self.first().map(|next| next.due)))
    }

    /// Returns the number of parcels for which there is room.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.places.capacity()
    }

    /// Makes room for a quarter more parcels, at least four and at most `most`, and subtracts them
    /// from `most`. Returns whether there is more room: memory may also be exhausted.
    #[cold]
    #[inline(never)]
    pub(crate) fn grow(&mut self, most: &mut u64) -> bool {
        self.places.rotate_left(self.head as usize);
        self.head = 0;
        let more = (self.places.len() / 4).max(4);
        let more = more.min(usize::try_from(*most).unwrap_or(usize::MAX));
        let more = more.min(u32::MAX as usize - self.places.len());
        if more == 0 || self.places.try_reserve_exact(more).is_err() {
            return false;
        }
        self.places
            .resize(self.places.len() + more, Parcel::default());
        *most -= more as u64;
        true
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
            let (mut ring, mut naive) = (Ring::default(), VecDeque::new());
            for (at, push) in (0..).zip(pushes) {
                let due = Time::from_nanos(at);
                if push {
                    if ring.is_full() {
                        let mut most = u64::MAX;
                        let grown = ring.grow(&mut most);
                        prop_assert!(grown);
                    }
                    ring.push(Parcel { due, ..Parcel::default() });
                    naive.push_back(due);
                } else {
                    let popped = ring.pop().map(|(parcel, next)| (parcel.due, next));
                    let expected = naive.pop_front().map(|due| (due, naive.front().copied()));
                    prop_assert_eq!(popped, expected);
                }
                prop_assert_eq!(ring.is_empty(), naive.is_empty());
            }
        }
    }
}
