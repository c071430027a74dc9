//! Westwood+: a sample per round trip, smoothed twice.
//!
//! Grieco & Mascolo, ACM CCR 34(2), 2004; Dell'Aera, Grieco, Mascolo, ICC 2004; as in Linux
//! (`tcp_westwood.c`).
//!
//! ```text
//! when Δ > max(RTT, 50 ms) has passed since the sample before:
//!     b   = bytes acknowledged before now / Δ                   see acked_count.rs
//!     Bn_k = 7/8·Bn_(k−1) + 1/8·b,  Bw_k = 7/8·Bw_(k−1) + 1/8·Bn_k     Bn_1 = Bw_1 = b
//! ```
//!
//! The acknowledgement that ends a round counts in the next round, as in Linux. The first
//! acknowledgement only starts the clock. RTT is the last sample. [`Arithmetic::Kernel`] computes
//! like Linux 2.6.22 and ns-2's `Agent/TCP/Linux`: RTT is smoothed, time has ticks of 1 ms, and
//! rates are whole bytes per tick, rounded down at each step.

use super::{AckedCount, BandwidthEstimator, rate};
use crate::event::AckEvent;
use crate::{Duration, Rate, Time};

/// The minimum duration of a round.
const SHORTEST: Duration = Duration::from_millis(50);

/// The kernel's tick in nanoseconds. Estimates are in bytes per tick.
const TICK: f64 = 1e6;

/// The arithmetic with which Westwood+ computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Arithmetic {
    /// Computes with real numbers, as the paper does.
    #[default]
    Exact,
    /// Computes with the integers of Linux 2.6.22.
    Kernel,
}

/// Westwood+ (Grieco & Mascolo 2004): one sample per round trip, smoothed twice with gain 1/8.
///
/// A sample is the bytes acknowledged over at least a round trip and 50 ms, divided by that time.
#[derive(Clone, Debug, PartialEq)]
pub struct WestwoodPlus {
    arithmetic: Arithmetic,
    count: AckedCount,
    rtt: Option<Duration>,
    /// The start of the current round; `None` before the first acknowledgement.
    start: Option<Time>,
    /// The bytes acknowledged in the round.
    acked: u64,
    /// Bn and Bw, in bytes per ms.
    estimates: Option<(f64, f64)>,
}

impl WestwoodPlus {
    /// Creates the estimator for segments of `segment_size` bytes.
    pub fn new(arithmetic: Arithmetic, segment_size: u32) -> Self {
        Self {
            arithmetic,
            count: AckedCount::new(segment_size, None),
            rtt: None,
            start: None,
            acked: 0,
            estimates: None,
        }
    }

    fn whole(&self, value: f64) -> f64 {
        match self.arithmetic {
            Arithmetic::Exact => value,
            Arithmetic::Kernel => libm::floor(value),
        }
    }

    /// Returns the time from `start` to `now`, in ms.
    fn elapsed(&self, start: Time, now: Time) -> f64 {
        let ticks = |time: Time| self.whole(time.as_nanos() as f64 / TICK);
        match self.arithmetic {
            Arithmetic::Exact => (now - start).as_nanos() as f64 / TICK,
            Arithmetic::Kernel => ticks(now) - ticks(start),
        }
    }

    /// Ends the round, if it has lasted long enough.
    #[inline]
    fn end_round(&mut self, start: Time, now: Time) {
        let Some(rtt) = self.rtt else {
            return;
        };
        let shortest = rtt.max(SHORTEST).as_nanos() as f64 / TICK;
        let elapsed = self.elapsed(start, now);
        if elapsed <= self.whole(shortest) {
            return;
        }
        let sample = self.whole(self.acked as f64 / elapsed);
        let (fast, slow) = self.estimates.unwrap_or((sample, sample));
        let fast = self.whole((7.0 * fast + sample) / 8.0);
        let slow = self.whole((7.0 * slow + fast) / 8.0);
        self.estimates = Some((fast, slow));
        self.acked = 0;
        self.start = Some(now);
    }
}

