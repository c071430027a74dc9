//! Spike: a loss is congestion while the delay of the path is in a spike.
//!
//! Cen, Cosman & Voelker, MMCN 2002, section 3.2. It follows Tobe et al., "Achieving moderate
//! fairness for UDP flows by path-status classification", LCN 2000, whose thresholds were fixed.
//!
//! ```text
//! on each packet:   not in spike and rott > B_start  →  in spike
//!                   in spike     and rott < B_end    →  not in spike
//! on a gap:         in spike ⇒ congestion, else wireless
//!
//! Spike   B_start = rott_min + α·(rott_max − rott_min)     α = 1/2
//!         B_end   = rott_min + β·(rott_max − rott_min)     β = 1/3,  β ≤ α
//! Tobe    B_start = rott_min + 20 ms
//!         B_end   = rott_min +  5 ms
//!
//! rott             ns, relative one-way trip time of the packet
//! rott_min, _max   ns, smallest and largest so far, this packet's included
//! ```
//!
//! With α ≥ 1, no spike ever starts, so every loss is wireless. With α ≤ 0, a spike starts as soon
//! as rott exceeds its minimum (α < 0: as soon as it varies) and never ends, so every loss is
//! congestion.
//!
//! Departure: Tobe's thresholds apply to the one-way delay itself. Without synchronised clocks,
//! they are relative to rott_min here.

use super::{Arrival, ReceiverClassifier, in_order};
use crate::{Cause, Duration};

/// Spike, or Tobe's variant with fixed thresholds.
#[derive(Clone, Debug, PartialEq)]
pub struct Spike {
    start: Threshold,
    end: Threshold,
    /// rott_min; infinite before the first rott.
    min: Duration,
    /// rott_max; minus infinity before the first rott.
    max: Duration,
    spiking: bool,
    update_first: bool,
}

impl Spike {
    /// The default α: the share of the range of delays above which a spike starts.
    pub const ALPHA: f64 = 0.5;
    /// The default β: the share of the range of delays below which a spike ends.
    pub const BETA: f64 = 1.0 / 3.0;

    /// Creates a classifier with thresholds as shares of the ROTT range: a spike starts above `alpha`
    /// and ends below `beta`, which must not exceed `alpha`.
    pub fn new(alpha: f64, beta: f64) -> Self {
        Self::between(
            Threshold {
                share: alpha,
                fixed: 0.0,
            },
            Threshold {
                share: beta,
                fixed: 0.0,
            },
        )
    }

    /// Creates a classifier with thresholds above the smallest ROTT: a spike starts above `start` and
    /// ends below `end`, which must not exceed `start` (Tobe: 20 ms and 5 ms).
    pub fn tobe(start: Duration, end: Duration) -> Self {
        let fixed = |above: Duration| Threshold {
            share: 0.0,
            fixed: above.as_nanos() as f64,
        };
        Self::between(fixed(start), fixed(end))
    }

    fn between(start: Threshold, end: Threshold) -> Self {
        Self {
            start,
            end,
            min: Duration::MAX,
            max: -Duration::MAX,
            spiking: false,
            update_first: true,
        }
    }

    /// Sets whether the revealing packet updates the state before (default) or after the decision.
    #[must_use]
    pub fn update_first(mut self, update_first: bool) -> Self {
        self.update_first = update_first;
        self
    }

    /// Returns whether the path is in a spike.
    pub fn in_spike(&self) -> bool {
        self.spiking
    }

    /// Returns the smallest relative one-way trip time (rott) so far, clock offset included; `None`
    /// before the first packet.
    pub fn rott_min(&self) -> Option<Duration> {
        (self.min <= self.max).then_some(self.min)
    }

    /// Returns the largest relative one-way trip time (rott) so far, clock offset included; `None`
    /// before the first packet.
    pub fn rott_max(&self) -> Option<Duration> {
        (self.min <= self.max).then_some(self.max)
    }

