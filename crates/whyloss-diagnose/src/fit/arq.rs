//! Fits link-layer retransmission to delays and losses.
//!
//! ```text
//! tries        K = 1, 2, …, n, each lost with probability p (`whyloss_link::arq`)
//! delay        d = base + (K − 1)·r + J      r: retry time, turnaround and transmission; J: jitter
//! likelihood   delivered   Σ_{k<n} p^k·(1 − p)·f(d − base − k·r)
//!              lost        p^n
//! f            exponential of mean m; below 0, where clocks are read inexactly, of m/100
//! ```
//!
//! A comb of normal distributions (expectation maximisation from 64 retry times) finds the
//! neighbourhood, and the likelihood above decides. The rival is the best distribution of
//! [`jitter`], with independent losses. Both are scored on ten blocks in turn, with parameters
//! fitted to the others. Jitter is fitted last, to the delays without their retries.
//!
//! Only packets that found the link at rest count, as in [`jitter`]. Those behind a retry show
//! whether the link stops and waits.

use statrs::distribution::{ChiSquared, ContinuousCDF as _};
use whyloss::Duration;
use whyloss_link::arq::MOST_TRIES;
use whyloss_link::{ArqSpec, JitterLaw};

use super::jitter::{self, Delays, EXCLUDED, FEWEST, JitterFit};
use super::model::logit;
use super::{PARTS, STANDARD_ERRORS, search};

/// The minimum number of retransmitted packets for a fit.
pub const FEWEST_RETRIED: usize = 10;
/// The maximum number of packets that a fit uses.
const MOST: usize = 16_384;
/// The number of retry times that the search starts from.
const STARTS: usize = 64;
/// The smallest mean of the jitter, in s: the resolution of clocks.
pub(super) const FINEST: f64 = 1e-6;
/// The width of the jitter below 0, relative to that above.
const BELOW: f64 = 0.01;
/// The log-likelihood by which a limit on tries may be below the best one and still be in its 95 %
/// interval.
const NEAR: f64 = 1.92;

/// A value and its 95 % interval.
pub type Ranged<T> = (T, [T; 2]);

/// A link that retransmits.
#[derive(Clone, Debug, PartialEq)]
pub struct ArqFit {
    /// The delay of all packets, in s.
    pub base: f64,
    /// The probability that a try is lost.
    pub loss: Ranged<f64>,
    /// The extra delay of each retry, in s.
    pub retry: Ranged<f64>,
    /// The maximum number of tries of a packet. If no loss remains, the upper end is
    /// [`MOST_TRIES`].
    pub tries: Ranged<u32>,
    /// The link's settings for a scenario. `turnaround` is the retry time less the transmission.
    pub spec: ArqSpec,
    /// Whether packets behind a retry settled `parallel` and `in_order`.
    pub is_order_known: bool,
    /// The delay that varies beyond retries; `None` if there is none.
    pub jitter: Option<JitterFit>,
    /// The number of delivered packets for each number of retries.
    pub retried: Vec<usize>,
    /// The number of packets that were lost after all tries.
    pub lost: usize,
    /// The probability that a recording of this link differs from its parameters at least as much.
    /// `None` if the recording has too few kinds of packets for a test.
    pub p: Option<f64>,
    /// The held-out log-likelihood per packet by which the model leads the best distribution of
    /// jitter with independent losses, and its standard error.
    pub lead: (f64, f64),
}

impl ArqFit {
    /// Returns the share of packets that the link loses after all tries.
    pub fn residual(&self) -> f64 {
        libm::pow(self.loss.0, f64::from(self.tries.0))
    }
}

