//! SCReAM's network congestion control: a window that keeps the queueing delay tolerable for media
//! (RFC 8298, section 4.1.2).
//!
//! ```text
//! delay     qdelay = RTT − the smallest of ten minutes [RFC 6817]
//! trend     a·E(qdelay/target), within 0 and 1, every 50 ms;  a: the autocorrelation of the last 20 samples at a lag of one,
//!           E: their moving mean, gain 1/10
//! each ack  of `acked` bytes, in fast increase: cwnd += acked if 1.5·in_flight + acked > cwnd; until the trend is 0.2
//!           otherwise: cwnd += (1 − qdelay/target)·acked·SMSS/cwnd; it grows only if 1.25·in_flight + acked > cwnd
//!           3000 bytes ≤ cwnd ≤ 1.1·the most in flight in the last 5 s
//! resuming  fast increase again after 5 s with a trend below 0.2 and no loss
//! a loss    cwnd ← 0.8·cwnd, or at a mark (ECN) 0.9·cwnd, once in a round trip; fast increase is over
//! sending   paced at cwnd/SRTT, at least 50 kbit/s
//!
//! target    0.1 s, or, if it adapts to flows that fill the queue:
//!           t = mean of 2.5 s + standard deviation of 10 s; 1.5·t if more than 2 ‰ of the round trips have losses; t if the variance
//!           is below 0.2·(0.1 s)²; else it shrinks, by half if t < 0.1 s and by a tenth otherwise; within 0.1 and 0.4 s
//! ```
//!
//! The RFC warns that a flow may mistake its own queue for another's. If nothing else limits the
//! rate, as in a bulk transfer alone on a link, it always does. The delay stays at the target, so
//! the target rises step by step, up to 0.4 s.
//!
//! # Departures
//!
//! - The RFC is for media over RTP. Of its three parts, only this one applies to a bulk transfer,
//!   which has no encoder and no queue of RTP packets.
//! - The window is cwnd; the RFC allows one more segment while qdelay ≤ target.
//! - A TCP or QUIC sender measures only round trips, so a queue on the return path also counts.
//! - Delays for the target are sampled every 50 ms, like those for the trend, in steps of 2 ms up
//!   to 0.51 s. The RFC samples at each feedback, and leaves its interval open.
//! - Losses delay fast increase, as a steep trend does. The RFC names only the trend, which a queue
//!   of about 20 ms never shows. Fast increase would then resume at the next sample, and lose two
//!   packets in five.
//! - Each round trip has weight 1/100 in the share of round trips with losses; the RFC leaves this
//!   open.
//! - A timeout restarts from one segment. RTP has no timeout.

use super::window::by_real_window;
use super::windowed::{WindowedMax, WindowedMin};
use super::{Controller, Start};
use crate::bandwidth::delivery_rate::{LostPacket, RateSample};
use crate::event::{AckEvent, LossEvent, MarkEvent};
use crate::{Rate, Time};

/// QDELAY_TARGET_LO and QDELAY_TARGET_HI, in seconds.
const LOW: f64 = 0.1;
const HIGH: f64 = 0.4;
/// The gain of the mean of qdelay/target (QDELAY_WEIGHT).
const WEIGHT: f64 = 0.1;
/// QDELAY_TREND_TH and QDELAY_TREND_LO, as shares of the target.
const STEEP: f64 = 0.2;
/// The time with a low trend after which fast increase resumes, in nanoseconds
/// (T_RESUME_FAST_INCREASE).
const RESUME: i64 = 5_000_000_000;
/// The minimum window, in bytes.
const MIN_CWND: f64 = 3000.0;
/// MAX_BYTES_IN_FLIGHT_HEAD_ROOM: the largest window, as a multiple of the most data in flight over
/// this many nanoseconds.
const HEAD_ROOM: f64 = 1.1;
const FLIGHT_WINDOW: u64 = 5_000_000_000;
/// The shares of the window that remain after a loss and after a mark.
const BETA_LOSS: f64 = 0.8;
const BETA_ECN: f64 = 0.9;
/// The lowest pacing rate, in bit/s (RATE_PACE_MIN).
const LEAST_RATE: f64 = 50_000.0;
/// The window of the base delay, in nanoseconds.
const BASE_WINDOW: u64 = 600_000_000_000;
/// The time between two samples of the delay, in nanoseconds.
const SAMPLE: i64 = 50_000_000;
/// The share of round trips with losses above which other flows seem to fill the queue, and the
/// gain of that share.
const LOSSY: f64 = 0.002;
const LOSS_WEIGHT: f64 = 0.01;

