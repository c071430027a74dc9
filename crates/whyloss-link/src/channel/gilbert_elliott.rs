//! The Gilbert–Elliott channel, indexed by packet (E. N. Gilbert 1960, E. O. Elliott 1963).
//!
//! A two-state chain steps once per packet. The packet is lost with the probability of the state
//! *after* the step:
//!
//! ```text
//! per packet:  good → bad with p_good_to_bad,  bad → good with p_bad_to_good      (first)
//!              lost with loss_good or loss_bad, after the state                   (then)
//! π_bad = p_good_to_bad / (p_good_to_bad + p_bad_to_good)
//! loss rate = (1 − π_bad)·loss_good + π_bad·loss_bad
//! ```
//!
//! The order of events and the start in the good state follow ns-2.35's `ErrorModel/MultiState`
//! with packet transitions, which makes results comparable. Each packet takes exactly two draws.

use super::ChannelError;
use super::error::probability;
use crate::random::Random;

/// Describes a two-state chain that steps once per packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// The probability that a packet finds the channel bad when the last one found it good.
    pub p_good_to_bad: f64,
    /// The probability that a packet finds the channel good when the last one found it bad.
    pub p_bad_to_good: f64,
    /// The probability that a packet is lost in the good state.
    pub loss_good: f64,
    /// The probability that a packet is lost in the bad state.
    pub loss_bad: f64,
}

impl GilbertElliott {
    /// Returns the chain that loses every packet in the bad state and none in the good state.
    /// `loss` is its stationary loss rate, and `stay` the probability that the packet after a lost
    /// one is also lost: `p_good_to_bad = loss·(1−stay)/(1−loss)`. With `stay = loss`, losses are
    /// independent.
    ///
    /// # Errors
    /// Returns an error if either value is outside [0, 1], or if this loss rate needs a larger
    /// `stay`. If `stay` is 1, `loss` must be 0 or 1.
    pub fn from_loss_and_stay(loss: f64, stay: f64) -> Result<Self, ChannelError> {
        probability("stay", stay)?;
        // p_good_to_bad ≤ 1 bounds the loss by 1/(2 − stay).
        super::ChannelError::in_range(
            "loss",
            loss,
            0.0..=1.0 / (2.0 - stay),
            "in [0, 1/(2 − stay)]",
        )?;
        if stay >= 1.0 && loss > 0.0 && loss < 1.0 {
            return Err(ChannelError::NeverLeaves { loss });
        }
        // If `loss` is 1, so is `stay`; `min` turns the quotient 0/0 into 1.
        let enter = loss * (1.0 - stay) / (1.0 - loss);
        Ok(Self {
            p_good_to_bad: enter.min(1.0),
            p_bad_to_good: 1.0 - stay,
            loss_good: 0.0,
            loss_bad: 1.0,
        })
    }

    /// Checks that all four values are probabilities.
    ///
    /// # Errors
    /// Returns an error that names the first value outside [0, 1].
    pub fn check(&self) -> Result<(), ChannelError> {
        probability("p_good_to_bad", self.p_good_to_bad)?;
        probability("p_bad_to_good", self.p_bad_to_good)?;
        probability("loss_good", self.loss_good)?;
        probability("loss_bad", self.loss_bad)
    }

    /// Returns the stationary share of lost packets, in [0, 1]. If the chain never leaves the good
    /// state, this is `loss_good`.
    pub fn loss_rate(&self) -> f64 {
        1.0 - self.clear_run(1)
    }

    /// Returns the stationary probability of `n` good packets in a row, `π·(D·P)ⁿ⁻¹·D·1`: P has the
    /// transition probabilities, and D, a diagonal matrix, those of survival.
    pub(super) fn clear_run(&self, n: u32) -> f64 {
        let (enter, leave) = (self.p_good_to_bad, self.p_bad_to_good);
        let bad = if enter > 0.0 {
            enter / (enter + leave)
        } else {
            0.0
        };
        let (mut good, mut bad) = (1.0 - bad, bad);
        for i in 0..n {
            if i > 0 {
                (good, bad) = (
                    good * (1.0 - enter) + bad * leave,
                    good * enter + bad * (1.0 - leave),
                );
            }
            good *= 1.0 - self.loss_good;
            bad *= 1.0 - self.loss_bad;
        }
        good + bad
    }
}

