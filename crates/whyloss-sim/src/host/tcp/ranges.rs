//! A set of sequence numbers as a sorted list of disjoint ranges `[start, end)` that do not touch.
//!
//! The receiver stores the segments that arrived beyond a hole, and the sender the segments that
//! were acknowledged selectively. There are as many ranges as holes, so a short vector is faster
//! than a tree. The most common change, growth at the end, touches only the last range.

use std::ops::Range;

use crate::snug;

/// Ranges that are sorted, disjoint, not adjacent and not empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges(Vec<Range<u64>>);

impl Ranges {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the ranges in ascending order.
    pub(super) fn iter(&self) -> std::slice::Iter<'_, Range<u64>> {
        self.0.iter()
    }

    pub(super) fn first(&self) -> Option<&Range<u64>> {
        self.0.first()
    }

    pub(super) fn last(&self) -> Option<&Range<u64>> {
        self.0.last()
    }

    /// Returns the range that holds `sequence`.
    pub(super) fn find(&self, sequence: u64) -> Option<&Range<u64>> {
        self.0
            .get(self.ending_after(sequence))
            .filter(|range| range.start <= sequence)
    }

    /// Returns whether one range holds all of `within`, which is not empty. Checks the last range
    /// first, because reports repeat it most often.
    #[inline]
    pub(super) fn holds(&self, within: &Range<u64>) -> bool {
        match self.0.last() {
            Some(last) if last.start <= within.start => within.end <= last.end,
            _ => self
                .find(within.start)
                .is_some_and(|range| within.end <= range.end),
        }
    }

    /// Returns the smallest number not below `sequence` that is in no range.
    pub(super) fn hole_from(&self, sequence: u64) -> u64 {
        self.find(sequence).map_or(sequence, |range| range.end)
    }

    /// Returns the parts of `within` that are in no range.
    pub(super) fn gaps(&self, within: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut at = within.start;
        let beyond = within.end..within.end;
        self.0[self.ending_after(within.start)..]
            .iter()
            .take_while(move |range| range.start < within.end)
            .cloned()
            .chain([beyond])
            .map(move |range| {
                let gap = at..range.start;
                at = range.end;
                gap
            })
            .filter(|gap| !gap.is_empty())
    }

    /// Adds `range` and returns how many of its numbers are new.
    pub(super) fn insert(&mut self, range: Range<u64>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        match self.0.last_mut() {
            Some(last) if last.end == range.start => {
                last.end = range.end;
                return range.end - range.start;
            }
            Some(last) if last.end > range.start => {}
            _ => {
                let new = range.end - range.start;
                self.0.push(range);
                return new;
            }
        }
        // Every range that overlaps or touches the new one becomes part of it.
        let first = self.0.partition_point(|old| old.end < range.start);
        let beyond = self.0.partition_point(|old| old.start <= range.end);
        let merged = &self.0[first..beyond];
        let known: u64 = merged.iter().map(|old| old.end - old.start).sum();
        let start = merged
            .first()
            .map_or(range.start, |old| old.start.min(range.start));
        let end = merged
            .last()
            .map_or(range.end, |old| old.end.max(range.end));
        if first < beyond {
            self.0[first] = start..end;
            self.0.drain(first + 1..beyond);
        } else {
            self.0.insert(first, start..end);
        }
        end - start - known
    }

    /// Removes all numbers below `sequence` and returns how many there were.
    pub(super) fn remove_below(&mut self, sequence: u64) -> u64 {
        let whole = self.ending_after(sequence);
        let mut removed: u64 = self.0.drain(..whole).map(|old| old.end - old.start).sum();
        snug::tidy(&mut self.0);
        if let Some(first) = self.0.first_mut()
            && first.start < sequence
        {
            removed += sequence - first.start;
            first.start = sequence;
        }
        removed
    }

    /// Returns how many numbers of `within` are in the ranges.
    pub(super) fn count_within(&self, within: &Range<u64>) -> u64 {
        self.0[self.ending_after(within.start)..]
            .iter()
            .take_while(|range| range.start < within.end)
            .map(|range| range.end.min(within.end) - range.start.max(within.start))
            .sum()
    }

    /// Returns the index of the first range that ends after `sequence`.
    fn ending_after(&self, sequence: u64) -> usize {
        self.0.partition_point(|range| range.end <= sequence)
    }
}

#[cfg(test)]
#[allow(
    clippy::single_range_in_vec_init,
    reason = "lists of one range are meant"
)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn ranges_merge_when_they_touch() {
        let mut ranges = Ranges::default();
        assert_eq!(ranges.insert(5..6), 1);
        assert_eq!(ranges.insert(8..9), 1);
        assert_eq!(ranges.insert(6..7), 1);
        assert_eq!(ranges.0, [5..7, 8..9]);
        assert_eq!(ranges.insert(7..8), 1);
        assert_eq!(ranges.0, [5..9]);
        assert_eq!(ranges.insert(4..12), 4);
        assert_eq!(ranges.0, [4..12]);
    }

    proptest! {
        /// After any operations, the ranges equal a set of numbers.
        #[test]
        fn behaves_as_a_set(
            steps in prop::collection::vec((0..60u64, 0..8u64, 0..5u8, 0..64u64), 0..80)
        ) {
            let mut ranges = Ranges::default();
            let mut naive = BTreeSet::new();
            for (start, len, kind, probe) in steps {
                if kind == 0 {
                    let kept = naive.split_off(&start);
                    prop_assert_eq!(ranges.remove_below(start), naive.len() as u64);
                    naive = kept;
                } else {
                    let new = (start..start + len).filter(|&s| naive.insert(s)).count();
                    prop_assert_eq!(ranges.insert(start..start + len), new as u64);
                }
                let numbers: Vec<u64> = ranges.iter().cloned().flatten().collect();
                prop_assert_eq!(&numbers, &naive.iter().copied().collect::<Vec<_>>());
                prop_assert!(ranges.0.windows(2).all(|pair| pair[0].end < pair[1].start));
                prop_assert_eq!(ranges.find(probe).is_some(), naive.contains(&probe));
                let within = probe..probe + len;
                let counted = naive.range(within.clone()).count() as u64;
                prop_assert_eq!(ranges.count_within(&within), counted);
                let held = len > 0 && counted == len;
                prop_assert_eq!(len > 0 && ranges.holds(&within), held);
                let gaps: Vec<u64> = ranges.gaps(probe..probe + len).flatten().collect();
                let missing = (probe..probe + len).filter(|s| !naive.contains(s));
                prop_assert_eq!(gaps, missing.collect::<Vec<_>>());
                let hole = (probe..100).find(|s| !naive.contains(s));
                prop_assert_eq!(Some(ranges.hole_from(probe)), hole);
            }
        }
    }
}
