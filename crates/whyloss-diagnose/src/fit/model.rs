//! Models of a channel, each with its likelihood.
//!
//! ```text
//! renewal    bursts of hazards h₁ … h_m, then h forever; good runs geometric, or a mixture of two
//!            (`BurstRenewal`); Bernoulli: h = 1 − start; Gilbert: m = 0
//! hidden     Gilbert–Elliott: product of transition and outcome matrices, run by run (by packet)
//!            or step by step (by time)
//! ```
//!
//! Parameters are logits of probabilities and logarithms of times, so that every real is allowed.
//! Each probability has half an observation of either outcome in addition to the data (Jeffreys,
//! 1946), which keeps estimates off 0 and 1.

use whyloss::Duration;
use whyloss_link::ChannelSpec;
use whyloss_link::channel::{BurstRenewal, GilbertElliott, TimedGilbertElliott};

use super::runs::{Stretch, Summary};

/// The maximum number of burst lengths that a channel lists.
const MOST_LENGTHS: usize = 64;
/// The share of longer bursts below which the list ends.
const TAIL: f64 = 1e-3;

/// A family of channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Losses are independent.
    Bernoulli,
    /// A two-state chain, stepped per packet, that loses every packet in the bad state.
    Gilbert,
    /// A two-state process in continuous time that loses every packet in the bad state.
    TimedGilbert,
    /// Bursts between good runs. The first `explicit` lengths of a burst have separate
    /// probabilities; a geometric tail follows.
    Renewal {
        /// The number of burst lengths with a separate probability.
        explicit: u8,
        /// Whether good runs follow a mixture of two geometric distributions instead of one.
        tail: bool,
    },
    /// A two-state chain, stepped per packet, that loses a share of packets in the bad state.
    GilbertElliott,
    /// A two-state process in continuous time that loses a share of packets in the bad state.
    TimedGilbertElliott,
    /// A two-state chain, stepped per packet, that loses a share of packets in either state.
    FullGilbertElliott,
}

/// The models in the order of preference, the simplest first.
pub const MODELS: [Model; 12] = [
    Model::Bernoulli,
    Model::Gilbert,
    Model::TimedGilbert,
    Model::Renewal {
        explicit: 1,
        tail: false,
    },
    Model::GilbertElliott,
    Model::Renewal {
        explicit: 0,
        tail: true,
    },
    Model::TimedGilbertElliott,
    Model::Renewal {
        explicit: 2,
        tail: false,
    },
    Model::Renewal {
        explicit: 1,
        tail: true,
    },
    Model::FullGilbertElliott,
    Model::Renewal {
        explicit: 3,
        tail: false,
    },
    Model::Renewal {
        explicit: 2,
        tail: true,
    },
];

/// The data on which a likelihood depends.
#[derive(Clone, Debug, Default)]
pub(super) struct Data {
    pub(super) summary: Summary,
    /// The stretches for models with hidden states: a part of a long recording.
    pub(super) stretches: Vec<Stretch>,
}

/// A parameter of a fitted channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The name in a scenario, with an index if the parameter is an element of a list.
    pub name: String,
    /// The value; times are in seconds.
    pub value: f64,
    /// The ends of the 95 % interval; `None` if there is none.
    pub interval: Option<(f64, f64)>,
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

pub(super) fn logit(p: f64) -> f64 {
    let p = p.clamp(1e-9, 1.0 - 1e-9);
    libm::log(p / (1.0 - p))
}

impl Model {
    /// Returns the model's name as reports show it.
    pub fn name(self) -> String {
        match self {
            Self::Bernoulli => "bernoulli".into(),
            Self::Gilbert => "gilbert-elliott (loss, stay)".into(),
            Self::TimedGilbert => "timed-gilbert-elliott (all lost while bad)".into(),
            Self::Renewal { explicit, tail } => {
                let tail = if tail { ", good runs with a tail" } else { "" };
                let plural = if explicit == 1 { "" } else { "s" };
                format!("burst-renewal ({explicit} free length{plural}{tail})")
            }
            Self::GilbertElliott => "gilbert-elliott (loss while bad)".into(),
            Self::TimedGilbertElliott => "timed-gilbert-elliott (loss while bad)".into(),
            Self::FullGilbertElliott => "gilbert-elliott (loss in either state)".into(),
        }
    }

