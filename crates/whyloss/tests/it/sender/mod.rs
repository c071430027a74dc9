//! Properties of every sender classifier of the registry, for any order of events.

mod parameters;

use proptest::collection::vec;
use proptest::prelude::*;
use whyloss::Cause::{self, Wireless};
use whyloss::Duration;
use whyloss::event::AckEvent;
use whyloss::sender::{Classifier, REGISTRY, find};
use whyloss::testing::Raw;
use whyloss::testing::sender::{Event, check, events, properties};

/// Draws any events, or only those of a real network.
fn operations() -> impl Strategy<Value = Vec<Raw>> {
    prop_oneof![
        vec(any::<Raw>(), 0..200),
        vec((0_u8..=12, any::<u64>(), any::<u64>()), 0..200),
        // Short delays, with losses close to each other.
        vec((0_u8..=12, 0_u64..10_000_000, 0_u64..4096), 0..200),
    ]
}

fn build(id: &str, overrides: &[(&str, f64)]) -> Classifier {
    find(id).unwrap().build(overrides).unwrap()
}

fn verdicts(classifier: Classifier, operations: &[Raw]) -> Vec<Option<Cause>> {
    told(classifier, events(operations))
}

fn told(mut classifier: Classifier, events: impl Iterator<Item = Event>) -> Vec<Option<Cause>> {
    events.map(|event| event.tell(&mut classifier)).collect()
}

const WIRELESS: Option<Cause> = Some(Wireless);

