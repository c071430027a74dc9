//! TIBET: sizes and intervals are averaged separately, and their ratio is filtered by time.
//!
//! Capone, Fratta, Martignon, "Bandwidth estimation schemes for TCP over wireless networks", IEEE
//! Transactions on Mobile Computing 3(2), 2004. Martignon & Fratta 2005 use it (MAR-6).
//!
//! ```text
//! L̄_k  = a·L̄_(k−1) + (1 − a)·L_k        L_k bytes acknowledged: see acked_count.rs
//! T̄_k  = a·T̄_(k−1) + (1 − a)·T_k        T_k s, since the acknowledgement before;  L̄_0 = T̄_0 = 0
//! b_k  = L̄_k/T̄_k
//! Bw_k = (1 − e^(−T_k/T₀))·b_k + e^(−T_k/T₀)·Bw_(k−1),   Bw_1 = b_1
//! ```
//!
//! TIBET averages before it divides, because the mean of L/T exceeds the ratio of the means when
//! acknowledgements come in clusters. Both averages start from zero, which cancels in their ratio.
//!
//! The paper's text was not available. The formulas and a = 0.99 are from memory, and T₀ = 0.5 s is
//! our choice. All need verification. The paper uses intervals between departures of segments;
//! here, intervals between acknowledgements replace them.

use super::{AckedCount, BandwidthEstimator, rate};
use crate::event::AckEvent;
use crate::{Duration, Rate, Time};

/// The options of TIBET.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TibetFilter {
    /// The weight a of the old average at each acknowledgement, from 0 to 1.
    pub keep: f64,
    /// The time constant T₀ of the final filter; positive.
    pub time_constant: Duration,
}

impl TibetFilter {
    /// The default options: a = 0.99 and T₀ = 0.5 s.
    pub const DEFAULT: Self = Self {
        keep: 0.99,
        time_constant: Duration::from_millis(500),
    };
}

impl Default for TibetFilter {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// TIBET (Capone, Fratta & Martignon 2004): the ratio of the mean segment size to the mean interval
/// between acknowledgements, filtered by time.
///
/// b = L̄/T̄ in bytes/s, from means of bytes and of seconds per acknowledgement with weight a on
/// the old value. Then Bw = (1 − e^(−T/T₀))·b + e^(−T/T₀)·Bw, T seconds after the previous sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Tibet {
    keep: f64,
    /// The time constant T₀, in s.
    time_constant: f64,
    count: AckedCount,
    last: Option<Time>,
    /// The bytes acknowledged at the instant `last`, except for the first acknowledgement.
    pending: u64,
    /// The average L̄, in bytes.
    length: f64,
    /// The average T̄, in s.
    interval: f64,
    /// Bw, in bytes/s; `None` before the first sample.
    estimate: Option<f64>,
}

impl Tibet {
    /// Creates the estimator for segments of `segment_size` bytes.
    pub fn new(filter: TibetFilter, segment_size: u32) -> Self {
        Self {
            // `keep` stays below 1, because the averages would otherwise never change.
            keep: filter.keep.clamp(0.0, 1.0 - f64::EPSILON),
            time_constant: filter
                .time_constant
                .max(Duration::from_nanos(1))
                .as_secs_f64(),
            count: AckedCount::new(segment_size, None),
            last: None,
            pending: 0,
            length: 0.0,
            interval: 0.0,
            estimate: None,
        }
    }
}

impl BandwidthEstimator for Tibet {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        let counted = self.count.count(ack);
        let Some(last) = self.last else {
            self.last = Some(ack.now);
            return;
        };
        self.pending = self.pending.saturating_add(counted);
        if ack.now <= last {
            return;
        }
        self.last = Some(ack.now);
        let length = core::mem::take(&mut self.pending) as f64;
        let interval = (ack.now - last).as_secs_f64();
        self.length = self.keep * self.length + (1.0 - self.keep) * length;
        self.interval = self.keep * self.interval + (1.0 - self.keep) * interval;
        let ratio = self.length / self.interval;
        let old = libm::exp(-interval / self.time_constant);
        self.estimate = Some(match self.estimate {
            None => ratio,
            Some(estimate) => (1.0 - old) * ratio + old * estimate,
        });
    }

    fn on_mtu_change(&mut self, segment_size: u32) {
        self.count.resize(segment_size);
    }

    fn estimate(&self) -> Option<Rate> {
        self.estimate.map(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{at, bps};
    use super::*;

    #[test]
    fn by_hand() {
        let filter = TibetFilter {
            keep: 0.5,
            time_constant: Duration::from_millis(100),
        };
        let mut tibet = Tibet::new(filter, 1000);
        tibet.on_ack(&at(0, 1000));
        assert_eq!(tibet.estimate(), None);
        // L̄ = 500, T̄ = 10 ms: 50 000 bytes/s.
        tibet.on_ack(&at(20, 1000));
        assert_eq!(bps(&tibet), 400_000);
        // L̄ = 250 + 1000, T̄ = 5 + 50 ms: 22 727.27; e⁻¹ = 0.367 879 of 50 000 remain: 32 760.34.
        tibet.on_ack(&at(120, 2000));
        assert_eq!(bps(&tibet), 262_083);
    }

    #[test]
    fn clusters_do_not_bias_it() {
        // Two acknowledgements 1 ms apart arrive every 20 ms. This is 100 000 bytes/s, but the mean
        // of L/T is 526 316.
        let mut tibet = Tibet::new(TibetFilter::default(), 1000);
        for k in 0..2000 {
            tibet.on_ack(&at(20 * k, 1000));
            tibet.on_ack(&at(20 * k + 1, 1000));
        }
        let estimate = bps(&tibet);
        assert!(estimate.abs_diff(800_000) < 8_000, "{estimate}");
    }
}
