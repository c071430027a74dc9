//! Westwood's filter: the rate of acknowledgements through a low-pass filter.
//!
//! Casetti, Gerla, Mascolo, Sanadidi, Wang, "TCP Westwood", MobiCom 2001 and Wireless Networks 8,
//! 2002. [`Gain::PerAck`] is the form of Milenkoski & Stojcevska 2010, equations 3 and 4 (MIL-3).
//! [`Gain::Timed`] is the form of Le & Hong 2006, section 2 (BAL-1).
//!
//! ```text
//! b_k = d_k/Δ_k                                            d_k bytes: see acked_count.rs
//!
//! per ack   Bw_k = 19/21·Bw_(k−1) + 1/21·(b_k + b_(k−1))
//! timed     Bw_k = α_k·Bw_(k−1) + (1 − α_k)·(b_k + b_(k−1))/2,   α_k = (2τ − Δ_k)/(2τ + Δ_k)
//!           whenever τ/m passes without acknowledgement, b = 0 is sampled, with α = (2m − 1)/(2m + 1)
//!
//! Δ_k       s, since the sample before              Bw_0 = b_0 = 0
//! ```
//!
//! 19/21 is α for Δ = τ/10. Milenkoski & Stojcevska print 0.9047 and 0.0476. Their equation 4 has
//! Bwe instead of the new sample, which would then never be used. Le & Hong print only the step of
//! a virtual sample.
//!
//! Where the papers are silent, this file follows the UCLA module for ns-2 that both used
//! (`tcp-westwood.cc`, version 1.3). τ is 1 s, the filter starts from zero, and a count is at most
//! two segments. The remainder of an interval with virtual samples is the Δ of the real sample. A
//! remainder below 10 ms joins the virtual interval before it; the module drops it. The module has
//! m = 2, BAL-1 has 10. Both approximate the same exponential decay: 0.600 or 0.606 of an estimate
//! remain after τ/2. The first acknowledgement only starts the clock; the module takes a sample
//! from the start of the simulation.

use super::{AckedCount, BandwidthEstimator, per_second, rate};
use crate::event::AckEvent;
use crate::{Duration, Rate, Time};

/// Selects the weight of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Gain {
    /// A constant gain per acknowledgement, independent of time.
    PerAck,
    /// A gain that depends on the time since the last sample.
    Timed {
        /// The time constant τ; positive.
        tau: Duration,
        /// The number m of virtual samples per τ without acknowledgement; at least 2 (Nyquist).
        m: u32,
    },
}

/// The options of Westwood's filter.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WestwoodSpec {
    /// The weight of a sample.
    pub gain: Gain,
    /// The maximum number of segments that an acknowledgement counts for; `None` for no maximum.
    pub at_most: Option<u32>,
}

impl WestwoodSpec {
    /// The filter of Milenkoski & Stojcevska (MIL-3): a constant gain per acknowledgement, at most
    /// two segments per acknowledgement.
    pub const PER_ACK: Self = Self {
        gain: Gain::PerAck,
        at_most: Some(2),
    };
    /// The filter of Le & Hong (BAL-1): τ = 1 s, m = 10 virtual samples per τ, at most two segments
    /// per acknowledgement.
    pub const TIMED: Self = Self {
        gain: Gain::Timed {
            tau: Duration::from_secs(1),
            m: 10,
        },
        at_most: Some(2),
    };
    /// UCLA's filter by time: τ = 1 s, m = 2 virtual samples per τ.
    pub const UCLA_TIMED: Self = Self {
        gain: Gain::Timed {
            tau: Duration::from_secs(1),
            m: 2,
        },
        at_most: Some(2),
    };
}

/// The shortest remainder of an interval that counts as a separate sample.
const REMAINDER: Duration = Duration::from_millis(10);

/// Westwood's estimate (Casetti et al. 2001): the rate of acknowledgements through a low-pass
/// filter.
///
/// A sample is b = bytes/Δ, Δ seconds after the previous one; Bw = α·Bw + (1 − α)·(b + b_prev)/2. α
/// is 19/21 for [`Gain::PerAck`], and (2τ − Δ)/(2τ + Δ) for [`Gain::Timed`].
#[derive(Clone, Debug, PartialEq)]
pub struct WestwoodFilter {
    gain: Gain,
    count: AckedCount,
    /// The time of the previous sample; `None` before the first acknowledgement.
    last: Option<Time>,
    /// The bytes acknowledged at the time of the last sample, but not counted in it.
    pending: u64,
    /// b_(k−1), in bytes/s; 0 before the first sample.
    sample: f64,
    /// Bw_(k−1), in bytes/s; `None` before the first sample.
    estimate: Option<f64>,
}

impl WestwoodFilter {
    /// Creates the filter for segments of `segment_size` bytes.
    pub fn new(spec: WestwoodSpec, segment_size: u32) -> Self {
        let gain = match spec.gain {
            Gain::PerAck => Gain::PerAck,
            Gain::Timed { tau, m } => Gain::Timed {
                tau: tau.max(Duration::from_nanos(1)),
                m: m.max(2),
            },
        };
        Self {
            gain,
            count: AckedCount::new(segment_size, spec.at_most),
            last: None,
            pending: 0,
            sample: 0.0,
            estimate: None,
        }
    }

