//! Tests that can reject a fitted channel, by recordings that the channel itself makes.
//!
//! ```text
//! bursts      √(Σ (found − expected)² / expected) over lengths 1, 2, … 5 and more    (chi-square)
//! good runs   greatest distance between the shares of runs up to each length (Kolmogorov–Smirnov)
//! p           h / l                      replica l is the h-th that is at least as far off
//!             (1 + g) / (1 + replicas)   only g < h of all replicas are
//! ```
//!
//! The tests are sequential as in Besag and Clifford (1991): with the true channel, P(p ≤ x) ≤ x. A
//! test also ends early, with the lowest possible p, if no replica comes near. The expected values
//! are means of other replicas, so that the recording and the compared replicas are treated alike.
//! Each replica has the trials' lengths and times, so that the ends of trials cut its runs in the
//! same way. Parameters are not fitted anew to each replica: p then errs towards 1.

use std::collections::BTreeMap;

use whyloss::Time;
use whyloss_link::channel::{Harm, Runs as Drawn};
use whyloss_link::{ChannelSpec, Streams};
use whyloss_sim::recording::Trial;

use super::{REJECTED, REPLICAS};

/// The maximum number of recorded packets that the tests use, from the beginnings of the trials.
pub const MOST_TESTED: usize = 100_000;
/// The longest lag of the autocorrelation, in packets.
pub const LAGS: usize = 20;
/// The number of replicas behind the expected values, and of those between two checks of a test.
const LOOK: u64 = 50;
/// The number of replicas at least as far off as the recording after which a test ends.
const ENOUGH: u64 = 10;
/// The distance beyond the mean, in standard deviations, at which no replica comes near.
const FAR: f64 = 5.0;
/// The number of replicas of the autocorrelation.
const CORRELATED: u64 = 199;
const BINS: usize = 5;
/// The number of cells for the expected lengths of good runs. One more cell holds longer runs.
const CELLS: usize = 1_023;

/// Maps each length of a run, in packets, to the number of such runs; expected numbers may be
/// fractions.
pub type Runs = BTreeMap<u32, f64>;

/// The results of comparing a recording with simulated ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Check {
    /// The p-value of the runs of losses; `None` if there are no losses.
    pub bursts: Option<f64>,
    /// The p-value of the runs of good packets; `None` if there are fewer than two runs.
    pub gaps: Option<f64>,
    /// The recorded and the expected runs of losses.
    pub burst_runs: [Runs; 2],
    /// The recorded and the expected runs of good packets.
    pub gap_runs: [Runs; 2],
    /// The autocorrelation at lags 1, 2, …: recorded, mean of the replicas, and the ends of their
    /// 95 % band. Empty after [`test()`].
    pub correlation: Vec<[f64; 4]>,
}

impl Check {
    /// Returns whether a test rejects the model, at a significance of [`REJECTED`].
    pub fn rejects(&self) -> bool {
        let tests = [self.bursts, self.gaps];
        tests.into_iter().flatten().any(|p| p < REJECTED)
    }
}

/// The numbers of good runs and of runs of losses, by length.
#[derive(Default)]
struct Lengths([Vec<u32>; 2]);

impl Lengths {
    fn add(&mut self, lost: bool, run: usize) {
        let counts = &mut self.0[usize::from(lost)];
        if counts.len() <= run {
            counts.resize(run + 1, 0);
        }
        counts[run] += 1;
    }

    fn total(&self, lost: bool) -> f64 {
        self.0[usize::from(lost)]
            .iter()
            .map(|&n| f64::from(n))
            .sum()
    }

    /// Returns the runs, each divided by the number of recordings in which they were counted.
    fn mean(&self, lost: bool, recordings: u64) -> Runs {
        let counts = (0..).zip(&self.0[usize::from(lost)]);
        let counts = counts.filter(|(_, count)| **count > 0);
        counts
            .map(|(length, &count)| (length, f64::from(count) / recordings as f64))
            .collect()
    }
}

/// Compares recordings with expected shares of runs.
struct Scale {
    /// The expected shares of runs of losses, by bin.
    bursts: [f64; BINS],
    /// The cell of each expected length of a good run. Longer runs are in the last cell.
    cells: Vec<u16>,
    /// The expected shares of good runs up to each cell.
    gaps: Vec<f64>,
}

