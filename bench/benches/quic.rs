//! Nanoseconds per acknowledgement of a QUIC controller: two packets leave, and two are acknowledged together.
//!
//! `cargo bench -p whyloss-bench --bench quic`. Goal: at most 100 ns per acknowledgement above the stack's own controller;
//! what is measured is all that ours costs, the sending of both packets included, so it is met if that stays below. (The
//! stacks' own cannot be measured by themselves: their callbacks take a round-trip estimator that only a connection makes.)

use std::time::Instant;

use criterion::{Criterion, criterion_group, criterion_main};
use whyloss::scheme::{REGISTRY, Scheme};
use whyloss_quic::bench::Acknowledgements;

fn schemes() -> impl Iterator<Item = (&'static str, Scheme)> {
    REGISTRY
        .iter()
        .filter_map(|entry| Some((entry.id, entry.build(&[]).ok()?)))
}

#[expect(
    clippy::disallowed_methods,
    reason = "only the epoch: all else is virtual time"
)]
fn acknowledgements(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("quic");
    for (id, scheme) in schemes() {
        let mut connection = Acknowledgements::new(scheme, Instant::now());
        group.bench_function(id, |bencher| bencher.iter(|| connection.one()));
    }
    group.finish();
}

criterion_group!(benches, acknowledgements);
criterion_main!(benches);
