//! Finds losses before the point of capture: gaps, and the packets that fill them.

use super::super::echo::is_after;
use super::super::gaps::Gap;
use super::super::sent::{Piece, Transmission};
use super::{At, Half};
use crate::delay::Around;
use crate::loss::{Event, Evidence, Loss, Side};
use crate::packet::Segment;

/// The maximum number of bytes that may be missing before the first one that passed.
const BEGINNING: u64 = 1 << 16;
/// The share of a round trip before which a packet that fills a gap counts as reordered, without
/// timestamps.
const OVERTAKEN: f64 = 0.8;
/// The time in ns before which a packet that fills a gap counts as reordered, if there are no
/// timestamps or round trips.
const OVERTAKEN_NS: u64 = 3_000_000;

impl Half {
    /// Handles bytes that fill a gap.
    pub(super) fn on_filled(&mut self, at: At, gap: Gap, transmission: Transmission) {
        let overtaken = self.is_overtaken(at, &gap, transmission.stamp);
        if overtaken {
            self.ledger.counts.reordered += 1;
        } else {
            self.ledger.keep(Loss {
                time: gap.at,
                frame: gap.frame,
                offset: gap.start - self.origin,
                bytes: (gap.end - gap.start).min(u64::from(u32::MAX)) as u32,
                packets: self.packets(gap.end - gap.start),
                side: Side::Before,
                retransmission: false,
                evidence: Evidence::Gap,
                event: gap.event,
                order: gap.order,
                around: gap.around,
                run: gap.run,
                verdict: None,
                truth: None,
            });
        }
        self.pieces.insert(Piece {
            start: gap.start,
            end: gap.end,
            first: transmission,
            again: Vec::new(),
            sacked: false,
            fills: !overtaken,
        });
    }

    fn is_overtaken(&self, at: At, gap: &Gap, stamp: Option<u32>) -> bool {
        if let (Some(filling), Some(behind)) = (stamp, gap.stamp)
            && filling != behind
        {
            return !is_after(filling, behind);
        }
        if let (Some(filling), Some(behind)) = (at.ip_id, gap.ip_id)
            && filling != behind
            && filling.abs_diff(behind).min(behind.wrapping_sub(filling)) < 1 << 8
        {
            return behind.wrapping_sub(filling) < 1 << 15;
        }
        let waited = at.now.saturating_sub(gap.at);
        let round_trip = self
            .delays
            .least()
            .map(|least| u64::from(least) * 1000 + at.before);
        waited < round_trip.map_or(OVERTAKEN_NS, |ns| (ns as f64 * OVERTAKEN) as u64)
    }

    /// Handles a gap before `start`.
    pub(super) fn on_gap(&mut self, at: At, segment: &Segment, start: u64) {
        let missing = start - self.next;
        let packets = self.packets(missing);
        // If the capture begins within the connection, any number of losses may precede the first
        // segment.
        let votes = self.on_arrival(
            at,
            segment.stamps.map(|stamps| stamps.0),
            u64::from(segment.length),
            packets,
        );
        let event = self.ledger.event(Event {
            time: at.now,
            detection: None,
            votes,
        });
        self.gaps.push(Gap {
            start: self.next,
            end: start,
            at: at.now,
            stamp: segment.stamps.map(|stamps| stamps.0),
            ip_id: at.ip_id,
            frame: at.frame,
            order: self.order,
            event,
            around: self.around_gap(),
            run: packets,
        });
    }

    /// Returns the delays when a gap showed. The packet that showed it came after the missing ones.
    fn around_gap(&self) -> Around {
        let around = self.one_way.around(self.order);
        Around {
            after: self.one_way.around(self.order.saturating_sub(1)).after,
            ..around
        }
    }

    /// Handles an acknowledgement of bytes before the first one that passed. These bytes were lost
    /// before the point of capture.
    pub(super) fn begin_earlier(&mut self, at: At, ack: u64) {
        if self.origin - ack < BEGINNING && self.ledger.is_empty() && self.gaps.is_empty() {
            self.gaps.push(Gap {
                start: ack,
                end: self.origin,
                at: at.now,
                stamp: self.pieces.front().and_then(|piece| piece.first.stamp),
                ip_id: None,
                frame: at.frame,
                order: 1,
                event: None,
                around: Around::default(),
                run: self.packets(self.origin - ack),
            });
            (self.una, self.origin) = (ack, ack);
        }
    }
}
