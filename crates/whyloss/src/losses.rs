//! From packets with sequence numbers to losses with causes: what a receiver of RTP, QUIC datagrams
//! or TFRC needs.
//!
//! [`LossTracker`] counts gaps, whatever the width of the sequence numbers, gives overtaken packets
//! as long as it is told to, recognises duplicates and restarts, and asks a [`ReceiverClassifier`]
//! for the cause.
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
//! // 65 535 was only overtaken; 1 is lost, and the fourth packet since 2 would have told so too.
//! assert_eq!(lost.len(), 1);
//! assert_eq!((lost[0].first % 65_536, lost[0].count), (1, 1));
//! ```
//!
//! # How
//!
//! ```text
//! ahead of the highest so far, by up to the longest jump    new; what lies between is missing
//! behind it, by up to the longest way back                  late if missing, else a duplicate
//! anywhere else                                             suspect: ignored, unless the next one follows it (a restart)
//! ```
//!
//! The last line and its numbers are RFC 3550's (appendix A.1). The cause is asked for when the gap
//! is revealed, as the classifiers want it, and told once nothing is waited for any longer. A
//! packet that was only overtaken is then not among the lost ones. Late packets are told to the
//! classifier, with nothing missing; duplicates and suspects are not. At most [`HOLES`] gaps wait
//! at a time; with one more, the oldest counts at once.
//!
//! # A program that reads late
//!
//! A busy program reads its socket late, and then many packets at once. Two things follow, which
//! `tests/it/bunched.rs` shows on a path with both kinds of loss:
//!
//! | what happens | what a classifier makes of it | what to do |
//! |---|---|---|
//! | packets get the time of reading as their stamp | `trees` and `mbiaz` call the radio's losses congestion; the ZBS family calls a queue's wireless, half of them or more | let the kernel stamp arrivals (`SO_TIMESTAMPNS`), or read in a thread of its own |
//! | the socket's buffer overflows | its losses look like the radio's: most are called wireless, the better the stamps the more | enlarge the buffer (`SO_RCVBUF`), and watch its drops (`SO_RXQ_OVFL`) |
//!
//! So more packets called wireless than the radio can have lost mean a full socket buffer, not a
//! full queue.

use crate::receiver::{Arrival, ReceiverClassifier};
use crate::{Cause, Duration, Time};

/// Most gaps that wait for overtaken packets at a time.
pub const HOLES: usize = 16;

/// Lost packets in a row, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Loss {
    /// Number of the first lost packet, counted on past every wrap-around: its low bits are the
    /// sequence number.
    pub first: u64,
    /// How many packets in a row were lost.
    pub count: u64,
    /// Why they were lost.
    pub cause: Cause,
    /// When the gap was revealed, on the receiver's clock.
    pub revealed: Time,
}

/// The kind of a packet to a [`LossTracker`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Seen {
    /// The first packet of all.
    First,
    /// A new packet, before which so many are missing.
    New {
        /// Packets between this one and the highest before.
        missing: u64,
    },
    /// A packet that was waited for: it was overtaken, not lost.
    Late,
    /// A packet that had been given up, or is older than what is remembered.
    TooLate,
    /// A packet that had arrived before.
    Duplicate,
    /// A number out of nowhere. If the next one follows it, the sender has started anew.
    Suspect,
    /// The sender has started anew: this is the second packet of the new count.
    Restart,
}

/// Counts what is missing among numbered packets, and asks a classifier why. See the
/// [module](self).
#[derive(Clone, Debug)]
pub struct LossTracker<C> {
    classifier: C,
    /// The sequence numbers' modulus less one.
    mask: u64,
    longest_jump: u64,
    longest_way_back: u64,
    packets: Option<u64>,
    span: Option<Duration>,
    /// The highest number so far, wrap-arounds counted; `None` before the first packet.
    highest: Option<u64>,
    /// Bit i: the packet i before the highest has arrived.
    arrived: u64,
    /// New packets so far.
    news: u64,
    /// The number that would prove a restart.
    suspect: Option<u64>,
    /// The first `waiting` of these, in order.
    holes: [Hole; HOLES],
    waiting: usize,
}

