//! The Bernoulli channel: loses each packet independently with probability `loss`.

use crate::random::Random;

#[derive(Clone, Debug)]
pub(super) struct Bernoulli {
    /// The loss probability in the integer form of [`Random::threshold`].
    threshold: u64,
    random: Random,
}

impl Bernoulli {
    pub(super) fn new(loss: f64, random: Random) -> Self {
        Self {
            threshold: Random::threshold(loss),
            random,
        }
    }

    #[inline]
    pub(super) fn corrupts(&mut self) -> bool {
        self.random.below_threshold(self.threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ChannelSpec;
    use super::super::tests::{bursts, losses, rate};

    #[test]
    fn losses_are_independent() {
        let lost = losses(&ChannelSpec::Bernoulli { loss: 0.1 }, 1, 200_000);
        // σ = √(0.1·0.9/200 000) = 0.00067; 4 σ.
        assert!((rate(&lost) - 0.1).abs() < 0.0027);
        // Geometric bursts: P(1) = 0.9, P(2) = 0.09, P(≥3) = 0.01, of about 18 000; 4 σ.
        let [one, two, more] = bursts(&lost);
        let all = one + two + more;
        assert!((one / all - 0.9).abs() < 0.009);
        assert!((two / all - 0.09).abs() < 0.0086);
        assert!((more / all - 0.01).abs() < 0.003);
    }
}
