//! Keeps selectively acknowledged bytes as ranges, so that repeated SACK blocks cost no further
//! work.

use std::collections::BTreeMap;

use crate::steps::step;

/// Ranges that neither overlap nor touch: the end of each, by its start.
#[derive(Clone, Debug, Default)]
pub(super) struct Covered {
    ranges: BTreeMap<u64, u64>,
}

impl Covered {
    pub(super) fn clear(&mut self) {
        self.ranges.clear();
    }

    /// Returns the end of the range that contains `at`; `at` itself if none does.
    pub(super) fn end(&self, at: u64) -> u64 {
        let range = self.ranges.range(..=at).next_back();
        range.map_or(at, |(_, &end)| end.max(at))
    }

    /// Covers the bytes in `start..end`. Passes the parts that were not covered before to `new`,
    /// without a list for each block.
    pub(super) fn add(&mut self, start: u64, end: u64, mut new: impl FnMut(u64, u64)) {
        if start >= end || end <= self.end(start) {
            return;
        }
        let first = self.ranges.range(..=start).next_back();
        let first = first.filter(|(_, last)| **last >= start);
        let mut whole = (first.map_or(start, |(&first, _)| first), end);
        let mut from = start;
        while let Some((&first, &last)) = self.ranges.range(whole.0..=end).next() {
            step(1);
            if from < first {
                new(from, first);
            }
            from = from.max(last);
            whole.1 = whole.1.max(last);
            self.ranges.remove(&first);
        }
        if from < end {
            new(from, end);
        }
        self.ranges.insert(whole.0, whole.1);
    }

    /// Forgets the ranges that end at `ack` or before.
    pub(super) fn forget(&mut self, ack: u64) {
        while let Some(first) = self.ranges.first_entry()
            && *first.get() <= ack
        {
            first.remove();
        }
    }

    /// Returns the memory in use, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.ranges.len() * 3 * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For any ranges, the covered bytes are those of a list of single bytes.
    #[test]
    fn ranges_cover_what_bytes_cover() {
        let mut state = 3_u64;
        let mut draw = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let (mut covered, mut bytes) = (Covered::default(), [false; 200]);
            for _ in 0..50 {
                let start = draw(200);
                let end = start + draw(200 - start + 1);
                let mut new: Vec<u64> = Vec::new();
                covered.add(start, end, |start, end| new.extend(start..end));
                let fresh: Vec<u64> = (start..end).filter(|&at| !bytes[at as usize]).collect();
                assert_eq!(new, fresh);
                bytes[start as usize..end as usize].fill(true);
                let at = draw(200);
                let end = (at..200).find(|&at| !bytes[at as usize]).unwrap_or(200);
                assert_eq!(covered.end(at), end);
            }
            let ranges: Vec<(u64, u64)> = covered.ranges.into_iter().collect();
            assert!(ranges.windows(2).all(|two| two[0].1 < two[1].0));
        }
    }

    #[test]
    fn blocks_that_grow_take_steps_in_proportion() {
        crate::steps::assert_linear(10_000, 4, |many| {
            let mut covered = Covered::default();
            (0..many).for_each(|n| covered.add(n * 10, n * 10 + 5, |_, _| {}));
            (0..many).for_each(|n| covered.add((many - n) * 10, many * 10, |_, _| {}));
        });
    }
}
