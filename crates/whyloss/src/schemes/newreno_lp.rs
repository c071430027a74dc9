//! NewReno-LP: NewReno with the Vegas predictor (Martignon & Fratta 2005, section 2; MAR-3, MAR-4).
//!
//! ```text
//! V_P = (cwnd/RTT_min − cwnd/RTT)·RTT_min     segments
//! loss while V_P ≥ 3 was seen last            congestion: ssthresh = FlightSize/2
//! loss while V_P ≤ 1 was seen last            wireless:   ssthresh = cwnd = FlightSize     [bytes]
//! timeout                                     the same for ssthresh, cwnd = SMSS
//! ```
//!
//! Uses NewReno's recovery. NewReno-Ideal-LP uses the truth instead of the predictor: a window with
//! any congestion loss counts as congestion. The paper's figures use ns-2's TCP, which halves the
//! window instead of the flight size; [`ControllerKind::of_ns2`] makes that change.

use super::{Lookup, Scheme};
use crate::congestion::{ControllerKind, Decrease};
use crate::policy::WirelessPolicy;
use crate::sender::vegas::Vegas;

/// Returns NewReno-LP: Reno's window with the Vegas predictor.
pub fn scheme() -> Scheme {
    Scheme::new(
        ControllerKind::Reno(Decrease::FlightSize),
        WirelessPolicy::FlightSize,
        Vegas::predictor(),
    )
}

/// Returns NewReno-Ideal-LP: NewReno-LP with the truth instead of the predictor.
pub fn ideal() -> Scheme<Lookup> {
    scheme().classified(Lookup::default())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{begun, loss, queued};
    use super::*;
    use crate::Cause;
    use crate::event::Detection;

    /// 20 of 30 segments are in flight. V_P is 0 at first. With an RTT of 120 ms and an RTT_min of
    /// 100 ms, it is 30·(1 − 100/120) = 5.
    #[test]
    fn the_flight_size_or_its_half() {
        let duplicates = loss(Detection::Duplicates);
        let mut control = begun(&scheme());
        assert_eq!(control.on_loss(&duplicates), Cause::Wireless);
        assert_eq!((control.window(), control.ssthresh()), (20_000, 20_000));
        let mut control = begun(&scheme());
        control.on_ack(&queued(120));
        assert_eq!(control.on_loss(&duplicates), Cause::Congestion);
        assert_eq!((control.window(), control.ssthresh()), (10_000, 10_000));
    }
}
