//! The backlog of a window: how many of its segments wait in queues. Vegas's predictor and Veno
//! compare it with a threshold.
//!
//! ```text
//! B = (w/RTT_min − w/RTT)·RTT_min = w·(1 − RTT_min/RTT)
//! B ≥ b segments  ⇔  w·(RTT − RTT_min) ≥ b·SMSS·RTT             decided in integers
//!
//! w     bytes, the window         SMSS     bytes of a full segment
//! RTT   ns, see `RttOf`           RTT_min  ns, the smallest so far
//! ```
//!
//! Round-trip times of zero or less come from a coarse clock or a batch with one timestamp. They
//! are ignored, because with an RTT_min of zero the whole window would count as backlog. Round-trip
//! times above 73 years count as 73 years.

use core::cmp::Ordering;

use super::rounds::Rounds;
use crate::Duration;
use crate::event::AckEvent;

/// Selects the round-trip time that is compared with the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RttOf {
    /// The last round-trip time sample.
    Last,
    /// The samples smoothed with gain 1/8 (RFC 6298), starting at the first one.
    Smoothed,
    /// The smallest sample of the last complete round trip. During the first one, the smallest so
    /// far.
    Round,
}

/// Segments in thousandths, so that comparisons are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segments(u64);

impl Segments {
    const ONE: u64 = 1000;

    /// Rounds `segments` to the nearest thousandth; negative and NaN become zero.
    pub(super) fn new(segments: f64) -> Self {
        Self(libm::round(segments * Self::ONE as f64) as u64)
    }
}

/// The measurements from which the backlog of a window is computed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Backlog {
    of: RttOf,
    /// RTT_min, in ns; infinite before the first sample.
    min: u64,
    /// RTT, in eighths of a ns, so that smoothing keeps the remainder; zero before the first
    /// sample.
    rtt: u64,
    rounds: Rounds,
    /// The smallest sample of the current round trip, in ns.
    round_min: u64,
    /// Whether `rtt` is from a complete round trip.
    complete: bool,
}

impl Backlog {
    const EIGHTHS: u64 = 8;
    const NONE: u64 = u64::MAX;

    pub(super) fn new(of: RttOf) -> Self {
        Self {
            of,
            min: Self::NONE,
            rtt: 0,
            rounds: Rounds::default(),
            round_min: Self::NONE,
            complete: false,
        }
    }

    /// Updates the estimate with an acknowledgement; returns whether it had a round-trip time.
    #[inline]
    pub(super) fn on_ack(&mut self, ack: &AckEvent) -> bool {
        let sample = ack.rtt.filter(|&rtt| rtt > Duration::ZERO);
        if let Some(sample) = sample {
            let sample = sample.as_nanos().unsigned_abs();
            let sample = sample.min(u64::MAX / Self::EIGHTHS);
            self.min = self.min.min(sample);
            self.round_min = self.round_min.min(sample);
            self.rtt = match self.of {
                RttOf::Smoothed if self.rtt > 0 => self.rtt - self.rtt / 8 + sample,
                RttOf::Round if self.complete => self.rtt,
                RttOf::Round => self.round_min * Self::EIGHTHS,
                RttOf::Last | RttOf::Smoothed => sample * Self::EIGHTHS,
            };
        }
        if self.of == RttOf::Round && self.rounds.end_with(ack) && self.round_min < Self::NONE {
            self.rtt = self.round_min * Self::EIGHTHS;
            self.round_min = Self::NONE;
            self.complete = true;
        }
        sample.is_some()
    }

    /// Compares the backlog of `window` bytes with `segments`; `None` before the first round-trip
    /// time.
    #[inline]
    pub(super) fn compare(
        &self,
        window: u64,
        segment_size: u32,
        segments: Segments,
    ) -> Option<Ordering> {
        if self.rtt == 0 {
            return None;
        }
        // Thousandths of bytes; exact for windows below 18 petabytes.
        let window = window.saturating_mul(Segments::ONE);
        let limit = segments.0.saturating_mul(u64::from(segment_size));
        let queued = u128::from(window) * u128::from(self.queueing());
        Some(queued.cmp(&(u128::from(limit) * u128::from(self.rtt))))
    }

