//! CUBIC: a window that is a cubic function of the time since the last reduction (RFC 9438).
//!
//! ```text
//! W_cubic(t)   = C·(t − K)³ + W_max,   K = ∛((W_max − cwnd_epoch)/C)                      [segments, seconds]
//! target       = W_cubic(t + RTT), but no less than cwnd and no more than 1.5·cwnd                       §4.2
//! W_est       += α·segments_acked/cwnd,   α = 3·(1 − β)/(1 + β), and 1 once W_est ≥ cwnd_prior           §4.3
//! new ack      W_cubic(t) < W_est: cwnd = W_est;  else cwnd += (target − cwnd)/cwnd                §4.3 to 4.5
//! loss         W_max = cwnd, or cwnd·(1 + β)/2 if cwnd < W_max;  ssthresh = max(β·FlightSize, 2)    §4.6, §4.7
//!              cwnd = ssthresh
//! timeout      ssthresh likewise (unchanged if repeated), cwnd = 1;  then K = 0 and W_max = cwnd_epoch    §4.8
//! ```
//!
//! [`CubicDialect`] also has the Reno-friendly region of RFC 8312, for comparison with stacks that
//! still follow it.
//!
//! C = 0.4 segments/s³, β = 0.7. t starts at the first acknowledgement of congestion avoidance and
//! excludes time while the application limits the window (§5.8). RTT is smoothed as in RFC 6298.
//!
//! Departures: cwnd is never lowered to W_est. If slow start ends at the initial ssthresh, W_max is
//! unknown and is set as after a timeout; §4.10 says the same for HyStart++ (RFC 9406). HyStart++
//! itself (a SHOULD) is not implemented: slow start is Reno's. A spurious reduction is undone as in
//! §4.9 if the transport reports it (TCP here does not). The source is the authors' working copy of
//! the RFC (draft-ietf-tcpm-rfc8312bis).

use super::{Controller, Spared, Start, may_grow};
use crate::event::{AckEvent, LossEvent};
use crate::trees::{larger, smaller};
use crate::{Duration, Time};

/// The constant C, in segments per cubic second.
const C: f64 = 0.4;
/// The share β of the window that remains after a loss.
const BETA: f64 = 0.7;
/// The growth α per round trip that gives, with β, the average window of Reno.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The variant of the Reno-friendly region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum CubicDialect {
    /// RFC 9438's: `W_est` starts from the window. It grows by a segment per round trip once it has
    /// reached `cwnd_prior` again.
    #[default]
    Rfc9438,
    /// RFC 8312's (§4.2): `W_est(t) = β·W_max + α·t/RTT`. It always grows by α. It starts below the
    /// window if fast convergence has lowered `W_max`.
    Rfc8312,
}

/// CUBIC (RFC 9438): a window that is a cubic function of the time since the last reduction.
/// Windows are in bytes, as real numbers, so that fractions of growth add up.
///
/// The window follows W(t) = 0.4·(t − K)³ + W_max segments, t seconds after the reduction. At time
/// K it is back at W_max. A loss leaves 0.7 of FlightSize. On short paths, the window grows at
/// least as fast as Reno's (§4.3).
#[derive(Clone, Debug)]
pub struct Cubic {
    dialect: CubicDialect,
    cwnd: f64,
    ssthresh: u64,
    segment: f64,
    curve: Curve,
    /// The curve before the last reduction, if the reduction can be undone.
    undo: Option<Curve>,
    last_ack: Time,
    /// The smoothed round-trip time; zero before the first sample.
    srtt: Duration,
}

/// The curve that the window follows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Curve {
    /// W_max, in bytes; zero if unknown.
    w_max: f64,
    cwnd_prior: f64,
    w_est: f64,
    /// The time K, in seconds.
    k: f64,
    /// t_epoch, the start of the curve; `None` outside congestion avoidance and in a pause.
    epoch: Option<Time>,
    /// The time t at which the application began to limit the window; `None` if it does not.
    paused: Option<Duration>,
}

impl Cubic {
    /// Creates the controller in slow start.
    pub fn new(start: &Start, dialect: CubicDialect) -> Self {
        let segment = f64::from(start.segment_size.max(1));
        Self {
            dialect,
            cwnd: (start.initial_window as f64).max(segment),
            ssthresh: start.initial_ssthresh,
            segment,
            curve: Curve::default(),
            undo: None,
            last_ack: Time::ZERO,
            srtt: Duration::ZERO,
        }
    }

    /// Returns W_cubic at `t` seconds.
    fn w_cubic(&self, t: f64) -> f64 {
        let beyond = t - self.curve.k;
        C * self.segment * beyond * beyond * beyond + self.curve.w_max
    }