/// SCReAM's window (RFC 8298 §4.1.2): keeps the queueing delay tolerable for media.
///
/// Each acknowledgement moves the window by (1 − qdelay/target)·acked·SMSS/cwnd bytes. Here, qdelay
/// is the round-trip time above its minimum of ten minutes. A loss leaves 0.8 of the window, an ECN
/// mark 0.9. Packets are paced at cwnd/SRTT. Needs rate samples and lost packets.
#[derive(Clone, Debug)]
pub struct Scream {
    segment_size: u32,
    aim: ScreamTarget,
    /// The window, in bytes.
    cwnd: f64,
    fast_increase: bool,
    /// When the trend was last steep or a packet was last lost.
    steep: Time,
    trend: f64,
    /// The queueing delay qdelay, in seconds.
    queueing: f64,
    /// The target of the queueing delay, qdelay_target, in seconds.
    target: f64,
    /// The moving mean of qdelay/target, qdelay_fraction_avg.
    fraction: f64,
    samples: Samples,
    sampled: Time,
    /// The time of the last window cut.
    cut: Option<Time>,
    /// The smoothed round-trip time, in nanoseconds; 0 before the first sample.
    srtt: u64,
    base: WindowedMin,
    most_in_flight: WindowedMax,
    /// The delivered bytes at which this round trip ends.
    round_end: u64,
    /// Whether a packet was lost in this round trip.
    lost: bool,
    /// The share of round trips with losses, in [0, 1].
    loss_rate: f64,
}

/// The queueing delay that SCReAM aims at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ScreamTarget {
    /// Adapts from 0.1 to 0.4 s, so that the flow gets a share beside flows that fill the queue
    /// (section 4.1.2.3).
    #[default]
    Adapts,
    /// Stays at 0.1 s, as if no other flow filled queues.
    Fixed,
}

impl Scream {
    /// Creates SCReAM in fast increase.
    pub fn new(start: &Start, aim: ScreamTarget) -> Self {
        let segment_size = start.segment_size.max(1);
        Self {
            segment_size,
            aim,
            cwnd: start.initial_window.max(u64::from(segment_size)) as f64,
            fast_increase: true,
            steep: Time::ZERO,
            trend: 0.0,
            queueing: 0.0,
            target: LOW,
            fraction: 0.0,
            samples: Samples::default(),
            sampled: Time::ZERO,
            cut: None,
            srtt: 0,
            base: WindowedMin::default(),
            most_in_flight: WindowedMax::default(),
            round_end: 0,
            lost: false,
            loss_rate: 0.0,
        }
    }

    /// Returns qdelay_target, the queueing delay that SCReAM aims at, in seconds.
    pub fn target(&self) -> f64 {
        self.target
    }

    fn segment(&self) -> f64 {
        f64::from(self.segment_size)
    }

    fn least(&self) -> f64 {
        MIN_CWND.max(self.segment())
    }

    /// Updates the averages with a round-trip time in nanoseconds.
    fn measure(&mut self, now: Time, rtt: u64) {
        self.srtt = if self.srtt == 0 {
            rtt
        } else {
            self.srtt - self.srtt / 8 + rtt / 8
        };
        self.base.update(rtt, now.as_nanos(), BASE_WINDOW);
        self.queueing = rtt.saturating_sub(self.base.get()) as f64 / 1e9;
        if (now - self.sampled).as_nanos() >= SAMPLE {
            self.sampled = now;
            self.samples.push(self.queueing);
            self.follow_trend(now);
            if self.aim == ScreamTarget::Adapts {
                self.adjust_target();
            }
        }
    }

    fn follow_trend(&mut self, now: Time) {
        self.fraction += WEIGHT * (self.queueing / self.target - self.fraction);
        self.trend = (self.samples.autocorrelation() * self.fraction).clamp(0.0, 1.0);
        if self.trend >= STEEP {
            self.steep = now;
        } else if (now - self.steep).as_nanos() >= RESUME {
            self.fast_increase = true;
        }
    }

