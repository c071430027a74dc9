//! The options of an IFTP sender, with the defaults of ElAarag et al. 2008, section 5.2.

use crate::Duration;
use crate::rto::RtoOptions;

/// The maximum window. A sender remembers this many packets, without allocation.
pub const MOST_PACKETS: u32 = 1024;

/// The options of an IFTP sender. Numbers out of range are clamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Options {
    /// The time τ that the sender's link takes to send a data packet; `None` if unknown, which
    /// counts as 0.
    pub transmission_time: Option<Duration>,
    /// The initial slow start threshold in packets; at least 1.
    pub initial_ssthresh: u32,
    /// The maximum number of packets in a period, and therefore in the window; 1 to
    /// [`MOST_PACKETS`].
    pub max_window: u32,
    /// The number of later packets that must be acknowledged before the lowest outstanding packet
    /// counts as lost; at least 1.
    pub duplicates: u32,
    /// The rule by which the window moves.
    pub window: WindowMode,
    /// The options of the timeout.
    pub rto: RtoOptions,
}

impl Default for Options {
    /// ElAarag et al., section 5.2: threshold 32, maximum 50, three duplicates. The window slides
    /// (section 7), the timer is RFC 6298's, and τ is unknown.
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

/// Selects the rule by which the window moves (section 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum WindowMode {
    /// A packet may leave while `next < una + n`. The paper prints `cwnd + una < next`, which would
    /// allow packets only beyond the window (ELA-5).
    #[default]
    Sliding,
    /// The older version of the paper: the next window opens once every packet of the previous
    /// window is acknowledged or given up.
    Blocking,
}
