//! `whyloss run`: simulates a scenario file and prints the results of each flow and link.
//!
//! Seeds run in parallel and are printed in order, so the output does not depend on the number of
//! threads. The first Ctrl-C stops the running seeds, and finished results are printed. The second
//! Ctrl-C ends the command immediately.

mod csv;
mod one;
mod page;
pub(crate) mod picture;
mod table;
mod watch;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ValueEnum};
use rayon::prelude::*;
use whyloss_sim::output::create_below;
use whyloss_sim::scenario::{MOST_SEEDS, ScenarioFile, read_file, read_text};
use whyloss_sim::{Registry, Scenario};
use whyloss_study::report;

use self::one::{Done, Plan, WriteArgs, one};
use self::page::Source;
use self::picture::{Shared, Timeline};
use crate::error::CliError;
use crate::interrupt::stop_on_interrupt;
use crate::live::Live;
use crate::progress::Simulated;
use crate::threads::{self, MOST_JOBS};
use whyloss_study::results::{Results, Seed};

const HELP: &str = "Example: whyloss run scenario.toml --set link.radio.channel.loss=0.01 --seeds 10 --out results";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct RunArgs {
    /// Scenario file; `-` is standard input. `whyloss schema` prints all keys.
    #[arg(value_name = "SCENARIO.toml")]
    scenario: PathBuf,
    /// First seed [default: from the file, or 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: Option<u64>,
    /// Number of consecutive seeds to run [default: from the file, or 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_SEEDS))]
    seeds: Option<u64>,
    /// Override a key of the scenario, such as `link.shared.delay=20ms` or
    /// `flow.video.classifier=trees`; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    sets: Vec<(String, String)>,
    /// Number of threads [default: one per core]. Does not affect results.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS))]
    jobs: Option<u16>,
    #[command(flatten)]
    write: WriteArgs,
    /// Write an HTML page to this directory, with tables, every flow and link over time, figures
    /// (SVG) and results (CSV, JSON).
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Serve the results page on localhost from the start of the run until Ctrl-C, and print its
    /// address.
    #[arg(long)]
    live: bool,
    /// Simulate event by event, without shortcuts. Gives the same results, several times slower.
    #[arg(long)]
    plain: bool,
    /// Output format: tables, one JSON object, or CSV with one row per value and seed.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Table,
    Json,
    Csv,
}

/// The number of seeds whose flows and links are drawn over time. Tracing them makes a run several
/// times slower.
const SEEDS_DRAWN: usize = 4;

/// The maximum number of results until all seeds are done, with 16 bytes each: 512 MiB, and the
/// same again for sorting them by metric.
const MOST_VALUES: usize = 1 << 25;

pub(crate) fn run(
    args: &RunArgs,
    registry: &Registry,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let text = read(&args.scenario, "scenario")?;
    let name = args.scenario.to_string_lossy();
    let ScenarioFile {
        scenario,
        seed,
        seeds,
    } = ScenarioFile::parse_with(&text, &name, &args.sets, registry)?;
    let first = args.seed.unwrap_or(seed);
    let seeds: Vec<u64> = (first..)
        .take(args.seeds.unwrap_or(seeds) as usize)
        .collect();
    let values = Seed::size(&scenario).saturating_mul(seeds.len());
    if values > MOST_VALUES {
        return Err(CliError::TooManyValues {
            seeds: seeds.len(),
            of_each: Seed::size(&scenario),
            most: MOST_VALUES,
        });
    }
    for (option, dir) in [
        ("--trace", &args.write.trace),
        ("--pcap", &args.write.pcap),
        ("--out", &args.out),
    ] {
        if let Some(dir) = dir {
            report::renew(dir).map_err(|source| CliError::Directory { option, source })?;
        }
    }
    let pool = threads::pool(args.jobs)?;
    let stop = stop_on_interrupt().map_err(CliError::Signal)?;
    let bar = Simulated::new(&name, seeds.len() as u64, scenario.end);
    let live = args.live.then(Live::start).transpose()?;
    let timelines: Vec<Shared> = seeds
        .iter()
        .take(if args.out.is_some() { SEEDS_DRAWN } else { 1 })
        .filter(|_| args.out.is_some() || args.live)
        .map(|_| Shared::new(Timeline::new(&scenario)))
        .collect();
    let job = Job {
        scenario: &scenario,
        seeds: &seeds,
        args,
        timelines: &timelines,
        stop: &stop,
        bar: &bar,
    };
    let simulate = || pool.install(|| replicate(&job));
    let done = match &live {
        Some(live) => watch::follow(live, &job, simulate),
        None => simulate(),
    };
    bar.clear();
    let done = done?;
    let (finished, done): (Vec<Option<Seed>>, Vec<Done>) = done
        .into_iter()
        .map(|mut done| (done.results.take(), done))
        .unzip();
    let finished: Vec<Seed> = finished.into_iter().flatten().collect();
    let count = finished.len();
    if count > 0 {
        let results = Results::of(&scenario, &finished);
        drop(finished);
        let text_of = match args.format {
            Format::Table => table::render(&results),
            Format::Json => whyloss_study::results::json::render(&results, &args.scenario),
            Format::Csv => csv::render(&results),
        };
        match out.write_all(text_of.as_bytes()).and_then(|()| out.flush()) {
            // The reader closed the pipe, but the page is still wanted.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe && args.out.is_some() => {}
            printed => printed?,
        }
        let source = Source {
            text: &text,
            command: args.command(),
            timelines: (results.seeds.iter().copied())
                .zip(done.iter().filter(|done| done.reached >= scenario.end))
                .filter_map(|(seed, done)| Some((seed, done.timeline.as_ref()?)))
                .collect(),
        };
        if let Some(dir) = &args.out {
            page::write(dir, &scenario, &results, &source, &args.scenario)?;
        }
        if let Some(live) = &live {
            live.show(&page::render(
                None,
                &scenario,
                &results,
                &source,
                &args.scenario,
            )?);
        }
    }
    if live.is_some() {
        watch::stay(&stop);
    }
    conclude(&scenario, &seeds, &done, count, args)
}

