//! TCP's retransmission timeout in integer ticks (Jacobson 1988), as ns-2.35's TFRC uses it in the
//! equation.
//!
//! ```text
//! error = sample − srtt;  srtt += error/8;  rttvar += (|error| − rttvar)/4;  t_RTO = srtt + 4·rttvar
//! ```
//!
//! All values are in ticks. A sample is rounded and at least one, srtt is kept in eighths and
//! rttvar in quarters, and the result is truncated to an integer. There is no minimum.

use crate::Duration;

/// The averages, scaled to integers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RetransmitEstimator {
    srtt_eighths: i32,
    rttvar_quarters: i32,
    ticks: i32,
}

impl RetransmitEstimator {
    /// Updates the timeout with a round-trip time, counted in ticks of `tick`.
    pub(super) fn update(&mut self, sample: Duration, tick: Duration) {
        let tick = tick.as_nanos().max(1);
        // Limit samples to a day (2²⁰ ticks of 0.1 s), in case of a hostile echo.
        let sample = ((sample.as_nanos().saturating_add(tick / 2)) / tick).clamp(1, 1 << 20) as i32;
        if self.srtt_eighths == 0 {
            self.srtt_eighths = sample << 3;
            self.rttvar_quarters = sample << 1;
        } else {
            let error = sample - (self.srtt_eighths >> 3);
            self.srtt_eighths = (self.srtt_eighths + error).max(1);
            let deviation = error.abs() - (self.rttvar_quarters >> 2);
            self.rttvar_quarters = (self.rttvar_quarters + deviation).max(1);
        }
        self.ticks = ((self.rttvar_quarters << 3) + self.srtt_eighths) >> 3;
    }

    /// Returns t_RTO in ticks; 0 before the first sample.
    pub(super) fn ticks(&self) -> i64 {
        i64::from(self.ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(samples: &[i64]) -> i64 {
        let mut estimator = RetransmitEstimator::default();
        for &millis in samples {
            estimator.update(Duration::from_millis(millis), Duration::from_millis(100));
        }
        estimator.ticks()
    }

    /// 130 ms is one tick: srtt is 8/8 and rttvar 2/4, so (16 + 8)/8 = 3. A second sample has error
    /// 0, and 2 >> 2 = 0, so the result stays at 3; 4R would be 520 ms.
    #[test]
    fn one_tick_by_hand() {
        assert_eq!(ticks(&[]), 0);
        assert_eq!(ticks(&[130]), 3);
        assert_eq!(ticks(&[130; 100]), 3);
        // A sample is rounded to at least one tick.
        assert_eq!(ticks(&[1]), 3);
    }

    /// 370 ms is four ticks: srtt is 32 and rttvar 8, so (64 + 32)/8 = 12. Then 130 ms has error 1
    /// − 4 = −3: srtt is 29 and rttvar 8 + 3 − 2 = 9, so (72 + 29)/8 = 12.6, truncated to 12.
    #[test]
    fn a_change_by_hand() {
        assert_eq!(ticks(&[370]), 12);
        assert_eq!(ticks(&[370, 130]), 12);
    }
}
