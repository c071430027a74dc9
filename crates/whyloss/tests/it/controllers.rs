//! What holds for every controller of the registry under every policy, whatever the order of events.

use proptest::collection::vec;
use proptest::prelude::*;
use whyloss::congestion::{self, Start};
use whyloss::policy::{self, UnderPolicy};
use whyloss::testing::controller::{check, properties};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A segment stays open, and what is undone takes nothing away.
    #[test]
    fn any_order_of_events(
        operations in prop_oneof![
            vec(any::<(u8, u64, u64)>(), 0..200),
            vec((any::<u8>(), 0..100_000_000_u64, 0..10_000_u64), 0..200),
        ],
        segment_size in 0..65_536_u32,
        percent in any::<bool>(),
    ) {
        for controller in congestion::REGISTRY {
            for policy in policy::REGISTRY {
                let overrides = [("percent", if percent { 1.0 } else { 100.0 })];
                let known = !policy.parameters.is_empty();
                let kind = controller.build(&[]).unwrap();
                let policy = policy.build(if known { &overrides } else { &[] }).unwrap();
                let start = Start::new(segment_size);
                check(UnderPolicy::new(kind.build(&start), policy), segment_size, &operations);
            }
        }
    }
}

#[test]
fn the_drawn_sequences_too() {
    for entry in congestion::REGISTRY {
        let kind = entry.build(&[]).unwrap();
        properties(|start| kind.build(start));
    }
}
