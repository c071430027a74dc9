//! Measures the nanoseconds per acknowledgement of each QUIC controller. Each acknowledgement
//! covers two packets, which are sent first.
//!
//! Run `cargo bench -p whyloss-bench --bench quic`. The goal is at most 100 ns per acknowledgement
//! more than the stack's own controller. The stacks' controllers cannot be measured alone, because
//! their callbacks take a round-trip estimator that only a connection creates. The benchmark
//! therefore measures the whole cost of our controller, including the sending of both packets. The
//! goal is certainly met if this cost is below 100 ns.
//!
//! The clock counts the thread's processor time, which other programs hardly affect.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use nix::time::{ClockId, clock_gettime};
use whyloss::schemes::{REGISTRY, Scheme};
use whyloss_quic::bench::Acknowledgements;

fn schemes() -> impl Iterator<Item = (&'static str, Scheme)> {
    REGISTRY
        .iter()
        .filter_map(|entry| Some((entry.id, entry.build(&[]).ok()?)))
}

/// Returns the processor time of this thread.
fn running() -> Duration {
    let clock = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    clock.expect("every thread has this clock").into()
}

#[expect(
    clippy::disallowed_methods,
    reason = "only the epoch: all else is virtual time"
)]
fn acknowledgements(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("quic");
    for (id, scheme) in schemes() {
        let mut connection = Acknowledgements::new(scheme, Instant::now());
        group.bench_function(id, |bencher| {
            bencher.iter_custom(|rounds| {
                let start = running();
                for _ in 0..rounds {
                    black_box(connection.one());
                }
                running().saturating_sub(start)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, acknowledgements);
criterion_main!(benches);
