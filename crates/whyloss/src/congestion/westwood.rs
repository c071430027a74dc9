//! Westwood: grows like Reno; a loss limits the window to what the path holds by a bandwidth
//! estimate.
//!
//! Casetti, Gerla, Mascolo, Sanadidi, Wang, MobiCom 2001; Milenkoski & Stojcevska 2010, equations 5
//! and 6 (MIL-3). With another [`EstimatorSpec`] it is Westwood+ (Grieco & Mascolo 2004), Westwood
//! with ABSE (Wang et al. 2002), or TIBET (Capone, Fratta, Martignon 2004).
//!
//! ```text
//! acknowledgement   the estimator takes a sample; growth: see window.rs
//! loss              ssthresh = max(Bw·RTT_min, 2·SMSS),  cwnd = min(cwnd, ssthresh)
//! timeout           ssthresh likewise,  cwnd = SMSS                                           [bytes]
//! spared wholly     the estimate forgets the revealing acknowledgement; nothing else (MIL-4)
//! spared window     ssthresh likewise, cwnd stays (MIL-8)
//! ```
//!
//! On MIL-8, the paper says only that a classifier "must take into consideration the estimated
//! bandwidth and make possible changes after the estimation is performed". We set ssthresh from the
//! estimate and leave the window as it is. Before the first estimate, ssthresh is half of
//! FlightSize (RFC 5681 equation 4).
//!
//! [`Reaction::Linux`] follows `tcp_westwood.c` of Linux 2.6.22 under ns-2's `Agent/TCP/Linux`:
//!
//! ```text
//! loss              ssthresh = max(cwnd/2, 2·SMSS),  cwnd = Bw·RTT_min, up or down
//! end of recovery   cwnd = max(cwnd, ssthresh)
//! timeout           ssthresh = max(cwnd/2, 2·SMSS),  cwnd = SMSS
//! ```
//!
//! in whole segments, and with RTT_min the smallest of the smoothed round-trip time (gain 1/8).
//!
//! [`Reaction::Ucla`] follows UCLA's module for ns-2 (`tcp-westwood.cc` 1.3, June 2002). Milenkoski
//! & Stojcevska print its constants, and Le & Hong name it:
//!
//! ```text
//! loss              a = 1, in slow start a = min(a + 1/4, 4);  ssthresh = max(Bw·RTT_min, 2·SMSS),  cwnd = min(cwnd, ssthresh)
//! timeout           a = 1, in slow start a = min(a + 1, 4);    ssthresh = max(Bw·RTT_min/a, 2·SMSS),  cwnd = SMSS
//! ```
//!
//! in whole segments; a starts from 0, slow start is cwnd < ssthresh, and without an estimate Bw is
//! 0. A wholly spared loss changes none of these values, not even a, so the policy also affects
//! later timeouts. The module measures RTT_min in ticks of ns-2's clock; here it is exact. Loss
//! recovery is left to the transport.
//!
//! [`Reaction::UclaNewReno`] follows UCLA's other module, `Agent/TCP/WestwoodNR` (`tcp-w-nr.cc`
//! 1.2, September 2001). It derives from NewReno's agent and has no divisor:
//!
//! ```text
//! loss              ssthresh = max(Bw·RTT_min, 2·SMSS),  cwnd = min(cwnd, ssthresh)
//! timeout           ssthresh likewise,  cwnd = 2·SMSS
//! ```
//!
//! in whole segments; without an estimate, Bw is also 0.

use super::window::by_window;
use super::{Controller, Pipe, Spared, Start, Window};
use crate::bandwidth::{Arithmetic, EstimatorSpec, TibetFilter, WestwoodSpec};
use crate::event::{AckEvent, LossEvent};
use crate::{Duration, Rate, Time};

/// Selects how a loss uses the estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Reaction {
    /// The estimate becomes ssthresh, and bounds the window.
    #[default]
    Westwood,
    /// The estimate becomes the window; ssthresh is that of Reno.
    Linux,
    /// Like [`Self::Westwood`], but a timeout divides the estimate by a factor that grows as slow
    /// starts end in losses.
    Ucla,
    /// Like [`Self::Westwood`], but in whole segments, and a timeout leaves two segments.
    UclaNewReno,
}