    /// Returns the number of free parameters.
    pub fn parameters(self) -> usize {
        match self {
            Self::Bernoulli => 1,
            Self::Gilbert | Self::TimedGilbert => 2,
            Self::Renewal { explicit, tail } => 2 + usize::from(explicit) + usize::from(tail),
            Self::GilbertElliott | Self::TimedGilbertElliott => 3,
            Self::FullGilbertElliott => 4,
        }
    }

    pub(super) fn is_timed(self) -> bool {
        matches!(self, Self::TimedGilbert | Self::TimedGilbertElliott)
    }

    /// Returns the parameters from which to start a search.
    pub(super) fn starts(self, data: &Data) -> Vec<Vec<f64>> {
        let summary = &data.summary;
        let ((good, _), (lost, bursts)) = (summary.totals(0), summary.totals(1));
        let bursts = bursts.max(0.5);
        let start = (bursts / good.max(1.0)).min(0.9);
        let end = (bursts / lost.max(1.0)).clamp(0.02, 0.98);
        let loss = (lost / (good + lost)).clamp(1e-6, 0.99);
        let step = {
            let steps = data.stretches.iter().flat_map(|stretch| &stretch.steps);
            let (sum, n) = steps.fold((0.0, 0.0), |(sum, n), (step, _)| (sum + step, n + 1.0));
            (sum / f64::max(n, 1.0)).max(1e-9)
        };
        match self {
            Self::Bernoulli => vec![vec![logit(loss)]],
            Self::Gilbert => vec![vec![logit(start), logit(end)]],
            Self::Renewal { explicit, tail } => {
                let mut at = vec![logit(start), logit(end)];
                at.extend((0..explicit).map(|_| logit(end)));
                at.extend(tail.then_some(-1.0));
                vec![at]
            }
            Self::TimedGilbert => vec![vec![
                libm::log(step / start.min(0.5)),
                libm::log(step / end.min(0.8)),
            ]],
            Self::GilbertElliott => [(0.5, 0.3), (0.2, 0.05)]
                .map(|(share, leave)| {
                    let bad = (loss / share).min(0.5);
                    vec![logit(leave * bad / (1.0 - bad)), logit(leave), logit(share)]
                })
                .to_vec(),
            Self::FullGilbertElliott => vec![vec![logit(0.01), logit(0.1), logit(0.4), -3.0]],
            Self::TimedGilbertElliott => [(0.5, 4.0), (0.5, 30.0)]
                .map(|(share, packets)| {
                    let bad = (loss / share).min(0.5);
                    let mean_bad = packets * step;
                    let mean_good = mean_bad * (1.0 - bad) / bad;
                    vec![libm::log(mean_good), libm::log(mean_bad), logit(share)]
                })
                .to_vec(),
        }
    }

    /// Returns the negative log-likelihood of the data.
    pub(super) fn cost(self, at: &[f64], data: &Data) -> f64 {
        match self {
            Self::Bernoulli | Self::Gilbert | Self::Renewal { .. } => {
                Law::of(self, at).cost(&data.summary)
            }
            Self::GilbertElliott | Self::FullGilbertElliott => {
                by_packet(&chain(at), &data.stretches)
            }
            Self::TimedGilbert | Self::TimedGilbertElliott => {
                let (good, bad, loss) = process(at);
                let cost = |stretch| by_time(good, bad, loss, stretch);
                data.stretches.iter().map(cost).sum()
            }
        }
    }

    /// Returns the negative logarithm of the prior: half an observation of either outcome of each
    /// probability.
    pub(super) fn prior(self, at: &[f64]) -> f64 {
        let times = if self.is_timed() { 2 } else { 0 };
        // Returns −½·ln(p·(1 − p)) of p = 1/(1 + e⁻ˣ).
        let half = |x: &f64| {
            let x = x.clamp(-27.0, 27.0);
            0.5 * x + libm::log(1.0 + libm::exp(-x))
        };
        at.iter().skip(times).map(half).sum()
    }

