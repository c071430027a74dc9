//! Finds lost packets by their sequence numbers and determines their causes, for receivers of RTP,
//! QUIC datagrams or TFRC.
//!
//! [`LossTracker`] finds gaps in sequence numbers of any width and gets their causes from a
//! [`ReceiverClassifier`]. It can wait for reordered packets, and recognises duplicates and
//! restarts.
//!
//! ```
//! use whyloss::losses::LossTracker;
//! use whyloss::receiver::{Arrival, zbs::Zbs};
//! use whyloss::{Cause, Time};
//!
//! let mut tracker = LossTracker::rtp(Zbs::zbs3()).wait_for_packets(3);
//! let mut lost = vec![];
//! for sequence in [65_533, 65_534, 0, 65_535, 2, 3, 4_u64] {
//!     let sent = Time::from_nanos(1_000_000_000 + (sequence + 3) % 65_536 * 20_000_000);
//!     let received = Time::from_nanos(sent.as_nanos() + 40_000_000);
//!     tracker.on_packet(&Arrival::new(sequence, sent, received, 200), |loss| lost.push(loss));
//! }
//! // 65 535 was only reordered. 1 is lost: three packets have arrived since the gap.
//! assert_eq!(lost.len(), 1);
//! assert_eq!((lost[0].first % 65_536, lost[0].count), (1, 1));
//! ```
//!
//! # Rules
//!
//! ```text
//! sequence number of an arriving packet          meaning
//! above the highest, after at most 3000 missing  new; the numbers between are missing
//! at most 100 below the highest                  late if missing, else a duplicate
//! any other                                      suspect: ignored, unless its successor
//!                                                follows (the sender has restarted)
//! ```
//!
//! The rule for suspects and both limits come from RFC 3550 appendix A.1; narrow sequence numbers
//! lower the limits. The tracker asks the classifier for the cause when the gap appears, and
//! reports the loss after the wait. A packet that was only reordered is not reported. The
//! classifier receives late packets, with none missing before them, but no duplicates or suspects.
//! At most [`HOLES`] gaps wait at a time; with one more, the oldest counts as lost.
//!
//! # Late reads from the socket
//!
//! A busy program reads its socket late, and then reads many packets at once. This has two
//! consequences, which `tests/it/bunched.rs` shows on a path with both kinds of loss:
//!
//! | event | effect on classifiers | remedy |
//! |---|---|---|
//! | timestamps taken on reading | wrong causes (see below) | kernel stamps (`SO_TIMESTAMPNS`) |
//! | socket buffer overflow | its losses look wireless | a larger buffer (`SO_RCVBUF`) |
//!
//! With late timestamps, `trees` and `mbiaz` call the radio's losses congestion, and the ZBS family
//! calls at least half of a queue's losses wireless. `SO_RXQ_OVFL` counts packets dropped at the
//! socket. More wireless verdicts than the radio can explain indicate a full socket buffer.

use crate::receiver::{Arrival, ReceiverClassifier};
use crate::{Cause, Duration, Time};

/// The maximum number of gaps that can wait for reordered packets at a time.
pub const HOLES: usize = 16;

/// A run of consecutive lost packets and their cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Loss {
    /// The number of the first lost packet, counted without wrapping. Its low bits are the sequence
    /// number.
    pub first: u64,
    /// The number of consecutive lost packets.
    pub count: u64,
    /// The cause of the loss.
    pub cause: Cause,
    /// When the gap was revealed, on the receiver's clock.
    pub revealed: Time,
}

/// Tells how a [`LossTracker`] classified a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Seen {
    /// The first packet of the stream.
    First,
    /// A new packet, possibly after a gap.
    New {
        /// The number of packets missing between this one and the highest before it.
        missing: u64,
    },
    /// A packet that the tracker was waiting for: it was reordered, not lost.
    Late,
    /// A packet that was already reported lost, or is older than the tracker remembers.
    TooLate,
    /// A packet that had arrived before.
    Duplicate,
    /// A number outside the expected range. If its successor follows, the sender has restarted.
    Suspect,
    /// The second packet since the sender restarted.
    Restart,
}

/// Finds gaps among numbered packets and gets their causes from a classifier. See the
/// [module](self).
#[derive(Clone, Debug)]
pub struct LossTracker<C> {
    classifier: C,
    /// The modulus of sequence numbers less one.
    mask: u64,
    longest_jump: u64,
    longest_way_back: u64,
    packets: Option<u64>,
    span: Option<Duration>,
    /// The highest number so far, wrap-arounds included; `None` before the first packet.
    highest: Option<u64>,
    /// Bit i is set if the packet whose number is the highest minus i has arrived.
    arrived: u64,
    /// The number of new packets.
    news: u64,
    /// The number that would confirm a restart.
    suspect: Option<u64>,
    /// The first `waiting` elements are in use, in order.
    holes: [Hole; HOLES],
    waiting: usize,
}

