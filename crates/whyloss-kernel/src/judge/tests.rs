use super::*;
use crate::control::CONTROLS;
use crate::event::{Cut, Recovery};

const MSS: u32 = 1_448;

/// Builds an event of socket 1 with a window of 15 segments.
fn event(kind: Kind, serial: u32) -> Event {
    Event {
        id: 1,
        now_us: 1_000_000 + 10_000 * u64::from(serial),
        estimate: 0,
        serial,
        kind,
        cause: Cause::Congestion,
        state: Recovery::Open,
        una: 1 + MSS * serial,
        nxt: 1 + MSS * (serial + 15),
        acked: MSS,
        rtt_us: None,
        min_rtt_us: None,
        used_rtt_us: 0,
        cwnd: 15,
        ssthresh: 7,
        packets_out: 15,
        sacked_out: 3,
        lost_out: 1,
        mss: MSS,
        stamp: 0,
        congested: true,
        fresh: true,
        late: false,
        odds: None,
        digest: 0,
        cut: Cut::default(),
    }
}

fn ack(serial: u32, rtt_us: u32, congested: bool) -> Event {
    Event {
        rtt_us: Some(rtt_us),
        used_rtt_us: rtt_us,
        congested,
        ..event(Kind::Ack, serial)
    }
}

fn judge(algorithm: Algorithm) -> Judge {
    let mut judge = Judge::new(algorithm);
    judge.hear(&event(Kind::Socket, 0));
    judge
}

#[test]
fn a_program_that_decides_otherwise_is_found() {
    let mut judge = judge(Algorithm::NewRenoLp);
    // With RTT_min = 80 ms, none of 15 segments waits, then 3 do, then 1.5.
    for (serial, rtt, congested) in [(1, 80_000, false), (2, 100_000, true), (3, 88_889, true)] {
        judge.hear(&ack(serial, rtt, congested));
    }
    let asked = Kind::Asked(Detection::Duplicates);
    assert_eq!(judge.hear(&event(asked, 4)), Some(Cause::Congestion));
    assert!(judge.tally().agrees());
    let wrong = Event {
        cause: Cause::Wireless,
        ..event(asked, 5)
    };
    assert_eq!(judge.hear(&wrong), Some(Cause::Congestion));
    judge.hear(&ack(6, 80_000, true));
    let tally = judge.tally();
    assert_eq!((tally.acks, tally.losses), (4, 2));
    assert_eq!((tally.verdicts_differ, tally.states_differ), (1, 1));
    assert!(!tally.agrees());
}

#[test]
fn a_mark_is_congestion_and_no_loss() {
    let mut judge = judge(Algorithm::NewRenoLp);
    judge.hear(&ack(1, 80_000, false));
    let mark = event(Kind::Asked(Detection::Mark), 2);
    assert_eq!(judge.hear(&mark), Some(Cause::Congestion));
    assert_eq!(judge.tally().losses, 0);
    let wrong = Event {
        cause: Cause::Wireless,
        serial: 3,
        ..mark
    };
    judge.hear(&wrong);
    assert_eq!(judge.tally().verdicts_differ, 1);
}

#[test]
fn a_program_that_sees_other_signals_is_found() {
    let mut judge = judge(Algorithm::Whyloss);
    let mut signals = Signals::new();
    let mut acknowledged = 0;
    // Builds the event of a correct program.
    let mut honest = |serial: u32| {
        let mut event = ack(serial, 80_000 + 100 * serial, true);
        signals.on_ack(&super::ack(&event, &mut acknowledged));
        let loss = loss(&event, Found::Duplicates, acknowledged);
        if let Some(seen) = signals.clone().on_loss(&loss) {
            event.odds = Some(trees::log_odds(&seen));
            event.digest = digest(&seen);
        }
        event
    };
    for serial in 1..=8 {
        let event = honest(serial);
        // The warm-up takes eight acknowledgements.
        assert_eq!(event.odds.is_some(), serial == 8);
        judge.hear(&event);
    }
    assert!(judge.tally().agrees());
    let event = honest(9);
    judge.hear(&Event {
        digest: event.digest ^ 1,
        ..event
    });
    assert_eq!(judge.tally().states_differ, 1);
    let event = honest(10);
    judge.hear(&Event {
        odds: event.odds.map(|odds| odds + 1),
        ..event
    });
    assert_eq!(judge.tally().states_differ, 2);
    judge.hear(&Event {
        odds: None,
        ..honest(11)
    });
    assert_eq!(judge.tally().states_differ, 3);
    judge.hear(&honest(12));
    assert_eq!(judge.tally().states_differ, 3);
}

