//! Fits a distribution of jitter to delays.
//!
//! ```text
//! delay           d = base + J, J drawn for each packet (`whyloss_link::jitter`)
//! exponential     J ≥ 0, mean m                      m = mean of d − min d
//! uniform         0 ≤ J ≤ 2m                         m = (max d − min d)/2
//! Pareto          J ≥ x = m·(a − 1)/a, shape a       y = d − min d has density a/x·(1 + y/x)^−(a + 1)
//! ```
//!
//! Estimates have maximum likelihood; each distribution begins at the shortest delay. Ten blocks
//! are held out in turn. A distribution stands if its log-likelihood is within two standard errors
//! of the best. A test compares the Kolmogorov–Smirnov distance with that of simulated recordings,
//! each fitted anew. The choice is the simplest distribution that stands and that the test does not
//! reject, or else the simplest that stands.
//!
//! If packets keep their order, the delay of a packet that waits for another does not show its own
//! jitter. A delay therefore counts only if the packet, at the shortest possible delay, still
//! arrives after all packets sent before it.

use whyloss::Duration;
use whyloss_link::{JitterLaw, JitterSpec, Random, Streams};

use super::arq::FINEST;
use super::{PARTS, REJECTED, STANDARD_ERRORS, mean_of, search};

/// The minimum number of delays that can be fitted.
pub const FEWEST: usize = 100;
/// The maximum number of delays that a fit uses.
pub const MOST: usize = 65_536;
/// The number of simulated recordings of the test.
pub const REPLICAS: u64 = 199;
/// The maximum number of delays of each simulated recording.
const TESTED: usize = 4_096;
/// The log-density of a delay that a distribution excludes.
pub(super) const EXCLUDED: f64 = -50.0;
/// The smallest and largest shape that a scenario accepts.
const SHAPES: [f64; 2] = [1.001, 100.0];

/// The delays of packets, in the order of sending.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delays {
    /// When each packet was sent, in s; empty if the recording does not say.
    pub sent: Vec<f64>,
    /// The delay of each packet, in s; infinite for a packet that the channel lost.
    pub delay: Vec<f64>,
    /// Whether to leave each packet out, because it waited in a queue or has an unusual size; empty
    /// if none is left out.
    pub aside: Vec<bool>,
}

impl Delays {
    fn is_aside(&self, index: usize) -> bool {
        self.aside.get(index).is_some_and(|aside| *aside)
    }

    /// Returns the packets that were delivered.
    pub(super) fn delivered(&self) -> Self {
        let kept = || (0..self.delay.len()).filter(|index| self.delay[*index].is_finite());
        let of = |values: &[f64]| {
            kept()
                .filter_map(|index| values.get(index).copied())
                .collect()
        };
        Self {
            sent: of(&self.sent),
            delay: of(&self.delay),
            aside: kept().map(|index| self.is_aside(index)).collect(),
        }
    }

    fn counted(&self) -> impl Iterator<Item = usize> {
        (0..self.delay.len()).filter(|&index| !self.is_aside(index))
    }

    /// Returns the indices of the packets that waited for no other, and whether packets overtake
    /// each other. `transmission` is the time that the link takes to send a packet, in s.
    ///
    /// A lost packet may have kept the link busy for as long as the longest delay.
    pub(super) fn at_rest(&self, transmission: f64) -> (Vec<usize>, bool) {
        let is_timed = self.sent.len() == self.delay.len();
        let told = self.counted().map(|index| self.delay[index]);
        let least = told.fold(f64::INFINITY, f64::min);
        let finite = self.delay.iter().copied().filter(|delay| delay.is_finite());
        let longest = finite.fold(least, f64::max);
        let (mut last, mut busy, mut overtakes) = (f64::NEG_INFINITY, f64::NEG_INFINITY, false);
        let mut free = Vec::new();
        for (index, delay) in self.delay.iter().enumerate() {
            let sent = self.sent.get(index).copied().unwrap_or(0.0);
            free.push(!is_timed || sent + least - transmission >= f64::max(last, busy));
            if delay.is_infinite() {
                busy = f64::max(busy, sent + longest);
                continue;
            }
            // A difference below a nanosecond is rounding.
            overtakes |= is_timed && sent + delay < last - 1e-9;
            last = last.max(sent + delay);
        }
        (
            self.counted().filter(|&index| free[index]).collect(),
            overtakes,
        )
    }
}

