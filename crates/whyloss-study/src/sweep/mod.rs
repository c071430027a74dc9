//! Runs scenarios over axes and seeds, on all cores or other machines, with reproducible rows.
//!
//! ```text
//! Plan      what is to be run: scenarios, axes, seeds, metrics (TOML: `docs/guides/sweeps.md`)
//!   ↓       each point is a scenario with what its place on the axes sets
//! Sweep     what is known, and what is missing; in rounds, if seeds are added until a metric is precise enough
//!   ↓ task  some runs of one point, on any machine; the answer is a part
//! part      a Parquet file: the key, the description and the metrics of each of its runs
//!   ↓       written whole or not at all (`Store`), read again by whoever resumes
//! rows      the plan's runs in the plan's order: the same bytes, whoever ran them in whatever order
//! ```
//!
//! A run's key is a hash of everything its row depends on: the version, the scenario as it was read
//! (files that it names included), the metrics and the seed. A run with a known key is not run
//! again, in any plan.

mod engine;
mod part;
mod rows;
mod store;
mod task;
#[cfg(test)]
mod tests;

pub use crate::metric::Kind;
pub use crate::plan::Plan;
pub use engine::{Batch, Failed, Sweep};
pub use part::{Part, PartError, Row};
pub use rows::{AxisColumn, Rows};
pub use store::Store;
pub use task::Task;

use std::io;
use std::path::PathBuf;

use whyloss_sim::scenario::ScenarioError;

use crate::PlanError;

/// Key of a run: a 128-bit hash of everything that its row depends on.
pub type Key = u128;

/// Explains why a sweep cannot start or finish.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// The plan is invalid.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The scenario of a point is invalid.
    #[error("point {point} ({at}): {source}")]
    Scenario {
        /// Number of the point.
        point: u64,
        /// Place of the point on the axes.
        at: String,
        /// The fault.
        source: Box<ScenarioError>,
    },
    /// A file is not a valid part.
    #[error("{}: {source}", path.display())]
    Part {
        /// The file.
        path: PathBuf,
        /// The fault.
        source: PartError,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another sweep is writing to this directory.
    #[error("{}: another sweep is running there", .0.display())]
    Busy(PathBuf),
}
