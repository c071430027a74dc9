//! Recovery by time: RACK-TLP (RFC 8985) and proportional rate reduction (RFC 9937).
//!
//! All round trips measured are 100 ms, so min_RTT = SRTT = 100 and the reordering window is 25
//! where there is one. Ten segments leave at 0, at the same time, so their numbers decide which of
//! them left first.

use whyloss_sim::host::tcp::{Ack, Options, Recovery, SackBlocks};

use crate::script::{Script, ms, options};

fn rack() -> Options {
    options(Recovery::Rack)
}

/// Returns the departures on an acknowledgement at `at` that reports that `sequence` came twice.
fn twice(script: &mut Script, at: u64, next: u64, sequence: u64) -> Vec<u64> {
    let ack = Ack {
        next,
        echo: ms(at - 100),
        sack: SackBlocks::NONE.with_duplicate(next, sequence),
    };
    script.sender.on_ack(ms(at), &ack, ms(at));
    script.leave(at)
}

/// Returns a script in which 0 is detected as lost at 102. FlightSize 10 makes ssthresh 5;
/// RecoverFS = 10; three are delivered, and 10 − 3 − 1 = 6 are in flight: ⌈3 · 5/10⌉ = 2 leave.
fn found() -> Script {
    let mut script = Script::after_ten(&rack());
    assert_eq!(script.sack(102, 0, &[1..4]), [0, 10]);
    assert_eq!(script.windows(), (5000, 5000));
    script
}

/// The rest of the window arrives. In flight before each answer's departures, and what leaves:
///
/// 4: 7, ⌈4/2⌉ − 2 = 0. 5: 6, ⌈5/2⌉ − 2 = 1. 6: 6, ⌈6/2⌉ − 3 = 0. 7: 5 of 5. 8: 4, and 1 is room.
/// 9: again 4.
fn reduced() -> Script {
    let mut script = found();
    let leave: [&[u64]; 6] = [&[], &[11], &[], &[], &[12], &[13]];
    for (end, leave) in (5..).zip(leave) {
        assert_eq!(script.sack(98 + end, 0, &[1..end]), leave, "up to {end}");
    }
    script
}

#[test]
fn rfc9937_6_reduces_by_the_ratio_and_ends_at_ssthresh() {
    let mut script = reduced();
    // 0's answer ends the recovery: cwnd = ssthresh = 5, and 10 to 13 are in flight.
    assert_eq!(script.ack(202, 10), [14]);
    assert_eq!(script.windows(), (5000, 5000));
    assert!(!script.sender.in_recovery());
    assert_eq!(script.sender.fast_recoveries(), 1);
}

#[test]
fn rfc8985_6_2_step_5_finds_a_lost_retransmission() {
    // 10 left with 0's retransmission, behind it, and arrives a round trip later: 0 is lost again,
    // at 102 + 100. Four are in flight with 0, three without: CRB has 10 − 5 for room of two.
    let mut script = reduced();
    assert_eq!(script.sack(202, 0, &[1..11]), [0, 14]);
    // No second cut, and no timeout.
    assert_eq!(script.windows(), (5000, 5000));
    assert_eq!(script.sender.fast_recoveries(), 1);
    // 11 to 13 arrive: four are in flight each time. The end: 14 to 17 are.
    assert_eq!(script.sack(204, 0, &[1..12]), [15]);
    assert_eq!(script.sack(207, 0, &[1..13]), [16]);
    assert_eq!(script.sack(208, 0, &[1..14]), [17]);
    assert_eq!(script.ack(302, 14), [18]);
    assert_eq!(script.sender.timeouts(), 0);
}

#[test]
fn what_is_lost_of_what_left_in_a_recovery_begins_another() {
    // 10, which left with 0's retransmission, is lost as well as that: only 12 and 13 are in
    // flight, so there is room for three.
    let mut script = reduced();
    assert_eq!(script.sack(204, 0, &[11..12, 1..10]), [0, 10, 14]);
    assert_eq!(script.sack(207, 0, &[11..13, 1..10]), [15]);
    assert_eq!(script.sack(208, 0, &[11..14, 1..10]), [16]);
    assert_eq!(script.windows(), (5000, 5000));
    // 0 arrives: the recovery of 0 to 9 ends, and the loss of 10, which left after the first cut,
    // cuts once more. FlightSize is 7, from 10 to 16.
    script.sack(304, 10, &[11..14]);
    assert_eq!(script.windows(), (3500, 3500));
    assert_eq!(script.sender.fast_recoveries(), 2);
}

#[test]
fn rfc8985_6_2_step_4_reordering_within_the_window_sends_nothing_again() {
    let mut script = Script::after_ten(&rack());
    assert_eq!(script.ack(100, 1), [10, 11]);
    // 2 and 3 overtake 1, which would be lost at 103 + 25 if it did not arrive.
    assert_eq!(script.sack(102, 1, &[2..3]), []);
    assert_eq!(script.sender.next_timeout(), ms(127));
    assert_eq!(script.sack(103, 1, &[2..4]), []);
    assert_eq!(script.sender.next_timeout(), ms(128));
    assert_eq!(script.ack(110, 4), [12, 13, 14, 15]);
    assert_eq!(script.sender.retransmitted(), 0);
    // After reordering, three sacked segments no longer prove a loss; 4 is lost when its timer
    // expires. Of twelve segments, three have arrived and one is lost, so eight are in flight, and
    // the entry into recovery permits one.
    assert_eq!(script.sack(112, 4, &[5..8]), []);
    assert_eq!(script.timeout(137), [4]);
    assert_eq!(script.windows(), (6000, 6000));
}

