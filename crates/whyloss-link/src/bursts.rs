//! Aggregation: a link that pays for access once per burst (802.11's A-MPDU).
//!
//! ```text
//! link free, packets wait   access time: nothing is sent, while more packets may arrive
//! then                      a burst of up to n waiting packets; none joins once the burst has lasted for the airtime
//! end of the burst          delivers all of it at once, except packets that the channel lost (with ARQ, they are sent
//!                           again within the burst)
//!
//! saturated, packets of transmission time s:   k = min(n, ⌈airtime/s⌉) packets in access + k·s
//! a lone packet                                access + s
//! ```

use whyloss::Duration;

/// Maximum number of packets per burst that a scenario may ask for.
pub const MOST_PACKETS: u32 = 1_024;

/// Describes a link that pays for access once per burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstSpec {
    /// Maximum number of packets in a burst, from 1 to [`MOST_PACKETS`].
    pub packets: u32,
    /// The duration of a burst after which no further packet joins it.
    pub airtime: Duration,
    /// The time for which the link is idle before the first packet of each burst.
    pub access: Duration,
}
