//! Measures Table 1 and Fig. 8: the CDMA radio, and the fit of the substitute channel to the
//! paper's description.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use whyloss::Time;
use whyloss_cdma::{Convolution, Level as RadioLevel, Parameters, Received, Trial};
use whyloss_link::channel::{BurstRenewal, ChannelError, ErrorPattern, Harm, NextTrial};
use whyloss_link::{ChannelSpec, Streams};
use whyloss_sim::Scenario;
use whyloss_study::{
    Cell, Check, Context, ExperimentError, Line, Look, Mean, Outcome, Panel, Series,
};

/// The number of trials behind the error patterns (CEN-25).
const TRIALS: u64 = 100;
/// The number of slots of a trial (CEN-25).
const SLOTS: usize = Parameters::CEN_SLOTS;

/// The loss level of the radio (Table 1).
#[derive(Clone, Copy, Debug)]
enum Level {
    High,
    Medium,
    Low,
}

impl Level {
    const ALL: [Self; 3] = [Self::High, Self::Medium, Self::Low];

    fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }

    /// Returns the packet loss rate in Table 1 of the paper.
    fn loss(self) -> f64 {
        match self {
            Self::High => 0.078,
            Self::Medium => 0.031,
            Self::Low => 0.010,
        }
    }

    /// Returns the radio. The first readings (`Parameters::cen`, fixed before any run) lose 74 % of
    /// packets at the high level, so they cannot be the authors'. In this reading, E_b/N₀ holds on
    /// each path, and the code has memory 4. Of the readings in the example of `whyloss-cdma`, it
    /// comes nearest to Table 1's high level and to Section 6.4's description of Fig. 8.
    fn radio(self) -> Parameters {
        let level = match self {
            Self::High => RadioLevel::High,
            Self::Medium => RadioLevel::Medium,
            Self::Low => RadioLevel::Low,
        };
        Parameters {
            received: Received::OnEachPath,
            code: Convolution::Memory4,
            ..Parameters::cen(level)
        }
    }

    /// Returns the bit error rate in Table 1 of the paper.
    fn bit_error_rate(self) -> f64 {
        match self {
            Self::High => 8.7e-5,
            Self::Medium => 2.8e-5,
            Self::Low => 7.1e-6,
        }
    }

    fn trial(self, seed: u64) -> Result<Trial, ChannelError> {
        let random = Streams::new(seed).stream("cdma", self as u64);
        self.radio().trial(SLOTS, random)
    }
}

/// Returns the trials of the radio at one level, one per seed.
fn trials(context: &Context<'_>, level: Level) -> Result<Vec<Arc<Trial>>, ExperimentError> {
    let key = |level: &Level| format!("radio {level:?}");
    let mut trials = context.each(&[level], key, |level, seed| {
        let trial = level.trial(seed);
        trial.map_err(|error| ExperimentError::Failed(Box::new(error)))
    })?;
    Ok(trials.remove(0))
}

/// Returns the trials of the substitute channel, with the number and length of the radio's trials.
fn stand_in(level: Level, seeds: u64) -> Vec<Vec<bool>> {
    let trial = |seed| {
        let stand_in = ChannelSpec::BurstRenewal(BurstRenewal::cen(level.loss()));
        let random = Streams::new(seed).stream("stand-in", level as u64);
        let mut channel = stand_in.build(random);
        (0..SLOTS)
            .map(|_| channel.harms(Time::ZERO, 381) == Harm::Lost)
            .collect()
    };
    (1..=seeds).map(trial).collect()
}

/// Replaces every lossy channel by the radio's trials at the high loss level.
pub(super) fn replayed(scenario: &mut Scenario) {
    static PATTERN: LazyLock<ErrorPattern> = LazyLock::new(|| {
        let trials = (1..=TRIALS).map(|seed| Level::High.trial(seed).map(|trial| trial.lost));
        let trials = trials.collect::<Result<Vec<_>, _>>();
        let pattern = trials.and_then(|trials| ErrorPattern::new(&trials));
        pattern.unwrap_or_else(|error| unreachable!("the parameters are constants: {error}"))
    });
    for link in &mut scenario.links {
        if link.link.channel != ChannelSpec::None {
            link.link.channel = ChannelSpec::Pattern {
                pattern: PATTERN.clone(),
                next: NextTrial::default(),
            };
        }
    }
}

