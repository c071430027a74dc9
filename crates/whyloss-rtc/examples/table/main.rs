//! Compares the estimator with GCC in the closed loop of rtc-interceptor's bench. Prints the table
//! of `docs/guides/rtc.md`.
//!
//! ```text
//! cargo run --release -p whyloss-rtc --features rtc-interceptor --example table
//!     --check docs/guides/rtc.md        exits with 1 if the page shows another table
//!     --picture FILE.svg         draws target and queue of one path over time
//!     --judge [FILE.csv]         compares with the estimator that gets the true causes, on drawn networks of other
//!                                rates and seeds; losses may come from a column `received` of ones and zeros
//! ```

mod judge;
mod path;
mod peers;
mod picture;
mod run;

use path::{Channel, Cross, Full, Path};
use peers::{Peer, Theirs, Whyloss};
use run::Outcome;
use std::fmt::Write;
use std::process::ExitCode;

const LEAST: f64 = 100e3;
const MOST: f64 = 100e6;

/// A row of the table: its path, the first target, and the duration in seconds.
struct Row {
    name: &'static str,
    path: Path,
    initial: f64,
    duration: f64,
}

fn rows() -> Vec<Row> {
    let bench = |capacity: f64, queue: f64| Path {
        full: Full::SinceEmpty(queue),
        ..Path::new(capacity)
    };
    let three = || bench(3e6, 3e6);
    let row = |name, path, initial, duration| Row {
        name,
        path,
        initial,
        duration,
    };
    let lossy = |channel| Path {
        channel,
        ..Path::new(3e6)
    };
    let nth = |n| Path {
        channel: Channel::Nth(n),
        ..three()
    };
    let widening = Path {
        step: Some((15.0, 5.0)),
        ..bench(0.6e6, 6e6)
    };
    let narrowing = Path {
        step: Some((15.0, 0.3)),
        ..lossy(Channel::Random(0.03))
    };
    let cross = Path {
        cross: Cross::OnOff(1e6, 2.0),
        ..lossy(Channel::Random(0.05))
    };
    let jitter = Path {
        jitter: 0.020,
        ..lossy(Channel::Random(0.03))
    };
    let shallow = Path {
        full: Full::Waiting(0.020 * 3e6),
        ..Path::new(3e6)
    };
    // The policer has room for one packet and drops early packets without delaying others.
    let policer = Path {
        full: Full::Waiting(1.5 * run::PACKET),
        ..lossy(Channel::Random(0.05))
    };
    let fast = Path {
        channel: Channel::Random(0.02),
        ..Path::new(20e6)
    };
    vec![
        row("steady*", three(), 0.3e6, 30.0),
        row("every 20th packet lost*", nth(20), 1.2e6, 30.0),
        row("every 5th packet lost*", nth(5), 1.2e6, 30.0),
        row(
            "first target 4 times the capacity*",
            bench(0.3e6, 6e6),
            1.2e6,
            30.0,
        ),
        row("capacity grows fivefold*", widening, 1.2e6, 40.0),
        row("capacity falls to 30 %, 3 % loss", narrowing, 1.2e6, 30.0),
        row(
            "6 % loss in bursts of 4",
            lossy(Channel::Bursts(0.06, 4.0)),
            1.2e6,
            30.0,
        ),
        row("other traffic on and off, 5 % loss", cross, 1.2e6, 30.0),
        row("jitter of 20 ms, 3 % loss", jitter, 1.2e6, 30.0),
        row("buffer of 20 ms", shallow, 1.2e6, 30.0),
        row("policer, 5 % loss", policer, 1.2e6, 30.0),
        row("20 Mbit/s, 2 % loss", fast, 1.2e6, 60.0),
        row("10 % loss", lossy(Channel::Random(0.10)), 1.2e6, 30.0),
    ]
}

/// Returns the share used and lost in %, the queueing delay in ms, and the time to converge in s.
fn cells(outcome: &Outcome, goal: f64) -> [String; 4] {
    let (from, to) = outcome.tail();
    let (_, p95) = outcome.waits((from, to));
    let within = outcome.converged(goal);
    [
        format!("{:.1}", 100.0 * outcome.used(from, to)),
        format!("{:.1}", 100.0 * outcome.lost()),
        format!("{:.0}", 1e3 * p95.max(0.0)),
        within.map_or_else(|| "never".to_owned(), |at| format!("{at:.1}")),
    ]
}

fn table() -> String {
    let mut text = String::from(
        "| path | used (%): whyloss/GCC | lost (%): whyloss/GCC | queue (ms): whyloss/GCC | to converge (s): whyloss/GCC |\n|---|---|---|---|---|\n",
    );
    for row in rows() {
        let goal = row.path.capacity_at(row.duration);
        let mut ours = Whyloss::new(row.initial, false);
        let mut gcc = Theirs::new(row.initial, LEAST, MOST);
        let [ours, gcc] = [&mut ours as &mut dyn Peer, &mut gcc]
            .map(|peer| cells(&run::run(&row.path, row.duration, 1, peer), goal));
        let _ = write!(text, "| {} |", row.name);
        for (ours, gcc) in ours.into_iter().zip(gcc) {
            let _ = write!(text, " {ours}/{gcc} |");
        }
        text.push('\n');
    }
    text
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        [] => {
            print!("{}", table());
            Ok(())
        }
        ["--check", page] => check(page),
        ["--picture", file] => picture::draw(file),
        ["--judge"] => judge::judge(None),
        ["--judge", file] => judge::judge(Some(file)),
        _ => {
            eprintln!("table: expected --check PAGE, --picture FILE, --judge [FILE], or nothing");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("table: {message}");
            ExitCode::FAILURE
        }
    }
}

fn check(page: &str) -> Result<(), String> {
    let text =
        std::fs::read_to_string(page).map_err(|error| format!("cannot read {page}: {error}"))?;
    let table = table();
    if text.contains(&table) {
        return Ok(());
    }
    Err(format!(
        "{page} shows another table than this run:\n{table}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A policer drops packets without a queue, so its losses look like a radio's 5 %.
    #[test]
    fn a_policer_takes_little_under_any_seed() {
        let all = rows();
        let row = all.iter().find(|row| row.name.starts_with("policer"));
        let row = row.expect("a policer");
        for seed in 1..=5 {
            let mut ours = Whyloss::new(row.initial, false);
            let outcome = run::run(&row.path, row.duration, seed, &mut ours);
            let (from, to) = outcome.tail();
            let (used, lost) = (outcome.used(from, to), outcome.lost());
            assert!(
                used > 0.9 && lost < 0.1,
                "seed {seed}: {used} used, {lost} lost"
            );
        }
    }
}
