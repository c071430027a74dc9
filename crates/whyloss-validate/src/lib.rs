//! Compares Whyloss with other simulators and closed forms.
//!
//! [`validate`] runs the same networks here and in the peers found on the machine, and compares the
//! means. Two one-sided tests with a margin fixed in advance call each row *equivalent*,
//! *different* or *undecided*: see [`equivalence`] and [`margin`].
//!
//! ```
//! use whyloss_validate::equivalence::{Difference, Estimate};
//!
//! // Mbit/s under three seeds, here and in a peer; the margin is 5 %.
//! let ours = Estimate::of(&[9.41, 9.38, 9.42]).expect("three values");
//! let theirs = Estimate::of(&[9.40, 9.43, 9.39]).expect("three values");
//! let difference = Difference::between(&ours, &theirs);
//! assert_eq!(difference.verdict(0.05 * theirs.mean).name(), "equivalent");
//! ```
//!
//! [`Report::missing`] lists peers that are not installed, [`Report::failures`] those that fail.
#![forbid(unsafe_code)]

mod case;
mod closed;
mod compare;
pub mod equivalence;
pub mod margin;
mod networks;
mod ns2_grid;
mod ns3_grid;
pub mod peers;
mod reasons;
pub mod report;
mod row;
mod suite;
pub mod traces;

use core::sync::atomic::{AtomicBool, Ordering};
use std::path::PathBuf;

use whyloss_study::Progress;

use equivalence::Verdict;
use peers::description::Asked;
use peers::{Missing, Ns2, Ns3, Peer, PeerError};

pub use row::{Failure, Row};
pub use suite::Suite;

/// Selects the comparisons, and their thoroughness.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The suites to compare with.
    pub suites: Vec<Suite>,
    /// Whether to run a few cases that take seconds instead of all.
    pub quick: bool,
    /// The text that `KIND, CASE` must contain in cases against ns-2 and ns-3; empty for all.
    pub only: String,
    /// The directory for scripts and compiled programs of the peers.
    pub cache: PathBuf,
}

impl Plan {
    /// Returns the chosen cases against ns-2 and ns-3, each once, as `KIND, CASE`.
    pub fn cases(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for suite in &self.suites {
            let cases = match suite {
                Suite::Ns2 => ns2_grid::cases(self.quick),
                Suite::Ns3 | Suite::Ns3Wheel => ns3_grid::cases(self.quick),
                Suite::ClosedForms | Suite::Traces => Vec::new(),
            };
            for case in self.of(cases) {
                let name = case.label();
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }

    /// Returns the selected cases.
    fn of(&self, mut cases: Vec<case::Case>) -> Vec<case::Case> {
        cases.retain(|case| case.label().contains(&self.only));
        cases
    }
}

/// The results of all comparisons.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Every comparison, in the order of presentation.
    pub rows: Vec<Row>,
    /// The agreement of single packets.
    pub traces: Vec<traces::Trace>,
    /// The cases without a result.
    pub failures: Vec<Failure>,
    /// The peers that are not installed.
    pub missing: Vec<Missing>,
    /// Whether the run was stopped early; unfinished cases are left out.
    pub stopped: bool,
}

impl Report {
    /// Returns the rows that differ without a known reason.
    pub fn unexplained(&self) -> impl Iterator<Item = &Row> {
        self.rows
            .iter()
            .filter(|row| row.verdict == Verdict::Different && row.reason.is_none())
    }

    fn add(&mut self, (rows, failures): (Vec<Row>, Vec<Failure>)) {
        self.rows.extend(rows);
        self.failures.extend(failures);
    }
}

/// Runs the plan in parallel on the caller's rayon pool. Calls `progress` after every run. Once
/// `stop` is true, no more runs start.
///
/// # Errors
/// Returns [`PeerError::Cache`] if the cache is not writable.
pub fn validate(
    plan: &Plan,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Report, PeerError> {
    let cache = peers::cache(&plan.cache)?;
    let mut report = Report::default();
    for &suite in &plan.suites {
        match suite {
            Suite::ClosedForms => report.add(closed::compare(plan.quick, progress, stop)),
            Suite::Traces => match Ns2::find(&cache)? {
                Ok(ns2) => {
                    let (traces, failures) = traces::compare(&ns2, progress, stop);
                    report.traces.extend(traces);
                    report.failures.extend(failures);
                }
                Err(missing) => report.missing.push(missing),
            },
            Suite::Ns3 | Suite::Ns3Wheel => {
                let peer = if suite == Suite::Ns3 {
                    Peer::Ns3
                } else {
                    Peer::Ns3Wheel
                };
                match Ns3::find(peer, &cache)? {
                    Ok(ns3) => {
                        let cases = plan.of(ns3_grid::cases(plan.quick));
                        let theirs =
                            |case: &case::Case, seeds: &[u64]| ns3.run(&Asked::runs(case, seeds));
                        report.add(compare::compare(suite, &cases, 3, theirs, progress, stop));
                    }
                    Err(missing) => report.missing.push(missing),
                }
            }
            Suite::Ns2 => match Ns2::find(&cache)? {
                Ok(ns2) => {
                    let cases = plan.of(ns2_grid::cases(plan.quick));
                    let theirs = |case: &case::Case, seeds: &[u64]| {
                        seeds
                            .iter()
                            .map(|seed| ns2.run(&Asked::runs(case, std::slice::from_ref(seed))))
                            .collect()
                    };
                    report.add(compare::compare(suite, &cases, 1, theirs, progress, stop));
                }
                Err(missing) => report.missing.push(missing),
            },
        }
    }
    report.stopped = stop.load(Ordering::Relaxed);
    Ok(report)
}
