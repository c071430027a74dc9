//! Fuzzes a TCP receiver with any options, segments and timers in any order, and compares its state
//! with a set of the arrived segments.
#![no_main]

use std::collections::BTreeSet;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use whyloss::{Duration, Time};
use whyloss_sim::host::tcp::{Ack, Options, Receiver, Recovery, Segment};

#[derive(Arbitrary, Debug)]
struct Input {
    ns2: bool,
    recovery: u8,
    window: u8,
    delayed_ack: Option<u32>,
    handshake: bool,
    /// The distance of each segment from the next expected one, its timestamp, and the time since
    /// the previous one.
    segments: Vec<(i8, u32, u32)>,
}

fuzz_target!(|input: Input| {
    let recovery = [Recovery::Sack, Recovery::NewReno, Recovery::Rack];
    let recovery = recovery[usize::from(input.recovery) % recovery.len()];
    let window = u32::from(input.window).max(1);
    let base = if input.ns2 {
        Options::ns2(recovery, 1000, window)
    } else {
        Options {
            recovery,
            receive_window: window,
            ..Options::rfc(1000)
        }
    };
    let options = Options {
        delayed_ack: input
            .delayed_ack
            .map(|nanos| Duration::from_nanos(nanos.into())),
        handshake: input.handshake,
        ..base
    };
    let mut receiver = Receiver::new(&options);
    let mut arrived = BTreeSet::new();
    let (mut now, mut acked, mut next) = (Time::ZERO, 0, 0);
    let mut check = |ack: Option<Ack>, next: u64, arrived: &BTreeSet<u64>| {
        let Some(ack) = ack else {
            return;
        };
        assert_eq!(ack.next, next, "what is in order is acknowledged");
        assert!(ack.next >= acked, "never taken back");
        acked = ack.next;
        let twice = ack.duplicate();
        assert!(twice.is_none() || recovery == Recovery::Rack);
        for block in ack.sacked().skip(usize::from(twice.is_some())) {
            assert!(block.start > ack.next);
            assert!(block.clone().all(|segment| arrived.contains(&segment)));
        }
    };
    for (step, stamp, later) in input.segments {
        now += Duration::from_nanos(later.into());
        if receiver.next_timeout() <= now {
            let due = receiver.on_timeout(now);
            assert!(due.is_some() && receiver.next_timeout() == Time::MAX);
            check(due, next, &arrived);
        }
        let sequence = next.saturating_add_signed(step.into());
        if sequence < next + u64::from(window) {
            arrived.insert(sequence);
        }
        let segment = Segment {
            sequence,
            stamp: Time::from_nanos(stamp.into()),
            retransmission: false,
        };
        let ack = receiver.on_segment(now, &segment);
        while arrived.contains(&next) {
            next += 1;
        }
        assert_eq!(receiver.in_order(), next);
        check(ack, next, &arrived);
        assert!(
            ack.is_some() || receiver.next_timeout() < Time::MAX,
            "nobody would hear of it"
        );
    }
});
