//! Instructions of every receiver classifier over 10 000 arrivals, about one in twenty revealing a gap.
//!
//! `cargo bench -p whyloss --bench classifiers_instructions`; needs valgrind and gungraun-runner. Divide by 10 000.
#![allow(missing_docs, reason = "the attribute writes a public module")]

mod stream;

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group, main};
use whyloss::receiver::{Arrival, Classifier, REGISTRY};

fn setup(index: usize) -> (Classifier, Vec<(Arrival, u64)>) {
    let classifier = REGISTRY[index]
        .build(&[])
        .expect("the defaults are in range");
    (classifier, stream::stream(10_000))
}

#[library_benchmark]
#[benches::registry(iter = 0..REGISTRY.len(), setup = setup)]
fn receiver((mut classifier, arrivals): (Classifier, Vec<(Arrival, u64)>)) -> u64 {
    stream::feed(&mut classifier, black_box(&arrivals))
}

library_benchmark_group!(name = classifiers, benchmarks = receiver);
main!(library_benchmark_groups = classifiers);
