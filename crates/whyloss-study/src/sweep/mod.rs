//! Runs scenarios over axes and seeds, on all cores or other machines, with reproducible rows.
//!
//! ```text
//! Plan      scenarios, axes, seeds and metrics to run (TOML: `docs/guides/sweeps.md`)
//!   ↓       each point is a scenario with the settings of its place on the axes
//! Sweep     known and missing runs; in rounds, if seeds are added until a metric is precise enough
//!   ↓ task  some runs of one network, on any machine; the answer is a part
//! part      a Parquet file: the key, the description and the metrics of each of its runs
//!   ↓       written completely or not at all (`Store`), read again when a sweep resumes
//! rows      the plan's runs in the plan's order: the same bytes on any machine and in any order
//! ```
//!
//! A run's key is a hash of everything that its row depends on: the version, the scenario with the
//! files that it names, the metrics and the seed. A run with a known key is not run again, in any
//! plan.

mod columns;
mod desk;
mod engine;
mod part;
mod rows;
mod share;
mod store;
mod task;
#[cfg(test)]
mod tests;

pub use crate::metric::Kind;
pub use crate::plan::Plan;
pub use engine::{Batch, Failed, Sweep};
pub use part::{Part, PartError, Row};
pub use rows::{AxisColumn, Rows};
pub use share::Share;
pub use store::Store;
pub use task::Task;

use std::io;
use std::path::PathBuf;

use whyloss_sim::scenario::ScenarioError;

use crate::PlanError;

/// The key of a run: a 128-bit hash of everything that its row depends on.
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
        /// The number of the point.
        point: u64,
        /// The place of the point on the axes, in words.
        at: String,
        /// The fault of the scenario.
        source: Box<ScenarioError>,
    },
    /// A file is not a valid part.
    #[error("{}: {source}", path.display())]
    Part {
        /// The path of the file.
        path: PathBuf,
        /// The fault of the part.
        source: PartError,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The path of the file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Another sweep is writing to this directory.
    #[error("{}: another sweep is running there", .0.display())]
    Busy(PathBuf),
}
