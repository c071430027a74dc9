//! Fuzzes a TCP sender with any options, classifier and scheme, and with acknowledgements, timers
//! and losses in any order.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use whyloss::{Cause, Duration, Time, congestion, policy};
use whyloss_link::Streams;
use whyloss_sim::decider::SENDERS;
use whyloss_sim::host::tcp::{Ack, Options, Recovery, SackBlocks, Sender};

#[derive(Arbitrary, Debug)]
enum Operation {
    /// An acknowledgement of `more` further segments, or of the number `any`.
    Ack {
        more: u8,
        any: Option<u64>,
        echo: u32,
        blocks: [(u8, u8); 3],
    },
    /// Advances the clock, and runs the timers that expire.
    Wait(u32),
    /// Sends up to this number of segments.
    Send(u8),
    Lost {
        ahead: u8,
        wireless: bool,
    },
}

#[derive(Arbitrary, Debug)]
struct Input {
    ns2: bool,
    recovery: u8,
    controller: usize,
    policy: usize,
    decider: usize,
    segment_size: u16,
    initial_window: u8,
    window: u16,
    segments: Option<u16>,
    handshake: bool,
    operations: Vec<Operation>,
}

fuzz_target!(|input: Input| {
    let recovery = [
        Recovery::Reno,
        Recovery::NewReno,
        Recovery::Sack,
        Recovery::Vegas,
        Recovery::Rack,
    ];
    let recovery = recovery[usize::from(input.recovery) % recovery.len()];
    let mut options = if input.ns2 {
        Options::ns2(recovery, input.segment_size.into(), input.window.into())
    } else {
        Options {
            recovery,
            receive_window: input.window.into(),
            initial_window: input.initial_window.into(),
            ..Options::rfc(input.segment_size.into())
        }
    };
    options.segments = input.segments.map(u64::from);
    options.handshake = input.handshake;
    let controller = &congestion::REGISTRY[input.controller % congestion::REGISTRY.len()];
    let policy = &policy::REGISTRY[input.policy % policy::REGISTRY.len()];
    options.controller.kind = controller.build(&[]).expect("its defaults");
    options.controller.wireless = policy.build(&[]).expect("its defaults");
    let decider = SENDERS.lines().nth(input.decider % SENDERS.lines().count());
    let decider = SENDERS.build(decider.expect("there").id, &[]);
    let decider = decider.expect("registered").expect("its defaults");
    let random = Streams::new(1).stream("verdict", 0);

    let mut now = Time::ZERO;
    let mut sender = Sender::with_decider(&options, None, decider, random);
    for operation in input.operations {
        match operation {
            Operation::Ack {
                more,
                any,
                echo,
                blocks,
            } => {
                let next = any.unwrap_or(sender.acknowledged() + u64::from(more));
                let mut from = next;
                let blocks = blocks.map(|(gap, length)| {
                    let start = from.saturating_add(1 + u64::from(gap));
                    from = start.saturating_add(u64::from(length));
                    start..from
                });
                let echo = Time::from_nanos(now.as_nanos().saturating_sub(echo.into()));
                let sack = SackBlocks::new(next, blocks);
                sender.on_ack(now, &Ack { next, echo, sack }, now);
            }
            Operation::Wait(nanos) => {
                now += Duration::from_nanos(i64::from(nanos) * 16);
                for _ in 0..8 {
                    let due = sender.next_timeout();
                    if due > now {
                        break;
                    }
                    sender.on_timeout(now);
                    send(&mut sender, now, 64);
                }
            }
            Operation::Send(most) => send(&mut sender, now, most),
            Operation::Lost { ahead, wireless } => {
                let cause = if wireless {
                    Cause::Wireless
                } else {
                    Cause::Congestion
                };
                if sender.acknowledged() + u64::from(ahead) < sender.next() {
                    sender.on_lost(sender.acknowledged() + u64::from(ahead), cause);
                }
            }
        }
        assert!(sender.acknowledged() <= sender.next());
        assert!(sender.cwnd() >= u64::from(options.segment_size.max(1)));
        if let Some(segments) = options.segments {
            assert!(sender.next() <= segments);
        }
    }
});

fn send(sender: &mut Sender, now: Time, most: u8) {
    for _ in 0..most {
        let una = sender.acknowledged();
        let Some(segment) = sender.poll_transmit(now) else {
            return;
        };
        assert!(segment.sequence >= una, "sent what is acknowledged");
    }
}
