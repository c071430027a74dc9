//! Runs the closed loop of rtc-interceptor's bench and measures it.
//!
//! A sender paces packets of 1,200 bytes at the estimator's target, in steps of 1 ms. It gets a
//! report of arrivals every 100 ms. The return path takes no time and loses nothing.

use crate::path::{Bottleneck, Path};
use crate::peers::{Peer, Sample};
use std::collections::VecDeque;

pub(crate) const PACKET: f64 = 9_600.0;
const FEEDBACK: f64 = 0.100;

/// The result of a run.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// The time in seconds and the target in bit/s, at each feedback.
    pub(crate) targets: Vec<(f64, f64)>,
    /// The time in seconds, and the bits that arrived since the previous feedback.
    pub(crate) delivered: Vec<(f64, f64)>,
    /// The time in seconds and the seconds in the queue, for each packet that passed it.
    pub(crate) waited: Vec<(f64, f64)>,
    pub(crate) offered: usize,
    pub(crate) lost: usize,
    pub(crate) duration: f64,
    path: Path,
}

pub(crate) fn run(path: &Path, duration: f64, seed: u64, peer: &mut dyn Peer) -> Outcome {
    let mut bottleneck = Bottleneck::new(path.clone(), seed);
    let mut outcome = Outcome {
        targets: vec![(0.0, peer.target())],
        delivered: Vec::new(),
        waited: Vec::new(),
        offered: 0,
        lost: 0,
        duration,
        path: path.clone(),
    };
    let mut under_way: VecDeque<(f64, Sample)> = VecDeque::new();
    let (mut credit, mut samples) = (0.0, Vec::new());
    let mut next_feedback = FEEDBACK;
    for step in 1..=(duration * 1e3) as u64 {
        let now = step as f64 * 1e-3;
        credit += peer.target() * 1e-3;
        while credit >= PACKET {
            credit -= PACKET;
            let passage = bottleneck.offer(now, PACKET);
            let sample = Sample {
                id: outcome.offered as u64,
                departed: now,
                size: (PACKET / 8.0) as u32,
                fate: passage.lost.map_or(Ok(passage.at), Err),
            };
            outcome.offered += 1;
            outcome.lost += usize::from(passage.lost.is_some());
            if passage.at > now {
                outcome.waited.push((now, passage.waited));
                under_way.push_back((passage.at, sample));
            } else {
                samples.push(sample);
            }
        }
        while under_way.front().is_some_and(|(at, _)| *at <= now) {
            samples.extend(under_way.pop_front().map(|(_, sample)| sample));
        }
        if now >= next_feedback - 1e-9 {
            next_feedback += FEEDBACK;
            let arrived = samples.iter().filter(|sample| sample.fate.is_ok()).count();
            outcome.delivered.push((now, arrived as f64 * PACKET));
            if !samples.is_empty() {
                peer.on_reports(now, &samples);
                outcome.targets.push((now, peer.target()));
                samples.clear();
            }
        }
        peer.timeout(now);
    }
    outcome
}

impl Outcome {
    fn last(values: &[(f64, f64)], from: f64, to: f64) -> impl Iterator<Item = f64> {
        let within = move |(at, _): &&(f64, f64)| *at >= from && *at <= to;
        values.iter().filter(within).map(|&(_, value)| value)
    }

    /// Returns the bits delivered between two times, as a share of the capacity that the path left
    /// for this sender.
    pub(crate) fn used(&self, from: f64, to: f64) -> f64 {
        let possible: f64 = ((from * 1e3) as u64..(to * 1e3) as u64)
            .map(|ms| self.path.left_at(ms as f64 * 1e-3) * 1e-3)
            .sum();
        Self::last(&self.delivered, from, to).sum::<f64>() / possible
    }

    /// Returns the last 30 % of the run.
    pub(crate) fn tail(&self) -> (f64, f64) {
        (0.7 * self.duration, self.duration)
    }

    pub(crate) fn lost(&self) -> f64 {
        self.lost as f64 / self.offered.max(1) as f64
    }

    /// Returns the mean and the 95th percentile of the time in the queue between two times, in
    /// seconds.
    pub(crate) fn waits(&self, (from, to): (f64, f64)) -> (f64, f64) {
        let mut waits: Vec<f64> = Self::last(&self.waited, from, to).collect();
        waits.sort_by(f64::total_cmp);
        let mean = waits.iter().sum::<f64>() / waits.len().max(1) as f64;
        let p95 = waits.get((0.95 * waits.len() as f64) as usize);
        (mean, p95.copied().unwrap_or(0.0))
    }

    /// Returns when the mean target over two seconds begins to stay within 35 % of `goal`.
    pub(crate) fn converged(&self, goal: f64) -> Option<f64> {
        let mut since = None;
        for (index, &(at, _)) in self.targets.iter().enumerate() {
            let window = self.targets[..=index].iter().rev();
            let window = window.take_while(|(earlier, _)| at - earlier <= 2.0);
            let (sum, count) = window.fold((0.0, 0), |(sum, count), (_, target)| {
                (sum + target, count + 1)
            });
            let apart = (sum / f64::from(count) - goal).abs() / goal;
            since = if apart <= 0.35 {
                since.or(Some(at))
            } else {
                None
            };
        }
        since
    }
}
