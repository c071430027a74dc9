//! Counts the instructions of every receiver classifier over 10,000 arrivals, and of every sender
//! classifier and the scheme `whyloss` over 10,000 acknowledgements. Also counts those of the media
//! estimator over 10,000 reports, 50 at a time. About one arrival in 20 reveals a gap, one
//! acknowledgement in 200 reveals a loss, and one packet in 25 is reported lost.
//!
//! Run `cargo bench -p whyloss-bench --bench classifiers_instructions`; it needs valgrind and
//! gungraun-runner. Divide the counts by 10,000.
#![allow(missing_docs, reason = "the attribute writes a public module")]

use std::hint::black_box;

use gungraun::{
    Callgrind, EventKind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main,
};
use whyloss::congestion::{Start, Under, Whyloss};
use whyloss::receiver::Arrival;
use whyloss::{receiver as at_receiver, sender as at_sender};
use whyloss_bench::{acks, feed, stream};
use whyloss_rtc::{Duration, Ecn, Estimator, Fate, Report, Time};

const ARRIVALS: u64 = 10_000;
/// The limit of instructions per arrival or acknowledgement, including the feed loop: about 10 ns
/// at a few instructions per cycle.
const BUDGET: u64 = 250;
/// The limit for the receivers' trees, which update many signals and evaluate dozens of trees at
/// each loss. The goal of 10 ns does not apply to them.
const BUDGET_OF_TREES: u64 = 350;
/// The limit for the scheme, which runs the senders' trees, the history of the path, and CUBIC.
const BUDGET_OF_SCHEME: u64 = 380;

/// The limit per reported packet of the media estimator, which evaluates the trees at each loss, and
/// looks at each packet for bursts of a pacer and for pauses of the sender.
const BUDGET_OF_MEDIA: u64 = 615;
/// The number of packets per report.
const BATCH: u64 = 50;

type Arrivals = Vec<(Arrival, u64)>;
type Acks = Vec<acks::Told>;

fn setup_receiver(index: usize) -> (at_receiver::Classifier, Arrivals) {
    let classifier = at_receiver::REGISTRY[index]
        .build(&[])
        .expect("the defaults are in range");
    (classifier, stream(ARRIVALS))
}

fn setup_sender(index: usize) -> (at_sender::Classifier, Acks) {
    let classifier = at_sender::REGISTRY[index]
        .build(&[])
        .expect("the defaults are in range");
    (classifier, acks::stream(ARRIVALS))
}

/// Returns the indices in the registry: of the trees, or of all other classifiers.
fn receivers(trees: bool) -> impl Iterator<Item = usize> {
    let places = 0..at_receiver::REGISTRY.len();
    places.filter(move |&place| (at_receiver::REGISTRY[place].id == "trees") == trees)
}

fn at_most(instructions: u64) -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(Callgrind::default().hard_limits([(EventKind::Ir, ARRIVALS * instructions)]));
    config
}

#[library_benchmark]
#[benches::registry(iter = receivers(false), setup = setup_receiver)]
#[benches::trees(iter = receivers(true), setup = setup_receiver, config = at_most(BUDGET_OF_TREES))]
fn receiver((mut classifier, arrivals): (at_receiver::Classifier, Arrivals)) -> u64 {
    feed(&mut classifier, black_box(&arrivals))
}

#[library_benchmark]
#[benches::registry(iter = 0..at_sender::REGISTRY.len(), setup = setup_sender)]
fn sender((mut classifier, acks): (at_sender::Classifier, Acks)) -> u64 {
    acks::feed(&mut classifier, black_box(&acks))
}

fn setup_scheme(under: Under) -> (Whyloss, Acks) {
    (
        Whyloss::new(&Start::new(1000), under),
        acks::stream(ARRIVALS),
    )
}

#[library_benchmark(config = at_most(BUDGET_OF_SCHEME))]
#[bench::whyloss(setup_scheme(Under::Cubic))]
fn scheme((mut controller, acks): (Whyloss, Acks)) -> u64 {
    acks::control(&mut controller, black_box(&acks))
}

fn setup_media() -> (Estimator, Vec<Report>) {
    let report = |id| {
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
    };
    let estimator = Estimator::new(3e6, 1e5, 1e7);
    (estimator, (0..ARRIVALS).map(report).collect())
}

#[library_benchmark(config = at_most(BUDGET_OF_MEDIA))]
#[bench::whyloss(setup_media())]
fn media((mut estimator, reports): (Estimator, Vec<Report>)) -> f64 {
    for batch in black_box(&reports).chunks(BATCH as usize) {
        let last = batch[batch.len() - 1].departed;
        estimator.on_reports(last + Duration::from_millis(30), batch.iter().copied());
    }
    estimator.target()
}

library_benchmark_group!(
    name = classifiers,
    benchmarks = [receiver, sender, scheme, media]
);
main!(
    config = at_most(BUDGET),
    library_benchmark_groups = classifiers
);
