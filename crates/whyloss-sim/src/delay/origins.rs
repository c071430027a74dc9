//! The time of the first departure of each segment of a TCP flow, kept until the segment arrives.

use whyloss::Time;

use crate::host::tcp::Segment;
use crate::prefetch::prefetch;

/// The first departures of all segments from the first one that has not arrived, at most a window.
/// Segments first leave in the order of their numbers. If an observer sees only part of a run,
/// segments whose departure it missed have none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins {
    /// One past the highest segment that has arrived.
    beyond: u64,
    /// The lowest segment that may still be looked up.
    floor: u64,
    /// The departures; segment s is at s modulo the length, a power of two.
    departures: Box<[Departure]>,
    /// The number of segments below `beyond` that are [missing](Departure).
    missing: u32,
}

/// When a segment left, and a bit that says whether a later segment has overtaken it.
#[derive(Clone, Copy, Debug, Default)]
struct Departure(u64);

impl Departure {
    const MISSING: u64 = 1 << 63;

    fn is_missing(self) -> bool {
        self.0 & Self::MISSING != 0
    }

    fn time(self) -> Time {
        Time::from_nanos(self.0 & !Self::MISSING)
    }
}

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl Origins {
    /// Prefetches the departures.
    #[inline]
    pub(crate) fn prefetch(&self) {
        self.departures.first().map(prefetch);
    }

    /// Records the departure of a segment at `sent`. Only its first departure counts.
    #[inline(always)]
    pub(crate) fn left(&mut self, segment: &Segment, sent: Time) {
        if !segment.retransmission {
            if segment.sequence.wrapping_sub(self.floor) >= self.departures.len() as u64 {
                self.make_room(segment.sequence);
            }
            let place = self.place(segment.sequence);
            self.departures[place] = Departure(sent.as_nanos());
        }
    }

    /// Records the arrival of a segment that left at `sent`. Returns the time of its first
    /// departure, unless it has arrived before.
    #[inline(always)]
    pub(crate) fn arrived(&mut self, segment: &Segment, sent: Time) -> Option<Time> {
        if segment.sequence != self.beyond || segment.retransmission {
            return self.arrived_in_disorder(segment.sequence);
        }
        self.beyond += 1;
        Some(sent)
    }

    /// Handles a segment that is not the next one, or is a retransmission.
    #[cold]
    #[inline(never)]
    fn arrived_in_disorder(&mut self, sequence: u64) -> Option<Time> {
        if self.departures.is_empty() {
            self.beyond = self.beyond.max(sequence + 1);
            return None;
        }
        let place = self.place(sequence);
        if sequence >= self.beyond {
            for missing in self.beyond..sequence {
                let place = self.place(missing);
                self.departures[place].0 |= Departure::MISSING;
            }
            self.missing += (sequence - self.beyond) as u32;
            self.beyond = sequence + 1;
        } else if sequence < self.floor || !self.departures[place].is_missing() {
            return None;
        } else {
            self.departures[place].0 &= !Departure::MISSING;
            self.missing -= 1;
        }
        Some(self.departures[place].time())
    }

    /// Returns the first segment that has not arrived.
    pub(crate) fn next(&self) -> u64 {
        if self.missing == 0 {
            return self.beyond;
        }
        let mut below = self.floor..self.beyond;
        let first = below.find(|&sequence| self.departures[self.place(sequence)].is_missing());
        first.unwrap_or(self.beyond)
    }

    #[inline]
    fn place(&self, sequence: u64) -> usize {
        sequence as usize & self.departures.len().wrapping_sub(1)
    }

    /// Makes room for the next segment's departure. If needed, doubles the number of departures.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, sequence: u64) {
        let next = self.next();
        if self.departures.is_empty() || sequence < next {
            // The first departure seen, or the first of another connection.
            *self = Self {
                beyond: sequence,
                floor: sequence,
                ..Self::default()
            };
        } else {
            self.floor = next;
        }
        let wanted = 2 * (sequence - self.floor).max(2);
        if wanted <= self.departures.len() as u64 {
            return;
        }
        let departures = vec![Departure::default(); wanted.next_power_of_two() as usize].into();
        let old = std::mem::replace(&mut self.departures, departures);
        for sequence in self.floor..sequence {
            let place = self.place(sequence);
            self.departures[place] = old[sequence as usize & (old.len() - 1)];
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn segment(sequence: u64, stamp: Time, retransmission: bool) -> Segment {
        Segment {
            sequence,
            stamp,
            retransmission,
        }
    }

    #[test]
    fn the_first_departure_and_the_first_arrival_count() {
        let at = Time::from_nanos;
        let mut origins = Origins::default();
        for sequence in 0..4 {
            let first = at(10 + sequence);
            origins.left(&segment(sequence, first, false), first);
        }
        origins.left(&segment(1, at(90), true), at(90));
        let mut arrived =
            |sequence, sent, again| origins.arrived(&segment(sequence, at(sent), again), at(sent));
        assert_eq!(arrived(0, 10, false), Some(at(10)));
        assert_eq!(arrived(2, 12, false), Some(at(12)));
        assert_eq!(arrived(1, 90, true), Some(at(11)));
        assert_eq!(arrived(1, 11, false), None, "another copy");
        assert_eq!(arrived(2, 12, false), None, "another copy");
        assert_eq!(arrived(3, 13, false), Some(at(13)));
        assert_eq!(origins.next(), 4);
    }

    /// A watch that begins in the middle of a run has no earlier segments and stores at most one
    /// window.
    #[test]
    fn part_of_a_run_is_no_trouble() {
        let at = Time::from_nanos;
        let mut origins = Origins::default();
        let seen = |origins: &mut Origins, number, again| {
            origins.arrived(&segment(number, at(1), again), at(1))
        };
        assert_eq!(seen(&mut origins, 1 << 40, false), None);
        assert_eq!(seen(&mut origins, (1 << 40) - 3, true), None);
        let next = (1 << 40) + 9;
        origins.left(&segment(next, at(2), false), at(2));
        assert_eq!(seen(&mut origins, next - 2, false), None);
        assert_eq!(
            origins.arrived(&segment(next, at(2), false), at(2)),
            Some(at(2))
        );
        // A segment of another connection.
        origins.left(&segment(5, at(3), false), at(3));
        assert_eq!(
            origins.arrived(&segment(5, at(9), true), at(9)),
            Some(at(3))
        );
        assert!(origins.missing == 0 && origins.departures.len() <= 4);
    }

    proptest! {
        /// In any order of events, the times equal those of a map of all first departures.
        #[test]
        fn agrees_with_a_map(steps in prop::collection::vec((0u64..12, 0u8..6), 0..400)) {
            let (mut origins, mut naive) = (Origins::default(), BTreeMap::new());
            let (mut next, mut first) = (0, 0);
            for (time, (step, kind)) in (0..).zip(steps) {
                let at = Time::from_nanos(time);
                let number = first + step;
                if kind < 3 {
                    origins.left(&segment(next, at, false), at);
                    naive.insert(next, at);
                    next += 1;
                } else if number < next {
                    // The first copy arrives, or one that was sent again.
                    let origin = naive.remove(&number);
                    let again = kind == 3 || origin.is_none();
                    let sent = origin.filter(|_| !again).unwrap_or(at);
                    if again {
                        origins.left(&segment(number, sent, true), sent);
                    }
                    prop_assert_eq!(origins.arrived(&segment(number, sent, again), sent), origin);
                }
                first = naive.keys().next().copied().unwrap_or(next);
                prop_assert!(origins.next() <= first);
            }
        }
    }
}
