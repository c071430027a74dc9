//! Copa: the window follows the rate that the queueing delay allows. From Arun & Balakrishnan,
//! *Copa: Practical Delay-Based Congestion Control for the Internet*, NSDI 2018, sections 2 and 3.
//! The sources are summaries of the paper and its authors' program; the paper itself was not
//! available.
//!
//! ```text
//! delay      d_q = RTTstanding − RTTmin;  RTTstanding: smallest RTT in the last SRTT/2, RTTmin: in the last 10 s
//! target     λ_t = 1/(δ·d_q) segments per unit of time;  λ = cwnd/RTTstanding
//! each ack   of n segments: cwnd += v·n/(δ·cwnd) if λ ≤ λ_t, else −=; v/δ segments per round trip
//! slow start cwnd += n until λ > λ_t
//! velocity   each round trip: v doubles if cwnd moved in the same direction in this one and three
//!            before, and returns to 1 if the direction changed
//! pacing     2·cwnd/RTTstanding
//!
//! default    δ = 1/2. Losses up to 30 % of a round trip's bytes have no effect; above, cwnd ← 0.7·cwnd
//! competing  when the queue was not nearly empty, d_q ≤ (RTTmax − RTTmin)/10, for five round trips; RTTmax: the largest
//!            of the last four. After a round trip without a loss 1/δ += 1, else 1/δ is halved (≥ 2)
//! ```
//!
//! Alone on a link, a flow keeps 1.25/δ segments queued on average. The queue grows by 1/δ per
//! round trip while δ·d_q·λ ≤ 1, that is, up to 1/δ queued segments. Acknowledgements show this
//! growth one round trip later, and RTTstanding needs half a round trip more to forget shorter
//! delays, so the queue reaches 2.5/δ. A shrinking queue also shows a round trip later, so it
//! empties. A cycle takes five round trips (figure 1 of the paper); `n` synchronised flows keep `n`
//! times the queue.
//!
//! # Choices that the paper leaves open
//!
//! - SRTT has RFC 6298's gain, 1/8.
//! - A queue at the bound counts as nearly empty; otherwise a path without a queue never would.
//! - v ≤ δ·cwnd: in a round trip, the window at most doubles, or shrinks to two segments. Both are
//!   as in the authors' program, `genericCC`.
//! - A round trip that loses more than 30 % cuts the window by 30 %, as in that program. The paper
//!   does not mention it. If a queue is too short to add delay, no other rule stops a doubling
//!   window.
//! - A timeout restarts from one segment.
//! - ECN marks are treated as losses: they have no effect outside competitive mode, contrary to RFC
//!   3168.
//! - Data sent while application-limited does not grow the window.
//!
//! If a classifier calls a loss wireless, δ stays as it is. A recovery that bounds the window at
//! its end (NewReno's) also bounds this one; those of SACK and RACK-TLP do not.

use super::window::by_real_window;
use super::windowed::{WindowedMax, WindowedMin};
use super::{Controller, Start};
use crate::bandwidth::delivery_rate::{LostPacket, RateSample};
use crate::event::{AckEvent, LossEvent};
use crate::{Rate, Time};

/// The time over which RTTmin is the smallest round trip, in nanoseconds.
const MIN_WINDOW: u64 = 10_000_000_000;
/// The value of 1/δ in default mode, in segments.
const DEFAULT: f64 = 2.0;
/// The number of round trips in one direction after which the velocity doubles.
const SAME: u32 = 3;
/// The share of lost bytes above which a round trip shrinks the window.
const MOST_LOST: f64 = 0.3;
/// The factor by which such a round trip multiplies the window.
const SHRINK: f64 = 0.7;
/// The minimum window, in segments.
const LEAST: f64 = 2.0;

/// Copa (Arun & Balakrishnan, NSDI 2018): a window that follows the rate allowed by the queueing
/// delay. Round-trip times are in nanoseconds.
///
/// The target rate is λ = 1/(δ·d_q) segments per unit of time, with d_q the queueing delay. Each
/// acknowledged segment moves the window by v/(δ·cwnd) segments towards it. The velocity v doubles
/// while the direction stays the same. Packets are paced at 2·cwnd/RTT. Needs rate samples.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, as in the paper"
)]
pub struct Copa {
    segment_size: u32,
    /// The window, in bytes.
    cwnd: f64,
    slow_start: bool,
    /// 1/δ, in segments: a larger value keeps more data in the queue.
    inverse_delta: f64,
    /// The velocity v, without a unit.
    velocity: f64,
    /// Whether the window grew in the last round trip.
    up: bool,
    /// The number of successive round trips in which the window moved in the same direction.
    same: u32,
    /// The window when this round trip began, in bytes.
    round_cwnd: f64,
    /// The delivered bytes at which this round trip ends.
    round_end: u64,
    /// The smoothed round-trip time, in ns; 0 before the first sample.
    srtt: u64,
    min: WindowedMin,
    standing: WindowedMin,
    max: WindowedMax,
    /// When the queue was last nearly empty.
    emptied: Time,
    modes: CopaModes,
    competing: bool,
    /// Whether a packet was lost or marked in this round trip.
    lost: bool,
    /// The bytes found lost in this round trip.
    lost_bytes: u64,
    /// The bytes acknowledged in this round trip.
    acked_bytes: u64,
    pacing: Option<Rate>,
}

