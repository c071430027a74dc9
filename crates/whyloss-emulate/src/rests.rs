//! Pauses between turns that follow each other closely.
//!
//! Sleeping until the next packet and waking up costs many times more than moving a packet.
//! Therefore a thread with frequent turns rests for a moment between them and then takes all
//! packets that have arrived, as network cards moderate interrupts. When many packets leave in a
//! turn, the next rest is longer. No rest follows a turn that left packets for the next one, because
//! a device drops those that find its queue full. Turns that are further apart have no rests, and
//! packets leave at their times.

use std::thread;
use std::time::Duration;

use crate::clock::monotonic;

/// The length of a rest in nanoseconds. Packets may leave, or be taken, up to this much later.
const REST: u64 = 100_000;
/// The length of a rest after a turn in which many packets left, in nanoseconds.
const LONG: u64 = 300_000;
/// The number of packets from which a turn has many.
const MANY: usize = 8;
/// The minimum number of closely spaced turns that count as crowded.
const CROWD: u32 = 16;

/// The time of the last turn, and how crowded turns are.
#[derive(Debug, Default)]
pub(crate) struct Rests {
    last: u64,
    /// The measure of crowding. It grows with each turn that closely follows another, and shrinks
    /// faster with other turns.
    crowd: u32,
    /// The number of packets that have left in the turn, if the caller counts them.
    pub(crate) left: usize,
    /// Whether the turn took as many packets as a turn takes, so that more may wait.
    pub(crate) more: bool,
}

impl Rests {
    /// Begins a turn, after a rest if turns are crowded.
    pub(crate) fn begin_turn(&mut self) {
        let mut now = monotonic();
        // The shortest sleep of Windows is longer than a rest.
        if let Some(rest) = self.rest(now).filter(|_| !cfg!(windows)) {
            thread::sleep(Duration::from_nanos(rest));
            now = monotonic();
        }
        self.last = now;
        self.left = 0;
        self.more = false;
    }

    /// Returns whether turns are crowded.
    pub(crate) fn crowd(&self) -> bool {
        self.crowd >= CROWD
    }

    /// Returns how long to rest at this time before the next turn.
    fn rest(&mut self, now: u64) -> Option<u64> {
        let since = now.saturating_sub(self.last);
        self.crowd = if since < 2 * REST {
            (self.crowd + 1).min(2 * CROWD)
        } else {
            self.crowd.saturating_sub(CROWD / 2)
        };
        let rest = if self.left < MANY { REST } else { LONG };
        (self.crowd() && since < rest && !self.more).then(|| rest - since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_packets_make_rests_longer() {
        let mut turns = Rests::default();
        rests(&mut turns, 10_000, CROWD);
        for (left, rest) in [(MANY - 1, REST), (MANY, LONG)] {
            turns.left = left;
            assert_eq!(turns.rest(turns.last + 10_000), Some(rest - 10_000));
        }
        turns.more = true;
        assert_eq!(turns.rest(turns.last + 10_000), None);
    }

    /// Runs `turns` turns `gap` ns apart, and returns the number of turns that rested.
    fn rests(rests: &mut Rests, gap: u64, turns: u32) -> u32 {
        let mut rested = 0;
        for _ in 0..turns {
            let now = rests.last + gap;
            let rest = rests.rest(now);
            rested += u32::from(rest.is_some());
            rests.last = now + rest.unwrap_or(0);
        }
        rested
    }

    #[test]
    fn only_turns_that_crowd_have_rests() {
        let mut turns = Rests::default();
        assert_eq!(rests(&mut turns, 1_000_000, 100), 0);
        // A few packets in a row do not count as crowded turns, so they cause no rest.
        assert_eq!(rests(&mut turns, 10_000, CROWD - 1), 0);
        assert_eq!(rests(&mut turns, 10_000, 1_000), 1_000);
        assert_eq!(rests(&mut turns, 2 * REST, 4), 0);
        assert_eq!(rests(&mut turns, 10_000, 1), 0);
    }
}
