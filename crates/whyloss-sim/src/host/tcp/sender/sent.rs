//! The time of each outstanding segment's last departure, and its number of departures, for
//! algorithms that need them (Vegas).
//!
//! One entry per segment of the window, in a ring; nothing is allocated once the ring has held the
//! largest window.

use std::collections::VecDeque;

use whyloss::{Duration, Time};

/// The departures of one segment: the last one's time, and their count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Departures {
    pub(super) last: Time,
    pub(super) count: u32,
}

/// The departures of all outstanding segments.
#[derive(Clone, Debug, Default)]
pub(super) struct SentLog {
    /// The first segment that is not acknowledged.
    first: u64,
    departures: VecDeque<Departures>,
}

impl SentLog {
    /// Records that a segment leaves: an outstanding one, or the next new one.
    pub(super) fn leave(&mut self, sequence: u64, now: Time) {
        let index = sequence.saturating_sub(self.first) as usize;
        if let Some(departures) = self.departures.get_mut(index) {
            departures.last = now;
            departures.count = departures.count.saturating_add(1);
        } else {
            let new = Departures {
                last: now,
                count: 1,
            };
            self.departures.push_back(new);
        }
    }

    /// Returns the departures of a segment, if it is outstanding.
    pub(super) fn of(&self, sequence: u64) -> Option<Departures> {
        let index = sequence.checked_sub(self.first)? as usize;
        self.departures.get(index).copied()
    }

    /// Records that all segments before `next` are acknowledged. Returns the round trip of the last
    /// one, unless it left more than once (Karn's rule).
    pub(super) fn acknowledge(&mut self, now: Time, next: u64) -> Option<Duration> {
        let last = next.checked_sub(1).and_then(|last| self.of(last));
        let count = next.saturating_sub(self.first) as usize;
        self.departures.drain(..count.min(self.departures.len()));
        self.first = self.first.max(next);
        last.filter(|departures| departures.count == 1)
            .map(|departures| now - departures.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn departures_are_counted_until_the_acknowledgement() {
        let mut log = SentLog::default();
        for sequence in 0..4 {
            log.leave(sequence, ms(sequence));
        }
        log.leave(1, ms(10));
        let twice = Departures {
            last: ms(10),
            count: 2,
        };
        assert_eq!(log.of(1), Some(twice));
        assert_eq!(log.of(4), None);
        // Segment 1 left twice, segment 2 once.
        assert_eq!(log.acknowledge(ms(20), 2), None);
        assert_eq!(log.of(1), None);
        assert_eq!(log.acknowledge(ms(22), 3), Some(Duration::from_millis(20)));
        log.leave(4, ms(23));
        assert_eq!(log.of(4).map(|departures| departures.count), Some(1));
        assert_eq!(log.acknowledge(ms(30), 3), None, "nothing new");
    }
}
