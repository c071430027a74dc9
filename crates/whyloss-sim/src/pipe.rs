//! A pipe: the packets under way on a link, in the order of their arrival.
//!
//! There are many, so they are [parcels](Parcel) in a ring whose length is a power of two.

use whyloss::Time;

use crate::parcel::Parcel;

/// Parcels, first in, first out.
#[derive(Debug, Default)]
pub(crate) struct Pipe {
    /// As many as a power of two, or none.
    ring: Vec<Parcel>,
    /// The first parcel's place.
    head: usize,
    len: usize,
}

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl Pipe {
    /// Whether no packet is under way.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a parcel that is due no sooner than any before it.
    #[inline(always)]
    pub(crate) fn push(&mut self, parcel: Parcel) {
        if self.len == self.ring.len() {
            self.grow();
        }
        let last = (self.head + self.len) & (self.ring.len() - 1);
        self.ring[last] = parcel;
        self.len += 1;
    }

    /// The first parcel.
    #[inline]
    pub(crate) fn first(&self) -> Option<&Parcel> {
        (self.len > 0).then(|| &self.ring[self.head & (self.ring.len() - 1)])
    }

    /// Takes out the first parcel, and says when the next is due.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<(Parcel, Option<Time>)> {
        if self.len == 0 {
            return None;
        }
        let mask = self.ring.len() - 1;
        let parcel = self.ring[self.head & mask];
        self.head = (self.head + 1) & mask;
        self.len -= 1;
        let next = (self.len > 0).then(|| self.ring[self.head].due);
        Some((parcel, next))
    }

    /// Packets there is room for.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// Makes room for twice as many.
    #[cold]
    fn grow(&mut self) {
        self.ring.rotate_left(self.head);
        self.head = 0;
        let room = (2 * self.ring.len()).max(4);
        self.ring.reserve_exact(room - self.ring.len());
        self.ring.resize(room, Parcel::default());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The naive twin: the standard library's queue.
        #[test]
        fn agrees_with_a_queue(pushes in prop::collection::vec(prop::bool::weighted(0.55), 0..300)) {
            let (mut pipe, mut naive) = (Pipe::default(), VecDeque::new());
            for (at, push) in (0..).zip(pushes) {
                let due = Time::from_nanos(at);
                if push {
                    pipe.push(Parcel { due, ..Parcel::default() });
                    naive.push_back(due);
                } else {
                    let popped = pipe.pop().map(|(parcel, next)| (parcel.due, next));
                    let expected = naive.pop_front().map(|due| (due, naive.front().copied()));
                    prop_assert_eq!(popped, expected);
                }
                prop_assert_eq!(pipe.is_empty(), naive.is_empty());
            }
        }
    }
}
