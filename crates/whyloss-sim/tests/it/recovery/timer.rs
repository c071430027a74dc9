//! The retransmission timer, one script per rule of RFC 6298.

use whyloss::{Duration, Time};
use whyloss_sim::host::tcp::{Ack, Options, Recovery, RtoOptions, RttSampling};

use super::echoing;
use crate::script::{Script, ms, options};

const ALL: [Recovery; 3] = [Recovery::Reno, Recovery::NewReno, Recovery::Sack];

/// Returns options with an initial window of this size and no minimum timeout, so that the formula
/// is visible.
fn bare(recovery: Recovery, initial_window: u32) -> Options {
    Options {
        initial_window,
        rto: RtoOptions {
            min: Duration::ZERO,
            ..RtoOptions::default()
        },
        ..options(recovery)
    }
}

#[test]
fn rfc6298_2_1_a_second_before_the_first_measurement() {
    let mut script = Script::after_ten(&bare(Recovery::Reno, 10));
    assert_eq!(script.sender.rto(), Duration::from_secs(1));
    assert_eq!(script.timeout(1000), [0]);
}

#[test]
fn rfc6298_2_2_and_2_3_the_formula() {
    let mut script = Script::after_ten(&bare(Recovery::Reno, 10));
    // R = 100: SRTT = 100, RTTVAR = 50, RTO = 100 + 4·50.
    echoing(&mut script, 100, 1, 0);
    assert_eq!(script.sender.next_timeout(), ms(100 + 300));
    // R' = 140: RTTVAR = ¾·50 + ¼·|100 − 140| = 47.5 with the old SRTT, SRTT = ⅞·100 + ⅛·140 = 105,
    // RTO = 105 + 190. With the new SRTT, it would be 290.
    echoing(&mut script, 140, 2, 0);
    assert_eq!(script.sender.next_timeout(), ms(140 + 295));
    // R" = 60: RTTVAR = ¾·47.5 + ¼·45 = 46.875, SRTT = ⅞·105 + ⅛·60 = 99.375, RTO = 99.375 + 187.5.
    echoing(&mut script, 160, 3, 100);
    assert_eq!(script.sender.rto(), Duration::from_micros(286_875));
}

#[test]
fn rfc6298_2_4_at_least_a_second() {
    let mut script = Script::after_ten(&options(Recovery::Reno));
    script.ack(100, 1);
    assert_eq!(script.sender.next_timeout(), ms(1100));
}

#[test]
fn rfc6298_2_5_at_most_a_minute() {
    for recovery in ALL {
        let mut script = Script::new(&options(recovery));
        script.leave(0);
        // Waits of 1, 2, 4, 8, 16, 32, 60, 60 s.
        for at in [1, 3, 7, 15, 31, 63, 123, 183] {
            assert_eq!(script.timeout(at * 1000), [0], "{recovery:?}");
        }
        assert_eq!(script.sender.next_timeout(), ms(243_000));
    }
}

#[test]
fn rfc6298_3_nothing_is_measured_on_what_was_sent_again_without_stamps() {
    let mut script = Script::new(&Options {
        rtt_sampling: RttSampling::OncePerWindow,
        ..bare(Recovery::NewReno, 4)
    });
    assert_eq!(script.leave(0), [0, 1, 2, 3]);
    // Segment 0 is timed. A fast retransmit repeats it, so its round-trip time is unknown (Karn).
    for at in 100..102 {
        assert_eq!(script.ack(at, 0), []);
    }
    assert_eq!(script.ack(102, 0), [0, 4]);
    // Segment 4, the first new one after that, is timed instead: 80 ms, RTO = 80 + 4·40.
    assert_eq!(script.ack(150, 4), [5]);
    assert_eq!(script.sender.srtt(), None);
    assert_eq!(script.ack(182, 5), [6]);
    assert_eq!(script.sender.srtt(), Some(Duration::from_millis(80)));
    assert_eq!(script.sender.next_timeout(), ms(182 + 240));
}

#[test]
fn rfc6298_5_1_starts_when_it_does_not_run() {
    let mut script = Script::new(&Options {
        initial_window: 1,
        ..options(Recovery::Reno)
    });
    assert_eq!(script.sender.next_timeout(), Time::MAX);
    assert_eq!(script.leave(30), [0]);
    assert_eq!(script.sender.next_timeout(), ms(1030));
    // Nothing is outstanding at 130. The segment that leaves 20 ms later starts the timer; later
    // ones do not.
    let ack = Ack {
        next: 1,
        echo: ms(30),
        ..Ack::default()
    };
    script.sender.on_ack(ms(130), &ack, ms(130));
    assert_eq!(script.sender.next_timeout(), Time::MAX);
    let first = script.sender.poll_transmit(ms(150));
    assert_eq!(first.map(|segment| segment.sequence), Some(1));
    assert_eq!(script.sender.next_timeout(), ms(1150));
    assert_eq!(script.leave(160), [2]);
    assert_eq!(script.sender.next_timeout(), ms(1150));
}

#[test]
fn rfc6298_5_2_stops_when_all_is_acknowledged() {
    let mut script = Script::new(&Options {
        segments: Some(3),
        ..options(Recovery::Reno)
    });
    assert_eq!(script.leave(0), [0, 1, 2]);
    script.ack(100, 2);
    assert_eq!(script.sender.next_timeout(), ms(1100));
    script.ack(110, 3);
    assert_eq!(script.sender.next_timeout(), Time::MAX);
    script.sender.on_timeout(ms(5000));
    assert_eq!(script.leave(5000), []);
    assert_eq!(script.sender.timeouts(), 0);
}

