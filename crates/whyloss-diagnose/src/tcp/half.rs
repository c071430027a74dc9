//! Follows one direction of a TCP connection: the segments that passed and those acknowledged,
//! which show the lost ones.
//!
//! ```text
//! lost beyond     a piece passed several times, and its acknowledgement answers a later passage:
//!                 the one with the echoed timestamp; without timestamps, the first one after all
//!                 passages known to have arrived, if it was at least 85 % of the shortest round
//!                 trip ago
//! spurious        the same, but the acknowledgement answers an earlier passage; or the piece was
//!                 acknowledged before it passed again; or a later D-SACK (RFC 2883) reports that
//!                 it arrived twice
//! lost before     bytes are missing at the point of capture, and pass later with a later
//!                 timestamp than the packet that showed the gap (without timestamps: after 80 % of
//!                 a round trip, or with a later IPv4 identification)
//! reordered       the same, but with an earlier timestamp
//! not captured    bytes are acknowledged that never passed
//! keep-alive      at most one byte, just before what is expected next
//! ```

mod before;

use whyloss::event::{AckEvent, Detection, LossEvent};
use whyloss::receiver::Arrival;
use whyloss::{Duration, Time};

use super::clock::Clock;
use super::covered::Covered;
use super::gaps::Gaps;
use super::sent::{Piece, Pieces, Transmission};
use crate::classifiers::{Receivers, Senders};
use crate::delay::{Delays, Histogram};
use crate::ledger::Ledger;
use crate::loss::{Event, Evidence, Loss, Side, Votes};
use crate::packet::{BLOCKS, Flags, Segment};
use crate::rates::Rates;
use crate::track::Track;

/// The maximum number of pieces that wait for an acknowledgement. If it is exceeded, the capture
/// has no acknowledgements.
const WAITING: usize = 1 << 16;
/// The maximum number of remembered retransmissions of one piece.
const AGAIN: usize = 64;
/// The largest jump of sequence numbers that counts as a gap.
const JUMP: u64 = 1 << 26;
/// The origin of offsets, so that bytes before the first one seen also have an offset.
const ORIGIN: u64 = 1 << 40;
/// The minimum number of data packets for which classifiers are worth their memory.
const SHORT: u64 = 4;
/// The share of the shortest round trip before which an acknowledgement cannot answer a
/// transmission.
const SOONEST: f64 = 0.85;
/// The number of later transmissions that must have arrived for an open one to count as lost at the
/// end.
const LATER: u64 = 3;

/// One direction of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Half {
    /// The offset before which everything was acknowledged.
    una: u64,
    /// The first offset that was not seen.
    next: u64,
    origin: u64,
    pieces: Pieces,
    gaps: Gaps,
    order: u64,
    pub(crate) largest: u32,
    pub(crate) ledger: Ledger,
    /// The delays from packets to acknowledgements.
    pub(crate) delays: Delays,
    /// The one-way delays up to the point of capture.
    pub(crate) one_way: Delays,
    clock: Clock,
    senders: Option<Box<Senders>>,
    receivers: Option<Box<Receivers>>,
    /// The end of the current recovery, and its event.
    recovery: Option<(u64, Option<u32>)>,
    last_ack: u64,
    last_arrival: u64,
    acks: u64,
    smoothed: Option<f64>,
    /// The selectively acknowledged ranges.
    sacked: Covered,
    highest_sacked: u64,
    /// The receive window, not scaled, and the end of the last window probe.
    window: u16,
    probed: u64,
    /// The latest transmission that arrived, and the latest one that had arrived before the last
    /// acknowledgement.
    latest_delivered: u64,
    delivered_before: u64,
    /// The number of duplicate acknowledgements, each for a segment after the oldest piece.
    duplicates: u64,
    /// The number of those duplicates that needless retransmissions cause.
    needless: u64,
    /// The number of packets, for receiver classifiers.
    number: u64,
    rates: Rates,
    pub(crate) delivered: u64,
    pub(crate) first_data: Option<u64>,
    pub(crate) last_data: u64,
    pub(crate) sack: bool,
    pub(crate) stamps: bool,
    pub(crate) cut: bool,
}

