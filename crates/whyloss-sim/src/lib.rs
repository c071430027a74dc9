//! A discrete-event network simulator with ground truth for every loss.
//!
//! - [`measure`]: what a run returns.
//! - [`scenario`]: what to simulate: nodes, links, flows, times.
#![forbid(unsafe_code)]

pub mod measure;
pub mod scenario;

pub use measure::{FlowResult, LinkResult, Measurement};
pub use scenario::Scenario;
