//! SCReAM, version 2 (draft-johansson-ccwg-rfc8298bis-screamv2-03), an estimator for comparisons.
//!
//! ```text
//! qdelay       one-way delay of the newest packet − lowest of ten minutes, s
//! qdelay_avg   falls immediately, rises with gain 1/4, each round trip
//! ref_wnd      bytes that may be in flight
//!
//! congestion, at most once a round trip:
//!   loss       ref_wnd × 0.7, if the loss rate exceeds 1 % or qdelay_avg a quarter of its target
//!   delay      ref_wnd × (1 − x/2), if qdelay exceeds half of its target; x is the position of
//!              qdelay_avg between that half (0) and the target (1)
//! otherwise    ref_wnd + acked·MSS/ref_wnd, down to a tenth of this near the window at the last
//!              congestion; more per round trip as the four seconds after a congestion pass
//!
//! target       8·ref_wnd/s_rtt bit/s, less if more than 0.9·ref_wnd is in flight
//! ```
//!
//! The core's `congestion/scream.rs` is the first version (RFC 8298), a window for bulk transfers.
//! The condition on losses is from draft-ietf-ccwg-rfc8298bis-screamv2-01, section 4.5.2. The
//! constants that no draft gives are from the authors' C++: 0.9, and 1.5, the largest divisor. Two
//! parts are missing. [`Bandwidth`] has no window, so packets leave at the target rate and no send
//! window limits them. Our hosts do not carry ECN, so marks do not count.

use std::collections::VecDeque;

use whyloss::{Duration, Time};

use crate::bandwidth::Bandwidth;
use crate::{Fate, Report};

// Delays and VIRTUAL_RTT are in seconds, windows and MSS in bytes; the other constants have no
// unit.
const QDELAY_TARGET_LO: f64 = 0.06;
const QDELAY_TARGET_HI: f64 = 0.4;
const MIN_REF_WND: f64 = 3_000.0;
const MSS: f64 = 1_000.0;
const BETA_LOSS: f64 = 0.7;
const QDELAY_AVG_G: f64 = 0.25;
const POST_CONGESTION_DELAY: f64 = 4.0;
const MUL_INCREASE_FACTOR: f64 = 0.02;
const VIRTUAL_RTT: f64 = 0.025;
const BYTES_IN_FLIGHT_HEAD_ROOM: f64 = 2.0;
const BYTES_IN_FLIGHT_LIMIT: f64 = 0.9;
const BYTES_IN_FLIGHT_LIMIT_COMPENSATION: f64 = 1.5;
const LOSS_RATE_THRESHOLD: f64 = 0.01;
/// The gain of the rate of round trips with losses.
const LOSS_EVENT_G: f64 = 0.01;
/// The number of minutes over which the lowest delay is taken (RFC 6817's `BASE_HISTORY`).
const BASE_HISTORY: usize = 10;
/// The numbers of queueing delay samples that reveal competing flows: for the variance and for the
/// mean.
const NORM_HISTORY: usize = 200;
const NORM_MEAN: usize = 50;

/// Estimates the bitrate by SCReAM, from departures and reports.
#[derive(Clone, Debug)]
pub struct Scream {
    least: f64,
    most: f64,
    target: f64,
    /// The window in bytes; 0 before the first round trip is known.
    ref_wnd: f64,
    ref_wnd_i: f64,
    ref_wnd_i_at: Time,
    /// The packets in flight: number and bytes.
    sent: VecDeque<(u64, f64)>,
    in_flight: f64,
    max_in_flight: f64,
    max_in_flight_prev: f64,
    s_rtt: f64,
    /// The lowest one-way delay of each of the latest minutes.
    base: VecDeque<f64>,
    base_at: Time,
    qdelay: f64,
    qdelay_avg: f64,
    qdelay_target: f64,
    norm: VecDeque<f64>,
    loss_rate: f64,
    loss_event_rate: f64,
    /// Whether a packet was lost since the window last changed, and in this round trip.
    lost: bool,
    lost_in_round: bool,
    congested: Option<Time>,
    round: Time,
}

impl Scream {
    /// Creates an estimator whose target starts at `initial` and stays between `least` and `most`,
    /// all in bit/s.
    pub fn new(initial: f64, least: f64, most: f64) -> Self {
        Self {
            least,
            most,
            target: initial.clamp(least, most),
            ref_wnd: 0.0,
            ref_wnd_i: 1.0,
            ref_wnd_i_at: Time::ZERO,
            sent: VecDeque::new(),
            in_flight: 0.0,
            max_in_flight: 0.0,
            max_in_flight_prev: 0.0,
            s_rtt: 0.0,
            base: VecDeque::with_capacity(BASE_HISTORY),
            base_at: Time::ZERO,
            qdelay: 0.0,
            qdelay_avg: 0.0,
            qdelay_target: QDELAY_TARGET_LO,
            norm: VecDeque::with_capacity(NORM_HISTORY),
            loss_rate: 0.0,
            loss_event_rate: 0.0,
            lost: false,
            lost_in_round: false,
            congested: None,
            round: Time::ZERO,
        }
    }