    /// Returns the channel with these parameters.
    pub(super) fn channel(self, at: &[f64]) -> ChannelSpec {
        match self {
            Self::Bernoulli => ChannelSpec::Bernoulli {
                loss: logistic(at[0]),
            },
            Self::Gilbert => {
                let (enter, leave) = (logistic(at[0]), logistic(at[1]));
                ChannelSpec::GilbertElliott(GilbertElliott {
                    p_good_to_bad: enter,
                    p_bad_to_good: leave,
                    loss_good: 0.0,
                    loss_bad: 1.0,
                })
            }
            Self::Renewal { .. } => ChannelSpec::BurstRenewal(Law::of(self, at).channel()),
            Self::GilbertElliott | Self::FullGilbertElliott => {
                ChannelSpec::GilbertElliott(chain(at))
            }
            Self::TimedGilbert | Self::TimedGilbertElliott => {
                let (good, bad, loss_bad) = process(at);
                ChannelSpec::TimedGilbertElliott(TimedGilbertElliott {
                    mean_good: Duration::from_secs_f64(good.max(1e-9)),
                    mean_bad: Duration::from_secs_f64(bad.max(1e-9)),
                    loss_good: 0.0,
                    loss_bad,
                })
            }
        }
    }
}

/// Returns the names and values of a channel's parameters as in a scenario; times are in seconds.
pub(super) fn told(channel: &ChannelSpec) -> Vec<(String, f64)> {
    let named = |list: &[(&str, f64)]| {
        let owned = list
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value));
        owned.collect::<Vec<_>>()
    };
    match channel {
        ChannelSpec::Bernoulli { loss } => named(&[("loss", *loss)]),
        ChannelSpec::GilbertElliott(chain) if chain.loss_good <= 0.0 && chain.loss_bad >= 1.0 => {
            named(&[
                ("loss", chain.loss_rate()),
                ("stay", 1.0 - chain.p_bad_to_good),
            ])
        }
        ChannelSpec::GilbertElliott(chain) => named(&[
            ("p_good_to_bad", chain.p_good_to_bad),
            ("p_bad_to_good", chain.p_bad_to_good),
            ("loss_good", chain.loss_good),
            ("loss_bad", chain.loss_bad),
        ]),
        ChannelSpec::TimedGilbertElliott(process) => named(&[
            ("mean_good", process.mean_good.as_secs_f64()),
            ("mean_bad", process.mean_bad.as_secs_f64()),
            ("loss_bad", process.loss_bad),
        ]),
        ChannelSpec::BurstRenewal(bursts) => {
            let mut list = named(&[("loss", bursts.loss)]);
            let lengths = bursts.lengths.iter().zip(1..);
            list.extend(lengths.map(|(&p, k)| (format!("lengths[{k}]"), p)));
            list.extend(bursts.good_run_cv.map(|cv| ("good_run_cv".to_owned(), cv)));
            list
        }
        _ => Vec::new(),
    }
}

fn chain(at: &[f64]) -> GilbertElliott {
    let loss_bad = logistic(at[2]);
    GilbertElliott {
        p_good_to_bad: logistic(at[0]),
        p_bad_to_good: logistic(at[1]),
        // A share of the loss in the bad state, so that the bad state loses more.
        loss_good: at.get(3).map_or(0.0, |x| loss_bad * logistic(*x)),
        loss_bad,
    }
}

/// Returns the mean times in the good and the bad state, in s, and the loss in the bad state.
fn process(at: &[f64]) -> (f64, f64, f64) {
    let loss = at.get(2).map_or(1.0, |x| logistic(*x));
    (libm::exp(at[0]), libm::exp(at[1]), loss)
}

/// The distributions of bursts and of good runs.
struct Law {
    /// The hazards of bursts and their number; the last one holds for all longer bursts.
    hazards: ([f64; 4], usize),
    /// The weights and start probabilities of the two kinds of good runs.
    mixture: [(f64, f64); 2],
    cv: Option<f64>,
}

impl Law {
    fn of(model: Model, at: &[f64]) -> Self {
        let start = logistic(at[0]);
        let plain = [(0.5, start); 2];
        let only = |hazard| ([hazard; 4], 1);
        match model {
            Model::Bernoulli => Self {
                hazards: only(1.0 - start),
                mixture: plain,
                cv: None,
            },
            Model::Renewal { explicit, tail } => {
                let end = 2 + usize::from(explicit);
                // The last hazard, which fills the array, comes first in `at`.
                let mut hazards = only(logistic(at[1]));
                for (hazard, x) in hazards.0.iter_mut().zip(&at[2..end]) {
                    *hazard = logistic(*x);
                }
                hazards.1 = end - 1;
                if !tail {
                    return Self {
                        hazards,
                        mixture: plain,
                        cv: None,
                    };
                }
                let mean = 1.0 / start;
                let most = (mean - 1.0).clamp(0.0, 1.0);
                let spread = logistic(at[end]).min(most * 0.999_999);
                let weight = f64::midpoint(1.0, spread);
                let cv = libm::sqrt(2.0 / (1.0 - spread * spread) - 1.0 - start);
                Self {
                    hazards,
                    mixture: [
                        (weight, 2.0 * weight * start),
                        (1.0 - weight, 2.0 * (1.0 - weight) * start),
                    ],
                    cv: Some(cv),
                }
            }
            _ => Self {
                hazards: only(logistic(at[1])),
                mixture: plain,
                cv: None,
            },
        }
    }