    /// Begins congestion avoidance: sets K and W_est.
    fn begin_epoch(&mut self) {
        if self.curve.w_max <= self.cwnd {
            self.curve.w_max = self.cwnd;
        }
        if self.curve.cwnd_prior == 0.0 {
            self.curve.cwnd_prior = self.cwnd;
        }
        self.curve.k = libm::cbrt((self.curve.w_max - self.cwnd) / (C * self.segment));
        self.curve.w_est = self.cwnd;
    }

    /// Handles the first acknowledgement of congestion avoidance. Not inlined, because its cube
    /// root would make every acknowledgement save registers.
    #[cold]
    #[inline(never)]
    fn begin_to_avoid_congestion(&mut self, now: Time, acked: u64) {
        let paused = self.curve.paused.take();
        if paused.is_none() {
            self.begin_epoch();
        }
        let epoch = now - paused.unwrap_or(Duration::ZERO);
        self.curve.epoch = Some(epoch);
        self.avoid_congestion(epoch, now, acked);
    }

    /// Handles one acknowledgement of congestion avoidance, in an epoch.
    #[inline]
    fn avoid_congestion(&mut self, epoch: Time, now: Time, acked: u64) {
        let t = now.since(epoch);
        // Count at most one window, as `window.rs` does.
        let acked = smaller(bytes(acked), self.cwnd);
        match self.dialect {
            CubicDialect::Rfc9438 => {
                let alpha = if self.curve.w_est >= self.curve.cwnd_prior {
                    1.0
                } else {
                    ALPHA
                };
                self.curve.w_est += alpha * acked / self.cwnd * self.segment;
            }
            CubicDialect::Rfc8312 => {
                let round_trips = if self.srtt > Duration::ZERO {
                    t.as_secs_f64() / self.srtt.as_secs_f64()
                } else {
                    0.0
                };
                self.curve.w_est = BETA * self.curve.w_max + ALPHA * round_trips * self.segment;
            }
        }
        if self.w_cubic(t.as_secs_f64()) < self.curve.w_est {
            self.cwnd = larger(self.cwnd, self.curve.w_est);
        } else {
            let target = smaller(self.w_cubic((t + self.srtt).as_secs_f64()), 1.5 * self.cwnd);
            let target = larger(target, self.cwnd);
            self.cwnd += (target - self.cwnd) / self.cwnd * self.segment;
        }
    }

    /// Sets W_max and cwnd_prior and returns the new ssthresh in bytes.
    fn reduce(&mut self, loss: &LossEvent) -> u64 {
        self.undo = Some(self.curve);
        let cwnd = loss.window as f64;
        self.curve.w_max = if cwnd < self.curve.w_max {
            cwnd * f64::midpoint(1.0, BETA)
        } else {
            cwnd
        };
        self.curve.cwnd_prior = cwnd;
        let reduced = loss.in_flight as f64 * BETA;
        reduced.max(2.0 * self.segment) as u64
    }

    /// Sets the window and ssthresh in bytes, and ends the curve. The last reduction can still be
    /// undone.
    pub(super) fn set(&mut self, cwnd: u64, ssthresh: u64) {
        self.cwnd = (cwnd as f64).max(self.segment);
        self.ssthresh = ssthresh;
        self.curve.epoch = None;
        self.curve.paused = None;
    }
}

/// Converts the bytes of one acknowledgement to a real, through a signed number, which takes one
/// instruction.
fn bytes(acked: u64) -> f64 {
    acked.min(i64::MAX as u64) as i64 as f64
}

impl Controller for Cubic {
    fn on_ack(&mut self, ack: &AckEvent) {
        if let Some(rtt) = ack.rtt {
            let srtt = self.srtt.as_nanos();
            self.srtt = if srtt == 0 {
                rtt
            } else {
                Duration::from_nanos(srtt.wrapping_add(rtt.as_nanos().wrapping_sub(srtt) / 8))
            };
        }
        let last_ack = core::mem::replace(&mut self.last_ack, ack.now);
        if may_grow(ack) {
            if self.cwnd < bytes(self.ssthresh) {
                self.cwnd += smaller(bytes(ack.acked), self.segment);
            } else if let Some(epoch) = self.curve.epoch {
                self.avoid_congestion(epoch, ack.now, ack.acked);
            } else {
                self.begin_to_avoid_congestion(ack.now, ack.acked);
            }
        } else if ack.app_limited
            && let Some(epoch) = self.curve.epoch.take()
        {
            self.curve.paused = Some(last_ack - epoch);
        }
    }

    fn on_loss(&mut self, loss: &LossEvent) {
        let ssthresh = self.reduce(loss);
        self.set(ssthresh, ssthresh);
    }

    fn on_spared_loss(&mut self, _loss: &LossEvent, _: Spared) {
        // The curve before an older reduction must not return.
        self.undo = None;
    }

