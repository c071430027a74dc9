#![doc = include_str!("../README.md")]
//!
//! # Where things are
//!
//! - [`measure`]: the results of a run.
//! - [`scenario`]: the model to simulate: nodes, links, flows, times.
//! - [`observe`]: traits for watching a run. [`delay`] measures delays, [`media`] follows frames,
//!   [`trace`] writes tables, and [`pcap`] writes captures.
//! - [`registry`]: registers algorithms from outside this repository by name.
//! - [`output`]: writes files completely or not at all; [`text`]: escapes text for printing.

pub mod clock;
pub mod decider;
pub mod delay;
mod engine;
pub mod host;
pub mod measure;
pub mod media;
pub mod observe;
pub mod output;
pub mod packet;
pub mod pcap;
mod prefetch;
pub mod recording;
pub mod registry;
pub mod scenario;
mod snug;
pub mod text;
pub mod trace;

pub use delay::{DelaySummary, Delays};
pub use engine::{Needs, Run, RunError, Shortcut, Simulation};
pub use host::rtp::CallResult;
pub use host::transfers::TransferResult;
pub use measure::{Closed, FlowCounts, FlowResult, LinkResult, Measurement};
pub use media::{FrameCounts, Media};
pub use observe::{Event, Observer, Order, Watch};
pub use output::{OutputError, replace_file};
pub use packet::Packet;
pub use pcap::{Capture, NodeCapture};
pub use registry::Registry;
pub use scenario::Scenario;
#[cfg(feature = "parquet")]
pub use trace::ParquetFiles;
pub use trace::{CsvFiles, Trace, TraceOptions};