    /// Returns Bw after a sample of `bytes` in `span`.
    #[inline]
    fn filter(&mut self, bytes: u64, span: Duration) -> f64 {
        let before = self.estimate.unwrap_or(0.0);
        match self.gain {
            Gain::PerAck => {
                let (sample, last) = (per_second(bytes, span), self.sample);
                self.sample = sample;
                (19.0 * before + sample + last) / 21.0
            }
            Gain::Timed { tau, m } => {
                let (before, span) = self.idle(before, span, tau, m);
                let (sample, last) = (per_second(bytes, span), self.sample);
                self.sample = sample;
                let (twice_tau, span) = (2.0 * tau.as_nanos() as f64, span.as_nanos() as f64);
                ((twice_tau - span) * before + span * (sample + last)) / (twice_tau + span)
            }
        }
    }

    /// Filters the virtual samples of `span`. Returns Bw after them and the rest of the span.
    #[inline]
    fn idle(&mut self, before: f64, span: Duration, tau: Duration, m: u32) -> (f64, Duration) {
        let step = (tau.as_nanos() / i64::from(m)).max(1);
        if span.as_nanos() < step {
            return (before, span);
        }
        let (mut samples, mut left) = (span.as_nanos() / step, span.as_nanos() % step);
        if left < REMAINDER.as_nanos() {
            samples -= 1;
            left += step;
        }
        if samples == 0 {
            return (before, span);
        }
        let (decay, weight) = (f64::from(2 * m - 1), f64::from(2 * m + 1));
        // The first virtual sample is averaged with the last real one.
        let first = (decay * before + self.sample) / weight;
        self.sample = 0.0;
        let later = libm::pow(decay / weight, (samples - 1) as f64);
        (first * later, Duration::from_nanos(left))
    }
}

impl BandwidthEstimator for WestwoodFilter {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        let counted = self.count.count(ack);
        let Some(last) = self.last else {
            self.last = Some(ack.now);
            return;
        };
        self.pending = self.pending.saturating_add(counted);
        if ack.now > last {
            let bytes = core::mem::take(&mut self.pending);
            self.estimate = Some(self.filter(bytes, ack.now - last));
            self.last = Some(ack.now);
        }
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
    use super::super::tests::{at, bps, duplicate};
    use super::*;

    #[test]
    fn per_ack_by_hand() {
        let mut filter = WestwoodFilter::new(WestwoodSpec::PER_ACK, 1000);
        filter.on_ack(&at(5, 1000));
        assert_eq!(filter.estimate(), None);
        // 1000 bytes in 10 ms are 800 kbit/s, and 800/21 = 38.095 238. The next sample is twice
        // that rate: (19·38.095 + 1600 + 800)/21.
        filter.on_ack(&at(15, 1000));
        assert_eq!(bps(&filter), 38_095);
        filter.on_ack(&at(20, 1000));
        assert_eq!(bps(&filter), 148_753);
        // A duplicate counts one segment. The acknowledgement of both counts only the other one.
        filter.on_ack(&duplicate(25));
        assert_eq!(bps(&filter), 286_967);
        filter.on_ack(&at(30, 2000));
        assert_eq!(bps(&filter), 412_018);
    }

    #[test]
    fn timed_by_hand() {
        let mut filter = WestwoodFilter::new(WestwoodSpec::TIMED, 1000);
        filter.on_ack(&at(0, 1000));
        // Δ = 80 ms, b = 100 kbit/s: α = 1.92/2.08, (1 − α)/2 = 1/26, Bw = 100/26.
        filter.on_ack(&at(80, 1000));
        assert_eq!(bps(&filter), 3_846);
        // Δ = 20 ms, b = 400 kbit/s: α = 1.98/2.02, Bw = (1.98·3846.15 + 0.02·500 000)/2.02.
        filter.on_ack(&at(100, 1000));
        assert_eq!(bps(&filter), 8_720);
    }

    #[test]
    fn silence_is_sampled_as_zero() {
        let mut filter = WestwoodFilter::new(WestwoodSpec::TIMED, 1000);
        filter.on_ack(&at(0, 1000));
        filter.on_ack(&at(80, 1000));
        // Δ = 230 ms has two virtual samples: (19·3846.15 + 100 000)/21 = 8241.76, and 19/21 of
        // that, 7456.83. Then b = 1000 bytes in 30 ms, averaged with zero: (1.97·7456.83 + 0.03·266
        // 666.67)/2.03 = 11 177.3.
        filter.on_ack(&at(310, 1000));
        assert_eq!(bps(&filter), 11_177);
    }

    #[test]
    fn a_short_remainder_joins_the_interval_before_it() {
        let mut filter = WestwoodFilter::new(WestwoodSpec::TIMED, 1000);
        filter.on_ack(&at(0, 1000));
        filter.on_ack(&at(80, 1000));
        // Δ = 205 ms has one virtual sample, 8241.76. Then b = 8000 bits in 105 ms = 76 190.48:
        // (1.895·8241.76 + 0.105·76 190.48)/2.105.
        filter.on_ack(&at(285, 1000));
        assert_eq!(bps(&filter), 11_220);
    }

    #[test]
    fn acknowledgements_of_one_instant_are_one_sample() {
        let [mut apart, mut together] =
            [WestwoodSpec::PER_ACK; 2].map(|spec| WestwoodFilter::new(spec, 1000));
        for filter in [&mut apart, &mut together] {
            filter.on_ack(&at(0, 1000));
            filter.on_ack(&at(10, 1000));
        }
        apart.on_ack(&at(20, 2000));
        together.on_ack(&at(10, 1000));
        together.on_ack(&at(20, 1000));
        assert_eq!(bps(&apart), bps(&together));
    }
}
