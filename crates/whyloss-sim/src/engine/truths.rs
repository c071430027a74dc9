//! Losses, and the true causes of those that were computed ahead of time.
//!
//! As in the plain engine, a judge learns of a loss when the packet reaches the link that loses it,
//! because a verdict may be asked for before. Until then, the cause waits here. Two ends learn of
//! it at once: the judge of a fused TFRC sink (`shortcuts/sinks.rs`), and a source that acts ahead
//! of time and loses a packet at its own first link. Its judge is asked nothing before that time
//! (`transmit.rs`).

use std::collections::BTreeMap;

use whyloss::{Cause, Time};

use super::hops::Hop;
use super::network::Network;
use super::parcel::Parcel;
use crate::packet::Packet;

/// The loss of a packet.
#[derive(Clone, Copy)]
pub(crate) struct Loss {
    pub(crate) cause: Cause,
    /// The time of the loss.
    pub(crate) when: Time,
    /// For a loss that was computed ahead of time: the link over which the packet reaches the point
    /// of the loss, and the time of its arrival there.
    pub(crate) later: Option<(usize, Time)>,
}

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
    pub(crate) fn pop(&mut self, now: Time, link: usize) -> Option<Truth> {
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

impl Network {
    /// Returns the loss of a packet that was [sent](Self::send) at `now`.
    pub(crate) fn loss(&self, now: Time, parcel: &Parcel, cause: Cause, when: Time) -> Loss {
        let at = parcel.due;
        let later = (at > now).then(|| (self.table.link_before(parcel.hop), at));
        Loss { cause, when, later }
    }

    /// Returns the loss of a packet that its sink drops at `at`.
    pub(crate) fn dropped(&self, at: Time, packet: &Packet) -> Loss {
        let fused = self.table.hops[packet.hop as usize] == Hop::FUSED_SINK;
        Loss {
            cause: Cause::Wireless,
            when: at,
            later: fused.then(|| (self.table.link_before(packet.hop), at)),
        }
    }

    /// Holds the cause of a loss back until `at`, when the packet reaches the end of a link, and
    /// sets an event of that link.
    pub(crate) fn tell_later(&mut self, link: usize, at: Time, truth: Truth) {
        if self.take_place(link) {
            self.truths.add(at, link, truth);
            self.events.push(link, at);
        }
    }

    /// Takes a cause that may be reported at the end of a link now.
    #[inline]
    pub(crate) fn take_truth(&mut self, link: usize, now: Time) -> Option<Truth> {
        let truth = self.truths.pop(now, link)?;
        self.room += 1;
        Some(truth)
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
