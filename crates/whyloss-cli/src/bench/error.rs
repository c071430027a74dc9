//! What can go wrong with a measurement.

use std::io;
use std::process::ExitStatus;

use whyloss_sim::scenario::ScenarioError;

/// Why something was not measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    /// The command's own file is not to be found.
    #[error("cannot find the whyloss command itself: {0}")]
    Itself(#[source] io::Error),
    /// A process could not be started.
    #[error("`{name}` does not start: {source}")]
    Start { name: String, source: io::Error },
    /// A process failed or crashed.
    #[error("`{name}` failed ({status}): {words}")]
    Failed {
        name: String,
        status: ExitStatus,
        words: String,
    },
    /// A process said something else than it was asked for.
    #[error("`{name}` was to say what it measured, but said {found:?}")]
    Answer { name: String, found: String },
    /// A workload is no scenario.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The script has no words for a scenario.
    #[error("ns-2 is not told of {0}")]
    Unknown(&'static str),
    /// `--require`, and something is not there.
    #[error("not on this machine: {0}")]
    Missing(String),
}
