//! Nanoseconds per arrival of every receiver classifier, about one arrival in twenty revealing a gap.
//!
//! `cargo bench -p whyloss --bench classifiers`. Goal: below 10 ns.

mod stream;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use whyloss::receiver::REGISTRY;

fn classifiers(criterion: &mut Criterion) {
    let arrivals = stream::stream(10_000);
    let mut group = criterion.benchmark_group("receiver");
    group.throughput(Throughput::Elements(arrivals.len() as u64));
    for entry in REGISTRY {
        let fresh = entry.build(&[]).expect("the defaults are in range");
        group.bench_function(entry.id, |bencher| {
            bencher.iter(|| stream::feed(&mut fresh.clone(), &arrivals));
        });
    }
    group.finish();
}

criterion_group!(benches, classifiers);
criterion_main!(benches);
