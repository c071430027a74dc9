//! Checks that pauses of the sender, and packets that are far apart, say nothing about the path.

#![expect(clippy::float_cmp, reason = "a target is halved, which is exact")]

use whyloss_rtc::{Ecn, Estimator, Fate, Report, Time};

const MS: u64 = 1_000_000;

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * MS)
}

/// A packet of 1,200 bytes that leaves at `ms` and takes `delay` ms.
fn packet(id: u64, ms: u64, delay: u64) -> Report {
    Report {
        id,
        departed: at(ms),
        size: 1_200,
        fate: Fate::Arrived(Some(at(ms + delay)), Ecn::NotEct),
    }
}

/// Reports packets `ids`, which leave every `gap` ms from `from` ms. Returns the last departure.
fn send(
    estimator: &mut Estimator,
    ids: std::ops::Range<u64>,
    (from, gap): (u64, u64),
    delay: impl Fn(u64) -> u64,
) -> u64 {
    let mut left = from;
    for (id, k) in ids.zip(0..) {
        left = from + gap * k;
        if let Some(due) = estimator.poll_timeout().filter(|due| *due < at(left + 60)) {
            estimator.timeout(due);
        }
        estimator.on_reports(at(left + 60), [packet(id, left, delay(id))]);
    }
    left
}

/// The receiver's clock is 12 ms later after ten minutes, which is a drift of 20 ppm.
#[test]
fn a_pause_costs_no_more_than_a_silence() {
    for open in 0..8 {
        let mut estimator = Estimator::new(1e6, 1e5, 1e7);
        let end = 400 + open;
        let left = send(&mut estimator, 0..end, (1_000, 10), |_| 20);
        let before = estimator.target();
        assert!(before >= 1.8e6, "{before}");
        send(&mut estimator, end..end + 40, (left + 600_000, 10), |_| 32);
        let target = estimator.target();
        assert!(target >= before / 2.0, "{open} open: {before} to {target}");
        assert!(estimator.stats().trip < 0.2, "{:?}", estimator.stats());
    }
}

/// Reports of packets before the pause follow those of packets after it.
#[test]
fn late_reports_do_not_reach_back_before_a_pause() {
    let mut estimator = Estimator::new(1e6, 1e5, 1e7);
    send(&mut estimator, 0..400, (1_000, 10), |_| 20);
    let mut reports: Vec<_> = (400..403).map(|id| packet(id, 5_000 + id, 20)).collect();
    reports.extend((403..409).map(|id| packet(id, 605_000 + id, 32)));
    reports.reverse();
    estimator.on_reports(at(605_500), reports.iter().copied());
    let before = estimator.target();
    send(&mut estimator, 409..440, (605_500, 10), |_| 32);
    let target = estimator.target();
    assert!(target >= before, "{before} to {target}");
    assert!(estimator.stats().trip < 1.0, "{:?}", estimator.stats());
}

#[test]
fn a_sparse_sender_is_silent_once() {
    for gap in [2_000, 20_000] {
        let mut estimator = Estimator::new(1e6, 1e5, 1e7);
        let left = send(&mut estimator, 0..400, (1_000, 10), |_| 20);
        let before = estimator.target();
        send(&mut estimator, 400..430, (left + gap, gap), |id| {
            20 + id * 7 % 16
        });
        assert_eq!(estimator.target(), before / 2.0, "{gap} ms");
    }
}

#[test]
fn the_jitter_of_a_slow_sender_is_no_queue() {
    let mut estimator = Estimator::new(1e6, 1e4, 1e7);
    send(&mut estimator, 0..400, (1_000, 700), |id| 20 + id * 7 % 16);
    assert!(estimator.target() >= 5e5, "{}", estimator.target());
}

#[test]
fn reports_that_come_late_do_not_postpone_the_timeout() {
    let mut estimator = Estimator::new(1e6, 1e5, 1e7);
    let reports = (0..20).map(|id| packet(id, 1_000 + 10 * id, 20));
    estimator.on_reports(at(601_000), reports);
    assert!(estimator.stats().trip > 599.0);
    assert_eq!(estimator.poll_timeout(), Some(at(611_000)));
}

/// At 2 kbit/s, packets leave every 4.8 s. These are not pauses.
#[test]
fn a_sender_at_a_very_low_target_recovers() {
    let mut estimator = Estimator::new(2e3, 1e3, 1e6);
    send(&mut estimator, 0..20, (1_000, 4_800), |_| 20);
    assert!(estimator.target() >= 3.9e3, "{}", estimator.target());
}
