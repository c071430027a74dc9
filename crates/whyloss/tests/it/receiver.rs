//! Properties of every receiver classifier of the registry, for any order of events.

use proptest::collection::vec;
use proptest::prelude::*;
use whyloss::Cause::{self, Wireless};
use whyloss::receiver::{Classifier, REGISTRY, ReceiverClassifier, find};
use whyloss::testing::Raw;
use whyloss::testing::receiver::{arrivals, check, properties};

/// Draws any events, or only those of a real network. Its delays are a few ns or a few hundredths
/// of the inter-arrival time (ZBS3's bound). Decisions are then near their bounds, and a clock
/// offset that does not cancel exactly changes them.
fn operations() -> impl Strategy<Value = Vec<Raw>> {
    prop_oneof![
        vec(any::<Raw>(), 0..200),
        vec((0_u8..=10, any::<u64>(), 0_u64..3), 0..200),
        vec(
            (prop_oneof![Just(0_u8), Just(10)], 400_u64..1000, 0_u64..60),
            0..200
        ),
    ]
}

fn build(id: &str, overrides: &[(&str, f64)]) -> Classifier {
    find(id).unwrap().build(overrides).unwrap()
}

fn verdicts(mut classifier: Classifier, operations: &[Raw]) -> Vec<Option<Cause>> {
    arrivals(operations)
        .map(|(arrival, missing)| classifier.on_arrival(&arrival, missing))
        .collect()
}

proptest! {
    /// Every gap gets exactly one verdict, and a constant clock offset never changes it. Nothing
    /// panics.
    #[test]
    fn clock_offsets_change_no_decision(
        operations in operations(),
        offset in any::<(u64, u64)>(),
        update_first in any::<bool>(),
    ) {
        for entry in REGISTRY {
            let flag = [("update_first", f64::from(u8::from(update_first)))];
            let known = entry.parameters.iter().any(|p| p.name == flag[0].0);
            let classifier = entry.build(if known { &flag } else { &[] }).unwrap();
            check(&classifier, &operations, offset);
        }
    }

    /// mBiaz with the upper bound of Biaz is Biaz (CEN-4).
    #[test]
    fn mbiaz_at_two_is_biaz(operations in operations()) {
        prop_assert_eq!(
            verdicts(build("mbiaz", &[("upper", 2.0)]), &operations),
            verdicts(build("biaz", &[]), &operations)
        );
    }

    /// Biaz calls every loss wireless that mBiaz calls wireless, because the on-time range grows
    /// with c.
    #[test]
    fn biaz_is_the_more_patient(operations in operations()) {
        let (narrow, wide) = (build("mbiaz", &[]), build("biaz", &[]));
        for (narrow, wide) in verdicts(narrow, &operations).into_iter().zip(verdicts(wide, &operations)) {
            prop_assert!(narrow != Some(Wireless) || wide == narrow);
        }
    }

    /// In Biaz, the order of update and decision does not matter, because a new minimum is too
    /// early in both orders.
    #[test]
    fn biaz_has_no_order(operations in operations()) {
        prop_assert_eq!(
            verdicts(build("biaz", &[("update_first", 0.0)]), &operations),
            verdicts(build("biaz", &[]), &operations)
        );
    }

    /// CEN-5: Spike with α ≥ 1 always answers wireless. With α < 0, it always answers congestion
    /// once rott varies.
    #[test]
    fn spike_at_its_limits(operations in operations(), beyond in 0.001_f64..1.0) {
        for verdict in verdicts(build("spike", &[("alpha", 1.0 + beyond)]), &operations) {
            prop_assert!(verdict.is_none() || verdict == Some(Wireless));
        }
        let mut spike = build("spike", &[("alpha", -beyond), ("beta", -beyond)]);
        let mut first = None;
        let mut varied = false;
        for (arrival, missing) in arrivals(&operations) {
            let rott = arrival.rott();
            varied |= rott != *first.get_or_insert(rott);
            let cause = Cause::congestion_if(varied);
            prop_assert_eq!(
                spike.on_arrival(&arrival, missing),
                (missing > 0).then_some(cause)
            );
        }
    }
}

#[test]
fn the_drawn_sequences_too() {
    for entry in REGISTRY {
        properties(&entry.build(&[]).unwrap());
    }
}
