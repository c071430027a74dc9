//! Fuzzes the diagnosis of RTP and RTCP with any datagrams. It must end in bounded memory.
//!
//! The input is a list of datagrams. Each follows a byte with its direction and the time since the
//! last one, and two bytes with its length. So the fuzzer need not learn the formats of captures
//! and IP headers.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use whyloss_diagnose::{Options, diagnose, report};

/// Wraps a datagram in IPv4 and UDP headers, with lengths and without checksums.
fn datagram(back: bool, payload: &[u8]) -> Vec<u8> {
    let mut ends = [[192, 0, 2, 1], [192, 0, 2, 2]];
    if back {
        ends.reverse();
    }
    let mut bytes = vec![0x45, 0];
    bytes.extend((28 + payload.len() as u16).to_be_bytes());
    bytes.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    bytes.extend(ends.concat());
    bytes.extend([0x13, 0x8c, 0x13, 0x8c]);
    bytes.extend((8 + payload.len() as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(payload);
    bytes
}

fuzz_target!(|input: &[u8]| {
    // pcap's header: microseconds, raw IP.
    let mut capture = vec![
        0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0,
    ];
    let (mut rest, mut now) = (input, 0_u32);
    while let [how, high, low, behind @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high & 7, *low])).min(behind.len());
        now += u32::from(*how >> 1) * 1000;
        let bytes = datagram(how & 1 == 1, &behind[..length]);
        capture.extend((now / 1_000_000).to_le_bytes());
        capture.extend((now % 1_000_000).to_le_bytes());
        capture.extend((bytes.len() as u32).to_le_bytes());
        capture.extend((bytes.len() as u32).to_le_bytes());
        capture.extend(bytes);
        rest = &behind[length..];
    }
    let options = Options {
        connections: 8,
        flows: 8,
        ..Options::default()
    };
    if let Ok(diagnosis) = diagnose(Box::new(Cursor::new(capture)), options) {
        // Only as text, because the target `capture` renders JSON.
        let _ = report::text::render(&diagnosis, None);
    }
});
