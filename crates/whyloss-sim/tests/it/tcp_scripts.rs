//! Runs scripts in the manner of packetdrill: given these acknowledgements at these times, these
//! segments leave.
//!
//! Segments have 1000 bytes; times are in milliseconds. Unless a script says otherwise, the initial
//! window is 10 segments, and only the algorithm under test releases segments.

use whyloss::congestion::WirelessPolicy;
use whyloss::{Duration, Time};
use whyloss_link::Streams;
use whyloss_sim::decider::SenderDecider;
use whyloss_sim::host::tcp::{Dialect, Options, Recovery, RttSampling, Sender};

use super::script::{MSS, Script, ms, options};

#[test]
fn slow_start_and_congestion_avoidance() {
    let mut script = Script::new(&Options {
        initial_window: 2,
        initial_ssthresh: Some(4),
        ..options(Recovery::Reno)
    });
    assert_eq!(script.leave(0), [0, 1]);
    assert_eq!(script.ack(100, 1), [2, 3]);
    assert_eq!(script.ack(110, 2), [4, 5]);
    assert_eq!(script.windows().0, 4000);
    // A quarter of a segment per segment; a delayed acknowledgement of two counts as two: 10⁶/4000,
    // 2·10⁶/4250, and so on.
    assert_eq!(script.ack(200, 3), [6]);
    assert_eq!(script.ack(210, 5), [7, 8]);
    assert_eq!(script.ack(220, 6), [9]);
    assert_eq!(script.windows().0, 4000 + 250 + 470 + 212);
    assert_eq!(script.ack(230, 7), [10, 11]);
    assert_eq!(script.windows().0, 4000 + 250 + 470 + 212 + 203);
    assert_eq!(script.ack(240, 9), [12, 13]);
    assert_eq!(script.sender.retransmitted(), 0);
}

#[test]
fn reno_fast_retransmit_and_recovery() {
    let mut script = Script::after_ten(&options(Recovery::Reno));
    assert_eq!(script.ack(100, 0), []);
    assert_eq!(script.ack(101, 0), []);
    assert_eq!(script.ack(102, 0), [0]);
    assert_eq!(script.windows(), (5000, 5000));
    assert!(script.sender.in_recovery());
    // 5 + 3 segments are less than the 10 in flight; the sixth duplicate makes it 11.
    assert_eq!(script.ack(103, 0), []);
    assert_eq!(script.ack(104, 0), []);
    assert_eq!(script.ack(105, 0), [10]);
    assert_eq!(script.ack(106, 0), [11]);
    assert_eq!(script.ack(107, 0), [12]);
    assert_eq!(script.ack(108, 0), [13]);
    // The window deflates to ssthresh: five segments from 10.
    assert_eq!(script.ack(202, 10), [14]);
    assert_eq!(script.windows(), (5000, 5000));
    assert!(!script.sender.in_recovery());
    assert_eq!(script.ack(205, 11), [15]);
    assert_eq!(
        (script.sender.sent(), script.sender.retransmitted()),
        (17, 1)
    );
}

#[test]
fn reno_leaves_a_recovery_with_the_first_new_acknowledgement() {
    // 0 and 3 are lost.
    let mut script = Script::after_ten(&options(Recovery::Reno));
    for at in 100..102 {
        assert_eq!(script.ack(at, 0), []);
    }
    assert_eq!(script.ack(102, 0), [0]);
    assert_eq!(script.ack(202, 3), []);
    assert!(!script.sender.in_recovery());
    // RFC 5681 has no `recover`, so three more duplicates are another loss and another halving.
    for at in 203..205 {
        assert_eq!(script.ack(at, 3), []);
    }
    assert_eq!(script.ack(205, 3), [3]);
    assert_eq!(script.windows(), (3500, 3500));
    assert_eq!(script.sender.fast_recoveries(), 2);
}

#[test]
fn reno_of_ns2_waits_for_the_timer_instead() {
    let mut script = Script::after_ten(&Options {
        initial_window: 10,
        limited_transmit: false,
        handshake: false,
        delayed_ack: None,
        ..Options::ns2(Recovery::Reno, MSS, 100)
    });
    assert_eq!(script.ack(100, 0), []);
    assert_eq!(script.ack(101, 0), []);
    assert_eq!(script.ack(102, 0), [0]);
    assert_eq!(script.ack(202, 3), []);
    for at in 203..210 {
        assert_eq!(script.ack(at, 3), []);
    }
    assert_eq!(script.sender.fast_recoveries(), 1);
    // Karn's rule discards the sample of segment 0, so the timeout is still the initial 3 s.
    assert_eq!(script.timeout(3202), [3]);
}

