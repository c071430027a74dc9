//! Reno: slow start, congestion avoidance, and halving (RFC 5681 §3.1 and §3.2; Jacobson 1988).
//!
//! ```text
//! acknowledgement   see window.rs
//! loss              ssthresh = max(FlightSize/2, 2·SMSS),  cwnd = ssthresh
//! timeout           ssthresh likewise (unchanged if repeated),  cwnd = SMSS          [bytes]
//! ```
//!
//! NewReno and SACK differ from Reno in loss recovery, which belongs to the transport, not in the
//! window.

use super::window::by_window;
use super::{Controller, Start, Window};
use crate::Time;
use crate::event::{AckEvent, LossEvent};

/// The quantity whose half becomes ssthresh after a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Decrease {
    /// FlightSize; at least 2·SMSS remain (RFC 5681 equation 4). A repeated timeout leaves ssthresh
    /// as it is.
    #[default]
    FlightSize,
    /// The window in use, as in ns-2: `cwnd = window/2`, at least SMSS (ns-2 goes lower). ssthresh
    /// is cwnd in whole segments, at least 2. A repeated timeout halves it again.
    Window,
}

/// Reno (RFC 5681): slow start, congestion avoidance, and half of FlightSize or of the window after
/// a loss. [`Window`] has the growth: a segment per acknowledged segment in slow start, then a
/// segment per round trip. A timeout restarts from one segment.
#[derive(Clone, Debug)]
pub struct Reno {
    window: Window,
    decrease: Decrease,
}

impl Reno {
    /// Creates the controller in slow start.
    pub fn new(start: &Start, decrease: Decrease) -> Self {
        Self {
            window: Window::new(start),
            decrease,
        }
    }

    /// Halves the quantity selected by [`Decrease`]. Returns (cwnd, ssthresh) in bytes.
    fn halves(&self, loss: &LossEvent) -> (u64, u64) {
        let segment = self.window.segment();
        match self.decrease {
            Decrease::FlightSize => {
                let half = (loss.in_flight / 2).max(2 * segment);
                (half, half)
            }
            Decrease::Window => {
                let half = loss.window / 2;
                let whole = half - half % segment;
                (half.max(segment), whole.max(2 * segment))
            }
        }
    }
}

impl Controller for Reno {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        self.window.grow(ack);
    }

    fn on_loss(&mut self, loss: &LossEvent) {
        let (cwnd, ssthresh) = self.halves(loss);
        self.window.set(cwnd, ssthresh);
    }

    fn on_recovery_end(&mut self, _now: Time, at_most: u64) {
        self.window.limit(at_most);
    }

    fn on_timeout(&mut self, loss: &LossEvent) {
        let mut ssthresh = self.window.ssthresh();
        if !loss.repeated || self.decrease == Decrease::Window {
            ssthresh = self.halves(loss).1;
        }
        self.window.set(0, ssthresh);
    }

    fn on_mtu_change(&mut self, segment_size: u32) {
        self.window.resize(segment_size);
    }

    by_window!();
}

#[cfg(test)]
mod tests {
    use super::super::tests::{START, ack, loss};
    use super::*;

    fn reno(decrease: Decrease) -> Reno {
        Reno::new(&START, decrease)
    }

    #[test]
    fn a_loss_halves_the_flight_or_the_window() {
        let mut rfc = reno(Decrease::FlightSize);
        rfc.on_loss(&loss(9000, 11_000));
        assert_eq!((rfc.window(), rfc.ssthresh()), (4500, 4500));
        rfc.on_loss(&loss(3000, 4500));
        assert_eq!((rfc.window(), rfc.ssthresh()), (2000, 2000));

        let mut ns2 = reno(Decrease::Window);
        ns2.on_loss(&loss(9000, 11_000));
        assert_eq!((ns2.window(), ns2.ssthresh()), (5500, 5000));
        ns2.on_loss(&loss(3000, 3000));
        assert_eq!((ns2.window(), ns2.ssthresh()), (1500, 2000));
    }

    #[test]
    fn a_repeated_timeout_leaves_ssthresh_to_the_letter_of_the_rfc() {
        let repeated = |in_flight, window| LossEvent {
            repeated: true,
            ..loss(in_flight, window)
        };
        let mut rfc = reno(Decrease::FlightSize);
        rfc.on_timeout(&loss(16_000, 16_000));
        assert_eq!((rfc.window(), rfc.ssthresh()), (1000, 8000));
        rfc.on_timeout(&repeated(1000, 1000));
        assert_eq!((rfc.window(), rfc.ssthresh()), (1000, 8000));

        let mut ns2 = reno(Decrease::Window);
        ns2.on_timeout(&loss(16_000, 17_000));
        assert_eq!((ns2.window(), ns2.ssthresh()), (1000, 8000));
        ns2.on_timeout(&repeated(1000, 1000));
        assert_eq!((ns2.window(), ns2.ssthresh()), (1000, 2000));
    }

    #[test]
    fn a_recovery_ends_without_a_burst() {
        let mut reno = reno(Decrease::FlightSize);
        reno.on_loss(&loss(20_000, 20_000));
        reno.on_recovery_end(Time::ZERO, u64::MAX);
        assert_eq!(reno.window(), 10_000);
        reno.on_ack(&ack(1000));
        reno.on_recovery_end(Time::ZERO, 3000);
        assert_eq!((reno.window(), reno.ssthresh()), (3000, 10_000));
    }
}