impl BandwidthEstimator for WestwoodPlus {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        if let Some(sample) = ack.rtt.filter(|&rtt| rtt > Duration::ZERO) {
            self.rtt = Some(match (self.arithmetic, self.rtt) {
                (Arithmetic::Kernel, Some(smoothed)) => smoothed + (sample - smoothed) / 8,
                _ => sample,
            });
        }
        let counted = self.count.count(ack);
        let Some(start) = self.start else {
            self.start = Some(ack.now);
            return;
        };
        self.end_round(start, ack.now);
        self.acked = self.acked.saturating_add(counted);
    }

    fn on_mtu_change(&mut self, segment_size: u32) {
        self.count.resize(segment_size);
    }

    fn estimate(&self) -> Option<Rate> {
        self.estimates.map(|(_, slow)| rate(slow * 1000.0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{at, bps, measured};
    use super::*;

    #[test]
    fn a_sample_per_round_smoothed_twice() {
        let mut plus = WestwoodPlus::new(Arithmetic::Exact, 1000);
        // Round trips take 100 ms. The first acknowledgement starts the clock at 0. Those at 40 and
        // 100 ms count; the one at 110 ms ends the round, with 2000 bytes in 110 ms.
        for ms in [0, 40, 100] {
            plus.on_ack(&measured(ms, 1000, 100));
            assert_eq!(plus.estimate(), None);
        }
        plus.on_ack(&measured(110, 1000, 100));
        assert_eq!(bps(&plus), 145_455);
        // 110 ms later, 1000 + 2000 bytes make b = 218 181.8, so Bn = (7·145 454.5 + b)/8 = 154
        // 545.5 and Bw = 146 590.9.
        plus.on_ack(&measured(150, 2000, 100));
        plus.on_ack(&measured(220, 1000, 100));
        assert_eq!(bps(&plus), 146_591);
    }

    #[test]
    fn rounds_last_longer_than_50_ms() {
        let mut plus = WestwoodPlus::new(Arithmetic::Exact, 1000);
        plus.on_ack(&measured(0, 1000, 2));
        plus.on_ack(&measured(50, 1000, 2));
        assert_eq!(plus.estimate(), None);
        plus.on_ack(&measured(51, 1000, 2));
        assert_eq!(bps(&plus), 156_863);
    }

    #[test]
    fn without_a_round_trip_time_there_is_no_round() {
        let mut plus = WestwoodPlus::new(Arithmetic::Exact, 1000);
        for second in 0..10 {
            plus.on_ack(&at(second * 1000, 1000));
        }
        assert_eq!(plus.estimate(), None);
    }

    #[test]
    fn the_kernel_rounds_down() {
        let mut plus = WestwoodPlus::new(Arithmetic::Kernel, 1000);
        // 2000 bytes in 110 ticks are 18.18, rounded to 18. 3000 in 110 are 27.27, rounded to 27.
        // Bn = (126 + 27)/8 = 19.1, rounded to 19; Bw = 18.1, rounded to 18.
        for (ms, acked) in [(0, 1000), (40, 1000), (100, 1000), (110, 1000)] {
            plus.on_ack(&measured(ms, acked, 100));
        }
        assert_eq!(bps(&plus), 144_000);
        plus.on_ack(&measured(150, 2000, 100));
        plus.on_ack(&measured(220, 1000, 100));
        assert_eq!(bps(&plus), 144_000);
        // A round-trip time of 180 raises the smoothed one to 110, and 110 ticks do not exceed it.
        plus.on_ack(&measured(330, 1000, 180));
        assert_eq!(plus.start, Some(Time::from_nanos(220_000_000)));
        plus.on_ack(&measured(331, 1000, 100));
        assert_eq!(plus.start, Some(Time::from_nanos(331_000_000)));
    }
}
