//! Fuzzes the parser of frames with any bytes and link type. It must return a packet or `None`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whyloss_diagnose::packet::Dissector;

fuzz_target!(|input: (Vec<(u16, u32, Vec<u8>)>, u8)| {
    let mut dissector = Dissector::default();
    for (link, length, bytes) in &input.0 {
        for link in [u32::from(*link), 0, 1, 9, 50, 51, 101, 113, 276] {
            let _ = dissector.packet(link, *length, bytes);
        }
    }
});
