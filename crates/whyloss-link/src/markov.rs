//! A link rate that follows a continuous-time Markov chain.
//!
//! ```text
//! state k       rate r_k for an exponential time of mean m_k; then one of the other states, with equal probability
//! share         π_k = m_k / Σ m, which is also the probability of starting in state k
//! mean rate     Σ π_k·r_k
//! departure     when all bits of the packet have left, at the rates until then
//! ```
//!
//! At a rate of 0, no bit leaves, and a partly sent packet waits.

use std::sync::Arc;

use thiserror::Error;
use whyloss::{Duration, Rate, Time};

use crate::random::Random;

/// The maximum number of states of a chain.
pub const MOST_STATES: usize = 64;

/// The shortest mean time in a state.
pub const SHORTEST: Duration = Duration::from_micros(100);

/// The longest mean time in a state.
pub const LONGEST: Duration = Duration::from_secs(1_000_000);

/// The states of a chain, each with its rate and the mean time in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkovRates(Arc<[(Rate, Duration)]>);

/// Explains why states do not form a chain.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum MarkovError {
    /// There are this many states: fewer than two, or more than [`MOST_STATES`].
    #[error("a chain has 2 to {MOST_STATES} states, found {0}")]
    States(usize),
    /// The mean time of this state, counted from 1, is too short or too long.
    #[error("the mean time in state {0} must be 100 µs to 1 000 000 s")]
    Mean(usize),
    /// The rates of all states are 0.
    #[error("no state has a rate above 0")]
    Silent,
}

impl MarkovRates {
    /// Builds a chain from its states, each with a rate and the mean time in the state.
    ///
    /// # Errors
    /// Returns an error if the number of states or a mean time is out of range, or if all rates are
    /// 0.
    pub fn new(states: Vec<(Rate, Duration)>) -> Result<Self, MarkovError> {
        if !(2..=MOST_STATES).contains(&states.len()) {
            return Err(MarkovError::States(states.len()));
        }
        let fits = |mean: &Duration| (SHORTEST..=LONGEST).contains(mean);
        if let Some(index) = states.iter().position(|(_, mean)| !fits(mean)) {
            return Err(MarkovError::Mean(index + 1));
        }
        if states.iter().all(|(rate, _)| rate.as_bps() == 0) {
            return Err(MarkovError::Silent);
        }
        Ok(Self(states.into()))
    }

    /// Returns the long-run mean rate, at least 1 bit/s.
    pub fn mean(&self) -> Rate {
        let total: i128 = self
            .0
            .iter()
            .map(|(_, mean)| i128::from(mean.as_nanos()))
            .sum();
        let bits = self.0.iter().map(|(rate, mean)| {
            // At most 64 terms of 2⁶⁴ · 2⁵⁰, so this never saturates.
            i128::from(rate.as_bps()).saturating_mul(i128::from(mean.as_nanos()))
        });
        let bits = bits.fold(0, i128::saturating_add) / total.max(1);
        Rate::from_bps(u64::try_from(bits).unwrap_or(u64::MAX).max(1))
    }

    /// Returns the highest rate of any state.
    pub fn highest(&self) -> Rate {
        let rates = self.0.iter().map(|&(rate, _)| rate);
        rates.max().unwrap_or(Rate::from_bps(1))
    }
}

/// The state of a chain.
#[derive(Clone, Debug)]
pub(crate) struct RateProcess {
    rates: MarkovRates,
    state: usize,
    /// When the chain leaves the state.
    until: Time,
    random: Random,
}

impl RateProcess {
    pub(crate) fn new(rates: &MarkovRates, mut random: Random) -> Self {
        let total: f64 = rates.0.iter().map(|(_, mean)| mean.as_secs_f64()).sum();
        let mut left = random.uniform() * total;
        let state = rates.0.iter().position(|(_, mean)| {
            left -= mean.as_secs_f64();
            left < 0.0
        });
        let mut process = Self {
            rates: rates.clone(),
            state: state.unwrap_or(0),
            until: Time::ZERO,
            random,
        };
        process.stay();
        process
    }

    /// Returns when the last bit of a packet of `size` bytes leaves. The first bit leaves at
    /// `start`, or later if the rate is 0. Starts must not decrease.
    pub(crate) fn departure(&mut self, start: Time, size: u32) -> Time {
        while self.until <= start {
            self.change();
        }
        let mut at = start;
        // In bits times 10⁹, so that a rate times a span in nanoseconds is a whole number.
        let mut left = u128::from(size) * 8 * 1_000_000_000;
        loop {
            let rate = u128::from(self.rates.0[self.state].0.as_bps());
            let span = (self.until - at).as_nanos().unsigned_abs();
            if left <= rate * u128::from(span) {
                let took = ((left + rate / 2) / rate).clamp(1, u128::from(span));
                return at + Duration::from_nanos(took as i64);
            }
            left -= rate * u128::from(span);
            at = self.until;
            if at == Time::MAX {
                return at;
            }
            self.change();
        }
    }

