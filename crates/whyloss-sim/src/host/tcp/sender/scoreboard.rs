//! The sender's scoreboard: selectively acknowledged segments, and the pipe algorithm (RFC 6675).
//!
//! ```text
//! IsLost(s)  three or more sacked segments are above s   ⇔  s < L, the third highest sacked segment
//! pipe       = segments not sacked from L up  +  segments not sacked below HighRxt (retransmitted)
//! NextSeg    1. the first hole from HighRxt that is lost   2. a new segment
//!            3. the first hole from HighRxt below the highest sacked segment   4. once, the highest segment not sacked
//! ```
//!
//! Everything is computed from the list of sacked ranges, without scanning the window. The list may
//! have a hole for every other segment, so a count of sacked segments below a number continues from
//! the last such count. RFC 6675's other test for IsLost, three discontiguous ranges above s,
//! follows from this one when sequence numbers count segments.

use std::ops::Range;

use crate::host::tcp::ranges::Ranges;
use crate::host::tcp::{Ack, Dialect};

/// DupThresh: the number of duplicates, or of sacked segments above, that indicates a loss (RFC
/// 6675 §2).
pub(super) const DUP_THRESH: u32 = 3;

/// The state of segments between the cumulative acknowledgement and the highest one sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    sacked: Ranges,
    count: u64,
    /// A sequence number, and how many segments are sacked below it.
    counted: (u64, u64),
    /// One past the highest segment retransmitted in this recovery.
    high_rxt: u64,
    /// The estimated number of segments in the network during a recovery.
    pub(super) pipe: i64,
    /// One past RescueRxt: a rescue needs a cumulative acknowledgement beyond it.
    rescue_beyond: u64,
}

impl Scoreboard {
    pub(super) fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }

    /// Returns the number of sacked segments.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the number of sacked segments below `sequence`.
    pub(super) fn count_below(&self, sequence: u64) -> u64 {
        let (place, below) = self.counted;
        if self.sacked.last().is_none_or(|last| last.end <= sequence) {
            self.count
        } else if place <= sequence {
            below + self.sacked.count_within(&(place..sequence))
        } else {
            below - self.sacked.count_within(&(sequence..place))
        }
    }

    /// Counts like [`Self::count_below`]; the next count continues from here.
    pub(super) fn count_from(&mut self, sequence: u64) -> u64 {
        let below = self.count_below(sequence);
        self.counted = (sequence, below);
        below
    }

    /// Returns the first segment not below `sequence` that is not sacked.
    pub(super) fn hole_from(&self, sequence: u64) -> u64 {
        self.sacked.hole_from(sequence)
    }

    /// Records the SACK blocks of `ack` up to `max` and removes cumulatively acknowledged segments.
    /// Returns the number of segments sacked for the first time.
    pub(super) fn update(&mut self, ack: &Ack, max: u64) -> u64 {
        let (place, below) = &mut self.counted;
        let removed = self.sacked.remove_below(ack.next);
        // Either all segments below the place were removed, or all removed segments were below it.
        *below = below.saturating_sub(removed);
        self.count -= removed;
        let mut new = 0;
        for block in ack.sacked() {
            let block = block.start.max(ack.next + 1)..block.end.min(max);
            // Most blocks repeat those of earlier acknowledgements.
            if self.sacked.holds(&block) {
                continue;
            }
            let under = block.start..block.end.min(*place);
            if !under.is_empty() {
                *below += under.end - under.start - self.sacked.count_within(&under);
            }
            new += self.sacked.insert(block);
        }
        self.count += new;
        new
    }

    /// Returns the parts of `block` that have not been sacked yet.
    pub(super) fn news(&self, block: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let some = !self.sacked.holds(&block);
        some.then(|| self.sacked.gaps(block)).into_iter().flatten()
    }

    pub(super) fn clear(&mut self) {
        self.sacked.clear();
        self.count = 0;
        self.counted = (0, 0);
    }

    /// Returns whether the receiver reneged: it expects a segment that it had sacked (RFC 2018 §8).
    pub(super) fn reneged(&self, una: u64) -> bool {
        self.sacked.first().is_some_and(|range| range.start <= una)
    }

    /// Returns L, below which all segments that are not sacked are lost.
    pub(super) fn lost_below(&self) -> u64 {
        let mut wanted = u64::from(DUP_THRESH);
        for range in self.sacked.iter().rev() {
            let len = range.end - range.start;
            if len >= wanted {
                return range.end - wanted;
            }
            wanted -= len;
        }
        0
    }

    /// Begins a recovery with the retransmission of `una`.
    pub(super) fn begin(&mut self, una: u64) {
        self.high_rxt = una + 1;
        // Step 4.3 of RFC 6675 §5: no rescue until more than this segment has been acknowledged.
        self.rescue_beyond = una + 1;
    }

    /// Sets the pipe (SetPipe, RFC 6675 §4), with segments up to `max` sent.
    pub(super) fn set_pipe(&mut self, una: u64, max: u64) {
        let lost_below = self.lost_below().max(una);
        let sacked_above = self.count.min(u64::from(DUP_THRESH));
        let unsettled = (max - lost_below) as i64 - sacked_above as i64;
        let high_rxt = self.high_rxt.max(una);
        let retransmitted = high_rxt - una - self.count_from(high_rxt);
        self.pipe = unsettled + retransmitted as i64;
    }

    /// Returns NextSeg (RFC 6675 §4) if `window` has room for it: a retransmission, or `nxt` if
    /// that is below `limit`.
    pub(super) fn next_segment(
        &mut self,
        dialect: Dialect,
        window: u64,
        una: u64,
        nxt: u64,
        limit: u64,
    ) -> Option<u64> {
        if self.pipe >= window as i64 {
            return None;
        }
        let new = (nxt < limit).then_some(nxt);
        let end = self.sacked.last().map_or(0, |range| range.end);
        let next = match dialect {
            Dialect::Rfc => self
                .retransmit_below(una, self.lost_below())
                .or(new)
                .or_else(|| self.retransmit_below(una, end))
                .or_else(|| self.rescue(una, nxt)),
            Dialect::Ns2 => self.retransmit_below(una, end).or(new),
        }?;
        self.pipe += 1;
        Some(next)
    }

    /// Returns the first hole below `limit` that was not retransmitted. Marks it as retransmitted.
    fn retransmit_below(&mut self, una: u64, limit: u64) -> Option<u64> {
        let hole = self.sacked.hole_from(self.high_rxt.max(una));
        (hole < limit).then(|| {
            self.high_rxt = hole + 1;
            hole
        })
    }

    /// NextSeg rule 4: returns the highest segment sent that is not sacked. Applies once in a
    /// recovery, after the segments retransmitted at its beginning have arrived.
    fn rescue(&mut self, una: u64, max: u64) -> Option<u64> {
        if una <= self.rescue_beyond {
            return None;
        }
        let highest = match self.sacked.last() {
            Some(range) if range.end >= max => range.start.checked_sub(1)?,
            _ => max.checked_sub(1)?,
        };
        self.rescue_beyond = u64::MAX;
        (highest >= una).then_some(highest)
    }
}