/// Returns an error if runs were interrupted or files could not be written. Called after all
/// output.
fn conclude(
    scenario: &Scenario,
    seeds: &[u64],
    done: &[Done],
    finished: usize,
    args: &RunArgs,
) -> Result<(), CliError> {
    if finished < seeds.len() {
        let reached = done.iter().find(|done| done.reached < scenario.end);
        let kept = [
            (&args.write.trace, "traces"),
            (&args.write.pcap, "captures"),
        ];
        let kept = kept.iter().filter(|(dir, _)| dir.is_some());
        return Err(CliError::Stopped {
            finished,
            asked: seeds.len(),
            reached: reached.map(|done| done.reached.as_secs_f64()),
            end: scenario.end.as_secs_f64(),
            kept: kept.map(|&(_, what)| what).collect(),
        });
    }
    let mut unwritten = done.iter().filter_map(|done| done.unwritten.as_ref());
    match unwritten.next() {
        None => Ok(()),
        Some(first) => Err(CliError::Unwritten {
            first: first.to_string(),
            seeds: 1 + unwritten.count(),
        }),
    }
}

impl RunArgs {
    /// Returns the command line that gives the same results.
    fn command(&self) -> String {
        let mut words = vec!["whyloss".to_owned(), "run".to_owned()];
        words.push(self.scenario.to_string_lossy().into_owned());
        let numbers = [("--seed", self.seed), ("--seeds", self.seeds)];
        for (option, value) in numbers {
            words.extend(
                value
                    .into_iter()
                    .flat_map(|value| [option.to_owned(), value.to_string()]),
            );
        }
        for (key, value) in &self.sets {
            words.extend(["--set".to_owned(), format!("{key}={value}")]);
        }
        page::command(words)
    }
}

pub(crate) fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().into(), value.into())),
        _ => Err("expected KEY=VALUE, such as `link.shared.rate=1 Mbit/s`".into()),
    }
}

/// Reads a text file; `-` is standard input. `kind` names the file in errors.
pub(crate) fn read(path: &Path, kind: &'static str) -> Result<String, CliError> {
    let unreadable = |source| CliError::Unreadable {
        kind,
        path: path.to_owned(),
        source,
    };
    let read = if path == Path::new("-") {
        read_text(io::stdin().lock())
    } else {
        read_file(path)
    };
    read.map_err(unreadable)
}

/// The runs to simulate, with their options.
#[derive(Clone, Copy)]
struct Job<'a> {
    scenario: &'a Scenario,
    seeds: &'a [u64],
    args: &'a RunArgs,
    /// The timelines of the first seeds.
    timelines: &'a [Shared],
    stop: &'a AtomicBool,
    bar: &'a Simulated,
}

/// Runs the seeds until `stop` is set. Returns the outcomes of those that had begun, in the order
/// of `seeds`.
fn replicate(job: &Job<'_>) -> Result<Vec<Done>, CliError> {
    let Job {
        scenario,
        seeds,
        args,
        stop,
        bar,
        ..
    } = *job;
    let below = |dir: &Path, seed: u64| match seeds {
        [_] => Ok(dir.to_owned()),
        _ => create_below(dir, &format!("seed-{seed}"))
            .map_err(|error| CliError::Report(error.into())),
    };
    // Seeds are handed out one by one in order, so that an interrupted run has the first ones.
    let mut done: Vec<(usize, Done)> = seeds
        .iter()
        .enumerate()
        .par_bridge()
        .filter(|_| !stop.load(Ordering::Relaxed))
        .map(|(index, &seed)| {
            let directory = |dir: &Option<PathBuf>| {
                let dir = dir.as_deref();
                dir.map(|dir| below(dir, seed)).transpose()
            };
            let plan = Plan {
                write: &args.write,
                trace: directory(&args.write.trace)?,
                pcap: directory(&args.write.pcap)?,
                timeline: job.timelines.get(index).cloned(),
                plain: args.plain,
                stop,
                bar,
            };
            Ok((index, one(scenario, seed, plan)?))
        })
        .collect::<Result<_, CliError>>()?;
    done.sort_by_key(|&(index, _)| index);
    Ok(done.into_iter().map(|(_, done)| done).collect())
}
