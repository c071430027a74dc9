//! Fuzzes the reader of simulated runs with any bytes as tables. It must return a diagnosis or an
//! error.
//!
//! The input holds the tables, separated by zero bytes.
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