impl Scale {
    fn of(expected: &Lengths) -> Self {
        let all = expected.total(true).max(1e-9);
        let mut bursts = [0.0; BINS];
        for (length, &count) in expected.0[1].iter().enumerate() {
            bursts[length.clamp(1, BINS) - 1] += f64::from(count) / all;
        }
        let all = expected.total(false).max(1e-9);
        let (mut below, mut gaps) = (0.0, vec![0.0; CELLS + 1]);
        let cell = |&count: &u32| {
            let cell = ((below / all * CELLS as f64) as usize).min(CELLS - 1);
            below += f64::from(count);
            gaps[cell] = below / all;
            cell as u16
        };
        let cells = expected.0[0].iter().map(cell).collect();
        // An empty cell has the share of the cell before it.
        for cell in 1..=CELLS {
            gaps[cell] = f64::max(gaps[cell], gaps[cell - 1]);
        }
        Self {
            bursts,
            cells,
            gaps,
        }
    }

    /// Returns how far the runs that `each` passes on are from the expected shares.
    fn distances(&self, each: impl FnOnce(&mut dyn FnMut(bool, usize))) -> [f64; 2] {
        let (mut bursts, mut gaps) = ([0.0; BINS], [0_u32; CELLS + 1]);
        each(&mut |lost, run| {
            if lost {
                bursts[run.min(BINS) - 1] += 1.0;
            } else {
                gaps[self.cells.get(run).map_or(CELLS, |&cell| usize::from(cell))] += 1;
            }
        });
        [chi(bursts, self.bursts), distance(&gaps, &self.gaps)]
    }
}

fn chi(found: [f64; BINS], shares: [f64; BINS]) -> f64 {
    let all: f64 = found.iter().sum();
    // Where less than a tenth of a run is expected, a tenth counts.
    let part = |(found, share): (f64, f64)| {
        let expected = (share * all).max(0.1);
        (found - expected) * (found - expected) / expected
    };
    libm::sqrt(found.into_iter().zip(shares).map(part).sum())
}

fn distance(found: &[u32], shares: &[f64]) -> f64 {
    let all = f64::from(found.iter().sum::<u32>().max(1));
    let (mut below, mut most) = (0, 0.0_f64);
    for (count, share) in found.iter().zip(shares) {
        below += count;
        most = most.max(f64::abs(f64::from(below) / all - share));
    }
    most
}

/// A test that ends as soon as its p-value is precise enough.
struct Sequential {
    /// How far off the recording is.
    own: f64,
    /// The lower bound on the standard deviation: where few values are possible, replicas may be
    /// alike by chance.
    least: f64,
    further: u64,
    replicas: u64,
    /// The sums of the replicas' distances and of their squares.
    sums: [f64; 2],
    p: Option<f64>,
}

impl Sequential {
    fn new(own: f64, least: f64) -> Self {
        Self {
            own,
            least,
            further: 0,
            replicas: 0,
            sums: [0.0; 2],
            p: None,
        }
    }

    fn add(&mut self, distance: f64) {
        if self.p.is_some() {
            return;
        }
        self.replicas += 1;
        self.further += u64::from(distance >= self.own - 1e-12);
        self.sums[0] += distance;
        self.sums[1] += distance * distance;
        if self.further == ENOUGH {
            self.p = Some(ENOUGH as f64 / self.replicas as f64);
        } else if self.replicas == REPLICAS || (self.replicas.is_multiple_of(LOOK) && self.is_far())
        {
            self.p = Some((1 + self.further) as f64 / (1 + REPLICAS) as f64);
        }
    }

    fn is_far(&self) -> bool {
        let [mean, square] = self.sums.map(|sum| sum / self.replicas as f64);
        let deviation = libm::sqrt((square - mean * mean).max(0.0)).max(self.least);
        self.further == 0 && self.own > mean + FAR * deviation
    }
}

/// Compares a recording with replicas that `channel` makes. `seed` fixes the replicas.
pub fn check(channel: &ChannelSpec, trials: &[Trial], seed: u64) -> Check {
    Check {
        correlation: correlations(channel, &beginnings(trials), seed),
        ..test(channel, trials, seed)
    }
}

/// Checks a model like [`check`], without the autocorrelation, which no test needs.
pub fn test(channel: &ChannelSpec, trials: &[Trial], seed: u64) -> Check {
    compare(channel, trials, seed, 0.0)
}

