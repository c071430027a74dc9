//! Runs one seed of a scenario, with its observers and output files, until its end or until it is
//! stopped.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ValueEnum};
use whyloss::{Duration, Time};
use whyloss_sim::scenario::duration;
use whyloss_sim::trace::Sink;
use whyloss_sim::{
    Capture, CsvFiles, Needs, OutputError, Run, Scenario, Simulation, Trace, TraceOptions,
};

use whyloss_study::results::Seed;

use super::picture::{Shared, Timeline};
use crate::error::CliError;
use crate::progress::Simulated;

/// Options for trace and capture files.
#[derive(Debug, Args)]
pub(super) struct WriteArgs {
    /// Write five tables to this directory: `sources` (windows and rates), `arrivals`, `losses`
    /// (with causes and verdicts), `links` (queues and fates) and `transfers`. Several seeds get a
    /// subdirectory `seed-N` each.
    #[arg(long, value_name = "DIR")]
    pub(super) trace: Option<PathBuf>,
    /// Format of the trace tables.
    #[arg(long, value_enum, default_value_t = TraceFormat::Csv, requires = "trace")]
    trace_format: TraceFormat,
    /// Write at most one row per flow or link in each interval of this length, such as `10ms`.
    /// Losses are always written.
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "trace")]
    trace_thin: Option<Duration>,
    /// Start the trace at this simulated time, such as `10s` [default: 0s].
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "trace")]
    trace_from: Option<Duration>,
    /// End the trace at this simulated time [default: the end of the run].
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "trace")]
    trace_to: Option<Duration>,
    /// Write a capture (pcapng) of each link to this directory. Several seeds get a subdirectory
    /// `seed-N` each.
    #[arg(long, value_name = "DIR")]
    pub(super) pcap: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TraceFormat {
    /// Text, for example for spreadsheets.
    Csv,
    /// Compressed columns for data frames, a fifth of the size of CSV.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl WriteArgs {
    fn options(&self) -> TraceOptions {
        let time = |at: Option<Duration>| at.map(|at| Time::ZERO + at);
        let every = TraceOptions::default();
        TraceOptions {
            from: time(self.trace_from).unwrap_or(every.from),
            to: time(self.trace_to).unwrap_or(every.to),
            thin: self.trace_thin.unwrap_or(every.thin),
        }
    }

    fn sink(&self, directory: &Path) -> Result<Box<dyn Sink>, OutputError> {
        Ok(match self.trace_format {
            TraceFormat::Csv => Box::new(CsvFiles::create(directory)?),
            #[cfg(feature = "parquet")]
            TraceFormat::Parquet => Box::new(whyloss_sim::ParquetFiles::create(directory)?),
        })
    }
}

/// The outcome of one seed.
pub(super) struct Done {
    /// The results, if the run reached its end.
    pub(super) results: Option<Seed>,
    /// The simulated time that the run reached.
    pub(super) reached: Time,
    /// The files that could not be written.
    pub(super) unwritten: Option<OutputError>,
    /// The data of the figures; `None` if no figures were requested.
    pub(super) timeline: Option<Timeline>,
}

/// The files and figures of one seed, and the flag that stops its run.
pub(super) struct Plan<'a> {
    pub(super) write: &'a WriteArgs,
    pub(super) trace: Option<PathBuf>,
    pub(super) pcap: Option<PathBuf>,
    pub(super) timeline: Option<Shared>,
    pub(super) plain: bool,
    pub(super) stop: &'a AtomicBool,
    pub(super) bar: &'a Simulated,
}

/// Runs one seed. If a file cannot be written, the run continues without files, and none of the
/// tables or captures remains.
pub(super) fn one(scenario: &Scenario, seed: u64, plan: Plan<'_>) -> Result<Done, CliError> {
    let (mut told, end) = (Time::ZERO, scenario.end);
    let mut goes_on = |now: Time| {
        plan.bar.advance(now - told);
        told = now;
        now >= end || !plan.stop.load(Ordering::Relaxed)
    };
    let mut unwritten = None;
    let trace = plan.trace.as_deref().map(|dir| plan.write.sink(dir));
    let trace = keep(trace.transpose(), &mut unwritten).flatten();
    let trace = trace.map(|sink| Trace::new(scenario, plan.write.options(), sink));
    let pcap = plan
        .pcap
        .as_deref()
        .map(|dir| Capture::create(scenario, dir));
    let pcap = keep(pcap.transpose(), &mut unwritten).flatten();
    let timeline = plan
        .timeline
        .map(|sink| Trace::new(scenario, TraceOptions::default(), sink));
    let bare = trace.is_none() && pcap.is_none() && timeline.is_none();
    let mut observers = ((trace, pcap), timeline);
    let mut simulation = Simulation::new(scenario, seed).ask(&mut goes_on);
    if !bare {
        simulation = simulation.watch(&mut observers);
    }
    if plan.plain {
        simulation = simulation.plain();
    }
    let run = simulation.measure(Needs::all(scenario))?;
    let ((trace, pcap), timeline) = observers;
    keep(
        trace.map_or(Ok(()), |trace| trace.finish().map(drop)),
        &mut unwritten,
    );
    keep(pcap.map_or(Ok(()), Capture::finish), &mut unwritten);
    // Writes to memory cannot fail.
    let timeline = timeline.and_then(|trace| trace.finish().ok());
    let timeline = timeline.map(|shared| shared.so_far());
    Ok(Done {
        timeline,
        ..done(scenario, &run, unwritten)
    })
}

/// Keeps the first error.
fn keep<T>(result: Result<T, OutputError>, unwritten: &mut Option<OutputError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            unwritten.get_or_insert(error);
            None
        }
    }
}

fn done(scenario: &Scenario, run: &Run, unwritten: Option<OutputError>) -> Done {
    let reached = run.reached;
    Done {
        results: (reached >= scenario.end).then(|| Seed::of(scenario, run)),
        reached,
        unwritten,
        timeline: None,
    }
}
