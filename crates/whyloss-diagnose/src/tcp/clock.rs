//! Estimates the clock behind a sender's timestamps: the length of its tick, and the time of each
//! stamp.

use whyloss::Time;

use crate::stamps::Stamps;

/// The ticks of known TCP stacks, in ns.
const TICKS: [u64; 6] = [1_000, 10_000, 100_000, 1_000_000, 4_000_000, 10_000_000];
/// The largest relative distance of the measured tick from a known one.
const TOLERANCE: f64 = 0.12;
/// The shortest measurement, in ns and in ticks.
const SPAN: u64 = 300_000_000;
const LEAST: u64 = 8;

/// The tick and offset of a clock, estimated from its stamps.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    stamps: Stamps,
    tick: Option<u64>,
}

impl Clock {
    /// Reads the stamp of a packet that passes at `at` ns. Returns the packet's departure on the
    /// sender's clock, and the relative delay in µs.
    pub(super) fn read(&mut self, at: u64, stamp: u32) -> Option<(Time, u32)> {
        let (elapsed, ticks) = self.stamps.pass(at, stamp);
        let tick = if let Some(tick) = self.tick {
            tick
        } else {
            if elapsed < SPAN || ticks < LEAST as i64 {
                return None;
            }
            let measured = elapsed as f64 / ticks as f64;
            let near = |&tick: &u64| (measured / tick as f64 - 1.0).abs() <= TOLERANCE;
            *self.tick.insert(TICKS.into_iter().find(near)?)
        };
        let sent = ticks.saturating_mul(tick as i64);
        Some(self.stamps.set(elapsed, sent))
    }

    /// Returns the tick in ns; `None` until it is known.
    pub(super) fn tick(&self) -> Option<u64> {
        self.tick
    }

    /// Returns the smallest relative delay in µs, that of the first packet included.
    pub(super) fn least(&self) -> Option<i64> {
        self.stamps.least()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stamps::FIRST;

    #[test]
    fn a_clock_of_milliseconds_is_recognised() {
        let mut clock = Clock::default();
        let mut last = None;
        for k in 0..100_u64 {
            last = clock.read(k * 10_000_000 + 3_000_000, (k * 10) as u32);
        }
        assert_eq!(clock.tick(), Some(1_000_000));
        assert_eq!(last.map(|(_, delay)| delay), Some(FIRST as u32));
        let late = clock.read(1_000_000_000 + 8_000_000, 1000);
        assert_eq!(late.map(|(_, delay)| delay), Some(FIRST as u32 + 5000));
    }

    /// A queue builds up before the tick is known, and stays.
    #[test]
    fn the_least_delay_is_that_of_the_first_packet() {
        let mut clock = Clock::default();
        for k in 0..300_u64 {
            let queueing = (k * 10).min(200);
            clock.read((k * 10 + queueing) * 1_000_000, (k * 10) as u32);
        }
        assert_eq!(clock.least(), Some(FIRST - 200_000));
    }
}
