//! Keeps the missing sequence numbers: one entry per gap, however long.
//!
//! Only numbers near an arrived packet have delays next to them ([`NEAR`]), so each of them becomes
//! a separate loss. The other numbers of the gap become one loss.

use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use crate::delay::{NEAR, Neighbours};
use crate::ledger::Ledger;
use crate::loss::Loss;
use crate::steps::step;

/// The maximum number of missing packets that may still arrive.
const WAITING: u64 = 1 << 10;

/// A gap when it appears.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    /// The first number of the gap, and the first one after it.
    pub(crate) first: u64,
    pub(crate) end: u64,
    /// The loss of a number in the gap.
    pub(crate) loss: Loss,
    /// The delays on both sides of the gap.
    pub(crate) neighbours: Neighbours,
}

/// The numbers of a gap that are still missing.
#[derive(Clone, Debug)]
struct Piece {
    from: u64,
    to: u64,
    gap: Rc<Gap>,
}

/// The gaps of a number space, in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Missing {
    pieces: VecDeque<Piece>,
    numbers: u64,
    /// The numbers that the receiver requested. They were lost, even if they arrive later.
    asked: BTreeSet<u64>,
    /// Whether each number becomes a separate loss.
    singly: bool,
}

impl Missing {
    /// Creates a state in which each number becomes a separate loss.
    pub(crate) fn singly() -> Self {
        Self {
            singly: true,
            ..Self::default()
        }
    }

    /// Records a gap after all others. If too many numbers are missing, the oldest become losses.
    pub(crate) fn open(&mut self, gap: &Gap, ledger: &mut Ledger) {
        self.numbers += gap.end - gap.first;
        self.pieces.push_back(Piece {
            from: gap.first,
            to: gap.end,
            gap: Rc::new(*gap),
        });
        while let Some(many) = self.numbers.checked_sub(WAITING)
            && many > 0
            && let Some(front) = self.pieces.front_mut()
        {
            let to = front.to.min(front.from + many);
            keep(&front.gap, (front.from, to), self.singly, ledger);
            self.numbers -= to - front.from;
            front.from = to;
            if front.from == front.to {
                self.pieces.pop_front();
            }
            self.asked = self.asked.split_off(&to);
        }
    }

    /// Returns the index of the piece that has this number.
    fn place(&self, number: u64) -> Option<usize> {
        step(self.pieces.len().checked_ilog2().unwrap_or(0) as usize + 1);
        let at = self.pieces.partition_point(|piece| piece.to <= number);
        (self.pieces.get(at)?.from <= number).then_some(at)
    }

    /// Records that a missing number came late. Returns true if it is no longer missing, false if
    /// it stays lost, and `None` if it was not missing.
    pub(crate) fn fill(&mut self, number: u64) -> Option<bool> {
        let at = self.place(number)?;
        if self.asked.contains(&number) {
            return Some(false);
        }
        let piece = &mut self.pieces[at];
        let behind = Piece {
            from: number + 1,
            ..piece.clone()
        };
        piece.to = number;
        if piece.from == piece.to {
            self.pieces.remove(at);
            if behind.from < behind.to {
                self.pieces.insert(at, behind);
            }
        } else if behind.from < behind.to {
            self.pieces.insert(at + 1, behind);
        }
        self.numbers -= 1;
        Some(true)
    }

    /// Records that the receiver requests a number. Returns whether it is also missing here.
    pub(crate) fn ask(&mut self, number: u64) -> bool {
        let missing = self.place(number).is_some();
        if missing {
            self.asked.insert(number);
        }
        missing
    }

    /// Ends the input: all missing numbers become losses.
    pub(crate) fn finish(&mut self, ledger: &mut Ledger) {
        for piece in self.pieces.drain(..) {
            keep(&piece.gap, (piece.from, piece.to), self.singly, ledger);
        }
        self.numbers = 0;
        self.asked.clear();
    }

    /// Returns the memory in use, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.pieces.capacity() * size_of::<Piece>()
            + self.pieces.len() * size_of::<Gap>()
            + self.asked.len() * 2 * size_of::<u64>()
    }
}