    fn adjust_target(&mut self) {
        let (mean, variance) = (self.samples.mean(), self.samples.variance());
        let wanted = mean + libm::sqrt(variance);
        self.target = if self.loss_rate > LOSSY {
            1.5 * wanted
        } else if variance < 0.2 * LOW * LOW {
            wanted
        } else if wanted < LOW {
            wanted.max(self.target / 2.0)
        } else {
            0.9 * self.target
        };
        self.target = self.target.clamp(LOW, HIGH);
    }

    /// Cuts the window to the fraction `share`, unless it was already cut in this round trip.
    fn back_off(&mut self, now: Time, share: f64) {
        let round = i64::try_from(self.srtt).unwrap_or(i64::MAX);
        if self.cut.is_none_or(|cut| (now - cut).as_nanos() > round) {
            self.cut = Some(now);
            self.steep = now;
            self.cwnd = (share * self.cwnd).max(self.least());
            self.fast_increase = false;
        }
    }

    /// Moves the window for `acked` acknowledged bytes, with `in_flight` bytes in flight.
    fn move_window(&mut self, acked: f64, in_flight: f64) {
        self.fast_increase &= self.trend < STEEP;
        if self.fast_increase {
            if 1.5 * in_flight + acked > self.cwnd {
                self.cwnd += acked;
            }
            return;
        }
        let off = 1.0 - self.queueing / self.target;
        if off < 0.0 || 1.25 * in_flight + acked > self.cwnd {
            self.cwnd += off * acked * self.segment() / self.cwnd;
        }
        let most = HEAD_ROOM * self.most_in_flight.get() as f64;
        self.cwnd = self.cwnd.min(most).max(self.least());
    }
}

impl Controller for Scream {
    fn on_ack(&mut self, _ack: &AckEvent) {}

    fn wants_rate_samples(&self) -> bool {
        true
    }

    fn on_rate_sample(&mut self, sample: &RateSample) {
        if let Some(rtt) = sample.rtt {
            let rtt = u64::try_from(rtt.as_nanos()).unwrap_or(0).max(1);
            self.measure(sample.now, rtt);
        }
        if sample.prior_delivered >= self.round_end {
            self.round_end = sample.total_delivered;
            let lost = f64::from(u8::from(core::mem::take(&mut self.lost)));
            self.loss_rate += LOSS_WEIGHT * (lost - self.loss_rate);
        }
        let before = sample.in_flight + sample.newly_acked;
        self.most_in_flight
            .update(before, sample.now.as_nanos(), FLIGHT_WINDOW);
        self.move_window(sample.newly_acked as f64, sample.in_flight as f64);
    }

    fn on_packet_lost(&mut self, packet: &LostPacket) {
        self.lost = true;
        self.back_off(packet.now, BETA_LOSS);
    }

    /// Does nothing: each lost packet is reported separately.
    fn on_loss(&mut self, _loss: &LossEvent) {}

    fn on_mark(&mut self, mark: &MarkEvent) {
        self.back_off(mark.now, BETA_ECN);
    }

    fn on_timeout(&mut self, _loss: &LossEvent) {
        self.lost = true;
        self.cwnd = self.segment();
        self.fast_increase = true;
    }

    by_real_window!();

    fn pacing_rate(&self) -> Option<Rate> {
        let rate = 8e9 * self.cwnd / self.srtt as f64;
        (self.srtt > 0).then(|| Rate::from_bps(rate.max(LEAST_RATE) as u64))
    }
}

/// The delays of the last 10 s, one every 50 ms.
#[derive(Clone, Debug)]
struct Samples {
    /// The delays in steps; the next one is stored at `next`.
    steps: [u8; 200],
    next: u8,
}

impl Default for Samples {
    fn default() -> Self {
        Self {
            steps: [0; 200],
            next: 0,
        }
    }
}

impl Samples {
    /// The width of a step of a stored sample, in seconds.
    const STEP: f64 = 0.002;

    fn push(&mut self, seconds: f64) {
        self.steps[usize::from(self.next)] = (seconds / Self::STEP + 0.5) as u8;
        self.next = (self.next + 1) % 200;
    }