    fn hazard(&self, length: u32) -> f64 {
        self.hazards.0[(length as usize).min(self.hazards.1) - 1]
    }

    /// Returns P(L ≥ length).
    fn survives(&self, length: u32) -> f64 {
        let last = self.hazards.1 as u32;
        let explicit = (1..length.min(last)).map(|k| 1.0 - self.hazard(k));
        let beyond = length.saturating_sub(last);
        explicit.product::<f64>() * libm::pow(1.0 - self.hazard(last), f64::from(beyond))
    }

    /// Returns Σ P(L ≥ k) over k ≥ `length`.
    fn rest(&self, length: u32) -> f64 {
        let last = self.hazards.1 as u32;
        let explicit = (length..last).map(|k| self.survives(k));
        explicit.sum::<f64>() + self.survives(length.max(last)) / self.hazard(last)
    }

    fn loss(&self) -> f64 {
        let (bursts, good) = (self.rest(1), self.mean_good());
        bursts / (bursts + good)
    }

    fn mean_good(&self) -> f64 {
        self.mixture
            .iter()
            .map(|(weight, start)| weight / start)
            .sum()
    }

    fn cost(&self, summary: &Summary) -> f64 {
        self.cost_of_bursts(summary) + self.cost_of_good(summary)
    }

    /// Returns the cost of the good runs, with P = (1 − slow)ᵏ⁻¹·(others + begins·((1 − fast)/(1 −
    /// slow))ᵏ⁻¹). If both distributions are equal, one of them suffices.
    fn cost_of_good(&self, summary: &Summary) -> f64 {
        let [fast, slow] = self.mixture.map(|(_, start)| start);
        let is_one = fast.to_bits() == slow.to_bits();
        let log = |start: f64| libm::log((1.0 - start).max(1e-12));
        let (stays, ratio) = (log(slow), log(fast) - log(slow));
        let fresh = self.mixture.map(|(weight, _)| weight);
        // Half of the good packets are in runs of either distribution.
        let aged = [0.5; 2].map(|half| half * (1.0 - self.loss()));
        let sums = [
            (&summary.whole[0], fresh, true),
            (&summary.cut[0], fresh, false),
            (&summary.begun[0], aged, true),
            (&summary.both[0], aged, false),
        ];
        // The logarithm of a product replaces many logarithms.
        let (mut cost, mut product) = (0.0, 1.0);
        for (counts, weights, ends) in sums {
            let [begins, others] = if ends {
                [weights[0] * fast, weights[1] * slow]
            } else {
                weights
            };
            let (mut runs, mut beyond) = (0.0, 0.0);
            for &(length, count) in counts {
                let (more, count) = (f64::from(length) - 1.0, count as f64);
                runs += count;
                beyond += count * more;
                let power = more * ratio;
                let factor = match power {
                    _ if is_one => continue,
                    ..-60.0 => others,
                    _ => others + begins * libm::exp(power),
                };
                if count > 1.0 {
                    cost -= count * libm::log(factor.max(1e-100));
                } else {
                    product *= factor.max(1e-100);
                }
                if product < 1e-100 {
                    cost -= libm::log(product);
                    product = 1.0;
                }
            }
            cost -= beyond * stays;
            if is_one && runs > 0.0 {
                cost -= runs * libm::log(begins + others);
            }
        }
        cost - libm::log(product)
    }

