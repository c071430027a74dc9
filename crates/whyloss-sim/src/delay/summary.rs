//! Summarises the delays of a flow: mean, spread and quantiles in fixed memory.
//!
//! ```text
//! mean, variance        of all delays d₁ … dₙ, by Welford's updates; the variance is Σ(dᵢ − mean)²/n
//! quantile q            the ⌈q·n⌉th smallest, to 0.05 % or 0.3 µs (a histogram with buckets of 1/1024 of their values,
//!                       at least 0.512 µs wide; their middle)
//! RFC 3550 §6.4.1       J ← J + (|dᵢ − dᵢ₋₁| − J)/16 in the order of arrival, from J = 0; the last value, as in a
//!                       reception report
//! ```
//!
//! RFC 3550 uses transit times; their differences equal those of the delays.

use whyloss::Duration;

use super::histogram::Histogram;

/// Summarises the delays of one flow in fixed memory.
#[derive(Clone, Debug, PartialEq)]
pub struct DelaySummary {
    count: u64,
    /// The mean delay, in ms.
    mean: f64,
    /// The sum Σ(dᵢ − mean)², in ms².
    squares: f64,
    /// The lowest delay, in ms; infinite before the first delay.
    least: f64,
    /// The highest delay, in ms; minus infinity without a delay.
    most: f64,
    /// The last delay, in ms.
    last: f64,
    /// The jitter J of RFC 3550, in ms.
    jitter: f64,
    /// The number of delays in each bucket. The buckets equal those of `hdrhistogram`, which takes
    /// three times as long per packet.
    buckets: Histogram,
}

impl Default for DelaySummary {
    /// Returns the summary of a flow from which nothing has arrived.
    fn default() -> Self {
        Self {
            count: 0,
            mean: 0.0,
            squares: 0.0,
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
            last: 0.0,
            jitter: 0.0,
            buckets: Histogram::Few(Vec::new()),
        }
    }
}

/// The logarithm to base 2 of the width of the finest buckets in ns. A delay with more than
/// [`DIGITS`] + this many bits has wider buckets.
const FINEST: u32 = 9;

/// The number of leading bits of a delay that select its bucket: 11, so that a bucket is at most
/// 1/1024 of its values wide.
const DIGITS: u32 = 11;

impl DelaySummary {
    /// Prefetches the slot of the next delay, while there are few delays.
    #[inline]
    pub(super) fn prefetch(&self) {
        self.buckets.prefetch();
    }

    /// Records the delay of the next packet that arrives.
    #[inline]
    pub fn record(&mut self, delay: Duration) {
        let ms = millis(delay);
        if self.count > 0 {
            let change = (ms - self.last).abs();
            self.jitter += (change - self.jitter) / 16.0;
        }
        self.count += 1;
        let from_old_mean = ms - self.mean;
        // Converting a signed number takes one instruction.
        self.mean += from_old_mean / self.count as i64 as f64;
        self.squares += from_old_mean * (ms - self.mean);
        // New extremes are rare, so branches are faster than selections.
        if ms < self.least {
            self.least = ms;
        }
        if ms > self.most {
            self.most = ms;
        }
        self.last = ms;
        self.buckets.add(bucket(delay.as_nanos().max(0) as u64));
    }

