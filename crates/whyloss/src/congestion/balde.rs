//! BaLDE: Reno with a bandwidth estimate (SARBE) and a detector of filling queues (LDEA).
//!
//! Le & Hong, "TCP BaLDE for improving TCP performance over heterogeneous networks", IEICE Trans.
//! Commun. E89-B(4), 2006, section 3.2 (BAL-3 to BAL-7).
//!
//! ```text
//! oCwnd = max(eBw·RTT_min, 2·SMSS)                                        [bytes]   eBw: see sarbe.rs
//!
//! new acknowledgement   if cwnd < ssthresh and LDEA: ssthresh = oCwnd;  then see window.rs
//! loss by congestion    ssthresh = oCwnd,  cwnd = min(cwnd, ssthresh)
//! other loss            ssthresh = oCwnd,  cwnd stays
//! timeout               ssthresh = oCwnd,  cwnd = SMSS
//! ```
//!
//! LDEA detects incipient congestion with the Vegas predictor (`sender/vegas.rs`, α = 1, β = 3),
//! initially uncongested. In the paper, a loss is a congestion loss if LDEA sees incipient
//! congestion. This is the classifier `ldea` with the policy
//! [`WirelessPolicy::KeepWindow`](super::WirelessPolicy::KeepWindow); any other classifier can
//! replace it. LDEA in this file only ends slow start. Before the first estimate, a loss sets oCwnd
//! to half of FlightSize (RFC 5681 equation 4), and LDEA does not end slow start. The paper has no
//! floor for oCwnd (BAL-4).

use super::window::by_window;
use super::{Controller, Pipe, Spared, Start, Window};
use crate::bandwidth::{DuplicateAcks, EstimatorSpec};
use crate::event::{AckEvent, LossEvent};
use crate::sender::SenderClassifier;
use crate::sender::vegas::Vegas;
use crate::{Rate, Time};

/// TCP BaLDE (Le & Hong 2006): Reno that sets ssthresh from SARBE's bandwidth estimate and leaves
/// slow start when the Vegas predictor sees congestion. [`crate::schemes::balde`] has the formula.
#[derive(Clone, Debug)]
pub struct Balde {
    window: Window,
    pipe: Pipe,
    ldea: Vegas,
}

impl Balde {
    /// Creates the controller in slow start.
    pub fn new(start: &Start, duplicates: DuplicateAcks) -> Self {
        Self {
            window: Window::new(start),
            pipe: Pipe::new(EstimatorSpec::Sarbe(duplicates), start.segment_size),
            ldea: Vegas::ldea(),
        }
    }

    /// Returns the optimal window oCwnd, in bytes.
    fn optimal(&self, loss: &LossEvent) -> u64 {
        let without = (loss.in_flight / 2).max(2 * self.window.segment());
        self.pipe.bytes().unwrap_or(without)
    }
}

