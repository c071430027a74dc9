//! Fuzzes the loss tracker with any packets, for sequence numbers of any width.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use whyloss::losses::LossTracker;
use whyloss::receiver::{Arrival, zbs::Zbs};
use whyloss::stamps::StampClock;
use whyloss::{Duration, Time};

#[derive(Arbitrary, Debug)]
struct Input {
    bits: u32,
    packets: Option<u64>,
    span: Option<i64>,
    longest_jump: Option<u64>,
    rate: u32,
    /// The step of the sequence number, the timestamp, and the arrival time of each packet.
    arrivals: Vec<(i16, u32, u32, u64)>,
}

fuzz_target!(|input: Input| {
    let mut tracker = LossTracker::new(Zbs::zbs3(), input.bits);
    if let Some(packets) = input.packets {
        tracker = tracker.wait_for_packets(packets);
    }
    if let Some(span) = input.span {
        tracker = tracker.wait_for(Duration::from_nanos(span));
    }
    if let Some(jump) = input.longest_jump {
        tracker = tracker.longest_jump(jump);
    }
    let mut clock = StampClock::new(input.bits, input.rate);
    let mut number = 0_u64;
    for (step, jump, stamp, at) in input.arrivals {
        number = number
            .wrapping_add_signed(step.into())
            .wrapping_add(if jump % 64 == 0 { jump.into() } else { 0 });
        let (sent, received) = (clock.time(stamp), Time::from_nanos(at));
        let arrival = Arrival::new(number, sent, received, 200);
        tracker.on_packet(&arrival, |loss| assert!(loss.count > 0));
        let due = tracker.next_timeout();
        tracker.on_timeout(due, |loss| assert!(loss.count > 0));
        assert!(due == Time::MAX || tracker.next_timeout() > due);
    }
});
