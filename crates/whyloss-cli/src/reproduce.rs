//! `whyloss reproduce`: runs experiments and prints our numbers next to the papers'.
//!
//! Each experiment is printed and written as soon as it has run. After the first Ctrl-C no further
//! replication starts, and finished results are printed and written with their number of seeds. The
//! second Ctrl-C ends the command immediately.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ValueEnum};
use rayon::ThreadPool;
use whyloss_study::{Context, Experiment, ExperimentError, Outcome, report};

use whyloss_sim::scenario::MOST_SEEDS;

use crate::error::CliError;
use crate::interrupt::stop_on_interrupt;
use crate::nearest::nearest;
use crate::progress::Bar;
use crate::threads::{self, MOST_JOBS};

const HELP: &str = "Example: whyloss reproduce cen-table-2";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ReproduceArgs {
    #[command(flatten)]
    which: Which,
    /// Number of seeds for each scenario [default: as in the paper, or as many as its confidence
    /// intervals require].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_SEEDS))]
    seeds: Option<u64>,
    /// Number of threads [default: one per core]. Does not affect results.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS))]
    jobs: Option<u16>,
    /// Also write an HTML page, figures (SVG) and values (CSV) to this directory.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Print the experiment as a plan for `whyloss sweep`, without running it. With --out, write
    /// plans and scenarios to that directory.
    #[arg(long)]
    plan: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// Experiments from `whyloss list`, or a directory with the `paper.toml` of your own paper.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Run every experiment of one paper: `bal`, `cen`, `ela`, `mar` or `mil`.
    #[arg(long)]
    paper: Option<String>,
    /// Run every simulated experiment of all papers.
    #[arg(long)]
    all: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Tables laid out as in the paper, claims and notes.
    Table,
    /// One JSON object per experiment and line.
    Json,
    /// One CSV row per measured value.
    Csv,
}

pub(crate) fn run(args: &ReproduceArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let experiments: Vec<_> = known().collect();
    let experiments = args.which.of(&experiments)?;
    if args.plan {
        return print_plans(&experiments, args.out.as_deref(), out);
    }
    if let Some(dir) = &args.out {
        report::renew(dir).map_err(CliError::Out)?;
    }
    let stop = stop_on_interrupt().map_err(CliError::Signal)?;
    reproduce(&experiments, args, &stop, out)
}

/// Prints each experiment's own plan, or writes all of its plans next to their scenarios.
fn print_plans(
    experiments: &[&Experiment],
    dir: Option<&Path>,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    for experiment in experiments {
        let Some(plans) = whyloss_papers::plans(experiment.id) else {
            continue;
        };
        let plans = plans?;
        let Some(own) = plans.first() else { continue };
        let Some(dir) = dir else {
            for other in &plans[1..] {
                writeln!(out, "# beside it, with --out: {}", other.file)?;
            }
            write!(out, "{}", own.text)?;
            continue;
        };
        report::prepare(dir).map_err(CliError::Out)?;
        for plan in &plans {
            report::write(dir, &plan.file, &plan.text)?;
            for network in &plan.plan.networks {
                report::write(dir, &network.file, &network.text)?;
            }
            let file = dir.join(&plan.file);
            let file = file.display();
            writeln!(out, "wrote {file}; run `whyloss sweep {file} --out ROWS`")?;
        }
    }
    Ok(())
}

/// Returns every experiment that this build knows.
pub(crate) fn known() -> impl Iterator<Item = &'static Experiment> {
    #[cfg(all(feature = "kernel", target_os = "linux"))]
    let others = crate::kernel::reproduce::EXPERIMENTS.iter();
    #[cfg(not(all(feature = "kernel", target_os = "linux")))]
    let others = [].iter();
    whyloss_papers::all().chain(others)
}

/// Returns whether `--all` runs the experiment: it does not if it needs root and real time.
fn is_simulated(experiment: &Experiment) -> bool {
    #[cfg(all(feature = "kernel", target_os = "linux"))]
    let real = experiment.paper == crate::kernel::reproduce::PAPER;
    #[cfg(not(all(feature = "kernel", target_os = "linux")))]
    let real = {
        let _ = experiment;
        false
    };
    !real
}

