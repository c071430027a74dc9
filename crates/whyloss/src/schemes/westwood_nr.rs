//! Westwood-NR: Westwood with adaptive bandwidth share estimation (Wang et al., GLOBECOM 2002;
//! Martignon & Fratta 2005, section 3; MAR-5).
//!
//! ```text
//! loss      ssthresh = max(ABSE·RTT_min, 2·SMSS), cwnd = min(cwnd, ssthresh)      [bytes]
//! timeout   ssthresh likewise, cwnd = SMSS
//! ```
//!
//! Uses NewReno's recovery.

use super::{Scheme, unaware};
use crate::congestion::WestwoodOptions;

/// Returns Westwood-NR: Westwood with ABSE's bandwidth estimate.
pub fn scheme() -> Scheme {
    unaware(WestwoodOptions::abse())
}

#[cfg(test)]
mod tests {
    /// 100 kB/s for 100 ms are 10 segments.
    #[test]
    fn what_the_rate_fills() {
        assert_eq!(super::super::tests::fills(&super::scheme()), (10, 10));
    }
}
