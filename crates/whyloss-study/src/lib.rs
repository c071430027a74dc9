//! What every study needs: replication, statistics, claims, and reports as text, JSON, CSV, SVG and a page.
//!
//! An experiment is given a [`Context`], replicates its scenarios under seeds ([`Context::replicate`]), and returns an
//! [`Outcome`]: measured values beside stated ones, claims with what decided them, figures. [`report`] turns outcomes
//! into files; what is no experiment (a run, a comparison) builds a [`report::page::Page`].
#![forbid(unsafe_code)]

pub mod arena;
mod axis;
mod check;
#[cfg(feature = "sweep")]
pub mod evaluation;
pub mod experiment;
pub mod expr;
mod line;
mod mean;
pub mod measure;
mod memo;
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

pub use axis::{Axis, Notation};
pub use check::Check;
pub use experiment::{Context, Experiment, ExperimentError, Progress};
pub use line::{Line, Lines};
pub use mean::Mean;
pub use memo::Replications;
pub use outcome::{
    CONFIDENCE, Cell, Claim, Figure, Look, Nulls, Outcome, Panel, Series, Sign, Weight,
};
pub use plan::{Metric, Plan, Runs};
