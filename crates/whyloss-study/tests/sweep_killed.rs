//! Checks that a killed sweep resumes, and ends with the same rows as an undisturbed one.
#![cfg(feature = "sweep")]

use std::collections::HashSet;
use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::Duration;

use whyloss_link::Streams;
use whyloss_study::experiment::Unwatched;
use whyloss_study::sweep::{Part, Plan, Store, Sweep};

const SCENARIO: &str = include_str!("two-hosts.toml");
const PLAN: &str = r#"
seeds = 40
metrics = ["total.throughput_bps", "total.sent", "total.mw"]
[set]
duration = "8 s"
[[axis]]
name = "rate"
key = "link.air.rate"
values = ["1 Mbit/s", "2 Mbit/s", "3 Mbit/s", "4 Mbit/s"]
"#;
const RUNS: usize = 160;

/// The environment variable with the directory of the process to be killed.
const OUT: &str = "WHYLOSS_TEST_SWEEP_OUT";

/// Returns a process for the sweep: this program again, restricted to the test below.
fn sweep(out: &Path, jobs: usize) -> Command {
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args(["--exact", "the_sweep_that_is_killed", "--ignored"]);
    command
        .env(OUT, out)
        .env("RAYON_NUM_THREADS", jobs.to_string());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Runs the sweep like `whyloss sweep`, without output.
#[test]
#[ignore = "run by the other test, which kills it"]
fn the_sweep_that_is_killed() {
    let Some(out) = env::var_os(OUT) else {
        return;
    };
    let plan = Plan::of_scenario(PLAN, "plan.toml", SCENARIO.into(), "two-hosts.toml".into());
    let mut sweep = Sweep::new(plan.expect("a plan")).expect("valid");
    let store = Store::open(Path::new(&out)).expect("nobody else writes there");
    store.parts(|part| sweep.learn(part)).expect("whole parts");
    let (stop, every) = (AtomicBool::new(false), Duration::from_millis(1));
    let ran = sweep.run(Some(&store), every, &Unwatched, &stop);
    ran.expect("room");
    store.put_rows(&sweep.rows()).expect("room");
}

/// Counts the rows in all parts, after a check that none occurs twice.
fn rows(out: &Path) -> usize {
    let mut keys = HashSet::new();
    let store = Store::open(out).expect("nobody writes there");
    let take = |part: &Part| {
        for row in &part.rows {
            assert!(keys.insert(row.key), "a row is there twice");
        }
    };
    store.parts(take).expect("no part is torn");
    keys.len()
}

/// Counts the parts.
fn count(out: &Path) -> usize {
    let entries = fs::read_dir(out.join("parts"));
    let names = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    names
        .filter(|path| path.extension().is_some_and(|end| end == "parquet"))
        .count()
}

#[test]
fn killed_a_hundred_times() {
    let directory = tempfile::tempdir().expect("a directory");
    let (whole, out) = (
        directory.path().join("whole"),
        directory.path().join("killed"),
    );
    let finish = |out: &Path, jobs| {
        assert!(sweep(out, jobs).status().expect("starts").success());
        fs::read(out.join("rows.parquet")).expect("rows")
    };
    let whole = finish(&whole, 1);
    let mut random = Streams::new(1).stream("kills", 0);
    let (mut kills, mut finished, mut halfway, mut before) = (0, 0, 0, 0);
    while kills < 100 {
        let mut child = sweep(&out, 2).spawn().expect("starts");
        // Most processes are killed after their first write, however slow the machine is; some are
        // killed at any time.
        let written = count(&out);
        let mut ended = None;
        while kills % 4 > 0 && ended.is_none() && count(&out) == written {
            sleep(Duration::from_millis(1));
            ended = child.try_wait().expect("ours");
        }
        sleep(Duration::from_micros(random.below(20_000)));
        ended = ended.or(child.try_wait().expect("ours"));
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
            assert!(finish(&out, 2) == whole, "the rows differ");
            fs::remove_dir_all(&out).expect("ours");
            (finished, before) = (finished + 1, 0);
        }
    }
    // The kills interrupted the sweep rather than an idle process.
    assert!(
        halfway >= 10,
        "{halfway} kills half-way, {finished} sweeps finished"
    );
    assert!(finish(&out, 2) == whole, "the rows differ");
    assert_eq!(rows(&out), RUNS);
    println!("{halfway} kills half-way, {finished} sweeps finished before the last");
}
