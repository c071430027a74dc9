//! Records the state of the first flow of Le and Hong over time: window, threshold, estimate,
//! timeouts and drops.
//!
//! ```text
//! available      rate of the first link minus that of the CBR source that shares it      [Mbit/s]
//! settling       mean over all changes of the source: time until the mean rate of a
//!                second is within 20 % of `available`; the whole interval to the next
//!                change if it never is                                                   [s]
//! error          mean of |estimate − available| / available after the first 5 s          [%]
//! estimate.A-B   mean estimate from A to B s                                             [Mbit/s]
//! timeouts       in the first 10 s
//! drops          before cwnd first reached ssthresh, after `left` s at `ssthresh` packets
//! ```

use whyloss::{Cause, Duration, Time};
use whyloss_link::Fate;
use whyloss_sim::RunError;
use whyloss_sim::host::datagrams::{Pattern, Spacing};
use whyloss_sim::scenario::Transport;
use whyloss_sim::{Event, Measurement, Scenario, Watch};
use whyloss_study::statistics::mean;

use super::{Probed, Track};

/// The time between samples.
const STEP: Duration = Duration::from_millis(100);
/// The number of samples in a second.
const PER_SECOND: f64 = 10.0;
/// The relative error below which an estimate counts as near the available bandwidth.
const NEAR: f64 = 0.2;
/// The interval in seconds over which drawn estimates are averaged.
const DRAWN: f64 = 0.5;
/// The length of the beginning of a connection, in seconds.
const BEGINNING: f64 = 10.0;
/// The size of a packet, in bytes.
const PACKET: f64 = 1000.0;

/// The sender's state at a multiple of [`STEP`].
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    cwnd: u64,
    ssthresh: u64,
    /// The estimate in Mbit/s; NaN if there is none.
    estimate: f64,
}

#[derive(Debug, Default)]
struct Trace {
    /// The samples, one every tenth of a second, starting at 0.
    samples: Vec<Sample>,
    /// When the retransmission timer expired, in s.
    timeouts: Vec<f64>,
    /// When queues dropped packets of the flow, in s.
    drops: Vec<f64>,
    /// When cwnd first reached ssthresh, in s, and ssthresh at that time, in bytes.
    slow_start_left: Option<(f64, u64)>,
    last: Sample,
}

impl Trace {
    /// Returns the mean estimate over the samples in `from..to` seconds, in Mbit/s; NaN if there
    /// are none.
    fn mean_estimate(&self, from: f64, to: f64) -> f64 {
        let (from, to) = ((from * PER_SECOND) as usize, (to * PER_SECOND) as usize);
        let to = to.min(self.samples.len());
        let between = self.samples.get(from..to).unwrap_or_default().iter();
        mean(&between.map(|sample| sample.estimate).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    }

    fn over_time(&self, value: impl Fn(&Sample) -> f64) -> Track {
        let samples = self.samples.iter().enumerate();
        samples
            .map(|(index, sample)| (index as f64 / PER_SECOND, value(sample)))
            .collect()
    }

    /// Returns the mean estimate of each interval of `seconds`, at the interval's middle.
    fn averages(&self) -> Track {
        let chunk = (DRAWN * PER_SECOND) as usize;
        let averages = self.samples.chunks(chunk).enumerate().map(|(index, part)| {
            let sum: f64 = part.iter().map(|sample| sample.estimate).sum();
            ((index as f64 + 0.5) * DRAWN, sum / part.len() as f64)
        });
        averages.filter(|(_, mean)| mean.is_finite()).collect()
    }

    /// Adds the samples up to `at`, all with the last known state.
    fn sample_to(&mut self, at: Time) {
        let due = at.as_nanos() / STEP.as_nanos() as u64;
        while (self.samples.len() as u64) < due {
            self.samples.push(self.last);
        }
    }
}

impl Watch for Trace {
    fn on(&mut self, event: &Event<'_>) {
        match *event {
            Event::Offered { packet, fate, .. } => {
                if let Fate::Lost(Cause::Congestion, when) = fate
                    && packet.flow == 0
                {
                    self.drops.push(when.as_secs_f64());
                }
            }
            Event::Reacted { flow, at, sender } => {
                if flow != 0 {
                    return;
                }
                self.sample_to(at);
                let (cwnd, ssthresh) = (sender.cwnd(), sender.ssthresh());
                if sender.timeouts() > self.timeouts.len() as u64 {
                    self.timeouts.push(at.as_secs_f64());
                }
                if cwnd >= ssthresh && self.slow_start_left.is_none() {
                    self.slow_start_left = Some((at.as_secs_f64(), ssthresh));
                }
                let mbps = |rate: whyloss::Rate| rate.as_bps() as f64 / 1e6;
                self.last = Sample {
                    cwnd,
                    ssthresh,
                    estimate: sender.bandwidth().map_or(f64::NAN, mbps),
                };
            }
            _ => {}
        }
    }
}

/// The rate that a variable-rate source leaves free on a link.
struct Available {
    capacity: f64,
    /// The changes of the rate: the time in s, and the rate after it in Mbit/s.
    changes: Vec<(f64, f64)>,
    end: f64,
}

impl Available {
    fn of(scenario: &Scenario) -> Self {
        let mbps = |rate: whyloss::Rate| rate.as_bps() as f64 / 1e6;
        let steady = scenario
            .flows
            .iter()
            .find_map(|flow| match &flow.transport {
                Transport::Datagrams {
                    pattern:
                        Pattern::Steady {
                            spacing: Spacing::Regular,
                            changes,
                        },
                    ..
                } => Some(changes),
                _ => None,
            });
        let changes = steady.into_iter().flatten();
        let changes = changes.map(|(from, rate)| (from.as_secs_f64(), mbps(*rate)));
        Self {
            capacity: scenario
                .links
                .first()
                .map_or(f64::NAN, |link| mbps(link.link.rate)),
            changes: changes.collect(),
            end: scenario.end.as_secs_f64(),
        }
    }

