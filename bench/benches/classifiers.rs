//! Measures the nanoseconds per arrival of every receiver classifier, and per acknowledgement of
//! every sender classifier. About one arrival in 20 reveals a gap, and one acknowledgement in 200 a
//! loss.
//!
//! Run `cargo bench -p whyloss-bench --bench classifiers`. The goal is less than 10 ns.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use whyloss::{receiver, sender};
use whyloss_bench::{acks, feed, stream};

fn receivers(criterion: &mut Criterion) {
    let arrivals = stream(10_000);
    let mut group = criterion.benchmark_group("receiver");
    group.throughput(Throughput::Elements(arrivals.len() as u64));
    for entry in receiver::REGISTRY {
        let fresh = entry.build(&[]).expect("the defaults are in range");
        group.bench_function(entry.id, |bencher| {
            bencher.iter(|| feed(&mut fresh.clone(), &arrivals));
        });
    }
    group.finish();
}

fn senders(criterion: &mut Criterion) {
    let acks = acks::stream(10_000);
    let mut group = criterion.benchmark_group("sender");
    group.throughput(Throughput::Elements(acks.len() as u64));
    for entry in sender::REGISTRY {
        let fresh = entry.build(&[]).expect("the defaults are in range");
        group.bench_function(entry.id, |bencher| {
            bencher.iter(|| acks::feed(&mut fresh.clone(), &acks));
        });
    }
    group.finish();
}

criterion_group!(benches, receivers, senders);
criterion_main!(benches);