/// The options of Westwood.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WestwoodOptions {
    /// The bandwidth estimator.
    pub estimator: EstimatorSpec,
    /// How a loss uses the estimate.
    pub reaction: Reaction,
    /// Whether the lowest round-trip time, RTT_min, is reset after a timeout, because the path may
    /// have changed (Linux since 2.6.23).
    pub renews_min_rtt: bool,
}

impl WestwoodOptions {
    /// Returns Westwood's options with this estimator.
    pub const fn new(estimator: EstimatorSpec) -> Self {
        Self {
            estimator,
            reaction: Reaction::Westwood,
            renews_min_rtt: false,
        }
    }

    /// Returns the options of Westwood with a sample per acknowledgement, as in Milenkoski &
    /// Stojcevska (MIL-3).
    pub const fn per_ack() -> Self {
        Self::new(EstimatorSpec::Westwood(WestwoodSpec::PER_ACK))
    }

    /// Returns the options of Westwood with a filter by time, as in Le & Hong (BAL-1).
    pub const fn timed() -> Self {
        Self::new(EstimatorSpec::Westwood(WestwoodSpec::TIMED))
    }

    /// Returns the options of UCLA's module for ns-2 with its filter of type 1 (a sample per
    /// acknowledgement).
    pub const fn ucla() -> Self {
        Self {
            reaction: Reaction::Ucla,
            ..Self::per_ack()
        }
    }

    /// Returns the options of UCLA's module for ns-2 that derives from NewReno, with a sample per
    /// acknowledgement.
    pub const fn ucla_newreno() -> Self {
        Self {
            reaction: Reaction::UclaNewReno,
            ..Self::per_ack()
        }
    }

    /// Returns the options of UCLA's module for ns-2 with its filter of type 3 (by time).
    pub const fn ucla_timed() -> Self {
        Self {
            reaction: Reaction::Ucla,
            ..Self::new(EstimatorSpec::Westwood(WestwoodSpec::UCLA_TIMED))
        }
    }

    /// Returns the options of Westwood+.
    pub const fn plus() -> Self {
        Self {
            renews_min_rtt: true,
            ..Self::new(EstimatorSpec::WestwoodPlus(Arithmetic::Exact))
        }
    }

    /// Returns the options of Westwood+ in ns-2's `Agent/TCP/Linux`.
    pub const fn linux() -> Self {
        Self {
            reaction: Reaction::Linux,
            ..Self::new(EstimatorSpec::WestwoodPlus(Arithmetic::Kernel))
        }
    }

    /// Returns the options of Westwood with ABSE.
    pub const fn abse() -> Self {
        Self::new(EstimatorSpec::Abse)
    }

    /// Returns the options of TIBET.
    pub const fn tibet() -> Self {
        Self::new(EstimatorSpec::Tibet(TibetFilter::DEFAULT))
    }
}

/// Westwood (Casetti et al. 2001): grows like Reno; a loss sets the window from a bandwidth
/// estimate. ssthresh = max(Bw·RTT_min, 2·SMSS) bytes. [`Reaction`] has the variants.
#[derive(Clone, Debug)]
pub struct Westwood {
    window: Window,
    pipe: Pipe,
    reaction: Reaction,
    renews_min_rtt: bool,
    /// Whether the current recovery began with a cut.
    cut: bool,
    /// The round-trip time, smoothed with gain 1/8.
    smoothed: Option<Duration>,
    /// The factor a of UCLA's module, in quarters.
    quarters: u8,
}

impl Westwood {
    /// Creates the controller in slow start, with its bandwidth estimator.
    pub fn new(start: &Start, options: WestwoodOptions) -> Self {
        Self {
            window: Window::new(start),
            pipe: Pipe::new(options.estimator, start.segment_size),
            reaction: options.reaction,
            renews_min_rtt: options.renews_min_rtt,
            cut: false,
            smoothed: None,
            quarters: 0,
        }
    }

    /// Returns max(bytes/2, 2·SMSS).
    fn half(&self, bytes: u64) -> u64 {
        (bytes / 2).max(2 * self.window.segment())
    }

    /// Rounds `bytes` down to whole segments.
    fn whole(&self, bytes: u64) -> u64 {
        bytes - bytes % self.window.segment()
    }

