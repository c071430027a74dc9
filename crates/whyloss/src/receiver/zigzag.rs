//! ZigZag: a loss is wireless if the delay is below its mean by a margin that depends on the number
//! of lost packets.
//!
//! Cen, Cosman & Voelker, MMCN 2002, section 3.3.
//!
//! ```text
//! d = rott_i − rott_mean
//! wireless  ⇔  n = 1 and d < −rott_dev
//!           or n = 2 and d < −rott_dev/2
//!           or n = 3 and d < 0
//!           or n > 3 and d <  rott_dev/2              else congestion
//!
//! on each packet:   rott_mean ← (1−α)·rott_mean + α·rott                        α = 1/32
//!                   rott_dev  ← (1−2α)·rott_dev + 2α·|rott − rott_mean|
//!
//! n       packets missing in the gap
//! rott    ns, relative one-way trip time of the packet
//! rott_i  ns, that of P_i, the last packet received before the gap
//! ```
//!
//! The section uses "the same notation as in the Biaz scheme", where P_i comes before the gap and
//! P_o after it. Two public ports compare P_o's delay. [`ZigZag::delay_before_gap`] selects one of
//! them.
//!
//! Where the source is silent or misprinted:
//! - The bars of |rott − rott_mean| are missing in print; without them the deviation could become
//!   negative.
//! - The deviation uses the updated mean, in the order of the printed formulas.
//! - rott_mean starts with the first rott, rott_dev with zero or the user's value (CEN-A4). Half
//!   the first rott, as in TCP, would depend on the clock offset.
//! - A gap before any rott is known is congestion.
//!
//! The mean is relative to the first rott, so a clock offset cancels in integers, before any
//! rounding.

use super::{Arrival, ReceiverClassifier, in_order};
use crate::{Cause, Duration};

/// ZigZag (Cen, Cosman & Voelker 2002): a loss is wireless if the delay before the gap is far
/// enough below its mean. The required distance depends on the number of losses.
#[derive(Clone, Debug, PartialEq)]
pub struct ZigZag {
    alpha: f64,
    /// The first rott, to which `mean` is relative.
    origin: Option<Duration>,
    /// The difference rott_mean − origin, in ns.
    mean: f64,
    /// The deviation rott_dev, in ns.
    dev: f64,
    /// The difference rott − origin of the last packet.
    last: Duration,
    delay_before_gap: bool,
    update_first: bool,
}

impl ZigZag {
    /// The gain α of the mean of rott; the gain of its deviation is 2α.
    pub const ALPHA: f64 = 1.0 / 32.0;

    /// Creates a classifier with gain `alpha`, at most 1/2, and initial deviation `rott_dev`.
    pub fn new(alpha: f64, rott_dev: Duration) -> Self {
        Self {
            alpha,
            origin: None,
            mean: 0.0,
            dev: rott_dev.as_nanos() as f64,
            last: Duration::ZERO,
            delay_before_gap: true,
            update_first: true,
        }
    }

    /// Sets whether to compare the delay of the packet before the gap (P_i, default) or after it
    /// (P_o).
    #[must_use]
    pub fn delay_before_gap(mut self, delay_before_gap: bool) -> Self {
        self.delay_before_gap = delay_before_gap;
        self
    }

    /// Sets whether the revealing packet updates mean and deviation before (default) or after the
    /// decision.
    #[must_use]
    pub fn update_first(mut self, update_first: bool) -> Self {
        self.update_first = update_first;
        self
    }

    /// Returns rott_mean, rounded to the nanosecond; `None` before the first packet.
    pub fn rott_mean(&self) -> Option<Duration> {
        self.origin
            .map(|origin| origin + Duration::from_nanos(libm::round(self.mean) as i64))
    }

    /// Returns rott_dev, rounded to the nanosecond.
    pub fn rott_dev(&self) -> Duration {
        Duration::from_nanos(libm::round(self.dev) as i64)
    }

    /// Returns rott_dev in ns, unrounded.
    #[inline]
    pub(super) fn dev_nanos(&self) -> f64 {
        self.dev
    }

    #[inline]
    pub(super) fn update(&mut self, rott: Duration) {
        let Some(origin) = self.origin else {
            self.origin = Some(rott);
            return;
        };
        self.last = rott - origin;
        let rott = self.last.as_nanos() as f64;
        self.mean = (1.0 - self.alpha) * self.mean + self.alpha * rott;
        self.dev =
            (1.0 - 2.0 * self.alpha) * self.dev + 2.0 * self.alpha * (rott - self.mean).abs();
    }

    /// Returns the delay to compare for an arrival of this rott, relative to the origin. Call it
    /// before the update.
    #[inline]
    pub(super) fn compared(&self, rott: Duration) -> Option<Duration> {
        let origin = self.origin?;
        Some(if self.delay_before_gap {
            self.last
        } else {
            rott - origin
        })
    }

