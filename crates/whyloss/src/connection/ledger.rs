//! The packets that were sent and are neither acknowledged nor lost.
//!
//! An entry is one call of `on_sent`: a packet, or several that left together (segmentation
//! offload). Entries and their times are in sending order. Some stacks (quinn) identify packets
//! only by their sending time, which is ambiguous within a burst:
//!
//! ```text
//! acknowledged   of the packets with that time, the last ones up to the largest acknowledged
//!                number, which the end of the batch reports, since numbers rise in a batch
//! lost           all unacknowledged packets sent before the last lost one, since a loss settles
//!                all before it (RFC 9002 §6.1); among packets with the same time, the first ones
//! ```
//!
//! A loss may therefore be attributed to an earlier packet, but only within a burst. If three later
//! packets are acknowledged and the stack reports no loss, the packet carried only acknowledgements
//! or probed the MTU. It is then settled.

use alloc::boxed::Box;
use alloc::collections::{TryReserveError, VecDeque};
use core::ops::Range;

use crate::Time;
use crate::bandwidth::delivery_rate::{DeliveryRate, Snapshot};

/// The number of later packets after which a packet is lost: kPacketThreshold of RFC 9002.
pub(super) const PACKET_THRESHOLD: u64 = 3;

/// The number of entries searched linearly before the binary search.
const NEAR: usize = 4;

/// The contents of one call of `on_sent`.
#[derive(Clone, Copy, Debug)]
struct Entry {
    left: Time,
    /// The bytes sent before this entry.
    offset: u64,
    bytes: u64,
    acked: u64,
    lost: u64,
    /// The lost bytes that are not yet reported to the meter.
    untold: u64,
    /// The packet number of the last packet in the entry.
    last: u64,
    /// Whether the open bytes will never be acknowledged or lost.
    overtaken: bool,
    /// The last batch that acknowledged bytes of the entry.
    batch: u64,
    /// The bytes that this batch acknowledged.
    fresh: u64,
}

impl Entry {
    /// Returns the bytes that may still be acknowledged or lost.
    fn open(&self) -> u64 {
        if self.overtaken {
            0
        } else {
            self.bytes - self.acked - self.lost
        }
    }
}

/// The packets, from the first unsettled one.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    entries: VecDeque<Entry>,
    /// The state of the rate meter when each entry left; empty if there is no meter.
    snapshots: VecDeque<Snapshot>,
    meter: Option<Box<DeliveryRate>>,
    sent: u64,
    last: Option<u64>,
    /// Leading entries whose numbers need not increase: a handshake uses several packet-number
    /// spaces.
    mixed: usize,
    /// The current batch of acknowledgements, counted from 1.
    batch: u64,
    /// The bytes that the current batch has acknowledged so far.
    fresh: u64,
    /// The open bytes of all entries.
    open: u64,
    /// The maximum number of entries to remember.
    most: usize,
}

/// The effect of a batch of acknowledgements, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    /// The acknowledged bytes that the edge passed, from this batch and earlier ones.
    pub(super) acked: u64,
    /// The number of bytes of this batch that the edge did not pass.
    pub(super) sacked: u64,
    /// The total number of bytes acknowledged in this batch.
    pub(super) fresh: u64,
}

/// The start of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FirstLost {
    /// The offset of the first lost byte.
    pub(super) offset: u64,
    /// When the packet left.
    pub(super) left: Time,
    /// The highest packet number in the burst of the first lost packet.
    pub(super) number: u64,
}

impl Ledger {
    /// Creates an empty ledger; `metered` makes it measure delivery rates.
    pub(super) fn new(metered: bool) -> Self {
        Self {
            meter: metered.then(Box::default),
            batch: 1,
            most: super::MOST_PACKETS,
            ..Self::default()
        }
    }

    /// Limits the remembered entries to `most`.
    pub(super) fn bound(&mut self, most: usize) {
        self.most = most.max(1);
    }

    /// Allocates room for all entries.
    pub(super) fn reserve(&mut self) -> Result<(), TryReserveError> {
        self.entries.try_reserve_exact(self.most)?;
        if self.meter.is_some() {
            self.snapshots.try_reserve_exact(self.most)?;
        }
        Ok(())
    }

    /// Returns the bytes neither acknowledged nor lost.
    pub(super) fn open(&self) -> u64 {
        self.open
    }

    /// Returns the first unsettled entry.
    pub(super) fn first(&self) -> Option<FirstLost> {
        self.entries.front().map(Entry::first)
    }

    /// Returns the packet number of the last packet sent.
    pub(super) fn last(&self) -> Option<u64> {
        self.last
    }

    /// Returns the index and sending time of packet `number`, if it is unsettled. Requires
    /// increasing numbers and one entry per packet, which a stack with several number spaces may
    /// not provide.
    pub(super) fn find(&self, number: u64) -> Option<(usize, Time)> {
        let index = self.entries.partition_point(|entry| entry.last < number);
        let entry = self.entries.get(index)?;
        (entry.last == number && entry.open() > 0).then_some((index, entry.left))
    }

    /// Returns the number and sending time of the entry at `index`, counted from the oldest.
    pub(super) fn at_index(&self, index: usize) -> Option<(u64, Time)> {
        let entry = self.entries.get(index)?;
        Some((entry.last, entry.left))
    }

