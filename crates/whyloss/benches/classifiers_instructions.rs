//! Instructions of every receiver classifier over 10 000 arrivals, about one in twenty revealing a gap.
//!
//! `cargo bench -p whyloss --bench classifiers_instructions`; needs valgrind and gungraun-runner. Divide by 10 000.
#![allow(missing_docs, reason = "the attribute writes a public module")]

mod stream;

use std::hint::black_box;

use gungraun::{
    Callgrind, EventKind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main,
};
use whyloss::receiver::{Arrival, Classifier, REGISTRY};

const ARRIVALS: u64 = 10_000;
/// Instructions per arrival, the feed loop's included: what fits into 10 ns at a few instructions per cycle.
const BUDGET: u64 = 250;

fn setup(index: usize) -> (Classifier, Vec<(Arrival, u64)>) {
    let classifier = REGISTRY[index]
        .build(&[])
        .expect("the defaults are in range");
    (classifier, stream::stream(ARRIVALS))
}

#[library_benchmark]
#[benches::registry(iter = 0..REGISTRY.len(), setup = setup)]
fn receiver((mut classifier, arrivals): (Classifier, Vec<(Arrival, u64)>)) -> u64 {
    stream::feed(&mut classifier, black_box(&arrivals))
}

library_benchmark_group!(name = classifiers, benchmarks = receiver);
main!(
    config = LibraryBenchmarkConfig::default()
        .tool(Callgrind::default().hard_limits([(EventKind::Ir, ARRIVALS * BUDGET)])),
    library_benchmark_groups = classifiers
);
