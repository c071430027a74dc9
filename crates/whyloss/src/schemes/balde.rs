//! TCP BaLDE: SARBE's bandwidth estimate, and LDEA as its classifier (Le & Hong, IEICE Trans.
//! Commun. E89-B(4), 2006; BAL-3 to BAL-7).
//!
//! ```text
//! oCwnd                 max(SARBE·RTT_min, 2·SMSS)                                          [bytes]
//! LDEA                  the Vegas predictor, α = 1, β = 3, not congested at first
//! slow start            ends at ssthresh = oCwnd once LDEA sees incipient congestion
//! loss LDEA expects     congestion: ssthresh = oCwnd, cwnd = min(cwnd, ssthresh)
//! another loss          wireless:   ssthresh = oCwnd, cwnd stays
//! timeout               congestion, without LDEA: ssthresh = oCwnd, cwnd = SMSS
//! ```
//!
//! Uses Reno's recovery. SARBE reads the receiver's timestamps (`bandwidth/sarbe.rs`).

use super::Scheme;
use crate::bandwidth::DuplicateAcks;
use crate::congestion::ControllerKind;
use crate::policy::WirelessPolicy;
use crate::sender::vegas::Vegas;

/// Returns TCP BaLDE: SARBE's bandwidth estimate with the classifier LDEA.
pub fn scheme() -> Scheme {
    Scheme::new(
        ControllerKind::Balde(DuplicateAcks::Wait),
        WirelessPolicy::KeepWindow,
        Vegas::ldea(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::{begun, fills, loss, queued, steady};
    use super::*;
    use crate::Cause;
    use crate::event::Detection;

    /// 100 kB/s for 100 ms are 10 segments. They set ssthresh at any loss. They limit the window
    /// only if 30·(1 − 100/120) = 5 segments wait.
    #[test]
    fn the_bandwidth_bounds_the_window_at_congestion_alone() {
        let duplicates = loss(Detection::Duplicates);
        let mut control = begun(&scheme());
        steady(&mut control);
        let before = control.window();
        assert_eq!(control.on_loss(&duplicates), Cause::Wireless);
        assert_eq!((control.window(), control.ssthresh()), (before, 10_000));
        control.on_ack(&queued(120));
        assert_eq!(control.on_loss(&duplicates), Cause::Congestion);
        assert_eq!(control.window(), 10_000);
        assert_eq!(
            control.on_loss(&loss(Detection::Timeout)),
            Cause::Congestion
        );
        assert_eq!(control.window(), 1000);
        assert_eq!(fills(&scheme()).1, 10);
    }
}
