//! Finds acknowledgements in a log whose packets have no frames, such as quinn's (quinn-proto
//! 0.11): its metrics tell how many bytes are in flight after each transmission and arrival.
//!
//! ```text
//! flight   the bytes in flight by the metrics
//! data     a sent packet that the flight includes. The metrics after a transmission rise by its
//!          packets, unless it is a bare acknowledgement. Probes of the MTU have no metrics; they
//!          are larger than bare acknowledgements
//! other    bytes in flight outside the data packets: packets of the handshake, or sent before the
//!          log began
//! acked    after an arrival: data in flight + other − flight. First `other` is acknowledged, then
//!          the oldest packets. A packet that is declared lost later was not among them; the sums
//!          then show that a later one was
//! delay    the metrics' latest round trip, less the peer's delay of this acknowledgement: smoothed
//!          = 7/8 of the previous one + 1/8 of this difference (RFC 9002 §5.3)
//! ```
//!
//! The order holds because a stack declares packets lost before it writes the metrics, so at most
//! the last few packets before an acknowledged one are still open.

use std::cmp::Reverse;

use serde_json::Value;
use whyloss::event::Detection;

use super::sender::{Sender, Trip};
use super::{real, whole};

/// The largest bare acknowledgement in bytes; a larger packet without metrics probes the MTU.
const BARE: u32 = 1200;
/// The maximum number of packets of one transmission.
const PENDING: usize = 1 << 10;
/// The ratio of a round trip in s to the time since a packet left above which its unit is ms.
const UNIT: f64 = 30.0;
/// The longest round trip in ns.
const LONGEST: u64 = 1_000_000_000_000;
/// The difference of two equal round trips in ns. Logs have times as 32-bit reals.
const NEAR: u64 = 20_000;

/// A packet that is perhaps data.
#[derive(Clone, Copy, Debug)]
struct Pending {
    at: u64,
    record: u64,
    number: u64,
    bytes: u32,
}

/// Where a log has acknowledgements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Source {
    #[default]
    Unknown,
    Frames,
    /// The metrics tell the bytes in flight, and packets have no frames.
    Metrics,
}

/// The metrics of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Metrics {
    source: Source,
    /// Whether the last packet was sent, and whether metrics ever followed a sent packet.
    sending: bool,
    follow: bool,
    flight: u64,
    other: u64,
    /// The packets sent since the last metrics, and the bytes of those found to be data.
    pending: Vec<Pending>,
    counted: u64,
    /// The packets declared lost since the last metrics. The acknowledgement that revealed these
    /// losses comes first.
    lost: Vec<(u64, u64, Detection)>,
    /// The time of the last arrival.
    arrival: Option<u64>,
    /// The metrics' round trips, in their unit.
    latest: Option<f64>,
    smoothed: Option<f64>,
}

impl Metrics {
    /// Returns whether acknowledgements must be inferred.
    pub(super) fn are_needed(&self) -> bool {
        self.source == Source::Metrics
    }

    /// Begins with an event about a packet: settles what no metrics followed, if the event shows
    /// that none will.
    pub(super) fn on_packet(&mut self, now: u64, name: &str, data: &Value, sent: &mut Sender) {
        if self.source != Source::Frames && data["frames"].is_array() {
            self.source = Source::Frames;
            self.lose(sent);
            for one in std::mem::take(&mut self.pending) {
                sent.on_sent(one.at, one.record, one.number, one.bytes);
            }
        }
        self.sending = name == "packet_sent";
        let sent_now = |one: &Pending| one.at == now && name == "packet_sent";
        let lost_now = |lost: &(u64, u64, Detection)| lost.0 == now && name == "packet_lost";
        if !self.pending.last().is_none_or(sent_now) || !self.lost.last().is_none_or(lost_now) {
            self.settle(sent);
        }
    }

    /// Records that the endpoint sends a packet.
    pub(super) fn on_sent(
        &mut self,
        at: u64,
        record: u64,
        number: u64,
        bytes: u32,
        sent: &mut Sender,
    ) {
        if self.pending.len() >= PENDING {
            self.settle(sent);
        }
        self.pending.push(Pending {
            at,
            record,
            number,
            bytes,
        });
    }

    /// Records that the endpoint receives a packet.
    pub(super) fn on_arrival(&mut self, now: u64) {
        self.arrival = Some(now);
    }

    /// Returns whether an event at this time follows from an arrival.
    pub(super) fn follows_arrival(&self, now: u64) -> bool {
        self.arrival == Some(now)
    }

    /// Records that the endpoint declares a packet lost.
    pub(super) fn on_lost(
        &mut self,
        now: u64,
        number: u64,
        detection: Detection,
        sent: &mut Sender,
    ) {
        if self.lost.len() >= PENDING {
            self.settle(sent);
        }
        sent.set_aside(number);
        self.lost.push((now, number, detection));
    }

    /// Decides on packets that no metrics followed, and tells of losses.
    pub(super) fn settle(&mut self, sent: &mut Sender) {
        self.lose(sent);
        for one in std::mem::take(&mut self.pending) {
            if one.bytes > BARE || !self.follow {
                self.count(one, sent);
            }
        }
    }

