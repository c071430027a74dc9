//! Follows the packets that a QUIC endpoint sent: their acknowledgements, and those declared lost.
//! Numbers are used once.
//!
//! ```text
//! lost        an unacknowledged packet that the endpoint's log declares lost. In a log that
//!             declares none: a packet that left two smoothed round trips ago or more, when a
//!             number at least three higher is acknowledged
//! presumed    an acknowledgement inferred from metrics; a later loss of the packet revokes it
//! spurious    a packet that was declared lost and is acknowledged later
//! delay       from a packet's departure to the first acknowledgement with its number as the
//!             largest, less the time for which the peer held that acknowledgement, unless the
//!             result were below the shortest delay so far (RFC 9002 §5.3)
//! recovery    begins with the loss of a packet that left after the previous recovery began, and
//!             ends when a packet that left after this beginning is acknowledged (RFC 9002 §7.3.2);
//!             it is one loss event
//! ```

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use whyloss::event::{AckEvent, Detection, LossEvent};
use whyloss::{Duration, Time};

use crate::classifiers::Senders;
use crate::delay::Delays;
use crate::ledger::Ledger;
use crate::loss::{Event, Evidence, Loss, Side, Votes};
use crate::rates::Rates;
use crate::steps::step;

/// The maximum number of packets in flight.
const WAITING: usize = 1 << 16;
/// The maximum number of lost packets that may still turn out to have arrived, and of those presumed
/// to have arrived that may still turn out to be lost.
const DOUBTED: usize = 1 << 10;
/// The packet threshold of RFC 9002.
const OVERTAKEN: u64 = 3;

#[derive(Clone, Copy, Debug)]
struct Packet {
    number: u64,
    at: u64,
    bytes: u32,
    /// The number of bytes sent before the packet.
    offset: u64,
    order: u64,
    record: u64,
    state: State,
}

/// The state of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The packet is in flight.
    Open,
    Acked,
    /// The packet was declared lost, and no acknowledgement of it will count.
    Lost,
}

/// The time from a packet's departure to its acknowledgement, in ns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trip {
    /// The whole time, if known.
    pub(super) whole: Option<u64>,
    /// The part for which the peer held the acknowledgement.
    pub(super) held: u64,
}

/// The packets of one number space.
#[derive(Clone, Debug, Default)]
pub(super) struct Sender {
    /// The packets by number; settled ones at the front are removed.
    waiting: VecDeque<Packet>,
    /// The numbers of the packets in flight.
    open: BTreeSet<u64>,
    /// The bytes in flight.
    in_flight: u64,
    /// The packets whose presumed acknowledgement may still be revoked, by number.
    presumed: BTreeMap<u64, Packet>,
    /// The losses that may still be revoked, by number.
    doubted: BTreeMap<u64, Loss>,
    offset: u64,
    order: u64,
    largest_acked: Option<u64>,
    /// Whether the log reports losses.
    told: bool,
    /// The start of the latest recovery, and its event.
    recovery: Option<(u64, Option<u32>)>,
    recovering: bool,
    window: Option<u64>,
    latest: Option<u64>,
    smoothed: Option<f64>,
    senders: Option<Box<Senders>>,
    pub(super) largest: u32,
    pub(super) ledger: Ledger,
    pub(super) delays: Delays,
    pub(super) rates: Rates,
    pub(super) delivered: u64,
    pub(super) span: Option<(u64, u64)>,
}

