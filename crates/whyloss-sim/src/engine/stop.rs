//! How a run ends before its time: by an error, or because its caller says so.

use thiserror::Error;
use whyloss::Time;

use crate::scenario::CheckError;

/// Events between two questions whether to go on ([`Simulation::ask`](super::Simulation::ask)): a
/// few milliseconds.
pub(super) const ASK_EVERY: u64 = 1 << 16;

/// Why a run gave no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The scenario is wrong; nothing was run.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// A flow's protocol engine is not part of this program; nothing was run.
    #[error(
        "flow `{0}`: its QUIC engine is not built into this program; `cargo build --release --features quic` builds the command with it"
    )]
    NoEngine(String),
    /// An RTP flow needs an estimator that is not [installed](crate::host::rtp::install).
    #[error(
        "flow `{0}`: its estimator is not built into this program; `cargo build --release --features rtc` builds the command with all of them"
    )]
    NoEstimator(String),
    /// More packets were under way or waiting than [`Scenario::most_packets`](crate::Scenario::most_packets) allows, or than there is memory for.
    #[error(
        "link `{link}` holds too many packets: at {:.6} s more than {most} are under way or waiting in the network; give the link a queue with a limit, or raise `most_packets`",
        at.as_secs_f64()
    )]
    TooManyPackets {
        /// The link that holds most of them.
        link: String,
        /// When the last straw was sent.
        at: Time,
        /// The limit.
        most: u64,
    },
}
