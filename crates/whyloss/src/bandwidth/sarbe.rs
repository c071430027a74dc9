//! SARBE, stable accurate rapid bandwidth estimate: the rate at which the *receiver* sent
//! acknowledgements.
//!
//! Le & Hong, "TCP BaLDE", IEICE Trans. Commun. E89-B(4), 2006, section 3.1 (BAL-2); the filter is
//! the stability filter of Kim & Noble's SANE (University of Michigan, CSE-TR-432-00).
//!
//! ```text
//! b_k  = L_k/(ts_k − ts_(k−1))                         (2)
//! U_k  = β·U_(k−1) + (1 − β)·|b_k − b_(k−1)|           (3)    β = 0.95
//! α    = U_k/max(U_(k−N), …, U_k)                      (4)    N = 8: of nine values, as printed
//! Bw_k = α·Bw_(k−1) + (1 − α)·b_k
//!
//! L_k  bytes acknowledged by the k-th acknowledgement       ts_k  s, its timestamp, on the receiver's clock
//! ```
//!
//! If U is the largest of the last nine, α = 1 and the sample is ignored. In a stable network, the
//! estimate follows the samples. Acknowledgements that queue on the way back keep their timestamps,
//! so ACK compression has no effect.
//!
//! Where the paper is silent: Bw_1 = b_1 with U = 0; α = 0 if all U are 0. Acknowledgements within
//! one tick of the receiver's clock, or with an earlier stamp, form one sample with the next
//! acknowledgement that has a later stamp. The first acknowledgement only starts the clock.
//! Duplicates are not new acknowledgements (section 3.2.1) and take no sample; the next cumulative
//! acknowledgement counts their data over the time since the last new one.
//! [`DuplicateAcks::Sample`] counts each as a segment, as Westwood does. Without timestamps there
//! is no estimate.

use super::{AckedCount, BandwidthEstimator, per_second, rate};
use crate::event::AckEvent;
use crate::{Rate, Time};

/// The gain of the old instability U.
const BETA: f64 = 0.95;
/// The number of earlier instabilities in the largest one.
const N: usize = 8;

/// Selects how duplicate acknowledgements are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum DuplicateAcks {
    /// Ignores duplicates: the next cumulative acknowledgement counts all bytes.
    #[default]
    Wait,
    /// Counts each duplicate as a segment, which the next cumulative acknowledgement does not count
    /// again.
    Sample,
}

/// SARBE (Le & Hong 2006): the rate at which the receiver sent acknowledgements, by its timestamps.
///
/// The sample is b = bytes acknowledged / difference of timestamps. Its weight in the mean is 1 −
/// U/U_max, so samples count little while they vary much. U is the mean change between samples
/// (gain 1/20), and U_max its largest of nine values.
#[derive(Clone, Debug, PartialEq)]
pub struct Sarbe {
    duplicates: DuplicateAcks,
    count: AckedCount,
    /// ts_(k−1); `None` before the first stamp.
    last: Option<Time>,
    /// The bytes acknowledged since then.
    pending: u64,
    /// The last sample b_(k−1), in bytes/s.
    sample: f64,
    /// U_k, U_(k−1), …, in bytes/s.
    instabilities: [f64; N + 1],
    /// Bw, in bytes/s; `None` before the first sample.
    estimate: Option<f64>,
}

impl Sarbe {
    /// Creates the estimator for segments of `segment_size` bytes.
    pub fn new(duplicates: DuplicateAcks, segment_size: u32) -> Self {
        Self {
            duplicates,
            count: AckedCount::new(segment_size, None),
            last: None,
            pending: 0,
            sample: 0.0,
            instabilities: [0.0; N + 1],
            estimate: None,
        }
    }

    #[inline]
    fn take_sample(&mut self, sample: f64) {
        let Some(before) = self.estimate else {
            self.sample = sample;
            self.estimate = Some(sample);
            return;
        };
        let change = libm::fabs(sample - self.sample);
        let instability = BETA * self.instabilities[0] + (1.0 - BETA) * change;
        self.instabilities.rotate_right(1);
        self.instabilities[0] = instability;
        let largest = self.instabilities.iter().copied().fold(0.0, f64::max);
        let alpha = if largest > 0.0 {
            instability / largest
        } else {
            0.0
        };
        self.estimate = Some(alpha * before + (1.0 - alpha) * sample);
        self.sample = sample;
    }
}

