//! The Vegas predictor: the number of segments of the window that wait in queues.
//!
//! Brakmo & Peterson, IEEE JSAC 13(8), 1995. Martignon & Fratta use it as a loss predictor in "Loss
//! differentiation schemes for TCP over wireless networks", 2005, section 2 (`vegas`). It is also
//! the LDEA of Le & Hong's TCP BaLDE, 2006, section 2 (`ldea`).
//!
//! ```text
//! V_P = (cwnd/RTT_min − cwnd/RTT)·RTT_min
//! V_P ≥ β       congested           ⇒ congestion
//! V_P ≤ α       not congested       ⇒ wireless
//! α < V_P < β   as at the estimation before                     α = 1, β = 3, α ≤ β
//!
//! cwnd     segments: bytes of the window over SMSS
//! RTT_min  ns, the smallest so far
//! ```
//!
//! Where the sources are silent or differ, a parameter selects:
//! - The predictor is evaluated at each acknowledgement with a round-trip time, and its state is
//!   read at the loss (MAR-2). BAL-3 evaluates it at every new acknowledgement; with BaLDE's
//!   timestamps, each of them has a round-trip time. If the predictor were evaluated only at
//!   losses, the state between α and β would be as old as the previous loss.
//! - RTT is the last sample (MAR-2), and RTT_min includes it. Delayed acknowledgements are not
//!   compensated (MAR-A6).
//! - cwnd is the window when the acknowledgement arrives, before any reaction to a loss (MAR-2).
//! - Round trips are exact, or counted in ticks of a clock, at least one, as in ns-2 (100 ms until
//!   March 2002).
//! - Before the first round-trip time, the network is congested (MAR-2, conservative) or not
//!   (BAL-3).
//! - Timeouts are classified (MAR-3) or count as congestion (BAL-7: BaLDE does not differentiate
//!   them).

use super::SenderClassifier;
use super::backlog::{Backlog, Segments};
use crate::event::{AckEvent, LossEvent};
use crate::{Cause, Duration};
use core::cmp::Ordering;

pub use super::backlog::RttOf;

/// Selects when the predictor is evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Evaluate {
    /// Evaluates the predictor at each acknowledgement with a round-trip time; a loss reads the
    /// state.
    #[default]
    Samples,
    /// Evaluates the predictor when a loss is found.
    Losses,
}

/// Selects the window whose backlog is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WindowOf {
    /// Computes the backlog of the congestion window.
    #[default]
    Congestion,
    /// Computes the backlog of the bytes in flight.
    Flight,
}

/// The Vegas predictor: congestion if at least β segments of the window wait in queues, wireless if
/// at most α do.
#[derive(Clone, Debug, PartialEq)]
pub struct Vegas {
    alpha: Segments,
    beta: Segments,
    evaluate: Evaluate,
    window: WindowOf,
    timeouts: bool,
    /// The tick of the clock that measures round trips; zero for an exact clock.
    tick: Duration,
    backlog: Backlog,
    congested: bool,
}

impl Vegas {
    /// The threshold α. Up to this backlog in segments, the network is not congested.
    pub const ALPHA: f64 = 1.0;
    /// The threshold β. At this backlog in segments or more, the network is congested.
    pub const BETA: f64 = 3.0;

    /// Returns the Vegas predictor of NewReno-LP: α = 1, β = 3.
    pub fn predictor() -> Self {
        Self::new(Self::ALPHA, Self::BETA)
    }

    /// Returns LDEA, BaLDE's predictor: not congested at first, and timeouts are not classified.
    pub fn ldea() -> Self {
        Self::predictor().congested_at_first(false).timeouts(false)
    }

