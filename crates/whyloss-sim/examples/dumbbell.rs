//! The speed benchmark: packets delivered per second of CPU time on `scenarios/dumbbell.toml`.
//!
//! ```text
//! cargo run --release -p whyloss-sim --example dumbbell [RUNS]
//! valgrind --tool=callgrind target/release/examples/dumbbell 1     # instructions, to be divided by the packets
//! ```

use std::process::ExitCode;

use nix::time::{ClockId, clock_gettime};
use whyloss_sim::Scenario;

const SCENARIO: &str = include_str!("../../../scenarios/dumbbell.toml");

fn main() -> ExitCode {
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<(), Box<dyn std::error::Error>> {
    let runs: u64 = std::env::args().nth(1).map_or(Ok(5), |runs| runs.parse())?;
    let scenario = Scenario::from_toml(SCENARIO, "scenarios/dumbbell.toml", &[])?;
    println!(
        "{:>4} {:>10} {:>10} {:>8} {:>14} {:>12}",
        "seed", "delivered", "events", "CPU s", "packets/CPU s", "events/packet"
    );
    for seed in 1..=runs {
        let before = cpu_seconds()?;
        let result = whyloss_sim::Simulation::new(&scenario, seed).run()?;
        let seconds = cpu_seconds()? - before;
        let delivered: u64 = result.flows.iter().map(|flow| flow.received).sum();
        let (rate, events) = (
            delivered as f64 / seconds,
            result.events as f64 / delivered as f64,
        );
        println!(
            "{seed:>4} {delivered:>10} {:>10} {seconds:>8.3} {rate:>14.0} {events:>12.2}",
            result.events
        );
    }
    Ok(())
}

fn cpu_seconds() -> nix::Result<f64> {
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?;
    Ok(time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9)
}
