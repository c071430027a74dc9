//! Rates in bits per second.

use crate::time::Duration;

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Rate(u64);

impl Rate {
    /// Creates a rate of `bps` bits per second.
    #[inline]
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// Creates a rate of `kbps` thousand bits per second.
    pub const fn from_kbps(kbps: u64) -> Self {
        Self(kbps * 1_000)
    }

    /// Creates a rate of `mbps` million bits per second.
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps * 1_000_000)
    }

    /// Returns the rate in bits per second.
    #[inline]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Returns the time to send `bytes` bytes, rounded to the nearest nanosecond. It is at least 1
    /// ns, so that no packet arrives when it leaves, and [`Duration::MAX`] at rate zero.
    #[inline]
    pub const fn transmission_time(self, bytes: u32) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        // Fits all sizes below 2.3 GB.
        let Some(scaled) = (bytes as u64 * 8).checked_mul(1_000_000_000) else {
            return Duration::MAX;
        };
        let nanos = (scaled + self.0 / 2) / self.0;
        Duration::from_nanos(if nanos == 0 { 1 } else { nanos as i64 })
    }
}

/// Returns a·b/c, rounded down and saturating; c must not be 0. Avoids the 128-bit division if a·b
/// fits into 64 bits.
#[inline]
pub(crate) fn share(a: u64, b: u64, c: u64) -> u64 {
    a.checked_mul(b)
        .map_or_else(|| share_of_wide(a, b, c), |product| product / c)
}

#[cold]
fn share_of_wide(a: u64, b: u64, c: u64) -> u64 {
    let share = u128::from(a) * u128::from(b) / u128::from(c);
    u64::try_from(share).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        /// Tests narrow and wide products on both sides of the limit. The results equal those of
        /// 128-bit arithmetic.
        #[test]
        fn shares_are_those_of_wide_numbers(a: u64, b: u64, c in 1..=u64::MAX, shifts in (0u32..64, 0u32..64, 0u32..64)) {
            let (a, b, c) = (a >> shifts.0, b >> shifts.1, (c >> shifts.2).max(1));
            proptest::prop_assert_eq!(share(a, b, c), share_of_wide(a, b, c));
        }
    }

    #[test]
    fn cen_packets_take_whole_nanoseconds() {
        // CEN-A10: 762 bytes at 150, 800 and 1600 kbit/s take exactly 40.64, 7.62 and 3.81 ms.
        for (kbps, micros) in [(150, 40_640), (800, 7_620), (1600, 3_810)] {
            assert_eq!(
                Rate::from_kbps(kbps).transmission_time(762),
                Duration::from_micros(micros)
            );
        }
    }

    #[test]
    fn nothing_takes_no_time() {
        let fast = Rate::from_bps(1_000_000_000_000);
        assert_eq!(fast.transmission_time(40), Duration::from_nanos(1));
        assert_eq!(fast.transmission_time(1_500), Duration::from_nanos(12));
    }

    #[test]
    fn no_rate_never_finishes() {
        assert_eq!(Rate::from_bps(0).transmission_time(1), Duration::MAX);
    }
}
