//! Properties of an IFTP sender, for any order of events.

mod operation;

use self::operation::{Raw, check, options};
use proptest::collection::vec;
use proptest::prelude::*;
use whyloss::iftp::Options;

fn operations() -> impl Strategy<Value = Vec<Raw>> {
    prop_oneof![
        vec(any::<Raw>(), 0..300),
        // Short times and small numbers give mostly realistic events.
        vec((0..5_u8, 0..100_u64, 0..20_000_000_u64), 0..300),
    ]
}

proptest! {
    #[test]
    fn any_order_of_events(operations in operations(), blocking in any::<bool>(), tau in 0..2_000_000_i64) {
        let raw = (tau, 32, 50, 3, blocking);
        let timer = (1_000_000_000, 1_000_000_000, 60_000_000_000);
        check(&options(raw, timer), 1024, &operations);
    }

    #[test]
    fn any_options(
        raw in any::<(i64, u32, u32, u32, bool)>(),
        timer in any::<(i64, i64, i64)>(),
        size in any::<u32>(),
        operations in operations(),
    ) {
        check(&options(raw, timer), size, &operations);
    }
}

#[test]
fn the_constants_of_section_5() {
    let options = Options::default();
    assert_eq!(
        (
            options.initial_ssthresh,
            options.max_window,
            options.duplicates
        ),
        (32, 50, 3)
    );
}