#[derive(Clone, Debug)]
pub(super) struct Chain {
    spec: GilbertElliott,
    bad: bool,
    random: Random,
}

impl Chain {
    pub(super) fn new(spec: GilbertElliott, random: Random) -> Self {
        Self {
            spec,
            bad: false,
            random,
        }
    }

    pub(super) fn is_bad(&self) -> bool {
        self.bad
    }

    #[inline]
    pub(super) fn corrupts(&mut self) -> bool {
        let spec = &self.spec;
        let (switch, [loss_good, loss_bad]) = if self.bad {
            (spec.p_bad_to_good, [spec.loss_bad, spec.loss_good])
        } else {
            (spec.p_good_to_bad, [spec.loss_good, spec.loss_bad])
        };
        let switches = self.random.chance(switch);
        self.bad ^= switches;
        self.random
            .chance(if switches { loss_bad } else { loss_good })
    }
}

#[cfg(test)]
mod tests {
    use super::super::ChannelSpec;
    use super::super::tests::{bursts, losses, rate};
    use super::*;

    #[test]
    fn loss_and_stay_give_the_chain_of_the_ns2_script() {
        let chain = GilbertElliott::from_loss_and_stay(0.078, 0.25).unwrap();
        // 0.078·0.75/0.922
        assert!((chain.p_good_to_bad - 0.063_449_023_861_171_37).abs() < 1e-15);
        assert!((chain.loss_rate() - 0.078).abs() < 1e-15);

        let lost = losses(&ChannelSpec::GilbertElliott(chain), 1, 400_000);
        // Correlation 0.25 − 0.0634 per step inflates the variance 1.46 times: σ = 0.00051; 4 σ.
        assert!((rate(&lost) - 0.078).abs() < 0.0021);
        // Bursts are geometric: P(1) = 0.75, P(2) = 0.1875, P(≥3) = 0.0625, of about 23 400; 4 σ.
        let [one, two, more] = bursts(&lost);
        let all = one + two + more;
        assert!((one / all - 0.75).abs() < 0.0114);
        assert!((two / all - 0.1875).abs() < 0.0103);
        assert!((more / all - 0.0625).abs() < 0.0064);
    }

    #[test]
    fn loss_follows_the_new_state() {
        // The chain alternates and starts good, so the first packet already finds it bad.
        let flip = GilbertElliott {
            p_good_to_bad: 1.0,
            p_bad_to_good: 1.0,
            loss_good: 0.0,
            loss_bad: 1.0,
        };
        assert_eq!(
            losses(&ChannelSpec::GilbertElliott(flip), 1, 4),
            [true, false, true, false]
        );
        assert!((flip.loss_rate() - 0.5).abs() < 1e-15);
    }

    #[test]
    fn loss_in_both_states() {
        let chain = GilbertElliott {
            p_good_to_bad: 0.02,
            p_bad_to_good: 0.08,
            loss_good: 0.01,
            loss_bad: 0.5,
        };
        assert!((chain.loss_rate() - (0.8 * 0.01 + 0.2 * 0.5)).abs() < 1e-15);
        let lost = losses(&ChannelSpec::GilbertElliott(chain), 1, 400_000);
        // Variance p(1−p) + 2·π_g·π_b·0.49²·0.9/0.1 per packet = 0.788: σ = 0.0014; 4 σ.
        assert!((rate(&lost) - 0.108).abs() < 0.0056);
    }

    #[test]
    fn certain_loss_stays() {
        let always = GilbertElliott::from_loss_and_stay(1.0, 1.0).unwrap();
        assert!((always.loss_rate() - 1.0).abs() < 1e-15);
    }
}
