//! Slow start, congestion avoidance, fast retransmit and fast recovery (RFC 5681), limited transmit
//! (RFC 3042).

use whyloss_sim::host::tcp::{Options, Recovery};

use crate::script::{Script, options};

const ALL: [Recovery; 3] = [Recovery::Reno, Recovery::NewReno, Recovery::Sack];

#[test]
fn rfc5681_3_1_slow_start_counts_no_more_than_a_segment_per_acknowledgement() {
    let mut script = Script::new(&Options {
        initial_window: 4,
        ..options(Recovery::Reno)
    });
    assert_eq!(script.leave(0), [0, 1, 2, 3]);
    // Two and three segments acknowledged are one more each: five from 2, six from 5.
    assert_eq!(script.ack(100, 2), [4, 5, 6]);
    assert_eq!(script.ack(101, 5), [7, 8, 9, 10]);
    assert_eq!(script.windows().0, 6000);
}

#[test]
fn rfc5681_3_1_congestion_avoidance_is_a_segment_per_round_trip() {
    let mut script = Script::new(&Options {
        initial_window: 4,
        initial_ssthresh: Some(4),
        ..options(Recovery::Reno)
    });
    script.leave(0);
    // 10⁶/4000 = 250 bytes; (10⁶)/4250 = 235.3; 10⁶/4485.3 = 222.9; 10⁶/4708.2 = 212.4: 4920.6.
    for next in 1..5 {
        assert_eq!(script.ack(100 + next, next), [next + 3]);
    }
    assert_eq!(script.windows().0, 4920);
    // 203.2 more make it five.
    assert_eq!(script.ack(200, 5), [8, 9]);
}

#[test]
fn rfc5681_3_1_halves_what_is_under_way_not_the_window() {
    // The receiver lets six of a window of ten leave: equation 4 makes it three.
    for recovery in ALL {
        let mut script = Script::new(&Options {
            receive_window: 6,
            ..options(recovery)
        });
        assert_eq!(script.leave(0), [0, 1, 2, 3, 4, 5]);
        for i in 0..3 {
            script.sack(100 + i, 0, &[1..2 + i]);
        }
        assert_eq!(script.windows(), (3000, 3000), "{recovery:?}");
    }
}

#[test]
fn rfc5681_3_2_step_by_step() {
    let mut script = Script::after_ten(&options(Recovery::Reno));
    // 0, 1 and 2 arrive: 13 segments of slow start from 3. 3 is lost.
    for next in 1..4 {
        assert_eq!(script.ack(99 + next, next), [8 + 2 * next, 9 + 2 * next]);
    }
    // Step 1: two duplicates change nothing.
    assert_eq!(script.ack(103, 3), []);
    assert_eq!(script.ack(104, 3), []);
    assert_eq!(script.windows(), (13_000, u64::MAX));
    // Steps 2 and 3: ssthresh = 13/2, segment 3 again; 6.5 + 3 = 9.5 from 3 are fewer than the 13
    // in flight.
    assert_eq!(script.ack(105, 3), [3]);
    assert_eq!(script.windows().1, 6500);
    // Step 4: each duplicate adds one. With the seventh, 6 + 7 = 13 equal the segments in flight.
    // Step 5: the eighth releases one.
    for at in 106..110 {
        assert_eq!(script.ack(at, 3), []);
    }
    assert_eq!(script.ack(200, 3), [16]);
    assert_eq!(script.ack(201, 3), [17]);
    // Step 6: deflated to ssthresh. Six whole segments from 16.
    assert_eq!(script.ack(205, 16), [18, 19, 20, 21]);
    assert_eq!(script.windows(), (6500, 6500));
    // Congestion avoidance from there: 10⁶/6500.
    assert_eq!(script.ack(300, 17), [22]);
    assert_eq!(script.windows(), (6653, 6500));
}

#[test]
fn rfc5681_3_2_duplicates_must_follow_each_other() {
    // "Without any intervening ACKs which move SND.UNA": two and two are not three.
    for recovery in [Recovery::Reno, Recovery::NewReno] {
        let mut script = Script::after_ten(&options(recovery));
        for (at, next) in [(100, 0), (101, 0), (102, 1), (103, 1), (104, 1)] {
            script.ack(at, next);
        }
        assert_eq!(script.sender.fast_recoveries(), 0, "{recovery:?}");
        // The next is the third.
        assert_eq!(script.ack(105, 1), [1]);
    }
}

#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    for recovery in ALL {
        let mut script = Script::after_ten(&options(recovery));
        for i in 0..9 {
            script.sack(100 + i, 0, &[1..2 + i]);
        }
        // The window is five of ten. 10 to 13 left since; their duplicates release more segments,
        // but never 0.
        for i in 0..4 {
            let left = script.sack(200 + i, 0, &[1..11 + i]);
            assert!(!left.contains(&0), "{recovery:?}");
        }
        assert_eq!(script.sender.retransmitted(), 1);
        // Restarted at the fast retransmit of 102.
        assert_eq!(script.timeout(1102), [0]);
    }
}

#[test]
fn rfc3042_a_new_segment_for_each_of_two_duplicates() {
    for recovery in [Recovery::Reno, Recovery::NewReno] {
        let mut script = Script::after_ten(&Options {
            limited_transmit: true,
            ..options(recovery)
        });
        assert_eq!(script.ack(100, 0), [10], "{recovery:?}");
        assert_eq!(script.ack(101, 0), [11]);
        // The window is unchanged, and at most two segments beyond it leave.
        assert_eq!(script.windows(), (10_000, u64::MAX));
        // The third is the loss: half of ten, not of twelve (RFC 5681 §3.2 step 2).
        assert_eq!(script.ack(102, 0), [0]);
        assert_eq!(script.windows(), (5000, 5000));
    }
}

#[test]
fn rfc3042_an_acknowledgement_ends_it() {
    let mut script = Script::after_ten(&Options {
        limited_transmit: true,
        ..options(Recovery::NewReno)
    });
    assert_eq!(script.ack(100, 0), [10]);
    // Reordering only: 11 segments from 2 are 2 to 12.
    assert_eq!(script.ack(101, 2), [11, 12]);
    assert_eq!(script.ack(102, 2), [13]);
}

#[test]
fn rfc3042_the_receivers_window_comes_first() {
    for recovery in ALL {
        let mut script = Script::new(&Options {
            limited_transmit: true,
            receive_window: 10,
            ..options(recovery)
        });
        assert_eq!(script.leave(0).len(), 10);
        assert_eq!(script.sack(100, 0, &[1..2]), [], "{recovery:?}");
        assert_eq!(script.sack(101, 0, &[1..3]), []);
    }
}

#[test]
fn rfc3042_sack_wants_news() {
    let mut script = Script::after_ten(&Options {
        limited_transmit: true,
        ..options(Recovery::Sack)
    });
    assert_eq!(script.ack(100, 0), []);
    assert_eq!(script.sack(101, 0, &[1..2]), [10]);
    assert_eq!(script.sack(102, 0, &[1..2]), []);
}
