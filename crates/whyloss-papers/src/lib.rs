//! The tables and figures of published papers as programs.
//!
//! An experiment builds scenarios, runs them, and returns an [`Outcome`]: the paper's numbers beside ours, with a
//! verdict for every stated number and every qualitative claim.
#![forbid(unsafe_code)]

pub mod bal;
mod build;
pub mod cen;
pub mod ela;
pub mod experiment;
pub mod mar;
mod mean;
pub mod mil;
#[cfg(test)]
mod ns2_path;
pub mod outcome;
mod reasons;
mod replicate;
pub mod report;
pub mod statistics;
mod variant;

pub use experiment::{Context, Experiment, ExperimentError, Progress};
pub use outcome::{CONFIDENCE, Cell, Claim, Figure, Outcome, Panel, Series};
