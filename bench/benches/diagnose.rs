//! Measures how many packets per second one core diagnoses and fits. The inputs are sender captures
//! with few and with many flows that fill a link with rare losses, and a table. Counts processor
//! time, which other programs on the machine hardly affect.
//!
//! Run `cargo bench -p whyloss-bench --bench diagnose`.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Duration;

use criterion::{Bencher, Criterion, Throughput, criterion_group, criterion_main};
use nix::time::{ClockId, clock_gettime};
use whyloss_diagnose::fit::{self, Fit, sources};
use whyloss_diagnose::{Diagnosis, Options, diagnose};
use whyloss_sim::recording;
use whyloss_sim::{NodeCapture, Scenario, Simulation};

/// Returns a capture with this number of flows, and its number of frames.
fn capture(flows: usize) -> (&'static [u8], u64) {
    let flow = |number: usize| {
        format!(
            "[[flow]]\nname = \"{number}\"\nfrom = \"s\"\nto = \"d\"\ntransport = {{ kind = \"tcp\", controller = \"cubic\" }}\n"
        )
    };
    let text = format!(
        "duration = \"12 s\"\n[[link]]\nname = \"link\"\nfrom = \"s\"\nto = \"d\"\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\n\
         queue = {{ packets = 200 }}\nchannel = {{ kind = \"bernoulli\", loss = 0.0005 }}\n{}",
        (0..flows).map(flow).collect::<String>()
    );
    let scenario = Scenario::from_toml(&text, "bench", &[]).expect("a scenario");
    let path = std::env::temp_dir().join(format!("whyloss-bench-{}-{flows}", std::process::id()));
    let mut capture = NodeCapture::new(&scenario, 0, &path);
    Simulation::new(&scenario, 1)
        .watch(&mut capture)
        .run()
        .expect("a run");
    capture.finish().expect("a capture");
    let bytes: &'static [u8] = Box::leak(std::fs::read(&path).expect("a capture").into());
    std::fs::remove_file(&path).expect("a capture");
    let diagnosis = read(bytes);
    assert_eq!(diagnosis.flows.len(), flows);
    assert!(diagnosis.flows.iter().any(|flow| !flow.losses.is_empty()));
    (bytes, diagnosis.frames)
}

fn read(bytes: &'static [u8]) -> Diagnosis {
    diagnose(Box::new(bytes), Options::default()).expect("a diagnosis")
}

/// Fits the losses that a capture's diagnosis attributes to the link.
fn fit_capture(bytes: &'static [u8]) -> Fit {
    fit::fit(&sources::diagnosed(&read(bytes))).expect("a fit")
}

/// Measures the processor time of `run`.
fn measure<T>(bencher: &mut Bencher<'_>, run: impl Fn() -> T) {
    let spent = || {
        let clock = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID);
        Duration::from(clock.expect("a clock of this process"))
    };
    bencher.iter_custom(|times| {
        let before = spent();
        for _ in 0..times {
            black_box(run());
        }
        spent().saturating_sub(before)
    });
}

/// A function that reads a capture.
type Run = fn(&'static [u8]);

fn captures(criterion: &mut Criterion) {
    let captures = [4, 100].map(|flows| (flows, capture(flows)));
    let runs: [(&str, Run); 2] = [
        ("diagnose", |bytes| drop(read(bytes))),
        ("fit", |bytes| drop(fit_capture(bytes))),
    ];
    for (name, run) in runs {
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10);
        for (flows, (bytes, frames)) in captures {
            group.throughput(Throughput::Elements(frames));
            group.bench_function(format!("{flows} flows"), |bencher| {
                measure(bencher, || run(bytes));
            });
        }
        group.finish();
    }
}

/// Returns a table with a trial per row, in which one packet in ten is lost.
fn tables(criterion: &mut Criterion) {
    const PACKETS: usize = 8_000_000;
    let mut group = criterion.benchmark_group("fit");
    group.sample_size(10);
    for trials in [4, 100] {
        let length = PACKETS / trials;
        let mut text = String::from("lost\n");
        for trial in 0..trials {
            let mut state = trial as u64;
            let mut digit = || {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                if (state >> 33).is_multiple_of(10) {
                    '1'
                } else {
                    '0'
                }
            };
            let row: String = (0..length).map(|_| digit()).collect();
            let _ = writeln!(text, "{row}");
        }
        let name = format!("whyloss-bench-{}-{trials}.csv", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).expect("a table");
        group.throughput(Throughput::Elements(PACKETS as u64));
        group.bench_function(format!("{trials} trials"), |bencher| {
            measure(bencher, || {
                let recording = recording::read(&path, None).expect("a recording");
                fit::fit(&recording).expect("a fit")
            });
        });
        std::fs::remove_file(&path).expect("a table");
    }
    group.finish();
}

criterion_group!(benches, captures, tables);
criterion_main!(benches);
