//! ARQ: a link that retransmits frames that its channel loses, up to a limit of tries.
//!
//! ```text
//! tries       K = 1, 2, …, n; lost after the n-th. With independent losses of probability p:
//!               residual loss   p^n
//!               tries           E[K] = (1 − p^n)/(1 − p)
//! service     K·s + (K − 1)·t   stop and wait; s: transmission, t: turnaround until the sender detects the loss, in ns
//!             K·s               parallel (HARQ): the link sends other frames during t; the frame arrives (K − 1)·t later
//! in order    a frame waits at the receiver for those sent before it
//! otherwise   frames reach the application as they arrive
//! ```
//!
//! The model charges the time of all parallel tries when the first try is sent, not between the
//! frames that follow. The link's throughput is the same. A frame's delay differs by at most one
//! transmission per retry of other frames.

use whyloss::Duration;

/// The maximum number of tries per frame in a scenario.
pub const MOST_TRIES: u32 = 64;

/// Describes a link that retransmits lost frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArqSpec {
    /// The maximum number of times that the link sends a frame, from 1 to [`MOST_TRIES`].
    pub tries: u32,
    /// The time from a try's last bit until the sender detects its loss and starts the next try.
    pub turnaround: Duration,
    /// Whether the link sends other frames during the turnaround.
    pub parallel: bool,
    /// Whether the receiver delivers frames in the order of their first transmission.
    pub in_order: bool,
}

impl Default for ArqSpec {
    fn default() -> Self {
        Self {
            tries: 7,
            turnaround: Duration::ZERO,
            parallel: false,
            in_order: true,
        }
    }
}