    fn at(&self, second: f64) -> f64 {
        let now = self.changes.iter().rev().find(|&&(from, _)| from <= second);
        self.capacity - now.map_or(0.0, |&(_, rate)| rate)
    }

    fn settling(&self, trace: &Trace) -> f64 {
        let ends = self
            .changes
            .iter()
            .skip(1)
            .map(|&(from, _)| from)
            .chain([self.end]);
        let times = self.changes.iter().zip(ends).map(|(&(from, _), end)| {
            let available = self.at(from);
            let windows = (0..).map(|step| from + f64::from(step) / 10.0);
            let settled = windows
                .take_while(|&second| second + 1.0 <= end)
                .find(|&second| {
                    let mean = trace.mean_estimate(second, second + 1.0);
                    (mean - available).abs() <= NEAR * available
                });
            settled.map_or(end, |second| second + 1.0) - from
        });
        mean(&times.collect::<Vec<f64>>()).unwrap_or(f64::NAN)
    }

    fn error(&self, trace: &Trace) -> f64 {
        let errors = trace.over_time(|sample| sample.estimate).into_iter();
        let errors = errors
            .filter(|&(second, _)| second >= 5.0)
            .map(|(second, estimate)| {
                let available = self.at(second);
                100.0 * (estimate - available).abs() / available
            });
        mean(&errors.collect::<Vec<f64>>()).unwrap_or(f64::NAN)
    }
}

/// The intervals over which estimates are averaged: name, start and end in seconds.
const ESTIMATES: [(&str, f64, f64); 8] = [
    ("estimate.30-50", 30.0, 50.0),
    ("estimate.55-75", 55.0, 75.0),
    ("estimate.80-100", 80.0, 100.0),
    ("estimate.105-125", 105.0, 125.0),
    ("estimate.10-30", 10.0, 30.0),
    ("estimate.30-120", 30.0, 120.0),
    ("estimate.125-150", 125.0, 150.0),
    ("estimate.10-100", 10.0, 100.0),
];

/// Traces the first flow of a run.
pub(super) fn trace(scenario: &Scenario, seed: u64) -> Result<(Measurement, Probed), RunError> {
    let mut trace = Trace::default();
    let measurement = whyloss_sim::Simulation::new(scenario, seed)
        .watch(&mut trace)
        .run()?;
    trace.sample_to(scenario.end);
    let available = Available::of(scenario);
    let left = trace.slow_start_left;
    let before = left.map_or(f64::INFINITY, |(at, _)| at);
    let count = |times: &[f64], before: f64| times.iter().filter(|&&at| at < before).count() as f64;
    let mut values = vec![
        ("settling", available.settling(&trace)),
        ("error", available.error(&trace)),
        ("timeouts", count(&trace.timeouts, BEGINNING)),
        ("drops", count(&trace.drops, before)),
        (
            "ssthresh",
            left.map_or(f64::NAN, |(_, ssthresh)| ssthresh as f64 / PACKET),
        ),
        ("left", left.map_or(f64::NAN, |(at, _)| at)),
    ];
    values.extend(ESTIMATES.map(|(name, from, to)| (name, trace.mean_estimate(from, to))));
    let mut tracks = Vec::new();
    if seed == 1 {
        let steps = (0..(available.end / DRAWN) as u32).map(|step| (f64::from(step) + 0.5) * DRAWN);
        let truth = steps.map(|at| (at, available.at(at)));
        tracks = vec![
            ("available", truth.collect()),
            ("estimate", trace.averages()),
            (
                "cwnd",
                trace.over_time(|sample| sample.cwnd as f64 / PACKET),
            ),
            (
                "ssthresh",
                trace.over_time(|sample| sample.ssthresh as f64 / PACKET),
            ),
        ];
    }
    Ok((measurement, Probed { values, tracks }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn available() -> Available {
        let changes = vec![
            (25.0, 0.5),
            (50.0, 1.0),
            (75.0, 0.25),
            (100.0, 0.75),
            (125.0, 0.0),
        ];
        Available {
            capacity: 1.5,
            changes,
            end: 150.0,
        }
    }

    #[test]
    fn what_the_cbr_source_leaves() {
        for (second, mbps) in [
            (0.0, 1.5),
            (25.0, 1.0),
            (74.9, 0.5),
            (80.0, 1.25),
            (149.0, 1.5),
        ] {
            assert!((available().at(second) - mbps).abs() < 1e-9);
        }
    }

    #[test]
    fn settling_by_hand() {
        // The estimate is exact two seconds after each change. The first second within 20 % begins
        // earlier, when most of it is exact.
        let mut trace = Trace::default();
        for step in 0..1500 {
            let second = f64::from(step) / 10.0;
            let estimate = available().at((second - 2.0).max(0.0));
            trace.samples.push(Sample {
                estimate,
                ..Sample::default()
            });
        }
        // A wrong tenth of a second is off by the step between two rates, and a second by n tenths
        // of that. Steps of 0.5 of 1, 0.5 of 0.5, 0.75 of 1.25, 0.5 of 0.75 and 0.75 of 1.5 allow
        // 4, 2, 3, 3 and 4 wrong tenths.
        let expected = (2.6 + 2.8 + 2.7 + 2.7 + 2.6) / 5.0;
        let settling = available().settling(&trace);
        assert!((settling - expected).abs() < 1e-9, "{settling}");
        let error = available().error(&trace);
        assert!(error > 0.0 && error < 20.0);
    }
}
