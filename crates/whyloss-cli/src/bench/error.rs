//! Errors of a measurement.

use std::io;

use whyloss_sim::scenario::ScenarioError;
use whyloss_validate::peers::PeerError;

/// Why something was not measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    /// The command's own file is not to be found.
    #[error("cannot find the whyloss command itself: {0}")]
    Itself(#[source] io::Error),
    /// A process gave no result.
    #[error(transparent)]
    Process(#[from] PeerError),
    /// A workload is no scenario.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}