#[test]
fn fast_retransmit_alone_retransmits_at_every_third_duplicate() {
    // 0 and 3 are lost. Duplicates release nothing. The first loss halves the window, from ten to
    // five.
    let mut script = Script::after_ten(&Options {
        initial_window: 10,
        limited_transmit: false,
        handshake: false,
        delayed_ack: None,
        ..Options::ns2(Recovery::FastRetransmit, MSS, 100)
    });
    assert_eq!(script.ack(100, 0), []);
    assert_eq!(script.ack(101, 0), []);
    assert_eq!(script.ack(102, 0), [0]);
    for at in 103..109 {
        assert_eq!(script.ack(at, 0), []);
    }
    // Seven are in flight, more than the window. Three duplicates of 3 are another loss, although 3
    // left before the first.
    assert_eq!(script.ack(202, 3), []);
    assert_eq!(script.ack(203, 3), []);
    assert_eq!(script.ack(204, 3), []);
    assert_eq!(script.ack(205, 3), [3]);
    assert_eq!(script.sender.fast_recoveries(), 2);
    assert!(script.sender.in_recovery());
    // All losses are repaired. The window, halved twice and not inflated, permits these segments.
    assert_eq!(script.ack(305, 10), [10, 11]);
    assert!(!script.sender.in_recovery());
}

#[test]
fn newreno_repairs_one_loss_per_partial_acknowledgement() {
    // 0 and 3 are lost; eight duplicates.
    let mut script = Script::after_ten(&options(Recovery::NewReno));
    assert_eq!(script.ack(100, 0), []);
    assert_eq!(script.ack(101, 0), []);
    assert_eq!(script.ack(102, 0), [0]);
    for at in 103..105 {
        assert_eq!(script.ack(at, 0), []);
    }
    assert_eq!(script.ack(105, 0), [10]);
    assert_eq!(script.ack(106, 0), [11]);
    assert_eq!(script.ack(107, 0), [12]);
    // Three are acknowledged: 5 + 8 − 3 + 1 = 11 segments from 3.
    assert_eq!(script.ack(202, 3), [3, 13]);
    assert!(script.sender.in_recovery());
    assert_eq!(script.ack(205, 3), [14]);
    // Everything in flight at the beginning is acknowledged: min(ssthresh, FlightSize + 1 segment).
    assert_eq!(script.ack(302, 13), [15]);
    assert_eq!(script.windows(), (3000, 5000));
    assert!(!script.sender.in_recovery());
    assert_eq!(script.sender.fast_recoveries(), 1);
}

#[test]
fn newreno_restarts_its_timer_once_in_a_recovery() {
    let mut script = Script::after_ten(&options(Recovery::NewReno));
    for at in 100..103 {
        script.ack(at, 0);
    }
    assert_eq!(script.sender.next_timeout(), ms(1102));
    assert_eq!(script.ack(202, 2), [2]);
    assert_eq!(script.sender.next_timeout(), ms(1202));
    assert_eq!(script.ack(302, 4), [4]);
    assert_eq!(script.timeout(1202), [4]);
}

#[test]
fn newreno_ignores_duplicates_of_what_was_sent_before_a_timeout() {
    let mut script = Script::after_ten(&options(Recovery::NewReno));
    assert_eq!(script.timeout(1000), [0]);
    assert_eq!(script.ack(1100, 5), [5, 6]);
    // The receiver had 5 to 9: retransmissions come back as duplicates.
    for at in 1101..1106 {
        assert_eq!(script.ack(at, 5), []);
    }
    assert_eq!(script.sender.fast_recoveries(), 0);
    // Beyond `recover`, duplicates indicate a loss again.
    assert_eq!(script.ack(1200, 10), [10, 11, 12]);
    assert_eq!(script.ack(1300, 11), [13, 14]);
    for at in 1301..1303 {
        assert_eq!(script.ack(at, 11), []);
    }
    // FlightSize 4: a window of 2 + 3 from 11.
    assert_eq!(script.ack(1303, 11), [11, 15]);
}