/// Tests a model like [`test()`], but stops once a p-value is below `rejected`.
pub(super) fn compare(channel: &ChannelSpec, trials: &[Trial], seed: u64, rejected: f64) -> Check {
    let trials = beginnings(trials);
    let mut maker = Maker::new(channel, seed);
    let (mut found, mut expected) = (Lengths::default(), Lengths::default());
    for trial in &trials {
        let packets = trial.lost.iter().map(|&lost| (lost, 1));
        runs(packets, trial.lost.len(), &mut |lost, run| {
            found.add(lost, run);
        });
    }
    for replica in 0..LOOK {
        maker.replica(replica, &trials, &mut |lost, run| {
            expected.add(lost, run);
        });
    }
    let scale = Scale::of(&expected);
    let [bursts, gaps] = scale.distances(|take| {
        for (kind, counts) in found.0.iter().enumerate() {
            for (run, &count) in counts.iter().enumerate() {
                (0..count).for_each(|_| take(kind == 1, run));
            }
        }
    });
    // The deviation is at least one unit of chi-square, and one run.
    let mut tests = [
        Sequential::new(bursts, 1.0),
        Sequential::new(gaps, 1.0 / found.total(false).max(1.0)),
    ];
    let mut replica = LOOK;
    let is_rejected = |test: &Sequential| test.p.is_some_and(|p| p < rejected);
    while tests.iter().any(|test| test.p.is_none()) && !tests.iter().any(is_rejected) {
        let distances = scale.distances(|take| maker.replica(replica, &trials, take));
        for (test, distance) in tests.iter_mut().zip(distances) {
            test.add(distance);
        }
        replica += 1;
    }
    let [bursts, gaps] = tests.map(|test| test.p);
    Check {
        bursts: bursts.filter(|_| found.total(true) > 0.0),
        gaps: gaps.filter(|_| found.total(false) >= 2.0),
        burst_runs: [found.mean(true, 1), expected.mean(true, LOOK)],
        gap_runs: [found.mean(false, 1), expected.mean(false, LOOK)],
        correlation: Vec::new(),
    }
}

/// The beginning of a trial, and the times of its packets if they have any.
#[derive(Clone, Copy)]
struct Beginning<'t> {
    lost: &'t [bool],
    times: &'t [i64],
}

fn beginnings(trials: &[Trial]) -> Vec<Beginning<'_>> {
    let packets: usize = trials.iter().map(|trial| trial.lost.len()).sum();
    let share = (MOST_TESTED as f64 / packets.max(1) as f64).min(1.0);
    let beginning = |trial: &'_ Trial| {
        let kept = ((trial.lost.len() as f64 * share) as usize).max(1);
        kept.min(trial.lost.len())
    };
    let each = trials.iter().map(|trial| Beginning {
        lost: &trial.lost[..beginning(trial)],
        times: &trial.times,
    });
    each.collect()
}

/// Passes the runs of one trial to `take`. A piece is a number of consecutive packets with one
/// outcome.
fn runs(
    pieces: impl Iterator<Item = (bool, u64)>,
    packets: usize,
    take: &mut dyn FnMut(bool, usize),
) {
    let (mut left, mut kind, mut run) = (packets, false, 0);
    for (lost, length) in pieces {
        if lost != kind && run > 0 {
            take(kind, run);
            run = 0;
        }
        kind = lost;
        let length = left.min(usize::try_from(length).unwrap_or(left));
        run += length;
        left -= length;
        if left == 0 {
            break;
        }
    }
    if run > 0 {
        take(kind, run);
    }
}

/// Draws replicas from a channel: run by run if the channel can, else packet by packet.
struct Maker<'a> {
    channel: &'a ChannelSpec,
    streams: Streams,
    drawn: Option<Drawn>,
}

impl<'a> Maker<'a> {
    fn new(channel: &'a ChannelSpec, seed: u64) -> Self {
        let streams = Streams::new(seed);
        Self {
            channel,
            streams,
            drawn: channel.runs(streams.stream("replica", 0)),
        }
    }

