//! A discrete-event network simulator with ground truth for every loss.
//!
//! - [`scenario`]: what to simulate: nodes, links, flows, times.
#![forbid(unsafe_code)]

pub mod scenario;

pub use scenario::Scenario;
