//! Fuzzes the sending end of a call with any reports in any order. The target must stay within its
//! bounds, and the pacer must not exceed the largest target.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use whyloss_rtc::bandwidth::Bandwidth;
use whyloss_rtc::media::packet::{Packet, SSRC};
use whyloss_rtc::media::{Feedback, HEADERS, Sender, Settings};
use whyloss_rtc::nada::Nada;
use whyloss_rtc::{Duration, Estimator, Time};

#[derive(Arbitrary, Debug)]
enum Operation {
    /// Advances the clock by this time, in µs, and sends the packets that are due.
    Wait(u16),
    Noise(Vec<u8>),
    /// Transport feedback of this format, with this body after the two SSRCs.
    Feedback(u8, Vec<u8>),
    /// An RFC 8888 report of packets before the last one: the raw metric of each, and a timestamp.
    Report(u16, Vec<u16>, u32),
    /// A NACK of numbers before the last one.
    Lost(u16, u16),
    Picture,
}

/// Returns an RTCP packet of this type and format, with this body after the two SSRCs.
fn rtcp(kind: u8, format: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x80 | format & 31, kind, 0, 0];
    bytes.extend((SSRC ^ 1).to_be_bytes());
    bytes.extend(SSRC.to_be_bytes());
    bytes.extend(body);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let words = (bytes.len() / 4 - 1) as u16;
    bytes[2..4].copy_from_slice(&words.to_be_bytes());
    bytes
}

fuzz_target!(|input: (bool, bool, Vec<Operation>)| {
    let (nada, rfc8888, operations) = input;
    let settings = Settings {
        feedback: if rfc8888 {
            Feedback::Rfc8888
        } else {
            Feedback::Twcc
        },
        ..Settings::default()
    };
    let (initial, least, most) = (settings.start, settings.least, settings.most);
    let fastest = settings.pacing * most;
    let estimator: Box<dyn Bandwidth> = if nada {
        Box::new(Nada::new(initial, least, most))
    } else {
        Box::new(Estimator::new(initial, least, most))
    };
    let start = Time::ZERO + Duration::from_secs(1);
    let full = settings.datagram as usize;
    let mut sender = Sender::new(settings, estimator, [1, 2, 3, 4], start);
    let (mut now, mut last, mut bits) = (start, 0_u16, 0.0);
    let mut datagram = Vec::new();
    for operation in operations {
        match operation {
            Operation::Wait(micros) => now += Duration::from_micros(i64::from(micros)),
            Operation::Noise(noise) => sender.receive(now, &noise),
            Operation::Feedback(format, body) => sender.receive(now, &rtcp(205, format, &body)),
            Operation::Report(back, metrics, stamp) => {
                let mut body = last.wrapping_sub(back).to_be_bytes().to_vec();
                body.extend((metrics.len() as u16).to_be_bytes());
                body.extend(metrics.iter().flat_map(|metric| metric.to_be_bytes()));
                body.resize(body.len().next_multiple_of(4), 0);
                body.extend(stamp.to_be_bytes());
                sender.receive(now, &rtcp(205, 11, &body));
            }
            Operation::Lost(back, mask) => {
                let lost = last.wrapping_sub(back);
                let body = [lost.to_be_bytes(), mask.to_be_bytes()].concat();
                sender.receive(now, &rtcp(205, 1, &body));
            }
            Operation::Picture => sender.receive(now, &rtcp(206, 1, &[])),
        }
        if sender.next_timeout() <= now {
            sender.wake(now);
        }
        while sender.poll_transmit(now, &mut datagram) {
            let packet = Packet::read(&datagram).expect("a packet of a call");
            assert!(datagram.len() <= full, "{}", datagram.len());
            last = packet.number;
            // The pacer was idle before this packet.
            let most = fastest * (now - start).as_secs_f64() * (1.0 + 1e-9) + 1.0;
            assert!(bits <= most, "{bits} bits, {most} at most");
            bits += 8.0 * (datagram.len() as f64 + f64::from(HEADERS));
            datagram.clear();
        }
        assert!((least..=most).contains(&sender.target()));
    }
});
