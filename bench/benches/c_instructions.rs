//! Counts the instructions of a connection's calls through C and through Rust. A run makes 64,000
//! calls.
//!
//! Run `cargo bench -p whyloss-bench --bench c_instructions`; it needs valgrind and
//! gungraun-runner. Divide the counts by 64,000.
#![allow(missing_docs, reason = "the attribute writes a public module")]

use std::hint::black_box;

use gungraun::{
    Callgrind, EventKind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main,
};
use whyloss_bench::through_c::{CALLS, ThroughC, ThroughRust, run};

const ROUNDS: u64 = 1000;
/// The limits per call: the instructions of NewReno through Rust, and the additional ones through
/// C. The additional ones take about 10 ns at four instructions per nanosecond.
const RUST: u64 = 312;
const MORE: u64 = 44;

fn at_most(instructions: u64) -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    let limit = ROUNDS * CALLS * instructions;
    config.tool(Callgrind::default().hard_limits([(EventKind::Ir, limit)]));
    config
}

#[library_benchmark]
#[bench::newreno(ThroughRust::new("newreno"))]
fn rust(mut end: ThroughRust) -> u64 {
    black_box(run(&mut end, ROUNDS))
}

#[library_benchmark]
#[bench::newreno(ThroughC::new("newreno"))]
fn c(mut end: ThroughC) -> u64 {
    black_box(run(&mut end, ROUNDS))
}

library_benchmark_group!(
    name = through_rust,
    config = at_most(RUST),
    benchmarks = [rust]
);
library_benchmark_group!(
    name = through_c,
    config = at_most(RUST + MORE),
    benchmarks = [c]
);
main!(library_benchmark_groups = [through_rust, through_c]);