    /// Updates the state with the reported fates. Returns the bytes that are no longer in flight.
    fn take(&mut self, now: Time, reports: &[Report]) -> f64 {
        let mut newest: Option<(u64, Time, Time)> = None;
        for report in reports {
            let gain = (LOSS_RATE_THRESHOLD / 4.0).min(MSS / self.ref_wnd.max(1.0) / 2.0);
            self.loss_rate *= 1.0 - gain;
            match report.fate {
                Fate::Lost(_) => {
                    self.loss_rate += gain;
                    self.lost = true;
                    self.lost_in_round = true;
                }
                Fate::Arrived(at, _) => {
                    if newest.is_none_or(|newest| newest.0 < report.id) {
                        newest = Some((report.id, report.departed, at.unwrap_or(now)));
                    }
                }
            }
        }
        let Some((id, departed, arrived)) = newest else {
            return 0.0;
        };
        let rtt = (now - departed).as_secs_f64();
        if self.s_rtt == 0.0 {
            self.s_rtt = rtt;
            self.ref_wnd = (self.target * rtt / 8.0).max(MIN_REF_WND);
        } else {
            self.s_rtt += (rtt - self.s_rtt) / 8.0;
        }
        self.take_delay(now, (arrived - departed).as_secs_f64());
        let mut acked = 0.0;
        while let Some(&(sent, bytes)) = self.sent.front() {
            if sent > id {
                break;
            }
            self.sent.pop_front();
            acked += bytes;
        }
        self.in_flight -= acked;
        acked
    }

    fn take_delay(&mut self, now: Time, delay: f64) {
        if self.base.is_empty() || now - self.base_at >= Duration::from_secs(60) {
            self.base_at = now;
            if self.base.len() == BASE_HISTORY {
                self.base.pop_front();
            }
            self.base.push_back(delay);
        }
        if let Some(base) = self.base.back_mut() {
            *base = base.min(delay);
        }
        let base = self.base.iter().copied().fold(f64::INFINITY, f64::min);
        self.qdelay = delay - base;
        if self.norm.len() == NORM_HISTORY {
            self.norm.pop_front();
        }
        self.norm.push_back(self.qdelay / QDELAY_TARGET_LO);
    }

    /// Raises the target of the delay alongside flows that fill the queue.
    fn adjust_target(&mut self) {
        let all = self.norm.len() as f64;
        let mean = self.norm.iter().sum::<f64>() / all;
        let var = self
            .norm
            .iter()
            .map(|x| (x - mean) * (x - mean))
            .sum::<f64>()
            / all;
        let latest = self.norm.iter().rev().take(NORM_MEAN);
        let recent = latest.clone().sum::<f64>() / latest.len() as f64;
        let new = QDELAY_TARGET_LO * (recent + libm::sqrt(var));
        self.qdelay_target = if self.loss_event_rate > 0.002 {
            1.5 * new
        } else if var < 0.2 {
            new
        } else if new < QDELAY_TARGET_LO {
            new.max(0.5 * self.qdelay_target)
        } else {
            0.9 * self.qdelay_target
        };
        self.qdelay_target = self.qdelay_target.clamp(QDELAY_TARGET_LO, QDELAY_TARGET_HI);
    }

    fn each_round(&mut self, now: Time) {
        if (now - self.round).as_secs_f64() < self.s_rtt {
            return;
        }
        self.round = now;
        self.qdelay_avg = if self.qdelay < self.qdelay_avg {
            self.qdelay
        } else {
            self.qdelay_avg + QDELAY_AVG_G * (self.qdelay - self.qdelay_avg)
        };
        let lost = f64::from(u8::from(core::mem::take(&mut self.lost_in_round)));
        self.loss_event_rate += LOSS_EVENT_G * (lost - self.loss_event_rate);
        self.max_in_flight_prev = self.max_in_flight;
        self.max_in_flight = self.in_flight;
        self.adjust_target();
    }

    /// Reduces the window if there is congestion and the last reduction was at least a round trip
    /// ago.
    fn reduce(&mut self, now: Time) {
        let recent = |at: Time| (now - at).as_secs_f64() < self.s_rtt;
        if self.congested.is_some_and(recent) {
            return;
        }
        let lost = core::mem::take(&mut self.lost)
            && (self.loss_rate > LOSS_RATE_THRESHOLD || self.qdelay_avg > self.qdelay_target / 4.0);
        let half = self.qdelay_target / 2.0;
        let late = self.qdelay > half;
        if !lost && !late {
            return;
        }
        if now - self.ref_wnd_i_at > Duration::from_millis(250) {
            self.ref_wnd_i_at = now;
            self.ref_wnd_i = self.ref_wnd;
        }
        if lost {
            self.ref_wnd *= BETA_LOSS;
        }
        if late {
            let share = ((self.qdelay_avg - half) / half).clamp(0.0, 1.0);
            self.ref_wnd *= 1.0 - share / 2.0;
        }
        self.ref_wnd = self.ref_wnd.max(MIN_REF_WND);
        self.congested = Some(now);
    }