/// Selects the modes that Copa may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum CopaModes {
    /// Uses both modes: Copa competes while the queue does not empty.
    #[default]
    Both,
    /// Uses only the default mode, as if no other flow filled queues.
    Default,
}

impl Copa {
    /// Creates the controller in slow start. [`CopaModes::Default`] disables the competitive mode.
    pub fn new(start: &Start, modes: CopaModes) -> Self {
        let segment_size = start.segment_size.max(1);
        let cwnd = start.initial_window.max(u64::from(segment_size)) as f64;
        Self {
            segment_size,
            cwnd,
            slow_start: true,
            inverse_delta: DEFAULT,
            velocity: 1.0,
            up: true,
            same: 0,
            round_cwnd: cwnd,
            round_end: 0,
            srtt: 0,
            min: WindowedMin::default(),
            standing: WindowedMin::default(),
            max: WindowedMax::default(),
            emptied: Time::ZERO,
            modes,
            competing: false,
            lost: false,
            lost_bytes: 0,
            acked_bytes: 0,
            pacing: None,
        }
    }

    /// Returns δ, the weight of queueing delay against throughput. At the balance point, 1/δ
    /// segments wait. In default mode, δ is 1/2.
    pub fn delta(&self) -> f64 {
        1.0 / self.inverse_delta
    }

    /// Returns whether Copa is in competitive mode, against flows that fill the queue.
    pub fn is_competing(&self) -> bool {
        self.competing
    }

    fn segment(&self) -> f64 {
        f64::from(self.segment_size)
    }

    /// Returns the queueing delay d_q, in nanoseconds.
    fn queueing(&self) -> u64 {
        self.standing.get().saturating_sub(self.min.get())
    }

    /// Updates the averages with a round-trip time in nanoseconds.
    fn measure(&mut self, now: Time, rtt: u64) {
        let first = self.srtt == 0;
        self.srtt = if first {
            rtt
        } else {
            self.srtt - self.srtt / 8 + rtt / 8
        };
        let at = now.as_nanos();
        self.min.update(rtt, at, MIN_WINDOW);
        self.standing.update(rtt, at, self.srtt / 2);
        self.max.update(rtt, at, self.srtt.saturating_mul(4));
        let swing = self.max.get().saturating_sub(self.min.get());
        if first || self.queueing() <= swing / 10 {
            self.emptied = now;
        }
        let full_for = (now - self.emptied).as_nanos();
        let long = i64::try_from(self.srtt.saturating_mul(5)).unwrap_or(i64::MAX);
        let competing = self.modes == CopaModes::Both && full_for > long;
        if self.competing && !competing {
            self.inverse_delta = DEFAULT;
        }
        self.competing = competing;
    }

    /// Ends a round trip after `delivered` bytes in total.
    fn end_round(&mut self, delivered: u64) {
        let lost = core::mem::take(&mut self.lost);
        let lost_bytes = core::mem::take(&mut self.lost_bytes) as f64;
        let sent_bytes = lost_bytes + core::mem::take(&mut self.acked_bytes) as f64;
        if lost_bytes > MOST_LOST * sent_bytes {
            self.cwnd = (SHRINK * self.cwnd).max(LEAST * self.segment());
        }
        if self.competing {
            self.inverse_delta = if lost {
                (self.inverse_delta / 2.0).max(DEFAULT)
            } else {
                self.inverse_delta + 1.0
            };
        }
        let up = self.cwnd > self.round_cwnd;
        if self.slow_start || up != self.up {
            self.same = 1;
            self.velocity = 1.0;
        } else {
            self.same = self.same.saturating_add(1);
            if self.same > SAME {
                self.velocity *= 2.0;
            }
        }
        self.up = up;
        self.round_cwnd = self.cwnd;
        self.round_end = delivered;
    }

