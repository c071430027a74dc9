//! Burst renewal: an alternating semi-Markov channel with a stated burst-length distribution
//! (CEN-27).
//!
//! ```text
//! bursts of lost packets:  P(length = k) = lengths[k−1],  mean B = Σ k·lengths[k−1]
//! good runs in between:    mean G = B·(1 − loss)/loss   packets, geometric on 1, 2, ..., or, with a coefficient of
//!                          variation c, a mixture of two geometrics that share the good packets equally:
//!                          weights w and 1 − w, start probabilities 2w/G and 2(1 − w)/G, 2w(1 − w) = 1/(c² + 1 + 1/G)
//! ```
//!
//! Cen, Cosman and Voelker (MMCN 2002, section 6.4) report that about one quarter of wireless loss
//! events are two packets long and very few are longer. A two-state chain cannot do that: its
//! bursts are geometric, and one quarter of length two forces one quarter of length three or more.
//! Therefore burst lengths have an explicit distribution. The good runs of a fading radio may have
//! a longer tail than a geometric distribution; the mixture covers those. The channel starts in
//! equilibrium, so the loss rate holds from the first packet.

use std::sync::Arc;

use super::ChannelError;
use super::error::probability;
use crate::random::Random;

/// Describes a channel with bursts of a stated length distribution. The good runs between them are
/// geometric or have a longer tail.
#[derive(Clone, Debug, PartialEq)]
pub struct BurstRenewal {
    /// The stationary loss rate, as a share of packets in [0, 1].
    pub loss: f64,
    /// `lengths[k−1]` is the probability that a burst is `k` packets long.
    pub lengths: Vec<f64>,
    /// The coefficient of variation of the good runs: standard deviation over mean. `None` means
    /// geometric runs, whose coefficient is √(1 − 1/G).
    pub good_run_cv: Option<f64>,
}

impl BurstRenewal {
    /// Returns the stand-in for the unavailable CDMA traces of Cen et al. (2002, Table 1) at this
    /// `loss` rate: 0.078, 0.031 or 0.010. One quarter of the bursts are two packets long, the
    /// others one; good runs are geometric (CEN-27).
    pub fn cen(loss: f64) -> Self {
        Self {
            loss,
            lengths: vec![0.75, 0.25],
            good_run_cv: None,
        }
    }

    /// Checks that the values describe a possible channel.
    ///
    /// # Errors
    /// Returns an error if a probability is outside [0, 1] or the probabilities of the lengths do
    /// not sum to 1 (within 1e-9). Also fails if the loss leaves no good packet between two bursts,
    /// or no mixture reaches `good_run_cv`.
    pub fn check(&self) -> Result<(), ChannelError> {
        probability("loss", self.loss)?;
        ChannelError::in_range(
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
        if let Some(cv) = self.good_run_cv {
            let mean = self.mean_good_run();
            let most = if mean < 2.0 { f64::NAN } else { 1000.0 };
            ChannelError::in_range(
                "good_run_cv",
                cv,
                libm::sqrt(1.0 - 1.0 / mean)..=most,
                "at least that of a geometric law, √(1 − 1/G), and at most 1000, with good runs of G ≥ 2 packets on average",
            )?;
        }
        Ok(())
    }

    /// Returns the mean number B of packets in a burst.
    pub fn mean_burst(&self) -> f64 {
        let lengths = self.lengths.iter().zip(1..);
        lengths.map(|(p, k)| f64::from(k) * p).sum()
    }

    /// Returns the mean length G of a good run in packets; infinite if no packet is lost.
    pub fn mean_good_run(&self) -> f64 {
        self.mean_burst() * (1.0 - self.loss) / self.loss
    }

    /// Returns the probability that `n` packets in a row are good: the first is good, and no burst
    /// starts in n − 1 steps. Each of the two distributions of good runs has half of the good
    /// packets.
    pub(super) fn clear_run(&self, n: u32) -> f64 {
        let clear = |start| libm::pow(1.0 - start, f64::from(n) - 1.0);
        let [often, seldom] = self.starts().1;
        (1.0 - self.loss) * f64::midpoint(clear(often), clear(seldom))
    }

    /// Returns the weight of the shorter good runs. Also returns the probabilities that a burst
    /// starts after a good packet of a shorter and of a longer run.
    pub(super) fn starts(&self) -> (f64, [f64; 2]) {
        let mean = self.mean_good_run();
        let Some(cv) = self.good_run_cv else {
            return (0.5, [1.0 / mean; 2]);
        };
        let spread = (1.0 - 2.0 / (cv * cv + 1.0 + 1.0 / mean)).max(0.0);
        let weight = f64::midpoint(1.0, libm::sqrt(spread));
        (weight, [2.0 * weight / mean, 2.0 * (1.0 - weight) / mean])
    }

    /// Returns P(length ≤ k) for k = 1, 2, ….
    pub(super) fn cumulative(&self) -> Vec<f64> {
        cumulate(self.lengths.iter().copied())
    }

    /// Returns P(remaining ≤ k) for k = 1, 2, …, where `remaining` counts the packets of a burst
    /// from a random one of its packets to its end: P(remaining = k) = P(length ≥ k)/B.
    pub(super) fn residual(&self) -> Vec<f64> {
        let mean = self.mean_burst();
        let mut at_least = 1.0;
        cumulate(self.lengths.iter().map(|p| {
            let weight = at_least / mean;
            at_least -= p;
            weight
        }))
    }
}

fn cumulate(weights: impl Iterator<Item = f64>) -> Vec<f64> {
    let sums = weights.scan(0.0, |sum, p| {
        *sum += p;
        Some(*sum)
    });
    sums.collect()
}

#[derive(Clone, Debug)]
pub(super) struct Bursts {
    /// The probabilities that a burst starts after a good packet of a shorter run and of a longer
    /// one.
    starts: [f64; 2],
    /// The weight of the shorter runs; `None` if all runs follow one distribution.
    mixture: Option<f64>,
    /// The index of the distribution that the current good run follows.
    law: usize,
    /// `P(length ≤ k)` for k = 1, 2, ...
    cumulative: Arc<[f64]>,
    state: State,
    random: Random,
}

/// The state after the last packet.
#[derive(Clone, Copy, Debug)]
enum State {
    /// The last packet was good.
    Good,
    /// The last packet was lost. Its burst has this many packets left; then one good packet
    /// follows.
    Burst(u32),
}

impl Bursts {
    pub(super) fn new(spec: &BurstRenewal, mut random: Random) -> Self {
        // The channel starts in equilibrium: it is in a burst with probability `loss`.
        let state = if random.chance(spec.loss) {
            State::Burst(draw(&spec.residual(), &mut random) - 1)
        } else {
            State::Good
        };
        let (weight, starts) = spec.starts();
        let mixture = spec.good_run_cv.map(|_| weight);
        Self {
            starts,
            mixture,
            law: usize::from(mixture.is_some() && random.chance(0.5)),
            cumulative: spec.cumulative().into(),
            state,
            random,
        }
    }

