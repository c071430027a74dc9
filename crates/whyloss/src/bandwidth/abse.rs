//! ABSE, adaptive bandwidth share estimation: Westwood's estimate with an interval and a filter
//! that adapt to congestion and to the variation of samples.
//!
//! Wang, Valla, Sanadidi, Gerla, "Adaptive bandwidth share estimation in TCP Westwood", GLOBECOM
//! 2002.
//!
//! ```text
//! Th_k = data acknowledged in the last RTT / RTT,   Th = ε·Th + (1 − ε)·Th_k             ε = 0.6
//! T_k  = RTT·(cwnd − Th·RTT_min)/cwnd, but at least Δ_k: the queue's share of the window
//! s_k  = data acknowledged in the last T_k / T_k
//! U_k  = β·U_(k−1) + (1 − β)·|s_k − s_(k−1)|                                             β = 0.6
//! τ_k  = RTT + N·RTT·U_k/U_max,   U_max the largest of the last N                        N = 10
//! Bw_k = α_k·Bw_(k−1) + (1 − α_k)·s_k,   α_k = max((2τ_k − Δ_k)/(2τ_k + Δ_k), 0)       Bw_1 = s_1
//!
//! Δ_k  s, since the acknowledgement before   RTT  s, smoothed with gain 1/8   data: acked_count.rs
//! ```
//!
//! The paper's text was not available. A later paper quotes ε, β, T_k and τ_k (SCITEPRESS 2004,
//! paper 13988, section 2.1). N and the span of U_max are not confirmed by a source. By our
//! choice, data counts as if it had arrived evenly since the previous acknowledgement. Intervals
//! that end between two acknowledgements are therefore not biased. The history keeps at most 30
//! points in time per round trip and interpolates between them.

use super::{AckedCount, BandwidthEstimator, rate};
use crate::event::AckEvent;
use crate::{Duration, Rate, Time};

/// The gains of the old throughput and of the old instability U.
const EPSILON: f64 = 0.6;
const BETA: f64 = 0.6;
/// The number of instabilities from which U_max is taken. τ is at most (1 + N)·RTT.
const N: usize = 10;

/// Adaptive bandwidth share estimation (Wang et al., GLOBECOM 2002): Westwood's estimate with an
/// interval and a filter that adapt to congestion.
///
/// Each sample is the rate over the last T = RTT·(cwnd − Th·RTT_min)/cwnd, with Th the throughput
/// in bytes/s. The filter's time constant grows from RTT to 11·RTT with the variation of the
/// samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Abse {
    count: AckedCount,
    history: History,
    /// RTT and RTT_min, in s.
    rtt: Option<(f64, f64)>,
    /// The throughput Th, in bytes/s.
    throughput: f64,
    /// The last sample s_(k−1), in bytes/s.
    sample: f64,
    /// U_k, U_(k−1), …, in bytes/s.
    instabilities: [f64; N],
    /// Bw, in bytes/s; `None` before the first sample.
    estimate: Option<f64>,
}

impl Abse {
    /// Creates the estimator for segments of `segment_size` bytes.
    pub fn new(segment_size: u32) -> Self {
        Self {
            count: AckedCount::new(segment_size, None),
            history: History::default(),
            rtt: None,
            throughput: 0.0,
            sample: 0.0,
            instabilities: [0.0; N],
            estimate: None,
        }
    }

    /// Updates the estimate with a sample, `since` seconds after the previous acknowledgement.
    fn take_sample(&mut self, since: f64, rtt: f64, min_rtt: f64, window: u64) {
        let recent = self.history.rate(rtt);
        let first = self.estimate.is_none();
        self.throughput = if first {
            recent
        } else {
            EPSILON * self.throughput + (1.0 - EPSILON) * recent
        };
        let window = window.max(1) as f64;
        let interval = rtt * (window - self.throughput * min_rtt) / window;
        let sample = self.history.rate(interval.max(since));
        if first {
            self.sample = sample;
        }
        let change = libm::fabs(sample - self.sample);
        let instability = BETA * self.instabilities[0] + (1.0 - BETA) * change;
        self.instabilities.rotate_right(1);
        self.instabilities[0] = instability;
        let largest = self.instabilities.iter().copied().fold(0.0, f64::max);
        let share = if largest > 0.0 {
            instability / largest
        } else {
            0.0
        };
        let twice_tau = 2.0 * rtt * (1.0 + N as f64 * share);
        let alpha = ((twice_tau - since) / (twice_tau + since)).max(0.0);
        let before = self.estimate.unwrap_or(sample);
        self.estimate = Some(alpha * before + (1.0 - alpha) * sample);
        self.sample = sample;
    }
}

impl BandwidthEstimator for Abse {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        if let Some(sample) = ack.rtt.filter(|&rtt| rtt > Duration::ZERO) {
            let sample = sample.as_secs_f64();
            let (rtt, min) = self.rtt.unwrap_or((sample, sample));
            self.rtt = Some((rtt + (sample - rtt) / 8.0, min.min(sample)));
        }
        let counted = self.count.count(ack);
        let apart = self.rtt.map_or(0.0, |(rtt, _)| rtt / POINTS_PER_RTT);
        let since = self.history.push(ack.now, counted, apart);
        if let Some((rtt, min_rtt)) = self.rtt
            && since > 0.0
        {
            self.take_sample(since, rtt, min_rtt, ack.window);
        }
    }

    fn on_mtu_change(&mut self, segment_size: u32) {
        self.count.resize(segment_size);
    }

    fn estimate(&self) -> Option<Rate> {
        self.estimate.map(rate)
    }
}

