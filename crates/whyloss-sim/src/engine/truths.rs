//! The true causes of losses that were computed ahead of time.
//!
//! As in the plain engine, a judge learns of a loss when the packet reaches the link that loses it,
//! because a verdict may be requested earlier. Until then, the cause waits here. Two ends learn of
//! it immediately: the judge of a fused TFRC sink (`shortcuts/sink.rs`), and a source that acts
//! ahead of time and loses a packet at its first link. This source requests no verdict before that
//! time (`transmit.rs`).

use std::collections::BTreeMap;

use whyloss::{Cause, Time};

/// The cause of a packet's loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Truth {
    pub(crate) flow: u32,
    pub(crate) sequence: u64,
    pub(crate) cause: Cause,
}

/// The causes by the time at which they may be reported, the link at whose end they are reported,
/// and their order.
#[derive(Debug, Default)]
pub(crate) struct Truths {
    waiting: BTreeMap<(Time, usize, u64), Truth>,
    added: u64,
}

impl Truths {
    /// Adds a cause that may be reported at the end of link `link` at `at`.
    pub(crate) fn add(&mut self, at: Time, link: usize, truth: Truth) {
        self.waiting.insert((at, link, self.added), truth);
        self.added += 1;
    }

    /// Removes and returns the first cause that may be reported at the end of this link at `now`.
    #[inline]
    pub(crate) fn pop(&mut self, now: Time, link: usize) -> Option<Truth> {
        // Gates and turns call this at each of their events.
        if self.waiting.is_empty() {
            return None;
        }
        self.search(now, link)
    }

    #[inline(never)]
    fn search(&mut self, now: Time, link: usize) -> Option<Truth> {
        let (&key, _) = self.waiting.range((now, link, 0)..).next()?;
        ((key.0, key.1) == (now, link)).then(|| self.waiting.remove(&key))?
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
        assert_eq!(truths.pop(early, 0), Some(truth(2)));
        assert_eq!(truths.pop(early, 0), Some(truth(4)));
        assert_eq!(truths.pop(early, 0), None);
        assert_eq!(truths.pop(late, 1), None);
        assert_eq!(truths.pop(late, 0), Some(truth(1)));
        assert_eq!(truths.len(1), 1);
    }
}
