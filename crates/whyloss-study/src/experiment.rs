//! Defines experiments as commands see them, and the context in which they run.
//!
//! # Contract
//!
//! [`Experiment::run`] runs [`Context::seeds`] replications in parallel on the caller's rayon pool.
//! A paper's rule of precision may add more unless [`Context::seeds_are_exact`]. The experiment
//! announces the replications to [`Context::progress`] and reports each finished one. Once
//! [`Context::stopped`] is true, it starts no more replications and lets running ones finish.
//! [`Outcome::seeds`] counts the finished replications; if there are none, `run` returns
//! [`ExperimentError::Stopped`]. The outcome depends only on the seeds, never on the number of
//! threads.

use core::error::Error;
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use crate::Outcome;
use crate::memo::Memo;

/// Reproduces one table or figure of a paper.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// The experiment's name in commands, such as `cen-table-2`.
    pub id: &'static str,
    /// The id of the experiment's paper, such as `cen`.
    pub paper: &'static str,
    /// The title of the table or figure, in a few words.
    pub title: &'static str,
    /// The number of replications in the paper; the lowest number if the experiment has a rule of
    /// precision.
    pub seeds: u64,
    /// The function that runs the experiment.
    pub run: &'static (dyn Fn(&Context<'_>) -> Result<Outcome, ExperimentError> + Send + Sync),
}

impl fmt::Debug for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

/// Holds the settings of a run and the results that experiments share. Each invocation has one.
#[derive(Clone)]
pub struct Context<'a> {
    seeds: u64,
    exact: bool,
    progress: &'a dyn Progress,
    stop: &'a AtomicBool,
    memo: Arc<Memo>,
}

impl<'a> Context<'a> {
    /// Creates a context for one seed. `progress` sees every replication; setting `stop` ends the
    /// run.
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

    /// Returns a context that runs exactly `seeds` replications.
    #[must_use]
    pub fn with_seeds(&self, seeds: u64) -> Self {
        Self {
            seeds,
            exact: true,
            ..self.clone()
        }
    }

    /// Returns a context with the experiment's own number of replications, a minimum if its paper
    /// has a rule of precision.
    #[must_use]
    pub fn for_experiment(&self, experiment: &Experiment) -> Self {
        Self {
            seeds: experiment.seeds,
            exact: false,
            ..self.clone()
        }
    }

    /// Returns the number of replications to run.
    pub fn seeds(&self) -> u64 {
        self.seeds
    }

    /// Returns whether the user chose the number of seeds, which no rule of precision overrides.
    pub fn seeds_are_exact(&self) -> bool {
        self.exact
    }

    /// Returns the observer of replications.
    pub fn progress(&self) -> &'a dyn Progress {
        self.progress
    }

    /// Returns the results cached by this invocation.
    pub(crate) fn memo(&self) -> &Memo {
        &self.memo
    }

    /// Returns whether no more replications may start.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Observes the progress of an experiment, from many threads.
pub trait Progress: Sync {
    /// Announces this many more replications.
    fn expect(&self, replications: u64);
    /// Reports one finished replication.
    fn finish(&self);
}

/// A [`Progress`] that ignores all reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Progress for Unwatched {
    fn expect(&self, _: u64) {}
    fn finish(&self) {}
}

/// Explains why an experiment has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The experiment was stopped before any result was complete.
    #[error("stopped before a replication of every scenario had finished")]
    Stopped,
    /// A run of the experiment failed.
    #[error(transparent)]
    Failed(#[from] Box<dyn Error + Send + Sync>),
}