    /// Adds the delays of another flow. The jitter of RFC 3550 becomes that of the other flow,
    /// because the packets of two flows have no common order.
    pub(crate) fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        let (ours, theirs) = (self.count as f64, other.count as f64);
        let (change, share) = (other.mean - self.mean, theirs / (ours + theirs));
        self.count += other.count;
        self.mean += change * share;
        self.squares += other.squares + change * change * ours * share;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        (self.last, self.jitter) = (other.last, other.jitter);
        self.buckets.merge(&other.buckets);
    }

    /// Returns the number of packets that arrived.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean delay in ms; `None` if nothing arrived.
    pub fn mean_ms(&self) -> Option<f64> {
        self.known(self.mean)
    }

    /// Returns the smallest delay in ms; `None` if nothing arrived.
    pub fn min_ms(&self) -> Option<f64> {
        self.known(self.least)
    }

    /// Returns the largest delay in ms; `None` if nothing arrived.
    pub fn max_ms(&self) -> Option<f64> {
        self.known(self.most)
    }

    /// Returns the delay in ms that a share `q` of the packets, from 0 to 1, does not exceed.
    /// Returns `None` if nothing arrived.
    pub fn quantile_ms(&self, q: f64) -> Option<f64> {
        let rank = (q.clamp(0.0, 1.0) * self.count as f64).ceil().max(1.0) as u64;
        let bucket = self.buckets.bucket_of(rank)?;
        let middle = Duration::from_nanos(middle(bucket) as i64);
        Some(millis(middle).max(self.least).min(self.most))
    }

    /// Returns the variance of the delays in ms²; `None` if nothing arrived.
    pub fn variance_ms2(&self) -> Option<f64> {
        self.known(self.squares / self.count as f64)
    }

    /// Returns the standard deviation of the delays in ms; `None` if nothing arrived.
    pub fn deviation_ms(&self) -> Option<f64> {
        self.variance_ms2().map(libm::sqrt)
    }

    /// Returns the interarrival jitter of RFC 3550 §6.4.1 in ms, after the last packet; `None` with
    /// fewer than two packets.
    pub fn rfc3550_ms(&self) -> Option<f64> {
        (self.count > 1).then_some(self.jitter)
    }

    fn known(&self, value: f64) -> Option<f64> {
        (self.count > 0).then_some(value)
    }
}

fn millis(delay: Duration) -> f64 {
    delay.as_nanos() as f64 / 1e6
}

/// Returns the bucket of a delay in ns. There are 2^[`DIGITS`] buckets of the finest width, then
/// half as many of each next width, which doubles.
#[inline]
fn bucket(nanos: u64) -> usize {
    const FINE: u32 = FINEST + DIGITS - 1;
    let coarser = (nanos | 1 << FINE).ilog2() - FINE;
    ((coarser << (DIGITS - 1)) + (nanos >> (FINEST + coarser)) as u32) as usize
}

