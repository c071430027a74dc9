//! The choices of an IFTP sender.

use crate::Duration;
use crate::rto::RtoOptions;

/// No window is larger: a sender remembers this many packets, without allocation.
pub const MOST_PACKETS: u32 = 1024;

/// The choices of an IFTP sender. Out of range, a number counts as the nearest that is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Options {
    /// τ: how long the sender's link takes to send a data packet. `None`: unknown, and
    /// it counts as nothing.
    pub transmission_time: Option<Duration>,
    /// The slow start threshold at first, in packets. At least 1.
    pub initial_ssthresh: u32,
    /// The most packets in a period, and so in the window; 1 to [`MOST_PACKETS`].
    pub max_window: u32,
    /// Acknowledgements of later packets that make the lowest outstanding one lost. At least 1.
    pub duplicates: u32,
    /// How the window moves.
    pub window: WindowMode,
    /// The timeout.
    pub rto: RtoOptions,
}

impl Default for Options {
    /// ElAarag et al., section 5.2: threshold 32, maximum 50, three duplicates. The window slides
    /// (section 7), the timer is RFC 6298's, and τ is not known.
    fn default() -> Self {
        Self {
            transmission_time: None,
            initial_ssthresh: 32,
            max_window: 50,
            duplicates: 3,
            window: WindowMode::Sliding,
            rto: RtoOptions::default(),
        }
    }
}

/// How the window moves (section 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum WindowMode {
    /// A packet may leave while `next < una + n`. The paper prints `cwnd + una < next`, which would
    /// let packets leave only beyond the window (ELA-5).
    #[default]
    Sliding,
    /// The older version: the next window opens once every packet of the one before is acknowledged
    /// or given up.
    Blocking,
}