#[cfg(test)]
#[allow(
    clippy::single_range_in_vec_init,
    reason = "lists of one range are meant"
)]
mod tests {
    use super::*;
    use crate::host::tcp::SackBlocks;
    use proptest::prelude::*;
    use whyloss::Time;

    fn end(board: &Scoreboard) -> u64 {
        board.sacked.last().map_or(0, |range| range.end)
    }

    fn ack(next: u64, blocks: &[std::ops::Range<u64>]) -> Ack {
        Ack {
            next,
            echo: Time::ZERO,
            sack: SackBlocks::new(next, blocks.iter().cloned()),
        }
    }

    #[test]
    fn pipe_and_next_segment_by_hand() {
        // 20 segments are sent: 0, 2, 5 and 6 are missing; 1, 3, 4 and 7 to 9 are sacked.
        let mut board = Scoreboard::default();
        assert_eq!(board.update(&ack(0, &[7..10, 3..5, 1..2]), 20), 6);
        assert_eq!(board.lost_below(), 7);
        board.begin(0);
        board.set_pipe(0, 20);
        // Not sacked from 7 up: 10 to 19; below HighRxt = 1: segment 0.
        assert_eq!(board.pipe, 11);
        let lost = board.lost_below();
        assert_eq!(board.retransmit_below(0, lost), Some(2));
        assert_eq!(board.retransmit_below(0, lost), Some(5));
        assert_eq!(board.retransmit_below(0, lost), Some(6));
        assert_eq!(board.retransmit_below(0, 10), None);
        board.set_pipe(0, 20);
        assert_eq!(board.pipe, 14);
        // RescueRxt is segment 0: HighACK must be above it.
        assert_eq!(board.rescue(0, 20), None);
        assert_eq!(board.rescue(1, 20), None);
        assert_eq!(board.rescue(2, 20), Some(19));
        assert_eq!(board.rescue(2, 20), None);
        // 0 and 2 arrive.
        assert_eq!(board.update(&ack(5, &[7..10]), 20), 0);
        board.set_pipe(5, 20);
        assert_eq!((board.pipe, board.count), (12, 3));
    }

    #[test]
    fn impossible_blocks_are_clipped() {
        let mut board = Scoreboard::default();
        assert_eq!(board.update(&ack(3, &[3..6, 8..1000]), 10), 4);
        assert!(!board.reneged(3));
        assert_eq!(board.update(&ack(5, &[]), 10), 0);
        assert!(board.reneged(5));
        board.clear();
        assert!(board.is_empty() && board.count == 0);
    }

    proptest! {
        /// The pipe and the lost segments equal those of RFC 6675's SetPipe and IsLost, segment by
        /// segment.
        #[test]
        fn pipe_agrees_with_the_rfc(
            blocks in prop::collection::vec((1..60u64, 1..12u64), 0..12),
            una in 0..10u64,
            retransmissions in 0..30usize,
        ) {
            let max = 64;
            let mut board = Scoreboard::default();
            for (start, len) in blocks {
                let una = una.min(start / 4);
                board.update(&ack(una, &[start..start + len]), max);
                // Counts are right at any number, after a count at any other, and after changes
                // below.
                for place in [len * 5, start / 2, start + len] {
                    let below = (0..place).filter(|&s| board.sacked.find(s).is_some());
                    let below = below.count() as u64;
                    prop_assert_eq!(board.count_below(place), below);
                    if start % 3 == 0 {
                        prop_assert_eq!(board.count_from(place), below);
                    }
                }
            }
            board.update(&ack(una, &[]), max);
            board.begin(una);
            for _ in 0..retransmissions {
                board.retransmit_below(una, end(&board));
            }
            board.set_pipe(una, max);
            let sacked = |s: u64| board.sacked.find(s).is_some();
            let is_lost = |s: u64| (s + 1..max).filter(|&above| sacked(above)).count() >= 3;
            let pipe: i64 = (una..max)
                .filter(|&s| !sacked(s))
                .map(|s| i64::from(!is_lost(s)) + i64::from(s < board.high_rxt))
                .sum();
            prop_assert_eq!(board.pipe, pipe);
            for s in (una..max).filter(|&s| !sacked(s)) {
                prop_assert_eq!(is_lost(s), s < board.lost_below());
            }
        }
    }
}
