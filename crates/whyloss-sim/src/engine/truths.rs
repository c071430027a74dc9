//! The true causes of losses that were computed ahead of time.
//!
//! As in the plain engine, a source's judge learns of a loss when the packet reaches the link that
//! loses it, because a verdict may be asked for before. Until then, the cause waits here.

use std::collections::BTreeMap;

use whyloss::{Cause, Time};

/// The cause of a packet's loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Truth {
    pub(crate) flow: u32,
    pub(crate) sequence: u64,
    pub(crate) cause: Cause,
}

/// The causes by the time at which they may be reported, the link at whose end that is, and their
/// order.
#[derive(Debug)]
pub(crate) struct Truths {
    waiting: BTreeMap<(Time, usize, u64), Truth>,
    /// The earliest time at which a cause may be reported.
    next: Time,
    added: u64,
}

impl Default for Truths {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            next: Time::MAX,
            added: 0,
        }
    }
}

impl Truths {
    /// Adds a cause that may be reported at the end of link `link` at `at`.
    pub(crate) fn add(&mut self, at: Time, link: usize, truth: Truth) {
        self.waiting.insert((at, link, self.added), truth);
        self.next = self.next.min(at);
        self.added += 1;
    }

    /// Removes and returns the first cause that may be reported at the end of this link at `now`.
    #[inline]
    pub(crate) fn take(&mut self, now: Time, link: usize) -> Option<Truth> {
        // Gates and turns ask at each of their events.
        if now < self.next {
            return None;
        }
        self.search(now, link)
    }

    fn search(&mut self, now: Time, link: usize) -> Option<Truth> {
        let key = self.waiting.range((now, link, 0)..=(now, link, u64::MAX));
        let key = *key.map(|(key, _)| key).next()?;
        let truth = self.waiting.remove(&key);
        let first = self.waiting.first_key_value();
        self.next = first.map_or(Time::MAX, |(key, _)| key.0);
        truth
    }

    /// Returns the number of causes that wait at link `link`.
    pub(crate) fn len(&self, link: usize) -> usize {
        self.waiting.keys().filter(|key| key.1 == link).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_told_once_where_and_when_it_belongs() {
        let truth = |sequence| Truth {
            flow: 1,
            sequence,
            cause: Cause::Wireless,
        };
        let [early, late] = [1, 2].map(Time::from_nanos);
        let mut truths = Truths::default();
        for (at, link, sequence) in [(late, 0, 1), (early, 0, 2), (early, 1, 3), (early, 0, 4)] {
            truths.add(at, link, truth(sequence));
        }
        assert_eq!(truths.len(0), 3);
        assert_eq!(truths.take(early, 0), Some(truth(2)));
        assert_eq!(truths.take(early, 0), Some(truth(4)));
        assert_eq!(truths.take(early, 0), None);
        assert_eq!(truths.take(late, 1), None);
        assert_eq!(truths.take(late, 0), Some(truth(1)));
        assert_eq!(truths.len(1), 1);
    }
}
