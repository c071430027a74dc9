//! Keeps the packets that were sent and are not settled yet.
//!
//! An entry is what one `on_sent` told: a packet, or several that left together (segmentation
//! offload). Entries are in the order of sending, and so are their times. A stack that names
//! packets by nothing but the time at which they were sent (quinn) leaves open which of a burst it
//! means. Then
//!
//! ```text
//! acknowledged   of the packets sent at that time, the last ones up to the largest number acknowledged, which is told at
//!                the end of a batch: acknowledgements come in the order of numbers
//! lost           all sent before the last packet lost that was not acknowledged, since a loss settles all before it
//!                (RFC 9002 §6.1); of those sent at the same time as that one, the first ones
//! ```
//!
//! So a loss is taken for an earlier one than it was if at all, by less than a burst. Some packets
//! get no loss although three later ones were acknowledged: the stack does not tell of an
//! acknowledgement alone, or of a probe for a larger MTU. Such a packet is settled.

use alloc::boxed::Box;
use alloc::collections::{TryReserveError, VecDeque};
use core::ops::Range;

use crate::Time;
use crate::bandwidth::delivery_rate::{DeliveryRate, Snapshot};

/// RFC 9002's kPacketThreshold.
pub(super) const PACKET_THRESHOLD: u64 = 3;

/// Entries that are looked through one by one before all are searched.
const NEAR: usize = 4;

/// The content of one `on_sent`.
#[derive(Clone, Copy, Debug)]
struct Entry {
    left: Time,
    /// Bytes sent before it.
    offset: u64,
    bytes: u64,
    acked: u64,
    lost: u64,
    /// Bytes lost that the meter has not been told of.
    untold: u64,
    /// The number of its last packet.
    last: u64,
    /// Nothing more will be told of what is open.
    overtaken: bool,
    /// The batch that acknowledged some of it last, and how many bytes.
    batch: u64,
    fresh: u64,
}

impl Entry {
    /// Bytes neither acknowledged nor lost, of which the stack may still tell.
    fn open(&self) -> u64 {
        if self.overtaken {
            0
        } else {
            self.bytes - self.acked - self.lost
        }
    }
}

/// The packets from the first one that is not settled on.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    entries: VecDeque<Entry>,
    /// Of each entry, if somebody measures rates, what the rate was when it left.
    snapshots: VecDeque<Snapshot>,
    meter: Option<Box<DeliveryRate>>,
    sent: u64,
    last: Option<u64>,
    /// Leading entries whose numbers need not rise: those of several packet-number spaces, sent
    /// during a handshake.
    mixed: usize,
    /// The batch of acknowledgements that is being told, counting from 1, and the bytes that it
    /// acknowledged so far.
    batch: u64,
    fresh: u64,
    /// Bytes of all entries neither acknowledged nor lost.
    open: u64,
    /// Entries that are remembered.
    most: usize,
}

/// The effect of a batch of acknowledgements, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    /// Acknowledged bytes that the edge passed, of this batch and of those before.
    pub(super) acked: u64,
    /// Bytes of this batch that it did not pass, …
    pub(super) sacked: u64,
    /// … and all of this batch.
    pub(super) fresh: u64,
}

/// Where a loss begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FirstLost {
    /// Offset of the first byte lost.
    pub(super) offset: u64,
    /// When it left.
    pub(super) left: Time,
    /// The number of the last packet that left with it.
    pub(super) number: u64,
}

impl Ledger {
    /// An empty ledger, which measures delivery rates if that is wanted.
    pub(super) fn new(metered: bool) -> Self {
        Self {
            meter: metered.then(Box::default),
            batch: 1,
            most: super::MOST_PACKETS,
            ..Self::default()
        }
    }

    /// Remembers at most `most` entries.
    pub(super) fn bound(&mut self, most: usize) {
        self.most = most.max(1);
    }

    /// Makes room for every entry that it may remember.
    pub(super) fn reserve(&mut self) -> Result<(), TryReserveError> {
        self.entries.try_reserve_exact(self.most)?;
        if self.meter.is_some() {
            self.snapshots.try_reserve_exact(self.most)?;
        }
        Ok(())
    }

    /// Bytes neither acknowledged nor lost.
    pub(super) fn open(&self) -> u64 {
        self.open
    }

    /// The first entry that is not settled.
    pub(super) fn first(&self) -> Option<FirstLost> {
        self.entries.front().map(Entry::first)
    }

    /// The number of the last packet sent.
    pub(super) fn last(&self) -> Option<u64> {
        self.last
    }

    /// Returns where packet `number` is and when it left, if it is not settled. Numbers must rise,
    /// and each packet have an entry: those of a stack with several spaces of numbers may not.
    pub(super) fn find(&self, number: u64) -> Option<(usize, Time)> {
        let index = self.entries.partition_point(|entry| entry.last < number);
        let entry = self.entries.get(index)?;
        (entry.last == number && entry.open() > 0).then_some((index, entry.left))
    }