#[test]
fn rfc6298_5_3_restarts_with_new_data_acknowledged_and_with_nothing_else() {
    for recovery in ALL {
        let mut script = Script::after_ten(&options(recovery));
        script.ack(100, 1);
        assert_eq!(script.sender.next_timeout(), ms(1100));
        script.ack(130, 3);
        assert_eq!(script.sender.next_timeout(), ms(1130));
        // A duplicate, a selective acknowledgement of later segments, and an old acknowledgement.
        script.ack(140, 3);
        script.sack(150, 3, &[4..5]);
        script.ack(160, 2);
        assert_eq!(script.sender.next_timeout(), ms(1130), "{recovery:?}");
    }
}

#[test]
fn a_fast_retransmit_restarts_the_timer() {
    // RFC 6298 has no such rule; RFC 6675 §6 allows it for SACK. All recoveries here do so, like
    // BSD, so that a retransmission has the whole timeout to arrive.
    for recovery in ALL {
        let mut script = Script::after_ten(&options(recovery));
        for (i, at) in (500..503).enumerate() {
            script.sack(at, 0, &[1..2 + i as u64]);
        }
        assert_eq!(script.sender.retransmitted(), 1);
        assert_eq!(script.sender.next_timeout(), ms(1502), "{recovery:?}");
    }
}

#[test]
fn rfc6298_5_4_sends_the_earliest_segment_again() {
    for recovery in ALL {
        let mut script = Script::after_ten(&options(recovery));
        assert_eq!(script.ack(100, 3), [10, 11, 12, 13]);
        assert_eq!(script.timeout(1100), [3], "{recovery:?}");
        // Eleven were in flight (RFC 5681 §3.1 equation 4): 5.5 and the loss window of one.
        assert_eq!(script.windows(), (1000, 5500));
    }
}

#[test]
fn rfc6298_5_5_and_5_6_backs_off_until_a_measurement() {
    for recovery in ALL {
        let mut script = Script::after_ten(&bare(recovery, 10));
        // R = 100: RTO = 300. Expiries at 100 + 300, + 600, + 1200.
        script.ack(100, 1);
        for at in [400, 1000, 2200] {
            assert_eq!(script.timeout(at), [1], "{recovery:?}");
        }
        assert_eq!(script.sender.next_timeout(), ms(2200 + 2400));
        // An acknowledgement of the retransmission of 2200 that echoes its stamp measures 100 ms:
        // RTTVAR = ¾·50, and the RTO collapses to 100 + 150.
        echoing(&mut script, 2300, 2, 2200);
        assert_eq!(script.sender.next_timeout(), ms(2300 + 250));
    }
}

#[test]
fn rfc6298_5_clears_the_estimate_after_four_expiries() {
    let mut script = Script::after_ten(&bare(Recovery::Reno, 10));
    script.ack(100, 1);
    for at in [400, 1000, 2200] {
        script.timeout(at);
    }
    assert_eq!(script.sender.srtt(), Some(Duration::from_millis(100)));
    script.timeout(4600);
    assert_eq!(script.sender.srtt(), None);
    // The backed-off timeout remains: 16·300. The next measurement counts as a first one: 100 +
    // 4·50, not 250.
    assert_eq!(script.sender.next_timeout(), ms(4600 + 4800));
    echoing(&mut script, 4700, 2, 4600);
    assert_eq!(script.sender.next_timeout(), ms(4700 + 300));
}

#[test]
fn rfc6298_5_7_is_not_followed() {
    // The timer of segment 0, which represents the SYN, expires; one segment follows (RFC 5681
    // §3.1). RFC 6298 §5.7 then requires 3 s. With stamps, the handshake has measured the round
    // trip, so the RTO is 1 s. Without stamps, it is what the back-off left, 2 s.
    for (rtt_sampling, rto) in [
        (RttSampling::EveryAck, 1000),
        (RttSampling::OncePerWindow, 2000),
    ] {
        let mut script = Script::new(&Options {
            handshake: true,
            initial_window: 1,
            rtt_sampling,
            ..options(Recovery::NewReno)
        });
        assert_eq!(script.leave(0), [0]);
        assert_eq!(script.timeout(1000), [0]);
        assert_eq!(script.ack(1100, 1), [1]);
        assert_eq!(script.sender.next_timeout(), ms(1100 + rto));
    }
}

#[test]
fn rfc5681_3_1_two_segments_at_least_and_no_less_for_the_same_loss() {
    let mut script = Script::new(&Options {
        initial_window: 3,
        ..options(Recovery::Reno)
    });
    assert_eq!(script.leave(0), [0, 1, 2]);
    // max(3/2, 2).
    script.timeout(1000);
    assert_eq!(script.windows(), (1000, 2000));
    let mut script = Script::after_ten(&options(Recovery::Reno));
    script.timeout(1000);
    assert_eq!(script.windows(), (1000, 5000));
    script.timeout(3000);
    assert_eq!(script.windows(), (1000, 5000));
    // Another loss, after data arrived: from 1 the window rose to 2, so 2 are in flight.
    assert_eq!(script.ack(3100, 1), [1, 2]);
    script.timeout(4100);
    assert_eq!(script.windows(), (1000, 2000));
}
