//! Measures how many packets a second one core diagnoses, in a capture at the sender of few flows
//! that fill a link and lose now and then, and of many. Measures how many it fits, in a table.
//!
//! `cargo bench -p whyloss-bench --bench diagnose`. Goal: a million packets a second.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use whyloss_diagnose::{Options, diagnose};
use whyloss_sim::{NodeCapture, Scenario, Simulation};

/// A capture of so many flows, in memory, and its frames.
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
    let diagnosis = diagnose(Box::new(bytes), Options::default()).expect("a diagnosis");
    assert_eq!(diagnosis.flows.len(), flows);
    assert!(diagnosis.flows.iter().any(|flow| !flow.losses.is_empty()));
    (bytes, diagnosis.frames)
}

fn captures(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("diagnose");
    group.sample_size(10);
    for flows in [4, 100] {
        let (bytes, frames) = capture(flows);
        group.throughput(Throughput::Elements(frames));
        group.bench_function(format!("{flows} flows"), |bencher| {
            bencher.iter(|| diagnose(Box::new(bytes), Options::default()));
        });
    }
    group.finish();
}

criterion_group!(benches, captures);
criterion_main!(benches);
