//! Which packets of a session have come.

/// A number further ahead than this is none of the sender's.
const MOST_AHEAD: u64 = 1 << 20;
/// Numbers below the highest of which it is remembered whether they came.
const WINDOW: u64 = 1 << 16;

/// The numbers that have come, in bounded memory: those far below the highest are none that can
/// still come.
#[derive(Debug)]
pub(super) struct Seen {
    /// The first number after the highest that came.
    expected: u64,
    /// Whether each of the last [`WINDOW`] numbers came, a bit each.
    bits: Vec<u64>,
}

impl Seen {
    /// None has come.
    pub(super) fn new() -> Self {
        Self {
            expected: 0,
            bits: vec![0; WINDOW as usize / 64],
        }
    }

    /// The first number after the highest that came.
    pub(super) fn expected(&self) -> u64 {
        self.expected
    }

    /// How many numbers are missing before this one, which would be the highest; `None` if it
    /// cannot be the sender's.
    pub(super) fn missing(&self, number: u64) -> Option<u64> {
        let missing = number.saturating_sub(self.expected);
        (missing <= MOST_AHEAD && number + WINDOW > self.expected).then_some(missing)
    }

    /// Remembers that this number came, for which [`missing`](Self::missing) has an answer; answers
    /// whether it had not come before.
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

/// Where the bit of a number is.
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
        /// Against a set of all that came.
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
