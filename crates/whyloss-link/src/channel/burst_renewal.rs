//! Burst renewal: an alternating semi-Markov channel with a stated burst-length distribution (CEN-27).
//!
//! ```text
//! bursts of lost packets:  P(length = k) = lengths[k−1],  mean B = Σ k·lengths[k−1]
//! good runs in between:    geometric on 1, 2, ...,        mean G = B·(1 − loss)/loss   packets
//! ```
//!
//! Cen, Cosman and Voelker (MMCN 2002, section 6.4) report that about one quarter of wireless loss events are two
//! packets long and very few are longer. A two-state chain cannot do that: its bursts are geometric, and one quarter of
//! length two forces one quarter of length three or more. Hence the explicit distribution. The channel starts in
//! equilibrium, so the loss rate holds from the first packet.

use std::sync::Arc;

use super::ChannelError;
use super::error::{in_range, probability};
use crate::random::Random;

/// Bursts of a stated length distribution between geometric good runs.
#[derive(Clone, Debug, PartialEq)]
pub struct BurstRenewal {
    /// The stationary loss rate.
    pub loss: f64,
    /// `lengths[k−1]` is the probability that a burst is `k` packets long.
    pub lengths: Vec<f64>,
}

impl BurstRenewal {
    /// The stand-in for the unavailable CDMA traces of Cen et al. at this `loss` rate (their Table 1: 0.078, 0.031 or
    /// 0.010): one quarter of bursts two packets long, one in twenty longer, mean 1.36 (CEN-27).
    pub fn cen(loss: f64) -> Self {
        Self {
            loss,
            lengths: vec![0.70, 0.25, 0.04, 0.01],
        }
    }

    /// Refuses values that no channel can have.
    ///
    /// # Errors
    /// If a probability is none, the lengths' do not sum to 1 (within 1e-9), or the loss leaves no room for the good
    /// packet that parts two bursts.
    pub fn check(&self) -> Result<(), ChannelError> {
        probability("loss", self.loss)?;
        in_range(
            "lengths",
            self.lengths.len() as f64,
            1.0..=65_536.0,
            "1 to 65536 probabilities",
        )?;
        for &p in &self.lengths {
            probability("a burst length's probability", p)?;
        }
        let sum: f64 = self.lengths.iter().sum();
        if (sum - 1.0).abs() > 1e-9 {
            return Err(ChannelError::BurstLengthSum { sum });
        }
        let mean = self.mean_burst();
        let limit = mean / (mean + 1.0);
        if self.loss > limit {
            return Err(ChannelError::TooMuchLoss {
                loss: self.loss,
                limit,
            });
        }
        Ok(())
    }

    /// Mean burst length B in packets.
    pub fn mean_burst(&self) -> f64 {
        let lengths = self.lengths.iter().zip(1..);
        lengths.map(|(p, k)| f64::from(k) * p).sum()
    }

    /// Mean good run G in packets; infinite without loss.
    pub fn mean_good_run(&self) -> f64 {
        self.mean_burst() * (1.0 - self.loss) / self.loss
    }

