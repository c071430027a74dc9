//! Nanoseconds per arrival of every receiver classifier, about one arrival in twenty revealing a gap, and per
//! acknowledgement of every sender classifier, about one in 200 revealing a loss.
//!
//! `cargo bench -p whyloss --bench classifiers`. Goal: below 10 ns.

mod stream;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use whyloss::{receiver, sender};

fn receivers(criterion: &mut Criterion) {
    let arrivals = stream::stream(10_000);
    let mut group = criterion.benchmark_group("receiver");
    group.throughput(Throughput::Elements(arrivals.len() as u64));
    for entry in receiver::REGISTRY {
        let fresh = entry.build(&[]).expect("the defaults are in range");
        group.bench_function(entry.id, |bencher| {
            bencher.iter(|| stream::feed(&mut fresh.clone(), &arrivals));
        });
    }
    group.finish();
}

fn senders(criterion: &mut Criterion) {
    let acks = stream::acks::stream(10_000);
    let mut group = criterion.benchmark_group("sender");
    group.throughput(Throughput::Elements(acks.len() as u64));
    for entry in sender::REGISTRY {
        let fresh = entry.build(&[]).expect("the defaults are in range");
        group.bench_function(entry.id, |bencher| {
            bencher.iter(|| stream::acks::feed(&mut fresh.clone(), &acks));
        });
    }
    group.finish();
}

criterion_group!(benches, receivers, senders);
criterion_main!(benches);