    /// Returns the backlog of `window` bytes, in segments; `None` before the first round-trip time.
    pub(super) fn segments(&self, window: u64, segment_size: u32) -> Option<f64> {
        (self.rtt > 0).then(|| {
            let window = window as f64 / f64::from(segment_size.max(1));
            window * self.queueing() as f64 / self.rtt as f64
        })
    }

    /// Returns RTT − RTT_min, in eighths of a ns.
    #[inline]
    fn queueing(&self) -> u64 {
        self.rtt
            .saturating_sub(self.min.saturating_mul(Self::EIGHTHS))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ack;
    use super::*;

    /// Returns the RTT in eighths of a ns after each of `samples` ns. Each acknowledges a segment
    /// of a window of four.
    fn rtts<const N: usize>(of: RttOf, samples: [i64; N]) -> [u64; N] {
        let mut backlog = Backlog::new(of);
        let mut acknowledged = 0;
        samples.map(|sample| {
            acknowledged += 1000;
            backlog.on_ack(&AckEvent {
                acknowledged,
                in_flight: 4000,
                ..ack(sample, 0)
            });
            backlog.rtt
        })
    }

    #[test]
    fn the_last_sample() {
        let rtts = rtts(RttOf::Last, [100, 0, 200, -5]);
        assert_eq!(rtts, [800, 800, 1600, 1600]);
    }

    #[test]
    fn the_smoothed_round_trip_time() {
        // The values are 100, 87.5 + 25 = 112.5, 98.4375 + 14 = 112.4375, and 98.3828125 + 10 =
        // 108.3828125, each rounded down to eighths.
        let rtts = rtts(RttOf::Smoothed, [100, 200, 112, 80]);
        assert_eq!(rtts, [800, 900, 900, 868]);
    }

    #[test]
    fn the_smallest_of_the_last_round() {
        // The first round trip ends with the first acknowledgement, the second one four segments
        // later, and so on.
        let rtts = rtts(RttOf::Round, [90, 80, 70, 80, 85, 100, 99, 98, 99, 50]);
        assert_eq!(rtts, [720, 720, 720, 720, 560, 560, 560, 560, 784, 784]);
    }

    #[test]
    fn a_round_without_samples_leaves_the_one_before() {
        let rtts = rtts(RttOf::Round, [0, 80, 70, 0, 0, 0, 0, 0, 0, 60]);
        assert_eq!(rtts, [0, 640, 560, 560, 560, 560, 560, 560, 560, 560]);
    }

    #[test]
    fn comparisons_are_exact() {
        let mut backlog = Backlog::new(RttOf::Last);
        let three = Segments::new(3.0);
        assert_eq!(backlog.compare(30_000, 1000, three), None);
        backlog.on_ack(&ack(90, 0));
        backlog.on_ack(&ack(100, 0));
        // 1 − 90/100, a tenth of the 30 segments, waits: 3 segments. A byte less is below 3, and a
        // byte more is above 3.
        let compare = |window| backlog.compare(window, 1000, three);
        assert_eq!(compare(29_999), Some(Ordering::Less));
        assert_eq!(compare(30_000), Some(Ordering::Equal));
        assert_eq!(compare(30_001), Some(Ordering::Greater));
        assert_eq!(backlog.segments(30_000, 1000), Some(3.0));
        // In segments of 500 bytes, the backlog is twice as large. 2.9 segments wait if the window
        // is 29 000 bytes.
        assert_eq!(backlog.compare(15_000, 500, three), Some(Ordering::Equal));
        let less = Segments::new(2.9);
        assert_eq!(backlog.compare(29_000, 1000, less), Some(Ordering::Equal));
    }
}