/// Keeps the numbers `from..to` of a gap as losses.
fn keep(gap: &Gap, (mut from, to): (u64, u64), singly: bool, ledger: &mut Ledger) {
    let loss = |number, packets: u32, around| Loss {
        offset: number,
        order: number,
        bytes: gap.loss.bytes.saturating_mul(packets),
        packets,
        around,
        ..gap.loss
    };
    let (head, tail) = (gap.first + NEAR, gap.end.saturating_sub(NEAR));
    while from < to {
        step(1);
        if singly || from < head || tail <= from {
            ledger.keep(loss(from, 1, gap.neighbours.around(from)));
            from += 1;
        } else {
            let end = to.min(tail);
            let many = loss(from, (end - from) as u32, gap.neighbours.around(from));
            ledger.keep_on(many);
            from = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Evidence, Side};

    fn gap(first: u64, end: u64) -> Gap {
        Gap {
            first,
            end,
            loss: Loss {
                time: first,
                frame: end,
                offset: first,
                bytes: 100,
                packets: 1,
                side: Side::Before,
                retransmission: false,
                evidence: Evidence::Number,
                event: None,
                order: first,
                around: crate::delay::Around::default(),
                run: (end - first) as u32,
                verdict: None,
                truth: None,
            },
            neighbours: Neighbours::default(),
        }
    }

    /// The numbers that are lost, one by one.
    fn numbers(ledger: &Ledger) -> Vec<u64> {
        let losses = ledger.losses.iter();
        let mut all: Vec<u64> = losses
            .flat_map(|loss| loss.offset..loss.offset + u64::from(loss.packets))
            .collect();
        all.sort_unstable();
        all
    }

    /// For any gaps, late arrivals and requests, the lost numbers are those of a plain list of
    /// numbers.
    #[test]
    fn ranges_tell_what_a_list_of_numbers_tells() {
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let (mut missing, mut ledger) = (Missing::default(), Ledger::default());
            let (mut list, mut lost, mut next) = (Vec::<(u64, bool)>::new(), Vec::new(), 0_u64);
            for _ in 0..200 {
                let number = next.saturating_sub(draw(1500));
                let at = list.iter().position(|one| one.0 == number);
                match draw(4) {
                    0 | 1 => {
                        let many = if draw(20) == 0 { draw(3000) } else { draw(200) };
                        let first = next + draw(5);
                        next = first + many + 1;
                        missing.open(&gap(first, next), &mut ledger);
                        list.extend((first..next).map(|number| (number, false)));
                        let old = list.len().saturating_sub(WAITING as usize);
                        lost.extend(list.drain(..old).map(|one| one.0));
                    }
                    2 => {
                        let filled = missing.fill(number);
                        assert_eq!(filled, at.map(|at| !list[at].1));
                        if filled == Some(true) {
                            list.remove(at.expect("it is there"));
                        }
                    }
                    _ => {
                        assert_eq!(missing.ask(number), at.is_some());
                        if let Some(at) = at {
                            list[at].1 = true;
                        }
                    }
                }
            }
            missing.finish(&mut ledger);
            lost.extend(list.iter().map(|one| one.0));
            assert_eq!(numbers(&ledger), lost);
        }
    }

    #[test]
    fn a_large_gap_is_a_loss_for_what_nothing_tells_apart() {
        let (mut missing, mut ledger) = (Missing::default(), Ledger::default());
        missing.open(&gap(10, 60_010), &mut ledger);
        assert!(missing.memory() < 2000);
        missing.finish(&mut ledger);
        assert_eq!(ledger.losses.len() as u64, 2 * NEAR + 1);
        assert_eq!(ledger.losses[64].packets, 60_000 - 128);
        assert_eq!(numbers(&ledger), (10..60_010).collect::<Vec<u64>>());
    }

    #[test]
    fn late_numbers_take_steps_in_proportion() {
        crate::steps::assert_linear(1000, 200, |many| {
            let (mut missing, mut ledger) = (Missing::default(), Ledger::default());
            for gaps in 0..many {
                missing.open(&gap(gaps * 100_000, gaps * 100_000 + 60_000), &mut ledger);
                for late in 0..8 {
                    missing.fill(gaps * 100_000 + 59_000 + late * 2);
                    missing.ask(gaps * 100_000 + 59_001 + late * 2);
                }
            }
        });
    }
}
