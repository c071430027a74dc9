//! Recovery by selective acknowledgements (RFC 6675).
//!
//! L is the third highest sacked segment: segments below it that are not sacked are lost. pipe
//! counts the segments from L up that are not sacked, and retransmitted ones.

use whyloss_sim::host::tcp::{Options, Recovery};

use crate::script::{Script, ms, options};

fn sack() -> Options {
    options(Recovery::Sack)
}

/// Returns a script in which ten segments, and no more, have left.
fn ten() -> Script {
    let mut script = Script::new(&Options {
        segments: Some(10),
        ..sack()
    });
    assert_eq!(script.leave(0).len(), 10);
    script
}

/// Finds 0 lost at 102: the window is five, pipe = 6 + 1.
fn found(script: &mut Script) {
    assert_eq!(script.sack(100, 0, &[1..2]), []);
    assert_eq!(script.sack(101, 0, &[1..3]), []);
    assert_eq!(script.sack(102, 0, &[1..4]), [0]);
    assert_eq!(script.windows(), (5000, 5000));
}

#[test]
fn rfc6675_5_step_2_three_segments_above_are_a_loss_before_three_duplicates() {
    for blocks in [&[1..4][..], &[5..6, 3..4, 1..2], &[7..9, 3..4]] {
        let mut script = Script::after_ten(&sack());
        assert_eq!(script.sack(100, 0, blocks), [0]);
    }
    let mut script = Script::after_ten(&sack());
    assert_eq!(script.sack(100, 0, &[7..9]), []);
    assert_eq!(script.sender.fast_recoveries(), 0);
}

#[test]
fn rfc6675_5_step_3_limited_transmit_fills_the_window_by_the_pipe() {
    // One acknowledgement reports two segments: pipe = 8, so two may leave.
    let mut script = Script::after_ten(&Options {
        limited_transmit: true,
        ..sack()
    });
    assert_eq!(script.sack(100, 0, &[1..3]), [10, 11]);
    // These two do not count for FlightSize (step 4.2): five, not six.
    assert_eq!(script.sack(101, 0, &[1..4]), [0]);
    assert_eq!(script.windows(), (5000, 5000));
}

#[test]
fn rfc6675_5_step_4_5_sends_at_once_what_the_pipe_allows() {
    // Seven of ten are sacked in one: L = 7, 0 is lost, pipe = 1 after 0: rule 1 has 1 and 2, rule
    // 2 has 10, 11.
    let mut script = Script::after_ten(&sack());
    assert_eq!(script.sack(100, 0, &[3..10]), [0, 1, 2, 10, 11]);
}

#[test]
fn rfc6675_4_next_seg_rules_1_and_2() {
    // 0, 4 and 6 are lost.
    let mut script = Script::after_ten(&sack());
    found(&mut script);
    // 5: L = 2; pipe = (10 − 2 − 3) + 1 = 6.
    assert_eq!(script.sack(103, 0, &[5..6, 1..4]), []);
    // 7: L = 3; pipe = (10 − 3 − 3) + 1 = 5.
    assert_eq!(script.sack(104, 0, &[7..8, 5..6, 1..4]), []);
    // 8: L = 5; pipe = (10 − 5 − 3) + 1 = 3. Rule 1: 4 is lost. 6 is not, because only two are
    // above it. Rule 2: 10.
    assert_eq!(script.sack(105, 0, &[7..9, 5..6, 1..4]), [4, 10]);
    // 9: L = 7; pipe = (11 − 7 − 3) + 2 = 3. Now 6 is; then 11.
    assert_eq!(script.sack(106, 0, &[7..10, 5..6, 1..4]), [6, 11]);
    // 0 arrives: pipe = {10, 11} + {4, 6} = 4.
    assert_eq!(script.sack(202, 4, &[7..10, 5..6]), [12]);
    // 4 arrives: {10, 11, 12} + {6} = 4. 10 arrives: L = 8; {11, 12, 13} + {6} = 4.
    assert_eq!(script.sack(205, 6, &[7..10]), [13]);
    assert_eq!(script.sack(206, 6, &[7..11]), [14]);
    // 6: the recovery ends above 9. Five from 11; CA has not begun.
    assert_eq!(script.sack(207, 11, &[]), [15]);
    assert!(!script.sender.in_recovery());
}

#[test]
fn rfc6675_4_next_seg_rule_3_when_there_is_nothing_new() {
    // 0 and 7 are lost.
    let mut script = ten();
    found(&mut script);
    // 4, 5, 6: pipe falls to {7, 8, 9} + 1 = 4 with the last. Neither a hole below 6 nor anything
    // new.
    for i in 0..3 {
        assert_eq!(script.sack(103 + i, 0, &[1..5 + i]), []);
    }
    // 8: {7, 9} + 1 = 3. 7 is a hole below what was sacked, though not yet lost.
    assert_eq!(script.sack(106, 0, &[8..9, 1..7]), [7]);
    // 9: {7} + {0, 7}: the one that is not lost and was sent again counts twice.
    assert_eq!(script.sack(107, 0, &[8..10, 1..7]), []);
    assert_eq!(script.sender.retransmitted(), 2);
}

