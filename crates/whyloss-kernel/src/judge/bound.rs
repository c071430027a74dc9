//! Bounds on the difference between an estimate in fixed point and the core's. The opening comments
//! of the filters' files have the recursions.
//!
//! A bound receives the same acknowledgements as the estimators and computes in real numbers. The
//! share of an error that a filter keeps depends on times and samples, not on the errors.

use std::collections::VecDeque;

use whyloss::Time;
use whyloss::bandwidth::AckedCount;
use whyloss::event::AckEvent;

use crate::control::Algorithm;

/// The error of a rounded quotient: half of a sixteenth of a byte/s.
const ROUNDING: f64 = 1.0 / 32.0;
/// The error of the library's estimates in bytes/s, which are rounded to whole bits per second.
const TOLD: f64 = 1.0 / 16.0;
/// The relative error of the library's floating-point numbers.
const REALS: f64 = 1e-9;
/// The kernel's unit of a share, 2⁻³².
const SHARE: f64 = 1.0 / 4_294_967_296.0;

/// The largest error that rounding can cause in a filter's bandwidth estimate, in bytes/s.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// The algorithm has no estimate.
    None,
    /// The bound of the filter in `westwood.h`.
    Westwood(Westwood),
    /// The bound of the filter in `tibet.h`.
    Tibet(Tibet),
    /// The bound of the filter in `sarbe.h`.
    Sarbe(Sarbe),
}

impl Bound {
    /// Returns the initial bound of an algorithm's estimator.
    pub fn of(algorithm: Algorithm, segment_size: u32) -> Self {
        match algorithm {
            Algorithm::NewRenoLp
            | Algorithm::CubicLp
            | Algorithm::Veno
            | Algorithm::VenoEnhanced
            | Algorithm::Whyloss => Self::None,
            Algorithm::Westwood | Algorithm::WestwoodLp => Self::Westwood(Westwood::default()),
            Algorithm::Tibet => Self::Tibet(Tibet::new(segment_size)),
            Algorithm::Balde => Self::Sarbe(Sarbe::default()),
        }
    }

    /// Updates the bound with an acknowledgement. `before` is the library's estimate before it, in
    /// bytes/s.
    pub(super) fn on_ack(&mut self, ack: &AckEvent, before: f64) {
        match self {
            Self::None => {}
            Self::Westwood(westwood) => westwood.on_ack(ack),
            Self::Tibet(tibet) => tibet.on_ack(ack, before),
            Self::Sarbe(sarbe) => sarbe.on_ack(ack, before),
        }
    }

    /// Sets the size of full segments, in bytes.
    pub(super) fn on_mtu_change(&mut self, segment_size: u32) {
        if let Self::Tibet(tibet) = self {
            tibet.count.resize(segment_size);
        }
    }

    /// Returns the allowed difference of the two estimates in bytes/s, if the library's is `core`.
    pub(super) fn bytes_per_second(&self, core: f64) -> f64 {
        let error = match self {
            Self::None => 0.0,
            Self::Westwood(westwood) => westwood.error,
            Self::Tibet(tibet) => tibet.error,
            Self::Sarbe(sarbe) => sarbe.error,
        };
        error + TOLD + REALS * core
    }
}

/// Returns the time since the previous acknowledgement in µs; `None` for the first one, and if no
/// time has passed.
fn since(last: &mut Option<Time>, now: Time) -> Option<u64> {
    let before = last.filter(|&before| now <= before);
    if before.is_some() {
        return None;
    }
    let before = last.replace(now)?;
    Some((now - before).as_nanos().unsigned_abs() / 1_000)
}

/// Bounds the rounding error of Westwood's filter; `westwood.h` derives the recursion.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Westwood {
    last: Option<Time>,
    /// The error bound e_(k−1), in bytes/s.
    error: f64,
    /// The error bound of the sample b_(k−1), in bytes/s.
    sample: f64,
}

impl Westwood {
    /// 2τ, τ/m, and the duration below which a remainder is not a separate sample, in µs.
    const TWICE_TAU: f64 = 2e6;
    const STEP: u64 = 100_000;
    const REMAINDER: u64 = 10_000;
    /// The number of steps after which a sample has no more effect.
    const MOST: u64 = 1_000;

    fn on_ack(&mut self, ack: &AckEvent) {
        let Some(mut span) = since(&mut self.last, ack.now) else {
            return;
        };
        if span >= Self::STEP {
            let (mut samples, mut left) = (span / Self::STEP, span % Self::STEP);
            if left < Self::REMAINDER {
                samples -= 1;
                left += Self::STEP;
            }
            for index in 0..samples.min(Self::MOST) {
                let sample = if index == 0 { self.sample } else { 0.0 };
                self.error = (19.0 * self.error + sample) / 21.0 + ROUNDING;
            }
            if samples > 0 {
                self.sample = 0.0;
                span = left;
            }
        }
        let span = span as f64;
        let whole = Self::TWICE_TAU + span;
        let kept = (Self::TWICE_TAU - span) / whole * self.error;
        self.error = kept + span / whole * (ROUNDING + self.sample) + ROUNDING;
        self.sample = ROUNDING;
    }
}