/// The time and frame of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) now: u64,
    pub(super) frame: u64,
    pub(super) ip_id: Option<u16>,
    /// The shortest time in ns from an acknowledgement to its echo: the part of the round trip
    /// before the point of capture.
    pub(super) before: u64,
}

impl Half {
    pub(super) fn new(sequence: u32) -> Self {
        let origin = ORIGIN + u64::from(sequence);
        Self {
            una: origin,
            next: origin,
            origin,
            pieces: Pieces::default(),
            gaps: Gaps::default(),
            order: 0,
            largest: 1,
            ledger: Ledger::default(),
            delays: Delays::default(),
            one_way: Delays::default(),
            clock: Clock::default(),
            senders: None,
            receivers: None,
            recovery: None,
            last_ack: 0,
            last_arrival: 0,
            acks: 0,
            smoothed: None,
            sacked: Covered::default(),
            highest_sacked: 0,
            window: u16::MAX,
            probed: 0,
            latest_delivered: 0,
            delivered_before: 0,
            duplicates: 0,
            needless: 0,
            number: 0,
            rates: Rates::default(),
            delivered: 0,
            first_data: None,
            last_data: 0,
            sack: false,
            stamps: false,
            cut: false,
        }
    }

    /// Extends a sequence number to 64 bits, near the bytes in flight.
    fn unwrap(&self, sequence: u32) -> u64 {
        let step = i64::from(sequence.wrapping_sub(self.next as u32) as i32);
        self.next.saturating_add_signed(step)
    }

    /// Handles a segment with data, or a SYN or FIN, which also take a number.
    pub(super) fn on_data(&mut self, at: At, segment: &Segment, length: u64) {
        self.pieces.earn();
        let start = self.unwrap(segment.sequence);
        let end = start + length;
        let stamp = segment.stamps.map(|stamps| stamps.0);
        if self.first_data.is_none() && start != self.next {
            self.restart(start);
        }
        if end <= self.una {
            if length <= 1 && end + 1 >= self.una && self.una == self.next {
                self.ledger.counts.keep_alives += 1;
            } else {
                self.ledger.counts.data_packets += 1;
                self.ledger.counts.retransmissions += 1;
                self.ledger.spurious(start, end);
            }
            return;
        }
        if self.window == 0 && length <= 1 && start <= self.next && !segment.flags.fin {
            // The receiver may accept or reject this byte. A rejected byte is sent again with the
            // next data.
            self.probed = end;
            self.ledger.counts.keep_alives += 1;
            return;
        }
        if start > self.next + JUMP || start + JUMP < self.una {
            self.ledger.counts.restarts += 1;
            self.restart(start);
        }
        self.ledger.counts.data_packets += 1;
        self.ledger.counts.data_bytes += length;
        self.first_data.get_or_insert(at.now);
        self.last_data = at.now;
        self.stamps |= stamp.is_some();
        self.cut |= segment.cut;
        self.largest =
            self.largest
                .max(segment.mss.map_or(0, u32::from))
                .max(if segment.flags.syn {
                    1
                } else {
                    length.min(9000) as u32
                });
        self.order += 1;
        let transmission = Transmission {
            at: at.now,
            order: self.order,
            stamp,
            frame: at.frame,
            event: None,
        };
        let known = end.min(self.next);
        if start < known {
            self.on_seen(at, start, known, transmission);
        } else if start > self.next {
            self.on_gap(at, segment, start);
        } else {
            self.on_arrival(at, stamp, length, 0);
        }
        if end > self.next {
            let start = start.max(self.next);
            self.next = end;
            self.push(Piece {
                start,
                end,
                first: transmission,
                again: Vec::new(),
                sacked: false,
                fills: false,
            });
        }
    }

    fn push(&mut self, piece: Piece) {
        self.pieces.push(piece);
        if self.pieces.len() > WAITING
            && let Some(oldest) = self.pieces.pop()
        {
            self.una = self.una.max(oldest.end);
        }
    }

