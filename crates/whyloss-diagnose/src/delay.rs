//! Delays of a path: the smallest, their distribution, and the delays near each lost packet.
//!
//! ```text
//! delay    in µs: from a packet to its acknowledgement (the round trip, or its part beyond the
//!          point of capture), or the relative one-way delay up to the point of capture
//! order    the position of a transmission: 1, 2, …, retransmissions included
//! ```

use std::collections::VecDeque;
use std::iter::repeat_n;

use crate::steps::step;
use crate::track::Track;

/// The number of bits that a value keeps below its leading one: a precision of 1/256 (0.4 %).
const SHIFT: u32 = 8;
/// The maximum number of remembered delays.
const REMEMBERED: usize = 1 << 16;
/// The maximum number of entries that an insertion moves. A delay that would move more is dropped.
const MOVED: usize = 1 << 12;
/// The number of moved entries that counts as one step.
const SHIFTED: usize = 64;
/// The length of an epoch, in ns. Local extremes cover this epoch and the one before.
const EPOCH: u64 = 4_000_000_000;
/// The number of transmissions before a lost one whose smallest delay is used, because delayed
/// acknowledgements lengthen some delays.
const BEFORE: usize = 3;
/// The largest distance from a lost packet at which a delay is used, in transmissions.
pub(crate) const NEAR: u64 = 64;

/// Counts values to a precision of 0.4 %.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    /// The counts of the buckets starting with `first`, which begins a doubling.
    counts: Vec<u32>,
    first: usize,
    total: u64,
}

impl Histogram {
    pub(crate) fn add(&mut self, value: u32) {
        let index = index(value);
        if index < self.first || self.counts.is_empty() {
            self.begin_at(index >> SHIFT << SHIFT);
        }
        let place = index - self.first;
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] = self.counts[place].saturating_add(1);
        self.total += 1;
    }

    /// Makes room for counts starting with bucket `first`.
    #[cold]
    fn begin_at(&mut self, first: usize) {
        if !self.counts.is_empty() {
            self.counts.splice(..0, repeat_n(0, self.first - first));
        }
        self.first = first;
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the `q`-quantile, with `q` in [0, 1]; `None` if there are no values.
    pub(crate) fn quantile(&self, q: f64) -> Option<u32> {
        let rank = (q * self.total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.counts.iter().position(|&count| {
            seen += u64::from(count);
            seen >= rank
        })?;
        Some(value(self.first + found))
    }

    /// Returns the cumulative counts, for ranks.
    pub(crate) fn ranks(&self) -> Ranks {
        let mut below = Vec::with_capacity(self.counts.len() + 2);
        below.extend([0, 0]);
        let mut sum = 0;
        for &count in &self.counts {
            step(1);
            sum += u64::from(count);
            below.push(sum);
        }
        Ranks {
            below,
            first: self.first,
            total: self.total,
        }
    }

    /// Returns the memory in use, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.counts.capacity() * size_of::<u32>()
    }
}

/// The ranks of values among those of a histogram.
#[derive(Clone, Debug)]
pub(crate) struct Ranks {
    /// The number of values below each bucket, starting with the bucket before `first`.
    below: Vec<u64>,
    first: usize,
    total: u64,
}

impl Ranks {
    /// Returns the share of values below `value`, plus half of the share equal to it.
    pub(crate) fn rank(&self, value: u32) -> f64 {
        step(1);
        let last = self.below.len() - 1;
        let at = (index(value) + 1).saturating_sub(self.first).min(last);
        let (below, equal) = (
            self.below[at],
            self.below[last.min(at + 1)] - self.below[at],
        );
        (below as f64 + equal as f64 / 2.0) / (self.total.max(1)) as f64
    }
}

fn index(value: u32) -> usize {
    let octave = (u32::BITS - value.leading_zeros()).saturating_sub(SHIFT + 1);
    ((octave as usize) << SHIFT) + (value >> octave) as usize
}

fn value(index: usize) -> u32 {
    let octave = (index >> SHIFT).saturating_sub(1);
    ((index - (octave << SHIFT)) << octave) as u32
}

