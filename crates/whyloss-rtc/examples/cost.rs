//! Measures the cost of the estimator in nanoseconds per batch of 50 reports. One packet in 25 is
//! lost, and the others are up to 2 ms late. Losses and delays are random, because a processor
//! would learn a regular pattern.
//!
//! ```text
//! cargo run --release -p whyloss-rtc --example cost
//! ```

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::hint::black_box;
use whyloss_rtc::{Ecn, Estimator, Fate, Report, Time};

const BATCHES: u64 = 20_000;
const PACKETS: u64 = 50;

fn report(id: u64) -> Report {
    let departed = 1_000_000_000 + id * 3_000_000;
    let drawn = SplitMix64::seed_from_u64(id).next_u64();
    let arrived = Time::from_nanos(departed + 20_000_000 + drawn % 2_000_000);
    Report {
        id,
        departed: Time::from_nanos(departed),
        size: 1_200,
        fate: if (drawn >> 32) % 25 == 7 {
            Fate::Lost(None)
        } else {
            Fate::Arrived(Some(arrived), Ecn::NotEct)
        },
    }
}

fn main() {
    let mut estimator = Estimator::new(3e6, 1e5, 1e7);
    #[allow(
        clippy::disallowed_methods,
        reason = "this program times the estimator"
    )]
    let before = std::time::Instant::now();
    for number in 1..=BATCHES {
        let now = Time::from_nanos(1_030_000_000 + number * PACKETS * 3_000_000);
        estimator.on_reports(now, (PACKETS * (number - 1)..PACKETS * number).map(report));
        black_box(estimator.target());
    }
    let took = before.elapsed().as_nanos() / u128::from(BATCHES);
    println!("{took} ns per batch of {PACKETS} reports");
}
