//! `whyloss sweep`: runs a plan (docs/guides/sweeps.md) on all cores and stores one row per run as
//! Parquet.
//!
//! After an interruption, the same command resumes the sweep. The first Ctrl-C stops unfinished
//! runs and writes the finished ones. The second, or a kill, loses only the runs that finished
//! since the last write.

mod page;
mod watch;

use std::io::Write;
use std::path::PathBuf;
use std::time;

use clap::Args;
use whyloss::Duration;
use whyloss_sim::Registry;
use whyloss_sim::scenario::duration;
use whyloss_sim::text::one_line;
use whyloss_study::report::{self, counted};
use whyloss_study::sweep::{Plan, Store, Sweep};

use crate::error::CliError;
use crate::interrupt::stop_on_interrupt;
use crate::progress::Bar;
use crate::run::read;
use crate::threads::{self, MOST_JOBS};

/// The maximum number of printed points with missing runs.
const MOST_SHOWN: usize = 5;

const HELP: &str = "Example: whyloss reproduce mar-fig-4 --plan --out plans && whyloss sweep plans/mar-fig-4.toml --out rows";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct SweepArgs {
    /// Plan of the sweep: a TOML file that names a scenario, axes, seeds and metrics.
    /// `whyloss reproduce ID --plan` prints examples.
    #[arg(value_name = "PLAN.toml")]
    plan: PathBuf,
    /// Write `rows.parquet` (a row per run) and an HTML page to this directory. Finished runs are
    /// kept there.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Number of threads [default: one per core]. Does not affect results.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS))]
    jobs: Option<u16>,
    /// Save finished runs at least this often; a killed sweep loses only later ones.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10s")]
    every: Duration,
    /// Serve the HTML page on localhost while the sweep runs, and print its address.
    #[arg(long)]
    live: bool,
}

pub(crate) fn run(
    args: &SweepArgs,
    registry: &Registry,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let name = args.plan.to_string_lossy();
    let text = read(&args.plan, "plan")?;
    let plan = Plan::parse(&text, &name).map_err(|error| CliError::Plan(error.into()))?;
    let pool = threads::pool(args.jobs)?;
    let sweep = pool.install(|| Sweep::with(plan, registry.clone()));
    let mut sweep = sweep.map_err(CliError::Plan)?;
    let store = Store::open(&args.out).map_err(CliError::Plan)?;
    store
        .parts(|part| sweep.learn(part))
        .map_err(CliError::Plan)?;
    let (before, _) = sweep.count();
    let stop = stop_on_interrupt().map_err(CliError::Signal)?;
    let bar = Bar::named(&name);
    let every = time::Duration::from_nanos(args.every.as_nanos().unsigned_abs());
    let watch = args.live.then(|| watch::Watch::start(&sweep, &name));
    let watch = watch.transpose()?;
    let ran = pool.install(|| match &watch {
        Some(watch) => {
            watch.follow(|each| sweep.run_watched(Some(&store), every, &bar, each, &stop))
        }
        None => sweep.run(Some(&store), every, &bar, &stop),
    });
    bar.clear();
    ran.map_err(CliError::Sweep)?;
    let (finished, asked) = sweep.count();
    // Pages and pictures of an earlier plan are removed; parts and rows stay.
    report::renew(&args.out).map_err(CliError::Out)?;
    let state = page::State::of(&sweep);
    let path = store.put_rows(&state.rows).map_err(CliError::Sweep)?;
    page::write(&args.out, &state, &name)?;
    if let Some(watch) = watch {
        watch.end(&args.out);
    }
    let unfinished = state.unfinished;
    writeln!(
        out,
        "{finished} runs in {}, {} of them new",
        path.display(),
        finished - before
    )?;
    for (sets, missing) in unfinished.iter().take(MOST_SHOWN) {
        writeln!(
            out,
            "missing: {} with {}",
            counted(*missing as u64, "run"),
            one_line(sets)
        )?;
    }
    if unfinished.len() > MOST_SHOWN {
        let more = unfinished.len() - MOST_SHOWN;
        writeln!(
            out,
            "missing: runs of {}; index.html lists them",
            counted(more as u64, "more point")
        )?;
    }
    if finished < asked {
        return Err(CliError::SweepStopped { finished, asked });
    }
    match sweep.failed() {
        None => Ok(()),
        Some(failed) => Err(CliError::RunsFailed {
            runs: failed.runs,
            asked,
            first: failed.first,
        }),
    }
}
