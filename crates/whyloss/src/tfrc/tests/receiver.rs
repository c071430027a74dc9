//! The receiver by hand. s = 1000 bytes, R = 100 ms, and one packet leaves every 10 ms.

use std::vec::Vec;

use super::{SIZE, close, equation, millis};
use crate::tfrc::loss_history::LossHistory;
use crate::tfrc::{ASKED_PER_GAP, Data, Feedback, Options, Receiver};
use crate::{Cause, Duration, Time};

const RTT: Duration = Duration::from_millis(100);

/// Builds packet `sequence`, sent 10 ms after the previous one.
fn data(sequence: u64) -> Data {
    Data {
        sequence,
        stamp: millis(10 * sequence),
        rtt: RTT,
        t_rto: RTT * 4,
        round: 1,
        urgent: false,
    }
}

/// Passes packet `sequence` to the receiver 50 ms after it was sent. Missing packets have the cause
/// `cause`.
fn arrive(receiver: &mut Receiver, sequence: u64, cause: Cause) -> Option<Feedback> {
    receiver.on_data(millis(10 * sequence + 50), &data(sequence), SIZE, |_| cause)
}

fn receiver(options: &Options) -> Receiver {
    Receiver::new(options, SIZE)
}

#[test]
fn reports_once_per_rtt() {
    let mut receiver = receiver(&Options::rfc5348());
    assert_eq!(receiver.next_timeout(), Time::MAX);
    let first = arrive(&mut receiver, 0, Cause::Congestion).expect("the first is reported");
    assert_eq!((first.echo, first.hold), (millis(0), Duration::ZERO));
    assert!(first.loss_event_rate == 0.0 && first.receive_rate == 0.0);
    assert_eq!(receiver.next_timeout(), millis(150));
    for sequence in 1..10 {
        assert!(arrive(&mut receiver, sequence, Cause::Congestion).is_none());
    }
    assert!(receiver.on_timeout(millis(149)).is_none());
    let second = receiver.on_timeout(millis(150)).expect("data came");
    // Nine packets in 100 ms. The last one was sent at 90 ms and arrived at 140 ms.
    close(second.receive_rate, 90e3, 1e-12);
    assert_eq!(
        (second.echo, second.hold),
        (millis(90), Duration::from_millis(10))
    );
    // No packet arrives, so the timer sends no report, and the next packet is reported immediately
    // (6.1).
    assert!(receiver.on_timeout(millis(250)).is_none());
    assert_eq!(receiver.next_timeout(), Time::MAX);
    assert!(arrive(&mut receiver, 35, Cause::Wireless).is_some());
    assert_eq!(receiver.next_timeout(), millis(500));
}

/// An ECN mark starts a loss event and is reported immediately. Marks within R of it belong to the
/// same event. A mark 200 ms later starts a new event and closes an interval of 20 packets. No
/// packet is lost.
#[test]
fn marks_are_loss_events_and_no_losses() {
    let mut receiver = receiver(&Options::rfc5348());
    let mut events = Vec::new();
    for sequence in 0..90 {
        let (now, packet) = (millis(10 * sequence + 50), data(sequence));
        let lost = |_: u64| panic!("nobody asks why it was lost");
        let feedback = if [50, 52, 59, 70].contains(&sequence) {
            receiver.on_marked_data(now, &packet, SIZE, lost)
        } else {
            receiver.on_data(now, &packet, SIZE, lost)
        };
        let due = receiver.next_timeout();
        let timed = (due <= now).then(|| receiver.on_timeout(now)).flatten();
        for feedback in feedback.into_iter().chain(timed) {
            if feedback.new_loss_event {
                events.push((sequence, feedback.loss_event_rate));
            }
            // The rate counts ten packets of 1000 bytes in 100 ms, marked or not.
            assert!(feedback.receive_rate <= 110e3, "{feedback:?}");
        }
    }
    let at: Vec<u64> = events.iter().map(|event| event.0).collect();
    assert_eq!(at, [50, 70]);
    // The intervals are 20 packets and the first interval before them, which the equation derives
    // from X_recv.
    let mut history = LossHistory::new(&Options::rfc5348());
    history.record(50, millis(550), RTT, 1);
    history.set_first_interval(1.0 / events[0].1);
    history.record(70, millis(750), RTT, 1);
    close(events[1].1, history.loss_event_rate(70), 1e-12);
}

#[test]
fn without_an_rtt_every_packet_is_reported() {
    let mut receiver = receiver(&Options::rfc5348());
    for sequence in 0..5 {
        let data = Data {
            rtt: Duration::ZERO,
            ..data(sequence)
        };
        assert!(
            receiver
                .on_data(millis(sequence), &data, SIZE, |_| Cause::Congestion)
                .is_some()
        );
    }
}

/// NDUPACK = 3: packet 20 is lost when 23 arrives, which is reported immediately. The first
/// interval is 1/p, where the equation at R = 100 ms gives the largest X_recv, 100 kB/s, for p =
/// 0.01235.
#[test]
fn the_first_loss() {
    let mut receiver = receiver(&Options::rfc5348());
    for sequence in (0..23).filter(|&sequence| sequence != 20) {
        let now = millis(10 * sequence + 50);
        if receiver.next_timeout() <= now {
            receiver.on_timeout(now);
        }
        let feedback = arrive(&mut receiver, sequence, Cause::Congestion);
        assert!(feedback.is_none() || sequence == 0);
    }
    assert!(receiver.loss_event_rate() == 0.0);
    let feedback = arrive(&mut receiver, 23, Cause::Congestion).expect("a new loss event");
    assert!(feedback.new_loss_event);
    let p = feedback.loss_event_rate;
    close(
        equation(&Options::rfc5348(), 0.1, 0.4).throughput(p),
        100e3,
        1e-6,
    );
    // A second loss less than R after the first has no effect.
    for sequence in [24, 26, 27, 28] {
        assert!(arrive(&mut receiver, sequence, Cause::Congestion).is_none());
    }
}

