//! Follows a TCP connection: its two directions, and the round trips that locate the point of
//! capture.

use std::net::SocketAddr;

use super::copies::Copies;
use super::echo::Echoes;
use super::half::{At, Half};
use crate::packet::Segment;

/// A connection while it is followed.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    /// The two ends; the first one seen comes first.
    pub(crate) ends: [SocketAddr; 2],
    /// Whether the first end is also the first in the key. Comparing addresses would take longer.
    pub(super) first_in_key: bool,
    /// The number of the connection, from 1.
    pub(crate) number: u64,
    /// The data that each end sent.
    pub(crate) halves: [Option<Box<Half>>; 2],
    /// The times from each end's packets to their echo by the other end.
    echoes: [Echoes; 2],
    /// When a SYN of each end passed, and the number that acknowledges it.
    syn: [Option<(u64, u32)>; 2],
    closed: [bool; 2],
    copies: [Copies; 2],
    /// The number of duplicates in the capture of packets from each end.
    pub(crate) copied: [u64; 2],
    pub(crate) packets: [u64; 2],
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) handshake: bool,
    /// The bytes at the last count of memory, and the number of segments so far.
    pub(super) held: usize,
    segments: u64,
}

/// The number of segments after which memory is counted again. Before, it is counted whenever the
/// segments have doubled.
const COUNTED: u64 = 64;

impl Connection {
    pub(super) fn new(ends: [SocketAddr; 2], first_in_key: bool, number: u64, now: u64) -> Self {
        Self {
            ends,
            first_in_key,
            number,
            halves: [None, None],
            echoes: Default::default(),
            syn: [None; 2],
            closed: [false; 2],
            copies: Default::default(),
            copied: [0; 2],
            packets: [0; 2],
            first: now,
            last: now,
            handshake: false,
            held: 0,
            segments: 0,
        }
    }

    /// Returns whether this SYN begins another connection on the same ports.
    pub(super) fn is_over_for(&self, side: usize, segment: &Segment, now: u64) -> bool {
        segment.flags.syn
            && !segment.flags.ack
            && match self.syn[side] {
                Some((_, expected)) => expected != segment.sequence.wrapping_add(1),
                None => self.packets != [0; 2],
            }
            && (self.closed != [false; 2]
                || now.saturating_sub(self.last) > 1_000_000_000
                || self.packets[1 - side] > 0)
    }

    /// Handles a segment from end `side`.
    pub(super) fn on_segment(
        &mut self,
        side: usize,
        now: u64,
        frame: u64,
        ip_id: Option<u16>,
        segment: &Segment,
    ) {
        let other = 1 - side;
        self.last = self.last.max(now);
        let round_trip = || {
            let beyond = Self::beyond_of(self.halves[side].as_deref(), &self.echoes[side]);
            beyond.map(|ns| ns + self.echoes[other].least().unwrap_or(0))
        };
        if self.copies[side].is_copy(now, ip_id, segment, round_trip) {
            self.copied[side] += 1;
            return;
        }
        self.packets[side] += 1;
        self.round_trips(side, now, segment);
        let at = |before: Option<u64>| At {
            now,
            frame,
            ip_id,
            before: before.unwrap_or(0),
        };
        let length =
            u64::from(segment.length) + u64::from(segment.flags.syn) + u64::from(segment.flags.fin);
        // Handle the acknowledgement first, because data in the same segment may answer it.
        if segment.flags.ack {
            let before = self.before(other);
            if let Some(half) = &mut self.halves[other] {
                half.on_ack(at(before), segment);
            }
        }
        if length > 0 && !segment.flags.rst {
            let before = self.before(side);
            let half =
                self.halves[side].get_or_insert_with(|| Box::new(Half::new(segment.sequence)));
            half.on_data(at(before), segment, length);
        }
        self.closed[side] |= segment.flags.fin;
        if segment.flags.rst {
            self.closed = [true; 2];
        }
    }

    /// Returns whether the memory must be counted again.
    pub(super) fn is_due(&mut self) -> bool {
        self.segments += 1;
        self.segments.is_multiple_of(COUNTED) || self.segments.is_power_of_two()
    }

    /// Returns the memory in use, in bytes.
    pub(super) fn memory(&self) -> usize {
        let halves = self.halves.iter().flatten();
        size_of::<Self>()
            + halves.map(|half| half.memory()).sum::<usize>()
            + self.echoes.iter().map(Echoes::memory).sum::<usize>()
            + self.copies.iter().map(Copies::memory).sum::<usize>()
    }

    fn round_trips(&mut self, side: usize, now: u64, segment: &Segment) {
        let other = 1 - side;
        if segment.flags.syn {
            self.handshake = true;
            let ack = segment.sequence.wrapping_add(1);
            // If the SYN was sent twice, the answer may belong to either.
            self.syn[side] = if self.syn[side].is_some() {
                Some((0, ack))
            } else {
                Some((now, ack))
            };
        }
        if segment.flags.ack
            && let Some((at, ack)) = self.syn[other]
            && at > 0
            && ack == segment.acknowledgement
        {
            self.echoes[other].sample(now.checked_sub(at));
            self.syn[other] = Some((0, ack));
        }
        if let Some((stamp, echo)) = segment.stamps {
            self.echoes[side].sent(now, stamp);
            if segment.flags.ack && echo != 0 {
                self.echoes[other].echoed(now, echo);
            }
        }
    }

    /// Returns the shortest part of the round trip beyond the point of capture, for data of end
    /// `side`, in ns.
    pub(crate) fn beyond(&self, side: usize) -> Option<u64> {
        Self::beyond_of(self.halves[side].as_deref(), &self.echoes[side])
    }

    /// Returns the shortest time from a packet to its acknowledgement or echo.
    fn beyond_of(half: Option<&Half>, echoes: &Echoes) -> Option<u64> {
        let acknowledged = half.and_then(|half| half.delays.least());
        let acknowledged = acknowledged.map(|us| u64::from(us) * 1000);
        match (echoes.least(), acknowledged) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Returns the shortest part of the round trip before the point of capture, in ns.
    pub(crate) fn before(&self, side: usize) -> Option<u64> {
        self.echoes[1 - side].least()
    }
}
