//! Channels fitted to recordings: maximum likelihood, a choice by held-out likelihood, and tests
//! that can reject it.
//!
//! | step | |
//! |---|---|
//! | estimate | maximum likelihood; intervals from the observed information, through the delta method |
//! | choose | ten parts, of trials or of blocks: each model is fitted on nine and scored on the tenth. A model stands if its log-likelihood is at most [`STANDARD_ERRORS`], or a total of one unit, below the best. The choice is the simplest model that stands and that no test rejects, or else the simplest that stands |
//! | test | runs of losses (chi-square) and of good packets (Kolmogorov–Smirnov) against those of up to [`REPLICAS`] simulated recordings of the same lengths ([`check`]) |
//!
//! Models with hidden states use a part of a long recording ([`MOST_RUNS`], [`MOST_STEPS`]);
//! the others use all of it.

pub mod arq;
pub mod check;
pub mod jitter;
mod model;
pub mod rates;
mod runs;
mod search;
pub mod sources;
pub mod words;

pub use model::{MODELS, Model, Parameter};

use statrs::distribution::{ContinuousCDF as _, Normal};
use thiserror::Error;
use whyloss_link::ChannelSpec;
use whyloss_sim::recording::{Recording, Trial};

use check::Check;
use model::{Data, logit, told};
use runs::{Stretch, Summary};

/// The number of parts of a recording for the held-out likelihood.
pub const PARTS: usize = 10;
/// The number of standard errors by which a simpler model may be below the best one.
pub const STANDARD_ERRORS: f64 = 2.0;
/// The p-value below which a test rejects a model.
pub const REJECTED: f64 = 0.01;
/// The maximum number of simulated recordings of a test.
pub const REPLICAS: u64 = 999;
/// The maximum number of runs of losses that models with hidden states use.
pub const MOST_RUNS: usize = 8_192;
/// The maximum number of packets that models in continuous time use.
pub const MOST_STEPS: usize = 16_384;
/// The default seed of the tests that choose a model.
pub const SEED: u64 = 1;
/// The minimum number of losses that can be fitted.
pub const FEWEST_LOSSES: u64 = 10;
/// The minimum number of packets that can be fitted.
pub const FEWEST_PACKETS: u64 = 100;

/// Explains why a recording is too short or too uniform for a fit.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum TooLittle {
    /// There are fewer than [`FEWEST_PACKETS`] packets.
    #[error("it has {packets} packets; a fit needs at least {FEWEST_PACKETS}")]
    Packets {
        /// The number of packets.
        packets: u64,
    },
    /// No packet was lost.
    #[error(
        "none of its {packets} packets was lost: the loss is below {bound}, at a confidence of 95 %, and nothing more can be said"
    )]
    NoLoss {
        /// The number of packets.
        packets: u64,
        /// The upper bound of the loss rate at 95 % confidence: 3 over the number of packets, as
        /// text.
        bound: String,
    },
    /// There are fewer than [`FEWEST_LOSSES`] losses.
    #[error(
        "only {losses} of its {packets} packets were lost; a fit needs at least {FEWEST_LOSSES}"
    )]
    Losses {
        /// The number of lost packets.
        losses: u64,
        /// The number of packets.
        packets: u64,
    },
    /// All of this many packets were lost.
    #[error("all of its {0} packets were lost, so that nothing tells one model from another")]
    AllLost(u64),
}

/// A model with fitted parameters.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The family of the model.
    pub model: Model,
    /// The fitted channel.
    pub channel: ChannelSpec,
    /// The fitted parameters.
    pub parameters: Vec<Parameter>,
    /// The log-likelihood per held-out packet; `None` if the model was not compared.
    pub held_out: Option<f64>,
    /// The held-out log-likelihood per packet by which the model is below the best one, and its
    /// standard error.
    pub behind: (f64, f64),
    /// The tests of the chosen model, with seed [`SEED`].
    pub tested: Option<Check>,
}

/// The fit of all models to one recording.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The fitted models, in the order of [`MODELS`]. Models in continuous time are missing if the
    /// recording has no times.
    pub models: Vec<Fitted>,
    /// The index of the chosen model in `models`.
    pub chosen: usize,
}

impl Fit {
    /// Returns the chosen model.
    pub fn best(&self) -> &Fitted {
        &self.models[self.chosen]
    }

    /// Returns the model of this family; `None` if it was not fitted.
    pub fn of(&self, model: Model) -> Option<&Fitted> {
        self.models.iter().find(|fitted| fitted.model == model)
    }
}

/// Checks whether a recording suffices for a fit.
///
/// # Errors
/// Returns [`TooLittle`] if it does not.
pub fn enough(recording: &Recording) -> Result<(), TooLittle> {
    let (packets, losses) = (recording.packets(), recording.losses());
    match losses {
        _ if packets < FEWEST_PACKETS => Err(TooLittle::Packets { packets }),
        0 => Err(TooLittle::NoLoss {
            packets,
            bound: format!("{:.2e}", 3.0 / packets as f64),
        }),
        lost if lost == packets => Err(TooLittle::AllLost(packets)),
        1..FEWEST_LOSSES => Err(TooLittle::Losses { losses, packets }),
        _ => Ok(()),
    }
}

