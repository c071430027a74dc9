//! Measures one round: the packets that left since the target last changed, and their sending rate.
//!
//! ```text
//! sent      = 8·(B·(1 + lost per arrival) − b₀)/(last − first departure)       bit/s
//! B, b₀     bytes that arrived, and of the packet that left first
//! ```
//!
//! A rate from the first to the last packet needs no time window. Divided by 1 + trend, it is the
//! rate at which packets leave the bottleneck. The trend comes from all packets of the round,
//! because the delays of the first and the last packet jitter.

use whyloss::receiver::Arrival;
use whyloss::{Duration, Time};

#[derive(Clone, Debug)]
pub(crate) struct Round {
    departures: (Time, Time),
    /// The bytes that arrived, and the bytes of the packet that left first.
    pub(crate) bytes: f64,
    first: f64,
    pub(crate) arrived: u32,
}

impl Round {
    pub(crate) fn new() -> Self {
        Self {
            departures: (Time::MAX, Time::ZERO),
            bytes: 0.0,
            first: 0.0,
            arrived: 0,
        }
    }

    pub(crate) fn add(&mut self, arrival: &Arrival) {
        let size = f64::from(arrival.size);
        if arrival.sent < self.departures.0 {
            self.first = size;
        }
        self.departures.0 = self.departures.0.min(arrival.sent);
        self.departures.1 = self.departures.1.max(arrival.sent);
        self.bytes += size;
        self.arrived = self.arrived.saturating_add(1);
    }

    /// Returns the departure of the first packet.
    pub(crate) fn began(&self) -> Time {
        self.departures.0
    }

    /// Returns the time from the first to the last departure.
    pub(crate) fn span(&self) -> Duration {
        self.departures.1 - self.departures.0
    }

    /// Returns the rate in bit/s at which these packets left, with `lost` more packets per arrival.
    pub(crate) fn sent(&self, lost: f64) -> Option<f64> {
        let bits = 8.0 * (self.bytes * (1.0 + lost) - self.first);
        let span = self.span().as_secs_f64();
        (span > 0.0 && bits > 0.0).then(|| bits / span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three of four packets of 1,000 bytes arrived. They left over 30 ms.
    #[test]
    fn rate_by_hand() {
        let mut round = Round::new();
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        assert_eq!(round.sent(0.0), None);
        for ms in [10, 20, 40] {
            round.add(&Arrival::new(ms, at(ms), at(ms + 20), 1_000));
        }
        let sent = round.sent(1.0 / 3.0).expect("two departures");
        assert!((sent - 800e3).abs() < 1e-3, "{sent}");
        assert_eq!(
            (round.began(), round.span()),
            (at(10), Duration::from_millis(30))
        );
    }
}
