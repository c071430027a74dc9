//! Fuzzes the bandwidth estimator with calls in any order. Its target must stay finite and within
//! its bounds.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use whyloss_rtc::{Cause, Ecn, Estimator, Fate, Report, Time};

#[derive(Arbitrary, Debug)]
enum Operation {
    /// Reports of packets, this many nanoseconds after the previous ones.
    Reports(u32, Vec<Packet>),
    Jump(u64),
    Timeout(u32),
}

#[derive(Arbitrary, Debug)]
struct Packet {
    /// The difference from the previous number.
    ahead: i8,
    /// The age of the packet, in ns.
    age: u32,
    size: u16,
    fate: Told,
}

#[derive(Arbitrary, Debug)]
enum Told {
    Arrived(u64, u8),
    Somewhen(u8),
    Lost(Option<bool>),
}

fuzz_target!(|input: (f64, f64, f64, Vec<Operation>)| {
    let (initial, one, other, operations) = input;
    let mut estimator = Estimator::new(initial, one, other);
    let sound = |rate: f64| if rate > 0.0 { rate.min(1e12) } else { 0.0 };
    let bounds = sound(one).min(sound(other))..=sound(one).max(sound(other));
    let (mut now, mut id) = (1_u64 << 40, 1_u64 << 32);
    for operation in operations {
        match operation {
            Operation::Jump(to) => now = to,
            Operation::Timeout(later) => {
                now = now.saturating_add(u64::from(later));
                estimator.timeout(Time::from_nanos(now));
            }
            Operation::Reports(later, packets) => {
                now = now.saturating_add(u64::from(later));
                let reports: Vec<Report> = packets
                    .iter()
                    .map(|packet| {
                        id = id.saturating_add_signed(i64::from(packet.ahead));
                        let cause = Cause::congestion_if;
                        Report {
                            id,
                            departed: Time::from_nanos(now.saturating_sub(u64::from(packet.age))),
                            size: u32::from(packet.size),
                            fate: match packet.fate {
                                Told::Arrived(at, bits) => {
                                    Fate::Arrived(Some(Time::from_nanos(at)), Ecn::from_bits(bits))
                                }
                                Told::Somewhen(bits) => Fate::Arrived(None, Ecn::from_bits(bits)),
                                Told::Lost(told) => Fate::Lost(told.map(cause)),
                            },
                        }
                    })
                    .collect();
                estimator.on_reports(Time::from_nanos(now), reports);
            }
        }
        assert!(bounds.contains(&estimator.target()));
        assert!(estimator.stats().queue.is_finite() && estimator.stats().capacity.is_finite());
    }
});
