//! Reno: slow start, congestion avoidance, and halving (RFC 5681 §3.1 and §3.2; Jacobson 1988).
//!
//! ```text
//! acknowledgement   cwnd < ssthresh:  cwnd += min(acked, SMSS)
//!                   otherwise:        cwnd += SMSS²/cwnd
//! loss              ssthresh = max(FlightSize/2, 2·SMSS),  cwnd = ssthresh
//! timeout           ssthresh likewise (unchanged if repeated),  cwnd = SMSS          [bytes]
//! ```
//!
//! The fraction of a byte that SMSS²/cwnd leaves is carried over, so that growth is exact for any window. The window
//! does not grow during a recovery, nor while the application limits it (RFC 7661 §4.3 says why).

use super::{AckEvent, Controller, LossEvent, Start, TimeoutEvent, WirelessPolicy};
use crate::{Rate, Time};

/// What is halved when a loss is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Decrease {
    /// FlightSize; no less than 2·SMSS remain (RFC 5681 equation 4). A repeated timeout leaves ssthresh as it is.
    #[default]
    FlightSize,
    /// The window in use, as ns-2 does: `cwnd = window/2`, of which at least SMSS remains (ns-2 goes lower), and
    /// ssthresh is its whole segments, at least 2. A repeated timeout halves again.
    Window,
}

/// The state of Reno.
#[derive(Clone, Debug)]
pub struct Reno {
    cwnd: u64,
    ssthresh: u64,
    /// What congestion avoidance has not yet turned into a byte of cwnd, in bytes²; below cwnd.
    credit: u64,
    segment_size: u32,
    decrease: Decrease,
    wireless: WirelessPolicy,
}

impl Reno {
    /// Reno at its start.
    pub fn new(start: &Start, decrease: Decrease, wireless: WirelessPolicy) -> Self {
        let segment_size = start.segment_size.max(1);
        Self {
            cwnd: start.initial_window.max(u64::from(segment_size)),
            ssthresh: start.initial_ssthresh,
            credit: 0,
            segment_size,
            decrease,
            wireless,
        }
    }

    /// Halves what is to be halved; gives (cwnd, ssthresh).
    fn halves(&self, in_flight: u64, window: u64) -> (u64, u64) {
        let segment = u64::from(self.segment_size);
        match self.decrease {
            Decrease::FlightSize => {
                let half = (in_flight / 2).max(2 * segment);
                (half, half)
            }
            Decrease::Window => {
                let half = window / 2;
                let whole = half - half % segment;
                (half.max(segment), whole.max(2 * segment))
            }
        }
    }
}