    fn increase(&mut self, now: Time, acked: f64) {
        let since = self
            .congested
            .map_or(POST_CONGESTION_DELAY, |at| (now - at).as_secs_f64());
        let after = (since / POST_CONGESTION_DELAY).min(1.0);
        let virtual_rtts = (self.s_rtt / VIRTUAL_RTT).min(1.0);
        let away = 4.0 * (self.ref_wnd - self.ref_wnd_i) / self.ref_wnd_i;
        let near = (away * away).clamp(0.1, 1.0);
        let faster = MUL_INCREASE_FACTOR * self.ref_wnd / MSS;
        let increment = acked
            * (MSS / self.ref_wnd)
            * (virtual_rtts * virtual_rtts)
            * near
            * (1.0 + faster * after * near);
        let used = self.max_in_flight.max(self.max_in_flight_prev);
        if self.ref_wnd + increment <= MSS + used * BYTES_IN_FLIGHT_HEAD_ROOM {
            self.ref_wnd += increment;
        }
    }

    fn set_target(&mut self) {
        let ratio = self.in_flight / self.ref_wnd;
        let full = (ratio / BYTES_IN_FLIGHT_LIMIT).clamp(1.0, BYTES_IN_FLIGHT_LIMIT_COMPENSATION);
        let small = 1.0 - (MSS / self.ref_wnd - 0.1).clamp(0.0, 0.8);
        let target = small / full * 8.0 * self.ref_wnd / self.s_rtt;
        self.target = target.clamp(self.least, self.most);
    }
}

impl Bandwidth for Scream {
    fn on_sent(&mut self, _now: Time, id: u64, size: u32) {
        self.sent.push_back((id, f64::from(size)));
        self.in_flight += f64::from(size);
        self.max_in_flight = self.max_in_flight.max(self.in_flight);
    }

    fn on_reports(&mut self, now: Time, reports: &[Report]) {
        let acked = self.take(now, reports);
        if self.s_rtt == 0.0 {
            return;
        }
        self.each_round(now);
        self.reduce(now);
        self.increase(now, acked);
        self.set_target();
    }

    fn target(&self) -> f64 {
        self.target
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;

    const fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Sends ten packets of 1,000 bytes in 100 ms, reported at the end. The first `lost` packets
    /// are lost. The others arrive with `queue` ms of delay above 50.
    fn round(scream: &mut Scream, round: u64, queue: u64, lost: u64) {
        let departed = |k: u64| ms(100 * round + 10 * k);
        for k in 0..10 {
            scream.on_sent(departed(k), 10 * round + k, 1_000);
        }
        let fate = |k: u64| {
            if k < lost {
                Fate::Lost(None)
            } else {
                Fate::Arrived(
                    Some(departed(k) + Duration::from_millis((50 + queue) as i64)),
                    Ecn::NotEct,
                )
            }
        };
        let report = |k: u64| Report {
            id: 10 * round + k,
            departed: departed(k),
            size: 1_000,
            fate: fate(k),
        };
        let reports: Vec<Report> = (0..10).map(report).collect();
        scream.on_reports(ms(100 * round + 190), &reports);
    }

    #[test]
    fn the_window_grows_and_gives_way_by_hand() {
        let mut scream = Scream::new(400e3, 150e3, 5e6);
        round(&mut scream, 0, 0, 0);
        // With a round trip of 100 ms, the window is 5,000 bytes. It then grows by one segment per
        // window, 10 % faster.
        let grown = 5_000.0 + 10_000.0 * 0.2 * 1.1;
        assert!((scream.ref_wnd - grown).abs() < 1e-6, "{}", scream.ref_wnd);
        assert!((scream.target - (1.1 - 1_000.0 / grown) * 8.0 * grown / 0.1).abs() < 1e-3);
        // In the average, a quarter of the 60 ms queue is below half of the target, so the window
        // is not cut.
        round(&mut scream, 1, 60, 0);
        assert!((scream.qdelay_avg - 0.015).abs() < 1e-9);
        assert_eq!(scream.congested, Some(ms(290)));
        let before = scream.ref_wnd;
        round(&mut scream, 2, 400, 0);
        assert!(scream.ref_wnd < before, "{}", scream.ref_wnd);
    }

    /// Without a queue, one loss in a thousand packets has no effect, and one in ten cuts the
    /// window.
    #[test]
    fn losses_count_above_one_per_cent() {
        let mut scream = Scream::new(400e3, 150e3, 5e6);
        for k in 0..100 {
            round(&mut scream, k, 0, u64::from(k == 50));
        }
        assert_eq!(scream.congested, None);
        for k in 100..120 {
            round(&mut scream, k, 0, 1);
        }
        assert!(scream.congested.is_some());
    }

    #[test]
    fn a_standing_queue_raises_the_target_of_the_delay() {
        let mut scream = Scream::new(400e3, 150e3, 5e6);
        round(&mut scream, 0, 0, 0);
        for k in 1..300 {
            round(&mut scream, k, 150, 0);
        }
        assert!(
            (scream.qdelay_target - 0.15).abs() < 0.01,
            "{}",
            scream.qdelay_target
        );
    }
}