/// Runs `cen-table-1`.
pub(super) fn table_1(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let mut cells = Vec::new();
    let mut seeds = 0;
    let mut rates = Vec::new();
    for level in Level::ALL {
        let trials = trials(context, level)?;
        seeds = trials.len() as u64;
        let parameters = level.radio();
        let row = format!(
            "spreading gain {}, interleaver {} packets ({})",
            parameters.spreading_gain,
            parameters.interleaver_packets,
            level.name()
        );
        let share = |lost: &[bool]| {
            100.0 * (lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64)
        };
        let of_trials = |value: &dyn Fn(&Trial) -> f64| {
            Mean::of(&trials.iter().map(|trial| value(trial)).collect::<Vec<_>>())
        };
        let radio = of_trials(&|trial| share(&trial.lost));
        let bits = of_trials(&|trial| 1e5 * trial.bit_errors as f64 / trial.bits as f64);
        let stand_in = stand_in(level, seeds);
        let stand_in = Mean::of(&stand_in.iter().map(|lost| share(lost)).collect::<Vec<_>>());
        rates.push(radio.value);
        // The tolerance is 5 % of the stated value (CEN-27).
        let beside = |cell: Cell, paper: f64| cell.beside(paper, 0.05 * paper);
        let bits = bits.cell(&row, "bit error rate", "1e-5");
        cells.extend([
            beside(
                radio.cell(&row, "packet loss rate", "%"),
                100.0 * level.loss(),
            ),
            beside(bits, 1e5 * level.bit_error_rate()),
            // This value is a parameter, not a result.
            stand_in.cell(&row, "packet loss rate of the stand-in", "%"),
        ]);
    }
    let (to_medium, to_low) = (rates[0] / rates[1], rates[0] / rates[2]);
    let near = |ratio: f64, paper: f64| (paper / 1.5..=paper * 1.5).contains(&ratio);
    Ok(Outcome::new("cen-table-1", "Table 1: the CDMA radio", seeds)
        .cells(cells)
        .claim(
            "CEN-26a",
            "a longer interleaver loses fewer packets, a larger spreading gain fewer still",
            Check {
                holds: rates[0] > rates[1] && rates[1] > rates[2],
                evidence: format!(
                    "high {:.2} %, medium {:.2} %, low {:.2} %",
                    rates[0], rates[1], rates[2]
                ),
            },
        )
        .claim(
            "CEN-26b",
            "the levels' ratios are the paper's, high : medium = 2.5 and high : low = 7.8 (within a factor of 1.5)",
            Check {
                holds: near(to_medium, 2.5) && near(to_low, 7.8),
                evidence: format!("{to_medium:.1} and {to_low:.1}"),
            },
        )
        .note(
            "The radio is simulated from its physics with the parameters the paper states; no constant is fitted. What \
             the paper leaves open was read in the most literal way first, which loses 74, 77 and 59 % of packets. The \
             reading shown was then chosen, among the two dozen that the example of `whyloss-cdma` prints, \
             because it comes nearest to the high level: E_b/N₀ holds on each of the four paths, and the code has memory \
             4. That is a choice made after the fact, and it still misses the levels' ratios: our interleaver of three \
             packets gains less than the authors'. One replication is one trial of 590 packets; the interval is that of \
             the mean over trials.",
        )
        .note(
            "The stand-in is the burst renewal channel that the other experiments use, since the authors' traces are lost.",
        ))
}

/// Counts runs of one kind by length. Omits runs that a trial's end cuts.
fn runs<'a>(trials: impl Iterator<Item = &'a [bool]>, kind: bool) -> BTreeMap<usize, usize> {
    let mut lengths = BTreeMap::new();
    for trial in trials {
        let runs: Vec<&[bool]> = trial.chunk_by(|a, b| a == b).collect();
        let whole = runs
            .get(1..runs.len().saturating_sub(1))
            .unwrap_or_default();
        for run in whole.iter().filter(|run| run[0] == kind) {
            *lengths.entry(run.len()).or_insert(0) += 1;
        }
    }
    lengths
}

/// Returns the share of lengths in each bin. `starts` are the lower bounds; the last bin has no
/// upper bound.
fn shares(lengths: &BTreeMap<usize, usize>, starts: &[usize]) -> Vec<f64> {
    let total: usize = lengths.values().sum();
    let bin = |index: usize| {
        let end = starts.get(index + 1).copied().unwrap_or(usize::MAX);
        let count: usize = lengths
            .range(starts[index]..end)
            .map(|(_, count)| count)
            .sum();
        100.0 * count as f64 / total as f64
    };
    (0..starts.len()).map(bin).collect()
}

