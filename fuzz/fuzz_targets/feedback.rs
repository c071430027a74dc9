//! Fuzzes the parser of RTCP feedback (transport-wide and RFC 8888) with any bytes. It may report
//! only packets that were sent.
//!
//! The input is a list of RTCP packets. Each follows a byte with the number of packets sent before
//! it, and two bytes with its length.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whyloss_rtc::feedback::Session;
use whyloss_rtc::{Estimator, Time};

fuzz_target!(|input: &[u8]| {
    let mut session = Session::new(Estimator::new(1e6, 1e5, 1e7));
    let (mut rest, mut number, mut now) = (input, 65_500_u16, 1_u64 << 32);
    while let [departures, high, low, behind @ ..] = rest {
        for _ in 0..*departures {
            now += 1_000_000;
            session.on_sent(number, Time::from_nanos(now), 1_200);
            number = number.wrapping_add(1);
        }
        let length = usize::from(u16::from_be_bytes([*high & 7, *low])).min(behind.len());
        session.on_rtcp(Time::from_nanos(now + 30_000_000), &behind[..length]);
        let target = session.estimator().target();
        assert!((1e5..=1e7).contains(&target), "{target}");
        rest = &behind[length..];
    }
});
