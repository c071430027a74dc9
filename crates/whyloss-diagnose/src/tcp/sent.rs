//! The bytes between what is acknowledged and what has been seen, as pieces with their transmissions.

use std::collections::VecDeque;

/// One passage of a piece past the point of capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Transmission {
    /// ns.
    pub(super) at: u64,
    /// Among all transmissions of this direction, from 1.
    pub(super) order: u64,
    /// TSval.
    pub(super) stamp: Option<u32>,
    /// Frame of the capture.
    pub(super) frame: u64,
    /// The loss event by which it left again.
    pub(super) event: Option<u32>,
}

/// Bytes that left together, and were split only where a later packet did.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) first: Transmission,
    /// Retransmissions.
    pub(super) again: Vec<Transmission>,
    /// Whether it was acknowledged selectively.
    pub(super) sacked: bool,
    /// Whether the first passage is a retransmission already: it filled a gap.
    pub(super) fills: bool,
}

impl Piece {
    pub(super) fn transmissions(&self) -> impl DoubleEndedIterator<Item = &Transmission> {
        std::iter::once(&self.first).chain(&self.again)
    }
}

/// Pieces in the order of their bytes; holes between them were never seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Pieces {
    pieces: VecDeque<Piece>,
}

impl Pieces {
    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    pub(super) fn front(&self) -> Option<&Piece> {
        self.pieces.front()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Piece> {
        self.pieces.iter()
    }

    pub(super) fn push(&mut self, piece: Piece) {
        self.pieces.push_back(piece);
    }

    pub(super) fn pop(&mut self) -> Option<Piece> {
        self.pieces.pop_front()
    }

    pub(super) fn clear(&mut self) {
        self.pieces.clear();
    }

    /// Puts a piece where its bytes belong.
    pub(super) fn insert(&mut self, piece: Piece) {
        let at = self.at(piece.start);
        self.pieces.insert(at, piece);
    }

    /// Index of the first piece that begins at `start` or later.
    fn at(&self, start: u64) -> usize {
        self.pieces.partition_point(|piece| piece.start < start)
    }

    /// Makes `at` a border between pieces.
    pub(super) fn split(&mut self, at: u64) {
        let next = self.at(at);
        let Some(piece) = next.checked_sub(1).map(|index| &mut self.pieces[index]) else {
            return;
        };
        if piece.end <= at {
            return;
        }
        let mut right = piece.clone();
        right.start = at;
        piece.end = at;
        self.pieces.insert(next, right);
    }

    /// The pieces from `start` to `end`, split at both.
    pub(super) fn between(&mut self, start: u64, end: u64) -> impl Iterator<Item = &mut Piece> {
        self.split(start);
        self.split(end);
        let from = self.at(start);
        let to = self.at(end).max(from);
        self.pieces.range_mut(from..to)
    }

    /// Takes the first piece if it lies before `end`, split there.
    pub(super) fn pop_before(&mut self, end: u64) -> Option<Piece> {
        let front = self.pieces.front()?;
        if front.start >= end {
            return None;
        }
        if front.end > end {
            self.split(end);
        }
        self.pieces.pop_front()
    }
}