    /// Returns the cost of the bursts. Probabilities are products of hazards, and their logarithms
    /// sums.
    fn cost_of_bursts(&self, summary: &Summary) -> f64 {
        let (hazards, last) = (&self.hazards.0, self.hazards.1);
        let ends = hazards.map(libm::log);
        let goes_on = hazards.map(|hazard| libm::log((1.0 - hazard).max(1e-12)));
        let place = |length: u32| (length as usize).min(last);
        let survives = |length: u32| {
            let explicit: f64 = goes_on[..place(length) - 1].iter().sum();
            explicit + (length as usize - place(length)) as f64 * goes_on[last - 1]
        };
        let met = libm::log(self.loss() / self.rest(1));
        let sums: [(&super::runs::Counts, &dyn Fn(u32) -> f64); 4] = [
            (&summary.whole[1], &|k| survives(k) + ends[place(k) - 1]),
            (&summary.cut[1], &survives),
            (&summary.begun[1], &|k| met + survives(k)),
            (&summary.both[1], &|k| met + libm::log(self.rest(k))),
        ];
        let mut cost = 0.0;
        for (counts, probability) in sums {
            for &(length, count) in counts {
                cost -= count as f64 * probability(length);
            }
        }
        cost
    }

    fn channel(&self) -> BurstRenewal {
        let mut lengths = Vec::new();
        let mut left = 1.0;
        while lengths.len() + 1 < MOST_LENGTHS && (lengths.len() < self.hazards.1 || left > TAIL) {
            let p = left * self.hazard(lengths.len() as u32 + 1);
            lengths.push(p);
            left -= p;
        }
        if left > TAIL {
            lengths.push(left);
        } else if let Some(last) = lengths.last_mut() {
            *last += left;
        }
        BurstRenewal {
            loss: self.loss(),
            lengths,
            good_run_cv: self.cv,
        }
    }
}

/// The powers of a step's matrix M, from its eigenvalues a > |b|: Mᵏ = aᵏ·(P + (b/a)ᵏ·(I − P)) with
/// P = (M − b·I)/(a − b).
struct Powers {
    first: f64,
    ratio: f64,
    is_negative: bool,
    project: [f64; 4],
}

impl Powers {
    fn of(step: [f64; 4], determinant: f64) -> Self {
        let [good, enter, leave, bad] = step;
        let apart = libm::sqrt((good - bad) * (good - bad) + 4.0 * enter * leave).max(1e-9);
        let first = f64::midpoint(good + bad, apart).max(1e-300);
        let second = determinant / first;
        Self {
            first: libm::log(first),
            ratio: libm::log((second / first).abs()),
            is_negative: second < 0.0,
            project: [good - second, enter, leave, bad - second].map(|x| x / apart),
        }
    }

    /// Applies Mᵏ/aᵏ, with k = `length`, to a row.
    fn apply(&self, row: [f64; 2], length: u32) -> [f64; 2] {
        let [good, enter, leave, bad] = self.project;
        let lasting = [
            row[0] * good + row[1] * leave,
            row[0] * enter + row[1] * bad,
        ];
        let power = f64::from(length) * self.ratio;
        if power < -50.0 {
            return lasting;
        }
        let power = libm::exp(power);
        let sign = self.is_negative && length % 2 == 1;
        let power = if sign { -power } else { power };
        [0, 1].map(|at| lasting[at] + power * (row[at] - lasting[at]))
    }
}

/// Returns the cost of stretches of packets for a chain that steps with each packet.
fn by_packet(chain: &GilbertElliott, stretches: &[Stretch]) -> f64 {
    let (enter, leave) = (chain.p_good_to_bad, chain.p_bad_to_good);
    let powers = |good: f64, bad: f64| {
        let step = [
            (1.0 - enter) * good,
            enter * bad,
            leave * good,
            (1.0 - leave) * bad,
        ];
        Powers::of(step, (1.0 - enter - leave) * good * bad)
    };
    let powers = [
        powers(1.0 - chain.loss_good, 1.0 - chain.loss_bad),
        powers(chain.loss_good, chain.loss_bad),
    ];
    let bad = enter / (enter + leave);
    // The probability of all stretches so far, without the factors that are already in the cost.
    let (mut cost, mut sum) = (0.0, 1.0);
    for stretch in stretches {
        let mut row = [sum * (1.0 - bad), sum * bad];
        for (at, &run) in stretch.runs.iter().enumerate() {
            if run > 0 {
                let powers = &powers[at % 2];
                row = powers.apply(row, run);
                cost += rescale(&mut row) - f64::from(run) * powers.first;
            }
        }
        sum = row[0] + row[1];
    }
    cost - libm::log(sum.max(1e-300))
}