    /// Restarts the counting at `start`.
    fn restart(&mut self, start: u64) {
        self.pieces.clear();
        self.gaps.clear();
        self.sacked.clear();
        (self.una, self.next, self.origin) = (start, start, start);
        self.recovery = None;
    }

    /// Handles bytes that passed before, or that fill a gap.
    fn on_seen(&mut self, at: At, start: u64, end: u64, transmission: Transmission) {
        let (mut seen, mut fresh) = (false, false);
        for piece in self.pieces.between(start, end) {
            seen = true;
            fresh |= !piece.sacked;
            if fresh {
                break;
            }
        }
        if seen {
            self.ledger.counts.retransmissions += 1;
        }
        let mut event = None;
        if fresh {
            event = self.on_retransmission(at, start);
        }
        let transmission = Transmission {
            event,
            ..transmission
        };
        let (mut needless, mut remembered) = (Vec::new(), 0);
        let room = self.pieces.room_for_again();
        for piece in self.pieces.between(start, end) {
            if piece.sacked {
                needless.push((piece.start, piece.end));
            } else if piece.again.len() < AGAIN && remembered < room {
                piece.again.push(transmission);
                remembered += 1;
            }
        }
        self.pieces.remembered(remembered);
        for (start, end) in needless {
            self.ledger.spurious(start, end);
        }
        for gap in self.gaps.take(start, end) {
            self.on_filled(at, gap, transmission);
        }
        self.on_arrival(at, transmission.stamp, end - start, 0);
    }

    /// Returns the number of packets that `bytes` bytes make.
    fn packets(&self, bytes: u64) -> u32 {
        bytes
            .div_ceil(u64::from(self.largest.max(1)))
            .clamp(1, u64::from(u32::MAX)) as u32
    }

    /// Passes an arrival at the point of capture to the receiver classifiers.
    fn on_arrival(&mut self, at: At, stamp: Option<u32>, length: u64, missing: u32) -> Votes {
        self.number += 1 + u64::from(missing);
        let Some((sent, delay)) = stamp.and_then(|stamp| self.clock.read(at.now, stamp)) else {
            return Votes::default();
        };
        self.one_way.add(at.now, self.order, delay);
        // Gaps take the delays of their neighbours when they appear, so older delays can go.
        self.one_way.forget(self.order);
        if self.ledger.counts.data_packets < SHORT {
            return Votes::default();
        }
        let receivers = self
            .receivers
            .get_or_insert_with(|| Box::new(Receivers::new()));
        let size = length.min(u64::from(u32::MAX)) as u32;
        let arrival = Arrival::new(self.number, sent, Time::from_nanos(at.now), size);
        receivers.on_arrival(&arrival, u64::from(missing))
    }

    /// Handles the retransmission of an unacknowledged piece. Returns its loss event.
    fn on_retransmission(&mut self, at: At, start: u64) -> Option<u32> {
        let quiet = at.now.saturating_sub(self.last_ack.max(self.last_arrival));
        let round_trip = self.smoothed.unwrap_or(0.0) as u64 + at.before;
        let oldest = self
            .pieces
            .first_open(&self.sacked)
            .is_some_and(|piece| piece.start == start);
        let timeout = oldest
            && quiet > round_trip.max(at.before + 1_000_000) * 3 / 4
            && quiet > at.before + 1_000_000;
        self.last_arrival = at.now;
        let open = self.recovery.filter(|&(end, _)| start < end && !timeout);
        if let Some((_, event)) = open {
            return event;
        }
        let flight = self.next - self.una;
        let detection = if timeout {
            Detection::Timeout
        } else {
            Detection::Duplicates
        };
        let rtt = self
            .smoothed
            .map(|ns| Duration::from_nanos(ns as i64 + at.before as i64));
        let min_rtt = self
            .delays
            .least()
            .map(|us| Duration::from_nanos(i64::from(us) * 1000 + at.before as i64));
        let loss = LossEvent::new(Time::from_nanos(at.now), detection, self.largest.max(1))
            .first(start - self.origin)
            .in_flight(flight)
            .window(flight.max(1))
            .rtt(rtt)
            .min_rtt(min_rtt)
            .repeated(timeout && self.recovery.is_some_and(|_| oldest && self.acks == 0));
        let votes = self
            .senders
            .as_mut()
            .map_or_else(Votes::default, |senders| senders.on_loss(&loss));
        let event = self.ledger.event(Event {
            time: at.now,
            detection: Some(loss.detection),
            votes,
        });
        self.recovery = Some((self.next, event));
        self.acks = 0;
        event
    }