/// Returns the middle of a bucket, in ns.
fn middle(bucket: usize) -> u64 {
    let half = 1 << (DIGITS - 1);
    let coarser = (bucket / half).saturating_sub(1) as u32;
    let width = 1 << (FINEST + coarser);
    (bucket - (coarser as usize) * half) as u64 * width + width / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(delays: impl IntoIterator<Item = i64>) -> DelaySummary {
        let mut summary = DelaySummary::default();
        for nanos in delays {
            summary.record(Duration::from_nanos(nanos));
        }
        summary
    }

    #[track_caller]
    fn near(value: Option<f64>, expected: f64, tolerance: f64) {
        let value = value.expect("something arrived");
        assert!((value - expected).abs() <= tolerance, "{value} {expected}");
    }

    #[test]
    fn nothing_has_no_delay() {
        let none = DelaySummary::default();
        assert_eq!(none.count(), 0);
        assert_eq!((none.mean_ms(), none.quantile_ms(0.5)), (None, None));
        assert_eq!((none.variance_ms2(), none.rfc3550_ms()), (None, None));
        let one = of([7_000_000]);
        assert_eq!((one.mean_ms(), one.variance_ms2()), (Some(7.0), Some(0.0)));
        assert_eq!((one.quantile_ms(0.99), one.rfc3550_ms()), (Some(7.0), None));
    }

    /// 10, 26, 10, 42 ms: mean 22, squares 144 + 16 + 144 + 400 = 704.
    #[test]
    fn by_hand() {
        let summary = of([10, 26, 10, 42].map(|ms| ms * 1_000_000));
        assert_eq!(summary.count(), 4);
        near(summary.mean_ms(), 22.0, 1e-12);
        near(summary.variance_ms2(), 176.0, 1e-9);
        near(summary.deviation_ms(), 13.266_499, 1e-6);
        assert_eq!((summary.min_ms(), summary.max_ms()), (Some(10.), Some(42.)));
        // J: 16/16 = 1, then 1 + 15/16 = 1.9375, then 1.9375 + (32 − 1.9375)/16.
        near(summary.rfc3550_ms(), 3.816_406_25, 1e-12);
        // Nearest rank: half of four is the second.
        near(summary.quantile_ms(0.5), 10.0, 0.005);
        near(summary.quantile_ms(0.51), 26.0, 0.013);
        near(summary.quantile_ms(1.0), 42.0, 0.021);
        assert_eq!(summary.quantile_ms(0.0), Some(10.0));
    }

    /// The variance keeps its digits although the mean is far above the spread.
    #[test]
    fn a_small_spread_on_a_long_delay() {
        let summary = of((0..100_000).map(|i| 3_600_000_000_000 + i % 2 * 1_000));
        near(summary.variance_ms2(), 0.25e-6, 1e-12);
    }

    proptest! {
        #[test]
        fn quantiles_agree_with_sorting(
            mut delays in prop::collection::vec((0u32..42, 0.0..1.0f64), 1..300),
            q in 0.0..=1.0f64,
        ) {
            // From 1 ns to 73 minutes.
            let mut nanos: Vec<i64> = delays
                .drain(..)
                .map(|(power, share)| ((1_i64 << power) as f64 * (1.0 + share)) as i64)
                .collect();
            let summary = of(nanos.iter().copied());
            nanos.sort_unstable();
            let rank = (q * nanos.len() as f64).ceil().max(1.0) as usize;
            let exact = nanos[rank - 1] as f64 / 1e6;
            let found = summary.quantile_ms(q).expect("at least one");
            let allowed = (exact * 0.0005).max(0.000_3);
            prop_assert!((found - exact).abs() <= allowed, "{found} {exact}");
        }

        /// Two summaries merged have the moments, extremes and quantiles of all their delays. The
        /// second may have enough values for pages.
        #[test]
        fn merged_is_recorded_together(
            ours in prop::collection::vec(0i64..1 << 34, 0..50),
            theirs in prop::collection::vec(0i64..1 << 34, 0..50),
            times in prop_oneof![Just(1), Just(40)],
            q in 0.0..=1.0f64,
        ) {
            let theirs = || theirs.iter().copied().cycle().take(times * theirs.len());
            let mut merged = of(ours.iter().copied());
            merged.merge(&of(theirs()));
            let together = of(ours.iter().copied().chain(theirs()));
            prop_assert_eq!(merged.count(), together.count());
            prop_assert_eq!(merged.min_ms(), together.min_ms());
            prop_assert_eq!(merged.max_ms(), together.max_ms());
            prop_assert_eq!(merged.quantile_ms(q), together.quantile_ms(q));
            if let (Some(mean), Some(variance)) = (together.mean_ms(), together.variance_ms2()) {
                near(merged.mean_ms(), mean, 1e-9 * mean.max(1.0));
                near(merged.variance_ms2(), variance, 1e-9 * variance.max(mean * mean).max(1.0));
            }
        }

        #[test]
        fn moments_agree_with_two_passes(nanos in prop::collection::vec(0i64..1 << 34, 1..200)) {
            let summary = of(nanos.iter().copied());
            let ms: Vec<f64> = nanos.iter().map(|&nanos| nanos as f64 / 1e6).collect();
            let mean = ms.iter().sum::<f64>() / ms.len() as f64;
            let variance = ms.iter().map(|ms| (ms - mean).powi(2)).sum::<f64>() / ms.len() as f64;
            near(summary.mean_ms(), mean, 1e-9 * mean.max(1.0));
            near(summary.variance_ms2(), variance, 1e-9 * variance.max(1.0));
        }
    }
}
