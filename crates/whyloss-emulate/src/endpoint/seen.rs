//! The packets of a session that have arrived.

/// The largest distance above the highest number at which a number can be the sender's.
const MOST_AHEAD: u64 = 1 << 20;
/// The number of remembered sequence numbers below the highest.
const WINDOW: u64 = 1 << 16;

/// The numbers that have arrived, in bounded memory; numbers far below the highest are rejected.
#[derive(Debug)]
pub(super) struct Seen {
    /// The first number after the highest that arrived.
    expected: u64,
    /// One bit for each of the last [`WINDOW`] numbers, set if the packet arrived.
    bits: Vec<u64>,
}

impl Seen {
    /// Returns the state before the first arrival.
    pub(super) fn new() -> Self {
        Self {
            expected: 0,
            bits: vec![0; WINDOW as usize / 64],
        }
    }

    /// Returns the first number after the highest that arrived.
    pub(super) fn expected(&self) -> u64 {
        self.expected
    }

    /// Returns how many numbers are missing before this one, if it is the highest so far; `None` if
    /// it cannot be the sender's.
    pub(super) fn missing(&self, number: u64) -> Option<u64> {
        let missing = number.saturating_sub(self.expected);
        (missing <= MOST_AHEAD && number + WINDOW > self.expected).then_some(missing)
    }

    /// Records that this number arrived; [`missing`](Self::missing) must have accepted it. Returns
    /// whether it was new.
    pub(super) fn mark(&mut self, number: u64) -> bool {
        if number >= self.expected {
            let from = self.expected.max(number.saturating_sub(WINDOW - 1));
            for skipped in from..=number {
                let (word, bit) = place(skipped);
                self.bits[word] &= !bit;
            }
            self.expected = number + 1;
        }
        let (word, bit) = place(number);
        let new = self.bits[word] & bit == 0;
        self.bits[word] |= bit;
        new
    }
}

/// Returns the index of the word that holds the bit of `number`, and a mask of this bit.
fn place(number: u64) -> (usize, u64) {
    let at = number % WINDOW;
    ((at / 64) as usize, 1 << (at % 64))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bounds() {
        let mut seen = Seen::new();
        assert_eq!(seen.missing(MOST_AHEAD), Some(MOST_AHEAD));
        assert_eq!(seen.missing(MOST_AHEAD + 1), None);
        assert!(seen.mark(2 * WINDOW));
        assert_eq!(seen.missing(WINDOW + 2), Some(0));
        assert_eq!(
            seen.missing(WINDOW + 1),
            None,
            "too old to be told from a copy"
        );
        assert!(!seen.mark(2 * WINDOW));
    }

    proptest! {
        /// For any arrivals, the answers are those of a set of all arrived numbers.
        #[test]
        fn as_a_set_has_it(steps in prop::collection::vec(-300_i64..3_000, 1..400)) {
            let (mut seen, mut all, mut highest) = (Seen::new(), BTreeSet::new(), 0_i64);
            for step in steps {
                let number = (highest + step).max(0);
                highest = highest.max(number);
                let number = number as u64;
                let expected = all.last().map_or(0, |last| last + 1);
                prop_assert_eq!(seen.expected(), expected);
                prop_assert_eq!(seen.missing(number), Some(number.saturating_sub(expected)));
                prop_assert_eq!(seen.mark(number), all.insert(number));
            }
        }
    }
}
