//! Westwood: grows like Reno; a loss sets the window from a bandwidth estimate (Casetti et al.,
//! MobiCom 2001).
//!
//! ```text
//! loss      ssthresh = max(Bw·RTT_min, 2·SMSS), cwnd = min(cwnd, ssthresh)        [bytes]
//! timeout   ssthresh likewise, cwnd = SMSS
//! ```
//!
//! | scheme | Bw, the estimate | repaired by | in |
//! |---|---|---|---|
//! | [`scheme`] | a sample per acknowledgement, fixed filter | Reno's recovery | Milenkoski & Stojcevska 2010, equations 3 to 6 (MIL-3) |
//! | [`ucla`] | the same, divided at timeouts | fast retransmit alone | what their figures run: `tcp-westwood.cc` 1.3 |
//! | [`ucla_newreno`] | the same, undivided; two segments after a timeout | NewReno's recovery | Martignon & Fratta 2005, section 3: `tcp-w-nr.cc` 1.2 (MAR-5) |
//! | [`ucla_timed`] | filtered by the time between acknowledgements, divided at timeouts | fast retransmit alone | Le & Hong 2006, section 4 (BAL-1) |
//! | [`plus`] | a sample per round trip | NewReno's recovery | Mascolo et al., CCR 34(2), 2004 |

use super::{Scheme, unaware};
use crate::congestion::WestwoodOptions;

/// Returns Westwood as equations 3 to 6 of Milenkoski & Stojcevska 2010 define it.
pub fn scheme() -> Scheme {
    unaware(WestwoodOptions::per_ack())
}

/// Returns the Westwood of UCLA's module, with its filter of type 1.
pub fn ucla() -> Scheme {
    unaware(WestwoodOptions::ucla())
}

/// Returns the Westwood of UCLA's module that derives from NewReno.
pub fn ucla_newreno() -> Scheme {
    unaware(WestwoodOptions::ucla_newreno())
}

/// Returns the Westwood of UCLA's module, with its filter of type 3.
pub fn ucla_timed() -> Scheme {
    unaware(WestwoodOptions::ucla_timed())
}

/// Returns Westwood+: Westwood with a sample per round trip.
pub fn plus() -> Scheme {
    unaware(WestwoodOptions::plus())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{begun, fills, loss};
    use super::*;
    use crate::event::Detection;

    /// 100 kB/s for 100 ms are 10 segments.
    #[test]
    fn what_the_rate_fills() {
        for scheme in [scheme(), ucla(), ucla_newreno(), ucla_timed(), plus()] {
            assert_eq!(fills(&scheme), (10, 10), "{scheme:?}");
        }
    }

    /// Without an estimate, the equations leave half of the 20 segments in flight, and the module
    /// leaves 2 segments.
    #[test]
    fn before_there_is_a_rate() {
        for (scheme, window) in [(scheme(), 10_000), (ucla(), 2_000), (ucla_newreno(), 2_000)] {
            let mut control = scheme.start_metered(&super::super::tests::BEGUN);
            control.on_loss(&loss(Detection::Duplicates));
            assert_eq!(control.window(), window);
        }
        // A timeout resets the window, independent of the estimate.
        let mut control = begun(&ucla());
        control.on_loss(&loss(Detection::Timeout));
        assert_eq!(control.window(), 1000);
        let mut control = begun(&ucla_newreno());
        control.on_loss(&loss(Detection::Timeout));
        assert_eq!(control.window(), 2000);
    }
}
