//! Counts by bucket, in pages that are allocated at their first count. A flow's delays lie close
//! together, so few of the possible buckets are ever used. The first values are kept unchanged,
//! because most flows of a large scenario have few.

/// Buckets of a page.
const PAGE: usize = 64;

/// The highest number of values without pages.
const FEW: usize = 1024;

/// The number of a page without counts.
const NONE: u16 = u16::MAX;

/// How many values fell into each bucket.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Histogram {
    /// The number of each page, in the order of buckets; without counts, the buckets of all values.
    pages: Vec<u16>,
    /// The counts of all pages, in the order in which those came into being.
    counts: Vec<u32>,
}

impl Histogram {
    /// Counts one more value of this bucket, below 2¹⁶.
    #[inline]
    pub(super) fn add(&mut self, bucket: usize) {
        let page = self.pages.get(bucket / PAGE).copied().unwrap_or(NONE);
        let place = usize::from(page) * PAGE + bucket % PAGE;
        match self.counts.get_mut(place) {
            Some(count) => *count = count.saturating_add(1),
            None => self.add_without_page(bucket),
        }
    }

    #[cold]
    #[inline(never)]
    fn add_without_page(&mut self, bucket: usize) {
        if !self.counts.is_empty() {
            self.begin_page(bucket);
        } else if self.pages.len() < FEW {
            self.pages.push(bucket as u16);
        } else {
            let few = std::mem::take(&mut self.pages);
            self.begin_page(bucket);
            for bucket in few {
                self.add(usize::from(bucket));
            }
        }
    }

    fn begin_page(&mut self, bucket: usize) {
        let (index, page) = (bucket / PAGE, self.counts.len() / PAGE);
        if self.pages.len() <= index {
            self.pages.resize(index + 1, NONE);
        }
        self.pages[index] = page as u16;
        self.counts.resize((page + 1) * PAGE, 0);
        self.counts[page * PAGE + bucket % PAGE] = 1;
    }

    /// The bucket of the `rank`th smallest value, from 1; `None` if there are fewer.
    pub(super) fn bucket_of(&self, rank: u64) -> Option<usize> {
        if self.counts.is_empty() {
            let mut few = self.pages.clone();
            let place = usize::try_from(rank - 1).ok()?;
            return (place < few.len()).then(|| usize::from(*few.select_nth_unstable(place).1));
        }
        let mut below = 0;
        for (index, &page) in self.pages.iter().enumerate() {
            let place = usize::from(page) * PAGE;
            let counts = self.counts.get(place..place + PAGE).unwrap_or(&[]);
            for (offset, &count) in counts.iter().enumerate() {
                below += u64::from(count);
                if below >= rank {
                    return Some(index * PAGE + offset);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The naive twin: all values, sorted.
        #[test]
        fn agrees_with_sorting(mut buckets in prop::collection::vec(0usize..50_000, 0..2 * FEW)) {
            let mut histogram = Histogram::default();
            for &bucket in &buckets {
                histogram.add(bucket);
            }
            buckets.sort_unstable();
            for (rank, &bucket) in (1..).zip(&buckets).step_by(97) {
                prop_assert_eq!(histogram.bucket_of(rank), Some(bucket));
            }
            prop_assert_eq!(histogram.bucket_of(buckets.len() as u64 + 1), None);
        }
    }

    #[test]
    fn what_lies_together_takes_little() {
        let mut histogram = Histogram::default();
        for value in 0..100_000 {
            if value == FEW {
                assert_eq!(histogram.pages.len() + histogram.counts.len(), FEW);
            }
            histogram.add(9_000 + value % 100);
        }
        // Two pages or three, and the numbers of those below.
        assert!(histogram.counts.len() <= 3 * PAGE);
        assert!(histogram.pages.len() <= 9_100 / PAGE + 1);
    }
}
