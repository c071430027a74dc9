//! Keeps the bytes that have passed and are not acknowledged, as pieces with their transmissions.

use std::collections::VecDeque;

use super::covered::Covered;
use crate::steps::step;

/// One transmission of a piece past the point of capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Transmission {
    /// The time, in ns.
    pub(super) at: u64,
    /// The number among all transmissions of this direction, from 1.
    pub(super) order: u64,
    /// The timestamp (TSval).
    pub(super) stamp: Option<u32>,
    /// The frame in the capture.
    pub(super) frame: u64,
    /// The loss event that caused this retransmission.
    pub(super) event: Option<u32>,
}

/// Bytes that left together, split only where a later packet begins or ends.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) first: Transmission,
    /// The retransmissions.
    pub(super) again: Vec<Transmission>,
    /// Whether the piece was acknowledged selectively.
    pub(super) sacked: bool,
    /// Whether the first transmission that passed was already a retransmission, which filled a gap.
    pub(super) fills: bool,
}

impl Piece {
    pub(super) fn transmissions(&self) -> impl DoubleEndedIterator<Item = &Transmission> {
        std::iter::once(&self.first).chain(&self.again)
    }
}

/// The pieces in the order of their bytes. Holes between them were never seen.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    all: VecDeque<Piece>,
    /// The number of retransmissions of all pieces.
    again: usize,
    /// The number of steps that may be taken. Each packet adds some, so that no packet can cause
    /// the work of many.
    credit: usize,
}

/// The maximum number of waiting pieces, split ones included.
const MOST: usize = 1 << 17;
/// The maximum number of remembered retransmissions of all pieces.
const MOST_AGAIN: usize = 1 << 16;
/// The number of steps that each packet earns, and the highest credit. A step examines one piece,
/// or moves several.
const EARNED: usize = 64;
const SAVED: usize = 1 << 18;
const MOVED: usize = 64;

impl Default for Pieces {
    fn default() -> Self {
        Self {
            all: VecDeque::new(),
            again: 0,
            credit: SAVED,
        }
    }
}

impl Pieces {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn front(&self) -> Option<&Piece> {
        self.all.front()
    }

    /// Earns steps for a packet.
    pub(super) fn earn(&mut self) {
        self.credit = (self.credit + EARNED).min(SAVED);
    }

    fn spend(&mut self, steps: usize) {
        step(steps);
        self.credit = self.credit.saturating_sub(steps);
    }

    /// Returns the first piece that was not acknowledged selectively.
    pub(super) fn first_open(&mut self, sacked: &Covered) -> Option<&Piece> {
        let (mut index, mut steps) = (0, 0);
        while let Some(piece) = self.all.get(index).filter(|piece| piece.sacked) {
            steps += 1;
            let end = sacked.end(piece.start);
            index = if end > piece.end {
                self.at(end)
            } else {
                index + 1
            };
        }
        self.spend(steps);
        self.all.get(index)
    }

    pub(super) fn push(&mut self, piece: Piece) {
        self.all.push_back(piece);
    }

    pub(super) fn pop(&mut self) -> Option<Piece> {
        let piece = self.all.pop_front()?;
        self.again -= piece.again.len();
        Some(piece)
    }

    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.again = 0;
    }

    /// Returns the number of retransmissions that may still be remembered.
    pub(super) fn room_for_again(&self) -> usize {
        MOST_AGAIN.saturating_sub(self.again)
    }

    pub(super) fn remembered(&mut self, again: usize) {
        self.again += again;
    }

    /// Inserts a piece where its bytes belong.
    pub(super) fn insert(&mut self, piece: Piece) {
        let at = self.at(piece.start);
        if self.affords(at) {
            self.all.insert(at, piece);
        }
    }

    /// Returns the index of the first piece that begins at `start` or later.
    fn at(&self, start: u64) -> usize {
        self.all.partition_point(|piece| piece.start < start)
    }

    /// Returns whether a piece fits at this index, and whether the credit covers the move of later
    /// pieces.
    fn affords(&mut self, at: usize) -> bool {
        let steps = at.min(self.all.len() - at) / MOVED;
        if self.all.len() >= MOST || steps > self.credit {
            return false;
        }
        self.spend(steps);
        true
    }

    /// Splits the piece that contains `at`, if the credit covers it.
    fn split(&mut self, at: u64) {
        let next = self.at(at);
        let inside = |index: &usize| self.all[*index].end > at;
        let Some(index) = next.checked_sub(1).filter(inside) else {
            return;
        };
        if !self.affords(next) {
            return;
        }
        let mut right = self.all[index].clone();
        right.start = at;
        self.again += right.again.len();
        self.all[index].end = at;
        self.all.insert(next, right);
    }

    /// Returns the pieces in `start..end`, split at both ends, as far as the credit covers it.
    pub(super) fn between(&mut self, start: u64, end: u64) -> impl Iterator<Item = &mut Piece> {
        self.split(start);
        self.split(end);
        let from = self.at(start);
        let many = self.at(end).max(from) - from;
        let many = many.min(self.credit.max(EARNED));
        self.spend(many);
        self.all.range_mut(from..from + many)
    }

    /// Removes and returns the first piece if it begins before `end`, split there.
    pub(super) fn pop_before(&mut self, end: u64) -> Option<Piece> {
        let front = self.all.front_mut()?;
        if front.start >= end {
            return None;
        }
        if front.end > end {
            let taken = Piece {
                end,
                ..front.clone()
            };
            front.start = end;
            return Some(taken);
        }
        self.pop()
    }

    /// Returns the memory in use, in bytes.
    pub(super) fn memory(&self) -> usize {
        // Some vectors of retransmissions have spare capacity.
        self.all.capacity() * size_of::<Piece>() + self.again * 2 * size_of::<Transmission>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(start: u64, end: u64, sacked: bool) -> Piece {
        let first = Transmission {
            at: 0,
            order: 1,
            stamp: None,
            frame: 1,
            event: None,
        };
        Piece {
            start,
            end,
            first,
            again: Vec::new(),
            sacked,
            fills: false,
        }
    }

    #[test]
    fn pieces_are_split_where_packets_end() {
        let mut pieces = Pieces::default();
        pieces.push(piece(0, 100, false));
        let parts: Vec<(u64, u64)> = pieces
            .between(20, 40)
            .map(|piece| (piece.start, piece.end))
            .collect();
        assert_eq!((parts, pieces.len()), (vec![(20, 40)], 3));
        let front = pieces.pop_before(10).map(|piece| (piece.start, piece.end));
        assert_eq!((front, pieces.len()), (Some((0, 10)), 3));
        assert_eq!(pieces.front().map(|front| front.start), Some(10));
    }

    /// Each packet covers all pieces, splits one in the middle, or requests the first open one.
    #[test]
    fn packets_take_steps_in_proportion() {
        crate::steps::assert_linear(20_000, 200, |many| {
            let (mut pieces, mut sacked) = (Pieces::default(), Covered::default());
            for n in 0..many {
                pieces.push(piece(n * 10, n * 10 + 10, n % 2 == 0));
            }
            sacked.add(0, many * 10, |_, _| {});
            for n in 0..many {
                pieces.earn();
                pieces.between(0, many * 10).for_each(drop);
                pieces
                    .between((many / 2 + n) * 5 + 3, (many / 2 + n) * 5 + 7)
                    .for_each(drop);
                pieces.first_open(&sacked);
            }
            assert!(pieces.len() <= MOST);
        });
    }
}
