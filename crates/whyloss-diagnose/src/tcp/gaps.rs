//! Bytes that should have passed the point of capture and did not, so far.

use std::collections::VecDeque;

/// Gaps at most; further ones are forgotten, the oldest first.
const GAPS: usize = 1 << 14;

/// Bytes never seen, before others that were.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gap {
    pub(super) start: u64,
    pub(super) end: u64,
    /// When the packet behind it came, ns.
    pub(super) at: u64,
    /// Its time stamp, identification and frame.
    pub(super) stamp: Option<u32>,
    pub(super) ip_id: Option<u16>,
    pub(super) frame: u64,
    /// Its number among the transmissions.
    pub(super) order: u64,
    pub(super) event: Option<u32>,
    /// One-way delays when it showed.
    pub(super) around: crate::delay::Around,
    /// Packets missing in it.
    pub(super) run: u32,
}

/// Gaps, in the order of their bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaps {
    gaps: VecDeque<Gap>,
}

impl Gaps {
    pub(super) fn is_empty(&self) -> bool {
        self.gaps.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.gaps.clear();
    }

    pub(super) fn bytes(&self) -> u64 {
        self.gaps.iter().map(|gap| gap.end - gap.start).sum()
    }

    /// A gap behind all others.
    pub(super) fn push(&mut self, gap: Gap) {
        if self.gaps.len() == GAPS {
            self.gaps.pop_front();
        }
        self.gaps.push_back(gap);
    }

    /// Takes what lies between `start` and `end` out, piece by piece.
    pub(super) fn take(&mut self, start: u64, end: u64) -> Vec<Gap> {
        let mut taken = Vec::new();
        let mut index = self.gaps.partition_point(|gap| gap.end <= start);
        while let Some(gap) = self.gaps.get(index).copied()
            && gap.start < end
        {
            let piece = Gap {
                start: gap.start.max(start),
                end: gap.end.min(end),
                ..gap
            };
            let before = Gap {
                end: piece.start,
                ..gap
            };
            let behind = Gap {
                start: piece.end,
                ..gap
            };
            let rest = [before, behind].map(|rest| (rest.start < rest.end).then_some(rest));
            self.gaps.remove(index);
            for rest in rest.into_iter().flatten() {
                self.gaps.insert(index, rest);
                index += 1;
            }
            taken.push(piece);
        }
        taken
    }
}