/// Fits all models and chooses one.
///
/// # Errors
/// Returns [`TooLittle`] if the recording does not suffice.
pub fn fit(recording: &Recording) -> Result<Fit, TooLittle> {
    enough(recording)?;
    let parts = parts(recording);
    let timed = recording.is_timed();
    let sampled = sample(&parts);
    let all = whole(&parts, &sampled);
    let folds: Vec<Fold> = (0..PARTS)
        .map(|out| Fold::of(&parts, &sampled, out))
        .collect();
    let known = MODELS.iter().filter(|model| timed || !model.is_timed());
    let mut models: Vec<Fitted> = Vec::new();
    let mut held: Vec<Vec<f64>> = Vec::new();
    for &model in known {
        let at = estimate(model, &all, None);
        held.push(folds.iter().map(|fold| fold.score(model, &at)).collect());
        models.push(told_of(model, &at, &all));
    }
    let total = |scores: &[f64]| scores.iter().sum::<f64>();
    let best = (0..held.len()).max_by(|&a, &b| total(&held[a]).total_cmp(&total(&held[b])));
    let best = best.unwrap_or(0);
    for (fitted, scores) in models.iter_mut().zip(&held) {
        let behind: Vec<f64> = held[best].iter().zip(scores).map(|(b, s)| b - s).collect();
        fitted.held_out = Some(total(scores));
        fitted.behind = mean_of(&behind);
    }
    // A parameter gains about one unit of log-likelihood over the whole recording by chance.
    let chance = 1.0 / recording.packets() as f64;
    let near = |fitted: &Fitted| {
        let (behind, error) = fitted.behind;
        behind <= f64::max(STANDARD_ERRORS * error, chance)
    };
    let passes = |fitted: &mut Fitted| {
        let tested = check::compare(&fitted.channel, &recording.trials, SEED, REJECTED);
        let passed = !tested.rejects();
        fitted.tested = passed.then_some(tested);
        passed
    };
    let standing = models
        .iter_mut()
        .position(|fitted| near(fitted) && passes(fitted));
    let chosen = standing.or_else(|| models.iter().position(near));
    let chosen = chosen.unwrap_or(best);
    let channel = &models[chosen].channel;
    let test = || check::test(channel, &recording.trials, SEED);
    let tested = models[chosen].tested.clone().unwrap_or_else(test);
    models[chosen].tested = Some(tested);
    Ok(Fit { models, chosen })
}

/// Returns the mean of the values and its standard error.
fn mean_of(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    (mean, libm::sqrt(square / (n - 1.0).max(1.0) / n))
}

/// Fits one model without comparing it with others.
///
/// # Errors
/// Returns [`TooLittle`] if the recording does not suffice.
pub fn fit_one(recording: &Recording, model: Model) -> Result<Fitted, TooLittle> {
    enough(recording)?;
    let parts = vec![stretches(recording, 1)];
    let sampled = sample(&parts);
    let all = whole(&parts, &sampled);
    let at = estimate(model, &all, None);
    Ok(told_of(model, &at, &all))
}

/// Cuts each trial of a recording into `cuts` stretches.
fn stretches(recording: &Recording, cuts: usize) -> Vec<Stretch> {
    let cut = |trial: &Trial| {
        let length = trial.lost.len();
        let ends: Vec<usize> = (0..=cuts).map(|index| index * length / cuts).collect();
        let pieces = ends.windows(2).filter(|ends| ends[0] < ends[1]);
        pieces
            .map(|ends| Stretch::of(trial, ends[0]..ends[1]))
            .collect::<Vec<_>>()
    };
    recording.trials.iter().flat_map(cut).collect()
}

/// Divides the recording into ten parts: whole trials in turn if there are enough, else blocks of
/// each trial.
fn parts(recording: &Recording) -> Vec<Vec<Stretch>> {
    let cuts = if recording.trials.len() >= PARTS {
        1
    } else {
        PARTS
    };
    let mut parts = vec![Vec::new(); PARTS];
    for (index, stretch) in stretches(recording, cuts).into_iter().enumerate() {
        parts[index % PARTS].push(stretch);
    }
    parts
}

/// The beginnings of stretches, within the limits on length.
struct Sample {
    /// The stretches on which models with hidden states are fitted: runs and steps, each within its
    /// own bound.
    fitted: Vec<Vec<Stretch>>,
    /// The stretches on which all models are scored: the same packets for every model.
    scored: Vec<Vec<Stretch>>,
}

