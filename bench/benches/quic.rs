//! Nanoseconds per acknowledgement of a QUIC controller: two packets leave, and two are
//! acknowledged together.
//!
//! `cargo bench -p whyloss-bench --bench quic`. Goal: at most 100 ns per acknowledgement above the
//! stack's own controller; what is measured is all that ours costs, the sending of both packets
//! included, so it is met if that stays below. (The stacks' own cannot be measured by themselves:
//! their callbacks take a round-trip estimator that only a connection makes.)
//!
//! The time is the thread's own on its processor, so that whatever else runs on the machine counts
//! for little.

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

/// The time that this thread has been running.
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