    /// Handles an acknowledgement of the other end.
    pub(super) fn on_ack(&mut self, at: At, segment: &Segment) {
        self.pieces.earn();
        let ack = self.unwrap(segment.acknowledgement);
        if self.first_data.is_none()
            && self.ledger.counts.uncaptured_bytes == 0
            && self.next == self.una
        {
            // No segment of this direction has passed yet.
            if ack > self.next && ack - self.next < JUMP {
                (self.una, self.next, self.origin) = (ack, ack, ack);
            }
            return;
        }
        if ack < self.una && self.una == self.origin {
            self.begin_earlier(at, ack);
        }
        if ack > self.next + JUMP || ack < self.una {
            return;
        }
        self.cut |= segment.cut;
        self.take_duplicate(ack, segment);
        if !segment.flags.rst {
            self.window = segment.window;
        }
        self.delivered_before = self.latest_delivered;
        let before = self.una;
        let flight = self.next.saturating_sub(before);
        let echo = segment
            .stamps
            .map(|stamps| stamps.1)
            .filter(|&echo| echo != 0);
        let mut sample = None;
        if ack > before {
            sample = self.on_cumulative(at, ack, echo);
        }
        let fresh_sack = self.on_blocks(at, segment, ack, &mut sample);
        if let Some(delay) = sample {
            let ns = f64::from(delay) * 1000.0;
            self.smoothed = Some(
                self.smoothed
                    .map_or(ns, |smoothed| smoothed + (ns - smoothed) / 8.0),
            );
        }
        let recovering = self.recovery.is_some_and(|(end, _)| before < end);
        if self.recovery.is_some_and(|(end, _)| ack >= end) {
            self.recovery = None;
        }
        self.last_ack = at.now;
        self.acks += u64::from(ack > before);
        self.rates
            .measure(at.now, self.delivered, self.delays.least());
        if self.ledger.counts.data_packets < SHORT {
            return;
        }
        let senders = self.senders.get_or_insert_with(|| Box::new(Senders::new()));
        let ack_event = AckEvent::new(Time::from_nanos(at.now), self.largest.max(1))
            .acked(ack - before)
            .sacked(fresh_sack)
            .acknowledged(ack - self.origin.min(ack))
            .in_flight(self.next.saturating_sub(ack))
            .window(flight.max(1))
            .rtt(sample.map(|us| Duration::from_nanos(i64::from(us) * 1000 + at.before as i64)))
            .in_recovery(recovering);
        senders.on_ack(&ack_event);
    }

    /// Counts a duplicate (RFC 5681 §2). Without SACK, only duplicates show that data after a hole
    /// arrived.
    fn take_duplicate(&mut self, ack: u64, segment: &Segment) {
        let Flags { syn, fin, rst, .. } = segment.flags;
        let says_no_more = segment.length == 0
            && segment.window == self.window
            && segment.blocks == 0
            && !(syn || fin || rst);
        if ack != self.una || !says_no_more || self.sack {
            return;
        }
        if self.needless > 0 {
            self.needless -= 1;
        } else if self.pieces.front().is_some() {
            self.duplicates += 1;
        }
    }