#[test]
fn rfc6675_4_next_seg_rule_4_not_before_the_first_retransmission_was_passed() {
    // 0, 8 and 9 are lost. Step 4.3 sets RescueRxt to segment 0, and the rule requires a HighACK
    // above it.
    let mut script = ten();
    found(&mut script);
    // 4 to 7: pipe = {8, 9} + 1 = 3 in the end, but no rule marks the tail as lost.
    for i in 0..4 {
        assert_eq!(script.sack(103 + i, 0, &[1..5 + i]), []);
    }
    // 0 arrives: the highest segment that is not sacked leaves, once.
    assert_eq!(script.ack(202, 8), [9]);
    // 9 arrives: 8 is a hole below it (rule 3).
    assert_eq!(script.sack(302, 8, &[9..10]), [8]);
    assert_eq!(script.ack(402, 10), []);
    assert_eq!(script.sender.timeouts(), 0);
}

#[test]
fn rfc6675_4_next_seg_rule_4_once_in_a_recovery() {
    // 0, 8 and 9 are lost, and 9 twice.
    let mut script = ten();
    found(&mut script);
    for i in 0..4 {
        script.sack(103 + i, 0, &[1..5 + i]);
    }
    assert_eq!(script.ack(202, 8), [9]);
    // Duplicates cause no second retransmission. The timer, restarted at 202, does.
    for at in 203..210 {
        assert_eq!(script.ack(at, 8), []);
    }
    assert_eq!(script.timeout(1202), [8]);
}

#[test]
fn rfc6675_5_a_ends_at_the_recovery_point() {
    // Another loss of the same window causes no second reduction.
    let mut script = Script::after_ten(&sack());
    found(&mut script);
    assert_eq!(script.sack(103, 0, &[1..4, 5..6]), []);
    for i in 0..4 {
        script.sack(104 + i, 0, &[5..7 + i, 1..4]);
    }
    assert!(script.sender.in_recovery());
    script.sack(202, 4, &[5..10]);
    assert!(script.sender.in_recovery());
    script.ack(207, 10);
    assert!(!script.sender.in_recovery());
    assert_eq!(script.windows(), (5000, 5000));
    assert_eq!(script.sender.fast_recoveries(), 1);
}

#[test]
fn rfc6675_5_1_none_begins_below_what_was_sent_before_a_timeout() {
    let mut script = Script::after_ten(&sack());
    assert_eq!(script.timeout(1000), [0]);
    // 0 to 4 and 6 had arrived: two from 5, without 6.
    assert_eq!(script.sack(1100, 5, &[6..7]), [5, 7]);
    // 8, 9 and 7: three segments above 5, and three duplicates, but RecoveryPoint is 9.
    assert_eq!(script.sack(1101, 5, &[8..9, 6..7]), []);
    assert_eq!(script.sack(1102, 5, &[8..10, 6..7]), []);
    assert_eq!(script.sack(1103, 5, &[6..10]), []);
    assert_eq!(script.sender.fast_recoveries(), 0);
}

#[test]
fn rfc6675_5_1_one_may_begin_at_it() {
    // HighACK = RecoveryPoint is enough; NewReno requires more.
    let mut script = Script::after_ten(&sack());
    assert_eq!(script.timeout(1000), [0]);
    assert_eq!(script.ack(1100, 3), [3, 4]);
    assert_eq!(script.ack(1200, 5), [5, 6, 7]);
    assert_eq!(script.ack(1201, 10), [10, 11, 12, 13]);
    // 10 is lost: the window is two; pipe = 0 + 1.
    assert_eq!(script.sack(1300, 10, &[11..12]), []);
    assert_eq!(script.sack(1301, 10, &[11..13]), []);
    assert_eq!(script.sack(1302, 10, &[11..14]), [10, 14]);
    assert_eq!(script.windows(), (2000, 2000));
}

#[test]
fn rfc6675_6_and_rfc6298_5_3_every_advance_restarts_the_timer() {
    let mut script = Script::after_ten(&sack());
    found(&mut script);
    assert_eq!(script.sender.next_timeout(), ms(1102));
    script.sack(202, 4, &[5..10]);
    assert_eq!(script.sender.next_timeout(), ms(1202));
    script.sack(302, 5, &[6..10]);
    assert_eq!(script.sender.next_timeout(), ms(1302));
}
