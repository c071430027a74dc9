//! Generates the input of classifiers for the benchmarks. The benchmarks form a separate package,
//! so that tests need not build their dependencies.

pub mod acks;
#[allow(unsafe_code, reason = "calls C")]
pub mod through_c;

use whyloss::Time;
use whyloss::receiver::{Arrival, Classifier, ReceiverClassifier};

/// Returns `count` arrivals, each with the number of missing packets that it reveals. The flow
/// crosses a last hop of 150 kbit/s (762-byte packets, 40.64 ms apart) with a sawtooth of queueing
/// delay. About one arrival in 20 follows a gap of one to three packets.
pub fn stream(count: u64) -> Vec<(Arrival, u64)> {
    const SLOT: u64 = 40_640_000;
    let mut sequence = 0;
    let mut random = 1_u64;
    (0..count)
        .map(|k| {
            // Knuth's MMIX generator. Gaps must be irregular, or the branch predictor learns them.
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let draw = random >> 33;
            let missing = if draw.is_multiple_of(20) {
                1 + draw / 20 % 3
            } else {
                0
            };
            sequence += 1 + missing;
            let received = 1_000_000_000 + sequence * SLOT;
            let delay = 31_000_000 + (k % 97) * 2_500_000;
            let time = Time::from_nanos;
            let arrival = Arrival::new(sequence, time(received - delay), time(received), 762);
            (arrival, missing)
        })
        .collect()
}

/// Feeds the arrivals to a classifier, and returns the number of verdicts.
pub fn feed(classifier: &mut Classifier, stream: &[(Arrival, u64)]) -> u64 {
    let mut verdicts = 0;
    for (arrival, missing) in stream {
        let verdict = std::hint::black_box(classifier.on_arrival(arrival, *missing));
        verdicts += u64::from(verdict.is_some());
    }
    verdicts
}
