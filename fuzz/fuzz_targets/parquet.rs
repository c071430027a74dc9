//! Fuzzes the readers of Parquet files with any bytes: logs of emulated links, tables of simulated
//! runs, and parts of sweeps.
//!
//! The first byte selects the reader.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use whyloss_diagnose::{Options, diagnose_path, report};
use whyloss_study::sweep::Part;

fuzz_target!(|input: &[u8]| {
    let Some((kind, bytes)) = input.split_first() else {
        return;
    };
    if kind % 3 == 2 {
        let _ = Part::from_parquet(bytes.to_vec());
        return;
    }
    let process = std::process::id();
    let directory =
        std::env::temp_dir().join(format!("whyloss-fuzz-parquet-{process}-{}", kind % 3));
    fs::create_dir_all(&directory).expect("a directory");
    let table = if kind % 3 == 0 {
        "packets.parquet"
    } else {
        let losses = "time_s,flow,sequence,where,truth,sent_s\n1,f,1,l,congestion,0\n";
        fs::write(directory.join("losses.csv"), losses).expect("a table");
        "arrivals.parquet"
    };
    fs::write(directory.join(table), bytes).expect("a table");
    let options = Options {
        connections: 4,
        flows: 4,
        ..Options::default()
    };
    if let Ok(diagnosis) = diagnose_path(&directory, options) {
        let _ = report::text::render(&diagnosis, None);
    }
});