fn sample(parts: &[Vec<Stretch>]) -> Sample {
    let all = || parts.iter().flatten();
    let runs: usize = all().map(|stretch| stretch.runs.len() / 2).sum();
    let steps: usize = all().map(|stretch| stretch.steps.len()).sum();
    let share = |most: usize, of: usize| (most as f64 / of.max(1) as f64).min(1.0);
    let (runs, steps) = (share(MOST_RUNS, runs), share(MOST_STEPS, steps));
    let cut = |runs: f64, steps: f64| {
        let part =
            |part: &Vec<Stretch>| part.iter().map(|own| own.beginning(runs, steps)).collect();
        parts.iter().map(part).collect()
    };
    Sample {
        fitted: cut(runs, steps),
        scored: cut(runs.min(steps), runs.min(steps)),
    }
}

fn whole(parts: &[Vec<Stretch>], sample: &Sample) -> Data {
    Data {
        summary: Summary::of(parts.iter().flatten()),
        stretches: sample.fitted.iter().flatten().cloned().collect(),
    }
}

/// Returns the parameters that maximise the likelihood, starting near `warm` if given.
fn estimate(model: Model, data: &Data, warm: Option<&[f64]>) -> Vec<f64> {
    let mut cost = |at: &[f64]| model.cost(at, data) + model.prior(at);
    if let Some(warm) = warm {
        return search::minimise(warm, 0.1, 60, 1e-3, &mut cost);
    }
    let starts = model.starts(data).into_iter();
    let found = starts.map(|start| {
        let near = search::minimise(&start, 0.5, 200, 1e-3, &mut cost);
        (cost(&near), near)
    });
    let best = found.min_by(|a, b| a.0.total_cmp(&b.0));
    let near = best.map(|(_, near)| near).unwrap_or_default();
    search::minimise(&near, 0.1, 200, 1e-5, &mut cost)
}

/// A part of the recording and all other parts, for every model.
struct Fold {
    others: Data,
    scored: Data,
}

impl Fold {
    fn of(parts: &[Vec<Stretch>], sample: &Sample, out: usize) -> Self {
        Self {
            others: Data {
                summary: Summary::of(others(parts, out)),
                stretches: others(&sample.fitted, out).cloned().collect(),
            },
            scored: Data {
                summary: Summary::of(&sample.scored[out]),
                stretches: sample.scored[out].clone(),
            },
        }
    }

    /// Returns the log-likelihood per packet of the part, with parameters fitted to the other
    /// parts.
    fn score(&self, model: Model, at: &[f64]) -> f64 {
        let near = estimate(model, &self.others, Some(at));
        let packets = self.scored.summary.totals(0).0 + self.scored.summary.totals(1).0;
        -model.cost(&near, &self.scored) / packets.max(1.0)
    }
}

fn others(parts: &[Vec<Stretch>], out: usize) -> impl Iterator<Item = &Stretch> {
    let kept = parts
        .iter()
        .enumerate()
        .filter(move |(index, _)| *index != out);
    kept.flat_map(|(_, part)| part)
}

fn told_of(model: Model, at: &[f64], data: &Data) -> Fitted {
    let channel = model.channel(at);
    let covariance = search::covariance(at, &mut |at| model.cost(at, data) + model.prior(at));
    let parameters = told(&channel);
    let z = Normal::standard().inverse_cdf(0.975);
    // Intervals are symmetric in logits (probabilities) or logarithms, so that they stay within
    // bounds.
    let is_share = |name: &str| !name.starts_with("mean_") && name != "good_run_cv";
    let scale = |name: &str, x: f64| {
        if is_share(name) {
            logit(x)
        } else {
            libm::log(x.max(1e-12))
        }
    };
    let gradient = |index: usize, name: &str| -> Vec<f64> {
        let moved = |axis: usize, by: f64| {
            let mut place = at.to_vec();
            place[axis] += by;
            let value = told(&model.channel(&place))
                .get(index)
                .map(|(_, value)| *value);
            value.map_or(f64::NAN, |value| scale(name, value))
        };
        (0..at.len())
            .map(|axis| (moved(axis, 1e-3) - moved(axis, -1e-3)) / 2e-3)
            .collect()
    };
    let parameters = parameters.iter().enumerate().map(|(index, (name, value))| {
        let is_fixed =
            (name == "loss_good" && *value <= 0.0) || (name == "loss_bad" && *value >= 1.0);
        let interval = covariance
            .as_ref()
            .filter(|_| !is_fixed)
            .and_then(|covariance| {
                let slope = gradient(index, name);
                let rows = slope.iter().zip(covariance);
                let variance: f64 = rows
                    .map(|(a, row)| a * row.iter().zip(&slope).map(|(c, b)| c * b).sum::<f64>())
                    .sum();
                let half = z * libm::sqrt(variance);
                let ends = [-half, half].map(|by| scale(name, *value) + by).map(|x| {
                    if is_share(name) {
                        1.0 / (1.0 + libm::exp(-x))
                    } else {
                        libm::exp(x)
                    }
                });
                half.is_finite().then_some((ends[0], ends[1]))
            });
        Parameter {
            name: name.clone(),
            value: *value,
            interval,
        }
    });
    Fitted {
        model,
        parameters: parameters.collect(),
        channel,
        held_out: None,
        behind: (0.0, 0.0),
        tested: None,
    }
}