/// Keeps a row of probabilities from underflowing. Returns the cost of the removed factor.
fn rescale(row: &mut [f64; 2]) -> f64 {
    let sum = row[0] + row[1];
    if sum >= 1e-100 {
        return 0.0;
    }
    let sum = sum.max(1e-300);
    *row = row.map(|share| share * (1.0 / sum));
    -libm::log(sum)
}

fn by_time(mean_good: f64, mean_bad: f64, loss_bad: f64, stretch: &Stretch) -> f64 {
    let bad = mean_bad / (mean_good + mean_bad);
    let speed = 1.0 / mean_good + 1.0 / mean_bad;
    let mut row = [1.0 - bad, bad];
    let (mut cost, mut last, mut kept) = (0.0, f64::NAN, 1.0);
    for &(step, lost) in &stretch.steps {
        // Most recordings have few different steps in a row, so the last one is kept.
        if step.to_bits() != last.to_bits() {
            (last, kept) = (step, libm::exp(-step * speed));
        }
        let sum = row[0] + row[1];
        let now_bad = bad * sum + (row[1] - bad * sum) * kept;
        let now_good = sum - now_bad;
        row = if lost {
            [0.0, now_bad * loss_bad]
        } else {
            [now_good, now_bad * (1.0 - loss_bad)]
        };
        cost += rescale(&mut row);
    }
    cost - libm::log((row[0] + row[1]).max(1e-300))
}

#[cfg(test)]
mod tests {
    use whyloss_sim::recording::Trial;

    use super::*;

    fn data(digits: &str, gap: i64) -> Data {
        let trial = Trial {
            lost: digits.bytes().map(|digit| digit == b'1').collect(),
            times: (0..digits.len() as i64).map(|i| i * gap).collect(),
        };
        let stretch = Stretch::of(&trial, 0..digits.len());
        Data {
            summary: Summary::of([&stretch]),
            stretches: vec![stretch],
        }
    }

    const DIGITS: &str = "0010000110000000000000100111000000";

    /// For some parameters, every model equals Bernoulli or Gilbert, and the likelihoods are equal.
    #[test]
    fn models_within_models_agree() {
        let data = data(DIGITS, 1_000_000_000);
        let bernoulli = Model::Bernoulli.cost(&[logit(0.2)], &data);
        let lost = DIGITS.bytes().filter(|&digit| digit == b'1').count() as f64;
        let by_hand = -lost * libm::log(0.2) - (DIGITS.len() as f64 - lost) * libm::log(0.8);
        assert!((bernoulli - by_hand).abs() < 1e-9);
        let gilbert = Model::Gilbert.cost(&[logit(0.2), logit(0.8)], &data);
        assert!((gilbert - by_hand).abs() < 1e-9);

        let at = [logit(0.1), logit(0.6)];
        let gilbert = Model::Gilbert.cost(&at, &data);
        let explicit = |n: u8| Model::Renewal {
            explicit: n,
            tail: false,
        };
        let two = [at[0], at[1], at[1], at[1]];
        assert!((explicit(2).cost(&two, &data) - gilbert).abs() < 1e-9);
        let tail = Model::Renewal {
            explicit: 0,
            tail: true,
        };
        assert!((tail.cost(&[at[0], at[1], -30.0], &data) - gilbert).abs() < 1e-6);
        let hidden = Model::GilbertElliott.cost(&[at[0], at[1], 30.0], &data);
        assert!((hidden - gilbert).abs() < 1e-6, "{hidden} {gilbert}");
        // One packet each second: 1 − enter − leave = e^(−1/good − 1/bad).
        let speed = -libm::log(1.0 - 0.1 - 0.6);
        let (good, bad) = (0.7 / 0.1 / speed, 0.7 / 0.6 / speed);
        let timed = Model::TimedGilbert.cost(&[libm::log(good), libm::log(bad)], &data);
        assert!((timed - gilbert).abs() < 1e-6, "{timed} {gilbert}");
    }

    #[test]
    fn channels_have_the_parameters() {
        let law = Model::Renewal {
            explicit: 1,
            tail: true,
        };
        let ChannelSpec::BurstRenewal(spec) =
            law.channel(&[logit(0.05), logit(0.99), logit(0.7), 0.0])
        else {
            panic!("bursts");
        };
        assert_eq!(ChannelSpec::BurstRenewal(spec.clone()).check(), Ok(()));
        assert!((spec.lengths[0] - 0.7).abs() < 1e-9);
        assert!((spec.mean_good_run() - 20.0).abs() < 0.05);
    }
}