impl Sender {
    /// Records that the endpoint sends a packet that elicits an acknowledgement.
    pub(super) fn on_sent(&mut self, now: u64, record: u64, number: u64, bytes: u32) {
        if self
            .waiting
            .back()
            .is_some_and(|last| number <= last.number)
        {
            self.ledger.counts.restarts += 1;
            return;
        }
        self.order += 1;
        self.waiting.push_back(Packet {
            number,
            at: now,
            bytes,
            offset: self.offset,
            order: self.order,
            record,
            state: State::Open,
        });
        self.open.insert(number);
        self.in_flight += u64::from(bytes);
        self.offset += u64::from(bytes);
        self.largest = self.largest.max(bytes);
        self.ledger.counts.data_packets += 1;
        self.ledger.counts.data_bytes += u64::from(bytes);
        self.span = Some((self.span.map_or(now, |span| span.0), now));
        if self.waiting.len() > WAITING
            && let Some(oldest) = self.waiting.pop_front()
        {
            if self.open.remove(&oldest.number) {
                self.in_flight -= u64::from(oldest.bytes);
            }
            self.ledger.counts.unresolved += u64::from(oldest.state != State::Lost);
        }
    }

    /// Returns the index of a packet in flight.
    fn place(&self, number: u64) -> Option<usize> {
        step(self.waiting.len().checked_ilog2().unwrap_or(0) as usize + 1);
        let waiting = &self.waiting;
        let at = waiting.partition_point(|packet| packet.number < number);
        let packet = waiting.get(at)?;
        (packet.number == number && packet.state == State::Open).then_some(at)
    }

    /// Sets the endpoint's congestion window, in bytes.
    pub(super) fn on_window(&mut self, bytes: u64) {
        self.window = Some(bytes);
    }

    /// Returns the offset before which everything is settled.
    fn settled(&self) -> u64 {
        self.waiting
            .front()
            .map_or(self.offset, |packet| packet.offset)
    }

    /// Returns the bytes in flight.
    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Records that the peer acknowledges these ranges of numbers, ends included. The peer held the
    /// acknowledgement for `held` ns.
    pub(super) fn on_ack(&mut self, now: u64, ranges: &[(u64, u64)], held: u64) {
        let mut fresh = Vec::new();
        for &(first, last) in ranges.iter().filter(|range| range.0 <= range.1) {
            let new: Vec<u64> = self.open.range(first..=last).copied().collect();
            fresh.extend(
                new.into_iter()
                    .filter_map(|number| self.acknowledge(number)),
            );
            let spurious = self.doubted.range(first..=last);
            let spurious: Vec<u64> = spurious.map(|(&number, _)| number).collect();
            for number in spurious {
                step(1);
                self.doubted.remove(&number);
                self.ledger.counts.spurious += 1;
            }
        }
        let newest = fresh.iter().max_by_key(|packet| packet.number).copied();
        let largest = ranges.iter().map(|&(_, last)| last).max();
        let is_largest = newest.filter(|newest| Some(newest.number) == largest);
        let whole = is_largest.map(|newest| now.saturating_sub(newest.at));
        self.on_fresh(now, &fresh, newest, Trip { whole, held });
    }

    /// Records that the peer acknowledges the oldest packets in flight, of so many bytes. `trip`
    /// returns the round trip, given the time since the newest of them left.
    pub(super) fn on_bytes(&mut self, now: u64, mut bytes: u64, trip: impl Fn(u64) -> Trip) {
        let mut fresh = Vec::new();
        while bytes > 0
            && let Some(&number) = self.open.first()
            && let Some(at) = self.place(number)
            && u64::from(self.waiting[at].bytes) <= bytes
        {
            bytes -= u64::from(self.waiting[at].bytes);
            fresh.extend(self.acknowledge(number));
        }
        let Some(&newest) = fresh.last() else {
            return;
        };
        for &packet in &fresh {
            self.presumed.insert(packet.number, packet);
            if self.presumed.len() > DOUBTED {
                self.presumed.pop_first();
            }
        }
        let trip = trip(now.saturating_sub(newest.at));
        self.on_fresh(now, &fresh, Some(newest), trip);
    }

    /// Marks a packet in flight as acknowledged, and returns it.
    fn acknowledge(&mut self, number: u64) -> Option<Packet> {
        let at = self.place(number)?;
        self.open.remove(&number);
        let packet = &mut self.waiting[at];
        packet.state = State::Acked;
        self.in_flight -= u64::from(packet.bytes);
        Some(*packet)
    }

