//! Checks that the target stays finite and within its bounds for reports in any order, repeated,
//! late, and with clocks that jump.

#![expect(clippy::float_cmp, reason = "a target is halved, which is exact")]

use proptest::prelude::*;
use whyloss_rtc::{Cause, Ecn, Estimator, Fate, Report, Time};

/// One step of a caller.
#[derive(Clone, Debug)]
enum Step {
    Reports(u64, Vec<Report>),
    Timeout(u64),
}

fn ecn() -> impl Strategy<Value = Ecn> {
    (0_u8..4).prop_map(Ecn::from_bits)
}

fn fate() -> impl Strategy<Value = Fate> {
    let cause = prop_oneof![
        Just(None),
        Just(Some(Cause::Congestion)),
        Just(Some(Cause::Wireless))
    ];
    let stamp = prop_oneof![any::<u64>(), 0_u64..20_000_000_000];
    prop_oneof![
        4 => (proptest::option::of(stamp), ecn())
            .prop_map(|(at, ecn)| Fate::Arrived(at.map(Time::from_nanos), ecn)),
        1 => cause.prop_map(Fate::Lost),
    ]
}

fn report() -> impl Strategy<Value = Report> {
    let id = prop_oneof![8 => 0_u64..500, 1 => any::<u64>()];
    let departed = prop_oneof![8 => 0_u64..20_000_000_000, 1 => any::<u64>()];
    (id, departed, any::<u32>(), fate()).prop_map(|(id, departed, size, fate)| Report {
        id,
        departed: Time::from_nanos(departed),
        size,
        fate,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let now = || prop_oneof![8 => 0_u64..20_000_000_000, 1 => any::<u64>()];
    prop_oneof![
        6 => (now(), proptest::collection::vec(report(), 0..60))
            .prop_map(|(now, reports)| Step::Reports(now, reports)),
        1 => now().prop_map(Step::Timeout),
    ]
}

proptest! {
    // A number far ahead clears the ring, which is slow without optimisation.
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn stays_within_bounds(
        initial in any::<f64>(),
        least in 0.0..1e6,
        wider in 0.0..1e8,
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        let mut estimator = Estimator::new(initial, least, least + wider);
        for step in steps {
            match step {
                Step::Reports(now, reports) => {
                    estimator.on_reports(Time::from_nanos(now), reports);
                }
                Step::Timeout(now) => estimator.timeout(Time::from_nanos(now)),
            }
            let target = estimator.target();
            prop_assert!((least..=least + wider).contains(&target), "{target}");
        }
    }
}

const MS: u64 = 1_000_000;

/// Packets of 1,200 bytes leave every 5 ms over an empty path, and one in `lost` is missing.
fn reports(round: u64, lost: u64, ahead: i64) -> Vec<Report> {
    let report = |id: u64| {
        let departed = Time::from_nanos((1_000 + 5 * id) * MS);
        let arrived = Time::from_nanos(((1_020 + 5 * id) * MS).saturating_add_signed(ahead));
        Report {
            id,
            departed,
            size: 1_200,
            fate: if id % lost == lost - 1 {
                Fate::Lost(None)
            } else {
                Fate::Arrived(Some(arrived), Ecn::NotEct)
            },
        }
    };
    (20 * round..20 * (round + 1)).map(report).collect()
}

fn now(round: u64) -> Time {
    Time::from_nanos((1_020 + 100 * (round + 1)) * MS)
}

fn targets(batch: impl Fn(u64) -> Vec<Vec<Report>>) -> Vec<f64> {
    let mut estimator = Estimator::new(2e6, 1e5, 1e7);
    let mut targets = Vec::new();
    for round in 0..50 {
        for reports in batch(round) {
            estimator.on_reports(now(round), reports);
        }
        targets.push(estimator.target());
    }
    targets
}

#[test]
fn a_clock_offset_changes_nothing() {
    let offset = 3_600_000 * MS as i64;
    let one = targets(|round| vec![reports(round, 7, 0)]);
    assert_eq!(one, targets(|round| vec![reports(round, 7, offset)]));
}

#[test]
fn doubled_feedback_changes_nothing() {
    let one = targets(|round| vec![reports(round, 7, 0)]);
    let doubled = targets(|round| {
        let twice = reports(round, 7, 0);
        vec![[twice.clone(), twice].concat()]
    });
    assert_eq!(one, doubled);
}

#[test]
fn lost_feedback_is_no_loss() {
    let all = targets(|round| vec![reports(round, 1_000_000, 0)]);
    let half = targets(|round| {
        if round % 2 == 0 {
            vec![reports(round, 1_000_000, 0)]
        } else {
            vec![]
        }
    });
    assert_eq!(all.last(), half.last());
}

#[test]
fn the_radio_does_not_lower_the_target() {
    // The target rises to twice the sent rate, 1.92 Mbit/s. A loss of one packet in five does not
    // lower it.
    let last = targets(|round| vec![reports(round, 5, 0)]).pop();
    assert!(last.is_some_and(|last| last > 1.9e6), "{last:?}");
}

#[test]
fn silence_halves_the_target_once() {
    let mut estimator = Estimator::new(2e6, 1e5, 1e7);
    assert_eq!(estimator.poll_timeout(), None);
    estimator.on_reports(now(0), reports(0, 1_000, 0));
    let before = estimator.target();
    let due = estimator.poll_timeout().expect("an arrival was reported");
    estimator.timeout(Time::from_nanos(due.as_nanos() - 1));
    assert_eq!(estimator.target(), before);
    estimator.timeout(due);
    assert_eq!(estimator.target(), before / 2.0);
    assert_eq!(estimator.poll_timeout(), None);
}

#[test]
fn a_jump_of_either_clock_costs_a_few_rounds() {
    let jumped = targets(|round| {
        let ahead = if round < 20 {
            0
        } else {
            86_400_000 * MS as i64
        };
        vec![reports(round, 1_000_000, ahead)]
    });
    assert!(jumped[49] >= jumped[19], "{jumped:?}");
}