proptest! {
    /// For any legal parameters, nothing panics, a second run gives the same verdicts, and a
    /// constant clock offset changes none.
    #[test]
    fn clock_offsets_change_no_decision(
        operations in operations(),
        offset in any::<(u64, u64)>(),
        chosen in vec(any::<(usize, u16)>(), 0..4),
    ) {
        for entry in REGISTRY {
            check(&entry.build(&[]).unwrap(), &operations, offset);
            // Values in range may still violate a relation between parameters.
            if let Ok(classifier) = entry.build(&parameters::in_range(entry.parameters, &chosen)) {
                check(&classifier, &operations, offset);
            }
        }
    }

    /// The Vegas predictor equals its formula over all samples (MAR-1, MAR-2).
    #[test]
    fn vegas_is_its_formula(operations in operations(), alpha in 0_u8..=3, more in 0_u8..=3) {
        let (alpha, beta) = (i128::from(alpha), i128::from(alpha + more));
        let overrides = [("alpha", alpha as f64), ("beta", beta as f64)];
        let mut samples = Vec::new();
        let mut congested = true;
        let expected: Vec<_> = events(&operations).map(|event| match event {
            Event::Ack(AckEvent { rtt: Some(rtt), window, segment_size, .. }) if rtt > Duration::ZERO => {
                samples.push(i128::from(rtt.as_nanos()));
                let min = samples.iter().copied().fold(i128::from(rtt.as_nanos()), i128::min);
                let waiting = i128::from(window) * (i128::from(rtt.as_nanos()) - min);
                let segment = i128::from(segment_size) * i128::from(rtt.as_nanos());
                if waiting >= beta * segment {
                    congested = true;
                } else if waiting <= alpha * segment {
                    congested = false;
                }
                None
            }
            Event::Ack(_) => None,
            Event::Loss(_) => Some(Cause::congestion_if(congested)),
        }).collect();
        prop_assert_eq!(verdicts(build("vegas", &overrides), &operations), expected);
    }

    /// The units of sizes and times do not matter, because verdicts depend on segments and on
    /// ratios of times.
    #[test]
    fn units_are_no_matter(
        operations in vec((0_u8..=12, any::<u64>(), any::<u64>()), 0..200),
        bytes in 1_u32..1000,
        ticks in 0_u32..10,
    ) {
        let ns = |time: Duration| Duration::from_nanos(time.as_nanos() << ticks);
        let size = |bytes_: u64| bytes_ * u64::from(bytes);
        let scaled = || events(&operations).map(|event| match event {
            Event::Ack(mut ack) => {
                ack.acknowledged = size(ack.acknowledged);
                ack.in_flight = size(ack.in_flight);
                ack.window = size(ack.window);
                ack.segment_size *= bytes;
                ack.rtt = ack.rtt.map(ns);
                Event::Ack(ack)
            }
            Event::Loss(mut loss) => {
                loss.first = size(loss.first);
                loss.in_flight = size(loss.in_flight);
                loss.window = size(loss.window);
                loss.segment_size *= bytes;
                Event::Loss(loss)
            }
        });
        for (id, rtt) in [("vegas", 0.0), ("vegas", 2.0), ("veno", 2.0), ("veno-enhanced", 0.0)] {
            let classifier = || build(id, &[("rtt", rtt)]);
            prop_assert_eq!(told(classifier(), scaled()), verdicts(classifier(), &operations));
        }
        prop_assert_eq!(told(build("ndg", &[]), scaled()), verdicts(build("ndg", &[]), &operations));
    }

    /// The first round-trip time is the smallest, so nothing waits, and earlier assumptions are
    /// forgotten.
    #[test]
    fn the_first_sample_ends_what_was_assumed(operations in operations()) {
        let first = (0, 0, 0);
        let operations: Vec<_> = [first].into_iter().chain(operations).collect();
        prop_assert_eq!(
            verdicts(build("vegas", &[("timeouts", 0.0)]), &operations),
            verdicts(build("ldea", &[]), &operations)
        );
    }

    /// A higher threshold calls more losses wireless, never fewer.
    #[test]
    fn thresholds_order_verdicts(operations in operations(), low in 0.0_f64..5.0, more in 0.0_f64..5.0) {
        let high = low + more;
        for (narrow, wide) in [
            (build("veno", &[("beta", low)]), build("veno", &[("beta", high)])),
            (
                build("vegas", &[("alpha", low), ("beta", low)]),
                build("vegas", &[("alpha", high), ("beta", high)]),
            ),
            (build("ndg", &[("threshold", low)]), build("ndg", &[("threshold", high)])),
            (build("ntg", &[("threshold", high)]), build("ntg", &[("threshold", low)])),
        ] {
            for (narrow, wide) in verdicts(narrow, &operations).into_iter().zip(verdicts(wide, &operations)) {
                prop_assert!(narrow != WIRELESS || wide == narrow);
            }
        }
    }

    /// Enhanced Veno calls no loss wireless that Veno calls congestion.
    #[test]
    fn enhanced_veno_refines_veno(operations in operations()) {
        let enhanced = |congestive| {
            let overrides = [("congestive", congestive), ("timeouts", 1.0)];
            verdicts(build("veno-enhanced", &overrides), &operations)
        };
        let veno = verdicts(build("veno", &[("rtt", 1.0)]), &operations);
        for (enhanced, veno) in enhanced(1.0).into_iter().zip(&veno) {
            prop_assert!(enhanced != WIRELESS || *veno == WIRELESS);
        }
        prop_assert_eq!(enhanced(0.0), veno);
    }

    /// With a threshold or guard of zero, every loss is congestion.
    #[test]
    fn nothing_is_wireless_at_the_limit(operations in operations()) {
        for classifier in [
            build("veno", &[("beta", 0.0)]),
            build("vegas", &[("alpha", 0.0), ("beta", 0.0)]),
            build("fqrtt", &[("guard_ms", 0.0)]),
        ] {
            prop_assert!(verdicts(classifier, &operations).into_iter().all(|verdict| verdict != WIRELESS));
        }
    }
}

#[test]
fn the_drawn_sequences_too() {
    for entry in REGISTRY {
        properties(&entry.build(&[]).unwrap());
    }
    for (id, rtt) in [("vegas", 1.0), ("vegas", 2.0), ("veno", 0.0), ("veno", 1.0)] {
        properties(&build(id, &[("rtt", rtt)]));
    }
}
