//! Fuzzes a TFRC sender and receiver with events in any order and any values.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use whyloss::tfrc::{Data, Feedback, Options, Receiver, Sender};
use whyloss::{Cause, Duration, Time};

#[derive(Arbitrary, Debug)]
enum Operation {
    /// Advances the clock, and lets the sender send at most this number of the packets that are
    /// due.
    Send(u64, u8),
    Feedback {
        echo: u64,
        hold: i64,
        receive_rate: f64,
        loss_event_rate: f64,
        new_loss_event: bool,
    },
    HasData(bool),
    /// A packet, `step` numbers after the last one. The bits of `causes` are the causes of the
    /// missing packets before it.
    Arrive {
        step: i64,
        size: u32,
        stamp: u64,
        rtt: i64,
        t_rto: i64,
        round: u32,
        urgent: bool,
        causes: u64,
    },
    Report,
}

#[derive(Arbitrary, Debug)]
struct Input {
    ns2: bool,
    loss_threshold: u8,
    packet_size: u32,
    operations: Vec<Operation>,
}

fuzz_target!(|input: Input| {
    let options = Options {
        loss_threshold: input.loss_threshold,
        ..if input.ns2 {
            Options::ns2()
        } else {
            Options::rfc5348()
        }
    };
    let mut now = Time::ZERO;
    let mut sender = Sender::new(&options, input.packet_size, now);
    let mut receiver = Receiver::new(&options, input.packet_size);
    let mut sequence = 0u64;
    for operation in input.operations {
        let mut report = None;
        match operation {
            Operation::Send(nanos, calls) => {
                now = Time::from_nanos(now.as_nanos().saturating_add(nanos));
                for _ in 0..calls {
                    let at = sender.next_timeout();
                    if at > now || at == Time::MAX {
                        break;
                    }
                    let _ = sender.on_timeout(now);
                    assert!(sender.next_timeout() > at, "the timer does not move on");
                }
            }
            Operation::Feedback {
                echo,
                hold,
                receive_rate,
                loss_event_rate,
                new_loss_event,
            } => {
                let feedback = Feedback {
                    echo: Time::from_nanos(echo),
                    hold: Duration::from_nanos(hold),
                    receive_rate,
                    loss_event_rate,
                    new_loss_event,
                };
                sender.on_feedback(now, &feedback);
            }
            Operation::HasData(has_data) => sender.set_has_data(now, has_data),
            Operation::Arrive {
                step,
                size,
                stamp,
                rtt,
                t_rto,
                round,
                urgent,
                causes,
            } => {
                sequence = sequence.wrapping_add_signed(step);
                let data = Data {
                    sequence,
                    stamp: Time::from_nanos(stamp),
                    rtt: Duration::from_nanos(rtt),
                    t_rto: Duration::from_nanos(t_rto),
                    round,
                    urgent,
                };
                let mut asked = 0;
                report = receiver.on_data(now, &data, size, |lost| {
                    asked += 1;
                    if causes >> (lost % 64) & 1 == 1 {
                        Cause::Wireless
                    } else {
                        Cause::Congestion
                    }
                });
                assert!(asked <= 64);
            }
            Operation::Report => {
                let at = receiver.next_timeout();
                if at != Time::MAX {
                    now = now.max(at);
                    report = receiver.on_timeout(now);
                    assert!(receiver.next_timeout() > at, "the timer does not move on");
                }
            }
        }
        if let Some(report) = report {
            assert!((0.0..=1.0).contains(&report.loss_event_rate));
            assert!(report.receive_rate >= 0.0 && report.receive_rate.is_finite());
            sender.on_feedback(now, &report);
        }
        assert!(sender.rate() > 0.0 && sender.rate().is_finite());
    }
});
