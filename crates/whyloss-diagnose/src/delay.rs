//! Delays of a path: their smallest value, their distribution, and what they were around each packet.
//!
//! ```text
//! delay    µs, from a packet to its acknowledgement (round trip, or the part of it behind the point of capture), or the
//!          relative one-way delay up to the point of capture
//! order    the number of a transmission: 1, 2, …, retransmissions included
//! ```

use std::collections::VecDeque;

use crate::track::Track;

/// Buckets for each doubling: a value is kept to 0.4 %.
const SHIFT: u32 = 8;
/// Transmissions whose delays are remembered at most.
const REMEMBERED: usize = 1 << 16;
/// How long the local extremes look back, ns: between one and two of these.
const EPOCH: u64 = 4_000_000_000;
/// Transmissions before a lost one among which the smallest delay is taken: acknowledgements that were held back
/// lengthen some.
const BEFORE: usize = 3;
/// How far from a lost packet, in transmissions, a delay may be and still tell of it.
const NEAR: u64 = 64;

/// How often each value occurred, to 0.4 %.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    counts: Vec<u32>,
    total: u64,
}

impl Histogram {
    pub(crate) fn add(&mut self, value: u32) {
        let index = index(value);
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] = self.counts[index].saturating_add(1);
        self.total += 1;
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The value that a share `q` of all do not exceed; `None` without any.
    pub(crate) fn quantile(&self, q: f64) -> Option<u32> {
        let rank = (q * self.total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.counts.iter().position(|&count| {
            seen += u64::from(count);
            seen >= rank
        })?;
        Some(value(found))
    }

    /// The share of values below `value`, half of those equal to it included.
    pub(crate) fn rank(&self, value: u32) -> f64 {
        let at = index(value);
        let below: u64 = self
            .counts
            .iter()
            .take(at)
            .map(|&count| u64::from(count))
            .sum();
        let equal = self.counts.get(at).copied().unwrap_or(0);
        (below as f64 + f64::from(equal) / 2.0) / (self.total.max(1)) as f64
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

/// The delays around one lost packet, µs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Around {
    /// Of those that left just before it.
    pub before: Option<u32>,
    /// Of the first that left after it.
    pub after: Option<u32>,
    /// The smallest and the largest of the seconds before.
    pub range: Option<(u32, u32)>,
    /// How long, ns, and how many transmissions later than the one before it the one after it was heard of.
    pub spacing: Option<(u64, u64)>,
}

/// Delays of one direction of a path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delays {
    pub(crate) histogram: Histogram,
    pub(crate) track: Track,
    least: Option<u32>,
    /// Order, delay, and when that was known.
    recent: VecDeque<(u64, u32, u64)>,
    epoch: u64,
    /// Of this epoch and the one before.
    ranges: [Option<(u32, u32)>; 2],
}

impl Delays {
    /// The transmission of that `order` took `delay`, as known at `now` ns.
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
        let at = self.recent.partition_point(|&(other, ..)| other < order);
        if at == self.recent.len() {
            self.recent.push_back((order, delay, now));
        } else {
            self.recent.insert(at, (order, delay, now));
        }
        if self.recent.len() > REMEMBERED {
            self.recent.pop_front();
        }
    }

    /// Transmissions before `order` will not be asked about.
    pub(crate) fn forget(&mut self, order: u64) {
        while self.recent.len() > BEFORE && self.recent[BEFORE].0 < order {
            self.recent.pop_front();
        }
    }

    /// The smallest delay.
    pub(crate) fn least(&self) -> Option<u32> {
        self.least
    }

    /// Whether all are 0, or nearly all: the clock that they were measured by stood still.
    pub(crate) fn stand_still(&self) -> bool {
        self.histogram.quantile(0.995) == Some(0)
    }

    /// Delays around the transmission of that `order`.
    pub(crate) fn around(&self, order: u64) -> Around {
        let at = self.recent.partition_point(|&(other, ..)| other < order);
        let near = |&&(other, ..): &&(u64, u32, u64)| other.abs_diff(order) <= NEAR;
        let before = self
            .recent
            .range(..at)
            .rev()
            .take(BEFORE)
            .filter(near)
            .map(|&(_, delay, _)| delay)
            .min();
        let after = self
            .recent
            .range(at..)
            .find(|&&(other, ..)| other > order)
            .filter(near);
        let range = match self.ranges {
            [Some(now), Some(last)] => Some((now.0.min(last.0), now.1.max(last.1))),
            [now, last] => now.or(last),
        };
        // The packet that shows a gap may have the order that is asked for.
        let two = self.recent.range(..at).next_back();
        let two = two
            .filter(near)
            .zip(self.recent.range(at..).next().filter(near));
        let spacing =
            two.and_then(|(last, next)| Some((next.2.checked_sub(last.2)?, next.0 - last.0)));
        Around {
            before,
            after: after.map(|&(_, delay, _)| delay),
            range,
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
        assert!((histogram.rank(50) - 0.495).abs() < 1e-9);
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
