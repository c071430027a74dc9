//! The error of a run that gives no result.

use thiserror::Error;
use whyloss::Time;

use crate::scenario::CheckError;

/// Explains why a run gave no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The scenario is invalid; nothing was run.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The QUIC engine of this flow is not [installed](crate::host::quic::install); nothing was
    /// run.
    #[error(
        "flow `{0}`: its QUIC engine is not built into this program; `cargo build --release --features quic` builds the command with it"
    )]
    NoEngine(String),
    /// The estimator of this RTP flow is not [installed](crate::host::rtp::install).
    #[error(
        "flow `{0}`: its estimator is not built into this program; `cargo build --release --features rtc` builds the command with all of them"
    )]
    NoEstimator(String),
    /// More packets were in flight or waiting than
    /// [`Scenario::most_packets`](crate::Scenario::most_packets) or memory allows.
    #[error(
        "link `{link}` holds too many packets: at {:.6} s more than {most} are in flight or waiting in the network; give the link a queue with a limit, or raise `most_packets`",
        at.as_secs_f64()
    )]
    TooManyPackets {
        /// The link that held most of them.
        link: String,
        /// The simulated time at which the limit was exceeded.
        at: Time,
        /// The limit, in packets.
        most: u64,
    },
}
