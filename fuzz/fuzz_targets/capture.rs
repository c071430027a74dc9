//! Fuzzes the reader of captures and logs with any bytes. It must return a diagnosis or an error,
//! in bounded memory.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use whyloss_diagnose::{Options, diagnose, report};

fuzz_target!(|bytes: &[u8]| {
    let options = Options {
        connections: 8,
        flows: 8,
        ..Options::default()
    };
    if let Ok(diagnosis) = diagnose(Box::new(Cursor::new(bytes.to_vec())), options) {
        let _ = report::text::render(&diagnosis, None);
        let _ = report::json::render(&diagnosis, None);
        let _ = report::csv::render(&diagnosis, None);
    }
});
