//! A sweep that is killed goes on where it was, and gives the rows that it would have given.
#![cfg(feature = "parquet")]

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use whyloss_link::Streams;
use whyloss_study::sweep::Store;

const SCENARIO: &str = r#"
duration = "8 s"
[[link]]
name = "air"
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "10 ms"
queue = { packets = 10 }
channel = { kind = "bernoulli", loss = 0.01 }
[[flow]]
name = "video"
from = "a"
to = "b"
packet = "1000 B"
transport = "tfrc"
classifier = "zigzag"
start = ["0 s", "500 ms"]
"#;
const PLAN: &str = r#"
scenario = "two-hosts.toml"
seeds = 40
metrics = ["total.throughput_bps", "total.sent", "total.mw"]
[[axis]]
name = "rate"
key = "link.air.rate"
values = ["1 Mbit/s", "2 Mbit/s", "3 Mbit/s", "4 Mbit/s"]
"#;
const RUNS: usize = 160;

fn sweep(directory: &Path, out: &str, jobs: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_whyloss"));
    let options = [
        "sweep",
        "plan.toml",
        "--out",
        out,
        "--jobs",
        jobs,
        "--every",
        "1 ms",
    ];
    command.args(options).current_dir(directory);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// How many rows there are in parts, none of them twice.
fn rows(out: &Path) -> usize {
    let mut keys = HashSet::new();
    let store = Store::open(out).expect("nobody writes there");
    let take = |part: &whyloss_study::sweep::Part| {
        for row in &part.rows {
            assert!(keys.insert(row.key), "a row is there twice");
        }
    };
    store.parts(take).expect("no part is torn");
    keys.len()
}

#[test]
fn killed_a_hundred_times() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("killed-sweep");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).expect("room");
    fs::write(directory.join("two-hosts.toml"), SCENARIO).expect("room");
    fs::write(directory.join("plan.toml"), PLAN).expect("room");
    assert!(
        sweep(&directory, "whole", "1")
            .status()
            .expect("starts")
            .success()
    );
    let whole = fs::read(directory.join("whole/rows.parquet")).expect("rows");

    let out = directory.join("killed");
    let mut random = Streams::new(1).stream("kills", 0);
    let (mut kills, mut finished, mut halfway, mut before) = (0, 0, 0, 0);
    while kills < 100 {
        let mut child = sweep(&directory, "killed", "2").spawn().expect("starts");
        sleep(Duration::from_micros(5_000 + random.below(40_000)));
        let ended = child.try_wait().expect("ours");
        child.kill().expect("ours");
        child.wait().expect("ours");
        kills += usize::from(ended.is_none());
        if !out.exists() {
            continue;
        }
        let now = rows(&out);
        assert!(now >= before, "rows are lost");
        halfway += usize::from(0 < now && now < RUNS && ended.is_none());
        before = now;
        if now == RUNS {
            assert!(
                sweep(&directory, "killed", "2")
                    .status()
                    .expect("starts")
                    .success()
            );
            assert!(
                fs::read(out.join("rows.parquet")).expect("rows") == whole,
                "the rows differ"
            );
            fs::remove_dir_all(&out).expect("ours");
            (finished, before) = (finished + 1, 0);
        }
    }
    // The kills came while it was at work.
    assert!(
        halfway >= 10,
        "{halfway} kills half-way, {finished} sweeps finished"
    );
    assert!(
        sweep(&directory, "killed", "2")
            .status()
            .expect("starts")
            .success()
    );
    assert!(
        fs::read(out.join("rows.parquet")).expect("rows") == whole,
        "the rows differ"
    );
    assert_eq!(rows(&out), RUNS);
    println!("{halfway} kills half-way, {finished} sweeps finished before the last");
}