#[test]
fn a_late_packet_fills_its_hole() {
    let mut receiver = receiver(&Options::rfc5348());
    for sequence in [0, 1, 3, 4, 2, 5, 6, 7, 8] {
        arrive(&mut receiver, sequence, Cause::Congestion);
    }
    receiver.on_timeout(receiver.next_timeout());
    assert!(receiver.loss_event_rate() == 0.0);
}

/// CEN-1: a wireless loss counts as a received packet.
#[test]
fn a_wireless_loss_is_no_loss() {
    for options in [Options::rfc5348(), Options::ns2()] {
        let mut receiver = receiver(&options);
        let mut asked = Vec::new();
        arrive(&mut receiver, 0, Cause::Wireless);
        receiver.on_data(millis(100), &data(4), SIZE, |sequence| {
            asked.push(sequence);
            Cause::Wireless
        });
        assert_eq!(asked, [1, 2, 3]);
        for sequence in 5..30 {
            let feedback = arrive(&mut receiver, sequence, Cause::Congestion);
            assert!(feedback.is_none_or(|feedback| feedback.loss_event_rate == 0.0));
        }
    }
}

/// Wireless losses in an interval lengthen it: 20 and 60 are congestion losses, the ones between
/// are wireless. I_1 is 40. I_2 is large, because it is derived from X_recv, 60 kB over the 600 ms
/// since the first report. p = 2/(I_1 + I_2).
#[test]
fn wireless_losses_lengthen_intervals() {
    let options = Options {
        loss_threshold: 1,
        ..Options::rfc5348()
    };
    let mut receiver = receiver(&options);
    let mut p = Vec::new();
    for sequence in (0..62).filter(|s| ![20, 30, 31, 45, 60].contains(s)) {
        let cause = |lost| match lost {
            20 | 60 => Cause::Congestion,
            _ => Cause::Wireless,
        };
        let now = millis(10 * sequence + 50);
        let feedback = receiver.on_data(now, &data(sequence), SIZE, cause);
        p.extend(feedback.map(|feedback| feedback.loss_event_rate));
    }
    let [.., first, second] = p[..] else {
        panic!("two loss events were reported: {p:?}");
    };
    close(second, 2.0 / (40.0 + 1.0 / first), 1e-9);
}

/// RFC 5348, 5.2: packets 1..=29 are missing between arrivals 300 ms apart, so they are dated 10 ms
/// apart. Events begin at 1, 12 and 23, more than 100 ms apart. I_0 = 30 − 23 + 1 = 8 and I_1 = I_2
/// = 11. I_3 is derived from 3333 byte/s (4.1 packets), so I_tot0 = 30 is the larger sum.
#[test]
fn losses_in_a_gap_are_dated_between_its_ends() {
    let options = Options {
        loss_threshold: 1,
        ..Options::rfc5348()
    };
    let mut receiver = receiver(&options);
    arrive(&mut receiver, 0, Cause::Congestion);
    let p = arrive(&mut receiver, 30, Cause::Congestion)
        .expect("loss events")
        .loss_event_rate;
    close(p, 3.0 / 30.0, 1e-12);
}

/// A gap of any size requests a bounded number of causes. The rest of the gap gives the same events
/// as a packet-by-packet search.
#[test]
fn the_tail_of_a_gap_is_stepped_through() {
    for (missing, span_millis) in [
        (65, 70),
        (100, 1000),
        (1000, 400),
        (5000, 20_000),
        (100_000, 333),
    ] {
        let options = Options {
            loss_threshold: 1,
            ..Options::rfc5348()
        };
        let mut receiver = receiver(&options);
        let mut asked = 0;
        receiver.on_data(millis(1000), &data(0), SIZE, |_| Cause::Congestion);
        let last = Data {
            sequence: missing + 1,
            ..data(0)
        };
        let end = millis(1000 + span_millis);
        let p = receiver
            .on_data(end, &last, SIZE, |_| {
                asked += 1;
                Cause::Congestion
            })
            .expect("loss events")
            .loss_event_rate;
        assert_eq!(asked, missing.min(ASKED_PER_GAP));

        let mut naive = LossHistory::new(&options);
        let span = u128::from(span_millis * 1_000_000);
        let x_recv = 1e6 / span_millis as f64;
        for i in 1..=missing {
            let nanos = span * u128::from(i) / u128::from(missing + 1);
            let time = millis(1000) + Duration::from_nanos(nanos as i64);
            if naive.record(i, time, RTT, 1) && naive.needs_first_interval() {
                naive
                    .set_first_interval(1.0 / equation(&options, 0.1, 0.4).loss_event_rate(x_recv));
            }
        }
        close(p, naive.loss_event_rate(missing + 1), 1e-9);
    }
}

#[test]
fn a_gap_of_all_numbers_is_survived() {
    for options in [Options::rfc5348(), Options::ns2()] {
        let mut receiver = receiver(&options);
        let mut asked = 0;
        for sequence in [0, u64::MAX - 1, u64::MAX, 3, u64::MAX] {
            let data = Data {
                sequence,
                ..data(1)
            };
            receiver.on_data(millis(sequence % 7 + 1), &data, SIZE, |_| {
                asked += 1;
                Cause::Congestion
            });
        }
        assert_eq!(asked, 64);
    }
}