    /// Returns the latest `count` values in seconds, newest first.
    fn latest(&self, count: usize) -> impl Iterator<Item = f64> + '_ {
        let (new, old) = self.steps.split_at(usize::from(self.next));
        let steps = new.iter().rev().chain(old.iter().rev());
        steps.take(count).map(|&step| f64::from(step) * Self::STEP)
    }

    /// Returns the mean over 2.5 s.
    fn mean(&self) -> f64 {
        self.latest(50).sum::<f64>() / 50.0
    }

    /// Returns the variance over 10 s.
    fn variance(&self) -> f64 {
        let mean = self.latest(200).sum::<f64>() / 200.0;
        let square = |value| (value - mean) * (value - mean);
        self.latest(200).map(square).sum::<f64>() / 200.0
    }

    /// Returns R(1)/R(0) of the last second, around the mean; 0 if all values are equal.
    fn autocorrelation(&self) -> f64 {
        let mean = self.latest(20).sum::<f64>() / 20.0;
        let off = || self.latest(20).map(|value| value - mean);
        let (all, next): (f64, f64) = (
            off().map(|value| value * value).sum(),
            off().zip(off().skip(1)).map(|(one, two)| one * two).sum(),
        );
        if all > 0.0 { next / all } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duration;
    use crate::congestion::AnyController;
    use crate::congestion::bbr::tests::{lost, sample};
    use crate::congestion::tests::{START, loss};

    /// A connection whose acknowledgements the test chooses, in segments of 1000 bytes.
    struct Script {
        scream: Scream,
        now: Duration,
    }

    impl Script {
        fn new(segments: u64) -> Self {
            let mut scream = Scream::new(&START, ScreamTarget::Adapts);
            scream.set_window(segments * 1000, u64::MAX);
            is(scream.cwnd, segments as f64 * 1000.0);
            Self {
                scream,
                now: Duration::ZERO,
            }
        }

        /// Acknowledges `segments` segments 50 ms later, with a round trip of `rtt` ms and
        /// `in_flight` segments still in flight. Returns cwnd in segments.
        fn ack(&mut self, segments: u64, in_flight: u64, rtt: i64) -> f64 {
            self.now += Duration::from_millis(50);
            self.scream.on_rate_sample(&RateSample {
                now: Time::ZERO + self.now,
                rtt: Some(Duration::from_millis(rtt)),
                newly_acked: 1000 * segments,
                in_flight: 1000 * in_flight,
                prior_delivered: self.scream.round_end,
                total_delivered: self.scream.round_end + 1000 * segments,
                ..sample()
            });
            self.scream.cwnd / 1000.0
        }

        /// Returns a connection after fast increase, with a base delay of 100 ms and 100 segments
        /// in flight.
        fn steady(segments: u64) -> Self {
            let mut script = Self::new(segments);
            script.ack(0, 1000, 100);
            script.scream.fast_increase = false;
            script
        }
    }

    fn is(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
    }

    #[test]
    fn fast_increase_doubles_a_window_in_use_until_the_delay_rises() {
        let mut script = Script::new(10);
        is(script.ack(5, 10, 100), 15.0);
        // 1.5·6 + 5 = 14 does not exceed 15, so the window is not in use.
        is(script.ack(5, 6, 100), 15.0);
        is(script.ack(5, 7, 100), 20.0);
        // Each step adds 10 ms. A ramp of two seconds has an autocorrelation of 0.85, and the mean
        // is near its end.
        let left = (1..40).find(|step| {
            script.ack(1, 100, 100 + 10 * step);
            !script.scream.fast_increase
        });
        let trend = script.scream.trend;
        assert!((0.2..0.4).contains(&trend), "{trend}");
        assert!((5..15).contains(&left.expect("a trend")), "{left:?}");
    }

    #[test]
    fn the_window_moves_by_what_the_delay_is_off_its_target() {
        let mut script = Script::steady(20);
        // Without delay, the window grows by SMSS·acked/cwnd, as Reno's does. At half the target,
        // it grows by half of that. At twice the target, it shrinks by the same amount.
        is(script.ack(10, 100, 100), 20.5);
        is(script.ack(10, 100, 150), 20.5 + 0.5 * 10.0 / 20.5);
        let before = script.scream.cwnd / 1000.0;
        is(script.ack(10, 100, 300), before - 10.0 / before);
        // A window that is not in use does not grow, but shrinks.
        let before = script.scream.cwnd / 1000.0;
        is(script.ack(1, 10, 100), before);
        assert!(script.ack(1, 10, 300) < before);
    }

    #[test]
    fn the_window_is_within_what_was_in_flight_and_three_thousand_bytes() {
        let mut script = Script::new(100);
        script.scream.fast_increase = false;
        // The window is limited to 1.1·(50 + 10).
        is(script.ack(10, 50, 100), 66.0);
        for _ in 0..80 {
            script.ack(100, 100, 600);
        }
        is(script.scream.cwnd, 3000.0);
    }

    #[test]
    fn a_round_trip_with_losses_takes_a_fifth_and_one_with_marks_a_tenth() {
        let mut script = Script::steady(100);
        let lose = |script: &mut Script, millis: i64| {
            script.scream.on_packet_lost(&LostPacket {
                now: Time::ZERO + Duration::from_millis(millis),
                ..lost()
            });
            script.scream.cwnd / 1000.0
        };
        // A round trip takes 100 ms.
        is(lose(&mut script, 50), 80.0);
        assert!(!script.scream.fast_increase);
        is(lose(&mut script, 150), 80.0);
        is(lose(&mut script, 151), 64.0);
        let mark = |millis| {
            let now = Time::ZERO + Duration::from_millis(millis);
            MarkEvent::new(now, 1000)
        };
        script.scream.on_mark(&mark(251));
        is(script.scream.cwnd, 64_000.0);
        script.scream.on_mark(&mark(252));
        is(script.scream.cwnd, 57_600.0);
        script.scream.on_timeout(&loss(10_000, 10_000));
        is(script.scream.cwnd, 1000.0);
        assert!(script.scream.fast_increase);
    }

    #[test]
    fn five_seconds_without_a_trend_resume_fast_increase() {
        let mut script = Script::steady(100);
        let flat = |script: &mut Script| {
            let mut acks = 1..200;
            let resumed = acks.find(|_| {
                script.ack(1, 1000, 100);
                script.scream.fast_increase
            });
            resumed.expect("resumed")
        };
        // Fast increase resumes 5 s after the start, which was at 50 ms, and 5 s after a loss.
        assert_eq!(flat(&mut script), 99);
        script.scream.on_packet_lost(&LostPacket {
            now: Time::ZERO + script.now,
            ..lost()
        });
        assert!(!script.scream.fast_increase);
        assert_eq!(flat(&mut script), 100);
        // The trend of a ramp is steep until at most a second after its end.
        for step in 0..20 {
            script.ack(1, 1000, 100 + 10 * step);
        }
        assert!(!script.scream.fast_increase);
        let flat = flat(&mut script);
        assert!((100..=120).contains(&flat), "{flat}");
    }

    #[test]
    fn the_target_follows_a_steady_queue_and_the_losses_of_others() {
        let mut script = Script::steady(100);
        is(script.scream.target(), 0.1);
        // After 10 s at 200 ms, the mean of 2.5 s is 200 ms and the variance is zero.
        for _ in 0..200 {
            script.ack(1, 1000, 300);
        }
        is(script.scream.target(), 0.2);
        // A loss in one of the last round trips raises the target by half.
        script.scream.on_packet_lost(&lost());
        script.ack(1, 1000, 300);
        script.ack(1, 1000, 300);
        is(script.scream.target(), 0.3);
        // The queue is empty, so the target returns to its minimum of 0.1 s.
        for _ in 0..200 {
            script.ack(1, 1000, 100);
        }
        is(script.scream.target(), 0.1);
    }

    #[test]
    fn samples_are_the_latest_ones() {
        let mut samples = Samples::default();
        for step in 0..250_u16 {
            samples.push(f64::from(step % 100) * Samples::STEP);
        }
        let latest = samples.latest(3).map(|value| (value / Samples::STEP) as u8);
        assert!(latest.eq([49, 48, 47]));
        is(samples.mean(), 24.5 * Samples::STEP);
        // The last 200 samples are two ramps of 100: (100² − 1)/12.
        is(samples.variance(), 833.25 * Samples::STEP * Samples::STEP);
        samples.push(9.0);
        is(samples.latest(1).sum(), 0.51);
    }

    #[test]
    fn it_is_smaller_than_the_largest() {
        assert!(size_of::<Scream>() < size_of::<AnyController>());
    }
}