    fn change(&mut self) {
        let others = self.rates.0.len() as u64 - 1;
        self.state = (self.state + 1 + self.random.below(others) as usize) % self.rates.0.len();
        self.stay();
    }

    fn stay(&mut self) {
        let mean = self.rates.0[self.state].1.as_secs_f64();
        let stay = Duration::from_secs_f64(self.random.exponential(mean));
        self.until += stay.max(Duration::from_nanos(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Streams;

    fn chain(states: &[(u64, i64)]) -> MarkovRates {
        let state =
            |&(kbps, millis): &(u64, i64)| (Rate::from_kbps(kbps), Duration::from_millis(millis));
        MarkovRates::new(states.iter().map(state).collect()).expect("a chain")
    }

    fn process(rates: &MarkovRates) -> RateProcess {
        RateProcess::new(rates, Streams::new(3).stream("rate", 0))
    }

    #[test]
    fn the_mean_rate_by_hand() {
        // (8·1 + 2·2 + 0·1)/4.
        let rates = chain(&[(8_000, 1_000), (2_000, 2_000), (0, 1_000)]);
        assert_eq!(rates.mean(), Rate::from_mbps(3));
        assert_eq!(rates.highest(), Rate::from_mbps(8));
    }

    /// A saturated link carries the mean rate. The mean over a time S of an alternating process
    /// with exponential times has the variance 2·(r₁ − r₂)²·π₁·π₂·τ/S, τ = 1/(1/m₁ + 1/m₂).
    #[test]
    fn a_saturated_link_by_the_closed_form() {
        let rates = chain(&[(8_000, 30), (0, 10)]);
        let mut process = process(&rates);
        let (mut at, packets) = (Time::ZERO, 400_000);
        for _ in 0..packets {
            at = process.departure(at, 1_000);
        }
        let seconds = at.as_secs_f64();
        let found = f64::from(packets) * 8_000.0 / seconds;
        let variance = 2.0 * 8e6 * 8e6 * 0.75 * 0.25 * 0.0075 / seconds;
        let sigma = libm::sqrt(variance);
        assert!((found - 6e6).abs() < 4.0 * sigma, "{found} ± {sigma}");
    }

    /// Bits leave at the current rate: two halves of a packet take as long as the whole.
    #[test]
    fn halves_take_as_long_as_the_whole() {
        let rates = chain(&[(8_000, 3), (1_000, 2), (0, 1)]);
        let (mut whole, mut halves) = (process(&rates), process(&rates));
        let (mut at, mut half) = (Time::ZERO, Time::ZERO);
        for _ in 0..2_000 {
            at = whole.departure(at, 1_000);
            half = halves.departure(half, 500);
            half = halves.departure(half, 500);
        }
        // A departure is rounded to 1 ns at 8 Mbit/s; the same bits take 8 ns at 1 Mbit/s, and more
        // across a pause.
        let apart = (at - half).as_nanos().abs();
        assert!(apart < 1_000_000, "{apart}");
    }

    /// Packets 5 s apart find each state with its share of the time.
    #[test]
    fn states_are_found_by_their_shares() {
        let rates = chain(&[(8_000, 600), (2_000, 200)]);
        let mut process = process(&rates);
        let n = 40_000_u32;
        let slow = (0..n).filter(|&i| {
            let start = Time::from_nanos(u64::from(i) * 5_000_000_000);
            process.departure(start, 10) - start == Duration::from_micros(40)
        });
        let share = slow.count() as f64 / f64::from(n);
        // Samples 5 s apart are independent: this is 33 times the correlation time. The
        // transmission time is negligible.
        let sigma = libm::sqrt(0.25 * 0.75 / f64::from(n));
        assert!((share - 0.25).abs() < 4.0 * sigma + 0.001, "{share}");
    }

    #[test]
    fn what_is_no_chain_is_refused() {
        let state = |kbps, micros| (Rate::from_kbps(kbps), Duration::from_micros(micros));
        for (states, error) in [
            (vec![state(1, 1_000)], MarkovError::States(1)),
            (vec![state(1, 1_000); 65], MarkovError::States(65)),
            (vec![state(1, 1_000), state(2, 99)], MarkovError::Mean(2)),
            (vec![state(0, 1_000); 2], MarkovError::Silent),
        ] {
            assert_eq!(MarkovRates::new(states), Err(error));
        }
    }
}
