//! Models of a channel, each with its likelihood.
//!
//! ```text
//! renewal    bursts of hazards h₁ … h_m, then h for ever; good runs geometric, or a mixture of two (`BurstRenewal`)
//!            Bernoulli: h = 1 − start; Gilbert: m = 0
//! hidden     Gilbert–Elliott: product of transition and outcome matrices, run by run (by packet) or step by step (by time)
//! ```
//!
//! Parameters are logits of probabilities and logarithms of times, so that every real is allowed.
//! Each probability has half an observation of either outcome in addition to the data (Jeffreys,
//! 1946), which keeps estimates off 0 and 1.

use whyloss::Duration;
use whyloss_link::ChannelSpec;
use whyloss_link::channel::{BurstRenewal, GilbertElliott, TimedGilbertElliott};

use super::runs::{Stretch, Summary};

/// Maximum number of burst lengths that a channel lists.
const MOST_LENGTHS: usize = 64;
/// The share of longer bursts below which no further length is listed.
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
    /// Bursts whose first `explicit` lengths have probabilities of their own, then a geometric
    /// tail, between good runs.
    Renewal {
        /// The number of burst lengths with a probability of their own.
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

/// The models, simplest first, which is the order of preference.
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
    /// Returns the name in reports.
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

    pub(super) fn is_hidden(self) -> bool {
        !matches!(self, Self::Bernoulli | Self::Gilbert | Self::Renewal { .. })
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

    /// Returns the prior: half an observation of either outcome of each probability.
    pub(super) fn prior(self, at: &[f64]) -> f64 {
        let times = if self.is_timed() { 2 } else { 0 };
        let half = |x: &f64| {
            let p = logistic(*x).clamp(1e-12, 1.0 - 1e-12);
            -0.5 * (libm::log(p) + libm::log(1.0 - p))
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
        // A share of what the bad state loses, so that the bad state is the bad one.
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
    /// The hazards of bursts; the last one holds for all longer ones.
    hazards: Vec<f64>,
    /// The weights and start probabilities of the two kinds of good runs.
    mixture: [(f64, f64); 2],
    cv: Option<f64>,
}

impl Law {
    fn of(model: Model, at: &[f64]) -> Self {
        let start = logistic(at[0]);
        let plain = [(0.5, start); 2];
        match model {
            Model::Bernoulli => Self {
                hazards: vec![1.0 - start],
                mixture: plain,
                cv: None,
            },
            Model::Renewal { explicit, tail } => {
                let end = 2 + usize::from(explicit);
                // The last hazard stands first.
                let hazards = at[2..end].iter().chain([&at[1]]).map(|x| logistic(*x));
                let hazards = hazards.collect();
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
                hazards: vec![logistic(at[1])],
                mixture: plain,
                cv: None,
            },
        }
    }

    fn hazard(&self, length: u32) -> f64 {
        let last = self.hazards.len() - 1;
        self.hazards[(length as usize - 1).min(last)]
    }

    /// Returns P(L ≥ length).
    fn survives(&self, length: u32) -> f64 {
        let last = self.hazards.len() as u32;
        let explicit = (1..length.min(last)).map(|k| 1.0 - self.hazard(k));
        let beyond = length.saturating_sub(last);
        explicit.product::<f64>() * libm::pow(1.0 - self.hazard(last), f64::from(beyond))
    }

    /// Returns Σ P(L ≥ k) over k ≥ `length`.
    fn rest(&self, length: u32) -> f64 {
        let last = self.hazards.len() as u32;
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
        let loss = self.loss();
        let mean_burst = self.rest(1);
        let [first, second] = self.mixture.map(|(_, start)| start);
        let one = first.to_bits() == second.to_bits();
        // Half of the good packets lie in runs of either law. Where both are one, one power does.
        let good = |length: u32, weights: [f64; 2], ends: bool| {
            let clear = |start: f64| libm::pow(1.0 - start, f64::from(length) - 1.0);
            let before = clear(first);
            let after = if one { before } else { clear(second) };
            let [begins, others] = if ends { [first, second] } else { [1.0; 2] };
            weights[0] * before * begins + weights[1] * after * others
        };
        let fresh = self.mixture.map(|(weight, _)| weight);
        let aged = [0.5; 2];
        let sums: [(&super::runs::Counts, &dyn Fn(u32) -> f64); 8] = [
            (&summary.whole[0], &|k| good(k, fresh, true)),
            (&summary.cut[0], &|k| good(k, fresh, false)),
            (&summary.begun[0], &|k| (1.0 - loss) * good(k, aged, true)),
            (&summary.both[0], &|k| (1.0 - loss) * good(k, aged, false)),
            (&summary.whole[1], &|k| self.survives(k) * self.hazard(k)),
            (&summary.cut[1], &|k| self.survives(k)),
            (&summary.begun[1], &|k| loss * self.survives(k) / mean_burst),
            (&summary.both[1], &|k| loss * self.rest(k) / mean_burst),
        ];
        let mut cost = 0.0;
        for (counts, probability) in sums {
            for (&length, &count) in counts {
                cost -= count as f64 * libm::log(probability(length).max(1e-300));
            }
        }
        cost
    }

    fn channel(&self) -> BurstRenewal {
        let mut lengths = Vec::new();
        let mut left = 1.0;
        while lengths.len() + 1 < MOST_LENGTHS
            && (lengths.len() < self.hazards.len() || left > TAIL)
        {
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

type Matrix = [f64; 4];

fn product(a: Matrix, b: Matrix) -> Matrix {
    [
        a[0] * b[0] + a[1] * b[2],
        a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3],
    ]
}

/// The powers of a step's matrix, for runs of packets.
struct Powers {
    short: Vec<Matrix>,
    squares: Vec<Matrix>,
}

impl Powers {
    fn of(step: Matrix) -> Self {
        let mut short = vec![[1.0, 0.0, 0.0, 1.0]];
        for length in 1..64 {
            short.push(product(short[length - 1], step));
        }
        // Powers of 2⁶, 2⁷, …
        let mut squares = vec![product(short[63], step)];
        for bit in 0..25 {
            squares.push(product(squares[bit], squares[bit]));
        }
        Self { short, squares }
    }

    fn apply(&self, mut row: [f64; 2], length: u32) -> [f64; 2] {
        let times = |row: [f64; 2], m: &Matrix| {
            [row[0] * m[0] + row[1] * m[2], row[0] * m[1] + row[1] * m[3]]
        };
        let mut high = length >> 6;
        let mut bit = 0;
        while high > 0 {
            if high & 1 == 1 {
                row = times(row, &self.squares[bit]);
            }
            high >>= 1;
            bit += 1;
        }
        times(row, &self.short[(length & 63) as usize])
    }
}

/// Returns the cost of stretches of packets for a chain with a step per packet.
fn by_packet(chain: &GilbertElliott, stretches: &[Stretch]) -> f64 {
    let (enter, leave) = (chain.p_good_to_bad, chain.p_bad_to_good);
    let step = |good: f64, bad: f64| {
        [
            (1.0 - enter) * good,
            enter * bad,
            leave * good,
            (1.0 - leave) * bad,
        ]
    };
    let powers = [
        Powers::of(step(1.0 - chain.loss_good, 1.0 - chain.loss_bad)),
        Powers::of(step(chain.loss_good, chain.loss_bad)),
    ];
    let bad = enter / (enter + leave);
    let cost = |stretch: &Stretch| {
        let mut row = [1.0 - bad, bad];
        let mut cost = 0.0;
        for (at, &run) in stretch.runs.iter().enumerate() {
            row = powers[at % 2].apply(row, run);
            cost += rescale(&mut row);
        }
        cost - libm::log((row[0] + row[1]).max(1e-300))
    };
    stretches.iter().map(cost).sum()
}

/// Keeps a row of probabilities from underflowing. Returns the cost of the factor that it removes.
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
        // Most recordings have few different steps in a row.
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

    /// For some parameters every law equals Bernoulli's or Gilbert's: the likelihoods are then
    /// equal.
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
