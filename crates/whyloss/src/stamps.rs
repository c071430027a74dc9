//! Converts the short timestamps of protocols, which wrap around, to [`Time`]s.
//!
//! ```text
//! time = (ticks since the epoch)/rate      the epoch is some moment before the first stamp
//! ```
//!
//! A stamp less than half its range before or after the previous one is earlier or later (RFC
//! 1982).

use crate::Time;

/// Converts the short stamps of one sender, which wrap around, to times.
///
/// ```
/// use whyloss::Duration;
/// use whyloss::stamps::StampClock;
///
/// let mut clock = StampClock::rtp(90_000);
/// let before = clock.time(u32::MAX - 44_999);
/// let after = clock.time(45_000);
/// assert_eq!(after - before, Duration::from_secs(1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StampClock {
    mask: u64,
    /// The number of ticks per second.
    rate: u32,
    /// The number of ticks since the epoch at the latest stamp; 0 before the first.
    ticks: u64,
}

impl StampClock {
    /// Creates a clock for stamps of `bits` bits (2 to 32) and `rate` ticks a second, at least 1.
    pub const fn new(bits: u32, rate: u32) -> Self {
        let bits = if bits < 2 {
            2
        } else if bits > 32 {
            32
        } else {
            bits
        };
        Self {
            mask: u64::MAX >> (64 - bits),
            rate: if rate == 0 { 1 } else { rate },
            ticks: 0,
        }
    }

    /// Creates a clock for an RTP stream: 32 bits at the payload's rate (RFC 3550 §5.1). All
    /// packets of a frame share a stamp, so prefer [`abs_send_time`](Self::abs_send_time) if frames
    /// span packets.
    pub const fn rtp(rate: u32) -> Self {
        Self::new(32, rate)
    }

    /// Creates a clock for the RTP header extension abs-send-time: 24 bits, 18 of them a fraction
    /// of a second.
    pub const fn abs_send_time() -> Self {
        Self::new(24, 1 << 18)
    }

    /// Converts a stamp to a time. Bits above the clock's width are ignored.
    pub fn time(&mut self, stamp: u32) -> Time {
        let stamp = u64::from(stamp) & self.mask;
        if self.ticks == 0 {
            // Start one range after the epoch, because the next stamp may be before the first.
            self.ticks = self.mask + 1 + stamp;
        } else {
            let ahead = stamp.wrapping_sub(self.ticks) & self.mask;
            if ahead <= self.mask / 2 {
                self.ticks = self.ticks.saturating_add(ahead);
            } else {
                self.ticks = self.ticks.saturating_sub(self.mask + 1 - ahead).max(1);
            }
        }
        let nanos = u128::from(self.ticks) * 1_000_000_000 / u128::from(self.rate);
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duration;

    #[test]
    fn stamps_go_on_past_the_wrap_around_and_back() {
        let mut clock = StampClock::abs_send_time();
        let start = clock.time((1 << 24) - (1 << 17));
        assert_eq!(clock.time(1 << 17) - start, Duration::from_secs(1));
        assert_eq!(clock.time((1 << 24) - (1 << 17)), start);
        // 64 s pass in steps below half the range.
        let mut now = start;
        for _ in 0..4 {
            for stamp in [1 << 22, 1 << 23, 3 << 22, 0] {
                now = clock.time(stamp);
            }
        }
        assert_eq!(
            now - start,
            Duration::from_millis(3 * 64_000 + 64_000 + 500)
        );
    }

    #[test]
    fn the_first_stamp_may_be_overtaken() {
        let mut clock = StampClock::rtp(8000);
        let second = clock.time(0);
        assert_eq!(
            second - clock.time(u32::MAX - 159),
            Duration::from_millis(20)
        );
    }

    #[test]
    fn odd_clocks_do_no_harm() {
        let mut clock = StampClock::new(0, 0);
        for stamp in [3, 0, 2, u32::MAX, 1] {
            clock.time(stamp);
        }
        let mut clock = StampClock::new(99, 1);
        for stamp in 0..100_u32 {
            clock.time(stamp.wrapping_mul(2_000_000_000));
        }
    }
}