/// Packets that are missing and waited for.
#[derive(Clone, Copy, Debug)]
struct Hole {
    loss: Loss,
    /// New packets up to the one that revealed it.
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
    /// A tracker of sequence numbers of `bits` bits (2 to 64) that does not wait.
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

    /// A tracker of RTP's sequence numbers, of 16 bits.
    pub fn rtp(classifier: C) -> Self {
        Self::new(classifier, 16)
    }

    /// Waits for a missing packet until `packets` new ones have arrived after it (3, say, as TCP
    /// does). With [`wait_for`](Self::wait_for) too, whichever comes first.
    #[must_use]
    pub fn wait_for_packets(mut self, packets: u64) -> Self {
        self.packets = Some(packets);
        self
    }

    /// Waits for a missing packet for `span` after the gap was revealed. With
    /// [`wait_for_packets`](Self::wait_for_packets) too, whichever comes first.
    #[must_use]
    pub fn wait_for(mut self, span: Duration) -> Self {
        self.span = Some(span);
        self
    }

    /// Takes a gap of more than `packets` for a sender that started anew (RFC 3550: 3000). No more
    /// than a quarter of the numbers.
    #[must_use]
    pub fn longest_jump(mut self, packets: u64) -> Self {
        self.longest_jump = packets.min(self.mask / 4);
        self
    }

    /// The classifier, to look at.
    pub fn classifier(&self) -> &C {
        &self.classifier
    }

    /// Takes a packet as it arrives; `lost` is told of the packets that count as lost now. The
    /// arrival's sequence number is the packet's own: bits above the tracker's are ignored.
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
            // Behind everything counted so far, so that numbers never come back.
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

    /// Tells of the packets that count as lost by `now`, on the receiver's clock.
    pub fn on_timeout(&mut self, now: Time, mut lost: impl FnMut(Loss)) {
        self.settle(now, &mut lost);
    }

    /// Ends the stream at `now`: tells of all that is waited for, and, if the number of the `last`
    /// packet sent is known, of what is missing at the end. No arrival shows why that was lost, so
    /// it counts as congestion. The next packet begins another stream; the classifier keeps what it
    /// knows of the path.
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

    /// When [`on_timeout`](Self::on_timeout) is due next if no packet arrives; [`Time::MAX`]:
    /// never.
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

    /// A new packet, `ahead` after the highest.
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

    /// A packet that is not new, `behind` before the highest.
    fn fall_behind(
        &mut self,
        packet: &Arrival,
        number: u64,
        behind: u64,
        lost: &mut impl FnMut(Loss),
    ) -> Seen {
        let bit = 1_u64.checked_shl(behind.min(64) as u32).unwrap_or(0);
        let waited_for = self.holes[..self.waiting].iter().position(|hole| {
            // Written for numbers of 64 bits that wrap around.
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

    /// Takes `number` out of the hole at `place`, which may leave two.
    fn fill(&mut self, place: usize, number: u64, lost: &mut impl FnMut(Loss)) {
        let hole = self.holes[place];
        let before = number.wrapping_sub(hole.loss.first);
        let after = hole.loss.count - before - 1;
        self.holes.copy_within(place + 1..self.waiting, place);
        self.waiting -= 1;
        // The second part first, so that both end up in order at the same place.
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

    /// A hole behind all others.
    fn dig(&mut self, hole: Hole, lost: &mut impl FnMut(Loss)) {
        self.insert(self.waiting, hole, lost);
    }

    fn insert(&mut self, place: usize, hole: Hole, lost: &mut impl FnMut(Loss)) {
        let mut place = place;
        if self.waiting == HOLES {
            lost(self.holes[0].loss);
            self.holes.copy_within(1.., 0);
            self.waiting -= 1;
            place = place.saturating_sub(1);
        }
        self.holes.copy_within(place..self.waiting, place + 1);
        self.holes[place] = hole;
        self.waiting += 1;
    }

    /// Numbers that were waited for long enough count as lost.
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
