//! Checks any events in any order: nothing panics, rates stay in range, and timers advance.

use proptest::prelude::*;

use super::SIZE;
use crate::tfrc::{Data, Feedback, Options, Receiver, Sender};
use crate::{Cause, Duration, Time};

fn options() -> impl Strategy<Value = Options> {
    (any::<u32>(), 0..20u8).prop_map(|(bits, loss_threshold)| {
        // Draws any mixture of both sets of options.
        let (rfc, ns2) = (Options::rfc5348(), Options::ns2());
        let pick = |bit: u32| if bits >> bit & 1 == 1 { rfc } else { ns2 };
        Options {
            ecn: false,
            retransmit_timeout: pick(0).retransmit_timeout,
            no_feedback_rtts: pick(1).no_feedback_rtts,
            no_feedback: pick(2).no_feedback,
            filter: pick(3).filter,
            damping: pick(4).damping,
            increase: pick(5).increase,
            receive_limit: pick(6).receive_limit,
            initial_rate: pick(7).initial_rate,
            initial_window: pick(16).initial_window,
            slow_start: pick(8).slow_start,
            pacing: pick(9).pacing,
            backoff_limit: pick(10).backoff_limit,
            cap_timeouts: pick(11).cap_timeouts,
            packets_per_ack: 1.0,
            loss_threshold,
            new_event_needs_new_round: pick(12).new_event_needs_new_round,
            loss_clock: pick(13).loss_clock,
            feedback: pick(14).feedback,
            discount_floor: pick(15).discount_floor,
            header: 0,
        }
    })
}

/// Draws a time, usually one that occurs in networks.
fn nanos() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..1_000_000_000u64, 1 => any::<u64>(), 1 => Just(0)]
}

#[derive(Clone, Debug)]
enum Operation {
    /// Time passes, and every due event happens.
    Pass(u64),
    Feedback {
        echo: u64,
        hold: i64,
        receive_rate: f64,
        loss_event_rate: f64,
        new_loss_event: bool,
    },
    HasData(bool),
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        4 => (0..3_000_000_000u64).prop_map(Operation::Pass),
        4 => (
            nanos(),
            prop_oneof![0..1_000_000_000i64, any::<i64>()],
            prop_oneof![0.0..1e7, any::<f64>()],
            prop_oneof![Just(0.0), 0.0..1.0f64, any::<f64>()],
            any::<bool>(),
        )
            .prop_map(|(echo, hold, receive_rate, loss_event_rate, new_loss_event)| {
                Operation::Feedback { echo, hold, receive_rate, loss_event_rate, new_loss_event }
            }),
        1 => any::<bool>().prop_map(Operation::HasData),
    ]
}

fn arrival() -> impl Strategy<Value = (u64, i64, Data, Cause)> {
    (
        prop_oneof![9 => 0..100_000_000u64, 1 => any::<u64>()],
        prop_oneof![8 => 1..5i64, 2 => -20..200i64, 1 => any::<i64>()],
        nanos(),
        (
            prop_oneof![4 => Just(100_000_000i64), 1 => any::<i64>()],
            any::<i64>(),
        ),
        any::<u32>(),
        any::<(bool, bool)>(),
    )
        .prop_map(
            |(pass, step, stamp, (rtt, t_rto), round, (urgent, wireless))| {
                let data = Data {
                    sequence: 0,
                    stamp: Time::from_nanos(stamp),
                    rtt: Duration::from_nanos(rtt),
                    t_rto: Duration::from_nanos(t_rto),
                    round,
                    urgent,
                };
                let cause = Cause::wireless_if(wireless);
                (pass, step, data, cause)
            },
        )
}

proptest! {
    #[test]
    fn senders_stay_sane(options in options(), size in any::<u32>(), operations in prop::collection::vec(operation(), 1..60)) {
        let mut now = Time::from_nanos(1_000_000_000);
        let mut sender = Sender::new(&options, size, now);
        let mut next_sequence = 0;
        for operation in operations {
            match operation {
                Operation::Pass(nanos) => {
                    now += Duration::from_nanos(nanos as i64);
                    // If called at its own times, the sender advances with every call.
                    for _ in 0..200 {
                        let at = sender.next_timeout();
                        if at > now {
                            break;
                        }
                        if let Some(data) = sender.on_timeout(at) {
                            prop_assert_eq!(data.sequence, next_sequence);
                            next_sequence += 1;
                        }
                        prop_assert!(sender.next_timeout() > at || at == Time::MAX);
                    }
                    // A late call also advances the timer.
                    if sender.next_timeout() <= now {
                        let at = sender.next_timeout();
                        next_sequence += u64::from(sender.on_timeout(now).is_some());
                        prop_assert!(sender.next_timeout() > at);
                    }
                }
                Operation::Feedback { echo, hold, receive_rate, loss_event_rate, new_loss_event } => {
                    let feedback = Feedback {
                        echo: now - Duration::from_nanos(echo as i64),
                        hold: Duration::from_nanos(hold),
                        receive_rate,
                        loss_event_rate,
                        new_loss_event,
                    };
                    sender.on_feedback(now, &feedback);
                }
                Operation::HasData(has_data) => sender.set_has_data(now, has_data),
            }
            prop_assert!(sender.rate() > 0.0 && sender.rate().is_finite(), "{}", sender.rate());
            prop_assert!((0.0..=1.0).contains(&sender.loss_event_rate()));
            prop_assert!(sender.rtt().is_none_or(|rtt| rtt >= Duration::ZERO));
        }
    }

    #[test]
    fn receivers_stay_sane(options in options(), arrivals in prop::collection::vec(arrival(), 1..120)) {
        let mut now = Time::ZERO;
        let mut receiver = Receiver::new(&options, SIZE);
        let mut sequence = 0u64;
        for (pass, step, mut data, cause) in arrivals {
            now = Time::from_nanos(now.as_nanos().saturating_add(pass));
            let mut feedbacks = std::vec::Vec::new();
            for _ in 0..50 {
                let at = receiver.next_timeout();
                if at > now || at == Time::MAX {
                    break;
                }
                feedbacks.extend(receiver.on_timeout(at));
                prop_assert!(receiver.next_timeout() > at);
            }
            sequence = sequence.saturating_add_signed(step);
            data.sequence = sequence;
            let mut asked = 0;
            feedbacks.extend(receiver.on_data(now, &data, SIZE, |_| {
                asked += 1;
                cause
            }));
            prop_assert!(asked <= 64);
            for feedback in feedbacks {
                prop_assert!((0.0..=1.0).contains(&feedback.loss_event_rate));
                prop_assert!(feedback.receive_rate >= 0.0 && feedback.receive_rate.is_finite());
                prop_assert!(feedback.hold >= Duration::ZERO);
            }
        }
    }
}
