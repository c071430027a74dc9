//! `whyloss evaluate --media`: evaluates every estimator of this build on the calls of RFC 8867.

use std::io::Write;

use whyloss_rtc::sim;
use whyloss_sim::host::rtp::Estimator;
use whyloss_study::evaluation::media::{self, MediaError};
use whyloss_study::report as files;

use super::EvaluateArgs;
use crate::error::CliError;
use crate::interrupt::stop_on_interrupt;
use crate::progress::Bar;
use crate::threads;

/// Estimators in the order of the tables.
const ESTIMATORS: [(&str, Estimator); 3] = [
    ("whyloss", Estimator::Whyloss),
    ("nada", Estimator::Nada),
    ("gcc", Estimator::Gcc),
];

pub(super) fn run(args: &EvaluateArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let only = args.only.as_deref().unwrap_or_default();
    let mut cases = media::cases(only);
    if cases.is_empty() {
        return Err(CliError::NoSection {
            only: only.to_owned(),
            sections: media::cases("")
                .iter()
                .map(|case| case.id.to_owned())
                .collect(),
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
    let found = pool.install(|| media::run(&cases, &estimators, seeds, &bar, &stop));
    bar.clear();
    let found = found.map_err(|error| match error {
        MediaError::Scenario(error) => error.into(),
        MediaError::Run(id, source) => CliError::Run {
            id,
            source: Box::new(source),
        },
    })?;
    let Some(found) = found else {
        return Err(CliError::Interrupted {
            cut_short: Vec::new(),
            not_run: cases.iter().map(|case| case.id.to_owned()).collect(),
        });
    };
    let outcomes = media::outcomes(&found, &estimators, seeds);
    for outcome in &outcomes {
        if !outcome.cells.is_empty() {
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
