//! `whyloss run`: simulates a scenario file, and prints what happened to each flow and on each link.
//!
//! Seeds run in parallel and are printed in order, so the output does not depend on the number of threads. After the
//! first Ctrl-C no further seed starts, and what has finished is printed; the second ends the command at once.

mod csv;
mod json;
mod results;
mod table;

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ValueEnum};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use whyloss_sim::media::StreamResult;
use whyloss_sim::scenario::{MOST_SEEDS, ScenarioFile};
use whyloss_sim::{
    Capture, Delays, Measurement, Media, Observer, RunError, Scenario, Trace, TraceOptions,
};
use whyloss_study::{Progress, report};

use self::results::{Results, Run};
use crate::error::CliError;
use crate::interrupt::stop_on_interrupt;
use crate::progress::Bar;

/// More threads than this only cost.
pub(crate) const MOST_JOBS: i64 = 1024;

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The scenario file (docs/scenarios.md).
    #[arg(value_name = "SCENARIO.toml")]
    scenario: PathBuf,
    /// The first seed [default: the file's, else 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: Option<u64>,
    /// How many seeds, counting up from the first [default: the file's, else 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_SEEDS))]
    seeds: Option<u64>,
    /// Change the scenario: `link.shared.rate=1 Mbit/s`, `flow.video.classifier=zbs2`. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    sets: Vec<(String, String)>,
    /// Threads [default: one per core]. The results do not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS))]
    jobs: Option<u16>,
    /// Write tables (CSV) of windows and rates, arrivals, losses and queues into this directory; with several seeds,
    /// into `seed-N` below it.
    #[arg(long, value_name = "DIR")]
    trace: Option<PathBuf>,
    /// Write a capture (pcapng) of each link into this directory; with several seeds, into `seed-N` below it.
    #[arg(long, value_name = "DIR")]
    pcap: Option<PathBuf>,
    /// Simulate plainly, one event per arrival and per timer: the same results, several times as slowly.
    #[arg(long)]
    plain: bool,
    /// What to print: tables for people, one JSON object, or CSV with one row per value and seed.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Table,
    Json,
    Csv,
}

/// No scenario file comes near.
const LARGEST_FILE: u64 = 16 << 20;

pub(crate) fn run(args: &RunArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let ScenarioFile {
        scenario,
        seed,
        seeds,
    } = read(&args.scenario, &args.sets)?;
    let first = args.seed.unwrap_or(seed);
    let seeds: Vec<u64> = (first..)
        .take(args.seeds.unwrap_or(seeds) as usize)
        .collect();
    for (option, dir) in [("--trace", &args.trace), ("--pcap", &args.pcap)] {
        if let Some(dir) = dir {
            report::prepare(dir).map_err(|source| CliError::Directory { option, source })?;
        }
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(args.jobs.map_or(0, usize::from))
        .build()?;
    let stop = stop_on_interrupt().map_err(CliError::Signal)?;
    let bar = Bar::new();
    bar.begin(&args.scenario.to_string_lossy(), 0, 1);
    bar.expect(seeds.len() as u64);
    let runs = pool.install(|| replicate(&scenario, &seeds, args, &stop, &bar));
    bar.clear();
    let runs = runs?;
    if !runs.is_empty() {
        let results = Results::new(&scenario, &runs);
        let text = match args.format {
            Format::Table => table::render(&results),
            Format::Json => json::render(&results, &args.scenario),
            Format::Csv => csv::render(&results),
        };
        out.write_all(text.as_bytes())?;
        out.flush()?;
    }
    if runs.len() == seeds.len() {
        return Ok(());
    }
    let name = format!("{} of {} seeds", runs.len(), seeds.len());
    Err(CliError::Interrupted {
        cut_short: vec![name],
        not_run: Vec::new(),
    })
}

pub(crate) fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().into(), value.into())),
        _ => Err("expected KEY=VALUE, such as `link.shared.rate=1 Mbit/s`".into()),
    }
}

fn read(path: &Path, sets: &[(String, String)]) -> Result<ScenarioFile, CliError> {
    let unreadable = |source| CliError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(LARGEST_FILE + 1).read_to_string(&mut text))
        .map_err(unreadable)?;
    if text.len() as u64 > LARGEST_FILE {
        let message = format!("it has more than {} MiB", LARGEST_FILE >> 20);
        return Err(unreadable(std::io::Error::other(message)));
    }
    Ok(ScenarioFile::parse(&text, &path.to_string_lossy(), sets)?)
}

/// The runs that finished before `stop` was set, with their seeds, in the order of `seeds`.
fn replicate(
    scenario: &Scenario,
    seeds: &[u64],
    args: &RunArgs,
    stop: &AtomicBool,
    progress: &dyn Progress,
) -> Result<Vec<Run>, CliError> {
    let below = |dir: &Path, seed: u64| match seeds {
        [_] => dir.to_owned(),
        _ => dir.join(format!("seed-{seed}")),
    };
    // Handed out one by one in order, so that a run stopped half-way has the first seeds.
    let mut runs: Vec<Option<Run>> = seeds
        .iter()
        .par_bridge()
        .map(|&seed| {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let trace = args.trace.as_deref().map(|dir| below(dir, seed));
            let pcap = args.pcap.as_deref().map(|dir| below(dir, seed));
            let run = one(
                scenario,
                seed,
                args.plain,
                trace.as_deref(),
                pcap.as_deref(),
            )?;
            progress.finish();
            Ok(Some(run))
        })
        .collect::<Result<_, CliError>>()?;
    runs.sort_by_key(|run| run.as_ref().map(|run| run.seed));
    Ok(runs.into_iter().flatten().collect())
}

fn one(
    scenario: &Scenario,
    seed: u64,
    plain: bool,
    trace: Option<&Path>,
    pcap: Option<&Path>,
) -> Result<Run, CliError> {
    let mut watched = (Delays::new(scenario), Media::new(scenario));
    let streams = watched.1.flows.iter().any(Option::is_some);
    let measurement = if trace.is_some() || pcap.is_some() {
        let trace = trace.map(|dir| Trace::create(scenario, dir, TraceOptions::default()));
        let pcap = pcap.map(|dir| Capture::create(scenario, dir));
        let mut observers = (watched, (trace.transpose()?, pcap.transpose()?));
        let measurement = simulate(scenario, seed, plain, &mut observers)?;
        let (trace, pcap) = observers.1;
        trace.map_or(Ok(()), Trace::finish)?;
        pcap.map_or(Ok(()), Capture::finish)?;
        watched = observers.0;
        measurement
    } else if streams {
        simulate(scenario, seed, plain, &mut watched)?
    } else {
        // Without frames to follow.
        simulate(scenario, seed, plain, &mut watched.0)?
    };
    let (delays, media) = watched;
    let frames = media.flows.iter();
    Ok(Run {
        seed,
        measurement,
        delays: delays.flows,
        frames: frames
            .map(|flow| flow.as_ref().map_or_else(Vec::new, StreamResult::counts))
            .collect(),
    })
}

fn simulate<O: Observer>(
    scenario: &Scenario,
    seed: u64,
    plain: bool,
    observer: &mut O,
) -> Result<Measurement, RunError> {
    if plain {
        whyloss_sim::run_plain(scenario, seed, observer)
    } else {
        whyloss_sim::run(scenario, seed, observer)
    }
}
