//! Counts values by bucket, in pages that are allocated when first used. A flow's delays are close
//! together, so few of the possible buckets are used. The first values are stored in a list,
//! because most flows of a large scenario have few.

use crate::prefetch::prefetch;
use crate::snug;

/// The number of buckets of a page.
const PAGE: usize = 64;

/// The maximum number of values without pages.
const FEW: usize = 1024;

/// The number of a page without counts.
const NONE: u16 = u16::MAX;

/// The number of values in each bucket.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Histogram {
    /// The buckets of all values, in order of arrival.
    Few(Vec<u16>),
    Many(Box<Pages>),
}

/// The pages with counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Pages {
    /// The number of each page, in the order of buckets.
    numbers: Vec<u16>,
    /// The counts of all pages, in the order of their creation.
    counts: Vec<u32>,
}

impl Histogram {
    /// Prefetches the slot of the next value, while there are few values.
    #[inline]
    pub(super) fn prefetch(&self) {
        if let Self::Few(few) = self {
            few.last().map(prefetch);
        }
    }

    /// Counts one more value of this bucket, below 2¹⁶.
    #[inline]
    pub(super) fn add(&mut self, bucket: usize) {
        match self {
            Self::Many(pages) => pages.add(bucket),
            Self::Few(_) => self.add_to_few(bucket),
        }
    }

    /// Counts the values of another histogram.
    pub(super) fn merge(&mut self, other: &Self) {
        match other {
            Self::Few(few) => few.iter().for_each(|&few| self.add(usize::from(few))),
            Self::Many(pages) => pages.each(|bucket, count| {
                (0..count).for_each(|_| self.add(bucket));
            }),
        }
    }

    #[cold]
    #[inline(never)]
    fn add_to_few(&mut self, bucket: usize) {
        let Self::Few(few) = self else { return };
        if few.len() < FEW {
            return snug::push(few, bucket as u16);
        }
        let mut pages = Box::<Pages>::default();
        for &few in few.iter() {
            pages.add(usize::from(few));
        }
        pages.add(bucket);
        *self = Self::Many(pages);
    }

    /// Returns the bucket of the `rank`th smallest value, counted from 1; `None` if there are fewer
    /// values.
    pub(super) fn bucket_of(&self, rank: u64) -> Option<usize> {
        match self {
            Self::Few(few) => {
                let (mut few, place) = (few.clone(), usize::try_from(rank - 1).ok()?);
                (place < few.len()).then(|| usize::from(*few.select_nth_unstable(place).1))
            }
            Self::Many(pages) => pages.bucket_of(rank),
        }
    }
}

impl Pages {
    #[inline]
    fn add(&mut self, bucket: usize) {
        let page = self.numbers.get(bucket / PAGE).copied().unwrap_or(NONE);
        let place = usize::from(page) * PAGE + bucket % PAGE;
        match self.counts.get_mut(place) {
            Some(count) => *count = count.saturating_add(1),
            None => self.begin(bucket),
        }
    }

    #[cold]
    #[inline(never)]
    fn begin(&mut self, bucket: usize) {
        let (index, page) = (bucket / PAGE, self.counts.len() / PAGE);
        if self.numbers.len() <= index {
            self.numbers.resize(index + 1, NONE);
        }
        self.numbers[index] = page as u16;
        self.counts.resize((page + 1) * PAGE, 0);
        self.counts[page * PAGE + bucket % PAGE] = 1;
    }

    /// Passes on the number of values of each bucket, from the lowest to the highest.
    fn each(&self, mut pass: impl FnMut(usize, u32)) {
        for (index, &page) in self.numbers.iter().enumerate() {
            let place = usize::from(page) * PAGE;
            let counts = self.counts.get(place..place + PAGE).unwrap_or(&[]);
            for (offset, &count) in counts.iter().enumerate() {
                pass(index * PAGE + offset, count);
            }
        }
    }

    fn bucket_of(&self, rank: u64) -> Option<usize> {
        let mut below = 0;
        for (index, &page) in self.numbers.iter().enumerate() {
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
        /// For any values, the quantiles equal those of a sorted list.
        #[test]
        fn agrees_with_sorting(mut buckets in prop::collection::vec(0usize..50_000, 0..2 * FEW)) {
            let mut histogram = Histogram::Few(Vec::new());
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
        let mut histogram = Histogram::Few(Vec::new());
        for value in 0..100_000 {
            assert_eq!(matches!(histogram, Histogram::Few(_)), value <= FEW);
            histogram.add(9_000 + value % 100);
        }
        let Histogram::Many(pages) = histogram else {
            panic!("still few");
        };
        // Two or three pages hold the counts, and `numbers` ends at the last of them.
        assert!(pages.counts.len() <= 3 * PAGE);
        assert!(pages.numbers.len() <= 9_100 / PAGE + 1);
    }
}