/// A distribution of jitter, fitted to recorded delays.
#[derive(Clone, Debug, PartialEq)]
pub struct JitterFit {
    /// The part of the delay that all packets share, in s.
    pub base: f64,
    /// The chosen distribution.
    pub spec: JitterSpec,
    /// The mean of the jitter in s, and its 95 % interval.
    pub mean: (f64, [f64; 2]),
    /// The shape of a Pareto distribution and its 95 % interval; `None` for the others.
    pub shape: Option<(f64, [f64; 2])>,
    /// The held-out log-likelihood per delay by which each distribution is below the best one:
    /// exponential, uniform, Pareto.
    pub behind: [f64; 3],
    /// The probability that a recording of the chosen distribution differs from it at least as much
    /// as this one does. The test rejects below 0.01.
    pub p: f64,
    /// The correlation of successive delays; 0 for independent draws.
    pub correlation: f64,
    /// The number of recorded delays, and of those whose packets waited for no other packet.
    pub delays: [usize; 2],
}

/// One distribution, by its index in [`JitterFit::behind`], with y = d − min d.
#[derive(Clone, Copy, Debug)]
struct Law {
    kind: usize,
    /// The mean of y; for the Pareto distribution, the smallest J.
    scale: f64,
    shape: f64,
}

impl Law {
    fn estimate(kind: usize, y: &[f64]) -> Self {
        let mean = y.iter().sum::<f64>() / y.len().max(1) as f64;
        let mean = mean.max(1e-9);
        match kind {
            0 => Self {
                kind,
                scale: mean,
                shape: 0.0,
            },
            1 => {
                let widest = y.iter().copied().fold(1e-9, f64::max);
                // The largest of n draws is below the end by a share of 1/(n + 1) on average.
                let end = widest * (1.0 + 1.0 / y.len() as f64);
                Self {
                    kind,
                    scale: end / 2.0,
                    shape: 0.0,
                }
            }
            _ => {
                // For a given x, the best shape has a closed form.
                let mut cost = |at: &[f64]| {
                    let x = mean * libm::exp(at[0]);
                    let shape = shape_of(x, y);
                    let logs = (shape + 1.0) * y.len() as f64 / shape;
                    logs - y.len() as f64 * libm::log(shape / x)
                };
                let at = search::minimise(&[0.0], 0.5, 200, 1e-5, &mut cost);
                let x = mean * libm::exp(at[0]);
                Self {
                    kind,
                    scale: x,
                    shape: shape_of(x, y).clamp(SHAPES[0], SHAPES[1]),
                }
            }
        }
    }

    fn log_density(&self, y: f64) -> f64 {
        match self.kind {
            0 => -libm::log(self.scale) - y / self.scale,
            1 if y > 2.0 * self.scale => EXCLUDED,
            1 => -libm::log(2.0 * self.scale),
            _ => {
                libm::log(self.shape / self.scale)
                    - (self.shape + 1.0) * libm::log1p(y / self.scale)
            }
        }
    }

    fn below(&self, y: f64) -> f64 {
        match self.kind {
            0 => -libm::expm1(-y / self.scale),
            1 => (y / (2.0 * self.scale)).min(1.0),
            _ => 1.0 - libm::pow(1.0 + y / self.scale, -self.shape),
        }
    }

    fn draw(&self, random: &mut Random) -> f64 {
        match self.kind {
            0 => random.exponential(self.scale),
            1 => 2.0 * self.scale * random.uniform(),
            _ => random.pareto(self.mean(), self.shape) - self.scale,
        }
    }

    /// Returns the mean of J.
    fn mean(&self) -> f64 {
        match self.kind {
            0 | 1 => self.scale,
            _ => self.scale * self.shape / (self.shape - 1.0),
        }
    }
}