    fn on_recovery_end(&mut self, _now: Time, at_most: u64) {
        // A loss has ended the epoch already, unless the policy spared it.
        if self.window() > at_most {
            self.set(at_most, self.ssthresh);
        }
    }

    fn on_timeout(&mut self, loss: &LossEvent) {
        let mut ssthresh = self.ssthresh;
        if !loss.repeated {
            ssthresh = self.reduce(loss);
        }
        self.curve.w_max = 0.0;
        self.set(0, ssthresh);
    }

    fn on_mtu_change(&mut self, segment_size: u32) {
        self.segment = f64::from(segment_size);
        self.cwnd = self.cwnd.max(self.segment);
    }

    fn on_spurious_loss(&mut self, _now: Time, cwnd: u64, ssthresh: u64) {
        let undo = self.undo.take();
        if undo.is_none() && cwnd <= self.window() && ssthresh <= self.ssthresh {
            // The loss was spared, so the curve goes on.
            return;
        }
        self.set(cwnd.max(self.window()), ssthresh.max(self.ssthresh));
        if let Some(curve) = undo {
            self.curve = curve;
        }
    }

    fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
        self.undo = None;
        self.set(cwnd, ssthresh);
    }

    #[inline]
    fn window(&self) -> u64 {
        // The window is at least a segment. Signed numbers are converted in fewer instructions.
        self.cwnd as i64 as u64
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{START, ack, loss};
    use super::*;

    /// Returns CUBIC after a loss at 100 segments, all of them in flight.
    fn after_loss() -> Cubic {
        let mut cubic = Cubic::new(&START, CubicDialect::Rfc9438);
        cubic.on_loss(&loss(100_000, 100_000));
        cubic
    }

    fn at(seconds: f64, acked: u64) -> AckEvent {
        AckEvent {
            now: Time::from_secs_f64(seconds),
            rtt: Some(Duration::from_millis(100)),
            ..ack(acked)
        }
    }

    #[test]
    fn concave_growth_by_hand() {
        let mut cubic = after_loss();
        assert_eq!((cubic.window(), cubic.ssthresh()), (70_000, 70_000));
        // The epoch begins here: K = ∛(30/0.4) = 4.217 s. W_cubic(0) = 70 segments is less than
        // W_est = 70 + 0.5294/70 segments.
        cubic.on_ack(&at(10.0, 1000));
        assert_eq!(cubic.window(), 70_007);
        assert!((cubic.curve.k - 4.217_163_3).abs() < 1e-6);
        // W_cubic(1 s) = 86.68 exceeds W_est. W_cubic(1.1 s) = 100 − 0.4·3.1171633³ = 87.8846
        // segments, so the window is 70.00756 + (87.8846 − 70.00756)/70.00756 = 70.26291.
        cubic.on_ack(&at(11.0, 1000));
        assert_eq!(cubic.window(), 70_262);
    }

    #[test]
    fn convex_growth_is_bounded() {
        let mut cubic = after_loss();
        cubic.on_ack(&at(0.0, 1000));
        // W_cubic(60.1 s) = 100 + 0.4·55.88³ exceeds 1.5·cwnd, so an acknowledgement adds half a
        // segment.
        cubic.on_ack(&at(60.0, 1000));
        assert_eq!(cubic.window(), 70_507);
    }

    #[test]
    fn the_window_follows_reno_where_that_is_faster() {
        let mut cubic = after_loss();
        cubic.on_ack(&at(0.0, 1000));
        let before = cubic.curve.w_est;
        // At t = 0, W_cubic stays at 70, so the window grows by 0.5294 segments per window, with or
        // without delayed acknowledgements.
        for _ in 0..35 {
            cubic.on_ack(&at(0.0, 2000));
        }
        let grown = cubic.curve.w_est - before;
        assert!((grown - 1000.0 * 0.5294).abs() < 3.0, "{grown}");
        assert_eq!(cubic.window(), cubic.curve.w_est as u64);
        // Once W_est has reached the window of the loss again, it grows by a whole segment.
        cubic.curve.w_est = 100_000.0;
        cubic.cwnd = 100_000.0;
        cubic.on_ack(&at(0.0, 2000));
        assert_eq!(cubic.window(), 100_020);
    }

    #[test]
    fn rfc_8312_starts_below_the_window_after_fast_convergence() {
        let mut cubic = Cubic::new(&START, CubicDialect::Rfc8312);
        cubic.on_loss(&loss(100_000, 100_000));
        cubic.on_loss(&loss(80_000, 80_000));
        cubic.on_ack(&at(0.0, 1000));
        // W_max = 0.85·80 = 68 segments, and W_est is 0.7 of that, 47.6. The window is 56.
        assert!((cubic.curve.w_est - 47_600.0).abs() < 1e-6);
        assert_eq!(cubic.ssthresh(), 56_000);
        // W_est grows by 0.5294 segments in each of 20 or 100 round trips, also beyond the 80
        // segments of the last loss.
        for (seconds, w_est) in [(2.0, 58_188.2), (10.0, 100_541.2)] {
            cubic.on_ack(&at(seconds, 1000));
            assert!((cubic.curve.w_est - w_est).abs() < 0.1);
        }
    }

    #[test]
    fn convergence_is_faster_when_less_is_left() {
        let mut cubic = after_loss();
        // cwnd = 80 is below W_max = 100, so W_max = 0.85·80 = 68. Half of the window was in
        // flight.
        cubic.on_loss(&loss(40_000, 80_000));
        assert!((cubic.curve.w_max - 68_000.0).abs() < 1e-9);
        assert_eq!((cubic.window(), cubic.curve.cwnd_prior), (28_000, 80_000.0));
        cubic.on_loss(&loss(1000, 90_000));
        assert_eq!((cubic.window(), cubic.ssthresh()), (2000, 2000));
        assert!((cubic.curve.w_max - 90_000.0).abs() < 1e-9);
    }

    #[test]
    fn a_timeout_begins_a_convex_region() {
        let mut cubic = after_loss();
        cubic.on_timeout(&loss(70_000, 70_000));
        assert_eq!((cubic.window(), cubic.ssthresh()), (1000, 49_000));
        cubic.on_timeout(&LossEvent {
            repeated: true,
            ..loss(1000, 1000)
        });
        assert_eq!((cubic.window(), cubic.ssthresh()), (1000, 49_000));
        for _ in 0..48 {
            cubic.on_ack(&at(0.0, 1000));
        }
        assert_eq!((cubic.window(), cubic.curve.epoch), (49_000, None));
        cubic.on_ack(&at(5.0, 1000));
        assert_eq!((cubic.curve.w_max, cubic.curve.k), (49_000.0, 0.0));
    }

    #[test]
    fn a_recovery_that_spares_the_window_does_not_begin_an_epoch() {
        let mut cubic = after_loss();
        cubic.on_ack(&at(0.0, 1000));
        let mut spared = cubic.clone();
        spared.on_recovery_end(Time::from_secs_f64(30.0), u64::MAX);
        for cubic in [&mut cubic, &mut spared] {
            cubic.on_ack(&at(60.0, 1000));
        }
        // These are the numbers of `convex_growth_is_bounded`.
        assert_eq!((cubic.window(), spared.window()), (70_507, 70_507));
    }

    #[test]
    fn an_undone_reduction_restores_its_own_curve() {
        let mut cubic = after_loss();
        cubic.on_ack(&at(0.0, 1000));
        let before = cubic.clone();
        cubic.on_loss(&loss(70_000, 70_000));
        cubic.set(80_000, 80_000);
        cubic.on_spurious_loss(Time::from_secs_f64(1.0), 100_000, 70_000);
        assert_eq!(cubic.curve, before.curve);
    }

    #[test]
    fn a_spared_loss_leaves_the_curve_even_if_it_was_spurious() {
        let mut cubic = after_loss();
        cubic.on_ack(&at(0.5, 1000));
        let window = cubic.window();
        cubic.on_loss(&loss(70_000, 70_000));
        cubic.on_ack(&at(10.0, 1000));
        let before = cubic.clone();
        cubic.on_spared_loss(&loss(49_000, 49_000), Spared::Wholly);
        cubic.on_spurious_loss(Time::from_secs_f64(20.0), cubic.window(), cubic.ssthresh());
        assert_eq!(
            (cubic.window(), cubic.curve),
            (before.window(), before.curve)
        );
        assert!(cubic.window() < window);
    }

    #[test]
    fn an_acknowledgement_of_more_than_a_window_is_worth_a_segment() {
        let mut cubic = Cubic::new(&START, CubicDialect::Rfc9438);
        cubic.on_timeout(&loss(2000, 2000));
        cubic.on_ack(&at(0.0, 1000));
        cubic.on_ack(&at(0.0, 50_000));
        assert_eq!(cubic.window(), 3000);
    }

    #[test]
    fn time_without_data_does_not_count() {
        let mut cubic = after_loss();
        cubic.on_ack(&at(1.0, 1000));
        for seconds in [2.0, 3.0] {
            cubic.on_ack(&AckEvent {
                app_limited: true,
                ..at(seconds, 1000)
            });
        }
        assert_eq!(cubic.window(), 70_007);
        // After a minute without data, t is still 0: the window grows by 0.5294/70 segments again.
        cubic.on_ack(&at(63.0, 1000));
        assert_eq!(cubic.window(), 70_015);
        // At t = 1 s, as in `concave_growth_by_hand`: (87.8846 − 70.01512)/70.01512 = 0.25522.
        cubic.on_ack(&at(64.0, 1000));
        assert_eq!(cubic.window(), 70_270);
    }
}