/// Returns the coefficient of variation of lengths: standard deviation over mean.
fn variation(lengths: &BTreeMap<usize, usize>) -> f64 {
    let count: usize = lengths.values().sum();
    let sum = |value: &dyn Fn(f64) -> f64| {
        let terms = lengths
            .iter()
            .map(|(&length, &n)| n as f64 * value(length as f64));
        terms.sum::<f64>() / count as f64
    };
    let mean = sum(&|length| length);
    sum(&|length| (length - mean).powi(2)).sqrt() / mean
}

/// Runs `cen-fig-8`.
pub(super) fn fig_8(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let trials = trials(context, Level::High)?;
    let seeds = trials.len() as u64;
    let stand_in = stand_in(Level::High, seeds);
    let radio = |kind| runs(trials.iter().map(|trial| trial.lost.as_slice()), kind);
    let model = |kind| runs(stand_in.iter().map(Vec::as_slice), kind);
    let (bursts, good) = ([1, 2, 3, 4, 5], [1, 2, 4, 8, 16, 32, 64, 128, 256]);
    let mut cells = Vec::new();
    let mut panels = Vec::new();
    for (title, kind, starts) in [
        ("error states", true, &bursts[..]),
        ("good states", false, &good[..]),
    ] {
        let mut series = Vec::new();
        for (name, lengths) in [("CDMA radio", radio(kind)), ("stand-in", model(kind))] {
            cells.push(Cell {
                row: format!("coefficient of variation of {title}"),
                column: name.into(),
                mean: Some(variation(&lengths)),
                ..Cell::default()
            });
            let shares = shares(&lengths, starts);
            let by_start = starts.iter().zip(&shares);
            let by_start = by_start.map(|(&start, &share)| (start as f64, vec![Some(share)]));
            let line = Line::of(name, name, "%", by_start).bare();
            cells.extend(line.cells(&format!("share of {title} over length (packets, from)")));
            // Bins of good states double in width, so they are drawn side by side, over the
            // logarithm of their start.
            let places = (0..shares.len()).map(|bin| if kind { starts[bin] } else { bin } as f64);
            series.push(Series::new(name, Look::Bars, places.zip(shares)));
        }
        let x_label = if kind {
            "packets (5: five or more)"
        } else {
            "k: from 2^k to 2^(k+1) − 1 packets"
        };
        panels.push(Panel::new(title, (x_label, "% of states"), series));
    }
    let events = shares(&radio(true), &bursts);
    let more = 100.0 - events[0] - events[1];
    let [quarter, few] = [
        Check {
            holds: (20.0..=30.0).contains(&events[1]),
            evidence: format!(
                "one {:.1} %, two {:.1} %, more {more:.1} %",
                events[0], events[1]
            ),
        },
        Check {
            holds: more <= 6.0,
            evidence: format!("{more:.1} %"),
        },
    ];
    let title = "Fig. 8: lengths of good and error states, high loss";
    Ok(Outcome::new("cen-fig-8", title, seeds)
        .cells(cells)
        .claim(
            "CEN-27a",
            "about a quarter of the wireless loss events lose two packets in a row (20 to 30 %)",
            quarter,
        )
        .claim(
            "CEN-27b",
            "very few wireless loss events lose more than two packets (up to 6 %)",
            few,
        )
        .captioned("Lengths of good and error states at high wireless loss", panels)
        .note(
            "The paper's histogram carries no data; its text gives the two statements checked here, on the radio. They also \
             had a part in the choice of its reading (see `cen-table-1`), so they say that such a radio exists, not that it \
             was predicted. The stand-in is built to have a quarter of its bursts of two packets and none longer, and geometric good runs, \
             whose variation is what the radio's turned out to have (0.96 here, 1.03 at medium and 0.98 at low loss; a \
             geometric law of this mean has 0.96).",
        ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_by_hand() {
        let trial: Vec<bool> = "1100100011011110".chars().map(|c| c == '1').collect();
        let lengths = |kind| {
            runs([trial.as_slice()].into_iter(), kind)
                .into_iter()
                .collect::<Vec<_>>()
        };
        // The first 11 and the last 0 are cut by the ends.
        assert_eq!(lengths(true), [(1, 1), (2, 1), (4, 1)]);
        assert_eq!(lengths(false), [(1, 1), (2, 1), (3, 1)]);
        // The lengths are 1, 2 and 3: mean 2, variance 2/3.
        let variation = variation(&runs([trial.as_slice()].into_iter(), false));
        assert!((variation - (2.0_f64 / 3.0).sqrt() / 2.0).abs() < 1e-12);
        let shares = shares(&runs([trial.as_slice()].into_iter(), true), &[1, 2, 3]);
        assert!(
            shares
                .iter()
                .all(|share| (share - 100.0 / 3.0).abs() < 1e-9),
            "{shares:?}"
        );
    }
}
