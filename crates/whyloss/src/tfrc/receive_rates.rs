//! X_recv_set: the receive rates reported within the last two round trips (RFC 5348, 4.3).

use crate::{Duration, Time};

/// The number of rates remembered. There are rarely more than two reports per R. If there are, the
/// oldest is forgotten, which can only lower the limit.
const RATES: usize = 8;

/// The set, in bytes per second. An infinite rate means that there is no limit yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveRates {
    rates: [(Time, f64); RATES],
    len: usize,
}

impl ReceiveRates {
    /// Returns the initial set {∞}.
    pub(super) fn new(now: Time) -> Self {
        Self {
            rates: [(now, f64::INFINITY); RATES],
            len: 1,
        }
    }

    /// Returns the largest rate of the set, max(X_recv_set).
    pub(super) fn max(&self) -> f64 {
        self.rates[..self.len]
            .iter()
            .fold(0.0, |max, &(_, rate)| f64::max(max, rate))
    }

    /// "Update X_recv_set": adds `rate` and forgets rates older than two `rtt`.
    pub(super) fn update(&mut self, now: Time, rate: f64, rtt: Duration) {
        let mut kept = 0;
        for i in 0..self.len {
            if now - self.rates[i].0 <= rtt * 2 {
                self.rates[kept] = self.rates[i];
                kept += 1;
            }
        }
        if kept == RATES {
            self.rates.copy_within(1.., 0);
            kept -= 1;
        }
        self.rates[kept] = (now, rate);
        self.len = kept + 1;
    }

    /// "Maximize X_recv_set": keeps only the largest rate, with the time `now`. Ignores the initial
    /// infinity.
    pub(super) fn maximize(&mut self, now: Time, rate: f64) {
        let largest = self.rates[..self.len]
            .iter()
            .filter(|(_, rate)| rate.is_finite())
            .fold(rate, |max, &(_, rate)| max.max(rate));
        self.replace(now, largest);
    }

    /// Replaces all rates by `rate`, received at `now`.
    pub(super) fn replace(&mut self, now: Time, rate: f64) {
        self.rates[0] = (now, rate);
        self.len = 1;
    }

    /// Halves every rate of the set.
    pub(super) fn halve(&mut self) {
        for (_, rate) in &mut self.rates[..self.len] {
            *rate *= 0.5;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// Compares exactly, because the only computation is halving.
    fn is(a: f64, b: f64) -> bool {
        a.to_bits() == b.to_bits()
    }

    #[test]
    fn two_round_trips_are_remembered() {
        let mut set = ReceiveRates::new(at(0));
        set.update(at(100), 5.0, RTT);
        assert!(is(set.max(), f64::INFINITY));
        set.update(at(201), 3.0, RTT);
        assert!(is(set.max(), 5.0));
        set.update(at(301), 2.0, RTT);
        assert!(is(set.max(), 3.0));
    }

    #[test]
    fn maximizing_keeps_the_largest_but_infinity() {
        let mut set = ReceiveRates::new(at(0));
        set.maximize(at(100), 5.0);
        assert!(is(set.max(), 5.0));
        set.halve();
        set.maximize(at(200), 2.0);
        assert!(is(set.max(), 2.5));
        set.update(at(400), 1.0, RTT);
        assert!(is(set.max(), 2.5));
        set.update(at(401), 1.0, RTT);
        assert!(is(set.max(), 1.0));
    }

    #[test]
    fn a_full_set_forgets_the_oldest() {
        let mut set = ReceiveRates::new(at(0));
        for i in 0..RATES {
            set.update(at(1), (RATES - i) as f64, RTT);
        }
        assert!(is(set.max(), RATES as f64));
        set.update(at(1), 0.5, RTT);
        assert!(is(set.max(), RATES as f64 - 1.0));
    }
}
