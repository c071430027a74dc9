//! Fuzzes the reader of trace files with any bytes. It must not panic, and a trace that it reads
//! must survive being written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whyloss_link::channel::trace_file;

fuzz_target!(|text: &[u8]| {
    if let Ok(pattern) = trace_file::parse(text) {
        let written = trace_file::to_text(&pattern);
        assert_eq!(trace_file::parse(written.as_bytes()), Ok(pattern));
    }
});
