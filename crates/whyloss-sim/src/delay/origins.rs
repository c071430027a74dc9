//! When each segment of a TCP flow left first, until it arrives.

use whyloss::Time;

/// The first departures of all segments from the first one on that has not arrived: no more than the sender's window.
/// Segments leave for the first time in the order of their numbers, from 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins {
    /// The next segment to leave for the first time.
    next: u64,
    /// One past the highest segment that has arrived.
    beyond: u64,
    /// The segments below that which have not.
    missing: Vec<u64>,
    /// No segment below this one is asked for.
    floor: u64,
    /// The departure of segment s is at s modulo its length, a power of two.
    departures: Vec<Time>,
}

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl Origins {
    /// A segment leaves at `sent`. It counts when it leaves for the first time.
    #[inline(always)]
    pub(crate) fn left(&mut self, sequence: u64, sent: Time) {
        if sequence == self.next {
            if self.next - self.floor >= self.departures.len() as u64 {
                self.make_room();
            }
            let place = self.place(sequence);
            self.departures[place] = sent;
            self.next += 1;
        }
    }

    /// A segment arrived: when it left first, unless it has arrived before.
    #[inline(always)]
    pub(crate) fn arrived(&mut self, sequence: u64) -> Option<Time> {
        if sequence != self.beyond || sequence >= self.next {
            return self.arrived_in_disorder(sequence);
        }
        self.beyond += 1;
        Some(self.departures[self.place(sequence)])
    }

    #[cold]
    #[inline(never)]
    fn arrived_in_disorder(&mut self, sequence: u64) -> Option<Time> {
        if sequence >= self.next {
            return None;
        }
        if sequence >= self.beyond {
            self.missing.extend(self.beyond..sequence);
            self.beyond = sequence + 1;
        } else {
            let place = self.missing.binary_search(&sequence).ok()?;
            self.missing.remove(place);
        }
        Some(self.departures[self.place(sequence)])
    }

    /// All segments before this one have arrived.
    pub(crate) fn next(&self) -> u64 {
        self.missing.first().copied().unwrap_or(self.beyond)
    }

    #[inline]
    fn place(&self, sequence: u64) -> usize {
        sequence as usize & self.departures.len().wrapping_sub(1)
    }

    /// Makes room for at least as many departures as are asked for now.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        self.floor = self.next();
        let wanted = 2 * (self.next - self.floor).max(2);
        if wanted <= self.departures.len() as u64 {
            return;
        }
        let departures = vec![Time::ZERO; wanted.next_power_of_two() as usize];
        let old = std::mem::replace(&mut self.departures, departures);
        for sequence in self.floor..self.next {
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

    #[test]
    fn the_first_departure_and_the_first_arrival_count() {
        let at = Time::from_nanos;
        let mut origins = Origins::default();
        for sequence in 0..4 {
            origins.left(sequence, at(10 + sequence));
        }
        // Sent again.
        origins.left(1, at(90));
        assert_eq!(origins.arrived(0), Some(at(10)));
        assert_eq!(origins.arrived(2), Some(at(12)));
        assert_eq!(origins.next(), 1);
        assert_eq!(origins.arrived(1), Some(at(11)));
        assert_eq!(origins.next(), 3);
        assert_eq!(origins.arrived(1), None, "another copy");
        assert_eq!(origins.arrived(2), None, "another copy");
        assert_eq!(origins.arrived(7), None, "never seen to leave");
        assert_eq!(origins.arrived(3), Some(at(13)));
        assert_eq!(origins.next(), 4);
    }

    proptest! {
        /// The naive twin: all first departures of what has not arrived.
        #[test]
        fn agrees_with_a_map(steps in prop::collection::vec((0u64..12, 0u8..5), 0..400)) {
            let (mut origins, mut naive) = (Origins::default(), BTreeMap::new());
            let (mut next, mut first) = (0, 0);
            for (time, (step, kind)) in (0..).zip(steps) {
                let at = Time::from_nanos(time);
                if kind < 3 {
                    origins.left(next, at);
                    naive.insert(next, at);
                    next += 1;
                } else {
                    let sequence = first + step;
                    prop_assert_eq!(origins.arrived(sequence), naive.remove(&sequence));
                }
                first = naive.keys().next().copied().unwrap_or(next);
                prop_assert!(origins.next() <= first);
            }
        }
    }
}