impl Controller for Reno {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        if ack.acked == 0 || ack.in_recovery || ack.app_limited {
            return;
        }
        let segment = u64::from(self.segment_size);
        if self.cwnd < self.ssthresh {
            self.cwnd = self.cwnd.saturating_add(ack.acked.min(segment));
        } else {
            let credit = self.credit + segment * segment;
            self.credit = credit % self.cwnd;
            self.cwnd = self.cwnd.saturating_add(credit / self.cwnd);
        }
    }

    fn on_loss(&mut self, loss: &LossEvent) {
        if self.wireless.keeps(loss.cause) {
            return;
        }
        (self.cwnd, self.ssthresh) = self.halves(loss.in_flight, loss.window);
        self.credit = 0;
    }

    fn on_recovery_end(&mut self, _now: Time, at_most: u64) {
        self.cwnd = self.cwnd.min(at_most).max(u64::from(self.segment_size));
        self.credit = 0;
    }

    fn on_timeout(&mut self, timeout: &TimeoutEvent) {
        if !timeout.repeated || self.decrease == Decrease::Window {
            self.ssthresh = self.halves(timeout.in_flight, timeout.window).1;
        }
        self.cwnd = u64::from(self.segment_size);
        self.credit = 0;
    }

    #[inline]
    fn window(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cause;
    use proptest::prelude::*;

    const START: Start = Start {
        segment_size: 1000,
        initial_window: 2000,
        initial_ssthresh: u64::MAX,
    };

    fn reno(decrease: Decrease, wireless: WirelessPolicy) -> Reno {
        Reno::new(&START, decrease, wireless)
    }

    fn ack(acked: u64) -> AckEvent {
        AckEvent {
            now: Time::ZERO,
            acked,
            sacked: 0,
            rtt: None,
            in_flight: 0,
            app_limited: false,
            in_recovery: false,
            receiver_stamp: None,
        }
    }

    fn loss(cause: Cause, in_flight: u64, window: u64) -> LossEvent {
        LossEvent {
            now: Time::ZERO,
            cause,
            in_flight,
            window,
        }
    }

    fn timeout(in_flight: u64, window: u64, repeated: bool) -> TimeoutEvent {
        TimeoutEvent {
            now: Time::ZERO,
            in_flight,
            window,
            repeated,
        }
    }

    #[test]
    fn slow_start_adds_a_segment_per_acknowledgement() {
        let mut reno = reno(Decrease::FlightSize, WirelessPolicy::Keep);
        for acked in [1000, 2000, 500] {
            reno.on_ack(&ack(acked));
        }
        assert_eq!(reno.window(), 2000 + 1000 + 1000 + 500);
    }

    #[test]
    fn congestion_avoidance_carries_fractions() {
        let mut reno = reno(Decrease::FlightSize, WirelessPolicy::Keep);
        reno.on_loss(&loss(Cause::Congestion, 14_000, 14_000));
        assert_eq!((reno.window(), reno.ssthresh()), (7000, 7000));
        // 10⁶/7000 = 142.857…: 142 and 6000/7000 of a byte; (10⁶ + 6000)/7142 = 140 and 6120/7142.
        reno.on_ack(&ack(1000));
        assert_eq!((reno.window(), reno.credit), (7142, 6000));
        reno.on_ack(&ack(1000));
        assert_eq!((reno.window(), reno.credit), (7282, 6120));
        // A window of a million segments grows too: a byte per 1000 acknowledgements, where 10⁶/10⁹ alone is nothing.
        // Of the 10¹⁰ credited, 9 bytes took 9·10⁹ + (0 + 1 + … + 8).
        reno.cwnd = 1_000_000_000;
        reno.credit = 0;
        for _ in 0..10_000 {
            reno.on_ack(&ack(1000));
        }
        assert_eq!((reno.window(), reno.credit), (1_000_000_009, 999_999_964));
    }

    #[test]
    fn no_growth_in_recovery_for_duplicates_or_without_data() {
        let mut reno = reno(Decrease::FlightSize, WirelessPolicy::Keep);
        reno.on_ack(&ack(0));
        let mut idle = ack(1000);
        idle.app_limited = true;
        reno.on_ack(&idle);
        let mut recovering = ack(1000);
        recovering.in_recovery = true;
        reno.on_ack(&recovering);
        assert_eq!(reno.window(), 2000);
    }

    #[test]
    fn a_loss_halves_the_flight_or_the_window() {
        let mut rfc = reno(Decrease::FlightSize, WirelessPolicy::Keep);
        rfc.on_loss(&loss(Cause::Congestion, 9000, 11_000));
        assert_eq!((rfc.window(), rfc.ssthresh()), (4500, 4500));
        rfc.on_loss(&loss(Cause::Congestion, 3000, 4500));
        assert_eq!((rfc.window(), rfc.ssthresh()), (2000, 2000));

        let mut ns2 = reno(Decrease::Window, WirelessPolicy::Keep);
        ns2.on_loss(&loss(Cause::Congestion, 9000, 11_000));
        assert_eq!((ns2.window(), ns2.ssthresh()), (5500, 5000));
        ns2.on_loss(&loss(Cause::Congestion, 3000, 3000));
        assert_eq!((ns2.window(), ns2.ssthresh()), (1500, 2000));
    }

    #[test]
    fn a_repeated_timeout_leaves_ssthresh_to_the_letter_of_the_rfc() {
        let mut rfc = reno(Decrease::FlightSize, WirelessPolicy::Keep);
        rfc.on_timeout(&timeout(16_000, 16_000, false));
        assert_eq!((rfc.window(), rfc.ssthresh()), (1000, 8000));
        rfc.on_timeout(&timeout(1000, 1000, true));
        assert_eq!((rfc.window(), rfc.ssthresh()), (1000, 8000));

        let mut ns2 = reno(Decrease::Window, WirelessPolicy::Keep);
        ns2.on_timeout(&timeout(16_000, 17_000, false));
        assert_eq!((ns2.window(), ns2.ssthresh()), (1000, 8000));
        ns2.on_timeout(&timeout(1000, 1000, true));
        assert_eq!((ns2.window(), ns2.ssthresh()), (1000, 2000));
    }

    #[test]
    fn the_policy_decides_about_wireless_losses() {
        let wireless = loss(Cause::Wireless, 20_000, 20_000);
        let mut keep = reno(Decrease::FlightSize, WirelessPolicy::Keep);
        keep.on_loss(&wireless);
        assert_eq!((keep.window(), keep.ssthresh()), (2000, u64::MAX));
        let mut same = reno(Decrease::FlightSize, WirelessPolicy::AsCongestion);
        same.on_loss(&wireless);
        assert_eq!((same.window(), same.ssthresh()), (10_000, 10_000));
    }

    #[test]
    fn a_recovery_ends_without_a_burst() {
        let mut reno = reno(Decrease::FlightSize, WirelessPolicy::Keep);
        reno.on_loss(&loss(Cause::Congestion, 20_000, 20_000));
        reno.on_recovery_end(Time::ZERO, u64::MAX);
        assert_eq!(reno.window(), 10_000);
        reno.on_recovery_end(Time::ZERO, 3000);
        assert_eq!((reno.window(), reno.ssthresh()), (3000, 10_000));
    }

    proptest! {
        #[test]
        fn any_order_of_events_keeps_a_segment_open(
            events in prop::collection::vec((0..6u8, 0..1u64 << 40, 0..1u64 << 40), 0..200),
            size in 0..65_536u32,
            window_based: bool,
        ) {
            let start = Start { segment_size: size, initial_window: 0, initial_ssthresh: u64::MAX };
            let decrease = if window_based { Decrease::Window } else { Decrease::FlightSize };
            let mut reno = Reno::new(&start, decrease, WirelessPolicy::Keep);
            for (kind, a, b) in events {
                match kind {
                    0 | 1 => reno.on_ack(&ack(a)),
                    2 => reno.on_loss(&loss(Cause::Congestion, a, b)),
                    3 => reno.on_loss(&loss(Cause::Wireless, a, b)),
                    4 => reno.on_recovery_end(Time::ZERO, a),
                    _ => reno.on_timeout(&timeout(a, b, a % 2 == 0)),
                }
                prop_assert!(reno.window() >= u64::from(size.max(1)));
                prop_assert!(reno.credit < reno.window().max(1));
            }
        }
    }
}
