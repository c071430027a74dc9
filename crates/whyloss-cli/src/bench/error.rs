//! The errors of `whyloss bench`.

use std::io;

use whyloss_sim::scenario::ScenarioError;
use whyloss_validate::peers::PeerError;

/// Explains why a network could not be measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    /// The path of this executable cannot be found.
    #[error("cannot find the whyloss command itself: {0}")]
    Itself(#[source] io::Error),
    /// A process gave no result.
    #[error(transparent)]
    Process(#[from] PeerError),
    /// A workload is not a valid scenario.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}
