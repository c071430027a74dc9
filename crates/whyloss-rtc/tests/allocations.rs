//! Checks that reports allocate nothing once the estimator exists.

use whyloss_rtc::{Ecn, Estimator, Fate, Report, Time};

#[test]
fn no_allocation_per_report() {
    let mut estimator = Estimator::new(3e6, 1e5, 1e7);
    let report = |id: u64| Report {
        id,
        departed: Time::from_nanos(1_000_000_000 + id * 3_000_000),
        size: 1_200,
        fate: if id % 7 == 3 {
            Fate::Lost(None)
        } else {
            let arrived = 1_020_000_000 + id * 3_000_000 + id * 7_919 % 2_000_000;
            Fate::Arrived(Some(Time::from_nanos(arrived)), Ecn::NotEct)
        },
    };
    let counted = allocation_counter::measure(|| {
        for batch in 1..=200 {
            let now = Time::from_nanos(1_030_000_000 + batch * 150_000_000);
            estimator.on_reports(now, (50 * (batch - 1)..50 * batch).map(report));
            estimator.timeout(now);
        }
    });
    assert!(estimator.stats().trip > 0.1, "rounds ended");
    assert_eq!(counted.count_total, 0);
}