    /// Returns max(Bw·RTT_min, 2·SMSS), in bytes.
    fn share(&self, loss: &LossEvent) -> u64 {
        let without = || self.half(loss.in_flight);
        self.pipe.bytes().unwrap_or_else(without)
    }

    /// Returns UCLA's a in quarters, after a loss that adds `quarters` to a in slow start.
    fn divisor(&mut self, quarters: u8) -> u64 {
        self.quarters = if self.window.in_slow_start() {
            (self.quarters + quarters).min(16)
        } else {
            4
        };
        u64::from(self.quarters)
    }

    /// Returns max(Bw·RTT_min·4/quarters, 2·SMSS) in whole segments; two segments without an
    /// estimate.
    fn ucla_share(&self, quarters: u64) -> u64 {
        let pipe = self.pipe.bytes().unwrap_or(0);
        let divided = self.whole(pipe.saturating_mul(4) / quarters);
        divided.max(2 * self.window.segment())
    }

    fn smooth(&mut self, sample: Duration) -> Duration {
        let smoothed = self.smoothed.map_or(sample, |s| s + (sample - s) / 8);
        *self.smoothed.insert(smoothed)
    }
}

impl Controller for Westwood {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        let rtt = match (self.reaction, ack.rtt) {
            (Reaction::Linux, Some(sample)) => Some(self.smooth(sample)),
            (_, sample) => sample,
        };
        self.pipe.on_ack(ack, rtt);
        self.window.grow(ack);
    }

    fn on_loss(&mut self, loss: &LossEvent) {
        self.pipe.settle();
        let share = self.share(loss);
        self.cut = true;
        match self.reaction {
            Reaction::Westwood => self.window.set(self.window.cwnd().min(share), share),
            Reaction::Linux => {
                let ssthresh = self.whole(self.half(loss.window));
                self.window.set(self.whole(share), ssthresh);
            }
            Reaction::Ucla | Reaction::UclaNewReno => {
                self.divisor(1);
                let ssthresh = self.ucla_share(4);
                self.window.set(self.window.cwnd().min(ssthresh), ssthresh);
            }
        }
    }

    fn on_spared_loss(&mut self, loss: &LossEvent, spared: Spared) {
        match spared {
            Spared::Wholly => self.pipe.forget_last(),
            Spared::Window => {
                self.pipe.settle();
                self.window.set(self.window.cwnd(), self.share(loss));
            }
        }
    }

    fn on_recovery_end(&mut self, _now: Time, at_most: u64) {
        let cut = core::mem::take(&mut self.cut);
        if cut && self.reaction == Reaction::Linux {
            let (cwnd, ssthresh) = (self.window.cwnd(), self.window.ssthresh());
            self.window.set(cwnd.max(ssthresh), ssthresh);
        }
        self.window.limit(at_most);
    }

    fn on_timeout(&mut self, loss: &LossEvent) {
        self.pipe.settle();
        let ssthresh = match self.reaction {
            Reaction::Westwood => self.share(loss),
            Reaction::Linux => self.whole(self.half(loss.window)),
            Reaction::Ucla => {
                let quarters = self.divisor(4);
                self.ucla_share(quarters)
            }
            Reaction::UclaNewReno => self.ucla_share(4),
        };
        let cwnd = match self.reaction {
            Reaction::UclaNewReno => 2 * self.window.segment(),
            _ => 0,
        };
        self.window.set(cwnd, ssthresh);
        self.cut = false;
        if self.renews_min_rtt {
            self.pipe.forget_min_rtt();
        }
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

    /// Builds an acknowledgement at `ms` with a round-trip time of `rtt_ms`.
    fn at(ms: u64, acked: u64, rtt_ms: i64) -> AckEvent {
        AckEvent {
            now: Time::from_nanos(ms * 1_000_000),
            rtt: Some(Duration::from_millis(rtt_ms)),
            ..ack(acked)
        }
    }

    /// Returns Westwood after a long time at 1000 bytes per 10 ms. One round-trip time is 80 ms,
    /// all others are 100 ms. The path holds 8000 bytes.
    fn settled(options: WestwoodOptions) -> Westwood {
        let mut westwood = Westwood::new(&START, options);
        for k in 0..2000 {
            westwood.on_ack(&at(10 * k, 1000, if k == 100 { 80 } else { 100 }));
        }
        westwood
    }

    fn sizes(westwood: &Westwood) -> (u64, u64) {
        (westwood.window(), westwood.ssthresh())
    }

    #[test]
    fn a_loss_leaves_what_the_path_holds() {
        let mut westwood = settled(WestwoodOptions::per_ack());
        assert_eq!(westwood.bandwidth(), Some(Rate::from_bps(800_000)));
        westwood.set_window(30_000, 15_000);
        westwood.on_loss(&loss(20_000, 30_000));
        assert_eq!(sizes(&westwood), (8000, 8000));
        // The estimate lowers the window only if the window exceeds it.
        westwood.set_window(5000, 3000);
        westwood.on_loss(&loss(5000, 5000));
        assert_eq!(sizes(&westwood), (5000, 8000));
        westwood.set_window(30_000, 15_000);
        westwood.on_timeout(&loss(20_000, 30_000));
        assert_eq!(sizes(&westwood), (1000, 8000));
    }

    #[test]
    fn two_segments_at_least_and_half_the_flight_without_an_estimate() {
        let mut westwood = Westwood::new(&START, WestwoodOptions::per_ack());
        westwood.on_ack(&at(0, 1000, 10));
        westwood.set_window(30_000, u64::MAX);
        westwood.on_loss(&loss(20_000, 30_000));
        assert_eq!(sizes(&westwood), (10_000, 10_000));
        // The estimate of 800 kbit/s/21 gives 48 bytes in 10 ms.
        westwood.on_ack(&at(10, 1000, 10));
        westwood.on_loss(&loss(20_000, 30_000));
        assert_eq!(sizes(&westwood), (2000, 2000));
    }

    #[test]
    fn a_spared_loss_leaves_no_trace_of_the_revealing_duplicate() {
        for options in [
            WestwoodOptions::per_ack(),
            WestwoodOptions::timed(),
            WestwoodOptions::plus(),
            WestwoodOptions::abse(),
            WestwoodOptions::tibet(),
        ] {
            let mut westwood = settled(options);
            westwood.set_window(30_000, 15_000);
            let before = westwood.pipe.clone();
            westwood.on_ack(&at(19_991, 0, 100));
            let mut noticing = westwood.clone();
            noticing.on_spared_loss(&loss(20_000, 30_000), Spared::Window);
            assert_ne!(noticing.pipe.estimator(), before.estimator());
            westwood.on_spared_loss(&loss(20_000, 30_000), Spared::Wholly);
            assert_eq!(westwood.pipe.estimator(), before.estimator());
            assert_eq!(sizes(&westwood), (30_000, 15_000));
            // Only the last acknowledgement can be undone, and it already was.
            westwood.on_spared_loss(&loss(20_000, 30_000), Spared::Wholly);
            assert_eq!(westwood.pipe.estimator(), before.estimator());
        }
    }

    #[test]
    fn the_end_of_a_spared_recovery_does_not_raise_the_window() {
        for spared in [Spared::Wholly, Spared::Window] {
            let mut westwood = settled(WestwoodOptions::linux());
            westwood.set_window(4000, u64::MAX);
            westwood.on_spared_loss(&loss(4000, 4000), spared);
            westwood.on_recovery_end(Time::ZERO, u64::MAX);
            assert_eq!(westwood.window(), 4000, "{spared:?}");
            // The end of a later recovery does not restore a window that a timeout reduced.
            westwood.on_loss(&loss(4000, 4000));
            westwood.on_timeout(&loss(4000, 4000));
            westwood.on_spared_loss(&loss(1000, 1000), spared);
            westwood.on_recovery_end(Time::ZERO, u64::MAX);
            assert_eq!(westwood.window(), 1000, "{spared:?}");
        }
    }

    #[test]
    fn a_loss_that_spares_the_window_sets_ssthresh_from_the_estimate() {
        let mut westwood = settled(WestwoodOptions::per_ack());
        westwood.set_window(30_000, 15_000);
        let before = westwood.bandwidth();
        westwood.on_ack(&at(19_991, 0, 100));
        westwood.on_spared_loss(&loss(20_000, 30_000), Spared::Window);
        // A segment arrived after 1 ms: (19·800 + 8000 + 800)/21 = 1142.857 kbit/s, times 80 ms.
        assert_ne!(westwood.bandwidth(), before);
        assert_eq!(sizes(&westwood), (30_000, 11_428));
    }

    #[test]
    fn westwood_plus_finds_the_smallest_round_trip_anew_after_a_timeout() {
        let mut westwood = settled(WestwoodOptions::plus());
        westwood.on_timeout(&loss(20_000, 30_000));
        assert_eq!(westwood.ssthresh(), 8000);
        westwood.on_ack(&at(20_000, 1000, 120));
        westwood.on_ack(&at(20_010, 1000, 130));
        westwood.on_timeout(&loss(20_000, 30_000));
        assert_eq!(westwood.ssthresh(), 12_000);
        // Westwood does not reset its smallest round-trip time.
        let mut westwood = settled(WestwoodOptions::per_ack());
        westwood.on_timeout(&loss(20_000, 30_000));
        westwood.on_ack(&at(20_000, 1000, 120));
        westwood.on_timeout(&loss(20_000, 30_000));
        assert_eq!(westwood.ssthresh(), 8000);
    }

    #[test]
    fn ucla_divides_at_timeouts_by_what_slow_starts_cost() {
        // The path holds 8000 bytes, and segments have 1000.
        let mut westwood = settled(WestwoodOptions::ucla());
        // In slow start, losses set a to 1/4 and 1/2. A loss does not divide by a.
        for quarters in [1, 2] {
            westwood.set_window(12_000, 20_000);
            westwood.on_loss(&loss(12_000, 12_000));
            assert_eq!(sizes(&westwood), (8000, 8000));
            assert_eq!(westwood.quarters, quarters);
        }
        // A wholly spared loss changes neither the window nor a.
        westwood.set_window(12_000, 20_000);
        westwood.on_spared_loss(&loss(12_000, 12_000), Spared::Wholly);
        assert_eq!((sizes(&westwood), westwood.quarters), ((12_000, 20_000), 2));
        // Timeouts in slow start set a to 3/2, 5/2, 7/2 and 4. ssthresh is 8/a in whole segments,
        // at least two.
        for ssthresh in [5000, 3000, 2000, 2000] {
            westwood.set_window(2000, 20_000);
            westwood.on_timeout(&loss(2000, 2000));
            assert_eq!(sizes(&westwood), (1000, ssthresh));
        }
        // In congestion avoidance, a loss or a timeout sets a to 1.
        westwood.set_window(12_000, 12_000);
        westwood.on_loss(&loss(12_000, 12_000));
        assert_eq!((sizes(&westwood), westwood.quarters), ((8000, 8000), 4));
        westwood.set_window(6000, 5000);
        westwood.on_timeout(&loss(6000, 6000));
        assert_eq!(sizes(&westwood), (1000, 8000));
        // Without an estimate, two segments remain.
        let mut westwood = Westwood::new(&START, WestwoodOptions::ucla());
        westwood.set_window(12_000, 20_000);
        westwood.on_loss(&loss(12_000, 12_000));
        assert_eq!(sizes(&westwood), (2000, 2000));
    }

    #[test]
    fn linux_takes_the_estimate_for_the_window_and_halves_ssthresh() {
        // The smoothed RTT_min is 97.5 ms. The first round has 10 000 bytes in 110 ms, 90 a tick.
        // Later rounds have 100 a tick, but integers do not reach it: Bn stays 93 = ⌊(7·93 +
        // 100)/8⌋, and Bw stays 90 = ⌊(7·90 + 93)/8⌋. The path holds 8775 bytes.
        let mut westwood = settled(WestwoodOptions::linux());
        assert_eq!(westwood.bandwidth(), Some(Rate::from_bps(720_000)));
        westwood.set_window(31_500, 15_000);
        westwood.on_loss(&loss(20_000, 31_500));
        assert_eq!(sizes(&westwood), (8000, 15_000));
        westwood.on_recovery_end(Time::ZERO, u64::MAX);
        assert_eq!(sizes(&westwood), (15_000, 15_000));
        westwood.set_window(4000, 4000);
        westwood.on_loss(&loss(4000, 4000));
        assert_eq!(sizes(&westwood), (8000, 2000));
        westwood.on_recovery_end(Time::ZERO, u64::MAX);
        assert_eq!(sizes(&westwood), (8000, 2000));
        westwood.on_timeout(&loss(9000, 9750));
        assert_eq!(sizes(&westwood), (1000, 4000));
    }
}
