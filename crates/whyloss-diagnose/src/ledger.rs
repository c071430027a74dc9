//! Keeps the losses of one direction, and the counts of events that only look like losses.

use std::collections::{BTreeSet, VecDeque};

use crate::loss::{Counts, Event, Loss, Side};
use crate::steps::step;

/// The maximum number of stored losses, and of stored events.
pub(crate) const KEPT: usize = 1 << 16;
/// The maximum number of ranges that D-SACK may still report as duplicates.
const EXPECTED: usize = 256;
/// The maximum number of recent losses to search for the one that a duplicate reveals as spurious.
const LOOKED_AT: usize = 1 << 10;

/// The losses, loss events and counts of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) counts: Counts,
    /// The losses. A revoked loss has no packets, and the end removes it.
    pub(crate) losses: Vec<Loss>,
    pub(crate) events: Vec<Event>,
    /// The bytes that the receiver gets twice and has not reported yet.
    expected: VecDeque<(u64, u64)>,
    /// The number of revoked losses.
    taken_back: usize,
    beyond: Beyond,
}

/// Finds losses beyond the point of capture by their bytes. The first duplicate creates this index.
#[derive(Clone, Debug, Default)]
struct Beyond {
    /// The first byte and the index of each loss.
    places: BTreeSet<(u64, usize)>,
    /// The number of losses added so far.
    seen: usize,
    /// The bytes of the longest loss.
    longest: u64,
}

impl Beyond {
    /// Adds the losses since the last call to the index.
    fn learn(&mut self, losses: &[Loss]) {
        for (index, loss) in losses.iter().enumerate().skip(self.seen) {
            if loss.side == Side::Beyond && loss.packets > 0 {
                self.places.insert((loss.offset, index));
                self.longest = self.longest.max(loss.bytes.into());
            }
        }
        self.seen = losses.len();
    }

    /// Returns the index of the latest loss that covers some of these bytes.
    fn find(&self, losses: &[Loss], first: u64, last: u64) -> Option<usize> {
        let from = (first.saturating_sub(self.longest), 0);
        let near = self.places.range(from..(last.max(from.0), 0)).rev();
        let overlap = |&&(offset, index): &&(u64, usize)| {
            step(1);
            first < offset + u64::from(losses[index].bytes)
        };
        let found = near.take(LOOKED_AT).filter(overlap);
        found.map(|&(_, index)| index).max()
    }
}

impl Ledger {
    /// Keeps a loss event, and returns its index.
    pub(crate) fn event(&mut self, event: Event) -> Option<u32> {
        if self.events.len() == KEPT {
            return None;
        }
        self.events.push(event);
        Some(self.events.len() as u32 - 1)
    }

    /// Returns whether no loss is kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.losses.len() == self.taken_back
    }

    /// Keeps a loss.
    pub(crate) fn keep(&mut self, loss: Loss) {
        if self.losses.len() - self.taken_back < KEPT {
            self.losses.push(loss);
        } else {
            self.counts.losses_not_kept += u64::from(loss.packets);
        }
    }

    /// Keeps a loss that represents several packets. If it continues the last loss of the same gap,
    /// extends the last loss.
    pub(crate) fn keep_on(&mut self, loss: Loss) {
        if let Some(last) = self.losses.last_mut()
            && last.packets > 1
            && last.frame == loss.frame
            && last.offset + u64::from(last.packets) == loss.offset
        {
            last.packets = last.packets.saturating_add(loss.packets);
            last.bytes = last.bytes.saturating_add(loss.bytes);
        } else {
            self.keep(loss);
        }
    }

    /// Records that bytes were sent again although they had arrived.
    pub(crate) fn spurious(&mut self, start: u64, end: u64) {
        step(1);
        self.counts.spurious += 1;
        if self.expected.len() == EXPECTED {
            self.expected.pop_front();
        }
        self.expected.push_back((start, end));
    }

    /// Records that the receiver got these bytes twice. Offsets count from `origin`.
    pub(crate) fn on_duplicate(&mut self, start: u64, end: u64, origin: u64) {
        let expected = self
            .expected
            .iter()
            .position(|other| other.0 < end && start < other.1);
        if let Some(index) = expected {
            self.expected.remove(index);
            return;
        }
        self.beyond.learn(&self.losses);
        let (first, last) = (start.saturating_sub(origin), end.saturating_sub(origin));
        if let Some(index) = self.beyond.find(&self.losses, first, last) {
            let loss = &mut self.losses[index];
            self.beyond.places.remove(&(loss.offset, index));
            loss.packets = 0;
            self.taken_back += 1;
            self.counts.spurious += 1;
            if self.taken_back > KEPT {
                self.sweep();
            }
        }
    }

    /// Removes the revoked losses.
    fn sweep(&mut self) {
        self.losses.retain(|loss| loss.packets > 0);
        self.taken_back = 0;
        self.beyond = Beyond::default();
    }

    /// Sorts the losses by departure, and sets the length of each one's run.
    pub(crate) fn finish(&mut self) {
        self.sweep();
        self.losses
            .sort_by_key(|loss| (loss.side == Side::Beyond, loss.order, loss.offset));
        for row in self.losses.chunk_by_mut(Loss::runs_into) {
            if row[0].side == Side::Beyond {
                let packets = row.iter().map(|loss| loss.packets).sum();
                for loss in row {
                    loss.run = packets;
                }
            }
        }
    }

    /// Returns the memory in use, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.losses.capacity() * size_of::<Loss>()
            + self.events.capacity() * size_of::<Event>()
            + self.beyond.places.len() * 2 * size_of::<(u64, usize)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::Around;
    use crate::loss::Evidence;

    fn loss(offset: u64, order: u64) -> Loss {
        Loss {
            time: 0,
            frame: order,
            offset,
            bytes: 1000,
            packets: 1,
            side: Side::Beyond,
            retransmission: false,
            evidence: Evidence::Sack,
            event: None,
            order,
            around: Around::default(),
            run: 1,
            verdict: None,
            truth: None,
        }
    }

    #[test]
    fn a_duplicate_takes_the_latest_loss_of_its_bytes_back() {
        let mut ledger = Ledger::default();
        for order in 0..100 {
            // Each piece is lost twice.
            ledger.keep(loss(order % 50 * 1000, order));
        }
        ledger.on_duplicate(10_000, 11_000, 0);
        ledger.on_duplicate(10_000, 11_000, 0);
        ledger.on_duplicate(10_000, 11_000, 0);
        ledger.on_duplicate(500, 1_500, 0);
        assert!(!ledger.is_empty());
        ledger.finish();
        let left: Vec<u64> = ledger.losses.iter().map(|loss| loss.order).collect();
        let right: Vec<u64> = (0..100).filter(|n| ![10, 60, 51].contains(n)).collect();
        assert_eq!((left, ledger.counts.spurious), (right, 3));
    }

    #[test]
    fn duplicates_take_steps_in_proportion() {
        crate::steps::assert_linear(10_000, 10, |many| {
            let mut ledger = Ledger::default();
            for order in 0..many {
                ledger.keep(loss(order * 1000, order));
                ledger.spurious(1 << 40, 2 << 40);
            }
            for order in 0..many {
                ledger.on_duplicate(order * 1000, order * 1000 + 1000, 0);
            }
        });
    }
}
