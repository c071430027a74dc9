//! NewReno's fast recovery (RFC 6582).

use whyloss_sim::host::tcp::{Options, Recovery};

use crate::script::{Script, ms, options};

fn newreno() -> Options {
    options(Recovery::NewReno)
}

/// Returns a script of ten segments, the first of which is found lost at 102.
fn recovering() -> Script {
    let mut script = Script::after_ten(&newreno());
    assert_eq!(script.ack(100, 0), []);
    assert_eq!(script.ack(101, 0), []);
    assert_eq!(script.ack(102, 0), [0]);
    script
}

#[test]
fn rfc6582_3_2_step_2_begins_once_per_window_of_data() {
    let mut script = recovering();
    // recover = 9. The sixth duplicate makes 5 + 6 = 11.
    for at in 103..105 {
        assert_eq!(script.ack(at, 0), []);
    }
    assert_eq!(script.ack(105, 0), [10]);
    // A full acknowledgement that covers 9 and no more. One segment is in flight: two from 10.
    assert_eq!(script.ack(202, 10), [11]);
    assert!(!script.sender.in_recovery());
    // Duplicates of 10 do not acknowledge more than `recover`, so they may be due to earlier
    // segments.
    for at in 203..207 {
        assert_eq!(script.ack(at, 10), []);
    }
    assert_eq!(script.sender.fast_recoveries(), 1);
    // Once 10 is acknowledged, they count. Slow start to ssthresh, 5: three from 11; FlightSize 3
    // makes 2 + 3 from 11.
    assert_eq!(script.ack(300, 11), [12, 13]);
    assert_eq!(script.ack(400, 11), []);
    assert_eq!(script.ack(401, 11), []);
    assert_eq!(script.ack(402, 11), [11, 14, 15]);
    assert_eq!(script.windows(), (2000, 2000));
}

#[test]
fn rfc6582_3_2_step_3_a_full_acknowledgement_does_not_burst() {
    // The receiver's window keeps anything new from leaving, so that nothing is in flight at the
    // end: min(ssthresh, max(FlightSize, SMSS) + SMSS) = min(5, 1 + 1).
    let mut script = Script::new(&Options {
        receive_window: 10,
        ..newreno()
    });
    assert_eq!(script.leave(0).len(), 10);
    for at in 100..102 {
        assert_eq!(script.ack(at, 0), []);
    }
    assert_eq!(script.ack(102, 0), [0]);
    for at in 103..109 {
        assert_eq!(script.ack(at, 0), []);
    }
    assert_eq!(script.ack(202, 10), [10, 11]);
    assert_eq!(script.windows(), (2000, 5000));
}

#[test]
fn rfc6582_3_2_step_3_deflates_by_what_a_partial_acknowledgement_acknowledges() {
    let mut script = recovering();
    for at in 103..105 {
        assert_eq!(script.ack(at, 0), []);
    }
    for (at, new) in [(105, 10), (106, 11), (107, 12), (108, 13)] {
        assert_eq!(script.ack(at, 0), [new]);
    }
    // 5 + 9 segments from 0. Five acknowledged: 14 − 5 + 1 = 10 from 5. 5 again, and 14.
    assert_eq!(script.ack(202, 5), [5, 14]);
    // One acknowledged: 10 − 1 + 1 = 10 from 6. 6 again, and 15.
    assert_eq!(script.ack(302, 6), [6, 15]);
    // A duplicate: 11 from 6.
    assert_eq!(script.ack(303, 6), [16]);
    // ssthresh is unchanged, because there was one reduction.
    assert_eq!(script.windows(), (5000, 5000));
    assert_eq!(script.sender.fast_recoveries(), 1);
}

#[test]
fn rfc6582_3_2_step_3_is_impatient() {
    // Losses of 0 to 8, one repaired per 100 ms. The timer restarts with the fast retransmit of 102
    // and with the partial acknowledgement of 202, and not again: at 202 + 1000 it expires, and all
    // is sent again as slow start opens.
    let mut script = Script::new(&Options {
        initial_window: 30,
        ..newreno()
    });
    assert_eq!(script.leave(0).len(), 30);
    for at in 100..103 {
        script.ack(at, 0);
    }
    for k in 1..11 {
        assert_eq!(script.ack(102 + 100 * k, k)[0], k);
        assert_eq!(script.sender.next_timeout(), ms(1202));
    }
    assert_eq!(script.timeout(1202), [10]);
    // RFC 6582 §3.2 step 4: the recovery is over. Two from 11, regardless of retransmissions during
    // the recovery.
    assert!(!script.sender.in_recovery());
    assert_eq!(script.ack(1302, 11), [11, 12]);
}

#[test]
fn rfc6582_3_2_step_4_after_a_timeout_recover_is_all_that_was_sent() {
    let mut script = recovering();
    for at in 103..109 {
        script.ack(at, 0);
    }
    // 10 to 13 left, and 0 again, which is lost once more. recover = 13.
    assert_eq!(script.timeout(1102), [0]);
    assert!(!script.sender.in_recovery());
    // The receiver had the rest, so everything up to 13 is acknowledged together; two from 14.
    assert_eq!(script.ack(1202, 14), [14, 15]);
    // Duplicates of 14 are no loss …
    for at in 1203..1207 {
        assert_eq!(script.ack(at, 14), []);
    }
    assert_eq!(script.sender.fast_recoveries(), 1);
    // … nor are those of a real loss at this point: the heuristics of RFC 6582 §4, which would
    // distinguish them, are not implemented. The timer repairs the loss.
    assert_eq!(script.timeout(2202), [14]);
}

#[test]
fn a_timeout_in_a_recovery_halves_what_is_in_the_network() {
    // RFC 5681 §2's FlightSize is all that is not acknowledged, 14 segments. Nine duplicates show
    // that nine have left the network, so we halve 5, which is less than the literal rule.
    let mut script = recovering();
    for at in 103..109 {
        script.ack(at, 0);
    }
    assert_eq!(script.sender.next(), 14);
    assert_eq!(script.timeout(1102), [0]);
    assert_eq!(script.windows(), (1000, 2500));
}
