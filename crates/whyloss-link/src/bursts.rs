//! Aggregation: a link that pays for access once per burst (802.11's A-MPDU).
//!
//! ```text
//! free, someone waits   access: so long nothing is sent, while more may come
//! then                  a burst of those that wait: up to n packets, and no further one once it has lasted for the airtime
//! end of the burst      all of it is handed on at once; a packet that its channel lost is lost (or, with ARQ, sent
//!                       again within the burst)
//!
//! saturated, packets of transmission time s:   k = min(n, ⌈airtime/s⌉) packets in access + k·s
//! a lone packet                                access + s
//! ```

use whyloss::Duration;

/// Most packets of a burst.
pub const MOST_PACKETS: u32 = 1_024;

/// What a scenario says about a link that sends in bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstSpec {
    /// Packets of a burst at most, 1 to [`MOST_PACKETS`].
    pub packets: u32,
    /// How long a burst may last before its last packet begins.
    pub airtime: Duration,
    /// What a burst costs before it begins.
    pub access: Duration,
}

impl BurstSpec {
    /// Packets of this transmission time per second that a saturated link without losses carries.
    pub fn saturated(&self, transmission: Duration) -> f64 {
        let (airtime, each) = (self.airtime.as_nanos(), transmission.as_nanos().max(1));
        let k = i64::from(self.packets)
            .min((airtime + each - 1) / each)
            .max(1);
        k as f64 * 1e9 / (self.access.as_nanos() + k * each) as f64
    }
}