    /// Passes the runs of all trials of a replica to `take`.
    fn replica(
        &mut self,
        replica: u64,
        trials: &[Beginning<'_>],
        take: &mut dyn FnMut(bool, usize),
    ) {
        for (index, trial) in (0..).zip(trials) {
            let packets = trial.lost.len();
            if let Some(drawn) = &mut self.drawn {
                drawn.restart();
                runs(std::iter::repeat_with(|| drawn.draw()), packets, take);
                continue;
            }
            let stream = self.streams.stream("replica", replica << 32 | index);
            let mut machine = self.channel.build(stream);
            // Without times, packets are 1 ms apart.
            let first = trial.times.first().copied().unwrap_or(0);
            let pieces = (0..packets).map(|at| {
                let time = trial.times.get(at);
                let since = time.map_or(at as i64 * 1_000_000, |time| time - first);
                let harm = machine.harms(Time::from_nanos(since as u64), 1_000);
                (harm == Harm::Lost, 1)
            });
            runs(pieces, packets, take);
        }
    }
}

/// Returns the autocorrelation of the recording, and the mean and the band of that of replicas.
fn correlations(channel: &ChannelSpec, trials: &[Beginning<'_>], seed: u64) -> Vec<[f64; 4]> {
    let recorded: Vec<bool> = trials
        .iter()
        .flat_map(|trial| trial.lost)
        .copied()
        .collect();
    let mut maker = Maker::new(channel, seed);
    let replicas: Vec<Vec<f64>> = (0..CORRELATED)
        .map(|replica| {
            let mut packets = Vec::with_capacity(recorded.len());
            maker.replica(replica, trials, &mut |lost, run| {
                packets.extend(std::iter::repeat_n(lost, run));
            });
            correlate(&packets, trials)
        })
        .collect();
    let band = |(lag, found)| {
        let mut values: Vec<f64> = replicas.iter().map(|replica| replica[lag]).collect();
        values.sort_by(f64::total_cmp);
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        [found, mean, values[n / 40], values[n - 1 - n / 40]]
    };
    let own = correlate(&recorded, trials).into_iter();
    own.enumerate().map(band).collect()
}

/// Returns the autocorrelation of packets. They are those of all `trials`, one after the other.
fn correlate(packets: &[bool], trials: &[Beginning<'_>]) -> Vec<f64> {
    let lost = packets.iter().filter(|&&lost| lost).count();
    let mean = lost as f64 / packets.len().max(1) as f64;
    let variance = mean * (1.0 - mean);
    let at = |lag: usize| {
        let (mut both, mut pairs, mut left) = (0_u64, 0_u64, packets);
        for trial in trials {
            let (own, others) = left.split_at(trial.lost.len());
            let ahead = own.get(lag..).unwrap_or(&[]);
            both += own.iter().zip(ahead).filter(|(a, b)| **a && **b).count() as u64;
            pairs += ahead.len() as u64;
            left = others;
        }
        (both as f64 / pairs.max(1) as f64 - mean * mean) / variance.max(1e-12)
    };
    (1..=LAGS).map(at).collect()
}

#[cfg(test)]
mod tests {
    use whyloss_link::channel::GilbertElliott;

    use super::*;

    #[test]
    fn distances_by_hand() {
        // Half of the good runs have one packet, but three in four should: the distance is 0.25.
        // For bursts of one and two, the terms are (2 − 3)²/3 and (2 − 1)²/1, and a tenth for each
        // of three empty bins.
        let mut expected = Lengths::default();
        for run in [1, 1, 1, 2] {
            expected.add(false, run);
            expected.add(true, run);
        }
        let scale = Scale::of(&expected);
        let of = |lengths: &[usize]| {
            scale.distances(|take| {
                for &run in lengths {
                    take(false, run);
                    take(true, run);
                }
            })
        };
        let [bursts, gaps] = of(&[1, 1, 2, 2]);
        assert!((gaps - 0.25).abs() < 1e-12);
        assert!((bursts * bursts - (1.0 / 3.0 + 1.0 + 0.3)).abs() < 1e-12);
        // The run is longer than all expected ones.
        assert!((of(&[3])[1] - 1.0).abs() < 1e-12);
    }

    #[test]
    fn trials_end_runs() {
        let mut seen = Vec::new();
        let pieces = [(false, 2), (false, 1), (true, 1), (false, u64::MAX)];
        runs(pieces.into_iter(), 6, &mut |lost, run| {
            seen.push((lost, run));
        });
        assert_eq!(seen, [(false, 3), (true, 1), (false, 2)]);
    }

    /// With the true channel, about 1 % of the tests reject at 1 %, and half of the p-values are
    /// below a half.
    #[test]
    fn true_channels_are_rejected_as_often_as_said() {
        const DRAWS: u64 = 600;
        let specs = [
            ChannelSpec::Bernoulli { loss: 0.1 },
            ChannelSpec::GilbertElliott(GilbertElliott {
                p_good_to_bad: 0.02,
                p_bad_to_good: 0.2,
                loss_good: 0.01,
                loss_bad: 0.5,
            }),
        ];
        for spec in specs {
            let (mut rejected, mut lower) = ([0; 2], [0; 2]);
            for seed in 0..DRAWS {
                let mut random = spec.runs(Streams::new(seed).stream("truth", 0)).unwrap();
                let mut trials = vec![Trial::default(); 4];
                for trial in &mut trials {
                    random.restart();
                    while trial.lost.len() < 500 {
                        let (lost, length) = random.draw();
                        trial.lost.extend((0..length.min(500)).map(|_| lost));
                    }
                    trial.lost.truncate(500);
                }
                let tested = test(&spec, &trials, seed);
                for (kind, p) in [tested.bursts, tested.gaps].into_iter().enumerate() {
                    let p = p.unwrap();
                    rejected[kind] += u32::from(p < REJECTED);
                    lower[kind] += u32::from(p < 0.5);
                }
            }
            println!("{spec:?} {rejected:?} {lower:?} of {DRAWS}");
            // At 0.9 %, 5.4 ± 2.3 are expected; below a half, 300 ± 12, less the ties of few
            // bursts. The limits are three to four sigma.
            assert!(rejected.iter().all(|n| (..=15).contains(n)), "{rejected:?}");
            assert!(lower.iter().all(|n| (250..=340).contains(n)), "{lower:?}");
        }
    }
}
