//! What one direction lost, and what only looked like it.

use crate::loss::{Counts, Event, Loss, Side};

/// Losses, and events, that are kept.
const KEPT: usize = 1 << 16;
/// Ranges that may still be reported as duplicates.
const EXPECTED: usize = 256;

/// Losses, loss events and counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) counts: Counts,
    pub(crate) losses: Vec<Loss>,
    pub(crate) events: Vec<Event>,
    /// Bytes that the receiver gets twice, and has not said so yet.
    expected: Vec<(u64, u64)>,
}

impl Ledger {
    /// A loss event; answers its index.
    pub(crate) fn event(&mut self, event: Event) -> Option<u32> {
        if self.events.len() == KEPT {
            return None;
        }
        self.events.push(event);
        Some(self.events.len() as u32 - 1)
    }

    /// A loss.
    pub(crate) fn keep(&mut self, loss: Loss) {
        if self.losses.len() < KEPT {
            self.losses.push(loss);
        } else {
            self.counts.losses_not_kept += u64::from(loss.packets);
        }
    }

    /// Bytes that had arrived left again.
    pub(crate) fn spurious(&mut self, start: u64, end: u64) {
        self.counts.spurious += 1;
        if self.expected.len() == EXPECTED {
            self.expected.remove(0);
        }
        self.expected.push((start, end));
    }

    /// The receiver got these bytes twice; offsets are counted from `origin`.
    pub(crate) fn on_duplicate(&mut self, start: u64, end: u64, origin: u64) {
        let expected = self
            .expected
            .iter()
            .position(|other| other.0 < end && start < other.1);
        if let Some(index) = expected {
            self.expected.remove(index);
            return;
        }
        let (first, last) = (start.saturating_sub(origin), end.saturating_sub(origin));
        let found = self.losses.iter().rposition(|loss| {
            loss.side == Side::Beyond
                && loss.offset < last
                && first < loss.offset + u64::from(loss.bytes)
        });
        if let Some(index) = found {
            self.losses.remove(index);
            self.counts.spurious += 1;
        }
    }

    /// Puts losses in order and says which were in a row, by the order in which they left.
    pub(crate) fn finish(&mut self) {
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
}
