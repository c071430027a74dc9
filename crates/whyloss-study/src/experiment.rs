//! Experiments as the command sees them, and the context in which they run.
//!
//! # Contract
//!
//! [`Experiment::run`] replicates its scenarios [`Context::seeds`] times (or, by a paper's rule of
//! precision, more often unless [`Context::seeds_are_exact`]), in parallel on the caller's rayon
//! pool, and returns the paper's numbers beside ours. It announces its replications to
//! [`Context::progress`] and reports each one that finishes. When [`Context::stopped`] turns true
//! it starts no further replication, lets the running ones finish, and returns the outcome of those
//! that did, with their number in [`Outcome::seeds`]; with none it returns
//! [`ExperimentError::Stopped`]. The outcome depends on the seeds alone, never on the number of
//! threads.

use core::error::Error;
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use crate::Outcome;
use crate::memo::Memo;

/// One table or figure of a paper.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// The command's name for it, such as `cen-table-2`.
    pub id: &'static str,
    /// The paper it belongs to, such as `cen`.
    pub paper: &'static str,
    /// Its content, in a few words.
    pub title: &'static str,
    /// Replications in the paper; the least, where it has a rule of precision.
    pub seeds: u64,
    /// Runs it.
    pub run: &'static (dyn Fn(&Context<'_>) -> Result<Outcome, ExperimentError> + Send + Sync),
}

impl fmt::Debug for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

/// The settings of an experiment's run. There is one for each invocation of the command, and it
/// holds what experiments share.
#[derive(Clone)]
pub struct Context<'a> {
    seeds: u64,
    exact: bool,
    progress: &'a dyn Progress,
    stop: &'a AtomicBool,
    memo: Arc<Memo>,
}

impl<'a> Context<'a> {
    /// `progress` hears of every replication; `stop` may be set from anywhere, at any time.
    pub fn new(progress: &'a dyn Progress, stop: &'a AtomicBool) -> Self {
        let seeds = 1;
        Self {
            seeds,
            exact: true,
            progress,
            stop,
            memo: Arc::default(),
        }
    }

    /// Makes the selection for an experiment that is to run `seeds` replications, no more and no
    /// less.
    #[must_use]
    pub fn with_seeds(&self, seeds: u64) -> Self {
        Self {
            seeds,
            exact: true,
            ..self.clone()
        }
    }

    /// The same for this experiment with its own number of replications, which is the least if its
    /// paper has a rule of precision.
    #[must_use]
    pub fn for_experiment(&self, experiment: &Experiment) -> Self {
        Self {
            seeds: experiment.seeds,
            exact: false,
            ..self.clone()
        }
    }

    /// Replications to run.
    pub fn seeds(&self) -> u64 {
        self.seeds
    }

    /// Whether that is the user's wish, which no rule of precision overrides.
    pub fn seeds_are_exact(&self) -> bool {
        self.exact
    }

    /// Where replications are announced and reported.
    pub fn progress(&self) -> &'a dyn Progress {
        self.progress
    }

    /// The results that this invocation already has.
    pub(crate) fn memo(&self) -> &Memo {
        &self.memo
    }

    /// Whether no further replication may start.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Hears how far an experiment is; called from many threads.
pub trait Progress: Sync {
    /// So many more replications are coming.
    fn expect(&self, replications: u64);
    /// One of them has finished.
    fn finish(&self);
}

/// Ignores progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Progress for Unwatched {
    fn expect(&self, _: u64) {}
    fn finish(&self) {}
}

/// Why an experiment has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// Stopped too early for any result.
    #[error("stopped before a replication of every scenario had finished")]
    Stopped,
    /// A run failed.
    #[error(transparent)]
    Failed(#[from] Box<dyn Error + Send + Sync>),
}
