//! TIBET: Westwood with separate filters for segment sizes and gaps between acknowledgements. From
//! Capone, Fratta & Martignon, IEEE TMC 3(2), 2004, and Martignon & Fratta 2005, section 3 (MAR-6).
//!
//! ```text
//! Bw        mean size of a segment / mean gap between acknowledgements            [bytes/s]
//! loss      ssthresh = max(Bw·RTT_min, 2·SMSS), cwnd = min(cwnd, ssthresh)        [bytes]
//! timeout   ssthresh likewise, cwnd = SMSS
//! ```
//!
//! Uses NewReno's recovery.

use super::{Scheme, unaware};
use crate::congestion::WestwoodOptions;

/// Returns TIBET: Westwood with TIBET's bandwidth estimate.
pub fn scheme() -> Scheme {
    unaware(WestwoodOptions::tibet())
}

#[cfg(test)]
mod tests {
    /// 1000 bytes every 10 ms for 100 ms are 10 segments.
    #[test]
    fn what_the_rate_fills() {
        assert_eq!(super::super::tests::fills(&super::scheme()), (10, 10));
    }
}
