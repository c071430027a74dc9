//! Counts the instructions of a whole run of `scenarios/dumbbell.toml` under callgrind.
//!
//! The limit is 920 instructions per delivered packet. The run delivers at least 808,000 packets,
//! which `delivers_what_the_budget_assumes` in `src/engine/tests/mod.rs` checks.

#![allow(missing_docs, reason = "gungraun's macros write undocumented items")]

use std::hint::black_box;

use gungraun::prelude::*;
use gungraun::{Callgrind, EventKind, LibraryBenchmarkConfig};
use whyloss_sim::{Measurement, Scenario};

const SCENARIO: &str = include_str!("../../scenarios/dumbbell.toml");
const PACKETS: u64 = 808_000;
const BUDGET: u64 = 920;

fn scenario() -> Scenario {
    Scenario::from_toml(SCENARIO, "scenarios/dumbbell.toml", &[]).expect("the scenario is valid")
}

#[library_benchmark]
#[bench::whole(setup = scenario)]
fn dumbbell(scenario: Scenario) -> Measurement {
    black_box(
        whyloss_sim::Simulation::new(&scenario, 1)
            .run()
            .expect("the scenario is valid"),
    )
}

library_benchmark_group!(name = engine, benchmarks = dumbbell);

main!(
    config = LibraryBenchmarkConfig::default()
        .tool(Callgrind::default().hard_limits([(EventKind::Ir, PACKETS * BUDGET)])),
    library_benchmark_groups = engine
);