    /// Handles the cumulative acknowledgement of everything before `ack`. Returns the delay of the
    /// last piece, if that piece was sent once.
    fn on_cumulative(&mut self, at: At, ack: u64, echo: Option<u32>) -> Option<u32> {
        for gap in self.gaps.take(self.una, ack) {
            self.ledger.counts.uncaptured_bytes += gap.end - gap.start;
        }
        if ack > self.next {
            if ack != self.probed {
                self.ledger.counts.uncaptured_bytes += ack - self.next;
            }
            self.next = ack;
        }
        let mut edge = true;
        let mut last = None;
        while let Some(piece) = self.pieces.pop_before(ack) {
            if piece.sacked {
                last = None;
            } else {
                let overtaken = edge && self.duplicates > 0;
                last = self.resolve(at, &piece, echo.filter(|_| edge), overtaken);
                self.delivered += piece.end - piece.start;
            }
            edge = false;
        }
        self.una = ack;
        self.duplicates = 0;
        self.sacked.forget(ack);
        if let Some((order, delay)) = last {
            self.delays.add(at.now, order, delay);
        }
        let oldest = self
            .pieces
            .front()
            .map_or(self.order, |piece| piece.first.order);
        self.delays.forget(oldest.saturating_sub(16));
        last.map(|(_, delay)| delay)
    }

    /// Handles the SACK blocks. Returns the number of newly covered bytes.
    fn on_blocks(&mut self, at: At, segment: &Segment, ack: u64, sample: &mut Option<u32>) -> u64 {
        let (mut blocks, mut many) = ([(0, 0); BLOCKS], 0);
        for &(start, end) in segment.sacked() {
            let (start, end) = (self.unwrap(start), self.unwrap(end));
            if start < end && end <= self.next && end - start < JUMP {
                blocks[many] = (start, end);
                many += 1;
            }
        }
        let blocks = &blocks[..many];
        self.sack |= !blocks.is_empty();
        let mut fresh = 0;
        for (index, &(start, end)) in blocks.iter().enumerate() {
            let inside = index == 0
                && blocks
                    .get(1)
                    .is_some_and(|other| other.0 <= start && end <= other.1);
            if end <= ack || inside {
                if index == 0 {
                    self.ledger.on_duplicate(start, end, self.origin);
                }
                continue;
            }
            // Ranges from earlier acknowledgements need no work.
            let mut sacked = std::mem::take(&mut self.sacked);
            sacked.add(start.max(ack), end, |start, end| {
                fresh += self.on_block(at, start, end, sample);
            });
            self.sacked = sacked;
            self.highest_sacked = self.highest_sacked.max(end);
        }
        fresh
    }

    fn on_block(&mut self, at: At, start: u64, end: u64, sample: &mut Option<u32>) -> u64 {
        for gap in self.gaps.take(start, end) {
            self.ledger.counts.uncaptured_bytes += gap.end - gap.start;
        }
        let mut fresh = 0;
        let mut pieces = std::mem::take(&mut self.pieces);
        for piece in pieces.between(start, end).filter(|piece| !piece.sacked) {
            piece.sacked = true;
            fresh += piece.end - piece.start;
            if let Some((order, delay)) = self.resolve(at, piece, None, false) {
                self.delays.add(at.now, order, delay);
                *sample = Some(delay);
            }
        }
        self.pieces = pieces;
        self.delivered += fresh;
        fresh
    }

    /// Determines which transmission of an arrived piece arrived. Returns the order and delay of a
    /// piece that was sent once.
    fn resolve(
        &mut self,
        at: At,
        piece: &Piece,
        echo: Option<u32>,
        overtaken: bool,
    ) -> Option<(u64, u32)> {
        // `None` if the clock was set back in the meantime.
        let span = |transmission: &Transmission| {
            let ns = at.now.checked_sub(transmission.at)?;
            Some((ns / 1000).min(u64::from(u32::MAX)) as u32)
        };
        let micros = |transmission: &Transmission| span(transmission).unwrap_or(0);
        if piece.again.is_empty() {
            self.latest_delivered = self.latest_delivered.max(piece.first.order);
            return span(&piece.first).map(|delay| (piece.first.order, delay));
        }
        let all: Vec<Transmission> = piece.transmissions().copied().collect();
        let by_stamp = echo.and_then(|echo| all.iter().rposition(|one| one.stamp == Some(echo)));
        let soonest = self
            .delays
            .least()
            .map_or(0, |least| (f64::from(least) * SOONEST) as u32);
        // If packets keep their order, a transmission that arrived before a known one would also be
        // known.
        let before = if overtaken {
            self.delivered_before.max(piece.first.order)
        } else {
            self.delivered_before
        };
        let in_line = || {
            all.iter()
                .position(|one| one.order > before && micros(one) >= soonest)
        };
        let at_all = || all.iter().rposition(|one| micros(one) >= soonest);
        let arrived = by_stamp.or_else(in_line).or_else(at_all).unwrap_or(0);
        self.latest_delivered = self.latest_delivered.max(all[arrived].order);
        let evidence = match by_stamp {
            Some(_) => Evidence::TimeStamp,
            None if piece.end <= self.highest_sacked => Evidence::Sack,
            None => Evidence::Retransmission,
        };
        for index in 0..arrived {
            self.lost(piece, &all, index, evidence);
        }
        for _ in arrived + 1..all.len() {
            self.ledger.spurious(piece.start, piece.end);
            self.needless += 1;
        }
        None
    }

