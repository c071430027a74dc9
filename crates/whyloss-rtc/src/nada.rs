//! NADA (RFC 8698), an estimator for comparisons.
//!
//! ```text
//! d_queue   lowest of the last 15 one-way delays − lowest of all, s
//! p_loss    ← 0.1·losses of the last 500 ms + 0.9·p_loss
//! d_tilde   d_queue up to 50 ms; beyond, 50 ms·exp(−(d_queue − 50 ms)/100 ms), if a loss is recent
//! x_curr    d_tilde + 10 ms·(p_loss/0.01)²
//!
//! ramp up   no loss in 500 ms and every delay within 10 ms of the lowest:
//!           r_ref ← max(r_ref, (1 + min(0.5, 50 ms/(rtt + 220 ms)))·r_recv)
//! gradual   r_ref ← r_ref − ½·(delta/τ)·(x_offset/τ)·r_ref − (x_diff/τ)·r_ref
//!           x_offset = x_curr − 10 ms·RMAX/r_ref; τ = 500 ms
//! ```
//!
//! Section 4.2 computes congestion at the receiver. This estimator computes everything at the
//! sender from reports, as section 5.3 allows. A loss is recent for seven mean intervals of the
//! last eight losses. ECN marks do not count, because our hosts carry none.

use std::collections::VecDeque;

use whyloss::{Duration, Time};

use crate::bandwidth::Bandwidth;
use crate::{Fate, Report};

// The parameters of RFC 8698. Those of type `f64` that are delays or time constants
// (TAU, XREF, QEPS, DFILT, QBOUND, QTH, DLOSS) are in seconds; the others have no unit.
const DELTA: Duration = Duration::from_millis(100);
const LOGWIN: Duration = Duration::from_millis(500);
const TAU: f64 = 0.5;
const XREF: f64 = 0.010;
const KAPPA: f64 = 0.5;
const ETA: f64 = 2.0;
const QEPS: f64 = 0.010;
const DFILT: f64 = 0.120;
const GAMMA_MAX: f64 = 0.5;
const QBOUND: f64 = 0.050;
const MULTILOSS: f64 = 7.0;
const QTH: f64 = 0.050;
const LAMBDA: f64 = 0.5;
const PLRREF: f64 = 0.01;
const DLOSS: f64 = 0.010;
const ALPHA: f64 = 0.1;
/// The number of taps of the minimum filter.
const TAPS: usize = 15;

/// A packet in the window of [`LOGWIN`].
#[derive(Clone, Copy, Debug)]
struct Seen {
    told: Time,
    bits: f64,
    /// The one-way delay in s; `None` if the packet was lost.
    delay: Option<f64>,
}

/// Estimates the bitrate by NADA, from reports.
#[derive(Clone, Debug)]
pub struct Nada {
    least: f64,
    most: f64,
    r_ref: f64,
    x_prev: f64,
    d_base: f64,
    taps: VecDeque<f64>,
    window: VecDeque<Seen>,
    p_loss: f64,
    rtt: f64,
    /// The number of packets since the last loss, and the intervals between earlier losses.
    since_loss: u64,
    intervals: VecDeque<u64>,
    updated: Option<Time>,
}

impl Nada {
    /// Creates an estimator whose target starts at `initial` and stays between `least` and `most`,
    /// all in bit/s.
    pub fn new(initial: f64, least: f64, most: f64) -> Self {
        Self {
            least,
            most,
            r_ref: initial.clamp(least, most),
            x_prev: 0.0,
            d_base: f64::INFINITY,
            taps: VecDeque::with_capacity(TAPS),
            window: VecDeque::new(),
            p_loss: 0.0,
            rtt: 0.1,
            since_loss: 0,
            intervals: VecDeque::new(),
            updated: None,
        }
    }

    fn take(&mut self, now: Time, report: &Report) {
        let delay = match report.fate {
            Fate::Arrived(Some(at), _) => Some((at - report.departed).as_secs_f64()),
            Fate::Arrived(None, _) => return,
            Fate::Lost(_) => None,
        };
        if let Some(delay) = delay {
            self.since_loss += 1;
            self.d_base = self.d_base.min(delay);
            if self.taps.len() == TAPS {
                self.taps.pop_front();
            }
            self.taps.push_back(delay);
            self.rtt = (now - report.departed).as_secs_f64();
        } else {
            if self.intervals.len() == 8 {
                self.intervals.pop_front();
            }
            self.intervals.push_back(self.since_loss);
            self.since_loss = 0;
        }
        self.window.push_back(Seen {
            told: now,
            bits: 8.0 * f64::from(report.size),
            delay,
        });
    }