    /// Grows or shrinks the window for `acked` acknowledged bytes.
    fn move_window(&mut self, acked: u64) {
        let (acked, segment) = (acked as f64, self.segment());
        // λ > λ_t, rearranged to avoid a division by zero.
        let above = self.cwnd / segment * self.queueing() as f64
            > self.inverse_delta * self.standing.get() as f64;
        self.slow_start &= !above;
        if self.slow_start {
            self.cwnd += acked;
            return;
        }
        let most = self.cwnd / segment / self.inverse_delta;
        self.velocity = self.velocity.min(most).max(1.0);
        let step = self.velocity * self.inverse_delta * segment * acked.min(self.cwnd) / self.cwnd;
        self.cwnd += if above { -step } else { step };
        self.cwnd = self.cwnd.max(LEAST * segment);
    }

    fn pace(&mut self) {
        let nanos = self.standing.get() as f64;
        let rate = 2.0 * self.cwnd * 8e9 / nanos;
        self.pacing = Some(Rate::from_bps((rate as u64).max(1)));
    }
}

impl Controller for Copa {
    fn on_ack(&mut self, _ack: &AckEvent) {}

    fn wants_rate_samples(&self) -> bool {
        true
    }

    fn on_rate_sample(&mut self, sample: &RateSample) {
        if let Some(rtt) = sample.rtt {
            let rtt = u64::try_from(rtt.as_nanos()).unwrap_or(0).max(1);
            self.measure(sample.now, rtt);
        }
        if self.srtt == 0 {
            return;
        }
        self.acked_bytes += sample.newly_acked;
        if sample.prior_delivered >= self.round_end {
            self.end_round(sample.total_delivered);
        }
        if !sample.app_limited {
            self.move_window(sample.newly_acked);
        }
        self.pace();
    }

    fn on_packet_lost(&mut self, packet: &LostPacket) {
        self.lost = true;
        self.lost_bytes += u64::from(packet.size);
    }

    fn on_loss(&mut self, _loss: &LossEvent) {
        // ECN marks also arrive here, without a lost packet.
        self.lost = true;
    }

    fn on_timeout(&mut self, _loss: &LossEvent) {
        self.lost = true;
        self.cwnd = self.segment();
        self.slow_start = true;
    }

    by_real_window!();

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::bbr::tests::{lost, sample};
    use crate::congestion::tests::{START, loss};
    use crate::{Duration, congestion::AnyController};

    /// A connection whose acknowledgements the test chooses, in whole segments of 1000 bytes.
    struct Script {
        copa: Copa,
        now: Duration,
        delivered: u64,
    }

    impl Script {
        fn new(cwnd: u64) -> Self {
            let mut copa = Copa::new(&START, CopaModes::Both);
            copa.set_window(cwnd * 1000, u64::MAX);
            Self {
                copa,
                now: Duration::ZERO,
                delivered: 0,
            }
        }

        /// Acknowledges `segments` segments `later` ms later, with a round trip of `rtt` ms;
        /// `round` tells whether they end a round trip. Returns cwnd in segments.
        fn ack(&mut self, later: i64, segments: u64, rtt: i64, round: bool) -> f64 {
            self.now += Duration::from_millis(later);
            self.delivered += 1000 * segments;
            self.copa.on_rate_sample(&RateSample {
                now: Time::ZERO + self.now,
                rtt: Some(Duration::from_millis(rtt)),
                newly_acked: 1000 * segments,
                prior_delivered: if round { self.copa.round_end } else { 0 },
                total_delivered: self.delivered,
                ..sample()
            });
            self.copa.cwnd / 1000.0
        }
    }

    fn is(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
    }

    #[test]
    fn the_window_doubles_until_the_rate_exceeds_the_target() {
        let mut script = Script::new(10);
        // Without delay, no target limits the rate: the window grows to 10 + 10, then to 20 + 20.
        is(script.ack(100, 10, 100, true), 20.0);
        is(script.ack(100, 20, 100, true), 40.0);
        // The round trip of 100 ms leaves the window of half an SRTT after another 50 ms. λ·d_q·δ
        // is 41 · 4/104 / 2 = 0.79, then 45 · 5/105 / 2 = 1.07. A segment then lowers the window by
        // 2 · 1/45.
        is(script.ack(45, 1, 104, false), 41.0);
        is(script.ack(10, 4, 104, false), 45.0);
        is(script.ack(60, 1, 105, false), 45.0 - 2.0 / 45.0);
        assert!(!script.copa.slow_start);
        // The rate is twice the window per standing round trip of 105 ms.
        let rate = 2.0 * script.copa.cwnd * 8.0 / 0.105;
        assert_eq!(script.copa.pacing, Some(Rate::from_bps(rate as u64)));
    }