/// Fits a link that retransmits to delays; an infinite delay is a loss. `transmission` is the time
/// that the link takes to send a packet, in s, or 0 if it is not known.
///
/// # Errors
/// Returns a sentence if the recording does not show retransmission.
pub fn fit(recorded: &Delays, transmission: f64, seed: u64) -> Result<ArqFit, String> {
    let (kept, overtakes) = recorded.at_rest(transmission);
    let kept = &kept[..kept.len().min(MOST)];
    let of = |index: &usize| recorded.delay[*index];
    let delays = || kept.iter().map(of).filter(|delay| delay.is_finite());
    let count = delays().count();
    if count < FEWEST {
        return Err(format!(
            "{count} packets that waited for no other were delivered; retransmission needs at least {FEWEST}"
        ));
    }
    let base = delays().fold(f64::INFINITY, f64::min);
    // The delay of a lost packet stays infinite.
    let y: Vec<f64> = kept.iter().map(|index| of(index) - base).collect();
    let comb = Comb::near(&y)
        .map(|near| near.refined(&y))
        .filter(|comb| comb.counts(&y).iter().skip(1).sum::<usize>() >= FEWEST_RETRIED)
        .ok_or_else(|| {
            format!(
                "fewer than {FEWEST_RETRIED} of {count} packets came later by multiples of one time"
            )
        })?;
    let lead = lead(&comb, &y);
    if lead.0 <= f64::max(STANDARD_ERRORS * lead.1, 1.0 / y.len() as f64) {
        return Err(format!(
            "the best spacing of late packets, {:.3} ms, leads independent jitter and losses by {:.3} ± {:.3} a packet of held-out \
             log-likelihood",
            comb.retry * 1e3,
            lead.0,
            lead.1
        ));
    }
    let retried = comb.counts(&y);
    let lost = y.iter().filter(|y| y.is_infinite()).count();
    let without = |index: &usize| {
        let delay = of(index);
        delay - f64::from(comb.retries(delay - base)) * comb.retry
    };
    let rest = Delays {
        delay: kept.iter().map(without).filter(|d| d.is_finite()).collect(),
        ..Delays::default()
    };
    // Jitter below the resolution of clocks needs no distribution.
    let jitter = Some(comb.scale)
        .filter(|scale| *scale > 2.0 * FINEST)
        .and_then(|_| jitter::fit(&rest, seed).ok());
    let order = order(recorded, &comb, (base, transmission), overtakes);
    let retry = comb.retry_interval(&y, jitter.as_ref());
    let turnaround = (retry.0 - transmission).max(0.0);
    let (parallel, in_order) = order.unwrap_or((false, true));
    Ok(ArqFit {
        base: jitter.as_ref().map_or(base, |jitter| jitter.base),
        loss: comb.loss_interval(&retried, lost),
        retry,
        tries: comb.tries_interval(&retried, lost),
        spec: ArqSpec {
            tries: comb.tries,
            turnaround: Duration::from_secs_f64(turnaround),
            parallel,
            in_order,
        },
        is_order_known: order.is_some(),
        jitter,
        p: comb.test(&retried, lost),
        retried,
        lost,
        lead,
    })
}

/// The parameters of the likelihood.
#[derive(Clone, Copy, Debug)]
struct Comb {
    /// The probability that a try is lost.
    loss: f64,
    /// The retry time, in s.
    retry: f64,
    /// The mean jitter, in s.
    scale: f64,
    /// The maximum number of tries.
    tries: u32,
}

