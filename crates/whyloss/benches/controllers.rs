//! Nanoseconds per acknowledgement of the controllers, their estimators included, about one in twenty a duplicate.
//!
//! `cargo bench -p whyloss --bench controllers`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use whyloss::congestion::{Controller, ControllerKind, Growth, Start};
use whyloss::event::AckEvent;
use whyloss::{Duration, Time};

/// Acknowledgements of a path of 10 Mbit/s and 100 ms, whose queueing delay goes up and down.
fn acks(count: u64) -> Vec<AckEvent> {
    (0..count)
        .map(|k| {
            let now = Time::from_nanos(1_200_000 * k + k % 7 * 90_000);
            let acked = if k % 20 == 19 { 0 } else { 1500 };
            AckEvent {
                now,
                acked,
                sacked: 0,
                acknowledged: 1500 * k,
                in_flight: 120_000,
                window: 130_000,
                segment_size: 1500,
                rtt: (acked > 0).then_some(Duration::from_micros(100_000 + (k % 500) as i64 * 40)),
                receiver_stamp: Some(now),
                app_limited: false,
                in_recovery: false,
            }
        })
        .collect()
}

fn controllers(criterion: &mut Criterion) {
    let acks = acks(10_000);
    let start = Start {
        segment_size: 1500,
        initial_window: 4500,
        initial_ssthresh: u64::MAX,
        growth: Growth::PerByte,
    };
    let mut group = criterion.benchmark_group("controller");
    group.throughput(Throughput::Elements(acks.len() as u64));
    for (name, kind) in [
        ("reno", ControllerKind::default()),
        ("westwood", ControllerKind::westwood()),
        ("westwood_filter", ControllerKind::westwood_filter()),
        ("westwood_plus", ControllerKind::westwood_plus()),
        ("westwood_linux", ControllerKind::westwood_linux()),
        ("westwood_nr", ControllerKind::westwood_nr()),
        ("tibet", ControllerKind::tibet()),
        ("balde", ControllerKind::balde()),
    ] {
        let fresh = kind.build(&start);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut controller = fresh.clone();
                for ack in black_box(&acks) {
                    controller.on_ack(ack);
                }
                controller.window()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, controllers);
criterion_main!(benches);
