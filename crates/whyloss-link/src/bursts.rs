//! Aggregation: a link that pays for access once per burst (802.11's A-MPDU).
//!
//! ```text
//! link free, packets wait   access time: the link sends nothing, and more packets may arrive
//! then                      a burst of up to n waiting packets; none joins once the burst has lasted for the airtime
//! end of the burst          all its packets are delivered together, except those that the channel lost (ARQ sends them
//!                           again within the burst)
//!
//! saturated, packets of transmission time s:   k = min(n, ⌈airtime/s⌉) packets in access + k·s
//! a lone packet                                access + s
//! ```

use whyloss::Duration;

/// The maximum number of packets per burst in a scenario.
pub const MOST_PACKETS: u32 = 1_024;

/// Describes a link that pays for access once per burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstSpec {
    /// The maximum number of packets in a burst, from 1 to [`MOST_PACKETS`].
    pub packets: u32,
    /// The burst duration at which no more packets join the burst.
    pub airtime: Duration,
    /// The time for which the link is idle before the first packet of each burst.
    pub access: Duration,
}
