//! The gradients of CARD and Tri-S: how the last window change affected the delay or the
//! throughput.
//!
//! Jain, "A delay-based approach for congestion avoidance", 1989 (CARD); Wang & Crowcroft, "A new
//! congestion control scheme: slow start and search (Tri-S)", 1991. Biaz & Vaidya use them as loss
//! predictors in "Distinguishing congestion losses from wireless transmission losses: a negative
//! result", 1998.
//!
//! ```text
//! NDG = (R_i − R_{i−1})/(R_i + R_{i−1}) · (W_i + W_{i−1})/(W_i − W_{i−1})      > 0   ⇒ congestion, else wireless
//! NTG = (T_i − T_{i−1})/(W_i − W_{i−1}) / (T_1/W_1),   T = W/R                 < 1/2 ⇒ congestion, else wireless
//!
//! W_i  bytes, the window when round trip i began
//! R_i  ns, its round-trip time: the last sample of the round trip
//! ```
//!
//! The formulas are from memory, because the text of Biaz & Vaidya was not available. Thresholds
//! and details need verification. They found both no better than chance; both serve here as
//! baselines.
//!
//! Choices:
//! - A round trip without a sample is skipped. A round trip with the same window as the one before
//!   has no gradient; the verdict stays, and the next round trip is compared with it.
//! - Before the first gradient, every loss is congestion.

use super::SenderClassifier;
use super::rounds::Rounds;
use crate::event::{AckEvent, LossEvent};
use crate::{Cause, Duration};

/// Classifies losses by CARD's gradient of the delay or Tri-S's gradient of the throughput.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    of: Of,
    threshold: f64,
    rounds: Rounds,
    /// The window when the current round trip began, if it is known.
    window: Option<u64>,
    /// The last round-trip time of the round.
    rtt: Option<Duration>,
    previous: Option<Round>,
    /// The first round-trip time, R_1 = W_1/T_1.
    first: Option<Duration>,
    congested: bool,
}

impl Gradient {
    /// The normalised delay gradient (NDG) above which a loss is congestion.
    pub const NDG: f64 = 0.0;
    /// The normalised throughput gradient (NTG) below which a loss is congestion.
    pub const NTG: f64 = 0.5;

    /// Creates NDG with the threshold of the literature, 0.
    pub fn ndg() -> Self {
        Self::delay(Self::NDG)
    }

    /// Creates NTG with the threshold of the literature, 1/2.
    pub fn ntg() -> Self {
        Self::throughput(Self::NTG)
    }

    /// Creates CARD's normalised delay gradient; congestion is above `threshold`.
    pub fn delay(threshold: f64) -> Self {
        Self::new(Of::Delay, threshold)
    }

    /// Creates Tri-S's normalised throughput gradient; congestion is below `threshold`.
    pub fn throughput(threshold: f64) -> Self {
        Self::new(Of::Throughput, threshold)
    }

    fn new(of: Of, threshold: f64) -> Self {
        Self {
            of,
            threshold,
            rounds: Rounds::default(),
            window: None,
            rtt: None,
            previous: None,
            first: None,
            congested: true,
        }
    }

    /// Returns whether the last gradient indicated congestion; true before the first.
    pub fn is_congested(&self) -> bool {
        self.congested
    }

    /// Compares a finished round trip with the one before.
    fn compare(&mut self, round: Round) {
        let first = *self.first.get_or_insert(round.rtt);
        let before = self.previous.replace(round);
        let Some(before) = before.filter(|before| before.window != round.window) else {
            return;
        };
        self.congested = match self.of {
            Of::Delay => before.delay_gradient(round) > self.threshold,
            Of::Throughput => before.throughput_gradient(round, first) < self.threshold,
        };
    }
}

impl SenderClassifier for Gradient {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        if let Some(rtt) = ack.rtt.filter(|&rtt| rtt > Duration::ZERO) {
            self.rtt = Some(rtt);
        }
        if self.rounds.end_with(ack) {
            let window = self.window.replace(ack.window).unwrap_or(ack.window);
            if let Some(rtt) = self.rtt.take() {
                self.compare(Round { window, rtt });
            }
        }
    }

    fn on_loss(&mut self, _: &LossEvent) -> Cause {
        Cause::congestion_if(self.congested)
    }
}

/// The quantity whose gradient is used.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Of {
    Delay,
    Throughput,
}

/// The window and the time of one round trip.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Round {
    window: u64,
    rtt: Duration,
}

impl Round {
    /// Returns NDG from this round trip to `next`, whose window differs.
    fn delay_gradient(self, next: Self) -> f64 {
        let [r0, r1] = [self.rtt, next.rtt].map(|rtt| rtt.as_nanos() as f64);
        let [w0, w1] = [self.window, next.window].map(|window| window as f64);
        let longer = (next.rtt - self.rtt).as_nanos() as f64;
        longer / (r1 + r0) * ((w1 + w0) / self.widening(next))
    }

