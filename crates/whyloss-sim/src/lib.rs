//! A discrete-event network simulator with ground truth for every loss.
//!
//! - [`measure`]: what a run returns.
//! - [`scenario`]: what to simulate: nodes, links, flows, times.
#![forbid(unsafe_code)]

mod event_queue;
pub mod host;
pub mod measure;
mod network;
pub mod observe;
pub mod packet;
mod run;
pub mod scenario;

pub use measure::{FlowResult, LinkResult, Measurement};
pub use observe::Observer;
pub use packet::Packet;
pub use run::run;
pub use scenario::Scenario;