/// Returns the maximum-likelihood shape of a Lomax distribution with this scale.
fn shape_of(x: f64, y: &[f64]) -> f64 {
    let logs: f64 = y.iter().map(|y| libm::log1p(y / x)).sum();
    y.len() as f64 / logs.max(1e-12)
}

/// Fits a distribution of jitter. `seed` fixes the simulated recordings of the test.
///
/// # Errors
/// Returns a sentence if there are fewer than [`FEWEST`] delays, or if all are equal.
pub fn fit(recorded: &Delays, seed: u64) -> Result<JitterFit, String> {
    let recorded = recorded.delivered();
    let delay = &recorded.delay;
    let too_few = |found: usize, which: &str| {
        format!("it has {found} delays{which}; a law of jitter needs at least {FEWEST}")
    };
    if delay.len() < FEWEST {
        return Err(too_few(delay.len(), ""));
    }
    let (mut kept, overtakes) = recorded.at_rest(0.0);
    if overtakes {
        kept = recorded.counted().collect();
    }
    let kept: Vec<f64> = kept.into_iter().map(|index| delay[index]).collect();
    if kept.len() < FEWEST {
        return Err(too_few(kept.len(), " of packets that waited for no other"));
    }
    let least = kept.iter().copied().fold(f64::INFINITY, f64::min);
    let y: Vec<f64> = kept.iter().take(MOST).map(|delay| delay - least).collect();
    if y.iter().all(|y| *y <= 0.0) {
        return Err("its delays never change; no law is needed".to_owned());
    }
    let held: Vec<Vec<f64>> = (0..3).map(|kind| held_out(kind, &y)).collect();
    let total = |scores: &[f64]| scores.iter().sum::<f64>() / scores.len() as f64;
    let best = (0..3).max_by(|&a, &b| total(&held[a]).total_cmp(&total(&held[b])));
    let best = best.unwrap_or(0);
    let behind = |kind: usize| {
        let apart: Vec<f64> = held[best]
            .iter()
            .zip(&held[kind])
            .map(|(b, s)| b - s)
            .collect();
        mean_of(&apart)
    };
    let stands = |kind: &usize| {
        let (mean, error) = behind(*kind);
        mean <= f64::max(STANDARD_ERRORS * error, 1.0 / y.len() as f64)
    };
    let standing: Vec<(Law, f64)> = (0..3)
        .filter(stands)
        .map(|kind| {
            let law = Law::estimate(kind, &y);
            (law, test(&law, &y, seed))
        })
        .collect();
    let passing = standing.iter().find(|(_, p)| *p >= REJECTED);
    // The list is not empty, because the best distribution always stands.
    let (law, p) = *passing.unwrap_or(&standing[0]);
    let (mean, shape) = intervals(&law, &y);
    let base = if law.kind == 2 {
        least - law.scale
    } else {
        least
    };
    Ok(JitterFit {
        base,
        spec: JitterSpec {
            law: match law.kind {
                0 => JitterLaw::Exponential,
                1 => JitterLaw::Uniform,
                _ => JitterLaw::Pareto(law.shape),
            },
            mean: Duration::from_secs_f64(law.mean()),
            in_order: !overtakes,
        },
        mean,
        shape,
        behind: [0, 1, 2].map(|kind| behind(kind).0),
        p,
        correlation: correlation(&y),
        delays: [delay.len(), kept.len()],
    })
}

/// Returns the log-likelihood per delay of each of ten blocks, under the distribution fitted to the
/// others.
fn held_out(kind: usize, y: &[f64]) -> Vec<f64> {
    let part = |out: usize| {
        let (from, to) = (out * y.len() / PARTS, (out + 1) * y.len() / PARTS);
        let law = Law::estimate(kind, &[&y[..from], &y[to..]].concat());
        let own = &y[from..to];
        own.iter().map(|y| law.log_density(*y)).sum::<f64>() / own.len().max(1) as f64
    };
    (0..PARTS).map(part).collect()
}

