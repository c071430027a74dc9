//! Packet trains: infers the capacity from a burst or a probe.
//!
//! ```text
//! train     packets in a row, each sent within 8·size/(1.25·target) of the one before: faster than the target
//! sent      = 8·(bytes − first)/(last − first departure)      received likewise, by arrivals, bit/s
//! shown     = min(sent, received), of at least 5 packets that took at least 15 ms to arrive
//! full      received < 0.8·sent: the train waited for itself, so that received is the capacity
//! ```
//!
//! The dispersion of a train is the oldest measure of a bottleneck (Dovrolis, Ramanathan & Moore,
//! ToN 12(6), 2004). Five packets and 15 ms are the minimum of a probe in libwebrtc
//! (`pacing/bitrate_prober.h`). A radio that delivers a few milliseconds of packets together stays
//! below both.

use whyloss::receiver::Arrival;
use whyloss::{Duration, Time};

const PACKETS: u32 = 5;
const SPAN: Duration = Duration::from_millis(15);

/// The capacity that the fastest train of a round shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shown {
    /// The rate, in bit/s.
    pub(crate) rate: f64,
    /// Whether the rate is the path's capacity.
    pub(crate) full: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Trains {
    departures: (Time, Time),
    arrivals: (Time, Time),
    bits: f64,
    packets: u32,
    shown: Option<Shown>,
}

impl Trains {
    /// Updates the train with an arrival, while the target is `target` bit/s.
    pub(crate) fn add(&mut self, arrival: &Arrival, target: f64) {
        let bits = 8.0 * f64::from(arrival.size);
        let gap = (arrival.sent - self.departures.1).as_secs_f64();
        if self.packets > 0 && gap >= 0.0 && gap * 1.25 * target <= bits {
            self.departures.1 = arrival.sent;
            self.arrivals.1 = self.arrivals.1.max(arrival.received);
            self.bits += bits;
            self.packets += 1;
        } else {
            self.close();
            self.departures = (arrival.sent, arrival.sent);
            self.arrivals = (arrival.received, arrival.received);
            (self.bits, self.packets) = (0.0, 1);
        }
    }

    fn close(&mut self) {
        let took = self.arrivals.1 - self.arrivals.0;
        if self.packets < PACKETS || took < SPAN {
            return;
        }
        let received = self.bits / took.as_secs_f64();
        // Packets sent at the same instant have no sending rate.
        let span = (self.departures.1 - self.departures.0).as_secs_f64();
        let sent = if span > 0.0 {
            self.bits / span
        } else {
            f64::INFINITY
        };
        let rate = sent.min(received);
        if self.shown.is_none_or(|shown| shown.rate < rate) {
            let full = received < 0.8 * sent;
            self.shown = Some(Shown { rate, full });
        }
    }

    /// Ends a round. Returns the capacity that its fastest train shows.
    pub(crate) fn end(&mut self) -> Option<Shown> {
        self.close();
        self.packets = 0;
        self.shown.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten packets of 1,000 bytes are sent every ms and arrive every 4 ms: 8 Mbit/s sent, 2 Mbit/s
    /// received.
    #[test]
    fn dispersion_by_hand() {
        let mut trains = Trains::default();
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        for k in 0..10 {
            trains.add(&Arrival::new(k, at(k), at(20 + 4 * k), 1_000), 1e6);
        }
        let shown = trains.end().expect("a train");
        assert!((shown.rate - 2e6).abs() < 1e-3 && shown.full, "{shown:?}");
        // Packets at the target rate are not a train.
        for k in 0..10 {
            trains.add(&Arrival::new(k, at(8 * k), at(8 * k), 1_000), 1e6);
        }
        assert_eq!(trains.end(), None);
    }
}