    #[inline]
    pub(super) fn judge(&self, compared: Option<Duration>, missing: u64) -> Cause {
        let Some(compared) = compared else {
            return Cause::Congestion;
        };
        let d = compared.as_nanos() as f64 - self.mean;
        let bound = match missing {
            0 | 1 => -self.dev,
            2 => -self.dev / 2.0,
            3 => 0.0,
            _ => self.dev / 2.0,
        };
        Cause::wireless_if(d < bound)
    }
}

impl Default for ZigZag {
    /// ZigZag as published: α = 1/32, rott_dev from zero.
    fn default() -> Self {
        Self::new(Self::ALPHA, Duration::ZERO)
    }
}

impl ReceiverClassifier for ZigZag {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, missing: u64) -> Option<Cause> {
        let rott = arrival.rott();
        let compared = self.compared(rott);
        in_order(
            self,
            self.update_first,
            missing,
            |state| state.update(rott),
            |state| state.judge(compared, missing),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::arrival;
    use super::*;

    /// Returns a classifier with rott_mean 1000 ns and rott_dev 200 ns.
    fn at_1000_200() -> ZigZag {
        let mut zigzag = ZigZag::new(ZigZag::ALPHA, Duration::from_nanos(200))
            .delay_before_gap(false)
            .update_first(false);
        zigzag.on_arrival(&arrival(1 << 40, 1000), 0);
        assert_eq!(zigzag.rott_mean(), Some(Duration::from_nanos(1000)));
        assert_eq!(zigzag.rott_dev(), Duration::from_nanos(200));
        zigzag
    }

    #[test]
    fn averages_by_hand() {
        let mut zigzag = ZigZag::new(ZigZag::ALPHA, Duration::ZERO);
        zigzag.on_arrival(&arrival(1 << 40, 1024), 0);
        zigzag.on_arrival(&arrival(1 << 40, 2048), 0);
        // The mean is 31/32·1024 + 2048/32 = 992 + 64 = 1056. The deviation is 15/16·0 + |2048 −
        // 1056|/16 = 62.
        assert_eq!(zigzag.rott_mean(), Some(Duration::from_nanos(1056)));
        assert_eq!(zigzag.rott_dev(), Duration::from_nanos(62));
        zigzag.on_arrival(&arrival(1 << 40, 32), 0);
        // The mean is 31/32·1056 + 32/32 = 1023 + 1 = 1024. The deviation is 15/16·62 + |32 −
        // 1024|/16 = 58.125 + 62 = 120.125.
        assert_eq!(zigzag.rott_mean(), Some(Duration::from_nanos(1024)));
        assert!((zigzag.dev_nanos() - 120.125).abs() < 1e-9);
    }

    #[test]
    fn bounds_by_hand() {
        // With mean 1000 and deviation 200, the bound on rott is 800 for n = 1, 900 for 2, 1000 for
        // 3, and 1100 for 4 or more.
        for (missing, bound) in [
            (1, 800),
            (2, 900),
            (3, 1000),
            (4, 1100),
            (5, 1100),
            (u64::MAX, 1100),
        ] {
            for (rott, cause) in [(bound - 1, Cause::Wireless), (bound, Cause::Congestion)] {
                assert_eq!(
                    at_1000_200().on_arrival(&arrival(1 << 40, rott), missing),
                    Some(cause),
                    "n = {missing}, rott = {rott}"
                );
            }
        }
    }

    #[test]
    fn the_packet_before_the_gap_is_compared() {
        for (before, after, p_i, p_o) in [
            (700, 1000, Cause::Wireless, Cause::Congestion),
            (1000, 700, Cause::Congestion, Cause::Wireless),
        ] {
            for (delay_before_gap, cause) in [(true, p_i), (false, p_o)] {
                // Mean 1000 and deviation 200, less the shift from two packets within 300 of it.
                let mut zigzag = at_1000_200().delay_before_gap(delay_before_gap);
                zigzag.on_arrival(&arrival(1 << 40, before), 0);
                assert_eq!(
                    zigzag.on_arrival(&arrival(1 << 40, after), 1),
                    Some(cause),
                    "{before} {after} {delay_before_gap}"
                );
            }
        }
    }

    #[test]
    fn updating_first_moves_the_bound() {
        // rott = 795 is below 1000 − 200 and therefore wireless. If the update comes first, the
        // mean is 993.59375 and the deviation 187.5 + 198.59375/16 ≈ 199.9. The bound is then ≈
        // 793.7, and the same rott is congestion.
        for (update_first, cause) in [(false, Cause::Wireless), (true, Cause::Congestion)] {
            let mut zigzag = at_1000_200().update_first(update_first);
            assert_eq!(zigzag.on_arrival(&arrival(1 << 40, 795), 1), Some(cause));
        }
    }

    #[test]
    fn no_evidence_is_congestion() {
        for update_first in [true, false] {
            let mut zigzag = ZigZag::new(ZigZag::ALPHA, Duration::ZERO).update_first(update_first);
            assert_eq!(
                zigzag.on_arrival(&arrival(1 << 40, 500), 9),
                Some(Cause::Congestion)
            );
        }
    }
}
