//! Measures the nanoseconds per acknowledgement of every controller of the registry, including its
//! estimator. About one acknowledgement in 20 is a duplicate. A controller that uses delivery rates
//! gets one before each acknowledgement that delivers data.
//!
//! Run `cargo bench -p whyloss-bench --bench controllers`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use whyloss::bandwidth::delivery_rate::{DeliveryRate, RateSample};
use whyloss::congestion::{Controller, Growth, REGISTRY, Start};
use whyloss::event::AckEvent;
use whyloss::{Duration, Time};

const SEGMENT: u64 = 1500;
/// The number of segments in flight.
const FLIGHT: u64 = 80;

/// Returns acknowledgements on a path of 10 Mbit/s and 100 ms with a rising and falling queueing
/// delay, each with its delivery rate.
fn acks(count: u64) -> Vec<(AckEvent, Option<RateSample>)> {
    let mut path = DeliveryRate::default();
    let mut under_way: Vec<_> = (0..FLIGHT)
        .map(|_| path.on_sent(Time::ZERO, SEGMENT as u32, false))
        .collect();
    (0..count)
        .map(|k| {
            let now = Time::from_nanos(100_000_000 + 1_200_000 * k + k % 7 * 90_000);
            let acked = if k % 20 == 19 { 0 } else { SEGMENT };
            let rtt = Duration::from_micros(100_000 + (k % 500) as i64 * 40);
            let ack = AckEvent::new(now, SEGMENT as u32)
                .acked(acked)
                .acknowledged(SEGMENT * k)
                .in_flight(FLIGHT * SEGMENT)
                .window(130_000)
                .rtt((acked > 0).then_some(rtt))
                .receiver_stamp(Some(now));
            let sample = (acked > 0).then(|| {
                let slot = (k % FLIGHT) as usize;
                path.on_acked(now, &mut under_way[slot]);
                let sample = path.sample(now);
                under_way[slot] = path.on_sent(now, SEGMENT as u32, false);
                sample
            });
            (ack, sample.flatten())
        })
        .collect()
}

fn controllers(criterion: &mut Criterion) {
    let acks = acks(10_000);
    let start = Start {
        segment_size: SEGMENT as u32,
        initial_window: 4500,
        initial_ssthresh: u64::MAX,
        growth: Growth::PerByte,
    };
    let mut group = criterion.benchmark_group("controller");
    group.throughput(Throughput::Elements(acks.len() as u64));
    for entry in REGISTRY {
        let kind = entry.build(&[]).expect("the defaults are in range");
        let fresh = kind.build(&start);
        let samples = fresh.wants_rate_samples();
        group.bench_function(entry.id, |bencher| {
            bencher.iter(|| {
                let mut controller = fresh.clone();
                for (ack, sample) in black_box(&acks) {
                    if let (true, Some(sample)) = (samples, sample) {
                        controller.on_rate_sample(sample);
                    }
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