#[test]
fn sack_repairs_several_holes() {
    // 0, 2 and 5 are lost; the window falls from 10 to 5.
    let mut script = Script::after_ten(&options(Recovery::Sack));
    assert_eq!(script.sack(100, 0, &[1..2]), []);
    assert_eq!(script.sack(101, 0, &[3..4, 1..2]), []);
    // Sacked 1, 3, 4; IsLost(0); pipe = 6 + 1 retransmitted.
    assert_eq!(script.sack(102, 0, &[3..5, 1..2]), [0]);
    assert_eq!(script.windows(), (5000, 5000));
    // 6: below 3 is lost; pipe = (10 − 3 − 3) + 1 = 5.
    assert_eq!(script.sack(103, 0, &[6..7, 3..5, 1..2]), []);
    // 7: pipe = (10 − 4 − 3) + 1 = 4: the next hole that is lost.
    assert_eq!(script.sack(104, 0, &[6..8, 3..5, 1..2]), [2]);
    // 8: pipe = (10 − 6 − 3) + 2 = 3: the last hole, then a new segment.
    assert_eq!(script.sack(105, 0, &[6..9, 3..5, 1..2]), [5, 10]);
    // 9: pipe = (11 − 7 − 3) + 3 = 4.
    assert_eq!(script.sack(106, 0, &[6..10, 3..5, 1..2]), [11]);
    // The retransmissions arrive.
    assert_eq!(script.sack(202, 2, &[6..10, 3..5]), [12]);
    assert_eq!(script.sack(204, 5, &[6..10]), [13]);
    assert_eq!(script.ack(205, 10), [14]);
    assert!(!script.sender.in_recovery());
    assert_eq!(script.windows(), (5000, 5000));
    assert_eq!(script.sender.retransmitted(), 3);
}

#[test]
fn sack_begins_when_three_segments_above_are_sacked() {
    // Two acknowledgements were lost, so the first duplicate reports everything.
    let mut script = Script::after_ten(&options(Recovery::Sack));
    assert_eq!(script.sack(100, 0, &[1..4]), [0]);
    assert_eq!(script.sender.fast_recoveries(), 1);
}

#[test]
fn sack_ignores_duplicates_without_news() {
    let mut script = Script::after_ten(&options(Recovery::Sack));
    for at in 100..110 {
        assert_eq!(script.ack(at, 0), []);
        assert_eq!(script.sack(at, 0, &[1..2]), []);
    }
    assert_eq!(script.sender.fast_recoveries(), 0);
}

#[test]
fn sack_rescues_a_lost_tail() {
    // A total of six segments; the first and the last are lost.
    let mut script = Script::new(&Options {
        segments: Some(6),
        ..options(Recovery::Sack)
    });
    assert_eq!(script.leave(0), [0, 1, 2, 3, 4, 5]);
    script.sack(100, 0, &[1..2]);
    script.sack(101, 0, &[1..3]);
    // FlightSize 6: a window of 3; pipe = (6 − 1 − 3) + 1.
    assert_eq!(script.sack(102, 0, &[1..4]), [0]);
    // RFC 6675 §5 step 4.3: not before segment 0 and more have arrived.
    assert_eq!(script.sack(103, 0, &[1..5]), []);
    assert_eq!(script.ack(202, 5), [5]);
    assert_eq!(script.ack(302, 6), []);
    assert_eq!(script.sender.next_timeout(), Time::MAX);
    assert_eq!(script.sender.timeouts(), 0);
}

#[test]
fn sack_does_not_send_again_what_arrived_before_a_timeout() {
    let mut script = Script::after_ten(&options(Recovery::Sack));
    assert_eq!(script.sack(100, 0, &[2..3]), []);
    assert_eq!(script.sack(101, 0, &[2..3, 4..5]), []);
    assert_eq!(script.timeout(1000), [0]);
    assert_eq!(script.sack(1100, 1, &[4..5, 2..3]), [1, 3]);
    assert_eq!(script.sack(1200, 3, &[4..5]), [5, 6]);
    // The sender accepts that a receiver discards segments that it had sacked (reneging).
    let mut reneged = Script::after_ten(&options(Recovery::Sack));
    assert_eq!(reneged.sack(100, 0, &[1..3]), []);
    assert_eq!(reneged.ack(101, 1), [10, 11]);
    assert_eq!(reneged.timeout(1101), [1]);
    assert_eq!(reneged.ack(1201, 2), [2, 3]);
}

