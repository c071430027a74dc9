//! Fuzzes every sender classifier with any parameters and events in any order.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use whyloss::sender::REGISTRY;
use whyloss::testing::{Raw, sender};

#[path = "../../crates/whyloss/tests/it/sender/parameters.rs"]
mod parameters;

#[derive(Arbitrary, Debug)]
struct Input {
    entry: usize,
    /// The index of each parameter, and its position within its range.
    overrides: Vec<(usize, u16)>,
    /// Values that may be out of range: the constructor may fail, but not panic.
    wild: Vec<(usize, f64)>,
    offset: (u64, u64),
    operations: Vec<Raw>,
    numbers: Vec<(u64, u64, u64)>,
}

fuzz_target!(|input: Input| {
    let entry = &REGISTRY[input.entry % REGISTRY.len()];
    let wild = parameters::overrides(entry.parameters, &input.wild, |_, given| given);
    let _ = entry.build(&wild);
    // Values in range may still contradict each other.
    if let Ok(classifier) = entry.build(&parameters::in_range(entry.parameters, &input.overrides)) {
        sender::check(&classifier, &input.operations, input.offset);
        sender::check_extremes(&classifier, &input.numbers);
    }
});
