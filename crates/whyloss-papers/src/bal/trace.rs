//! What one TCP flow holds to be true as time goes by: its window, its threshold, its estimate, its accidents.

use whyloss::{Cause, Duration, Time};
use whyloss_link::Fate;
use whyloss_sim::host::tcp::Sender;
use whyloss_sim::{Packet, Scenario, Watch};

use whyloss_study::{Context, ExperimentError, Panel, Plan, Runs, Series};

/// Between samples.
const STEP: Duration = Duration::from_millis(100);
/// Samples in a second.
const PER_SECOND: f64 = 10.0;

/// The sender's state, as it was at a multiple of [`STEP`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    /// cwnd in bytes.
    pub(crate) cwnd: u64,
    /// ssthresh in bytes.
    pub(crate) ssthresh: u64,
    /// The estimate in Mbit/s; NaN if there is none.
    pub(crate) estimate: f64,
}

/// The first flow of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    /// From 0 on, every tenth of a second.
    pub(crate) samples: Vec<Sample>,
    /// When its retransmission timer expired, s.
    pub(crate) timeouts: Vec<f64>,
    /// When queues refused its packets, s.
    pub(crate) drops: Vec<f64>,
    /// When cwnd first reached ssthresh, s, and ssthresh then, bytes.
    pub(crate) slow_start_left: Option<(f64, u64)>,
    last: Sample,
}

impl Trace {
    /// Mean estimate over the samples in `from..to` seconds, Mbit/s; NaN if there is none.
    pub(crate) fn mean_estimate(&self, from: f64, to: f64) -> f64 {
        let values: Vec<f64> = self.between(from, to).map(|s| s.estimate).collect();
        whyloss_study::statistics::mean(&values).unwrap_or(f64::NAN)
    }

    /// The samples in `from..to` seconds.
    pub(crate) fn between(&self, from: f64, to: f64) -> impl Iterator<Item = &Sample> {
        let (from, to) = ((from * PER_SECOND) as usize, (to * PER_SECOND) as usize);
        let to = to.min(self.samples.len());
        self.samples.get(from..to).unwrap_or_default().iter()
    }

    /// The mean estimate of every `seconds`, at the middle of each.
    pub(crate) fn averages(&self, seconds: f64) -> Vec<(f64, f64)> {
        let chunk = (seconds * PER_SECOND) as usize;
        let averages = self.samples.chunks(chunk).enumerate().map(|(index, part)| {
            let middle = (index as f64 + 0.5) * seconds;
            let sum: f64 = part.iter().map(|sample| sample.estimate).sum();
            (middle, sum / part.len() as f64)
        });
        averages.filter(|(_, mean)| mean.is_finite()).collect()
    }

    /// Something of every sample up to `seconds`, over time.
    pub(crate) fn over_time(
        &self,
        seconds: f64,
        value: impl Fn(&Sample) -> f64,
    ) -> Vec<(f64, f64)> {
        let samples = self.samples.iter().enumerate();
        samples
            .map(|(index, sample)| (index as f64 / PER_SECOND, value(sample)))
            .take_while(|&(at, _)| at <= seconds)
            .collect()
    }

    /// Fills in the samples up to `at`, which all find the last state.
    fn sample_to(&mut self, at: Time) {
        let due = at.as_nanos() / STEP.as_nanos() as u64;
        while (self.samples.len() as u64) < due {
            self.samples.push(self.last);
        }
    }
}

impl Watch for Trace {
    fn offered(&mut self, _: usize, _: Time, packet: &Packet, _: usize, fate: Fate) {
        if let Fate::Lost(Cause::Congestion, when) = fate
            && packet.flow == 0
        {
            self.drops.push(when.as_secs_f64());
        }
    }

    fn reacted(&mut self, flow: usize, at: Time, sender: &Sender) {
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
        self.last = Sample {
            cwnd,
            ssthresh,
            estimate: sender
                .bandwidth()
                .map_or(f64::NAN, |rate| rate.as_bps() as f64 / 1e6),
        };
    }
}

/// Traces the first flow of every scenario under every seed.
///
/// # Errors
/// As [`Context::each`].
pub(crate) fn run(context: &Context<'_>, plan: Plan) -> Result<Runs<Trace>, ExperimentError> {
    let key = |scenario: &Scenario| format!("bal trace {scenario:?}");
    let trace = |scenario: &Scenario, seed| {
        let mut trace = Trace::default();
        whyloss_sim::run_watched(scenario, seed, &mut trace)
            .map_err(|error| ExperimentError::Failed(Box::new(error)))?;
        trace.sample_to(scenario.end);
        Ok(trace)
    };
    let runs = Plan::run_all_with(context, &[plan], key, trace)?;
    runs.into_iter().next().ok_or(ExperimentError::Stopped)
}

/// Lines over time.
pub(crate) fn panel(title: &str, y_label: &str, series: Vec<Series>) -> Panel {
    Panel::new(title, ("time, s", y_label), series)
}

#[cfg(test)]
mod tests {
    use super::super::network::Network;
    use super::super::stack::Stack;
    use super::*;

    #[test]
    fn a_sample_every_tenth_of_a_second() {
        let scenario = Network::hybrid().scenario(&[Stack::default().reno()]);
        let mut trace = Trace::default();
        whyloss_sim::run_watched(&scenario, 1, &mut trace).expect("a sound scenario");
        trace.sample_to(scenario.end);
        assert_eq!(trace.samples.len(), 1000);
        assert!(trace.slow_start_left.is_some() && !trace.drops.is_empty());
        assert!(trace.mean_estimate(1.0, 2.0).is_nan(), "Reno has none");
        let cwnd = trace.over_time(1.0, |sample| sample.cwnd as f64);
        assert_eq!(cwnd.len(), 11);
    }
}