    fn lose(&mut self, sent: &mut Sender) {
        for (at, number, detection) in std::mem::take(&mut self.lost) {
            sent.on_lost(at, number, detection);
        }
    }

    fn count(&mut self, one: Pending, sent: &mut Sender) {
        self.counted += u64::from(one.bytes);
        sent.on_sent(one.at, one.record, one.number, one.bytes);
    }

    /// Handles an update of the metrics, which has only those that changed.
    pub(super) fn on_update(&mut self, now: u64, data: &Value, sent: &mut Sender) {
        let flight = data.get("bytes_in_flight").and_then(whole);
        if self.source == Source::Unknown && flight.is_some() {
            self.source = Source::Metrics;
        }
        if !self.are_needed() {
            return;
        }
        self.follow |= self.sending;
        let flight = flight.unwrap_or(self.flight);
        let rise = flight.saturating_sub(self.flight.saturating_add(self.counted));
        self.transmitted(rise, sent);
        self.flight = flight;
        self.counted = 0;
        let metric = |key| data.get(key).and_then(real).filter(|&ms| ms > 0.0);
        let (latest, smoothed) = (metric("latest_rtt"), metric("smoothed_rtt"));
        let before = self.smoothed;
        self.latest = latest.or(self.latest);
        self.smoothed = smoothed.or(self.smoothed);
        let all = self.other.saturating_add(sent.in_flight());
        self.other += flight.saturating_sub(all);
        let gone = all.saturating_sub(flight);
        let other = gone.min(self.other);
        self.other -= other;
        if self.follows_arrival(now) {
            let trip = |since: u64| self.trip(since, before, latest.is_some());
            sent.on_bytes(now, gone - other, trip);
        }
        self.lose(sent);
    }

    /// Decides which packets of a transmission are data, if the flight rises by these bytes because
    /// of it. The smallest ones are not.
    fn transmitted(&mut self, rise: u64, sent: &mut Sender) {
        let mut pending = std::mem::take(&mut self.pending);
        let mut bytes: u64 = pending.iter().map(|one| u64::from(one.bytes)).sum();
        if bytes > rise {
            pending.sort_unstable_by_key(|one| Reverse(one.bytes));
            while bytes > rise
                && let Some(bare) = pending.pop()
            {
                bytes -= u64::from(bare.bytes);
            }
            pending.sort_unstable_by_key(|one| one.number);
        }
        for one in pending {
            self.count(one, sent);
        }
    }

    /// Returns the round trip of the latest acknowledgement, if its newest packet left `since` ns
    /// ago.
    fn trip(&self, since: u64, before: Option<f64>, changed: bool) -> Trip {
        let (Some(latest), Some(smoothed)) = (self.latest, self.smoothed) else {
            return Trip::default();
        };
        // quinn writes seconds, and qlog means milliseconds.
        let is_seconds = latest * 1e9 < UNIT * (since.max(1)) as f64;
        let unit = if is_seconds { 1e9 } else { 1e6 };
        let whole = ((latest * unit) as u64).min(LONGEST);
        if !changed && whole.abs_diff(since) > NEAR {
            return Trip::default();
        }
        // The first round trip is the smoothed one as well.
        let net = before.filter(|_| smoothed.total_cmp(&latest).is_ne());
        let net = net.map_or(latest, |before| 8.0 * smoothed - 7.0 * before);
        Trip {
            whole: Some(whole),
            held: ((latest - net).max(0.0) * unit) as u64,
        }
    }

    /// Returns the memory in use, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.pending.capacity() * size_of::<Pending>()
            + self.lost.capacity() * size_of::<(u64, u64, Detection)>()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Transmissions of three packets and a bare acknowledgement fill the flight. Then each arrival
    /// acknowledges one packet, and a later one revokes every second acknowledgement.
    #[test]
    fn metrics_take_steps_in_proportion() {
        crate::steps::assert_linear(2_000, 100, |many| {
            let (mut metrics, mut sent) = (Metrics::default(), Sender::default());
            let mut update = |now, bytes: u64, lost: Option<u64>, packets: Option<u64>| {
                if let Some(first) = packets {
                    for number in first..first + 3 {
                        metrics.on_sent(now, number, number, 100, &mut sent);
                    }
                    metrics.on_sent(now, first, first + 3, 40, &mut sent);
                } else {
                    metrics.on_arrival(now);
                }
                if let Some(number) = lost {
                    metrics.on_lost(now, number, Detection::Duplicates, &mut sent);
                }
                metrics.on_update(now, &json!({ "bytes_in_flight": bytes }), &mut sent);
                sent.in_flight()
            };
            for n in 0..many {
                let bytes = 300 * (n + 1);
                assert_eq!(update(n, bytes, None, Some(4 * n)), bytes);
            }
            for n in 1..=many {
                let lost = (n % 2 == 0).then_some(4 * (n / 6) + (n / 2) % 3);
                update(many + n, 300 * many - 100 * n, lost, None);
            }
        });
    }
}
