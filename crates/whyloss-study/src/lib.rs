//! Replication, statistics, claims and sweeps for every study, with reports as text, JSON, CSV, SVG
//! or a page.
//!
//! An experiment receives a [`Context`], replicates its scenarios under seeds
//! ([`Context::replicate`]), and returns an [`Outcome`]: measured values next to published ones,
//! claims with their evidence, and figures. [`report`] writes outcomes as files. Runs and
//! comparisons build a [`report::page::Page`] directly.
//!
//! ```
//! use whyloss_study::statistics::{ci95, mean};
//!
//! let goodputs = [9.41, 9.38, 9.42];
//! let (mean, half_width) = (mean(&goodputs), ci95(&goodputs));
//! println!("{:.2} ± {:.2} Mbit/s", mean.unwrap_or(f64::NAN), half_width.unwrap_or(f64::NAN));
//! # assert!(half_width.is_some_and(|half_width| half_width < 0.1));
//! ```
#![forbid(unsafe_code)]

pub mod arena;
mod axis;
mod check;
#[cfg(feature = "sweep")]
pub mod evaluation;
pub mod experiment;
pub mod expr;
mod grid;
mod line;
mod mean;
mod memo;
pub mod metric;
pub mod outcome;
#[cfg(feature = "parquet")]
pub mod parquet;
mod plan;
pub mod replicate;
pub mod report;
pub mod results;
mod shape;
pub mod statistics;
#[cfg(feature = "sweep")]
pub mod sweep;

pub use axis::{Axis, Notation, Setting};
pub use check::Check;
pub use experiment::{Context, Experiment, ExperimentError, Progress};
pub use grid::{Grid, Runs};
pub use line::{Line, Lines};
pub use mean::Mean;
pub use memo::Replications;
pub use metric::Metric;
pub use outcome::{
    CONFIDENCE, Cell, Claim, Figure, Look, Nulls, Outcome, Panel, Series, Sign, Weight,
};
pub use plan::{Beside, Network, Plan, PlanError, Point, Told, TomlFault};
