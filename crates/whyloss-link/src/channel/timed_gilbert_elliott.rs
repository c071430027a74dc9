//! The Gilbert–Elliott channel in continuous time.
//!
//! ```text
//! good and bad sojourns are exponential with means mean_good, mean_bad
//! π_bad = mean_bad / (mean_good + mean_bad)
//! P(bad at t+τ | bad at t) = π_bad + (1 − π_bad)·exp(−τ·(1/mean_good + 1/mean_bad))
//! loss rate = (1 − π_bad)·loss_good + π_bad·loss_bad
//! ```
//!
//! The channel draws the sojourns from a separate stream, not the state at each packet's time.
//! Fades therefore depend only on time: schemes compared under one seed meet the same fades. The
//! channel starts in equilibrium at time 0.

use whyloss::{Duration, Time};

use super::ChannelError;
use super::error::probability;
use crate::random::{Random, Streams};

/// The state is drawn anew after this many mean cycles without a packet. The old state has no
/// influence by then, and a sparse flow over a fast channel costs no time.
const FORGOTTEN: f64 = 10_000.0;

/// Describes a two-state Markov process in continuous time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedGilbertElliott {
    /// The mean time in the good state.
    pub mean_good: Duration,
    /// The mean time in the bad state.
    pub mean_bad: Duration,
    /// The probability that a packet is lost in the good state.
    pub loss_good: f64,
    /// The probability that a packet is lost in the bad state.
    pub loss_bad: f64,
}

impl TimedGilbertElliott {
    /// Checks that both means are positive and both losses are probabilities.
    ///
    /// # Errors
    /// Returns an error that names the first mean that is not positive, or the first loss outside
    /// [0, 1].
    pub fn check(&self) -> Result<(), ChannelError> {
        let mean = |name, mean: Duration| {
            ChannelError::in_range(
                name,
                mean.as_secs_f64(),
                1e-9..=f64::INFINITY,
                "a positive time, in seconds",
            )
        };
        mean("mean_good", self.mean_good)?;
        mean("mean_bad", self.mean_bad)?;
        probability("loss_good", self.loss_good)?;
        probability("loss_bad", self.loss_bad)
    }

    /// Returns the stationary share of lost packets, in [0, 1], for packets whose times are
    /// independent of the channel.
    pub fn loss_rate(&self) -> f64 {
        let bad = self.bad_share();
        (1.0 - bad) * self.loss_good + bad * self.loss_bad
    }

    fn bad_share(&self) -> f64 {
        let (good, bad) = (self.mean_good.as_secs_f64(), self.mean_bad.as_secs_f64());
        bad / (good + bad)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Process {
    spec: TimedGilbertElliott,
    bad: bool,
    /// When the current state ends.
    until: Time,
    sojourns: Random,
    losses: Random,
}

impl Process {
    pub(super) fn new(spec: TimedGilbertElliott, mut random: Random) -> Self {
        let mut process = Self {
            spec,
            bad: false,
            until: Time::ZERO,
            sojourns: Streams::new(random.bits()).stream("sojourn", 0),
            losses: random,
        };
        process.draw_afresh(Time::ZERO);
        process
    }

    pub(super) fn is_bad(&self) -> bool {
        self.bad
    }

    #[inline]
    pub(super) fn corrupts(&mut self, at: Time) -> bool {
        if at >= self.until {
            self.advance(at);
        }
        self.losses.chance(if self.bad {
            self.spec.loss_bad
        } else {
            self.spec.loss_good
        })
    }

    /// Walks through the sojourns that end by `at`.
    fn advance(&mut self, at: Time) {
        let cycle = self.spec.mean_good + self.spec.mean_bad;
        if (at - self.until).as_secs_f64() > FORGOTTEN * cycle.as_secs_f64() {
            self.draw_afresh(at);
        }
        while at >= self.until && self.until < Time::MAX {
            self.bad = !self.bad;
            let sojourn = self.sojourn();
            self.until += sojourn;
        }
    }

    /// Draws the state from the equilibrium at `at`. The rest of an exponential sojourn has the
    /// distribution of the whole.
    fn draw_afresh(&mut self, at: Time) {
        self.bad = self.sojourns.chance(self.spec.bad_share());
        self.until = at + self.sojourn();
    }

    fn sojourn(&mut self) -> Duration {
        let mean = if self.bad {
            self.spec.mean_bad
        } else {
            self.spec.mean_good
        };
        // At least a nanosecond, the clock's resolution, so that time advances.
        Duration::from_secs_f64(self.sojourns.exponential(mean.as_secs_f64()))
            .max(Duration::from_nanos(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: TimedGilbertElliott = TimedGilbertElliott {
        mean_good: Duration::from_millis(90),
        mean_bad: Duration::from_millis(10),
        loss_good: 0.0,
        loss_bad: 1.0,
    };

    /// Returns whether each packet at a multiple of `gap` ms is lost.
    fn lost_every(gap: u64, n: u64, seed: u64) -> Vec<bool> {
        let mut process = Process::new(SPEC, Streams::new(seed).stream("channel", 0));
        (0..n)
            .map(|i| process.corrupts(Time::from_nanos(i * gap * 1_000_000)))
            .collect()
    }

    #[test]
    fn transitions_are_exponential() {
        let lost = lost_every(5, 1_000_000, 1);
        let share = lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64;
        assert!((SPEC.loss_rate() - 0.1).abs() < 1e-15);
        // Correlation exp(−5/9) = 0.574 per packet inflates the variance 3.69 times: σ = 0.00058; 4
        // σ.
        assert!((share - 0.1).abs() < 0.0023);

        let pairs = lost.windows(2).filter(|pair| pair[0]);
        let (both, bad) = pairs.fold((0.0, 0.0), |(both, bad), pair| {
            (both + f64::from(pair[1]), bad + 1.0)
        });
        // 0.1 + 0.9·exp(−5·(1/90 + 1/10)) = 0.6164 from about 100 000 pairs; 4 σ.
        let expected = 0.1 + 0.9 * libm::exp(-5.0 / 9.0);
        assert!((both / bad - expected).abs() < 0.0065);
    }

    #[test]
    fn fades_do_not_depend_on_who_asks() {
        let sparse = lost_every(40, 500, 3);
        let dense = lost_every(10, 2_000, 3);
        let thinned: Vec<bool> = dense.into_iter().step_by(4).collect();
        assert_eq!(sparse, thinned);
        assert!(sparse.contains(&true));
    }

    #[test]
    fn long_silence_costs_nothing() {
        let spec = TimedGilbertElliott {
            mean_good: Duration::from_nanos(1),
            mean_bad: Duration::from_nanos(1),
            ..SPEC
        };
        let mut process = Process::new(spec, Streams::new(1).stream("channel", 0));
        for second in 0..1_000 {
            process.corrupts(Time::from_nanos(second * 1_000_000_000));
        }
        process.corrupts(Time::MAX);
        process.corrupts(Time::MAX);
    }
}
