//! Estimates the clock behind RTP timestamps: its rate in ticks per second, and the time of each
//! stamp.

use whyloss::Time;

use crate::stamps::Stamps;

/// The clock rates in use, in ticks per second (RFC 3551, and those that WebRTC offers).
const RATES: [u64; 9] = [
    8_000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 90_000,
];
/// The largest relative distance of the measured rate from a rate in use.
const TOLERANCE: f64 = 0.04;
/// The shortest time of a measurement, in ns.
const SPAN: u64 = 2_000_000_000;

/// The rate and offset of a clock, estimated from its stamps.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    stamps: Stamps,
    rate: Option<u64>,
}

impl Clock {
    /// Reads the stamp of a packet of this payload type that passes at `at` ns. Returns the
    /// packet's departure on the sender's clock, and the relative delay in µs.
    pub(super) fn read(&mut self, at: u64, stamp: u32, payload_type: u8) -> Option<(Time, u32)> {
        let (elapsed, ticks) = self.stamps.pass(at, stamp);
        let rate = match self.rate {
            Some(rate) => rate,
            None => *self
                .rate
                .insert(known(payload_type).or_else(|| measured(elapsed, ticks))?),
        };
        let sent = i128::from(ticks) * 1_000_000_000 / i128::from(rate);
        Some(self.stamps.set(elapsed, i64::try_from(sent).ok()?))
    }

    /// Returns the ticks per second; `None` until they are known.
    pub(super) fn rate(&self) -> Option<u64> {
        self.rate
    }
}

/// Returns the rate of a statically assigned payload type (RFC 3551, section 6).
fn known(payload_type: u8) -> Option<u64> {
    match payload_type {
        0 | 3..=5 | 7..=9 | 12 | 13 | 15 | 18 => Some(8_000),
        6 => Some(16_000),
        10 | 11 => Some(44_100),
        14 | 25 | 26 | 28 | 31..=34 => Some(90_000),
        16 => Some(11_025),
        17 => Some(22_050),
        _ => None,
    }
}

fn measured(elapsed: u64, ticks: i64) -> Option<u64> {
    if elapsed < SPAN || ticks <= 0 {
        return None;
    }
    let measured = ticks as f64 / (elapsed as f64 / 1e9);
    let near = |&rate: &u64| (measured / rate as f64 - 1.0).abs() <= TOLERANCE;
    RATES.into_iter().find(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_recognised() {
        for rate in RATES {
            let mut clock = Clock::default();
            let mut last = None;
            for k in 0..300_u64 {
                // Stamps wrap, and arrivals have a jitter of 10 ms.
                let stamp = (k * 20 * rate / 1000) as u32;
                let at = k * 20_000_000 + k % 3 * 5_000_000;
                last = clock.read(at, stamp.wrapping_sub(1000), 96);
            }
            assert_eq!(clock.rate(), Some(rate));
            assert!(last.is_some());
        }
    }

    #[test]
    fn delay_is_relative_to_the_first() {
        let mut clock = Clock::default();
        let first = clock.read(7_000_000_000, 5, 0).map(|(_, delay)| delay);
        let late = clock.read(7_027_000_000, 165, 0).map(|(_, delay)| delay);
        assert_eq!((first, late), (Some(50_000), Some(57_000)));
    }
}