/// Missing packets that the tracker waits for.
#[derive(Clone, Copy, Debug)]
struct Hole {
    loss: Loss,
    /// The value of the tracker's `news` at the packet that revealed the gap, that packet included.
    news: u64,
}

const NO_HOLE: Hole = Hole {
    loss: Loss {
        first: 0,
        count: 0,
        cause: Cause::Congestion,
        revealed: Time::ZERO,
    },
    news: 0,
};

impl<C: ReceiverClassifier> LossTracker<C> {
    /// Creates a tracker for sequence numbers of `bits` bits (2 to 64). It reports a gap
    /// immediately; [`Self::wait_for_packets`] and [`Self::wait_for`] let it wait for reordered
    /// packets.
    pub fn new(classifier: C, bits: u32) -> Self {
        let mask = u64::MAX >> (64 - bits.clamp(2, 64));
        Self {
            classifier,
            mask,
            longest_jump: (mask / 4).min(3000),
            longest_way_back: (mask / 4).min(100),
            packets: None,
            span: None,
            highest: None,
            arrived: 0,
            news: 0,
            suspect: None,
            holes: [NO_HOLE; HOLES],
            waiting: 0,
        }
    }

    /// Creates a tracker for RTP's 16-bit sequence numbers.
    pub fn rtp(classifier: C) -> Self {
        Self::new(classifier, 16)
    }

    /// Waits for a missing packet until `packets` later packets have arrived; TCP uses 3. Combined
    /// with [`wait_for`](Self::wait_for), the limit that is reached first applies.
    #[must_use]
    pub fn wait_for_packets(mut self, packets: u64) -> Self {
        self.packets = Some(packets);
        self
    }

    /// Waits for a missing packet for `span` after the gap appeared. Combined with
    /// [`wait_for_packets`](Self::wait_for_packets), the first limit reached applies.
    #[must_use]
    pub fn wait_for(mut self, span: Duration) -> Self {
        self.span = Some(span);
        self
    }

    /// Treats a gap of more than `packets` as a restart of the sender. The default is 3000 (RFC
    /// 3550). The limit is a quarter of the range of sequence numbers.
    #[must_use]
    pub fn longest_jump(mut self, packets: u64) -> Self {
        self.longest_jump = packets.min(self.mask / 4);
        self
    }

    /// Returns the classifier.
    pub fn classifier(&self) -> &C {
        &self.classifier
    }

    /// Processes an arriving packet and calls `lost` for each loss that is now certain. Ignores
    /// bits of the packet's sequence number above the tracker's width.
    pub fn on_packet(&mut self, packet: &Arrival, mut lost: impl FnMut(Loss)) -> Seen {
        let number = packet.sequence & self.mask;
        let Some(highest) = self.highest else {
            self.renew(number);
            self.tell(packet, number, 0);
            return Seen::First;
        };
        let ahead = number.wrapping_sub(highest) & self.mask;
        let behind = highest.wrapping_sub(number) & self.mask;
        let seen = if ahead > 0 && ahead - 1 <= self.longest_jump {
            self.suspect = None;
            self.advance(packet, highest.wrapping_add(ahead), ahead, &mut lost)
        } else if behind <= self.longest_way_back {
            self.suspect = None;
            self.fall_behind(packet, highest.wrapping_sub(behind), behind, &mut lost)
        } else if self.suspect == Some(number) {
            self.give_up(&mut lost, |_| true);
            // Start above all numbers so far, so that no number repeats.
            let number = ((highest | self.mask).wrapping_add(1)) | number;
            self.renew(number);
            self.tell(packet, number, 0);
            Seen::Restart
        } else {
            self.suspect = Some(number.wrapping_add(1) & self.mask);
            return Seen::Suspect;
        };
        self.settle(packet.received, &mut lost);
        seen
    }

    /// Calls `lost` for each loss certain by `now`, on the receiver's clock.
    pub fn on_timeout(&mut self, now: Time, mut lost: impl FnMut(Loss)) {
        self.settle(now, &mut lost);
    }

    /// Ends the stream at `now` and reports all packets still missing. Given the number of the
    /// `last` packet sent, also reports the packets missing at the end. They count as congestion,
    /// because no arrival reveals their cause. The next packet begins another stream; the
    /// classifier keeps its knowledge of the path.
    pub fn finish(&mut self, last: Option<u64>, now: Time, mut lost: impl FnMut(Loss)) {
        self.give_up(&mut lost, |_| true);
        let Some(highest) = self.highest.take() else {
            return;
        };
        let ahead = last.map_or(0, |last| last.wrapping_sub(highest) & self.mask);
        if (1..=self.mask / 2).contains(&ahead) {
            lost(Loss {
                first: highest.wrapping_add(1),
                count: ahead,
                cause: Cause::Congestion,
                revealed: now,
            });
        }
    }