    /// Returns the number of the entry at `index`, counted from the oldest, and when it left.
    pub(super) fn at_index(&self, index: usize) -> Option<(u64, Time)> {
        let entry = self.entries.get(index)?;
        Some((entry.last, entry.left))
    }

    /// Forgets the oldest entry, as if what is open of it had never left.
    fn forget_oldest(&mut self) {
        let Some(entry) = self.entries.pop_front() else {
            return;
        };
        self.mixed = self.mixed.saturating_sub(1);
        self.open -= entry.open();
        if let Some(meter) = &mut self.meter
            && let Some(mut snapshot) = self.snapshots.pop_front()
        {
            meter.on_spared_loss(&mut snapshot.split(entry.open() as u32));
        }
    }

    /// Bytes sent.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// Everything before this offset is settled.
    pub(super) fn edge(&self) -> u64 {
        self.entries.front().map_or(self.sent, |entry| entry.offset)
    }

    /// Returns the meter of delivery rates, if there is one.
    pub(super) fn meter(&mut self) -> Option<&mut DeliveryRate> {
        self.meter.as_deref_mut()
    }

    /// Packets of `bytes` in all leave at `left`, the last of them number `last`. Gives the offset
    /// of the first byte.
    pub(super) fn push(&mut self, left: Time, bytes: u64, last: u64) -> u64 {
        if self.entries.len() >= self.most {
            self.forget_oldest();
        }
        let offset = self.sent;
        self.sent += bytes;
        self.open += bytes;
        if self.last.is_some_and(|before| last <= before) {
            self.mixed = self.entries.len();
        }
        self.last = Some(last);
        if let Some(meter) = &mut self.meter {
            let size = u32::try_from(bytes).unwrap_or(u32::MAX);
            self.snapshots.push_back(meter.on_sent(left, size, false));
        }
        // A clock that runs backwards would put the entries out of order.
        let left = self.entries.back().map_or(left, |last| left.max(last.left));
        self.entries.push_back(Entry {
            left,
            offset,
            bytes,
            acked: 0,
            lost: 0,
            untold: 0,
            last,
            overtaken: false,
            batch: 0,
            fresh: 0,
        });
        offset
    }

    /// `bytes` of packets that left at `left` are acknowledged: the last ones, up to number `most`.
    pub(super) fn acked(&mut self, now: Time, left: Time, mut bytes: u64, most: u64) {
        let Range { start, end } = self.at(left);
        // Later packets of the same burst are left out, at once where numbers rise.
        let end = if start >= self.mixed {
            end.min(self.holding(most) + 1)
        } else {
            end
        };
        for index in (start..end).rev() {
            let entry = &self.entries[index];
            if bytes == 0 {
                break;
            }
            // (Several that left together have one number for all.)
            if entry.last > most && index > 0 && self.entries[index - 1].last >= most {
                continue;
            }
            bytes -= self.acknowledge(now, index, bytes);
        }
    }

    /// The first entry after the mixed ones whose last number is `number` or above.
    #[inline]
    fn holding(&self, number: u64) -> usize {
        let rising = self.entries.range(self.mixed..);
        // A burst is acknowledged from its front, most of the time.
        let near = rising.take(NEAR).position(|entry| entry.last >= number);
        near.map_or_else(|| self.search(number), |near| self.mixed + near)
    }