    /// Creates a predictor with these thresholds in segments, `alpha` ≤ `beta`, each rounded to a
    /// thousandth.
    pub fn new(alpha: f64, beta: f64) -> Self {
        Self {
            alpha: Segments::new(alpha),
            beta: Segments::new(beta),
            evaluate: Evaluate::default(),
            window: WindowOf::default(),
            timeouts: true,
            tick: Duration::ZERO,
            backlog: Backlog::new(RttOf::Last),
            congested: true,
        }
    }

    /// Sets when the predictor is evaluated.
    #[must_use]
    pub fn evaluate(mut self, evaluate: Evaluate) -> Self {
        self.evaluate = evaluate;
        self
    }

    /// Sets which round-trip time the predictor compares with the lowest.
    #[must_use]
    pub fn rtt(mut self, of: RttOf) -> Self {
        self.backlog = Backlog::new(of);
        self
    }

    /// Sets the window from which the predictor computes the backlog.
    #[must_use]
    pub fn window(mut self, of: WindowOf) -> Self {
        self.window = of;
        self
    }

    /// Sets the tick of the clock that measures round trips. A round trip is rounded to the nearest
    /// number of ticks, at least one; zero means exact.
    #[must_use]
    pub fn tick(mut self, tick: Duration) -> Self {
        self.tick = tick;
        self
    }

    /// Sets whether the network counts as congested before the first round-trip time.
    #[must_use]
    pub fn congested_at_first(mut self, congested: bool) -> Self {
        self.congested = congested;
        self
    }

    /// Sets whether timeouts are classified; if not, they are congestion.
    #[must_use]
    pub fn timeouts(mut self, timeouts: bool) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Returns whether the last evaluation found congestion.
    #[inline]
    pub fn is_congested(&self) -> bool {
        self.congested
    }

    /// Returns V_P, the number of segments of a window of `window` bytes that wait in queues;
    /// `None` before the first round-trip time.
    pub fn backlog(&self, window: u64, segment_size: u32) -> Option<f64> {
        self.backlog.segments(window, segment_size)
    }

    /// Rounds a round trip to the clock's ticks.
    fn measured(&self, rtt: Duration) -> Duration {
        let tick = self.tick.as_nanos();
        let ticks = rtt.as_nanos().saturating_add(tick / 2) / tick;
        Duration::from_nanos(ticks.max(1).saturating_mul(tick))
    }

    #[inline]
    fn estimate(&mut self, cwnd: u64, in_flight: u64, segment_size: u32) {
        let window = match self.window {
            WindowOf::Congestion => cwnd,
            WindowOf::Flight => in_flight,
        };
        let compare = |threshold| self.backlog.compare(window, segment_size, threshold);
        let (Some(alpha), Some(beta)) = (compare(self.alpha), compare(self.beta)) else {
            return;
        };
        let congested = beta != Ordering::Less;
        self.congested = congested || (self.congested && alpha == Ordering::Greater);
    }
}

impl SenderClassifier for Vegas {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        let mut ack = *ack;
        if self.tick > Duration::ZERO {
            ack.rtt = ack.rtt.map(|rtt| self.measured(rtt));
        }
        if self.backlog.on_ack(&ack) && self.evaluate == Evaluate::Samples {
            self.estimate(ack.window, ack.in_flight, ack.segment_size);
        }
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Cause {
        if loss.detection.is_timeout() && !self.timeouts {
            return Cause::Congestion;
        }
        if self.evaluate == Evaluate::Losses {
            self.estimate(loss.window, loss.in_flight, loss.segment_size);
        }
        Cause::congestion_if(self.congested)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, loss, timeout};
    use super::*;
    use Cause::{Congestion, Wireless};

    /// Returns a predictor whose RTT_min is 80 ns.
    fn at_80() -> Vegas {
        let mut vegas = Vegas::new(Vegas::ALPHA, Vegas::BETA);
        vegas.on_ack(&ack(80, 0));
        vegas
    }

