//! Runs cases on both sides and compares their numbers.

use core::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use whyloss_sim::RunError;
use whyloss_study::Progress;

use crate::case::{Case, Observed};
use crate::equivalence::Estimate;
use crate::peers::PeerError;
use crate::row::{Failure, Row};
use crate::suite::Suite;

/// Explains why a case has no result.
#[derive(Debug, thiserror::Error)]
enum CaseError {
    #[error(transparent)]
    Peer(#[from] PeerError),
    #[error("ours has no result: {0}")]
    Ours(#[from] RunError),
}

/// The results of Whyloss and of the peer for some seeds; `None` if the runs did not take place.
type Runs = Option<Result<(Vec<Observed>, Vec<Observed>), CaseError>>;

/// Compares every case with a peer, which runs `together` seeds at a time.
pub(crate) fn compare(
    suite: Suite,
    cases: &[Case],
    together: usize,
    theirs: impl Fn(&Case, &[u64]) -> Result<Vec<Observed>, PeerError> + Sync,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> (Vec<Row>, Vec<Failure>) {
    let seeds: Vec<Vec<u64>> = cases
        .iter()
        .map(|case| (1..=case.seeds).collect())
        .collect();
    let jobs = cases
        .iter()
        .zip(&seeds)
        .enumerate()
        .flat_map(|(index, (case, seeds))| {
            seeds
                .chunks(together)
                .map(move |seeds| (index, case, seeds))
        });
    let jobs: Vec<_> = jobs.collect();
    progress.expect(jobs.len() as u64);
    let runs: Vec<(usize, Runs)> = jobs
        .into_par_iter()
        .map(|(index, case, seeds)| {
            let runs = (!stop.load(Ordering::Relaxed)).then(|| both(case, seeds, &theirs));
            progress.finish();
            (index, runs)
        })
        .collect();
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for of_case in runs.chunk_by(|a, b| a.0 == b.0) {
        let Some(case) = of_case.first().map(|&(index, _)| &cases[index]) else {
            continue;
        };
        let (mut ours, mut others) = (Vec::new(), Vec::new());
        let mut failure = None;
        let mut complete = true;
        for (_, runs) in of_case {
            match runs {
                Some(Ok((our, their))) => {
                    ours.extend(our.iter().map(|run| case.values(run)));
                    others.extend(their.iter().map(|run| case.values(run)));
                }
                Some(Err(error)) => failure = Some(error),
                None => complete = false,
            }
        }
        if let Some(error) = failure {
            failures.push(Failure {
                suite,
                case: format!("{}, {}", case.kind, case.name),
                why: error.to_string(),
            });
        } else if complete {
            rows.extend(rows_of(suite, case, &ours, &others));
        }
    }
    (rows, failures)
}

fn both(
    case: &Case,
    seeds: &[u64],
    theirs: &impl Fn(&Case, &[u64]) -> Result<Vec<Observed>, PeerError>,
) -> Result<(Vec<Observed>, Vec<Observed>), CaseError> {
    let ours: Result<_, RunError> = seeds.iter().map(|&seed| case.run(seed)).collect();
    Ok((ours?, theirs(case, seeds)?))
}

/// Returns a row per metric from the values of each run.
fn rows_of(suite: Suite, case: &Case, ours: &[Vec<f64>], theirs: &[Vec<f64>]) -> Vec<Row> {
    let column = |runs: &[Vec<f64>], index: usize| {
        let values: Vec<f64> = runs.iter().map(|run| run[index]).collect();
        Estimate::of(&values)
    };
    let metrics = case.metrics().into_iter().enumerate();
    let rows = metrics.filter_map(|(index, metric)| {
        let both = (column(ours, index)?, column(theirs, index)?);
        Some(Row::new(suite, case.kind, &case.name, &metric, both))
    });
    rows.collect()
}
