//! Tests that can reject a fitted channel, by recordings that the channel itself makes.
//!
//! ```text
//! bursts        Σ (found − expected)² / expected over lengths 1, 2, … 5 and more      (chi-square)
//! good runs     greatest distance between the shares of runs up to each length        (Kolmogorov–Smirnov)
//! p             (1 + replicas at least as far off) / (1 + replicas)
//! ```
//!
//! Expected is the mean of all replicas, and each replica has the trials' lengths and times, so
//! that runs which a trial's ends cut are cut alike. Parameters are not fitted anew to each
//! replica: p then errs towards 1.

use std::collections::BTreeMap;

use whyloss::Time;
use whyloss_link::channel::Harm;
use whyloss_link::{Channel, ChannelSpec, Streams};
use whyloss_sim::recording::Trial;

use super::REPLICAS;

/// Maximum number of recorded packets that the tests use, from the beginnings of the trials.
pub const MOST_TESTED: usize = 100_000;
/// The longest lag of the autocorrelation, in packets.
pub const LAGS: usize = 20;
const BINS: usize = 5;

/// Maps each length of a run, in packets, to the number of such runs; expected numbers may be
/// fractions.
pub type Runs = BTreeMap<u32, f64>;

/// The results of comparing a recording with simulated ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Check {
    /// The p value of the runs of losses; `None` if there are no losses.
    pub bursts: Option<f64>,
    /// The p value of the runs of good packets; `None` if there are fewer than two runs.
    pub gaps: Option<f64>,
    /// The recorded and the expected runs of losses.
    pub burst_runs: [Runs; 2],
    /// The recorded and the expected runs of good packets.
    pub gap_runs: [Runs; 2],
    /// The autocorrelation at lags 1, 2, …: recorded, mean of the replicas, and the ends of their
    /// 95 % band. Empty after [`test()`].
    pub correlation: Vec<[f64; 4]>,
}

#[derive(Clone, Debug, Default)]
struct Seen {
    bursts: Runs,
    gaps: Runs,
    correlation: Vec<f64>,
}

impl Seen {
    fn of(trials: &[Vec<bool>]) -> Self {
        let mut seen = Self::default();
        for trial in trials {
            seen.count(trial.iter().copied());
        }
        seen
    }

    /// Counts the runs of one trial.
    fn count(&mut self, mut trial: impl Iterator<Item = bool>) {
        let Some(mut kind) = trial.next() else { return };
        let mut run = 1;
        for lost in trial {
            if lost != kind {
                self.end(kind, run);
                (kind, run) = (lost, 0);
            }
            run += 1;
        }
        self.end(kind, run);
    }

    /// Counts one run.
    fn end(&mut self, lost: bool, run: u32) {
        let runs = if lost {
            &mut self.bursts
        } else {
            &mut self.gaps
        };
        *runs.entry(run).or_default() += 1.0;
    }

    fn correlate(&mut self, trials: &[Vec<bool>]) {
        let packets: usize = trials.iter().map(Vec::len).sum();
        let lost = trials.iter().flatten().filter(|&&lost| lost).count();
        let mean = lost as f64 / packets.max(1) as f64;
        let variance = mean * (1.0 - mean);
        let at = |lag: usize| {
            let (mut both, mut pairs) = (0_u64, 0_u64);
            for trial in trials {
                let ahead = trial.get(lag..).unwrap_or(&[]);
                both += trial.iter().zip(ahead).filter(|(a, b)| **a && **b).count() as u64;
                pairs += ahead.len() as u64;
            }
            (both as f64 / pairs.max(1) as f64 - mean * mean) / variance.max(1e-12)
        };
        self.correlation = (1..=LAGS).map(at).collect();
    }
}

/// Compares a recording with replicas that `channel` makes. `seed` fixes the replicas.
pub fn check(channel: &ChannelSpec, trials: &[Trial], seed: u64) -> Check {
    compare(channel, trials, seed, true)
}

/// Does what [`check`] does, but omits the autocorrelation, which no test needs.
pub fn test(channel: &ChannelSpec, trials: &[Trial], seed: u64) -> Check {
    compare(channel, trials, seed, false)
}