#[test]
fn limited_transmit_sends_one_per_duplicate() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let mut script = Script::after_ten(&Options {
            limited_transmit: true,
            ..options(recovery)
        });
        assert_eq!(script.sack(100, 0, &[1..2]), [10], "{recovery:?}");
        assert_eq!(script.sack(101, 0, &[1..3]), [11]);
        assert_eq!(script.sack(102, 0, &[1..4]), [0]);
        // Segments of limited transmit do not count as FlightSize.
        assert_eq!(script.windows(), (5000, 5000));
    }
}

#[test]
fn the_timer_backs_off_and_sends_everything_again() {
    let mut script = Script::new(&Options {
        initial_window: 4,
        ..options(Recovery::Reno)
    });
    assert_eq!(script.leave(0), [0, 1, 2, 3]);
    assert_eq!(script.timeout(1000), [0]);
    assert_eq!(script.windows(), (1000, 2000));
    assert_eq!(script.timeout(3000), [0]);
    assert_eq!(script.timeout(7000), [0]);
    assert_eq!(script.timeout(15_000), [0]);
    // The same segment stays lost, so ssthresh does not change.
    assert_eq!(script.windows(), (1000, 2000));
    assert_eq!(script.sender.timeouts(), 4);
    // The echoed timestamp provides a sample, which ends the back-off.
    assert_eq!(script.ack(15_100, 1), [1, 2]);
    assert_eq!(script.sender.next_timeout(), ms(16_100));
    assert_eq!(script.sender.srtt(), Some(Duration::from_millis(100)));
    // 3 was sent before, 4 and 5 were not. Two acknowledged segments open the window from two to
    // three.
    assert_eq!(script.ack(15_200, 3), [3, 4, 5]);
    assert_eq!(
        (script.sender.sent(), script.sender.retransmitted()),
        (13, 7)
    );
}

#[test]
fn karn_takes_no_sample_of_a_retransmission() {
    let mut script = Script::new(&Options {
        initial_window: 2,
        rtt_sampling: RttSampling::OncePerWindow,
        ..options(Recovery::NewReno)
    });
    assert_eq!(script.leave(0), [0, 1]);
    assert_eq!(script.timeout(1000), [0]);
    assert_eq!(script.ack(1010, 2), [2, 3]);
    assert_eq!(script.sender.srtt(), None);
    assert_eq!(script.sender.next_timeout(), ms(3010), "still backed off");
    assert_eq!(script.ack(1050, 3), [4]);
    assert_eq!(script.sender.srtt(), Some(Duration::from_millis(40)));
    assert_eq!(script.sender.next_timeout(), ms(2050));
}

#[test]
fn a_handshake_goes_alone() {
    let mut script = Script::new(&Options {
        handshake: true,
        initial_window: 3,
        ..options(Recovery::NewReno)
    });
    assert_eq!(script.leave(0), [0]);
    assert_eq!(script.ack(50, 0), []);
    assert_eq!(script.timeout(1000), [0]);
    assert_eq!(script.ack(1100, 1), [1]);
    let mut script = Script::new(&Options {
        handshake: true,
        initial_window: 3,
        ..options(Recovery::NewReno)
    });
    assert_eq!(script.leave(0), [0]);
    assert_eq!(script.ack(100, 1), [1, 2, 3]);
}

#[test]
fn the_receivers_window_and_the_end_of_data_limit() {
    let mut script = Script::new(&Options {
        receive_window: 3,
        segments: Some(5),
        ..options(Recovery::NewReno)
    });
    assert_eq!(script.leave(0), [0, 1, 2]);
    assert_eq!(script.ack(100, 1), [3]);
    assert_eq!(script.ack(101, 2), [4]);
    assert_eq!(script.ack(102, 3), []);
    assert_eq!(script.ack(103, 5), []);
    assert_eq!(script.sender.next_timeout(), Time::MAX);
    assert_eq!(script.sender.acknowledged(), 5);
}