    fn search(&self, number: u64) -> usize {
        let (mut low, mut high) = (self.mixed, self.entries.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.entries[middle].last < number {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Acknowledges the entry at that index, and returns how many of its bytes were open.
    pub(super) fn acked_alone(&mut self, now: Time, found: usize) -> u64 {
        self.acknowledge(now, found, u64::MAX)
    }

    /// At most `bytes` of an entry are acknowledged. Returns how many were open.
    fn acknowledge(&mut self, now: Time, index: usize, bytes: u64) -> u64 {
        let entry = &mut self.entries[index];
        let taken = entry.open().min(bytes);
        entry.acked += taken;
        if entry.batch != self.batch {
            (entry.batch, entry.fresh) = (self.batch, 0);
        }
        entry.fresh += taken;
        self.fresh += taken;
        self.open -= taken;
        self.meter_acked(now, index, taken);
        taken
    }

    fn meter_acked(&mut self, now: Time, index: usize, bytes: u64) {
        if let Some(meter) = &mut self.meter
            && bytes > 0
        {
            let mut part = self.snapshots[index].split(bytes as u32);
            meter.on_acked(now, &mut part);
        }
    }

    /// Packet `number` of `bytes` is lost.
    pub(super) fn lost(&mut self, number: u64, bytes: u64) -> Option<FirstLost> {
        let holds = |&index: &usize| {
            let entry = &self.entries[index];
            entry.last >= number && entry.open() > 0
        };
        let rising = self.holding(number)..self.entries.len();
        let index = (0..self.mixed).chain(rising).find(holds)?;
        Some(self.lose(index, bytes))
    }

    /// Marks the packet that [`find`](Self::find) found as lost.
    pub(super) fn lost_alone(&mut self, found: usize) -> FirstLost {
        self.lose(found, u64::MAX)
    }

    fn lose(&mut self, index: usize, bytes: u64) -> FirstLost {
        let entry = &mut self.entries[index];
        let taken = entry.open().min(bytes);
        entry.lost += taken;
        entry.untold += taken;
        self.open -= taken;
        entry.first()
    }

    /// `bytes` in packets of at most `mtu` are lost, the last of which left at `left`.
    pub(super) fn lost_until(&mut self, left: Time, bytes: u64, mtu: u64) -> Option<FirstLost> {
        let at = self.at(left);
        let mut first = None;
        let mut rest = bytes;
        for entry in self.entries.range_mut(..at.start) {
            let open = entry.open();
            if open > 0 {
                // A lone packet is the last one: what is open before it is none that counts.
                if bytes > mtu {
                    first = first.or(Some(entry.first()));
                }
                entry.lost += open;
                entry.untold += open;
                self.open -= open;
                rest = rest.saturating_sub(open);
            }
        }
        rest = rest.max(1);
        for entry in self.entries.range_mut(at) {
            let open = entry.open();
            if rest > 0 && open > 0 {
                let taken = open.min(rest.max(mtu));
                first = first.or(Some(entry.first()));
                entry.lost += taken;
                entry.untold += taken;
                self.open -= taken;
                rest = rest.saturating_sub(taken);
            }
        }
        first
    }

    /// Tells of each range of lost bytes that has not been told of, with the meter to put it on
    /// record.
    pub(super) fn tell_lost(&mut self, mut tell: impl FnMut(&mut DeliveryRate, &mut Snapshot)) {
        let Some(meter) = &mut self.meter else {
            return;
        };
        for (entry, snapshot) in self.entries.iter_mut().zip(&mut self.snapshots) {
            if entry.untold > 0 {
                let mut part = snapshot.split(entry.untold as u32);
                entry.untold = 0;
                tell(meter, &mut part);
            }
        }
    }

    /// Packets up to number `largest` were acknowledged or not, and what of that is lost has been
    /// told.
    pub(super) fn overtake(&mut self, largest: u64) {
        // Of a burst any packet may stand for the one that is lost: it is overtaken as a whole.
        let overtaken = |entry: &Entry| entry.last.saturating_add(PACKET_THRESHOLD) <= largest;
        if !self.entries.front().is_some_and(overtaken) {
            return;
        }
        let beyond = self.entries.partition_point(overtaken);
        let burst = self.entries.get(beyond).map(|entry| entry.left);
        for (index, entry) in self.entries.iter_mut().enumerate().take(beyond) {
            if Some(entry.left) == burst {
                break;
            }
            let open = entry.open();
            if open > 0 {
                if let Some(meter) = &mut self.meter {
                    meter.on_spared_loss(&mut self.snapshots[index].split(open as u32));
                }
                entry.overtaken = true;
                self.open -= open;
            }
        }
    }

    /// Moves the edge past all that is settled, at the end of a batch.
    pub(super) fn pass(&mut self) -> Passed {
        let fresh = core::mem::take(&mut self.fresh);
        let (mut acked, mut sacked) = (0, fresh);
        while self.entries.front().is_some_and(|entry| entry.open() == 0)
            && let Some(entry) = self.entries.pop_front()
        {
            self.mixed = self.mixed.saturating_sub(1);
            acked += entry.acked;
            if entry.batch == self.batch {
                sacked -= entry.fresh;
            }
            if self.meter.is_some() {
                self.snapshots.pop_front();
            }
        }
        self.batch += 1;
        Passed {
            acked,
            sacked,
            fresh,
        }
    }

    /// Entries for which there is room: all that is ever allocated.
    pub(super) fn held(&self) -> usize {
        self.entries.capacity() + self.snapshots.capacity()
    }

    /// The entries that left at that time.
    #[inline]
    fn at(&self, left: Time) -> Range<usize> {
        // Packets are acknowledged in the order of sending, most of the time: what is looked for is
        // among the first.
        let near = self.entries.iter().take(NEAR);
        let start = near
            .enumerate()
            .find_map(|(index, entry)| (entry.left >= left).then_some(index))
            .unwrap_or_else(|| self.entries.partition_point(|entry| entry.left < left));
        let mut end = start;
        while self
            .entries
            .get(end)
            .is_some_and(|entry| entry.left == left)
        {
            end += 1;
            if end == start + NEAR {
                let burst = |entry: &Entry| entry.left <= left;
                return start..self.entries.partition_point(burst);
            }
        }
        start..end
    }
}

impl Entry {
    fn first(&self) -> FirstLost {
        FirstLost {
            offset: self.offset,
            left: self.left,
            number: self.last,
        }
    }
}
