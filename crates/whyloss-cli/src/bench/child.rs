//! Runs each measurement in a separate process. Its CPU time and peak memory belong to one
//! measurement, and it can be killed.
//!
//! `whyloss bench-child` (not shown in the help) runs one load and prints one line: `done PACKETS
//! CPU_SECONDS PEAK_KIB EVENTS WALL_SECONDS`. The script for ns-2 prints the first three values,
//! and the program for ns-3 the first four. Here, unlike there, the CPU time includes building the
//! engine's network from the scenario.

use std::fs;
use std::io::{self, Write};
use std::process::Command;
use std::time::{Duration, Instant};

use clap::Args;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use whyloss_sim::{Needs, Shortcut, Simulation};
use whyloss_validate::peers::{self, PeerError};

use super::error::BenchError;
use super::workload::{Load, Network};
use crate::error::CliError;

/// The time limit of a measurement. The longest one takes a minute on an idle machine.
const LIMIT: Duration = Duration::from_mins(10);

#[derive(Debug, Args)]
pub(crate) struct ChildArgs {
    network: Network,
    #[arg(long)]
    size: u32,
    #[arg(long)]
    seconds: Option<u32>,
    /// The number of seeds, starting with seed 1.
    #[arg(long)]
    runs: u64,
    #[arg(long)]
    threads: u16,
    #[arg(long)]
    sack: bool,
    /// The shortcuts of the engine to turn off.
    #[arg(long, value_parser = shortcut)]
    without: Vec<Shortcut>,
}

fn shortcut(name: &str) -> Result<Shortcut, String> {
    let mut all = Shortcut::ALL.into_iter();
    all.find(|shortcut| shortcut.name() == name).ok_or_else(|| {
        let names = Shortcut::ALL.map(Shortcut::name);
        format!(
            "no shortcut is called so; expected one of {}",
            names.join(", ")
        )
    })
}

/// The measurements of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Measured {
    pub(crate) packets: u64,
    pub(crate) cpu_seconds: f64,
    pub(crate) peak_bytes: u64,
    /// The number of events of the run; 0 if the simulator does not count them.
    pub(crate) events: u64,
    pub(crate) wall_seconds: f64,
}

impl Measured {
    /// Returns the number of packets delivered per CPU second.
    pub(crate) fn rate(&self) -> f64 {
        self.packets as f64 / self.cpu_seconds
    }
}

/// Runs the measurement in the child process, and prints its result as a line that starts with
/// `done`.
pub(crate) fn run(args: &ChildArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let load = Load {
        network: args.network,
        size: args.size,
        seconds: args.seconds,
        sack: args.sack,
    };
    let scenario = load.scenario()?;
    let one = |seed: u64| {
        // Simulate with the engine of `whyloss run`.
        let needs = Needs::all(&scenario);
        let run = Simulation::new(&scenario, seed);
        let without = args.without.iter();
        let run = without.fold(run, |run, &shortcut| run.without(shortcut));
        let run = run.measure(needs)?.measurement;
        let packets: u64 = run.flows.iter().map(|flow| flow.received).sum();
        Ok::<_, CliError>((packets, run.events))
    };
    let add = |a: (u64, u64), b: (u64, u64)| (a.0 + b.0, a.1 + b.1);
    let (began, before) = (now(), cpu_seconds()?);
    let (packets, events) = if args.threads == 1 {
        (1..=args.runs).try_fold((0, 0), |sum, seed| one(seed).map(|run| add(sum, run)))?
    } else {
        let threads = usize::from(args.threads);
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        let runs = || (1..=args.runs).into_par_iter().map(one);
        pool.install(|| runs().try_reduce(|| (0, 0), |a, b| Ok(add(a, b))))?
    };
    let (cpu, wall) = (cpu_seconds()? - before, now().duration_since(began));
    let wall = wall.as_secs_f64();
    let peak = peak_kib().unwrap_or(0);
    writeln!(out, "done {packets} {cpu:.9} {peak} {events} {wall:.9}")?;
    Ok(())
}

