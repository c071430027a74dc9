//! Recordings as runs of good and of lost packets, which suffice for the likelihoods.

use std::collections::BTreeMap;

use whyloss_sim::recording::Trial;

/// The lengths of runs, in order, each with the number of such runs.
pub(super) type Counts = Vec<(u32, u64)>;

/// A stretch of packets as alternating runs. The first run is good and may be empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Stretch {
    pub(super) runs: Vec<u32>,
    /// The time since the previous packet in s, and the outcome, of each packet; empty if the
    /// packets have no times.
    pub(super) steps: Vec<(f64, bool)>,
}

impl Stretch {
    /// Returns the packets of `trial` within `range`.
    pub(super) fn of(trial: &Trial, range: std::ops::Range<usize>) -> Self {
        let lost = &trial.lost[range.clone()];
        let mut runs = vec![0];
        let mut in_burst = false;
        for &lost in lost {
            if lost != in_burst {
                runs.push(0);
                in_burst = lost;
            }
            if let Some(run) = runs.last_mut() {
                *run += 1;
            }
        }
        let mut steps = Vec::new();
        if let Some(times) = trial.times.get(range) {
            let mut before = times.first().copied().unwrap_or(0);
            steps.extend(lost.iter().zip(times).map(|(&lost, &time)| {
                let step = (time - before) as f64 / 1e9;
                before = time;
                (step, lost)
            }));
        }
        Self { runs, steps }
    }

    /// Returns the beginning of the stretch: the shares `runs` and `steps` of its packets.
    pub(super) fn beginning(&self, runs: f64, steps: f64) -> Self {
        let packets: u64 = self.runs.iter().map(|&run| u64::from(run)).sum();
        let mut left = libm::ceil(packets as f64 * runs) as u32;
        let mut kept = Vec::new();
        for &run in &self.runs {
            kept.push(run.min(left));
            left -= run.min(left);
            if left == 0 {
                break;
            }
        }
        let most = libm::ceil(self.steps.len() as f64 * steps) as usize;
        Self {
            runs: kept,
            steps: self.steps[..most.min(self.steps.len())].to_vec(),
        }
    }
}

/// The numbers of runs by length, separated by how much of each run was recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    /// The good runs and bursts that were recorded from beginning to end.
    pub(super) whole: [Counts; 2],
    /// The runs that began before the recording.
    pub(super) begun: [Counts; 2],
    /// The runs that the end of the recording cuts.
    pub(super) cut: [Counts; 2],
    /// The runs that extend beyond both ends of the recording.
    pub(super) both: [Counts; 2],
}

impl Summary {
    pub(super) fn of<'s>(stretches: impl IntoIterator<Item = &'s Stretch>) -> Self {
        let mut counted: [[BTreeMap<u32, u64>; 2]; 4] = Default::default();
        for stretch in stretches {
            // A stretch that begins with a loss has an empty good run first.
            let first = usize::from(stretch.runs[0] == 0);
            let last = stretch.runs.len() - 1;
            for (at, &run) in stretch.runs.iter().enumerate().skip(first) {
                let kept = match (at == first, at == last) {
                    (false, false) => 0,
                    (true, false) => 1,
                    (false, true) => 2,
                    (true, true) => 3,
                };
                *counted[kept][at % 2].entry(run).or_default() += 1;
            }
        }
        let [whole, begun, cut, both] =
            counted.map(|kinds| kinds.map(|counts| counts.into_iter().collect()));
        Self {
            whole,
            begun,
            cut,
            both,
        }
    }

    /// Returns the numbers of packets and of runs of a kind: 0 good, 1 lost.
    pub(super) fn totals(&self, kind: usize) -> (f64, f64) {
        let all = [&self.whole, &self.begun, &self.cut, &self.both];
        let (mut packets, mut runs) = (0.0, 0.0);
        for &(length, count) in all.iter().flat_map(|counts| &counts[kind]) {
            packets += f64::from(length) * count as f64;
            runs += count as f64;
        }
        (packets, runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_by_hand() {
        let trial = Trial {
            lost: [0, 0, 1, 0, 1, 1].map(|bit| bit == 1).to_vec(),
            times: vec![0, 10, 20, 30, 40, 1_000_000_040],
        };
        let stretch = Stretch::of(&trial, 0..6);
        assert_eq!(stretch.runs, [2, 1, 1, 2]);
        assert!((stretch.steps[5].0 - 1.0).abs() < 1e-9);
        let summary = Summary::of([&stretch, &Stretch::of(&trial, 4..6)]);
        assert_eq!(summary.begun, [vec![(2, 1)], vec![]]);
        assert_eq!(summary.whole, [vec![(1, 1)], vec![(1, 1)]]);
        assert_eq!(summary.cut[1], [(2, 1)]);
        assert_eq!(summary.both[1], [(2, 1)]);
        assert_eq!(summary.totals(1), (5.0, 3.0));
        let half = stretch.beginning(0.5, 0.3);
        assert_eq!((half.runs, half.steps.len()), (vec![2, 1], 2));
    }
}