    /// The first packet good, then n − 1 times no burst starts.
    pub(super) fn clear_run(&self, n: u32) -> f64 {
        let start = 1.0 / self.mean_good_run();
        (1.0 - self.loss) * libm::pow(1.0 - start, f64::from(n) - 1.0)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Bursts {
    /// Probability that a burst starts after a good packet, 1/G.
    start: f64,
    /// `P(length ≤ k)` for k = 1, 2, ...
    cumulative: Arc<[f64]>,
    state: State,
    random: Random,
}

/// What the last packet left behind.
#[derive(Clone, Copy, Debug)]
enum State {
    /// It was good.
    Good,
    /// It was lost, and so many more of its burst are to come; then one good packet for certain.
    Burst(u32),
}

impl Bursts {
    pub(super) fn new(spec: &BurstRenewal, mut random: Random) -> Self {
        let cumulate = |weights: &mut dyn Iterator<Item = f64>| -> Arc<[f64]> {
            weights
                .scan(0.0, |sum, p| {
                    *sum += p;
                    Some(*sum)
                })
                .collect()
        };
        // Equilibrium before the first packet: in a burst with probability `loss`, and then with k packets left, this
        // one included, with probability P(length ≥ k)/B.
        let state = if random.chance(spec.loss) {
            let mean = spec.mean_burst();
            let mut at_least = 1.0;
            let residual = cumulate(&mut spec.lengths.iter().map(|p| {
                let weight = at_least / mean;
                at_least -= p;
                weight
            }));
            State::Burst(draw(&residual, &mut random) - 1)
        } else {
            State::Good
        };
        Self {
            start: 1.0 / spec.mean_good_run(),
            cumulative: cumulate(&mut spec.lengths.iter().copied()),
            state,
            random,
        }
    }

    #[inline]
    pub(super) fn corrupts(&mut self) -> bool {
        self.state = match self.state {
            State::Good if self.random.chance(self.start) => {
                State::Burst(draw(&self.cumulative, &mut self.random) - 1)
            }
            State::Good | State::Burst(0) => State::Good,
            State::Burst(left) => State::Burst(left - 1),
        };
        matches!(self.state, State::Burst(_))
    }
}

/// An index from 1 on with these cumulative probabilities.
fn draw(cumulative: &[f64], random: &mut Random) -> u32 {
    let u = random.uniform();
    let beyond = cumulative.iter().position(|&c| u < c);
    // The sum may fall short of 1 by a rounding error.
    beyond.map_or_else(|| cumulative.len().max(1), |i| i + 1) as u32
}

#[cfg(test)]
mod tests {
    use super::super::ChannelSpec;
    use super::super::tests::{bursts, losses, rate};
    use super::*;

    #[test]
    fn cen_runs_are_as_long_as_the_requirement_says() {
        for (loss, good_run) in [(0.078, 16.1), (0.031, 42.5), (0.010, 134.6)] {
            let spec = BurstRenewal::cen(loss);
            assert!((spec.mean_burst() - 1.36).abs() < 1e-12);
            assert!((spec.mean_good_run() - good_run).abs() < 0.05);
            assert!((1.0 - spec.clear_run(1) - loss).abs() < 1e-12);
        }
    }

    #[test]
    fn bursts_and_rate_follow_the_specification() {
        let spec = ChannelSpec::BurstRenewal(BurstRenewal::cen(0.078));
        let lost = losses(&spec, 1, 400_000);
        // Renewal: variance of the count per packet is (Var(B)·G² + Var(G)·B²)/(B + G)³ = 0.103: σ = 0.00051; 4 σ.
        assert!((rate(&lost) - 0.078).abs() < 0.0021);
        // Of about 23 000 bursts; 4 σ.
        let counts: [f64; 5] = bursts(&lost);
        let all: f64 = counts.iter().sum();
        for (count, expected) in counts.into_iter().zip([0.70, 0.25, 0.04, 0.01, 0.0]) {
            let sigma = libm::sqrt(expected * (1.0 - expected) / all);
            assert!((count / all - expected).abs() <= 4.0 * sigma);
        }
        // Good runs are geometric on 1, 2, ...: P(run = 1) = 1/G.
        let runs = || lost.chunk_by(|a, b| a == b).filter(|run| !run[0]);
        let ones = runs().filter(|run| run.len() == 1).count() as f64 / runs().count() as f64;
        let expected = 0.078 / (1.36 * 0.922);
        assert!((ones - expected).abs() < 4.0 * libm::sqrt(expected * 0.94 / all));
    }

    #[test]
    fn extremes() {
        let none = ChannelSpec::BurstRenewal(BurstRenewal::cen(0.0));
        assert!(!losses(&none, 1, 1_000).contains(&true));
        let half = BurstRenewal {
            loss: 0.5,
            lengths: vec![1.0],
        };
        // One lost, one good, for ever.
        let lost = losses(&ChannelSpec::BurstRenewal(half), 1, 100);
        assert!(lost.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn impossible_distributions_are_refused() {
        let check = |loss, lengths: &[f64]| {
            let lengths = lengths.to_vec();
            BurstRenewal { loss, lengths }.check().unwrap_err()
        };
        assert_eq!(
            check(0.1, &[0.5, 0.25]),
            ChannelError::BurstLengthSum { sum: 0.75 }
        );
        assert_eq!(
            check(0.6, &[1.0]),
            ChannelError::TooMuchLoss {
                loss: 0.6,
                limit: 0.5
            }
        );
        assert!(matches!(
            check(0.1, &[]),
            ChannelError::OutOfRange {
                name: "lengths",
                ..
            }
        ));
        assert!(matches!(
            check(f64::NAN, &[1.0]),
            ChannelError::OutOfRange { name: "loss", .. }
        ));
        check(0.1, &[1.5, -0.5]);
    }
}
