//! Keeps the bytes that should have passed the point of capture but have not so far.

use std::collections::BTreeMap;

use crate::steps::step;

/// The maximum number of gaps. Beyond it, the oldest is forgotten.
const GAPS: usize = 1 << 14;

/// Bytes that were not seen although later ones were.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gap {
    pub(super) start: u64,
    pub(super) end: u64,
    /// When the packet after the gap came, in ns.
    pub(super) at: u64,
    /// The timestamp, identification and frame of the packet after the gap.
    pub(super) stamp: Option<u32>,
    pub(super) ip_id: Option<u16>,
    pub(super) frame: u64,
    /// The position of the packet after the gap among the transmissions.
    pub(super) order: u64,
    pub(super) event: Option<u32>,
    /// The one-way delays when the gap appeared.
    pub(super) around: crate::delay::Around,
    /// The number of packets missing in the gap.
    pub(super) run: u32,
}

/// The gaps by their first byte.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaps {
    gaps: BTreeMap<u64, Gap>,
}

impl Gaps {
    pub(super) fn is_empty(&self) -> bool {
        self.gaps.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.gaps.clear();
    }

    pub(super) fn bytes(&self) -> u64 {
        self.gaps.values().map(|gap| gap.end - gap.start).sum()
    }

    /// Adds a gap after all others.
    pub(super) fn push(&mut self, gap: Gap) {
        if self.gaps.len() >= GAPS {
            self.gaps.pop_first();
        }
        self.gaps.insert(gap.start, gap);
    }

    /// Removes and returns the gaps between `start` and `end`, piece by piece.
    pub(super) fn take(&mut self, start: u64, end: u64) -> Vec<Gap> {
        let mut taken = Vec::new();
        if self.gaps.is_empty() || end <= start {
            return taken;
        }
        let before = self.gaps.range(..start).next_back();
        let from = before.filter(|(_, gap)| gap.end > start).map(|(&at, _)| at);
        let mut from = from.unwrap_or(start);
        while let Some((&at, &gap)) = self.gaps.range(from..end).next() {
            step(1);
            let piece = Gap {
                start: gap.start.max(start),
                end: gap.end.min(end),
                ..gap
            };
            self.gaps.remove(&at);
            for rest in [(gap.start, piece.start), (piece.end, gap.end)] {
                if rest.0 < rest.1 {
                    let (start, end) = rest;
                    self.gaps.insert(start, Gap { start, end, ..gap });
                }
            }
            from = piece.end;
            taken.push(piece);
        }
        while self.gaps.len() > GAPS {
            self.gaps.pop_first();
        }
        taken
    }

    /// Returns the memory in use, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.gaps.len() * 3 / 2 * size_of::<(u64, Gap)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(start: u64, end: u64) -> Gap {
        Gap {
            start,
            end,
            at: 0,
            stamp: None,
            ip_id: None,
            frame: 0,
            order: 0,
            event: None,
            around: crate::delay::Around::default(),
            run: 1,
        }
    }

    #[test]
    fn gaps_are_taken_out_piece_by_piece() {
        let mut gaps = Gaps::default();
        for start in [10, 30, 50] {
            gaps.push(gap(start, start + 10));
        }
        let pieces = |taken: Vec<Gap>| -> Vec<(u64, u64)> {
            taken.iter().map(|gap| (gap.start, gap.end)).collect()
        };
        assert_eq!(pieces(gaps.take(13, 15)), [(13, 15)]);
        assert_eq!(pieces(gaps.take(0, 12)), [(10, 12)]);
        assert_eq!(pieces(gaps.take(14, 52)), [(15, 20), (30, 40), (50, 52)]);
        assert_eq!((gaps.bytes(), gaps.is_empty()), (9, false));
        assert_eq!(pieces(gaps.take(0, 100)), [(12, 13), (52, 60)]);
        assert!(gaps.is_empty());
    }

    #[test]
    fn bytes_out_of_the_middle_take_steps_in_proportion() {
        crate::steps::assert_linear(2_000, 4, |many| {
            let mut gaps = Gaps::default();
            (0..many).for_each(|n| gaps.push(gap(n * 10, n * 10 + 9)));
            for n in 0..many {
                let at = (n * 7919 % many) * 10 + 4;
                assert_eq!(gaps.take(at, at + 1).len(), 1);
            }
        });
    }
}
