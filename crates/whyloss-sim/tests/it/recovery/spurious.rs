//! Spurious timeouts: no segment was lost, but the acknowledgements arrived after the timer
//! expired.
//!
//! F-RTO (RFC 5682), Eifel (RFC 3522, RFC 4015) and D-SACK (RFC 2883) are not used. These scripts
//! pin the behaviour without them: everything is retransmitted (go-back-N) and the window stays
//! cut. The recovery decides whether the returning duplicates cut it again.

use whyloss::Duration;
use whyloss_sim::host::tcp::{Options, Recovery};

use super::echoing;
use crate::script::{Script, ms, options};

/// Returns a script after the spike: the timer of segment 0 expires at 1000. The acknowledgements
/// of the ten originals, whose stamps are 0, come at 1201 and later.
///
/// ssthresh = 5, the window 1. Slow start opens two per acknowledgement: 1 and 2, 3 and 4, 5 and 6,
/// 7 and 8, and is over at five. Congestion avoidance: from 5 the fifth sends 9, the sixth to ninth
/// one new segment each. The increments are 200, 192.3, 185.5, 179.2, 173.6, 168.7 bytes: 6099.3,
/// so the tenth sends two.
fn after_the_spike(options: &Options) -> Script {
    let mut script = Script::after_ten(options);
    assert_eq!(script.timeout(1000), [0]);
    assert_eq!(script.windows(), (1000, 5000));
    let leave: [&[u64]; 10] = [
        &[1, 2],
        &[3, 4],
        &[5, 6],
        &[7, 8],
        &[9],
        &[10],
        &[11],
        &[12],
        &[13],
        &[14, 15],
    ];
    for (next, leave) in (1..).zip(leave) {
        assert_eq!(echoing(&mut script, 1200 + next, next, 0), leave);
    }
    assert_eq!(script.windows(), (6099, 5000));
    assert_eq!(script.sender.retransmitted(), 10);
    script
}

#[test]
fn newreno_and_sack_take_the_duplicates_for_what_they_are() {
    // The ten needless copies cause ten duplicates. NewReno ignores them (RFC 6582 §3.2 step 4);
    // for SACK, they contain no new information.
    for recovery in [Recovery::NewReno, Recovery::Sack] {
        let mut script = after_the_spike(&options(recovery));
        for at in 1301..1311 {
            assert_eq!(script.ack(at, 10), [], "{recovery:?}");
        }
        assert_eq!(script.windows(), (6099, 5000));
        assert_eq!(script.ack(1311, 11), [16]);
        assert_eq!(script.sender.fast_recoveries(), 0);
        assert_eq!(script.sender.timeouts(), 1);
    }
}

#[test]
fn reno_cuts_once_more() {
    // RFC 5681 alone permits a second reduction: six are in flight at the third duplicate.
    let mut script = after_the_spike(&options(Recovery::Reno));
    assert_eq!(script.ack(1301, 10), []);
    assert_eq!(script.ack(1302, 10), []);
    assert_eq!(script.ack(1303, 10), [10]);
    assert_eq!(script.windows(), (3000, 3000));
    // 3 + 3 are six; each later duplicate releases one.
    assert_eq!(script.ack(1304, 10), [16]);
    assert_eq!(script.sender.fast_recoveries(), 1);
}

#[test]
fn limited_transmit_spends_two_duplicates() {
    // RFC 3042 with RFC 6582: no recovery may begin, but two new segments leave.
    let mut script = after_the_spike(&Options {
        limited_transmit: true,
        ..options(Recovery::NewReno)
    });
    assert_eq!(script.ack(1301, 10), [16]);
    assert_eq!(script.ack(1302, 10), [17]);
    assert_eq!(script.ack(1303, 10), []);
    assert_eq!(script.sender.fast_recoveries(), 0);
}

#[test]
fn the_spike_is_measured_where_stamps_tell_it() {
    // RFC 7323 §4.3: the acknowledgement of 1201 echoes 0. SRTT = 1201, RTTVAR = 600.5, RTO = 3603.
    let mut script = Script::after_ten(&options(Recovery::NewReno));
    script.timeout(1000);
    echoing(&mut script, 1201, 1, 0);
    assert_eq!(script.sender.srtt(), Some(Duration::from_millis(1201)));
    assert_eq!(script.sender.next_timeout(), ms(1201 + 3603));
}

#[test]
fn rfc5682_and_rfc3522_are_absent() {
    // F-RTO would answer the first acknowledgement with two new segments, 10 and 11, and take the
    // second as proof. Eifel would see at the first that its echo, 0, is older than the
    // retransmission of 1000. These senders send 1 and 2 again.
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let mut script = Script::after_ten(&options(recovery));
        script.timeout(1000);
        assert_eq!(echoing(&mut script, 1201, 1, 0), [1, 2], "{recovery:?}");
        assert_eq!(script.windows(), (2000, 5000));
    }
}

#[test]
fn a_late_acknowledgement_of_everything_spares_the_copies() {
    // All acknowledgements except the last were lost: only segment 0 was sent needlessly. Two from
    // 10.
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let mut script = Script::after_ten(&options(recovery));
        script.timeout(1000);
        assert_eq!(echoing(&mut script, 1050, 10, 0), [10, 11], "{recovery:?}");
        assert_eq!(script.sender.retransmitted(), 1);
    }
}