    /// Handles the packets that an acknowledgement is the first to name.
    fn on_fresh(&mut self, now: u64, fresh: &[Packet], newest: Option<Packet>, trip: Trip) {
        let settled_before = self.settled();
        let window = self.window.unwrap_or(self.offset - settled_before).max(1);
        let (mut sacked, mut ends_recovery) = (0, false);
        for packet in fresh {
            self.delivered += u64::from(packet.bytes);
            ends_recovery |= self.recovery.is_some_and(|(began, _)| packet.at > began);
        }
        self.largest_acked = self.largest_acked.max(newest.map(|newest| newest.number));
        let mut sample = None;
        if let (Some(newest), Some(whole)) = (newest, trip.whole) {
            // The hold is subtracted only down to the shortest round trip (RFC 9002 §5.3).
            let least = self.delays.least().map_or(0, |us| u64::from(us) * 1000);
            let net = whole.checked_sub(trip.held);
            let rtt = net.filter(|&net| net >= least).unwrap_or(whole);
            self.delays.add(
                now,
                newest.order,
                (rtt / 1000).min(u64::from(u32::MAX)) as u32,
            );
            self.latest = Some(rtt);
            let ns = rtt as f64;
            self.smoothed = Some(self.smoothed.map_or(ns, |old| old + (ns - old) / 8.0));
            sample = Some(Duration::from_nanos(rtt as i64));
        }
        if !self.told {
            self.overtaken(now);
        }
        let mut acked = 0;
        while let Some(front) = self.waiting.front()
            && front.state != State::Open
        {
            if front.state == State::Acked {
                acked += u64::from(front.bytes);
            }
            self.waiting.pop_front();
        }
        let settled = self.settled();
        for packet in fresh {
            if packet.offset > settled {
                sacked += u64::from(packet.bytes);
            }
        }
        let oldest = self
            .waiting
            .front()
            .map_or(self.order, |packet| packet.order);
        self.delays.forget(oldest.saturating_sub(16));
        self.rates.measure(now, self.delivered, self.delays.least());
        if fresh.is_empty() && settled == settled_before {
            return;
        }
        let event = AckEvent::new(Time::from_nanos(now), self.largest.max(1))
            .acked(acked)
            .sacked(sacked)
            .acknowledged(settled)
            .in_flight(self.offset - settled)
            .window(window)
            .rtt(sample)
            .in_recovery(self.recovering);
        self.senders
            .get_or_insert_with(|| Box::new(Senders::new()))
            .on_ack(&event);
        self.recovering &= !ends_recovery;
    }

    /// Finds losses in a log that does not report them: packets sent two round trips ago that three
    /// later ones overtook.
    fn overtaken(&mut self, now: u64) {
        let (Some(largest), Some(smoothed)) = (self.largest_acked, self.smoothed) else {
            return;
        };
        let late = now.saturating_sub(2 * smoothed as u64);
        let overtaken = self.open.range(..largest.saturating_sub(OVERTAKEN - 1));
        let lost = overtaken.copied().take_while(|&number| {
            let at = self.place(number);
            at.is_some_and(|at| self.waiting[at].at < late)
        });
        let lost: Vec<u64> = lost.collect();
        for number in lost {
            self.lose(now, number, Detection::Duplicates);
        }
    }

    /// Takes a packet out of flight that will be declared lost.
    pub(super) fn set_aside(&mut self, number: u64) {
        if self.open.remove(&number)
            && let Some(at) = self.place(number)
        {
            self.in_flight -= u64::from(self.waiting[at].bytes);
        }
    }

    /// Records that the endpoint declares a packet lost.
    pub(super) fn on_lost(&mut self, now: u64, number: u64, detection: Detection) {
        self.told = true;
        self.lose(now, number, detection);
    }