/// The number of points in time that [`History`] keeps.
const POINTS: usize = 32;
/// The number of points per round trip.
const POINTS_PER_RTT: f64 = 30.0;

/// The bytes acknowledged over time, for about the last round trip.
#[derive(Clone, Debug, PartialEq)]
struct History {
    /// The points in time with the bytes acknowledged by then. The oldest is at index `oldest`.
    points: [(Time, u64); POINTS],
    oldest: usize,
    known: usize,
    now: Time,
    total: u64,
}

impl Default for History {
    fn default() -> Self {
        Self {
            points: [(Time::ZERO, 0); POINTS],
            oldest: 0,
            known: 0,
            now: Time::ZERO,
            total: 0,
        }
    }
}

impl History {
    /// Records `bytes` acknowledged at `now` and returns the seconds since the previous call; 0 for
    /// the first. The previous time becomes a point if it is at least `apart` seconds after the
    /// latest point.
    fn push(&mut self, now: Time, bytes: u64, apart: f64) -> f64 {
        if self.known == 0 {
            self.points[0] = (now, 0);
            (self.now, self.known) = (now, 1);
            return 0.0;
        }
        let since = (now - self.now).as_secs_f64();
        if since > 0.0 {
            let latest = self.point(self.known - 1).0;
            if self.now > latest && (self.now - latest).as_secs_f64() >= apart {
                self.remember();
            }
            self.now = now;
        }
        self.total = self.total.saturating_add(bytes);
        since.max(0.0)
    }

    fn remember(&mut self) {
        let index = (self.oldest + self.known) % POINTS;
        self.points[index] = (self.now, self.total);
        if self.known < POINTS {
            self.known += 1;
        } else {
            self.oldest = (self.oldest + 1) % POINTS;
        }
    }

    fn point(&self, age: usize) -> (Time, u64) {
        self.points[(self.oldest + age) % POINTS]
    }

    /// Returns how many seconds ago a point is.
    fn ago(&self, age: usize) -> f64 {
        (self.now - self.point(age).0).as_secs_f64()
    }

    /// Returns the rate over the last `span` seconds, or over the known part of them, in bytes per
    /// second.
    fn rate(&self, span: f64) -> f64 {
        let whole = Duration::from_secs_f64(span);
        // Points with index `within` or higher are less than `span` ago.
        let (mut within, mut end) = (0, self.known);
        while within < end {
            let middle = usize::midpoint(within, end);
            if self.now - self.point(middle).0 >= whole {
                within = middle + 1;
            } else {
                end = middle;
            }
        }
        let (span, total) = if within == 0 {
            (self.ago(0), self.point(0).1 as f64)
        } else {
            let (early, early_total) = (self.ago(within - 1), self.point(within - 1).1 as f64);
            let (late, late_total) = if within < self.known {
                (self.ago(within), self.point(within).1 as f64)
            } else {
                (0.0, self.total as f64)
            };
            let share = (span - late) / (early - late);
            (span, late_total - share * (late_total - early_total))
        };
        if span > 0.0 {
            (self.total as f64 - total) / span
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{bps, measured};
    use super::*;
    use crate::event::AckEvent;

    fn with_window(ms: u64, window: u64) -> AckEvent {
        AckEvent {
            window,
            ..measured(ms, 1000, 100)
        }
    }

    #[test]
    fn by_hand() {
        let mut abse = Abse::new(1000);
        abse.on_ack(&with_window(0, 10_000));
        assert_eq!(abse.estimate(), None);
        // 1000 bytes in 20 ms: Th = 50 000 and T = 0.1·(10 000 − 5000)/10 000 = 50 ms. Only 20 ms
        // of T are known, so s = 50 000.
        abse.on_ack(&with_window(20, 10_000));
        assert_eq!(bps(&abse), 400_000);
        // 2000 bytes in 60 ms: Th = 0.6·50 000 + 0.4·33 333.3 = 43 333.3 and T = 0.1·(10 000 −
        // 4333.3)/10 000 = 56.67 ms. T covers 1000 bytes and 16.67/20 of 1000, so s = 32 352.94. U
        // = U_max = 0.4·17 647.06, so τ = 1.1 s, α = (2.2 − 0.04)/(2.2 + 0.04) = 0.964 285 7 and Bw
        // = 49 369.75 bytes/s.
        abse.on_ack(&with_window(60, 10_000));
        assert_eq!(bps(&abse), 394_958);
    }

    #[test]
    fn a_window_that_the_path_fills_is_sampled_ack_by_ack() {
        let mut abse = Abse::new(1000);
        for k in 0..200 {
            abse.on_ack(&with_window(10 * k, 1000));
        }
        // Th·RTT_min = 10 000 exceeds the window, so T = Δ. An acknowledgement after half of Δ is a
        // sample of twice the rate. U = U_max, so τ = 1.1 s, α = (2.2 − 0.005)/(2.2 + 0.005) and Bw
        // = 800 000·(1 + 0.004 535).
        assert_eq!(bps(&abse), 800_000);
        abse.on_ack(&with_window(1995, 1000));
        assert_eq!(rate(abse.sample).as_bps(), 1_600_000);
        assert_eq!(bps(&abse), 803_628);
    }

    #[test]
    fn the_past_is_remembered_in_points() {
        let mut history = History::default();
        for k in 0..=1000 {
            history.push(Time::from_nanos(k * 1_000_000), 500, 0.1 / POINTS_PER_RTT);
        }
        for span in [0.001, 0.01, 0.0375, 0.1] {
            let rate = history.rate(span);
            assert!((rate - 500_000.0).abs() < 1e-3, "{rate} in {span}");
        }
    }
}