    fn update(&mut self, now: Time, delta: f64) {
        while self
            .window
            .front()
            .is_some_and(|seen| now - seen.told > LOGWIN)
        {
            self.window.pop_front();
        }
        if self.window.is_empty() || self.taps.is_empty() {
            return;
        }
        let all = self.window.len() as f64;
        let lost = self
            .window
            .iter()
            .filter(|seen| seen.delay.is_none())
            .count() as f64;
        self.p_loss = ALPHA * lost / all + (1.0 - ALPHA) * self.p_loss;
        let least = self.taps.iter().copied().fold(f64::INFINITY, f64::min);
        let d_queue = least - self.d_base;
        let mean = self.intervals.iter().sum::<u64>() as f64 / self.intervals.len().max(1) as f64;
        let recent = !self.intervals.is_empty() && (self.since_loss as f64) < MULTILOSS * mean;
        let d_tilde = if recent && d_queue > QTH {
            QTH * libm::exp(-LAMBDA * (d_queue - QTH) / QTH)
        } else {
            d_queue
        };
        let x_curr = d_tilde + DLOSS * (self.p_loss / PLRREF) * (self.p_loss / PLRREF);
        let short = |seen: &Seen| seen.delay.is_some_and(|delay| delay - self.d_base < QEPS);
        if self.window.iter().all(short) {
            let gamma = GAMMA_MAX.min(QBOUND / (self.rtt + DELTA.as_secs_f64() + DFILT));
            let bits: f64 = self.window.iter().map(|seen| seen.bits).sum();
            let r_recv = bits / LOGWIN.as_secs_f64();
            self.r_ref = self.r_ref.max((1.0 + gamma) * r_recv);
        } else {
            let x_offset = x_curr - XREF * self.most / self.r_ref;
            let x_diff = x_curr - self.x_prev;
            let change = (delta / TAU) * (x_offset / TAU) + ETA * (x_diff / TAU);
            self.r_ref -= KAPPA * change * self.r_ref;
        }
        self.r_ref = self.r_ref.clamp(self.least, self.most);
        self.x_prev = x_curr;
    }
}

impl Bandwidth for Nada {
    fn on_reports(&mut self, now: Time, reports: &[Report]) {
        for report in reports {
            self.take(now, report);
        }
        let delta = self.updated.map_or(DELTA, |updated| now - updated);
        if delta >= DELTA {
            self.updated = Some(now);
            self.update(now, delta.as_secs_f64().min(TAU));
        }
    }

    fn target(&self) -> f64 {
        self.r_ref
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;

    /// Builds reports of ten packets of 1,250 bytes in 100 ms, which are 1 Mbit/s, with `queue` ms
    /// of delay above 50.
    fn reports(round: u64, queue: u64, lost: u64) -> Vec<Report> {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let report = |k: u64| Report {
            id: 10 * round + k,
            departed: at(100 * round + 10 * k),
            size: 1_250,
            fate: if k < lost {
                Fate::Lost(None)
            } else {
                let there = at(100 * round + 10 * k + 50 + queue);
                Fate::Arrived(Some(there), Ecn::NotEct)
            },
        };
        (0..10).map(report).collect()
    }

    #[test]
    fn ramps_up_and_gives_way_by_hand() {
        let mut nada = Nada::new(500e3, 150e3, 1.5e6);
        let at = |round: u64| Time::from_nanos((100 * round + 200) * 1_000_000);
        for round in 0..6 {
            nada.on_reports(at(round), &reports(round, 0, 0));
        }
        // The window contains both its ends and therefore 60 packets, so r_recv is 1.2 Mbit/s. rtt
        // is 110 ms.
        let gamma = 0.05 / (0.11 + 0.22);
        assert!(
            (nada.target() - (1.0 + gamma) * 1.2e6).abs() < 1.0,
            "{}",
            nada.target()
        );
        // A queue of 20 ms begins. 15 taps show it only in the second round.
        nada.on_reports(at(6), &reports(6, 20, 0));
        let before = nada.target();
        nada.on_reports(at(7), &reports(7, 20, 0));
        let offset = 0.020 - 0.010 * 1.5e6 / before;
        let change = 0.2 * offset / 0.5 + 2.0 * 0.020 / 0.5;
        assert!((nada.target() - before * (1.0 - 0.5 * change)).abs() < 1.0);
        let before = nada.target();
        nada.on_reports(at(8), &reports(8, 20, 5));
        assert!(nada.target() < before);
    }
}