/// Returns the command line of the child process that measures a load.
pub(crate) fn command(load: &Load, runs: u64, threads: u16) -> Result<Command, BenchError> {
    let program = std::env::current_exe().map_err(BenchError::Itself)?;
    let mut command = Command::new(program);
    let network = clap::ValueEnum::to_possible_value(&load.network);
    command.arg("bench-child");
    command.args(network.iter().map(clap::builder::PossibleValue::get_name));
    command.args(["--size", &load.size.to_string()]);
    command.args(["--runs", &runs.to_string()]);
    command.args(["--threads", &threads.to_string()]);
    if let Some(seconds) = load.seconds {
        command.args(["--seconds", &seconds.to_string()]);
    }
    if load.sack {
        command.arg("--sack");
    }
    Ok(command)
}

/// Runs a process with this input and reads its measurements.
///
/// # Errors
/// Returns an error if the process does not start, does not end in time, fails, or does not report
/// its measurements.
pub(crate) fn measure(command: &mut Command, input: &str) -> Result<Measured, PeerError> {
    measured(&peers::run(command, input, LIMIT)?)
}

/// Reads the line that starts with `done` from the child's output.
///
/// # Errors
/// Returns an error if there is no such line.
pub(crate) fn measured(answer: &str) -> Result<Measured, PeerError> {
    let line = answer.lines().find_map(|line| line.strip_prefix("done "));
    let measured = line.and_then(read);
    measured.ok_or_else(|| PeerError::nonsense("what was measured", answer))
}

/// Reads the numbers of a line that starts with `done`.
fn read(line: &str) -> Option<Measured> {
    let numbers: Option<Vec<f64>> = line.split(' ').map(|word| word.parse().ok()).collect();
    let numbers = numbers?;
    let [packets, cpu_seconds, peak_kib, rest @ ..] = &numbers[..] else {
        return None;
    };
    let (events, wall_seconds) = match rest {
        [] => (0.0, 0.0),
        [events] => (*events, 0.0),
        [events, wall] => (*events, *wall),
        _ => return None,
    };
    // Without deliveries, a cost per packet is undefined.
    (*packets > 0.0 && *cpu_seconds > 0.0).then_some(Measured {
        packets: *packets as u64,
        cpu_seconds: *cpu_seconds,
        peak_bytes: *peak_kib as u64 * 1024,
        events: events as u64,
        wall_seconds,
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "speed on several cores is wall time"
)]
fn now() -> Instant {
    Instant::now()
}

/// Returns the CPU time of all threads of this process, in seconds.
#[cfg(unix)]
fn cpu_seconds() -> io::Result<f64> {
    use nix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?;
    Ok(time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9)
}

#[cfg(not(unix))]
fn cpu_seconds() -> io::Result<f64> {
    let why = "bench reads the CPU time of a process, which it can on Unix alone";
    Err(io::Error::new(io::ErrorKind::Unsupported, why))
}

/// Returns the peak memory of this process in RAM, as Linux reports it.
fn peak_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line?.trim().strip_suffix(" kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_back() {
        let ours = read("100 0.5 2048 400 0.75").expect("a line of ours");
        assert_eq!((ours.packets, ours.events), (100, 400));
        assert_eq!(ours.peak_bytes, 2 << 20);
        assert!((ours.rate() - 200.0).abs() < 1e-9);
        assert_eq!(read("100 0.5 2048").map(|ns2| ns2.events), Some(0));
        assert_eq!(read("100 0.5 2048 7").map(|ns3| ns3.events), Some(7));
        for bad in ["", "1 2", "1 2 x", "1 2 3 4 5 6", "0 1 2", "1 0 2"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_goes_wrong_is_said() {
        let shell = |script: &str| measure(Command::new("sh").args(["-c", script]), "");
        let failed = shell("echo no such thing >&2; exit 3").expect_err("exit 3");
        assert!(failed.to_string().contains("no such thing"), "{failed}");
        let silent = shell("echo hello").expect_err("no line");
        assert!(silent.to_string().contains("hello"), "{silent}");
    }
}