#[test]
fn spurious_acknowledgements_do_nothing() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        for dialect in [Dialect::Rfc, Dialect::Ns2] {
            let mut script = Script::new(&Options {
                segments: Some(10),
                dialect,
                ..options(recovery)
            });
            assert_eq!(script.leave(0).len(), 10);
            assert_eq!(script.ack(100, 11), [], "never sent");
            assert_eq!(script.sender.acknowledged(), 0);
            assert_eq!(script.ack(101, 10), []);
            let before = script.windows();
            for at in 102..110 {
                assert_eq!(script.ack(at, 4), [], "old");
                assert_eq!(script.ack(at, 10), [], "nothing is outstanding");
                assert_eq!(script.sack(at, 10, &[11..20]), []);
            }
            assert_eq!(script.windows(), before);
            assert_eq!(script.sender.fast_recoveries(), 0);
        }
    }
}

/// Returns a NewReno sender under this policy after ten segments. All its losses are called
/// wireless.
fn spared(policy: WirelessPolicy, mut options: Options) -> Script {
    options.controller.wireless = policy;
    let classifier = SenderDecider::Erring { mc: 1.0, mw: 0.0 };
    let random = Streams::new(1).stream("verdict", 0);
    let sender = Sender::with_decider(&options, None, classifier, random);
    let mut script = Script::of(sender);
    assert!(script.leave(0).into_iter().eq(0..10));
    script
}

fn newreno_of_ns2() -> Options {
    Options {
        initial_window: 10,
        initial_ssthresh: Some(4),
        limited_transmit: false,
        handshake: false,
        delayed_ack: None,
        ..Options::ns2(Recovery::NewReno, MSS, 100)
    }
}

#[test]
fn a_spared_window_survives_a_recovery_with_few_duplicates() {
    // 0 and 9 are lost, and so are most acknowledgements: the partial one takes more off the window
    // than duplicates had added to it. The policies still apply at the end: the window is restored,
    // and equals FlightSize.
    let rfc = Options {
        initial_ssthresh: Some(4),
        ..options(Recovery::NewReno)
    };
    for options in [rfc, newreno_of_ns2()] {
        for policy in [WirelessPolicy::Keep, WirelessPolicy::FlightSize] {
            let mut script = spared(policy, options);
            for at in 100..103 {
                script.ack(at, 0);
            }
            assert!(script.sender.in_recovery());
            script.ack(202, 9);
            assert!(script.sender.in_recovery());
            script.ack(302, 10);
            assert!(!script.sender.in_recovery());
            if options.dialect == Dialect::Ns2 {
                assert!(script.windows().0 >= 10_000, "{policy:?}");
            }
            // The RFC's window must not burst, so it returns by slow start.
            let acknowledged = script.sender.acknowledged();
            for k in 1..10 {
                let next = (acknowledged + k).min(script.sender.next());
                script.ack(400 + k, next);
            }
            let (cwnd, _) = script.windows();
            assert!((10_000..11_000).contains(&cwnd), "{policy:?}: {cwnd}");
        }
    }
}

#[test]
fn a_spared_window_comes_back_by_slow_start_where_the_receiver_limits() {
    // Nothing new may leave during the recovery, so that nothing is in flight at its end (RFC 6582
    // §3.2 step 3).
    let limited = Options {
        initial_ssthresh: Some(4),
        receive_window: 10,
        ..options(Recovery::NewReno)
    };
    let mut script = spared(WirelessPolicy::Keep, limited);
    for at in 100..109 {
        script.ack(at, 0);
    }
    assert_eq!(script.ack(202, 10), [10, 11]);
    assert_eq!(script.windows(), (2000, 10_000));
}

#[test]
fn a_coarse_clock_measures_whole_ticks() {
    let mut script = Script::after_ten(&Options {
        rtt_tick: Duration::from_millis(30),
        ..options(Recovery::NewReno)
    });
    // From 15 to 115 ms: from the tick at 0 to the one at 90.
    script.ack(115, 1);
    assert_eq!(script.sender.srtt(), Some(Duration::from_millis(90)));
    // A round trip takes at least one tick.
    let mut script = Script::after_ten(&Options {
        rtt_tick: Duration::from_secs(1),
        ..options(Recovery::NewReno)
    });
    script.ack(115, 1);
    assert_eq!(script.sender.srtt(), Some(Duration::from_secs(1)));
}