/// The delays of packets near a lost one, in µs. They are round trips beyond the point of capture,
/// and one-way delays before it. A field is `None` if no delay for it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Around {
    /// The smallest delay of the last packets (three at most) that left before the lost one.
    pub before: Option<u32>,
    /// The delay of the first packet that left after the lost one.
    pub after: Option<u32>,
    /// The smallest and the largest delay of the last 4 to 8 s.
    pub range: Option<(u32, u32)>,
    /// The time and the number of transmissions between the neighbours of the lost packet. The
    /// time, in ns, runs between the moments when their delays became known.
    pub spacing: Option<(u64, u64)>,
}

/// Delays of one direction of a path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delays {
    pub(crate) histogram: Histogram,
    pub(crate) track: Track,
    least: Option<u32>,
    /// The smallest delay, that of packets without a recorded delay included.
    floor: Option<i64>,
    /// The order of each remembered transmission, its delay in µs, and when the delay became known,
    /// in ns.
    recent: VecDeque<(u64, u32, u64)>,
    epoch: u64,
    /// The smallest and largest delay of this epoch and of the one before.
    ranges: [Option<(u32, u32)>; 2],
}

impl Delays {
    /// Records that transmission `order` took `delay` µs, as known at `now` ns.
    pub(crate) fn add(&mut self, now: u64, order: u64, delay: u32) {
        self.histogram.add(delay);
        self.track.add(now, delay);
        self.least = Some(self.least.map_or(delay, |least| least.min(delay)));
        let epoch = now / EPOCH;
        if epoch != self.epoch {
            let last = (epoch == self.epoch + 1)
                .then_some(self.ranges[0])
                .flatten();
            self.ranges = [None, last];
            self.epoch = epoch;
        }
        let range = self.ranges[0].unwrap_or((delay, delay));
        self.ranges[0] = Some((range.0.min(delay), range.1.max(delay)));
        match self.recent.back() {
            Some(&(last, ..)) if last >= order => self.insert(now, order, delay),
            _ => {
                step(1);
                self.recent.push_back((order, delay, now));
            }
        }
        if self.recent.len() > REMEMBERED {
            self.recent.pop_front();
        }
    }

    /// Inserts the delay of a transmission when those of later ones are already known.
    fn insert(&mut self, now: u64, order: u64, delay: u32) {
        let at = self.recent.partition_point(|&(other, ..)| other < order);
        let moved = at.min(self.recent.len() - at);
        step(1 + moved / SHIFTED);
        if moved <= MOVED {
            self.recent.insert(at, (order, delay, now));
        }
    }

    /// Forgets transmissions before `order`, except the last few.
    pub(crate) fn forget(&mut self, order: u64) {
        while self.recent.len() > BEFORE && self.recent[BEFORE].0 < order {
            self.recent.pop_front();
        }
    }

    /// Returns the smallest delay.
    pub(crate) fn least(&self) -> Option<u32> {
        self.least
    }

    /// Sets the smallest delay of packets whose delays were not recorded.
    pub(crate) fn set_floor(&mut self, floor: Option<i64>) {
        self.floor = floor;
    }

    /// Returns by how much a delay exceeds the smallest.
    pub(crate) fn above_least(&self, delay: u32) -> u32 {
        let least = self.least.map_or(0, i64::from);
        let least = self.floor.map_or(least, |floor| floor.min(least));
        let above = i64::from(delay).saturating_sub(least);
        above.clamp(0, i64::from(u32::MAX)) as u32
    }

    /// Returns whether at least 99.5 % of delays are 0, as with a stopped clock.
    pub(crate) fn stand_still(&self) -> bool {
        self.histogram.quantile(0.995) == Some(0)
    }

    /// Returns the delays near transmission `order`.
    pub(crate) fn around(&self, order: u64) -> Around {
        self.neighbours(order).around(order)
    }