impl BandwidthEstimator for Sarbe {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        let counted = match self.duplicates {
            DuplicateAcks::Wait if ack.acked == 0 => return,
            DuplicateAcks::Wait => ack.acked,
            DuplicateAcks::Sample => self.count.count(ack),
        };
        let (Some(stamp), Some(last)) = (ack.receiver_stamp, self.last) else {
            if self.last.is_none() {
                self.last = ack.receiver_stamp;
            } else {
                self.pending = self.pending.saturating_add(counted);
            }
            return;
        };
        self.pending = self.pending.saturating_add(counted);
        if stamp > last {
            let bytes = core::mem::take(&mut self.pending);
            self.take_sample(per_second(bytes, stamp - last));
            self.last = Some(stamp);
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
    use super::super::tests::{at, bps, duplicate, stamped};
    use super::*;

    fn sarbe() -> Sarbe {
        Sarbe::new(DuplicateAcks::Wait, 1000)
    }

    #[test]
    fn by_hand() {
        let mut sarbe = sarbe();
        sarbe.on_ack(&stamped(0, 1000));
        assert_eq!(sarbe.estimate(), None);
        // The first sample sets the estimate to 100 000 bytes/s. An equal sample leaves U at 0, so
        // α = 0.
        sarbe.on_ack(&stamped(10, 1000));
        sarbe.on_ack(&stamped(20, 1000));
        assert_eq!(bps(&sarbe), 800_000);
        // For 200 000 bytes/s, U = 0.05·100 000 = 5000. This is the largest U, so α = 1 and the
        // sample is ignored.
        sarbe.on_ack(&stamped(25, 1000));
        assert_eq!(bps(&sarbe), 800_000);
        // A second sample of 200 000 has α = 0.95, which gives 105 000. A third has α = 0.9025,
        // which gives 114 262.5 bytes/s.
        sarbe.on_ack(&stamped(30, 1000));
        assert_eq!(bps(&sarbe), 840_000);
        sarbe.on_ack(&stamped(35, 1000));
        assert_eq!(bps(&sarbe), 914_100);
    }

    #[test]
    fn the_largest_of_nine_counts() {
        let mut sarbe = sarbe();
        for ms in [0, 10, 15] {
            sarbe.on_ack(&stamped(ms, 1000));
        }
        // The rate changes once. While U_max is the U of this change, α = 0.95^i; afterwards, α =
        // 0.95^8.
        for i in 1..=10 {
            let before = sarbe.estimate.unwrap();
            sarbe.on_ack(&stamped(15 + 5 * i, 1000));
            let alpha = (sarbe.estimate.unwrap() - 200_000.0) / (before - 200_000.0);
            let expected = 0.95_f64.powi(i.min(8) as i32);
            assert!((alpha - expected).abs() < 1e-9, "{i}: {alpha}");
        }
    }

    #[test]
    fn a_tick_is_one_sample() {
        // The clock ticks every 10 ms. Two acknowledgements arrive at 10 ms and one at 20 ms: 2000
        // bytes after the first one.
        let mut sarbe = sarbe();
        for ms in [10, 10, 20] {
            sarbe.on_ack(&stamped(ms, 1000));
        }
        assert_eq!(bps(&sarbe), 1_600_000);
        // An acknowledgement with an earlier stamp also waits for the next one.
        sarbe.on_ack(&stamped(15, 1000));
        assert_eq!(bps(&sarbe), 1_600_000);
        sarbe.on_ack(&stamped(30, 1000));
        assert_eq!(rate(sarbe.sample).as_bps(), 1_600_000);
    }

    #[test]
    fn duplicates_wait_or_are_segments() {
        let stamped_duplicate = |ms| AckEvent {
            receiver_stamp: Some(Time::from_nanos(ms * 1_000_000)),
            ..duplicate(ms)
        };
        // Three duplicates come 10 ms apart. One acknowledgement then covers four segments.
        for (duplicates, last) in [(DuplicateAcks::Wait, 40), (DuplicateAcks::Sample, 10)] {
            let mut sarbe = Sarbe::new(duplicates, 1000);
            sarbe.on_ack(&stamped(0, 1000));
            for ms in [10, 20, 30] {
                sarbe.on_ack(&stamped_duplicate(ms));
            }
            sarbe.on_ack(&stamped(40, 4000));
            assert_eq!(bps(&sarbe), 800_000);
            let since = 40 - last;
            assert_eq!(sarbe.estimate.is_some(), since < 40);
        }
    }

    #[test]
    fn no_stamps_no_estimate() {
        let mut sarbe = sarbe();
        for k in 0..10 {
            sarbe.on_ack(&at(k * 10, 1000));
        }
        assert_eq!(sarbe.estimate(), None);
    }
}
