//! Counts the cost of the estimator: nanoseconds per batch of 50 reports, one packet in 25 lost.
//!
//! ```text
//! cargo run --release -p whyloss-rtc --example cost
//! ```

use std::hint::black_box;
use whyloss_rtc::{Ecn, Estimator, Fate, Report, Time};

const BATCHES: u64 = 20_000;
const PACKETS: u64 = 50;

fn report(id: u64) -> Report {
    let departed = 1_000_000_000 + id * 3_000_000;
    let arrived = Time::from_nanos(departed + 20_000_000 + id * 7_919 % 2_000_000);
    Report {
        id,
        departed: Time::from_nanos(departed),
        size: 1_200,
        fate: if id % 25 == 7 {
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