    /// Returns the known transmissions before and after `order`. They also serve for all missing
    /// orders between them.
    pub(crate) fn neighbours(&self, order: u64) -> Neighbours {
        let at = self.recent.partition_point(|&(other, ..)| other < order);
        let mut before = [None; BEFORE];
        for (place, known) in before.iter_mut().zip(self.recent.range(..at).rev()) {
            *place = Some(*known);
        }
        Neighbours {
            before,
            next: self.recent.get(at).copied(),
            after: self
                .recent
                .range(at..)
                .find(|&&(other, ..)| other > order)
                .copied(),
            range: match self.ranges {
                [Some(now), Some(last)] => Some((now.0.min(last.0), now.1.max(last.1))),
                [now, last] => now.or(last),
            },
        }
    }

    /// Returns the memory in use, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.histogram.memory()
            + self.track.memory()
            + self.recent.capacity() * size_of::<(u64, u32, u64)>()
    }
}

/// The order of a transmission, its delay in µs, and when the delay became known, in ns.
type Known = (u64, u32, u64);

/// The known transmissions around missing ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Neighbours {
    /// The transmissions before the missing ones, the latest first.
    before: [Option<Known>; BEFORE],
    /// The first transmission at or after the requested order, and the first after that order. They
    /// differ if the transmission itself is known.
    next: Option<Known>,
    after: Option<Known>,
    range: Option<(u32, u32)>,
}

impl Neighbours {
    /// Returns the delays near transmission `order`, which is between these neighbours.
    pub(crate) fn around(&self, order: u64) -> Around {
        let near = |&(other, ..): &Known| other.abs_diff(order) <= NEAR;
        let before = self.before.iter().flatten().filter(|known| near(known));
        // The packet that reveals a gap may have the requested order.
        let last = self.before[0].filter(near);
        let two = last.zip(self.next.filter(near));
        let spacing =
            two.and_then(|(last, next)| Some((next.2.checked_sub(last.2)?, next.0 - last.0)));
        Around {
            before: before.map(|&(_, delay, _)| delay).min(),
            after: self.after.filter(near).map(|(_, delay, _)| delay),
            range: self.range,
            spacing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_to_half_a_percent() {
        for given in [0, 1, 255, 256, 511, 512, 1000, 65_535, 1_000_000, u32::MAX] {
            let kept = value(index(given));
            assert!(
                kept <= given && f64::from(given - kept) <= 0.004 * f64::from(given),
                "{given} {kept}"
            );
        }
    }

    #[test]
    fn quantiles_and_ranks() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        (1..=100).for_each(|value| histogram.add(value));
        assert_eq!(histogram.quantile(0.5), Some(50));
        assert_eq!(histogram.quantile(1.0), Some(100));
        assert!((histogram.ranks().rank(50) - 0.495).abs() < 1e-9);
    }

    /// Values are far from 0, and the lower ones come later: ranks and quantiles are those of a
    /// sorted list.
    #[test]
    fn lower_values_come_later() {
        let values: Vec<u32> = (0..200).map(|n| 90_000 - n * n * 2).collect();
        let mut histogram = Histogram::default();
        for &value in &values {
            histogram.add(value);
        }
        let mut sorted: Vec<usize> = values.iter().map(|&value| index(value)).collect();
        sorted.sort_unstable();
        let median = Some(super::value(sorted[99]));
        assert_eq!(histogram.quantile(0.5), median);
        let ranks = histogram.ranks();
        for asked in [
            0, 300, 9_000, 10_798, 10_800, 50_000, 90_000, 90_500, 4_000_000,
        ] {
            let at = index(asked);
            let below = sorted.iter().filter(|&&known| known < at).count() as f64;
            let equal = sorted.iter().filter(|&&known| known == at).count() as f64;
            let expected = (below + equal / 2.0) / 200.0;
            assert!((ranks.rank(asked) - expected).abs() < 1e-9, "{asked}");
        }
    }

    #[test]
    fn delays_around_a_packet() {
        let mut delays = Delays::default();
        for (order, delay) in [(1, 90), (2, 70), (3, 50), (4, 60), (6, 40)] {
            delays.add(order * 1000, order, delay);
        }
        let around = delays.around(5);
        assert_eq!(
            (around.before, around.after, around.range),
            (Some(50), Some(40), Some((40, 90)))
        );
        assert_eq!(around.spacing, Some((2000, 2)));
        let far = delays.around(500);
        assert_eq!((far.before, far.spacing), (None, None));
    }
}