fn compare(channel: &ChannelSpec, trials: &[Trial], seed: u64, correlate: bool) -> Check {
    let packets: usize = trials.iter().map(|trial| trial.lost.len()).sum();
    let share = (MOST_TESTED as f64 / packets.max(1) as f64).min(1.0);
    let kept = |trial: &Trial| ((trial.lost.len() as f64 * share) as usize).max(1);
    let recorded: Vec<Vec<bool>> = trials
        .iter()
        .map(|trial| trial.lost[..kept(trial).min(trial.lost.len())].to_vec())
        .collect();
    let mut found = Seen::of(&recorded);
    let mut replicas: Vec<Seen> = Vec::new();
    for replica in 0..REPLICAS {
        let mut seen = Seen::default();
        // Only the autocorrelation needs the packets; runs are counted as they are drawn.
        let mut drawn: Vec<Vec<bool>> = Vec::new();
        let mut source = Source::new(channel, seed, replica);
        for (index, (trial, recorded)) in (0..).zip(trials.iter().zip(&recorded)) {
            let packets = source.trial(index, trial, recorded.len());
            if correlate {
                drawn.push(packets.collect());
            } else {
                seen.count(packets);
            }
        }
        if correlate {
            seen = Seen::of(&drawn);
            seen.correlate(&drawn);
        }
        replicas.push(seen);
    }
    if correlate {
        found.correlate(&recorded);
    }
    let mean = |of: fn(&Seen) -> &Runs| {
        let mut mean = Runs::new();
        for (&length, &count) in replicas.iter().flat_map(&of) {
            *mean.entry(length).or_default() += count / replicas.len() as f64;
        }
        mean
    };
    let (bursts, gaps) = (mean(|seen| &seen.bursts), mean(|seen| &seen.gaps));
    let p = |distance: &dyn Fn(&Seen) -> f64| {
        let own = distance(&found);
        let further = replicas.iter().filter(|seen| distance(seen) >= own - 1e-12);
        (1.0 + further.count() as f64) / (1.0 + replicas.len() as f64)
    };
    let band = |lag: usize| {
        let mut values: Vec<f64> = replicas.iter().map(|seen| seen.correlation[lag]).collect();
        values.sort_by(f64::total_cmp);
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        [
            found.correlation[lag],
            mean,
            values[n / 40],
            values[n - 1 - n / 40],
        ]
    };
    Check {
        bursts: (!found.bursts.is_empty()).then(|| p(&|seen| chi_square(&seen.bursts, &bursts))),
        gaps: (sum(&found.gaps) >= 2.0).then(|| p(&|seen| distance(&seen.gaps, &gaps))),
        correlation: (0..found.correlation.len()).map(band).collect(),
        burst_runs: [found.bursts, bursts],
        gap_runs: [found.gaps, gaps],
    }
}

/// Draws the trials of one replica from the channel.
struct Source<'a> {
    channel: &'a ChannelSpec,
    streams: Streams,
    replica: u64,
    machine: Option<Channel>,
}

impl<'a> Source<'a> {
    fn new(channel: &'a ChannelSpec, seed: u64, replica: u64) -> Self {
        Self {
            channel,
            streams: Streams::new(seed),
            replica,
            machine: None,
        }
    }

    fn fresh(&self, index: u64) -> Channel {
        let stream = self.replica << 32 | index;
        self.channel.build(self.streams.stream("replica", stream))
    }

    /// Draws whether each packet of a trial is lost. Packets have the trial's times, or are 1 ms
    /// apart.
    fn trial<'t>(
        &'t mut self,
        index: u64,
        trial: &'t Trial,
        packets: usize,
    ) -> impl Iterator<Item = bool> {
        // By packet a chain begins in its good state: one goes on through all trials, past its
        // beginning.
        let is_chain = matches!(self.channel, ChannelSpec::GilbertElliott(_));
        let machine = match self.machine.take() {
            Some(machine) if is_chain => machine,
            _ => {
                let mut machine = self.fresh(index);
                for _ in 0..if is_chain { 1_000 } else { 0 } {
                    machine.harms(Time::ZERO, 1_000);
                }
                machine
            }
        };
        let machine = self.machine.insert(machine);
        let first = trial.times.first().copied().unwrap_or(0);
        (0..packets).map(move |at| {
            let since = trial
                .times
                .get(at)
                .map_or(at as i64 * 1_000_000, |time| time - first);
            machine.harms(Time::from_nanos(since as u64), 1_000) == Harm::Lost
        })
    }
}

fn sum(runs: &Runs) -> f64 {
    runs.values().sum()
}

fn chi_square(found: &Runs, expected: &Runs) -> f64 {
    let bins = |runs: &Runs| {
        let mut bins = [0.0; BINS];
        for (&length, count) in runs {
            bins[(length as usize).clamp(1, BINS) - 1] += count;
        }
        bins
    };
    let scale = sum(found) / sum(expected).max(1e-9);
    let pairs = bins(found).into_iter().zip(bins(expected));
    // A bin where next to nothing is expected counts as if a tenth of a run were.
    let part = |(found, expected): (f64, f64)| {
        let expected = (expected * scale).max(0.1);
        (found - expected) * (found - expected) / expected
    };
    pairs.map(part).sum()
}

fn distance(found: &Runs, expected: &Runs) -> f64 {
    let (all, all_expected) = (sum(found).max(1e-9), sum(expected).max(1e-9));
    let (mut below, mut below_expected, mut most) = (0.0, 0.0, 0.0_f64);
    let mut left = found.iter().peekable();
    for (length, count) in expected {
        while let Some((_, more)) = left.next_if(|(own, _)| *own < length) {
            below += more / all;
            most = most.max(f64::abs(below - below_expected));
        }
        below_expected += count / all_expected;
        if let Some((_, more)) = left.next_if(|(own, _)| *own == length) {
            below += more / all;
        }
        most = most.max(f64::abs(below - below_expected));
    }
    // Longer than any replica's: the share that is left.
    most.max(1.0 - below).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_by_hand() {
        let runs = |pairs: &[(u32, f64)]| pairs.iter().copied().collect::<Runs>();
        // Half of the runs have one packet where three in four should.
        let expected = runs(&[(1, 30.0), (2, 10.0)]);
        assert!((distance(&runs(&[(1, 2.0), (2, 2.0)]), &expected) - 0.25).abs() < 1e-12);
        assert!((distance(&runs(&[(3, 2.0)]), &expected) - 1.0).abs() < 1e-12);
        // (2 − 3)²/3 + (2 − 1)²/1 and three empty bins at a tenth.
        let chi = chi_square(&runs(&[(1, 2.0), (2, 2.0)]), &expected);
        assert!((chi - (1.0 / 3.0 + 1.0 + 0.3)).abs() < 1e-12);
    }
}