    /// Returns when to call [`on_timeout`](Self::on_timeout) if no packet arrives; [`Time::MAX`]
    /// for never.
    pub fn next_timeout(&self) -> Time {
        let Some(span) = self.span else {
            return Time::MAX;
        };
        let due = self.holes[..self.waiting].iter();
        let due = due.map(|hole| hole.loss.revealed + span);
        due.min().unwrap_or(Time::MAX)
    }

    fn renew(&mut self, number: u64) {
        self.highest = Some(number);
        self.arrived = 1;
        self.suspect = None;
    }

    fn tell(&mut self, packet: &Arrival, number: u64, missing: u64) -> Option<Cause> {
        let arrival = Arrival {
            sequence: number,
            ..*packet
        };
        self.classifier.on_arrival(&arrival, missing)
    }

    /// Records a new packet, `ahead` after the highest.
    fn advance(
        &mut self,
        packet: &Arrival,
        number: u64,
        ahead: u64,
        lost: &mut impl FnMut(Loss),
    ) -> Seen {
        let missing = ahead - 1;
        self.highest = Some(number);
        self.arrived = self.arrived.checked_shl(ahead.min(64) as u32).unwrap_or(0) | 1;
        self.news += 1;
        if let Some(cause) = self.tell(packet, number, missing) {
            let loss = Loss {
                first: number.wrapping_sub(missing),
                count: missing,
                cause,
                revealed: packet.received,
            };
            if self.packets.is_none() && self.span.is_none() {
                lost(loss);
            } else {
                let news = self.news;
                self.dig(Hole { loss, news }, lost);
            }
        }
        Seen::New { missing }
    }

    /// Records a packet that is not new, `behind` before the highest.
    fn fall_behind(
        &mut self,
        packet: &Arrival,
        number: u64,
        behind: u64,
        lost: &mut impl FnMut(Loss),
    ) -> Seen {
        let bit = 1_u64.checked_shl(behind.min(64) as u32).unwrap_or(0);
        let waited_for = self.holes[..self.waiting].iter().position(|hole| {
            // Correct even if 64-bit numbers wrap around.
            number.wrapping_sub(hole.loss.first) < hole.loss.count
        });
        if let Some(place) = waited_for {
            self.fill(place, number, lost);
        } else if self.arrived & bit != 0 {
            return Seen::Duplicate;
        }
        self.arrived |= bit;
        if bit == 0 && waited_for.is_none() {
            return Seen::TooLate;
        }
        self.tell(packet, number, 0);
        if waited_for.is_some() {
            Seen::Late
        } else {
            Seen::TooLate
        }
    }

    /// Removes `number` from the hole at index `place`, which may split it in two.
    fn fill(&mut self, place: usize, number: u64, lost: &mut impl FnMut(Loss)) {
        let hole = self.holes[place];
        let before = number.wrapping_sub(hole.loss.first);
        let after = hole.loss.count - before - 1;
        self.holes.copy_within(place + 1..self.waiting, place);
        self.waiting -= 1;
        // Insert the second part first: both go to the same index, so they end up in order.
        for (first, count) in [(number.wrapping_add(1), after), (hole.loss.first, before)] {
            if count > 0 {
                let loss = Loss {
                    first,
                    count,
                    ..hole.loss
                };
                self.insert(place, Hole { loss, ..hole }, lost);
            }
        }
    }

    /// Adds a hole after all others.
    fn dig(&mut self, hole: Hole, lost: &mut impl FnMut(Loss)) {
        self.insert(self.waiting, hole, lost);
    }

    fn insert(&mut self, place: usize, hole: Hole, lost: &mut impl FnMut(Loss)) {
        let mut place = place;
        if self.waiting == HOLES {
            // A hole before all others is the oldest itself.
            let Some(before) = place.checked_sub(1) else {
                return lost(hole.loss);
            };
            lost(self.holes[0].loss);
            self.holes.copy_within(1.., 0);
            self.waiting -= 1;
            place = before;
        }
        self.holes.copy_within(place..self.waiting, place + 1);
        self.holes[place] = hole;
        self.waiting += 1;
    }

    /// Reports the holes whose wait has ended.
    fn settle(&mut self, now: Time, lost: &mut impl FnMut(Loss)) {
        let (news, packets, span) = (self.news, self.packets, self.span);
        self.give_up(lost, |hole| {
            packets.is_some_and(|packets| news - hole.news + 1 >= packets)
                || span.is_some_and(|span| now - hole.loss.revealed >= span)
        });
    }

    fn give_up(&mut self, lost: &mut impl FnMut(Loss), mut due: impl FnMut(&Hole) -> bool) {
        let mut kept = 0;
        for index in 0..self.waiting {
            let hole = self.holes[index];
            if due(&hole) {
                lost(hole.loss);
            } else {
                self.holes[kept] = hole;
                kept += 1;
            }
        }
        self.waiting = kept;
    }
}

#[cfg(test)]
mod tests;