    #[inline]
    pub(super) fn corrupts(&mut self) -> bool {
        self.state = match self.state {
            State::Good if self.random.chance(self.starts[self.law]) => {
                State::Burst(draw(&self.cumulative, &mut self.random) - 1)
            }
            State::Good => State::Good,
            State::Burst(0) => {
                if let Some(weight) = self.mixture {
                    self.law = usize::from(!self.random.chance(weight));
                }
                State::Good
            }
            State::Burst(left) => State::Burst(left - 1),
        };
        matches!(self.state, State::Burst(_))
    }
}

/// Draws an index, counted from 1, with these cumulative probabilities.
pub(super) fn draw(cumulative: &[f64], random: &mut Random) -> u32 {
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
        for (loss, good_run) in [(0.078, 14.8), (0.031, 39.1), (0.010, 123.7)] {
            let spec = BurstRenewal::cen(loss);
            assert!((spec.mean_burst() - 1.25).abs() < 1e-12);
            assert!((spec.mean_good_run() - good_run).abs() < 0.05);
            assert!((1.0 - spec.clear_run(1) - loss).abs() < 1e-12);
        }
    }

    #[test]
    fn bursts_and_rate_follow_the_specification() {
        let spec = ChannelSpec::BurstRenewal(BurstRenewal {
            loss: 0.078,
            lengths: vec![0.70, 0.25, 0.04, 0.01],
            good_run_cv: None,
        });
        let lost = losses(&spec, 1, 400_000);
        // Renewal: variance of the count per packet is (Var(B)·G² + Var(G)·B²)/(B + G)³ = 0.103: σ
        // = 0.00051; 4 σ.
        assert!((rate(&lost) - 0.078).abs() < 0.0021);
        // There are about 23 000 bursts; 4 σ.
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
    fn good_runs_vary_as_asked() {
        let cv = 1.5;
        let spec = BurstRenewal {
            good_run_cv: Some(cv),
            ..BurstRenewal::cen(0.078)
        };
        let lost = losses(&ChannelSpec::BurstRenewal(spec.clone()), 1, 800_000);
        // Longer runs scatter the count more: Var(G)·B²/(B + G)³ is 0.196, σ 0.0005; 4 σ.
        assert!((rate(&lost) - 0.078).abs() < 0.002);
        let runs: Vec<f64> = lost
            .chunk_by(|a, b| a == b)
            .filter(|run| !run[0])
            .map(|run| run.len() as f64)
            .collect();
        let n = runs.len() as f64;
        let mean = runs.iter().sum::<f64>() / n;
        let variance = runs.iter().map(|run| (run - mean).powi(2)).sum::<f64>() / n;
        assert!((mean / spec.mean_good_run() - 1.0).abs() < 0.03, "{mean}");
        assert!((variance.sqrt() / mean / cv - 1.0).abs() < 0.05);
        // The share of three packets in a row that are good.
        let clear = lost.windows(3).filter(|w| !w.contains(&true)).count() as f64;
        let share = clear / (lost.len() - 2) as f64;
        assert!((share / spec.clear_run(3) - 1.0).abs() < 0.01, "{share}");
        // A geometric distribution is the mixture of two equal ones.
        let geometric = BurstRenewal {
            good_run_cv: Some(libm::sqrt(1.0 - 1.0 / spec.mean_good_run())),
            ..spec
        };
        let (weight, [a, b]) = geometric.starts();
        assert!((weight - 0.5).abs() < 1e-6 && (a - b).abs() < 1e-6);
    }

    #[test]
    fn extremes() {
        let none = ChannelSpec::BurstRenewal(BurstRenewal::cen(0.0));
        assert!(!losses(&none, 1, 1_000).contains(&true));
        let half = BurstRenewal {
            loss: 0.5,
            lengths: vec![1.0],
            good_run_cv: None,
        };
        // Lost and good packets alternate.
        let lost = losses(&ChannelSpec::BurstRenewal(half), 1, 100);
        assert!(lost.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