    #[inline]
    pub(super) fn update(&mut self, rott: Duration) {
        self.min = self.min.min(rott);
        self.max = self.max.max(rott);
        // All values are relative to rott_min, so a clock offset cancels in integers, before any
        // rounding.
        let above_min = (rott - self.min).as_nanos() as f64;
        let span = (self.max - self.min).as_nanos() as f64;
        // Compute both comparisons before selecting one: this avoids a dependency and a branch.
        let stays = above_min >= self.end.above_min(span);
        let starts = above_min > self.start.above_min(span);
        self.spiking = if self.spiking { stays } else { starts };
    }

    #[inline]
    pub(super) fn judge(&self) -> Cause {
        Cause::congestion_if(self.spiking)
    }
}

impl Default for Spike {
    /// Spike as published: α = 1/2, β = 1/3.
    fn default() -> Self {
        Self::new(Self::ALPHA, Self::BETA)
    }
}

impl ReceiverClassifier for Spike {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, missing: u64) -> Option<Cause> {
        in_order(
            self,
            self.update_first,
            missing,
            |state| state.update(arrival.rott()),
            Self::judge,
        )
    }
}

/// A delay above rott_min: a share of the range of rott plus a fixed time in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Threshold {
    share: f64,
    fixed: f64,
}

impl Threshold {
    #[inline]
    fn above_min(self, span: f64) -> f64 {
        self.fixed + self.share * span
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::arrival;
    use super::*;

    /// Feeds one-way delays in ms; returns the spike state after each.
    fn states<const N: usize>(classifier: &mut Spike, delays: [u64; N]) -> [bool; N] {
        delays.map(|ms| {
            classifier.on_arrival(&arrival(1 << 40, ms * 1_000_000), 0);
            classifier.in_spike()
        })
    }

    #[test]
    fn thresholds_by_hand() {
        let mut spike = Spike::new(Spike::ALPHA, Spike::BETA);
        // 10 and 70 ms: B_start = 10 + 60/2 = 40, B_end = 10 + 60/3 = 30 ms.
        assert_eq!(
            states(&mut spike, [10, 70, 35, 30, 29, 35, 40, 41]),
            [false, true, true, true, false, false, false, true]
        );
        assert_eq!(spike.rott_min(), Some(Duration::from_millis(10)));
        assert_eq!(spike.rott_max(), Some(Duration::from_millis(70)));
    }

    #[test]
    fn tobe_by_hand() {
        let mut tobe = Spike::tobe(Duration::from_millis(20), Duration::from_millis(5));
        // With rott_min = 100 ms, a spike starts above 120 ms and ends below 105 ms.
        assert_eq!(
            states(&mut tobe, [100, 120, 121, 106, 105, 104, 119]),
            [false, false, true, true, true, false, false]
        );
    }

    #[test]
    fn a_gap_in_a_spike_is_congestion() {
        for (update_first, first, second) in [
            (true, Cause::Congestion, Cause::Wireless),
            (false, Cause::Wireless, Cause::Congestion),
        ] {
            let mut spike = Spike::new(0.5, 0.25).update_first(update_first);
            states(&mut spike, [10]);
            // A delay of 90 ms starts a spike, and 10 ms ends it. The order decides which state
            // applies to the gap.
            for (ms, cause) in [(90, first), (10, second)] {
                let revealing = arrival(1 << 40, ms * 1_000_000);
                assert_eq!(spike.on_arrival(&revealing, 1), Some(cause), "{ms} ms");
            }
        }
    }

    #[test]
    fn limits_of_alpha() {
        // CEN-5: with α ≥ 1, every loss is wireless. With α ≤ 0, every loss is congestion once rott
        // has exceeded its minimum.
        let delays = [30, 31, 10, 90, 10, 50, 90, 95, 9, 9];
        for alpha in [1.0, 1.5] {
            assert_eq!(
                states(&mut Spike::new(alpha, Spike::BETA), delays),
                [false; 10]
            );
        }
        for alpha in [0.0, -0.5] {
            let mut expected = [true; 10];
            expected[0] = false;
            assert_eq!(states(&mut Spike::new(alpha, alpha), delays), expected);
        }
    }
}