#[test]
fn rfc8985_6_2_step_4_three_sacked_segments_are_proof_while_no_reordering_was_seen() {
    let mut script = Script::after_ten(&rack());
    assert_eq!(script.sack(100, 0, &[1..3]), []);
    assert_eq!(script.sender.fast_recoveries(), 0);
    // Three were delivered; the one of this acknowledgement counts: ⌈1/2⌉.
    assert_eq!(script.sack(101, 0, &[1..4]), [0]);
}

#[test]
fn rfc8985_7_2_and_7_3_a_lost_tail_is_probed_for() {
    // 8 and 9 of ten are lost. 2 · SRTT after the last acknowledgement, a probe repeats the last
    // segment. Then RACK decides: 9 left at 300 and has arrived, so 8 is lost.
    let mut script = Script::new(&Options {
        segments: Some(10),
        ..rack()
    });
    assert_eq!(script.leave(0).len(), 10);
    assert_eq!(script.ack(100, 8), []);
    assert_eq!(script.timeout(300), [9]);
    // The retransmission timer restarts.
    assert_eq!(script.sender.next_timeout(), ms(1300));
    assert_eq!(script.sack(400, 8, &[9..10]), [8]);
    assert_eq!(script.windows(), (2000, 2000));
    assert_eq!(script.ack(500, 10), []);
    assert_eq!(script.sender.next_timeout(), whyloss::Time::MAX);
    assert_eq!(
        (script.sender.timeouts(), script.sender.retransmitted()),
        (0, 2)
    );
}

#[test]
fn rfc8985_7_3_a_new_segment_is_the_better_probe() {
    // 8 to 18 are lost.
    let mut script = Script::after_ten(&rack());
    assert!(script.ack(100, 8).into_iter().eq(10..19));
    assert_eq!(script.timeout(300), [19]);
    // All eleven left before it. FlightSize 12 makes 6, none is in flight: CRB has one.
    assert_eq!(script.sack(400, 8, &[19..20]), [8]);
    assert_eq!(script.windows(), (6000, 6000));
    // SSRB has one more while the left edge moves: two for each answer.
    assert_eq!(script.sack(500, 9, &[19..20]), [9, 10]);
    assert_eq!(script.sack(600, 10, &[19..20]), [11, 12]);
    assert_eq!(script.sack(601, 11, &[19..20]), [13, 14]);
    assert_eq!(script.sender.timeouts(), 0);
}

/// One segment at a time. The acknowledgement of 1 has not arrived by 400, which is 2 · SRTT plus
/// the receiver's 100 ms after it was sent, so a probe repeats 1.
fn probed() -> Script {
    let mut script = Script::new(&Options {
        receive_window: 1,
        ..rack()
    });
    assert_eq!(script.leave(0), [0]);
    assert_eq!(script.ack(100, 1), [1]);
    assert_eq!(script.timeout(400), [1]);
    script
}

#[test]
fn rfc8985_7_4_a_loss_that_the_probe_repaired_is_a_loss() {
    let mut script = probed();
    assert_eq!(script.ack(500, 2), [2]);
    let (cwnd, _) = script.windows();
    assert!(cwnd > 10_000, "nobody knows yet");
    // The answer is beyond the probe and reports no duplicate. 1 and 2 were in flight: two at
    // least.
    assert_eq!(script.ack(600, 3), [3]);
    assert_eq!(script.windows(), (2000, 2000));
    assert_eq!(script.sender.fast_recoveries(), 0);
}

#[test]
fn rfc8985_7_4_a_needless_probe_is_no_loss() {
    for reported in [true, false] {
        // The answer was late. The probe's answer reports that 1 came twice, or nothing.
        let mut script = probed();
        assert_eq!(script.ack(450, 2), [2]);
        let before = script.windows();
        let leave = if reported {
            twice(&mut script, 500, 2, 1)
        } else {
            script.ack(500, 2)
        };
        assert_eq!(leave, []);
        assert_eq!(script.ack(550, 3), [3]);
        let (cwnd, ssthresh) = script.windows();
        assert!(cwnd >= before.0 && ssthresh == before.1);
    }
}

#[test]
fn rfc8985_7_3_one_probe_at_a_time() {
    // Without an acknowledgement of the probe, there is no second probe: the retransmission timer
    // expires, which restarted with the probe.
    let mut script = probed();
    assert_eq!(script.timeout(1400), [1]);
    assert_eq!(script.sender.timeouts(), 1);
}

#[test]
fn rfc8985_6_3_a_timeout_sends_the_first_again_and_slow_start_the_rest() {
    // No acknowledgement arrives, so there is no round-trip time from which to schedule a probe.
    let mut script = Script::after_ten(&rack());
    assert_eq!(script.timeout(1000), [0]);
    assert_eq!(script.windows(), (1000, 5000));
    // The window is two, then three.
    assert_eq!(script.ack(1100, 1), [1, 2]);
    assert_eq!(script.ack(1200, 2), [3, 4]);
    // The acknowledgement of 2 reports that 3 to 9 had arrived: none of them is repeated, and 10
    // begins a new window.
    assert_eq!(script.ack(1201, 10), [10, 11, 12, 13]);
    assert_eq!(script.sender.timeouts(), 1);
}
