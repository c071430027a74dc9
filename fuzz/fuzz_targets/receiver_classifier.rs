//! Any receiver classifier, with any parameters, through any order of events.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use whyloss::receiver::{Entry, REGISTRY};

#[path = "../../crates/whyloss/tests/receiver/operation.rs"]
mod operation;

#[derive(Arbitrary, Debug)]
struct Input {
    entry: usize,
    /// Which parameter, and where in its range.
    overrides: Vec<(usize, u16)>,
    /// Values that need not be in range: building may fail, but not panic.
    wild: Vec<(usize, f64)>,
    offset: (u64, u64),
    operations: Vec<operation::Raw>,
    stamps: Vec<(u64, u64, u64)>,
}

fn overrides<T: Copy>(
    entry: &'static Entry,
    chosen: &[(usize, T)],
    value: impl Fn(&whyloss::registry::Parameter, T) -> f64,
) -> Vec<(&'static str, f64)> {
    let parameters = entry.parameters;
    chosen
        .iter()
        .filter(|_| !parameters.is_empty())
        .map(|&(index, given)| {
            let parameter = &parameters[index % parameters.len()];
            (parameter.name, value(parameter, given))
        })
        .collect()
}

fuzz_target!(|input: Input| {
    let entry = &REGISTRY[input.entry % REGISTRY.len()];
    let _ = entry.build(&overrides(entry, &input.wild, |_, given| given));
    let in_range = overrides(entry, &input.overrides, |parameter, given| {
        let share = f64::from(given) / f64::from(u16::MAX);
        let value = parameter.min + share * (parameter.max - parameter.min);
        if parameter.whole {
            value.round()
        } else {
            value
        }
    });
    // What is in range may still not go together.
    if let Ok(classifier) = entry.build(&in_range) {
        operation::check(&classifier, &input.operations, input.offset);
        operation::check_extremes(&classifier, &input.stamps);
    }
});