/// Returns the log-likelihood of `own` packets under each distribution fitted to `others`, with
/// independent losses. An infinite delay is a loss. Densities are limited by the resolution of
/// clocks.
pub(super) fn told(others: &[f64], own: &[f64]) -> [f64; 3] {
    let finite = |y: &[f64]| -> Vec<f64> { y.iter().copied().filter(|y| y.is_finite()).collect() };
    let delivered = finite(others);
    // Jeffreys' half observation keeps a loss possible.
    let lost = (others.len() - delivered.len()) as f64 + 0.5;
    let loss = lost / (others.len() + 1) as f64;
    [0, 1, 2].map(|kind| {
        let law = Law::estimate(kind, &delivered);
        let one = |y: &f64| {
            if y.is_infinite() {
                return libm::log(loss);
            }
            libm::log(1.0 - loss) + law.log_density(*y).min(-libm::log(FINEST))
        };
        own.iter().map(one).sum()
    })
}

/// Returns the mean of J and the shape, each with its interval.
#[expect(clippy::type_complexity, reason = "a value with its interval, twice")]
fn intervals(law: &Law, y: &[f64]) -> ((f64, [f64; 2]), Option<(f64, [f64; 2])>) {
    let (n, mean) = (y.len() as f64, law.mean());
    let around = |value: f64, half: f64| (value, [-half, half].map(|by| value * libm::exp(by)));
    match law.kind {
        0 => (around(mean, 1.96 / libm::sqrt(n)), None),
        // The largest of n uniform draws exceeds a share q of the range with probability 1 − qⁿ.
        1 => {
            let largest = mean / (1.0 + 1.0 / n);
            let end = |q: f64| largest * libm::pow(q, -1.0 / n);
            ((mean, [end(0.975), end(0.025)]), None)
        }
        _ => {
            let at = [libm::log(law.scale), libm::log(law.shape)];
            let mut cost = |at: &[f64]| {
                let (scale, shape) = (libm::exp(at[0]), libm::exp(at[1]));
                let law = Law {
                    kind: 2,
                    scale,
                    shape,
                };
                -y.iter().map(|y| law.log_density(*y)).sum::<f64>()
            };
            let Some(covariance) = search::covariance(&at, &mut cost) else {
                let unknown = [0.0, f64::INFINITY];
                return ((mean, unknown), Some((law.shape, unknown)));
            };
            // log m = log x + log a − log(a − 1).
            let slope = [1.0, -1.0 / (law.shape - 1.0)];
            let variance: f64 = (0..2)
                .flat_map(|i| (0..2).map(move |j| (i, j)))
                .map(|(i, j)| slope[i] * slope[j] * covariance[i][j])
                .sum();
            let half = |variance: f64| 1.96 * libm::sqrt(variance.max(0.0));
            (
                around(mean, half(variance)),
                Some(around(law.shape, half(covariance[1][1]))),
            )
        }
    }
}

/// Returns the p-value of the Kolmogorov–Smirnov distance, by simulated recordings.
fn test(law: &Law, y: &[f64], seed: u64) -> f64 {
    let step = y.len().div_ceil(TESTED);
    let own: Vec<f64> = y.iter().step_by(step).copied().collect();
    let found = distance(&Law::estimate(law.kind, &own), &own);
    let further = |replica: u64| {
        let mut random = Streams::new(seed).stream("jitter-test", replica);
        let drawn: Vec<f64> = own.iter().map(|_| law.draw(&mut random)).collect();
        let least = drawn.iter().copied().fold(f64::INFINITY, f64::min);
        let drawn: Vec<f64> = drawn.iter().map(|y| y - least).collect();
        distance(&Law::estimate(law.kind, &drawn), &drawn) >= found
    };
    let further = (0..REPLICAS).filter(|&replica| further(replica)).count();
    (further + 1) as f64 / (REPLICAS + 1) as f64
}

fn distance(law: &Law, y: &[f64]) -> f64 {
    let mut sorted = y.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let apart = |(index, y): (usize, &f64)| {
        let below = law.below(*y);
        (below - index as f64 / n)
            .abs()
            .max(((index + 1) as f64 / n - below).abs())
    };
    sorted.iter().enumerate().map(apart).fold(0.0, f64::max)
}