impl Controller for Balde {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        self.pipe.on_ack(ack, ack.rtt);
        if ack.acked > 0 {
            self.ldea.on_ack(ack);
            if self.ldea.is_congested()
                && self.window.in_slow_start()
                && let Some(optimal) = self.pipe.bytes()
            {
                self.window.set(self.window.cwnd(), optimal);
            }
        }
        self.window.grow(ack);
    }

    fn on_loss(&mut self, loss: &LossEvent) {
        self.pipe.settle();
        let optimal = self.optimal(loss);
        self.window.set(self.window.cwnd().min(optimal), optimal);
    }

    fn on_spared_loss(&mut self, loss: &LossEvent, spared: Spared) {
        match spared {
            Spared::Wholly => self.pipe.forget_last(),
            Spared::Window => {
                self.pipe.settle();
                self.window.set(self.window.cwnd(), self.optimal(loss));
            }
        }
    }

    fn on_recovery_end(&mut self, _now: Time, at_most: u64) {
        self.window.limit(at_most);
    }

    fn on_timeout(&mut self, loss: &LossEvent) {
        self.pipe.settle();
        self.window.set(0, self.optimal(loss));
    }

    fn on_mtu_change(&mut self, segment_size: u32) {
        self.window.resize(segment_size);
        self.pipe.resize(segment_size);
    }

    by_window!();

    fn bandwidth(&self) -> Option<Rate> {
        self.pipe.bandwidth()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{START, ack, loss};
    use super::*;
    use crate::Duration;

    /// Builds a new acknowledgement that the receiver sends at `ms`, with this round-trip time and
    /// window.
    fn at(ms: u64, rtt_ms: i64, window: u64) -> AckEvent {
        let time = Time::from_nanos(ms * 1_000_000);
        AckEvent {
            now: time,
            receiver_stamp: Some(time),
            rtt: Some(Duration::from_millis(rtt_ms)),
            window,
            ..ack(1000)
        }
    }

    /// Returns BaLDE at 1000 bytes per 10 ms and RTT_min = 80 ms: the path holds 8000 bytes. cwnd
    /// is 4000, and ssthresh is unlimited.
    fn settled() -> Balde {
        let mut balde = Balde::new(&START, DuplicateAcks::Wait);
        for k in 0..2 {
            balde.on_ack(&at(10 * k, 80, 2000));
        }
        assert_eq!(balde.bandwidth(), Some(Rate::from_bps(800_000)));
        balde
    }

    fn sizes(balde: &Balde) -> (u64, u64) {
        (balde.window(), balde.ssthresh())
    }

    #[test]
    fn incipient_congestion_ends_slow_start() {
        let mut balde = settled();
        // At RTT = 100 ms, a fifth of the window waits. 14 999 bytes are just below three segments.
        balde.on_ack(&at(20, 100, 14_999));
        assert_eq!(sizes(&balde), (5000, u64::MAX));
        balde.on_ack(&at(30, 100, 15_000));
        assert_eq!(sizes(&balde), (6000, 8000));
        // Slow start continues up to oCwnd. Congestion avoidance follows.
        for (ms, cwnd) in [(40, 7000), (50, 8000), (60, 8125)] {
            balde.on_ack(&at(ms, 80, 4000));
            assert_eq!(sizes(&balde), (cwnd, 8000));
        }
    }

    #[test]
    fn between_the_thresholds_the_state_stays() {
        let mut balde = settled();
        for (window, incipient) in [
            (5001, false),
            (15_000, true),
            (5001, true),
            (5000, false),
            (5001, false),
        ] {
            balde.on_ack(&at(100, 100, window));
            assert_eq!(balde.ldea.is_congested(), incipient, "{window}");
        }
    }

    #[test]
    fn losses_and_timeouts() {
        let lost = loss(20_000, 30_000);
        let mut balde = settled();
        balde.set_window(30_000, 15_000);
        balde.on_spared_loss(&lost, Spared::Wholly);
        assert_eq!(sizes(&balde), (30_000, 15_000));
        balde.on_spared_loss(&lost, Spared::Window);
        assert_eq!(sizes(&balde), (30_000, 8000));
        balde.on_loss(&lost);
        assert_eq!(sizes(&balde), (8000, 8000));
        balde.set_window(5000, 3000);
        balde.on_loss(&lost);
        assert_eq!(sizes(&balde), (5000, 8000));
        balde.on_timeout(&lost);
        assert_eq!(sizes(&balde), (1000, 8000));
    }

    #[test]
    fn without_time_stamps_it_halves_the_flight() {
        let mut balde = Balde::new(&START, DuplicateAcks::Wait);
        for k in 0..10 {
            balde.on_ack(&AckEvent {
                receiver_stamp: None,
                ..at(10 * k, 100, 50_000)
            });
        }
        assert_eq!(sizes(&balde), (12_000, u64::MAX));
        balde.on_loss(&loss(11_000, 12_000));
        assert_eq!(sizes(&balde), (5500, 5500));
    }
}
