//! Measures one round: the packets that left since the target last changed, and their sending rate.
//!
//! ```text
//! sent      = 8·(B·(1 + lost per arrival) − b₀)/(last − first departure)       bit/s
//! B, b₀     bytes that arrived, and of the packet that left first
//! pause     gap/(difference of the numbers of its packets) > max(1 s, 8·size/(target/4))
//! ```
//!
//! A round ends at a pause of the sender, because a rate across the pause says nothing about the
//! path. In an outage, packets leave but do not arrive, so their numbers go on.
//!
//! A rate from the first to the last packet needs no time window. Divided by 1 + trend, it is the
//! rate at which packets leave the bottleneck. The trend comes from all packets of the round,
//! because the delays of the first and the last packet jitter.

use whyloss::receiver::Arrival;
use whyloss::{Duration, Time};

/// The longest gap between departures that is never a pause.
const GAP: Duration = Duration::from_secs(1);
/// The share of the target below which longer gaps are pauses.
const SHARE: f64 = 0.25;

/// Returns whether the sender paused in a gap between packets with these numbers.
fn is_pause(gap: Duration, numbers: (u64, u64), size: u32, target: f64) -> bool {
    if gap <= GAP {
        return false;
    }
    let packets = numbers.1.saturating_sub(numbers.0).max(1) as f64;
    let slowest = 8.0 * f64::from(size) / (SHARE * target);
    gap.as_secs_f64() > packets * slowest.max(GAP.as_secs_f64())
}

#[derive(Clone, Debug)]
pub(crate) struct Round {
    departures: (Time, Time),
    /// The numbers of the packets that left first and last.
    numbers: (u64, u64),
    /// The bytes that arrived, and the bytes of the packet that left first.
    pub(crate) bytes: f64,
    first: f64,
    pub(crate) arrived: u32,
}

impl Round {
    pub(crate) fn new() -> Self {
        Self {
            departures: (Time::MAX, Time::ZERO),
            numbers: (0, 0),
            bytes: 0.0,
            first: 0.0,
            arrived: 0,
        }
    }

    pub(crate) fn add(&mut self, arrival: &Arrival) {
        let size = f64::from(arrival.size);
        if arrival.sent < self.departures.0 {
            (self.departures.0, self.numbers.0) = (arrival.sent, arrival.sequence);
            self.first = size;
        }
        if arrival.sent >= self.departures.1 {
            (self.departures.1, self.numbers.1) = (arrival.sent, arrival.sequence);
        }
        self.bytes += size;
        self.arrived = self.arrived.saturating_add(1);
    }

    /// Returns whether the sender paused after this round and before the packet.
    pub(crate) fn pauses_before(&self, arrival: &Arrival, target: f64) -> bool {
        let gap = arrival.sent - self.departures.1;
        let numbers = (self.numbers.1, arrival.sequence);
        self.arrived > 0 && is_pause(gap, numbers, arrival.size, target)
    }

    /// Returns whether the sender paused after the packet and before this round.
    pub(crate) fn pauses_after(&self, arrival: &Arrival, target: f64) -> bool {
        let gap = self.departures.0 - arrival.sent;
        let numbers = (arrival.sequence, self.numbers.0);
        self.arrived > 0 && is_pause(gap, numbers, arrival.size, target)
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

    #[test]
    fn pauses_are_gaps_without_packets_far_below_the_target() {
        let packet = |number, secs: u64| {
            let at = Time::from_nanos(secs * 1_000_000_000);
            Arrival::new(number, at, at, 1_200)
        };
        let (one, mut round) = (packet(7, 100), Round::new());
        assert!(!round.pauses_before(&one, 1e6) && !round.pauses_after(&one, 1e6));
        round.add(&one);
        let pauses = |number, secs, target| round.pauses_before(&packet(number, secs), target);
        assert_eq!([pauses(8, 101, 1e6), pauses(8, 102, 1e6)], [false, true]);
        // In an outage, 30 packets leave in 30 s.
        assert!(!pauses(37, 130, 1e6));
        // A packet takes 9.6 s at 1 kbit/s, and 38.4 s at a quarter of this.
        assert_eq!([pauses(8, 138, 1e3), pauses(8, 139, 1e3)], [false, true]);
        assert!(!pauses(8, 700, 0.0));
        let after = |number, secs| round.pauses_after(&packet(number, secs), 1e6);
        assert_eq!(
            [after(6, 99), after(6, 98), after(8, 101)],
            [false, true, false]
        );
    }
}
