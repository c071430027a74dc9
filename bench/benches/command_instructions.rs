//! Counts the instructions of the command `whyloss run` under callgrind: the first 20 s of the
//! dumbbell with each transport.
//!
//! Run `cargo build --release && cargo bench -p whyloss-bench --bench command_instructions`; it
//! needs valgrind and gungraun-runner. Limits are in instructions per delivered packet, including
//! the start of the process. The golden files fix the number of packets that seed 1 delivers.

#![allow(missing_docs, reason = "gungraun's macros write undocumented items")]

use gungraun::prelude::*;
use gungraun::{BinaryBenchmarkConfig, Callgrind, Command, EventKind};

/// The path of the command that `cargo build --release` built.
const WHYLOSS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/release/whyloss");
const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/dumbbell.toml");

/// Returns the limit on the instructions of a run, from instructions per packet and delivered
/// packets.
fn at_most(instructions: u64, packets: u64) -> BinaryBenchmarkConfig {
    let mut config = BinaryBenchmarkConfig::default();
    config.tool(Callgrind::default().hard_limits([(EventKind::Ir, instructions * packets)]));
    config
}

#[binary_benchmark]
#[bench::newreno(args = (""), config = at_most(1_090, 159_252))]
#[bench::sack(args = (r#"{ kind = "tcp" }"#), config = at_most(1_185, 162_873))]
#[bench::cubic(args = (r#"{ kind = "tcp", controller = "cubic" }"#), config = at_most(1_280, 164_324))]
#[bench::bbr(args = (r#"{ kind = "tcp", controller = "bbr" }"#), config = at_most(2_900, 161_926))]
#[bench::tfrc(args = (r#"{ kind = "tfrc" }"#), config = at_most(1_150, 160_065))]
#[bench::iftp(args = (r#"{ kind = "iftp" }"#), config = at_most(1_830, 157_923))]
fn run(transport: &str) -> Command {
    let mut command = Command::new(WHYLOSS);
    command.args(["run", SCENARIO, "--seed", "1", "--jobs", "1"]);
    command.args(["--format", "json", "--set", "duration=20 s"]);
    if !transport.is_empty() {
        let transport = format!("flow.bulk.transport={transport}");
        command.args(["--set", &transport]);
    }
    command.build()
}

binary_benchmark_group!(name = command, benchmarks = run);

main!(binary_benchmark_groups = command);