impl Which {
    /// Returns the selected experiments in the order of the arguments, without duplicates.
    fn of<'a>(&self, known: &[&'a Experiment]) -> Result<Vec<&'a Experiment>, CliError> {
        if let Some(paper) = &self.paper {
            let of_paper: Vec<_> = known.iter().copied().filter(|e| e.paper == paper).collect();
            return if of_paper.is_empty() {
                Err(CliError::UnknownPaper {
                    name: paper.clone(),
                    known: papers(known),
                })
            } else {
                Ok(of_paper)
            };
        }
        if self.all {
            let simulated = known.iter().copied();
            return Ok(simulated
                .filter(|experiment| is_simulated(experiment))
                .collect());
        }
        let mut wanted: Vec<&Experiment> = Vec::new();
        for id in &self.ids {
            let folder = Path::new(id);
            if folder.is_dir() || id.contains(std::path::is_separator) {
                wanted.extend(whyloss_papers::open(folder)?);
                continue;
            }
            let experiment = known.iter().find(|experiment| experiment.id == id);
            let experiment = experiment.ok_or_else(|| {
                if papers(known).contains(id) {
                    return CliError::PaperNotExperiment(id.clone());
                }
                CliError::Unknown {
                    kind: "experiment",
                    name: id.clone(),
                    nearest: nearest(id, known.iter().map(|experiment| experiment.id)),
                }
            })?;
            if wanted.iter().all(|known| known.id != experiment.id) {
                wanted.push(experiment);
            }
        }
        Ok(wanted)
    }
}

/// Returns the papers of these experiments, without duplicates.
fn papers(known: &[&Experiment]) -> Vec<String> {
    let mut papers: Vec<String> = known.iter().map(|e| e.paper.to_owned()).collect();
    papers.dedup();
    papers
}

fn reproduce(
    experiments: &[&Experiment],
    args: &ReproduceArgs,
    stop: &AtomicBool,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let pool = threads::pool(args.jobs)?;
    let bar = Bar::new();
    let context = Context::new(&bar, stop);
    let mut printer = Printer {
        out,
        format: args.format,
        printed: 0,
    };
    let mut outcomes = Vec::new();
    let result = (|| {
        for (index, experiment) in experiments.iter().enumerate() {
            bar.begin(experiment.id, index, experiments.len());
            let context = match args.seeds {
                Some(seeds) => context.with_seeds(seeds),
                None => context.for_experiment(experiment),
            };
            let Some(outcome) = run_one(experiment, &context, &pool)? else {
                break;
            };
            let printed = bar.aside(|| printer.print(&outcome));
            outcomes.push(outcome);
            // Print each outcome immediately, so that no finished one is lost if the command ends
            // early.
            if let (Some(dir), [.., outcome]) = (&args.out, &outcomes[..]) {
                report::write_outcome(dir, outcome)?;
                report::write_page(dir, &outcomes, whyloss_papers::citation)?;
            }
            match printed {
                // The reader closed the pipe, but the report is still wanted.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe && args.out.is_some() => {}
                printed => printed?,
            }
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(())
    })();
    bar.clear();
    if let (Format::Table, [_, _, ..]) = (args.format, &outcomes[..]) {
        let summary = report::summary::render(
            &outcomes,
            whyloss_papers::reason,
            whyloss_papers::experiments,
        );
        match writeln!(printer.out, "\n{summary}") {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            printed => printed?,
        }
    }
    result.and_then(|()| check_complete(experiments, args.seeds, &outcomes))
}

/// Runs one experiment. Returns `None` if it was interrupted before it had a result.
fn run_one(
    experiment: &Experiment,
    context: &Context<'_>,
    pool: &ThreadPool,
) -> Result<Option<Outcome>, CliError> {
    match pool.install(|| (experiment.run)(context)) {
        Ok(outcome) => Ok(Some(outcome)),
        Err(ExperimentError::Stopped) => Ok(None),
        Err(ExperimentError::Failed(source)) => Err(CliError::Run {
            id: experiment.id,
            source,
        }),
    }
}

/// Returns an error if an interrupt left experiments without all their seeds; an interrupt after
/// the last seed does not count.
fn check_complete(
    experiments: &[&Experiment],
    seeds: Option<u64>,
    outcomes: &[Outcome],
) -> Result<(), CliError> {
    let cut_short: Vec<_> = experiments
        .iter()
        .zip(outcomes)
        .map(|(experiment, outcome)| (outcome, seeds.unwrap_or(experiment.seeds)))
        .filter(|(outcome, asked)| outcome.seeds < *asked)
        .map(|(outcome, asked)| format!("{} ({} of {asked})", outcome.id, outcome.seeds))
        .collect();
    let not_run: Vec<_> = experiments
        .iter()
        .skip(outcomes.len())
        .map(|experiment| experiment.id.to_owned())
        .collect();
    if cut_short.is_empty() && not_run.is_empty() {
        Ok(())
    } else {
        Err(CliError::Interrupted { cut_short, not_run })
    }
}

/// Prints outcomes in one format.
struct Printer<'a> {
    out: &'a mut dyn Write,
    format: Format,
    printed: usize,
}

impl Printer<'_> {
    fn print(&mut self, outcome: &Outcome) -> io::Result<()> {
        let first = self.printed == 0;
        self.printed += 1;
        let text = match self.format {
            Format::Table if first => report::table::render(outcome),
            Format::Table => format!("\n{}", report::table::render(outcome)),
            Format::Json => report::json::render(outcome),
            Format::Csv if first => report::csv::render(outcome),
            Format::Csv => report::csv::rows(outcome),
        };
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

#[cfg(test)]
#[path = "reproduce_tests.rs"]
mod tests;
