//! Fuzzes every controller under every policy with events in any order and segments of any size.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use whyloss::congestion::{self, Start};
use whyloss::policy::{self, UnderPolicy};
use whyloss::testing::{Raw, controller};

#[path = "../../crates/whyloss/tests/it/sender/parameters.rs"]
mod parameters;

#[derive(Arbitrary, Debug)]
struct Input {
    controller: usize,
    policy: usize,
    /// The position of the policy's parameter within its range.
    overrides: Vec<(usize, u16)>,
    segment_size: u32,
    initial_window: u64,
    initial_ssthresh: u64,
    operations: Vec<Raw>,
}

fuzz_target!(|input: Input| {
    let entry = &congestion::REGISTRY[input.controller % congestion::REGISTRY.len()];
    let kind = entry.build(&[]).expect("the defaults are in range");
    let entry = &policy::REGISTRY[input.policy % policy::REGISTRY.len()];
    let overrides = parameters::in_range(entry.parameters, &input.overrides);
    let policy = entry.build(&overrides).expect("in range");
    let start = Start {
        initial_window: input.initial_window,
        initial_ssthresh: input.initial_ssthresh,
        ..Start::new(input.segment_size)
    };
    let governed = UnderPolicy::new(kind.build(&start), policy);
    controller::check(governed, input.segment_size, &input.operations);
});
