//! Fuzzes the reader of qlogs with any JSON.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use whyloss_diagnose::{Options, diagnose, report};

fuzz_target!(|data: &[u8]| {
    let mut log = b"{\"qlog_version\":\"0.3\",\"trace\":{}}\n".to_vec();
    log.extend(data);
    for input in [data.to_vec(), log] {
        let options = Options {
            connections: 4,
            flows: 4,
            ..Options::default()
        };
        if let Ok(diagnosis) = diagnose(Box::new(Cursor::new(input)), options) {
            let _ = report::text::render(&diagnosis, None);
        }
    }
});
