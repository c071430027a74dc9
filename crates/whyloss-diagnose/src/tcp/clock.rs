//! The clock behind a sender's time stamps: how long its tick is, and what it says.

use whyloss::{Duration, Time};

/// Ticks that TCPs have, ns.
const TICKS: [u64; 6] = [1_000, 10_000, 100_000, 1_000_000, 4_000_000, 10_000_000];
/// How far the measured tick may be from one of them.
const TOLERANCE: f64 = 0.12;
/// How long it is measured at least, ns, and how many ticks.
const SPAN: u64 = 300_000_000;
const LEAST: u64 = 8;
/// Where the sender's time begins, so that it never gets negative.
const EPOCH: u64 = 1 << 61;
/// What the first relative delay is taken for, µs.
const FIRST: i64 = 50_000;

/// A clock learnt from its stamps.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    first: Option<(u64, u32)>,
    /// Ticks since the first stamp, and the stamp.
    now: (i64, u32),
    tick: Option<u64>,
    offset: Option<i64>,
}

impl Clock {
    /// A stamp passes at `at` ns; answers when it left on the sender's clock, and the relative delay in µs.
    pub(super) fn read(&mut self, at: u64, stamp: u32) -> Option<(Time, u32)> {
        let (first, _) = *self.first.get_or_insert_with(|| {
            self.now = (0, stamp);
            (at, stamp)
        });
        let step = i64::from(stamp.wrapping_sub(self.now.1) as i32);
        let ticks = self.now.0 + step;
        if step > 0 {
            self.now = (ticks, stamp);
        }
        let tick = if let Some(tick) = self.tick {
            tick
        } else {
            let elapsed = at.saturating_sub(first);
            if elapsed < SPAN || ticks < LEAST as i64 {
                return None;
            }
            let measured = elapsed as f64 / ticks as f64;
            let near = |&tick: &u64| (measured / tick as f64 - 1.0).abs() <= TOLERANCE;
            *self.tick.insert(TICKS.into_iter().find(near)?)
        };
        let sent = ticks.saturating_mul(tick as i64);
        let delay = (at.saturating_sub(first) as i64).saturating_sub(sent) / 1000;
        let offset = *self.offset.get_or_insert(FIRST - delay);
        let delay = delay.saturating_add(offset).clamp(0, i64::from(u32::MAX));
        Some((
            Time::from_nanos(EPOCH) + Duration::from_nanos(sent),
            delay as u32,
        ))
    }

    /// The tick, ns, once it is known.
    pub(super) fn tick(&self) -> Option<u64> {
        self.tick
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