    #[test]
    fn a_round_trip_moves_the_window_by_one_over_delta() {
        let mut script = Script::new(100);
        script.ack(100, 1, 100, true);
        script.copa.slow_start = false;
        let before = script.copa.cwnd;
        for _ in 0..101 {
            script.ack(1, 1, 100, false);
        }
        // The growth 2/101 + 2/101.02 + … is slightly below 101 times 2/101.
        let grown = (script.copa.cwnd - before) / 1000.0;
        assert!((1.98..2.0).contains(&grown), "{grown}");
        // One acknowledgement of the whole window has the same effect.
        let before = script.copa.cwnd;
        script.ack(1, 500, 100, false);
        is((script.copa.cwnd - before) / 1000.0, 2.0);
    }

    #[test]
    fn the_velocity_doubles_after_three_round_trips_and_falls_when_it_turns() {
        let mut script = Script::new(1000);
        script.ack(100, 1, 100, true);
        script.copa.slow_start = false;
        let mut velocities = [0; 6];
        for velocity in &mut velocities {
            script.ack(100, 10, 100, true);
            *velocity = script.copa.velocity as u64;
        }
        // The first of these ends the last round trip of slow start, in which the window grew.
        assert_eq!(velocities, [1, 1, 2, 4, 8, 16]);
        // With 1000 segments and 100 ms of queueing, the window falls. The next round trip takes
        // note of it.
        script.ack(100, 1000, 200, true);
        script.ack(100, 1000, 200, true);
        is(script.copa.velocity, 1.0);
        assert_eq!(script.copa.same, 1);
    }

    #[test]
    fn the_velocity_empties_no_window() {
        let mut script = Script::new(10);
        script.ack(100, 1, 100, true);
        script.copa.slow_start = false;
        script.copa.velocity = 64.0;
        // v is limited to δ·cwnd = 11/2 segments. A whole window acknowledged therefore adds a
        // whole window.
        is(script.ack(1, 11, 100, false), 22.0);
        is(script.copa.velocity, 5.5);
    }

    #[test]
    fn five_round_trips_with_a_queue_make_it_compete_and_an_empty_one_ends_that() {
        let mut script = Script::new(100);
        script.ack(100, 1, 100, true);
        // The queueing delay is 50 ms and at most 60, so it exceeds a tenth of 60. SRTT lags: five
        // times SRTT is 614 ms after 600 ms, and 632 ms after 750 ms.
        for rtt in [150, 160, 150, 160] {
            script.ack(150, 10, rtt, true);
            assert!(!script.copa.is_competing());
        }
        script.ack(150, 10, 150, true);
        assert!(script.copa.is_competing());
        let rounds = script.copa.inverse_delta;
        script.ack(150, 10, 150, true);
        is(script.copa.inverse_delta, rounds + 1.0);
        script.copa.inverse_delta = 9.0;
        for delta in [2.0 / 9.0, 4.0 / 9.0, 0.5] {
            // Two losses in a round trip count once.
            script.copa.on_loss(&loss(10_000, 10_000));
            script.copa.on_loss(&loss(10_000, 10_000));
            script.ack(150, 10, 150, true);
            is(script.copa.delta(), delta);
        }
        script.copa.inverse_delta = 9.0;
        // A queueing delay of 5 ms is a tenth of the maximum of 50 ms.
        script.ack(150, 10, 105, true);
        assert!(!script.copa.is_competing());
        is(script.copa.delta(), 0.5);
    }

    #[test]
    fn losses_change_nothing_in_default_mode_and_a_timeout_starts_anew() {
        let mut script = Script::new(40);
        script.ack(100, 10, 100, true);
        script.copa.slow_start = false;
        let before = script.copa.clone();
        script.copa.on_loss(&loss(10_000, 10_000));
        script.copa.on_recovery_end(Time::ZERO, u64::MAX);
        assert_eq!(script.copa.window(), before.window());
        is(script.ack(100, 0, 100, true), before.cwnd / 1000.0);
        is(script.copa.delta(), 0.5);
        script.copa.on_timeout(&loss(10_000, 10_000));
        assert_eq!((script.copa.window(), script.copa.slow_start), (1000, true));
    }

    #[test]
    fn a_round_trip_that_loses_more_than_three_tenths_shrinks_the_window() {
        let mut script = Script::new(100);
        script.ack(100, 10, 100, true);
        script.copa.slow_start = false;
        let lose = |script: &mut Script, segments: u32| {
            let before = script.ack(10, 0, 100, true);
            script.copa.on_packet_lost(&LostPacket {
                size: 1000 * segments,
                ..lost()
            });
            let acked = script.ack(10, 7, 100, false) - before;
            script.ack(10, 0, 100, true) / (before + acked)
        };
        is(lose(&mut script, 3), 1.0);
        is(lose(&mut script, 4), 0.7);
    }

    #[test]
    fn it_is_smaller_than_the_largest() {
        assert!(size_of::<Copa>() < size_of::<AnyController>());
    }
}
