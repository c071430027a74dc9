//! Fuzzes an IFTP sender and receiver with any options and events in any order.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/whyloss/tests/it/iftp/operation.rs"]
mod operation;

#[derive(Arbitrary, Debug)]
struct Input {
    options: (i64, u32, u32, u32, bool),
    timer: (i64, i64, i64),
    packet_size: u32,
    operations: Vec<operation::Raw>,
}

fuzz_target!(|input: Input| {
    let options = operation::options(input.options, input.timer);
    operation::check(&options, input.packet_size, &input.operations);
});