#[test]
fn a_program_that_cuts_otherwise_is_found() {
    let answers = [
        (0, Cause::Wireless),
        (1, Cause::Congestion),
        (1_000, Cause::Congestion),
    ];
    let differing = answers.map(|(thousandths, cause)| {
        let mut judge = judge(Algorithm::Whyloss);
        for serial in 1..=20 {
            judge.hear(&ack(serial, 80_000, true));
        }
        judge.hear(&Event {
            cut: Cut {
                thousandths,
                first: true,
            },
            cause,
            ..event(Kind::Asked(Detection::Duplicates), 21)
        });
        judge.tally().verdicts_differ
    });
    // Before the first cut, a loss causes no reduction or the full one.
    assert!(matches!(differing, [0, 1, 1] | [1, 1, 0]), "{differing:?}");
}

#[test]
fn nothing_is_compared_after_a_gap_or_from_the_middle() {
    let mut judge = judge(Algorithm::NewRenoLp);
    judge.hear(&ack(1, 80_000, false));
    judge.hear(&ack(3, 80_000, true));
    judge.hear(&ack(4, 80_000, true));
    assert_eq!((judge.tally().compared, judge.tally().broken), (1, 1));
    assert!(judge.tally().agrees());
    judge.hear(&Event {
        fresh: false,
        id: 2,
        ..event(Kind::Socket, 0)
    });
    judge.hear(&Event {
        id: 2,
        ..ack(1, 80_000, true)
    });
    assert_eq!((judge.tally().compared, judge.tally().met_late), (1, 1));
}

#[test]
fn an_estimate_beyond_rounding_is_found() {
    // 1448 bytes per 10 ms are 144 800 bytes/s. After the first sample, the estimate is
    // 2·10⁴·b/2.01·10⁶, because b_(k−1) is zero.
    let first = 144_800.0_f64 * 1e4 / 2.01e6;
    let units = (first * 16.0).round() as u64;
    for (estimate, differ) in [(units, 0), (units + 1, 0), (units + 4, 1)] {
        let mut judge = judge(Algorithm::WestwoodLp);
        judge.hear(&ack(1, 80_000, false));
        judge.hear(&Event {
            estimate,
            ..ack(2, 80_000, false)
        });
        let tally = judge.tally();
        assert_eq!(
            (tally.estimates, tally.estimates_differ),
            (2, differ),
            "{estimate}"
        );
    }
}

#[test]
fn the_bound_stays_where_it_was_derived() {
    // With evenly spaced acknowledgements, 1000 a second, the bound tends to (n + 1)/32.
    let mut bound = Bound::of(Algorithm::Westwood, MSS);
    for k in 0..20_000 {
        bound.on_ack(&AckEvent::new(time(1_000 * k), MSS).acked(1_448), 0.0);
    }
    let error = bound.bytes_per_second(0.0) - 1.0 / 16.0;
    assert!((error - 1_001.0 / 32.0).abs() < 0.1, "{error}");
}

#[test]
fn every_algorithm_has_a_core_to_be_held_to() {
    for control in CONTROLS {
        let judge = judge(control.algorithm);
        assert_eq!(judge.tally().sockets, 1);
        let has_bound = Bound::of(control.algorithm, MSS) != Bound::None;
        assert_eq!(
            control.algorithm.estimator().is_some(),
            has_bound,
            "{}",
            control.id
        );
    }
}