    fn lose(&mut self, now: u64, number: u64, detection: Detection) {
        let packet = if let Some(at) = self.place(number) {
            self.set_aside(number);
            self.waiting[at].state = State::Lost;
            self.waiting[at]
        } else if let Some(packet) = self.presumed.remove(&number) {
            self.delivered -= u64::from(packet.bytes);
            packet
        } else {
            return;
        };
        let belongs = self.recovery.filter(|&(began, _)| packet.at <= began);
        let event = if let Some((_, event)) = belongs {
            event
        } else {
            let ns = |ns: u64| Duration::from_nanos(ns as i64);
            let in_flight = self.offset - self.settled();
            let loss = LossEvent::new(Time::from_nanos(now), detection, self.largest.max(1))
                .first(packet.offset)
                .sent(Some(Time::from_nanos(packet.at)))
                .in_flight(in_flight)
                .window(self.window.unwrap_or(in_flight).max(1))
                .rtt(self.latest.map(ns))
                .min_rtt(self.delays.least().map(|us| ns(u64::from(us) * 1000)));
            let votes = self
                .senders
                .as_mut()
                .map_or_else(Votes::default, |senders| senders.on_loss(&loss));
            let event = self.ledger.event(Event {
                time: now,
                detection: Some(detection),
                votes,
            });
            self.recovery = Some((now, event));
            self.recovering = true;
            event
        };
        let loss = Loss {
            time: packet.at,
            frame: packet.record,
            offset: packet.number,
            bytes: packet.bytes,
            packets: 1,
            side: Side::Beyond,
            retransmission: false,
            evidence: Evidence::Number,
            event,
            order: packet.order,
            around: self.delays.around(packet.order),
            run: 1,
            verdict: None,
            truth: None,
        };
        self.doubted.insert(number, loss);
        if self.doubted.len() > DOUBTED
            && let Some((_, loss)) = self.doubted.pop_first()
        {
            self.ledger.keep(loss);
        }
        while let Some(front) = self.waiting.front()
            && front.state == State::Lost
        {
            self.waiting.pop_front();
        }
    }

    /// Ends the log.
    pub(super) fn finish(&mut self) {
        for loss in std::mem::take(&mut self.doubted).into_values() {
            self.ledger.keep(loss);
        }
        self.ledger.finish();
    }

    /// Returns the memory in use, in bytes.
    pub(super) fn memory(&self) -> usize {
        let senders = self.senders.as_ref().map(|all| all.memory());
        senders.unwrap_or(0)
            + self.waiting.capacity() * size_of::<Packet>()
            + self.open.len() * 2 * size_of::<u64>()
            + self.doubted.len() * 3 / 2 * size_of::<(u64, Loss)>()
            + self.presumed.len() * 3 / 2 * size_of::<(u64, Packet)>()
            + self.ledger.memory()
            + self.delays.memory()
            + self.rates.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All packets but the first are acknowledged repeatedly. Then every other packet is declared
    /// lost.
    #[test]
    fn acknowledgements_take_steps_in_proportion() {
        crate::steps::assert_linear(2_000, 100, |many| {
            let mut sender = Sender::default();
            (0..many).for_each(|n| sender.on_sent(n, n, n, 100));
            (1..many).for_each(|n| sender.on_ack(many + n, &[(1, 1 + n / 2)], 0));
            (many / 2 + 1..many).for_each(|n| sender.on_lost(2 * many + n, n, Detection::Timeout));
            sender.on_ack(4 * many, &[(0, many)], 0);
            assert!(sender.waiting.is_empty() && sender.open.is_empty());
        });
    }

    #[test]
    fn overtaken_packets_take_steps_in_proportion() {
        crate::steps::assert_linear(2_000, 100, |many| {
            let mut sender = Sender::default();
            (0..many).for_each(|n| sender.on_sent(1_000_000, n, n, 100));
            (many / 2..many).for_each(|n| sender.on_ack(1_000_100, &[(n, n)], 0));
            sender.on_ack(5_000_000_000, &[(many - 1, many - 1)], 0);
        });
    }
}
