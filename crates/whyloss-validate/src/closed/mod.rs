//! Compares with closed forms: queues, channels, RED, and the throughput of TCP and TFRC.
//!
//! | formula | measured on | holds |
//! |---|---|---|
//! | M/D/1, M/M/1 waiting times | a link offered a Poisson process | exactly |
//! | loss rates and burst lengths | a sequence of packets through a channel | exactly |
//! | RED's drop rate at its mean queue | an overloaded link | for a steady mean queue |
//! | Mathis et al. 1997 | a Reno flow under periodic loss | for p ≤ 1 %, no timeouts, window never limited |
//! | PFTK, Padhye et al. 1998 | a Reno flow under independent losses | 0.3 % ≤ p ≤ 3 %, queue never full |
//! | RFC 5348's equation | a TFRC flow under periodic loss | the equation below the receive limit |

mod channels;
mod queues;
mod red;
mod throughput;

use core::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use whyloss_study::Progress;

use crate::case::Metric;
use crate::equivalence::Estimate;
use crate::row::{Failure, Row};
use crate::suite::Suite;

/// A formula to compare with.
pub(crate) struct Law {
    /// The name of the comparison.
    kind: &'static str,
    /// The network and its parameters.
    case: String,
    /// The metric and its margin.
    metric: Metric,
    /// Measures one replication and evaluates the formula. Some formulas use measurements of the
    /// same replication.
    measure: Measure,
}

/// Returns the measured and the predicted value with a seed.
type Measure = Box<dyn Fn(u64) -> Result<(f64, f64), String> + Sync + Send>;

/// Returns every formula at every point, or only those that take less than a second.
fn laws(quick: bool) -> Vec<Law> {
    let mut laws = queues::laws(quick);
    laws.extend(channels::laws(quick));
    laws.extend(red::laws(quick));
    laws.extend(throughput::laws(quick));
    laws
}

/// Compares Whyloss with every formula.
pub(crate) fn compare(
    quick: bool,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> (Vec<Row>, Vec<Failure>) {
    let laws = laws(quick);
    let seeds: u64 = if quick { 10 } else { 20 };
    progress.expect(laws.len() as u64);
    let results: Vec<Option<Result<Row, Failure>>> = laws
        .par_iter()
        .map(|law| {
            let row = (!stop.load(Ordering::Relaxed)).then(|| law.row(seeds));
            progress.finish();
            row
        })
        .collect();
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for result in results.into_iter().flatten() {
        match result {
            Ok(row) => rows.push(row),
            Err(failure) => failures.push(failure),
        }
    }
    (rows, failures)
}

impl Law {
    fn row(&self, seeds: u64) -> Result<Row, Failure> {
        let failed = |why| Failure {
            suite: Suite::ClosedForms,
            case: format!("{}, {}", self.kind, self.case),
            why,
        };
        let runs: Result<Vec<(f64, f64)>, String> =
            (1..=seeds).into_par_iter().map(&self.measure).collect();
        let runs = runs.map_err(failed)?;
        let law = runs.iter().map(|run| run.1).sum::<f64>() / runs.len() as f64;
        // Each replication is compared with its own value of the formula.
        let ours: Vec<f64> = runs.iter().map(|run| run.0 - run.1 + law).collect();
        let both = Estimate::of(&ours)
            .map(|ours| (ours, Estimate::exact(law)))
            .ok_or_else(|| failed("nothing was measured".into()))?;
        Ok(Row::new(
            Suite::ClosedForms,
            self.kind,
            &self.case,
            &self.metric,
            both,
        ))
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::AtomicBool;

    use whyloss_study::experiment::Unwatched;

    use super::compare;
    use crate::equivalence::Verdict;

    /// The exact formulas hold, and every other difference has a known reason.
    #[test]
    fn laws_hold() {
        let (rows, failures) = compare(true, &Unwatched, &AtomicBool::new(false));
        assert_eq!(failures, []);
        for row in &rows {
            let name = format!("{} {} {}", row.kind, row.case, row.metric);
            match row.kind {
                "Mathis" => {}
                _ => assert_ne!(row.verdict, Verdict::Different, "{name}"),
            }
            assert!(
                row.verdict != Verdict::Different || row.reason.is_some(),
                "{name}"
            );
        }
        let decided = rows.iter().filter(|row| row.verdict == Verdict::Equivalent);
        assert!(decided.count() * 10 > rows.len() * 7);
    }
}
