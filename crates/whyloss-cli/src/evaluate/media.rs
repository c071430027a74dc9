//! `whyloss evaluate --media`: evaluates every estimator of this build on the calls of RFC 8867.

use std::io::Write;

use whyloss_rtc::sim;
use whyloss_sim::host::rtp::Estimator;
use whyloss_study::evaluation::media::{self, MediaError, told};
use whyloss_study::report as files;

use super::EvaluateArgs;
use crate::error::CliError;
use crate::interrupt::stop_on_interrupt;
use crate::progress::Bar;
use crate::threads;

/// The estimators with the names that tables show, in their order.
const ESTIMATORS: [(&str, Estimator); 4] = [
    ("whyloss", Estimator::Whyloss),
    ("nada", Estimator::Nada),
    ("scream", Estimator::Scream),
    ("gcc", Estimator::Gcc),
];

/// The number of drawn networks, the number under `--quick`, and their seed.
const NETWORKS: u64 = 40;
const QUICK: u64 = 4;
const SEED: u64 = 38;

pub(super) fn run(args: &EvaluateArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let only = args.only.as_deref().unwrap_or_default();
    let mut cases = media::cases(only);
    let tells = told::ID.starts_with(only);
    if cases.is_empty() && !tells {
        let all = media::cases("");
        let sections = all.iter().map(|case| case.id).chain([told::ID]);
        return Err(CliError::NoSection {
            only: only.to_owned(),
            sections: sections.map(str::to_owned).collect(),
        });
    }
    if args.quick {
        cases.truncate(2);
    }
    let known = ESTIMATORS.into_iter().filter(|one| sim::knows(one.1));
    let estimators: Vec<&str> = known.map(|one| one.0).collect();
    let seeds = args.seeds.unwrap_or(if args.quick { 1 } else { 5 });
    files::renew(&args.out).map_err(CliError::Out)?;
    let stop = stop_on_interrupt().map_err(CliError::Signal)?;
    let pool = threads::pool(args.jobs)?;
    let bar = Bar::new();
    bar.begin("media", 0, 1);
    let networks = match (tells, args.quick) {
        (false, _) => 0,
        (true, true) => QUICK,
        (true, false) => NETWORKS,
    };
    let found = pool.install(|| -> Result<_, MediaError> {
        let found = media::run(&cases, &estimators, seeds, &bar, &stop)?;
        let told = told::run(networks, SEED, &bar, &stop)?;
        Ok(found.zip(told))
    });
    bar.clear();
    let found = found.map_err(|error| match error {
        MediaError::Scenario(error) => error.into(),
        MediaError::Run(id, source) => CliError::Run {
            id,
            source: Box::new(source),
        },
    })?;
    let Some((found, told)) = found else {
        let cases = cases.iter().map(|case| case.id);
        return Err(CliError::Interrupted {
            cut_short: Vec::new(),
            not_run: cases.chain([told::ID]).map(str::to_owned).collect(),
        });
    };
    let mut outcomes = Vec::new();
    if !found.is_empty() {
        outcomes = media::outcomes(&found, &estimators, seeds);
    }
    if !told.is_empty() {
        outcomes.extend(told::outcomes(&told));
    }
    for outcome in &outcomes {
        let detail = outcome.id.starts_with("media-told-");
        if !outcome.cells.is_empty() && !detail {
            out.write_all(files::table::render(outcome).as_bytes())?;
            writeln!(out)?;
        }
        files::write_outcome(&args.out, outcome)?;
    }
    let json: String = outcomes.iter().map(files::json::render).collect();
    for (name, text) in [
        ("media.json", &json),
        ("media.md", &media::document(&outcomes)),
        ("index.html", &media::page(&outcomes)),
    ] {
        files::write(&args.out, name, text)?;
    }
    writeln!(out, "{}", args.out.join("index.html").display())?;
    Ok(())
}
