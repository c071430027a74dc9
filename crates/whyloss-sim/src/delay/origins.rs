//! When each segment of a TCP flow left first, until it arrives.

use std::collections::VecDeque;

use whyloss::Time;

/// Takes the place of the departure of a segment that has arrived.
const ARRIVED: Time = Time::MAX;

/// The first departures of all segments from the first one on that has not arrived: no more than the sender's window.
/// Segments leave for the first time in the order of their numbers, from 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins {
    first: u64,
    departures: VecDeque<Time>,
}

impl Origins {
    /// A segment was seen on its way, having left at `sent`. It counts when it is seen for the first time.
    #[inline]
    pub(crate) fn left(&mut self, sequence: u64, sent: Time) {
        if sequence == self.first + self.departures.len() as u64 {
            self.departures.push_back(sent);
        }
    }

    /// A segment arrived: when it left first, unless it has arrived before.
    #[inline]
    pub(crate) fn arrived(&mut self, sequence: u64) -> Option<Time> {
        let index = sequence.checked_sub(self.first)? as usize;
        let departure = self.departures.get_mut(index)?;
        let origin = std::mem::replace(departure, ARRIVED);
        while self
            .departures
            .pop_front_if(|departure| *departure == ARRIVED)
            .is_some()
        {
            self.first += 1;
        }
        (origin != ARRIVED).then_some(origin)
    }

    /// All segments before this one have arrived.
    pub(crate) fn next(&self) -> u64 {
        self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_departure_and_the_first_arrival_count() {
        let at = Time::from_nanos;
        let mut origins = Origins::default();
        for sequence in 0..4 {
            origins.left(sequence, at(10 + sequence));
        }
        // Seen again on the next link, and sent again.
        origins.left(3, at(13));
        origins.left(1, at(90));
        assert_eq!(origins.arrived(0), Some(at(10)));
        assert_eq!(origins.arrived(2), Some(at(12)));
        assert_eq!((origins.first, origins.departures.len()), (1, 3));
        assert_eq!(origins.arrived(1), Some(at(11)));
        assert_eq!((origins.first, origins.departures.len()), (3, 1));
        assert_eq!(origins.arrived(1), None, "another copy");
        assert_eq!(origins.arrived(2), None, "another copy");
        assert_eq!(origins.arrived(7), None, "never seen to leave");
        assert_eq!(origins.arrived(3), Some(at(13)));
        assert_eq!(origins.first, 4);
    }
}
