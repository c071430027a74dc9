//! TCP Veno (Fu & Liew, IEEE JSAC 21(2), 2003).
//!
//! ```text
//! N = cwnd·(1 − RTT_min/RTT)        segments, at the loss; RTT: the smallest of the last round trip
//! N ≥ 3                             congestion: ssthresh = FlightSize/2
//! N < 3                             random:     ssthresh = cwnd = 4/5·cwnd                  [bytes]
//! congestion avoidance, N ≥ 3       a segment every other round trip
//! ```

use super::Scheme;
use crate::congestion::{BacklogRtt, ControllerKind};
use crate::policy::WirelessPolicy;
use crate::sender::veno::Veno;

/// Returns TCP Veno: Veno's window with Veno as its classifier.
pub fn scheme() -> Scheme {
    Scheme::new(
        ControllerKind::Veno(BacklogRtt::LastRound),
        WirelessPolicy::Percent(80),
        Veno::paper(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::{begun, loss};
    use super::*;
    use crate::Cause;
    use crate::event::Detection;

    /// Without a backlog, 4/5 of 30 segments remain.
    #[test]
    fn a_fifth_at_a_random_loss() {
        let mut control = begun(&scheme());
        assert_eq!(
            control.on_loss(&loss(Detection::Duplicates)),
            Cause::Wireless
        );
        assert_eq!((control.window(), control.ssthresh()), (24_000, 24_000));
    }
}