/// Bounds the rounding error of TIBET's filter; `tibet.h` derives the recursion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tibet {
    count: AckedCount,
    last: Option<Time>,
    pending: u64,
    /// L̄ in bytes, then T̄ in µs and the rounding error of both.
    length: f64,
    interval: f64,
    average_error: f64,
    has_estimate: bool,
    error: f64,
}

impl Tibet {
    /// The share of the old average that remains after a new sample.
    const KEEP: f64 = 0.99;
    /// The time constant T₀ of the filter, in µs.
    const TIME_CONSTANT: f64 = 5e5;
    /// The rounding error of an average, in bytes or µs.
    const HALF_UNIT: f64 = 0.5 / 65_536.0;
    /// The bound on the relative error of the fixed-point exponential.
    const EXPONENTIAL: f64 = 24.0 * SHARE;

    fn new(segment_size: u32) -> Self {
        Self {
            count: AckedCount::new(segment_size, None),
            last: None,
            pending: 0,
            length: 0.0,
            interval: 0.0,
            average_error: 0.0,
            has_estimate: false,
            error: 0.0,
        }
    }

    fn on_ack(&mut self, ack: &AckEvent, before: f64) {
        let counted = self.count.count(ack);
        if self.last.is_some() {
            self.pending += counted;
        }
        let Some(span) = since(&mut self.last, ack.now) else {
            return;
        };
        let (bytes, span) = (std::mem::take(&mut self.pending) as f64, span as f64);
        let average = |old: f64, new: f64| Self::KEEP * old + (1.0 - Self::KEEP) * new;
        self.length = average(self.length, bytes);
        self.interval = average(self.interval, span);
        self.average_error = Self::KEEP * self.average_error + Self::HALF_UNIT;
        let ratio = self.length / self.interval * 1e6;
        // (L + e)/(T − e) is the quotient farthest from L/T.
        let least = (self.interval - self.average_error).max(f64::MIN_POSITIVE);
        let farthest = (self.length + self.average_error) / least * 1e6;
        let ratio_error = farthest - ratio + ROUNDING;
        if !self.has_estimate {
            self.has_estimate = true;
            self.error = ratio_error;
            return;
        }
        let kept = (-span / Self::TIME_CONSTANT).exp();
        // The core reports its estimate in whole bits.
        let apart = (ratio - before).abs() + TOLD + ratio_error + self.error;
        self.error =
            kept * self.error + (1.0 - kept) * ratio_error + Self::EXPONENTIAL * apart + ROUNDING;
    }
}

/// Bounds the rounding error of SARBE's filter; `sarbe.h` derives the recursion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sarbe {
    last: Option<Time>,
    pending: u64,
    /// The sample b_(k−1) in bytes/s; `None` before the first.
    sample: Option<f64>,
    /// U_k, U_(k−1), …, each with its rounding error.
    instabilities: VecDeque<(f64, f64)>,
    error: f64,
}

impl Sarbe {
    /// The share of the old instability that remains after a new sample.
    const BETA: f64 = 0.95;
    const VALUES: usize = 9;

    fn on_ack(&mut self, ack: &AckEvent, before: f64) {
        if ack.acked == 0 {
            return;
        }
        let (Some(stamp), Some(last)) = (ack.receiver_stamp, self.last) else {
            if self.last.is_none() {
                self.last = ack.receiver_stamp;
            } else {
                self.pending += ack.acked;
            }
            return;
        };
        self.pending += ack.acked;
        if stamp <= last {
            return;
        }
        self.last = Some(stamp);
        let bytes = std::mem::take(&mut self.pending) as f64;
        let sample = bytes / (stamp - last).as_secs_f64();
        let Some(old) = self.sample.replace(sample) else {
            self.error = ROUNDING;
            return;
        };
        let (instability, error) = self.instabilities.front().copied().unwrap_or_default();
        let own = Self::BETA * instability + (1.0 - Self::BETA) * (sample - old).abs();
        let own_error = Self::BETA * error + (1.0 - Self::BETA) * 2.0 * ROUNDING + ROUNDING;
        self.instabilities.push_front((own, own_error));
        self.instabilities.truncate(Self::VALUES);
        let largest = self
            .instabilities
            .iter()
            .map(|value| value.0)
            .fold(0.0, f64::max);
        let largest_error = self
            .instabilities
            .iter()
            .map(|value| value.1)
            .fold(0.0, f64::max);
        let (share, share_error) = if largest > 0.0 {
            let error = (own_error + largest_error) / largest + 2.0 * SHARE;
            (own / largest, error.min(1.0))
        } else {
            (0.0, 0.0)
        };
        let apart = (before - sample).abs() + TOLD + self.error + ROUNDING;
        self.error = share * self.error + (1.0 - share) * ROUNDING + share_error * apart + ROUNDING;
    }
}
