//! Runs the evaluation that RFC 9743 requires of a new congestion control.
//!
//! ```text
//! Criterion   a section of the RFC, a network with cases, measures
//!   ↓         (`evaluation/criteria.toml`, `drawn`)
//!   ↓ run     one sweep for each network: contenders × cases × seeds; a store keeps the runs, so
//!   ↓         that it can resume, or run in shares on several machines (`run_share`)
//! Finding     the values of every contender in every case
//!   ↓         relative values: against CUBIC in the same place, or against the same controller
//!   ↓         with the true causes
//! Outcome     cells, pictures, notes (`report`): a page, Markdown, CSV, JSON
//! ```
//!
//! [`adversary`] searches for the network in which a scheme harms a CUBIC flow most.

pub mod adversary;
mod contender;
mod criterion;
mod drawn;
pub mod media;
pub mod report;
mod run;

pub use contender::{Carrier, Contender, Unknown};
pub use criterion::{Criterion, OVER_QUIC, Uncovered, criteria, uncovered};
pub use drawn::{drawn, recorded};
pub use run::{Finding, Kept, run, run_share};

/// The settings of an evaluation.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The scheme that is evaluated.
    pub scheme: Contender,
    /// The transport of the judged flows.
    pub carrier: Carrier,
    /// The number of runs (seeds) of each case.
    pub seeds: u64,
    /// Whether to run only the first two cases of each criterion, and to compare only with CUBIC.
    pub quick: bool,
}

#[cfg(test)]
mod tests;
