//! Property tests for your own algorithms, the same as this crate's.
//!
//! ```
//! use whyloss::Cause;
//! use whyloss::receiver::{Arrival, ReceiverClassifier};
//! use whyloss::testing;
//!
//! /// Long gaps are congestion.
//! #[derive(Clone)]
//! struct Longest(u64);
//!
//! impl ReceiverClassifier for Longest {
//!     fn on_arrival(&mut self, _: &Arrival, missing: u64) -> Option<Cause> {
//!         let cause = Cause::congestion_if(missing > self.0);
//!         (missing > 0).then_some(cause)
//!     }
//! }
//!
//! testing::receiver::properties(&Longest(3));
//! ```
//!
//! `properties` draws its sequences from a generator with a fixed seed, so every run is the same
//! and needs no dependency. `check` takes plain numbers, so that proptest or a fuzzer can draw and
//! shrink them. With the feature `std`, a failure of `properties`, including a panic of the
//! algorithm, names its sequence.

pub mod controller;
pub mod receiver;
pub mod sender;

use crate::Time;

/// One operation that a fuzzer or a property test draws: its kind and two numbers.
pub type Raw = (u8, u64, u64);

/// The limit of timestamps, 2^61 ns (73 years). Adding a clock offset of the same size cannot
/// overflow.
const STAMP_LIMIT: u64 = 1 << 61;
/// The maximum number of operations of a sequence.
const LENGTH: usize = 256;
/// The number of sequences in a test.
const SEQUENCES: u64 = 400;

/// Returns `time` on a clock that is ahead by `by` ns.
fn later(time: Time, by: u64) -> Time {
    Time::from_nanos(time.as_nanos() + by % STAMP_LIMIT)
}

/// Runs all sequences; each number seeds its sequence.
fn sequences(mut run: impl FnMut(&mut Draws)) {
    for sequence in 0..SEQUENCES {
        numbered(sequence, || run(&mut Draws(sequence)));
    }
}

/// Runs a sequence; if it panics, panics again with the sequence's number.
#[cfg(any(test, feature = "std"))]
fn numbered(sequence: u64, run: impl FnOnce()) {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    assert!(
        result.is_ok(),
        "sequence {sequence} of {SEQUENCES} fails, for the reason above"
    );
}

#[cfg(not(any(test, feature = "std")))]
fn numbered(_sequence: u64, run: impl FnOnce()) {
    run();
}

/// A generator of pseudorandom numbers (SplitMix64 by Steele, Lea & Flood, OOPSLA 2014).
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Returns a number that is often near an end of the range.
    fn extreme(&mut self) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => 1,
            2 => i64::MAX as u64,
            3 => 1 << 63,
            4 => u64::MAX,
            _ => self.next(),
        }
    }

    /// Returns a sequence of operations and its length. Operations are arbitrary, or mostly
    /// realistic with short times, so that decisions are near their bounds.
    fn operations(&mut self) -> ([Raw; LENGTH], usize) {
        let kind = self.below(3);
        let length = self.below(LENGTH as u64 + 1) as usize;
        let mut operations = [(0, 0, 0); LENGTH];
        for operation in &mut operations[..length] {
            *operation = match kind {
                0 => (self.next() as u8, self.next(), self.next()),
                1 => (self.below(11) as u8, self.next(), self.below(4096)),
                _ => (self.below(13) as u8, self.below(10_000_000), self.below(60)),
            };
        }
        (operations, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cause;
    use crate::receiver::{Arrival, ReceiverClassifier};
    use std::string::String;

    /// Panics at a gap of four packets.
    #[derive(Clone)]
    struct Afraid;

    impl ReceiverClassifier for Afraid {
        fn on_arrival(&mut self, _: &Arrival, missing: u64) -> Option<Cause> {
            assert_ne!(missing, 4);
            (missing > 0).then_some(Cause::Wireless)
        }
    }

    #[test]
    fn a_failure_says_its_number() {
        let failed = std::panic::catch_unwind(|| receiver::properties(&Afraid)).unwrap_err();
        let message = failed.downcast_ref::<String>().expect("a message");
        let number = message.split(' ').nth(1).and_then(|word| word.parse().ok());
        // The sequence's number alone reproduces the failure.
        let again = std::panic::catch_unwind(|| {
            let (operations, length) = Draws(number.expect("a number")).operations();
            receiver::check(&Afraid, &operations[..length], (0, 0));
        });
        assert!(again.is_err(), "{message}");
    }
}