fn correlation(y: &[f64]) -> f64 {
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    let product = |lag: usize| {
        let pairs = y.iter().zip(&y[lag..]);
        pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>()
    };
    product(1) / product(0).max(1e-30)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAWS: [Law; 3] = [
        Law {
            kind: 0,
            scale: 0.005,
            shape: 0.0,
        },
        Law {
            kind: 1,
            scale: 0.005,
            shape: 0.0,
        },
        // The smallest J is 3 ms, the mean 5 ms.
        Law {
            kind: 2,
            scale: 0.003,
            shape: 2.5,
        },
    ];

    /// Returns packets sent every 20 ms with a base delay of 50 ms. With `in_order`, no packet
    /// arrives before an earlier one.
    fn recorded(law: &Law, seed: u64, in_order: bool) -> Delays {
        let mut random = Streams::new(seed).stream("delays", 0);
        let (mut delays, mut last) = (Delays::default(), 0.0);
        for index in 0..2_000 {
            let least = if law.kind == 2 { law.scale } else { 0.0 };
            let sent = f64::from(index) * 0.02;
            let mut arrival = sent + 0.05 + least + law.draw(&mut random);
            if in_order {
                arrival = f64::max(arrival, last);
            }
            last = f64::max(last, arrival);
            delays.sent.push(sent);
            delays.delay.push(arrival - sent);
        }
        delays
    }

    /// In 20 recordings of each distribution, at least 17 intervals of 95 % contain the mean, and
    /// at least 18 choices are correct.
    #[test]
    fn each_law_comes_back() {
        for law in LAWS {
            let (mut held, mut right, mut rejected) = (0, 0, 0);
            for seed in 0..20 {
                let found = fit(&recorded(&law, seed, true), 1).expect("a law");
                let kind = match found.spec.law {
                    JitterLaw::Exponential => 0,
                    JitterLaw::Uniform => 1,
                    JitterLaw::Pareto(_) => 2,
                };
                let [least, most] = found.mean.1;
                right += u32::from(kind == law.kind);
                held += u32::from(kind == law.kind && (least..=most).contains(&law.mean()));
                rejected += u32::from(found.p < 0.05);
                assert!(
                    found.spec.in_order && (found.base - 0.05).abs() < 0.002,
                    "{found:?}"
                );
            }
            assert!(
                right >= 18 && held >= 17 && rejected <= 4,
                "{law:?}: {right} {held} {rejected}"
            );
        }
    }

    #[test]
    fn overtaking_is_seen() {
        let found = fit(&recorded(&LAWS[2], 3, false), 1).expect("a law");
        assert!(!found.spec.in_order);
        assert_eq!(found.delays, [2_000, 2_000]);
    }

    /// Delays around two values follow none of the distributions, so the test rejects all.
    #[test]
    fn another_law_is_rejected() {
        let delay = (0..400).map(|i| {
            if i % 3 == 0 {
                0.08
            } else {
                0.05 + 1e-5 * f64::from(i)
            }
        });
        let delays = Delays {
            delay: delay.collect(),
            ..Delays::default()
        };
        assert!(fit(&delays, 1).expect("a law").p < 0.02);
    }

    #[test]
    fn too_little_is_said() {
        let delays = |delay: Vec<f64>| Delays {
            delay,
            ..Delays::default()
        };
        assert!(
            fit(&delays(vec![0.1; 10]), 1)
                .unwrap_err()
                .contains("10 delays")
        );
        assert!(
            fit(&delays(vec![0.1; 200]), 1)
                .unwrap_err()
                .contains("never change")
        );
        // All packets wait for the first.
        let sent = (0..200).map(|i| f64::from(i) * 1e-3).collect();
        let delay = (0..200).map(|i| 1.0 - f64::from(i) * 1e-3).collect();
        let said = fit(
            &Delays {
                sent,
                delay,
                ..Delays::default()
            },
            1,
        )
        .unwrap_err();
        assert!(said.contains("waited for no other"), "{said}");
    }
}