impl Comb {
    /// Returns the most likely comb of normal distributions.
    fn near(y: &[f64]) -> Option<Self> {
        let mut sorted: Vec<f64> = y.iter().copied().filter(|y| y.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let most = *sorted.get(sorted.len().checked_sub(FEWEST_RETRIED)?)?;
        if most <= 4.0 * FINEST {
            return None;
        }
        let from = |start: usize| {
            let share = start as f64 / (STARTS - 1) as f64;
            normal(&sorted, most * libm::pow(f64::from(MOST_TRIES), -share))
        };
        let told = |comb: &Self| sorted.iter().map(|y| comb.told(*y)).sum::<f64>();
        let all = (0..STARTS).filter_map(from).map(|comb| (told(&comb), comb));
        Some(all.max_by(|a, b| a.0.total_cmp(&b.0))?.1)
    }

    /// Returns the maximum of the likelihood near these parameters.
    fn refined(self, y: &[f64]) -> Self {
        let delivered: Vec<f64> = y.iter().copied().filter(|y| y.is_finite()).collect();
        let lost = y.len() - delivered.len();
        let mut comb = self;
        for _ in 0..2 {
            let moved = |at: &[f64]| Self {
                loss: 1.0 / (1.0 + libm::exp(-at[0])),
                retry: (comb.retry + at[1] * comb.scale).max(FINEST),
                scale: (comb.scale * libm::exp(at[2])).max(FINEST),
                tries: comb.tries,
            };
            let mut cost = |at: &[f64]| {
                let own = moved(at);
                -delivered.iter().map(|y| own.told(*y)).sum::<f64>()
                    - lost as f64 * own.told(f64::INFINITY)
            };
            let at = search::minimise(&[logit(comb.loss), 0.0, 0.0], 0.5, 150, 1e-5, &mut cost);
            comb = moved(&at);
            let counts = comb.counts(y);
            comb.tries = likely_tries(&counts, lost).0;
            comb.loss = share(&counts, lost, comb.tries);
        }
        comb
    }

    /// Returns the log-likelihood of a packet.
    fn told(&self, y: f64) -> f64 {
        if y.is_infinite() {
            return f64::from(self.tries) * libm::log(self.loss);
        }
        let most = self.tries - 1;
        let whole = (libm::floor(y / self.retry) as u32).min(most);
        let part = |k: u32, width: f64| {
            let apart = y - f64::from(k) * self.retry;
            libm::pow(self.loss, f64::from(k)) * libm::exp(-apart / width)
        };
        // The packet may also have one more retry, if the clocks are read a little early.
        let early = whole < most && y >= 0.0;
        let mut sum = if early {
            part(whole + 1, -BELOW * self.scale)
        } else {
            0.0
        };
        let mut next = part(whole, self.scale);
        let fewer = libm::exp(-self.retry / self.scale) / self.loss;
        for _ in 0..=whole {
            sum += next;
            if next < 1e-9 * sum {
                break;
            }
            next *= fewer;
        }
        let height = (1.0 - self.loss) / (self.scale * (1.0 + BELOW));
        libm::log(sum * height).max(EXCLUDED)
    }

    /// Returns the most likely number of retries of a packet with this delay.
    fn retries(&self, y: f64) -> u32 {
        // A delay a little below k retry times still counts as k retries.
        let slack = 5.0 * BELOW * self.scale;
        let k = libm::floor((y + slack) / self.retry).max(0.0);
        (k as u32).min(self.tries - 1)
    }

    fn counts(&self, y: &[f64]) -> Vec<usize> {
        let mut counts = Vec::new();
        for y in y.iter().filter(|y| y.is_finite()) {
            let k = self.retries(*y) as usize;
            if counts.len() <= k {
                counts.resize(k + 1, 0);
            }
            counts[k] += 1;
        }
        counts
    }

    /// Returns the interval of the loss probability from the counts of lost and delivered tries, on
    /// the scale of logits.
    fn loss_interval(&self, retried: &[usize], lost: usize) -> Ranged<f64> {
        let (failed, passed) = tries(retried, lost, self.tries);
        let half = 1.96 * libm::sqrt(1.0 / failed.max(0.5) + 1.0 / passed.max(0.5));
        let end = |by: f64| 1.0 / (1.0 + libm::exp(-logit(self.loss) - by));
        (self.loss, [end(-half), end(half)])
    }

    /// Returns the retry time and its interval. The shortest delay per retry is on average
    /// 1/(f(0)·Σk) above `retry`. The interval is wider by half a microsecond, the resolution of
    /// clocks.
    fn retry_interval(&self, y: &[f64], jitter: Option<&JitterFit>) -> Ranged<f64> {
        let (mut least, mut weight) = (f64::INFINITY, 0.0);
        for y in y.iter().filter(|y| y.is_finite()) {
            let k = f64::from(self.retries(*y));
            if k > 0.0 {
                least = f64::min(least, y / k);
                weight += k;
            }
        }
        let width = jitter.map_or(0.0, |jitter| {
            let mean = jitter.spec.mean.as_secs_f64();
            match jitter.spec.law {
                JitterLaw::Uniform => 2.0 * mean,
                JitterLaw::Exponential => mean,
                JitterLaw::Pareto(shape) => mean * (shape - 1.0) / (shape * shape),
            }
        });
        let apart = width / weight;
        let ends = [3.69, 0.025].map(|by| least - by * apart);
        let half = FINEST / 2.0;
        (least - apart, [ends[0] - half, ends[1] + half])
    }

    fn tries_interval(&self, retried: &[usize], lost: usize) -> Ranged<u32> {
        (self.tries, likely_tries(retried, lost).1)
    }

    /// Returns the p-value of Pearson's test of the numbers of retries, lost packets included. Rare
    /// numbers are pooled.
    fn test(&self, retried: &[usize], lost: usize) -> Option<f64> {
        const FEWEST_EXPECTED: f64 = 5.0;
        let all = (retried.iter().sum::<usize>() + lost) as f64;
        let (mut statistic, mut kinds) = (0.0, 0_i32);
        let (mut expected, mut found, mut left) = (0.0, 0.0, all);
        for k in 0..=self.tries {
            let chance = libm::pow(self.loss, f64::from(k));
            let (chance, count) = if k == self.tries {
                (chance, lost)
            } else {
                let count = retried.get(k as usize).copied().unwrap_or(0);
                (chance * (1.0 - self.loss), count)
            };
            expected += chance * all;
            found += count as f64;
            left -= chance * all;
            // A pool is complete once it and the rest are large enough.
            if expected >= FEWEST_EXPECTED && (left >= FEWEST_EXPECTED || k == self.tries) {
                statistic += (found - expected) * (found - expected) / expected;
                (expected, found) = (0.0, 0.0);
                kinds += 1;
            }
        }
        if found + expected > 0.0 {
            statistic += (found - expected) * (found - expected) / expected.max(1e-9);
            kinds += 1;
        }
        let law = ChiSquared::new(f64::from(kinds - 2)).ok()?;
        Some(1.0 - law.cdf(statistic))
    }
}

/// Returns the numbers of lost and of delivered tries.
fn tries(retried: &[usize], lost: usize, limit: u32) -> (f64, f64) {
    let again = retried.iter().enumerate().map(|(k, count)| k * count);
    let failed = again.sum::<usize>() + lost * limit as usize;
    (failed as f64, retried.iter().sum::<usize>() as f64)
}

/// Returns the share of lost tries.
fn share(retried: &[usize], lost: usize, limit: u32) -> f64 {
    let (failed, passed) = tries(retried, lost, limit);
    (failed + 0.5) / (failed + passed + 1.0)
}

/// Returns the lowest limit on tries that is nearly as likely as the best one, and the range of
/// likely limits.
fn likely_tries(retried: &[usize], lost: usize) -> Ranged<u32> {
    let told = |limit: u32| {
        let p = share(retried, lost, limit);
        let (failed, passed) = tries(retried, lost, limit);
        let beyond: usize = retried.iter().skip(limit as usize).sum();
        failed * libm::log(p) + passed * libm::log(1.0 - p) + beyond as f64 * EXCLUDED
    };
    let all: Vec<f64> = (1..=MOST_TRIES).map(told).collect();
    let best = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let within = |by: f64| move |told: &f64| *told >= best - by;
    let first = |by: f64| all.iter().position(within(by)).unwrap_or(0) as u32 + 1;
    let last = all.iter().rposition(within(NEAR)).unwrap_or(0) as u32 + 1;
    (first(0.5), [first(NEAR), last])
}

/// Fits a comb of normal distributions to sorted delays. `start` is the first guess of the retry
/// time.
fn normal(y: &[f64], start: f64) -> Option<Comb> {
    const ROUNDS: usize = 10;
    // The weight of delays that fit no retry, which must not widen the distributions.
    const STRAY: f64 = 0.02;
    let (mut middle, mut retry, mut width) = (0.0, start, start / 4.0);
    let late = y.len() - y.partition_point(|y| *y < start / 2.0);
    let mut loss = late as f64 / (y.len() + late) as f64;
    for _ in 0..ROUNDS {
        // The sums of the weights, and of the weighted k, k², y, k·y and y².
        let mut sums = [0.0; 6];
        for &y in y {
            let nearest = libm::round((y - middle) / retry).clamp(0.0, f64::from(MOST_TRIES - 1));
            let mut parts = [(0.0, 0.0); 3];
            for (part, by) in parts.iter_mut().zip([-1.0, 0.0, 1.0]) {
                let k: f64 = nearest + by;
                if k >= 0.0 {
                    let apart = (y - middle - k * retry) / width;
                    *part = (k, libm::pow(loss, k) * libm::exp(-0.5 * apart * apart));
                }
            }
            // A few packets belong to none of these distributions, and must not widen them.
            let others = STRAY * libm::pow(loss, nearest);
            let sum = parts.iter().map(|(_, weight)| weight).sum::<f64>() + others;
            if sum > 0.0 {
                for (k, weight) in parts.map(|(k, weight)| (k, weight / sum)) {
                    for (sum, x) in sums.iter_mut().zip([1.0, k, k * k, y, k * y, y * y]) {
                        *sum += weight * x;
                    }
                }
            }
        }
        let [n, k, kk, y, ky, yy] = sums;
        let spread = n * kk - k * k;
        if n < 1.0 || k < 0.5 || spread <= 0.0 {
            return None;
        }
        retry = (n * ky - k * y) / spread;
        middle = (y - k * retry) / n;
        let rest = (yy - middle * y - retry * ky) / n;
        width = libm::sqrt(rest.max(0.0)).max(FINEST);
        loss = (k + 0.5) / (k + n + 1.0);
        if retry <= FINEST {
            return None;
        }
    }
    Some(Comb {
        loss,
        retry,
        scale: middle.max(FINEST),
        tries: MOST_TRIES,
    })
}

/// Returns the held-out log-likelihood per packet by which the comb leads the best distribution of
/// jitter, and its standard error.
fn lead(comb: &Comb, y: &[f64]) -> (f64, f64) {
    let part = |out: usize| {
        let (from, to) = (out * y.len() / PARTS, (out + 1) * y.len() / PARTS);
        let (others, own) = ([&y[..from], &y[to..]].concat(), &y[from..to]);
        let fitted = comb.refined(&others);
        let score: f64 = own.iter().map(|y| fitted.told(*y)).sum();
        let rivals = jitter::told(&others, own);
        let count = own.len().max(1) as f64;
        (score / count, rivals.map(|told| told / count))
    };
    let parts: Vec<(f64, [f64; 3])> = (0..PARTS).map(part).collect();
    let total = |rival: usize| parts.iter().map(|(_, told)| told[rival]).sum::<f64>();
    let best = (0..3).max_by(|&a, &b| total(a).total_cmp(&total(b)));
    let ahead = parts
        .iter()
        .map(|(own, told)| own - told[best.unwrap_or(0)]);
    super::mean_of(&ahead.collect::<Vec<_>>())
}

/// Returns whether the link sends other packets while it retries, and whether it delivers them in
/// order. The packets behind a retry decide; `None` if they do not.
///
/// ```text
/// parallel        a packet comes with the one before it, or a whole number of retry times late
/// stop and wait   a packet comes a transmission and a whole number of retry times after the
///                 one before it
/// ```
fn order(
    recorded: &Delays,
    comb: &Comb,
    (base, transmission): (f64, f64),
    overtakes: bool,
) -> Option<(bool, bool)> {
    if overtakes {
        return Some((true, false));
    }
    let near = 3.0 * comb.scale;
    if recorded.sent.len() != recorded.delay.len() || near > comb.retry / 4.0 {
        return None;
    }
    let whole = |time: f64| {
        let rest = time - libm::round(time / comb.retry) * comb.retry;
        (-near..=near).contains(&rest) && time >= -near
    };
    let mut last = f64::NEG_INFINITY;
    // The delay without the base, and the time since the packet before.
    let mut behind = Vec::new();
    for (index, (sent, delay)) in recorded.sent.iter().zip(&recorded.delay).enumerate() {
        let arrival = sent + delay;
        if arrival.is_infinite() {
            continue;
        }
        if sent + base + near < last && !recorded.aside.get(index).is_some_and(|aside| *aside) {
            behind.push((delay - base, arrival - last));
        }
        last = f64::max(last, arrival);
    }
    let least = behind.iter().map(|(_, gap)| *gap);
    let spacing = transmission.max(least.fold(f64::INFINITY, f64::min));
    let count = |holds: &dyn Fn(&(f64, f64)) -> bool| behind.iter().filter(|at| holds(at)).count();
    let parallel = count(&|(late, gap)| *gap <= near || whole(*late));
    let waits = count(&|(_, gap)| whole(gap - spacing));
    // The two counts must differ by a tenth of the packets.
    (parallel.abs_diff(waits) * 10 > behind.len()).then_some((parallel > waits, true))
}
