//! Measures the nanoseconds per call of the C interface and of Rust, in one run.
//!
//! Run `cargo bench -p whyloss-bench --bench c`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use whyloss_bench::through_c::{CALLS, ThroughC, ThroughRust, run};

const ROUNDS: u64 = 500;

fn calls(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("call");
    group.throughput(Throughput::Elements(ROUNDS * CALLS));
    for name in ["newreno", "whyloss", "bbr"] {
        group.bench_function(format!("{name}, Rust"), |bencher| {
            bencher.iter(|| run(&mut ThroughRust::new(black_box(name)), ROUNDS));
        });
        group.bench_function(format!("{name}, C"), |bencher| {
            bencher.iter(|| run(&mut ThroughC::new(black_box(name)), ROUNDS));
        });
    }
}

criterion_group!(benches, calls);
criterion_main!(benches);