    fn lost(&mut self, piece: &Piece, all: &[Transmission], index: usize, evidence: Evidence) {
        let one = all[index];
        self.ledger.keep(Loss {
            time: one.at,
            frame: one.frame,
            offset: piece.start.saturating_sub(self.origin),
            bytes: (piece.end - piece.start).min(u64::from(u32::MAX)) as u32,
            packets: self.packets(piece.end - piece.start),
            side: Side::Beyond,
            retransmission: index > 0 || piece.fills,
            evidence,
            event: all.get(index + 1).and_then(|next| next.event),
            order: one.order,
            around: self.delays.around(one.order),
            run: 1,
            verdict: None,
            truth: None,
        });
    }

    /// Returns the memory in use, in bytes.
    pub(super) fn memory(&self) -> usize {
        let senders = self.senders.as_ref().map(|all| all.memory());
        let receivers = self.receivers.as_ref().map(|all| all.memory());
        size_of::<Self>()
            + senders.unwrap_or(0)
            + receivers.unwrap_or(0)
            + self.pieces.memory()
            + self.gaps.memory()
            + self.sacked.memory()
            + self.ledger.memory()
            + self.delays.memory()
            + self.one_way.memory()
            + self.rates.memory()
    }

    /// Returns the histogram of delivery rates, in kbit/s.
    pub(crate) fn rates(&self) -> &Histogram {
        &self.rates.histogram
    }

    /// Returns the kilobytes delivered over time.
    pub(crate) fn delivered_track(&mut self) -> Track {
        std::mem::take(&mut self.rates.track)
    }

    /// Ends the capture or the connection, and settles open pieces.
    pub(crate) fn finish(&mut self) {
        self.one_way.set_floor(self.clock.least());
        while let Some(piece) = self.pieces.pop() {
            if piece.sacked {
                continue;
            }
            let all: Vec<Transmission> = piece.transmissions().copied().collect();
            let mut open = false;
            for (index, one) in all.iter().enumerate() {
                // SACK blocks report later packets as arrived, but not this one.
                if self.sack
                    && one.order + LATER < self.latest_delivered
                    && piece.end <= self.highest_sacked
                {
                    self.lost(&piece, &all, index, Evidence::Sack);
                } else {
                    open = all.len() > 1;
                }
            }
            self.ledger.counts.unresolved += u64::from(open);
        }
        if !self.gaps.is_empty() && self.acks > 0 {
            // These bytes were neither filled nor acknowledged before the end.
            self.ledger.counts.unresolved += u64::from(self.packets(self.gaps.bytes()));
        }
        self.gaps.clear();
        self.ledger.finish();
    }

    /// Returns the bytes from the first one seen to the last one acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.una - self.origin.min(self.una)
    }

    /// Returns the sequence number of offset 0.
    pub(crate) fn first_sequence(&self) -> u32 {
        self.origin as u32
    }

    /// Returns the tick of the sender's timestamps, in ns.
    pub(crate) fn tick(&self) -> Option<u64> {
        self.clock.tick()
    }
}
