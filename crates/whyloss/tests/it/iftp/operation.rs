//! Runs an IFTP sender through any order of events and checks its invariants.
//!
//! The property tests and the fuzz target share this file by path. It takes plain numbers, so that
//! both can draw them.

use whyloss::event::{AckEvent, LossEvent};
use whyloss::iftp::{Ack, Data, Judge, Options, Reaction, Receiver, Sender, WindowMode};
use whyloss::rto::RtoOptions;
use whyloss::{Duration, Time};

/// The numbers that a fuzzer or a property test draws for one operation.
pub(crate) type Raw = (u8, u64, u64);

/// Gives verdicts that depend on the time, and checks the events that it receives.
struct Checker {
    now: Time,
    acknowledged: u64,
}

impl Judge for Checker {
    fn on_ack(&mut self, ack: &AckEvent) {
        assert_eq!(ack.now, self.now);
        assert!(ack.acknowledged >= self.acknowledged);
        assert!(ack.rtt.is_none_or(|rtt| rtt > Duration::ZERO));
        self.acknowledged = ack.acknowledged;
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Reaction {
        assert_eq!(loss.now, self.now);
        assert!(loss.first >= self.acknowledged);
        assert!(loss.in_flight > 0 && loss.window > 0);
        match loss.now.as_nanos() % 3 {
            0 => Reaction::Keep,
            1 => Reaction::FourFifths,
            _ => Reaction::Halve,
        }
    }
}

/// Builds options from numbers, some of them out of range.
pub(crate) fn options(raw: (i64, u32, u32, u32, bool), timer: (i64, i64, i64)) -> Options {
    let (transmission_time, initial_ssthresh, max_window, duplicates, blocking) = raw;
    Options {
        transmission_time: Some(Duration::from_nanos(transmission_time)),
        initial_ssthresh,
        max_window,
        duplicates,
        window: if blocking {
            WindowMode::Blocking
        } else {
            WindowMode::Sliding
        },
        rto: RtoOptions {
            initial: Duration::from_nanos(timer.0),
            min: Duration::from_nanos(timer.1),
            max: Duration::from_nanos(timer.2),
            ..RtoOptions::default()
        },
    }
}

/// Runs the operations and panics if an invariant does not hold.
pub(crate) fn check(options: &Options, packet_size: u32, operations: &[Raw]) {
    let mut sender = Sender::new(options, packet_size);
    let mut judge = Checker {
        now: Time::ZERO,
        acknowledged: 0,
    };
    let mut sent: Vec<Data> = Vec::new();
    let most = f64::from(options.max_window.clamp(1, 1024));
    for &(kind, a, b) in operations {
        match kind % 5 {
            // Due events happen in order, up to a limit.
            0 => {
                for _ in 0..a % 64 {
                    let at = sender.next_timeout();
                    if at == Time::MAX {
                        break;
                    }
                    judge.now = judge.now.max(at);
                    sender.on_timeout(judge.now, &mut judge);
                    poll(&mut sender, judge.now, &mut sent);
                    let next = sender.next_timeout();
                    assert!(next > at, "the timer does not move on");
                }
            }
            // Time passes, and a valid acknowledgement arrives, perhaps repeated.
            1 | 2 if !sent.is_empty() => {
                judge.now += Duration::from_nanos((b % 1_000_000_000) as i64);
                let back = (a % 80).min(sent.len() as u64 - 1) as usize;
                let data = sent[sent.len() - 1 - back];
                sender.on_ack(judge.now, &Receiver.on_data(&data), &mut judge);
            }
            // The acknowledgement of the lowest outstanding packet.
            3 if (sender.una() as usize) < sent.len() => {
                judge.now += Duration::from_nanos((b % 1_000_000_000) as i64);
                let data = sent[sender.una() as usize];
                sender.on_ack(judge.now, &Receiver.on_data(&data), &mut judge);
            }
            // An acknowledgement with any numbers.
            _ => {
                let ack = Ack {
                    sequence: a,
                    echo: Time::from_nanos(b),
                };
                sender.on_ack(judge.now, &ack, &mut judge);
            }
        }
        poll(&mut sender, judge.now, &mut sent);
        assert!(sender.una() <= sent.len() as u64);
        assert!(sent.len() as u64 - sender.una() <= most as u64);
        assert!((1.0..=most).contains(&sender.n()), "{}", sender.n());
        assert!(sender.ssthresh() >= 1.0);
        assert!(sender.gap() >= Duration::ZERO);
        // The sender always has a next timeout.
        assert!(sender.next_timeout() < Time::MAX || judge.now > Time::MAX - Duration::MAX);
    }
}

fn poll(sender: &mut Sender, now: Time, sent: &mut Vec<Data>) {
    for _ in 0..=1024 {
        let Some(data) = sender.poll_transmit(now) else {
            return;
        };
        assert_eq!((data.sequence, data.stamp), (sent.len() as u64, now));
        sent.push(data);
    }
    panic!("more left at once than the largest window");
}
