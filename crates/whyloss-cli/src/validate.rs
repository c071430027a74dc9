//! `whyloss validate`: compares simulations with other simulators and with formulas.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use whyloss_study::report as files;
use whyloss_validate::{Plan, Report, Suite, report, validate};

use crate::cache::CacheArgs;
use crate::error::CliError;
use crate::interrupt::stop_on_interrupt;
use crate::nearest::nearest;
use crate::progress::Bar;
use crate::threads::{self, MOST_JOBS};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ValidateArgs {
    /// Simulators and formulas to compare with [default: all but `ns-3-wheel`].
    #[arg(value_enum, value_name = "PEER")]
    with: Vec<With>,
    /// Run only a few networks and replications.
    #[arg(long)]
    quick: bool,
    /// Exit with 1 if a simulator is missing or fails, or a difference has no known reason.
    #[arg(long)]
    require: bool,
    /// Run only ns-2 and ns-3 cases whose name contains this text, such as "NewReno, dumbbell".
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    only: String,
    /// Number of threads [default: one per core]. Does not affect results.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS))]
    jobs: Option<u16>,
    /// Also write an HTML page to this directory.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    cache: CacheArgs,
}

const HELP: &str = "Each difference between two means is compared with a margin fixed in advance. The means are \
    equivalent if the 90 % confidence interval of their difference is inside the margin, \
    different if the interval is outside, and undecided otherwise.\n\n\
    Simulators: ns-2 (`apt-get install ns2`), ns-3 (`apt-get install libns3-dev g++`), ns-3 from PyPI (`python3 -m pip install \
    ns3`; used only by `ns-3-wheel`).\n\n\
    Example: whyloss validate --quick --out validation";

/// A simulator, or formulas, to compare with.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum With {
    /// Formulas for queues, channels, RED and throughput.
    ClosedForms,
    /// TFRC and TCP of ns-2.
    #[value(name = "ns-2")]
    Ns2,
    /// Send times of single packets in ns-2.
    Traces,
    /// TCP and managed queues of ns-3.
    #[value(name = "ns-3")]
    Ns3,
    /// The ns-3 cases, with ns-3 from the Python package `ns3`.
    #[value(name = "ns-3-wheel")]
    Ns3Wheel,
}

impl With {
    fn suite(self) -> Suite {
        match self {
            Self::ClosedForms => Suite::ClosedForms,
            Self::Ns2 => Suite::Ns2,
            Self::Traces => Suite::Traces,
            Self::Ns3 => Suite::Ns3,
            Self::Ns3Wheel => Suite::Ns3Wheel,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Tables.
    Table,
    /// Tables in Markdown.
    Markdown,
}

pub(crate) fn run(args: &ValidateArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let mut plan = Plan {
        suites: args.suites(),
        quick: args.quick,
        only: args.only.clone(),
        cache: PathBuf::new(),
    };
    if !plan.only.is_empty() && plan.cases().is_empty() {
        let all = Plan {
            only: String::new(),
            ..plan.clone()
        };
        let cases = all.cases();
        return Err(CliError::NoCase {
            nearest: nearest(&plan.only, cases.iter().map(String::as_str)),
            only: plan.only,
            cases,
        });
    }
    if let Some(dir) = &args.out {
        files::renew(dir).map_err(CliError::Out)?;
    }
    plan.cache = args.cache.directory()?;
    let stop = stop_on_interrupt().map_err(CliError::Signal)?;
    let pool = threads::pool(args.jobs)?;
    let bar = Bar::new();
    bar.begin("validate", 0, 1);
    let found = pool.install(|| validate(&plan, &bar, &stop));
    bar.clear();
    let found = found.map_err(CliError::Peer)?;
    let text = match args.format {
        Format::Table => report::text::render(&found),
        Format::Markdown => report::markdown::render(&found),
    };
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // The reader closed the pipe, but the page is still wanted.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe && args.out.is_some() => {}
        printed => printed?,
    }
    if let Some(dir) = &args.out {
        files::write(dir, "index.html", &report::html::render(&found))?;
    }
    verdict(&found, args.require)
}

impl ValidateArgs {
    /// Returns the selected comparisons in the order of the report, without duplicates. The Python
    /// package is compared only if named.
    fn suites(&self) -> Vec<Suite> {
        let named = |suite| self.with.iter().any(|with| with.suite() == suite);
        let wanted =
            |&suite: &Suite| named(suite) || (self.with.is_empty() && suite != Suite::Ns3Wheel);
        Suite::ALL.into_iter().filter(wanted).collect()
    }
}

/// Returns an error if the comparison was interrupted, or if it failed under `--require`.
fn verdict(found: &Report, require: bool) -> Result<(), CliError> {
    if found.stopped {
        return Err(CliError::Interrupted {
            cut_short: Vec::new(),
            not_run: vec!["part of the comparisons".into()],
        });
    }
    if !require {
        return Ok(());
    }
    let missing = found.missing.iter().map(|missing| {
        let peer = missing.peer;
        format!("{} is missing (`{}`)", peer.name(), peer.install())
    });
    let failed = found
        .failures
        .iter()
        .map(|failure| format!("{}, {} failed", failure.suite.id(), failure.case));
    let unexplained = found.unexplained().map(|row| {
        let suite = row.suite.id();
        format!(
            "{suite}, {}, {}: {} differs",
            row.kind, row.case, row.metric
        )
    });
    let what: Vec<String> = missing.chain(failed).chain(unexplained).collect();
    if what.is_empty() {
        Ok(())
    } else {
        Err(CliError::Required(what))
    }
}