    /// Returns NTG from this round trip to `next`, whose window differs; R_1 is `first`.
    fn throughput_gradient(self, next: Self, first: Duration) -> f64 {
        let throughput = |round: Self| round.window as f64 / round.rtt.as_nanos() as f64;
        let gradient = (throughput(next) - throughput(self)) / self.widening(next);
        gradient * first.as_nanos() as f64
    }

    /// Returns W_i − W_{i−1}, in integers before any rounding.
    fn widening(self, next: Self) -> f64 {
        (i128::from(next.window) - i128::from(self.window)) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, loss};
    use super::*;

    fn round(window: u64, rtt: i64) -> Round {
        Round {
            window,
            rtt: Duration::from_nanos(rtt),
        }
    }

    fn assert_is(gradient: f64, by_hand: f64) {
        assert!((gradient - by_hand).abs() < 1e-12, "{gradient}");
    }

    #[test]
    fn the_delay_gradient_by_hand() {
        // (120 − 80)/200 · 50 000/10 000 = 1. In the opposite direction, both factors change their
        // sign.
        let (narrow, wide) = (round(20_000, 80), round(30_000, 120));
        assert_is(narrow.delay_gradient(wide), 1.0);
        assert_is(wide.delay_gradient(narrow), 1.0);
        // The window is wider and the delay shorter: (60 − 100)/160 · 5 = −1.25.
        assert_is(round(20_000, 100).delay_gradient(round(30_000, 60)), -1.25);
        assert_is(round(20_000, 80).delay_gradient(round(30_000, 80)), 0.0);
    }

    #[test]
    fn the_throughput_gradient_by_hand() {
        let first = Duration::from_nanos(64);
        // On an empty path, throughput grows with the window, as from the start: (512 − 256)/(32
        // 768 − 16 384)·64 = 1.
        let (narrow, wide) = (round(16_384, 64), round(32_768, 64));
        assert_is(narrow.throughput_gradient(wide, first), 1.0);
        // On a full path, the delay grows with the window, but the throughput does not.
        assert_is(narrow.throughput_gradient(round(32_768, 128), first), 0.0);
        // In between, 49 152 more bytes add 65 536/128 − 256 = 256, a third of the first growth.
        let wider = round(65_536, 128);
        assert_is(narrow.throughput_gradient(wider, first), 1.0 / 3.0);
    }

    /// Returns the verdict after each round trip of (window, RTT), with one acknowledgement each.
    fn verdicts<const N: usize>(mut classifier: Gradient, rounds: [(u64, i64); N]) -> [Cause; N] {
        // A round trip's window is reported at its beginning, and its delay at its end.
        let mut acknowledged = 1000;
        let begin = |acknowledged, window, rtt| AckEvent {
            acknowledged,
            in_flight: 1000,
            ..ack(rtt, window)
        };
        classifier.on_ack(&begin(acknowledged, rounds[0].0, 0));
        core::array::from_fn(|index| {
            acknowledged += 1000;
            let next = rounds[(index + 1).min(N - 1)].0;
            classifier.on_ack(&begin(acknowledged, next, rounds[index].1));
            classifier.on_loss(&loss(0))
        })
    }

    #[test]
    fn verdicts_by_hand() {
        use Cause::{Congestion, Wireless};
        let rounds = [
            (10_000, 100),
            // The window grows, but the delay does not: neither gradient indicates congestion.
            (12_000, 100),
            // The window does not change, so the verdict stays although the delay changes.
            (12_000, 110),
            // The window grows by a sixth and the delay by a tenth: NDG = 11/231·13 > 0. T rises
            // from 109.091 to 115.702 per ns, so NTG = 6.612/2000·100 = 0.33.
            (14_000, 121),
            // Window and delay shrink: NDG > 0. T = 84.112, so NTG = 31.59/5000·100 = 0.63.
            (9_000, 107),
            // A round trip without a sample is skipped.
            (11_000, 0),
            // The window is wider than in the fourth round trip, and the delay is shorter: NDG < 0.
            // T = 120, so NTG = 35.89/3000·100 = 1.2.
            (12_000, 100),
        ];
        assert_eq!(
            verdicts(Gradient::delay(Gradient::NDG), rounds),
            [
                Congestion, Wireless, Wireless, Congestion, Congestion, Congestion, Wireless
            ]
        );
        assert_eq!(
            verdicts(Gradient::throughput(Gradient::NTG), rounds),
            [
                Congestion, Wireless, Wireless, Congestion, Wireless, Wireless, Wireless
            ]
        );
    }
}