    /// Forgets the oldest entry as if its open bytes had never left.
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

    /// Returns the bytes sent.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns the offset before which everything is settled.
    pub(super) fn edge(&self) -> u64 {
        self.entries.front().map_or(self.sent, |entry| entry.offset)
    }

    /// Returns the meter of delivery rates, if any.
    pub(super) fn meter(&mut self) -> Option<&mut DeliveryRate> {
        self.meter.as_deref_mut()
    }

    /// Adds packets with a total of `bytes` that leave at `left`, the last with number `last`.
    /// Returns the offset of the first byte. A stack that names lost packets must add each alone.
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
        // Keep the entries in order even if the clock runs backwards.
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

    /// Acknowledges `bytes` of the packets sent at `left`: the last ones with a number of at most
    /// `most`.
    pub(super) fn acked(&mut self, now: Time, left: Time, mut bytes: u64, most: u64) {
        let Range { start, end } = self.at(left);
        // Skip later packets of a long burst, by a search if numbers increase.
        let end = if start + NEAR < end && start >= self.mixed {
            end.min(self.holding(most) + 1)
        } else {
            end
        };
        for index in (start..end).rev() {
            let entry = &self.entries[index];
            if bytes == 0 {
                break;
            }
            // Packets that left together share one number.
            if entry.last > most && index > 0 && self.entries[index - 1].last >= most {
                continue;
            }
            bytes -= self.acknowledge(now, index, bytes);
        }
    }

    /// Returns the first entry after the mixed ones whose last number is at least `number`.
    #[inline]
    fn holding(&self, number: u64) -> usize {
        let rising = self.entries.range(self.mixed..);
        // A burst is usually acknowledged from its front.
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

    /// Acknowledges the entry at this index and returns how many of its bytes were open.
    pub(super) fn acked_alone(&mut self, now: Time, found: usize) -> u64 {
        self.acknowledge(now, found, u64::MAX)
    }

    /// Acknowledges at most `bytes` of an entry and returns how many were open.
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

    /// Marks packet `number` of `bytes` bytes as lost. Stacks also report packets that no entry
    /// holds: those of an old path after a migration, and pure ACKs, without bytes.
    pub(super) fn lost(&mut self, number: u64, bytes: u64) -> Option<FirstLost> {
        let holds = |&index: &usize| {
            let entry = &self.entries[index];
            entry.last >= number && entry.open() > 0
        };
        let rising = Some(self.holding(number)).filter(|&index| {
            let entry = self.entries.get(index);
            entry.is_some_and(|entry| entry.last == number)
        });
        let index = (0..self.mixed).chain(rising).find(holds)?;
        (bytes > 0).then(|| self.lose(index, bytes))
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

    /// Marks `bytes` as lost, in packets of at most `mtu`. The last of them left at `left`. All
    /// earlier open packets are settled, but those that left last are the lost ones. The others
    /// carried only acknowledgements, or the stack did not report their acknowledgement.
    pub(super) fn lost_until(&mut self, left: Time, bytes: u64, mtu: u64) -> Option<FirstLost> {
        let Range { start, end } = self.at(left);
        let before: u64 = self.entries.range(..start).map(Entry::open).sum();
        let mut rest = bytes.saturating_sub(before).max(1);
        let mut first = None;
        let mut earlier = bytes;
        for index in start..end {
            let open = self.entries[index].open();
            if rest > 0 && open > 0 {
                let taken = open.min(rest.max(mtu));
                first = first.or(Some(self.lose(index, taken)));
                rest = rest.saturating_sub(taken);
                earlier = earlier.saturating_sub(taken);
            }
        }
        // For a single packet, only the last entry counts.
        let mut earlier = if bytes > mtu { earlier } else { 0 };
        for index in (0..start).rev() {
            let open = self.entries[index].open();
            if open > 0 {
                let lost = self.lose(index, open);
                if earlier > 0 {
                    first = Some(lost);
                }
                earlier = earlier.saturating_sub(open);
            }
        }
        first
    }

    /// Calls `tell` with the meter for each unreported range of lost bytes.
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

    /// Settles entries that `largest`, the highest acknowledged number, has overtaken by three
    /// packets. Losses among them must have been reported.
    pub(super) fn overtake(&mut self, largest: u64) {
        // Any packet of a burst may be the lost one, so the whole burst counts as overtaken.
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

    /// Moves the edge past all settled entries at the end of a batch.
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
            if let Some(meter) = &mut self.meter
                && let Some(mut snapshot) = self.snapshots.pop_front()
                && entry.untold > 0
            {
                // The packets of an old path, whose losses caused no congestion event.
                meter.on_spared_loss(&mut snapshot.split(entry.untold as u32));
            }
        }
        self.batch += 1;
        Passed {
            acked,
            sacked,
            fresh,
        }
    }

    /// Returns the number of entries for which memory is allocated.
    pub(super) fn held(&self) -> usize {
        self.entries.capacity() + self.snapshots.capacity()
    }

    /// Returns the range of entries sent at this time.
    #[inline]
    fn at(&self, left: Time) -> Range<usize> {
        // Packets are mostly acknowledged in sending order, so the match is usually near the front.
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
