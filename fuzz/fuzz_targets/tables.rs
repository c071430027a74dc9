//! Any bytes as the tables of a simulated run: a diagnosis or a sentence.
//!
//! The tables follow one another, a zero byte between them.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use whyloss_diagnose::{Options, diagnose_path, report};

fuzz_target!(|bytes: &[u8]| {
    let directory =
        std::env::temp_dir().join(format!("whyloss-fuzz-tables-{}", std::process::id()));
    fs::create_dir_all(&directory).expect("a directory");
    let mut tables = bytes.split(|&byte| byte == 0);
    for name in ["arrivals.csv", "losses.csv", "sources.csv"] {
        fs::write(directory.join(name), tables.next().unwrap_or_default()).expect("a table");
    }
    let options = Options {
        connections: 4,
        flows: 4,
        ..Options::default()
    };
    if let Ok(diagnosis) = diagnose_path(&directory, options) {
        let _ = report::text::render(&diagnosis, None);
        let _ = report::csv::render(&diagnosis, None);
    }
});