    #[test]
    fn thresholds_by_hand() {
        // With RTT = 100 ns, V_P is a fifth of the window. 15 segments reach β, and 5 reach α.
        let mut vegas = at_80();
        for (window, congested) in [
            (5_001, false),
            (14_999, false),
            (15_000, true),
            (14_999, true),
            (5_001, true),
            (5_000, false),
            (5_001, false),
        ] {
            vegas.on_ack(&ack(100, window));
            assert_eq!(vegas.is_congested(), congested, "{window}");
        }
        assert_eq!(vegas.backlog(15_000, 1000), Some(3.0));
    }

    #[test]
    fn a_loss_reads_the_state() {
        let mut vegas = at_80();
        for (window, expected) in [
            (15_000, Congestion),
            (10_000, Congestion),
            (5_000, Wireless),
        ] {
            vegas.on_ack(&ack(100, window));
            // The window at the loss does not matter.
            assert_eq!(vegas.on_loss(&loss(100_000)), expected);
            assert_eq!(vegas.on_loss(&timeout(100_000)), expected);
        }
    }

    #[test]
    fn at_losses_alone_the_state_is_that_of_the_loss_before() {
        let mut vegas = Vegas::new(1.0, 3.0).evaluate(Evaluate::Losses);
        vegas.on_ack(&ack(80, 5_000));
        for (window, expected) in [
            (10_000, Congestion),
            (5_000, Wireless),
            (10_000, Wireless),
            (15_000, Congestion),
            (10_000, Congestion),
        ] {
            vegas.on_ack(&ack(100, 5_000));
            assert_eq!(vegas.on_loss(&loss(window)), expected, "{window}");
        }
    }

    #[test]
    fn a_coarse_clock_sees_no_short_queue() {
        // In ticks of 100 ns, 80 and 149 ns are one tick. 150 ns are two, so half of the window
        // waits.
        let mut vegas = Vegas::new(1.0, 3.0).tick(Duration::from_nanos(100));
        for (rtt, congested) in [(80, false), (149, false), (150, true), (149, false)] {
            vegas.on_ack(&ack(rtt, 30_000));
            assert_eq!(vegas.is_congested(), congested, "{rtt}");
        }
    }

    #[test]
    fn what_is_under_way_instead_of_the_window() {
        let mut vegas = at_80().window(WindowOf::Flight);
        for (in_flight, congested) in [(14_999, false), (15_000, true)] {
            vegas.on_ack(&AckEvent {
                in_flight,
                ..ack(100, 90_000)
            });
            assert_eq!(vegas.is_congested(), congested);
        }
    }

    #[test]
    fn smoothing_delays_the_verdict() {
        // Samples of 80 and 160 ns give a smoothed 90 ns, so 10/90 of the window waits: 2.9 of 26
        // segments, 3 of 27.
        for (window, congested) in [(26_000, false), (27_000, true)] {
            let mut vegas = Vegas::new(1.0, 3.0).rtt(RttOf::Smoothed);
            vegas.on_ack(&ack(80, window));
            vegas.on_ack(&ack(160, window));
            assert_eq!(vegas.is_congested(), congested, "{window}");
        }
    }

    #[test]
    fn without_a_round_trip_time_the_first_state_stands() {
        for (first, expected) in [(true, Congestion), (false, Wireless)] {
            for evaluate in [Evaluate::Samples, Evaluate::Losses] {
                let vegas = Vegas::new(1.0, 3.0).evaluate(evaluate);
                let mut vegas = vegas.congested_at_first(first);
                vegas.on_ack(&ack(0, 50_000));
                assert_eq!(vegas.on_loss(&loss(50_000)), expected);
            }
        }
    }

    #[test]
    fn unclassified_timeouts_are_congestion() {
        let mut ldea = Vegas::new(1.0, 3.0)
            .congested_at_first(false)
            .timeouts(false);
        assert_eq!(ldea.on_loss(&loss(1000)), Wireless);
        assert_eq!(ldea.on_loss(&timeout(1000)), Congestion);
    }
}
