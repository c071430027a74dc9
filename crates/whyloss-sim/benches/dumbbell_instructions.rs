//! Instructions of a whole run of `scenarios/dumbbell.toml`, cut to 10 s, counted by callgrind.
//!
//! The limit is the budget of 1,500 instructions per delivered packet; the run delivers at least 70,000 packets, which
//! `delivers_what_the_budget_assumes` in `src/run.rs` checks.

#![allow(missing_docs, reason = "gungraun's macros write undocumented items")]

use std::hint::black_box;

use gungraun::prelude::*;
use gungraun::{Callgrind, EventKind, LibraryBenchmarkConfig};
use whyloss::Time;
use whyloss_sim::{Measurement, Scenario};

const SCENARIO: &str = include_str!("../../../scenarios/dumbbell.toml");
const PACKETS: u64 = 70_000;
const BUDGET: u64 = 1_500;

fn scenario() -> Scenario {
    let mut scenario = Scenario::from_toml(SCENARIO, "scenarios/dumbbell.toml", &[])
        .expect("the scenario is valid");
    scenario.end = Time::from_nanos(10_000_000_000);
    scenario
}

#[library_benchmark]
#[bench::ten_seconds(setup = scenario)]
fn dumbbell(scenario: Scenario) -> Measurement {
    black_box(whyloss_sim::run(&scenario, 1, &mut ()).expect("the scenario is valid"))
}

library_benchmark_group!(name = engine, benchmarks = dumbbell);

main!(
    config = LibraryBenchmarkConfig::default()
        .tool(Callgrind::default().hard_limits([(EventKind::Ir, PACKETS * BUDGET)])),
    library_benchmark_groups = engine
);
