//! Fits a model to the rates of a packet-delivery trace, or to recorded rates.
//!
//! ```text
//! rate of a bin   a trace's opportunities · 1500 bytes / 100 ms
//! states          k-means of the square roots of rates, from quantiles; the fewest that explain
//!                 nine tenths of the variance
//! mean times      share of time in a state · c; c sets the autocorrelation after 1 s
//! ```

use whyloss::{Duration, Rate};
use whyloss_link::MarkovRates;
use whyloss_link::markov::{MarkovError, SHORTEST as SHORTEST_STATE};

/// The time over which a trace's opportunities are counted, in ms.
pub const BIN: u64 = 100;
const STATES: std::ops::RangeInclusive<usize> = 2..=8;
/// The share of the rate's variance at which no more states are added.
const EXPLAINED: f64 = 0.9;
/// The shortest recording that can be fitted, in s.
pub const SHORTEST: f64 = 60.0;
/// The minimum number of rates that can be fitted.
pub const FEWEST: usize = 60;
/// The longest trace, in ms: a day.
const LONGEST: u64 = 86_400_000;
/// The lags of the reported autocorrelation, in s.
pub const LAGS: [f64; 2] = [1.0, 10.0];

/// A model of a recording's rates, and its differences from the recording.
#[derive(Clone, Debug, PartialEq)]
pub struct RateLaw {
    /// The rate and the mean sojourn time of each state.
    pub states: Vec<(Rate, Duration)>,
    /// The number of recorded rates.
    pub samples: usize,
    /// The time that each recorded rate covers, in s.
    pub interval: f64,
    /// The share of the rate's variance that the states leave unexplained.
    pub unexplained: f64,
    /// The autocorrelation of the rate at each of [`LAGS`], as `[recording, model]`.
    pub correlation: [[f64; 2]; 2],
    /// The mean rate in bit/s, as `[recording, model]`.
    pub mean: [f64; 2],
}

/// Returns the rate in each bin of a packet-delivery trace, in bit/s. The text has the format of
/// mahimahi's files: one time in ms per opportunity.
///
/// # Errors
/// Returns a sentence if the text is not such a trace.
pub fn of_trace(text: &str) -> Result<Vec<f64>, String> {
    let mut counts: Vec<u32> = Vec::new();
    let mut before = 0;
    for (line, word) in (1..)
        .zip(text.lines())
        .filter(|(_, word)| !word.trim().is_empty())
    {
        let time: u64 = word
            .trim()
            .parse()
            .map_err(|_| format!("line {line}: expected a time in milliseconds"))?;
        if time < before || time > LONGEST {
            return Err(format!(
                "line {line}: found {time}; expected times in order, up to {LONGEST} ms"
            ));
        }
        before = time;
        let bin = (time / BIN) as usize;
        counts.resize(counts.len().max(bin + 1), 0);
        counts[bin] += 1;
    }
    let rate = |&count: &u32| f64::from(count) * 12_000.0 * 1000.0 / BIN as f64;
    Ok(counts.iter().map(rate).collect())
}

/// Fits a model to recorded rates, in bit/s over `interval` seconds each. Trials are independent of
/// each other.
///
/// # Errors
/// Returns a sentence if the rates are too few, or never change.
pub fn fit(trials: &[Vec<f64>], interval: f64) -> Result<RateLaw, String> {
    let rates: Vec<f64> = trials.iter().flatten().copied().collect();
    let seconds = rates.len() as f64 * interval;
    if rates.len() < FEWEST || seconds < SHORTEST {
        return Err(format!(
            "it is too short: a law of rates needs at least {FEWEST} rates over {SHORTEST} s, and it has {} over {seconds:.0} s",
            rates.len()
        ));
    }
    let mean = mean_of(&rates);
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
    if variance <= 0.0 {
        return Err("its rate never changes; no law is needed".to_owned());
    }
    let mut best = None;
    for count in STATES {
        let states = cluster(&rates, count);
        let levels = levels(&rates, &states, count);
        let left = rates
            .iter()
            .zip(&states)
            .map(|(rate, &state)| (rate - levels[state]).powi(2));
        let unexplained = left.sum::<f64>() / variance;
        best = Some((states, levels, unexplained));
        if unexplained <= 1.0 - EXPLAINED {
            break;
        }
    }
    let (states, levels, unexplained) = best.ok_or("no states")?;
    let shares = (0..levels.len()).map(|state| {
        let visited = states.iter().filter(|&&own| own == state).count();
        (levels[state], visited as f64 / rates.len() as f64)
    });
    let mut shares: Vec<(f64, f64)> = shares.filter(|&(_, share)| share > 0.0).collect();
    shares.sort_by(|a, b| a.0.total_cmp(&b.0));
    let steps = |lag: f64| (libm::round(lag / interval) as usize).max(1);
    let recorded = LAGS.map(|lag| {
        let pairs = trials
            .iter()
            .flat_map(|own| own.iter().zip(own.get(steps(lag)..).unwrap_or(&[])));
        let (count, product) = pairs.fold((0.0, 0.0), |sum, (a, b)| {
            (sum.0 + 1.0, sum.1 + (a - mean) * (b - mean))
        });
        product / f64::max(count, 1.0) / (variance / rates.len() as f64)
    });
    let of_cycle = |cycle: f64| -> Vec<(f64, f64)> {
        let least = SHORTEST_STATE.as_secs_f64();
        let state = |&(rate, share): &(f64, f64)| (rate, (share * cycle).max(least));
        shares.iter().map(state).collect()
    };
    let after = |law: &[(f64, f64)], lag: f64| correlation(law, steps(lag) as f64 * interval);
    // The model's autocorrelation grows with the time for a round of all states.
    let (mut low, mut high) = (libm::log(interval), libm::log(seconds));
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if after(&of_cycle(libm::exp(middle)), LAGS[0]) < recorded[0] {
            low = middle;
        } else {
            high = middle;
        }
    }
    let law = of_cycle(libm::exp(high));
    let chain = law.iter().map(|&(rate, seconds)| {
        (
            Rate::from_bps(rate as u64),
            Duration::from_secs_f64(seconds),
        )
    });
    let chain: Vec<(Rate, Duration)> = chain.collect();
    MarkovRates::new(chain.clone()).map_err(|error: MarkovError| error.to_string())?;
    Ok(RateLaw {
        states: chain,
        samples: rates.len(),
        interval,
        unexplained,
        correlation: [0, 1].map(|at| [recorded[at], after(&law, LAGS[at])]),
        mean: [mean, mean_of_law(&law)],
    })
}

fn mean_of(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn mean_of_law(law: &[(f64, f64)]) -> f64 {
    let total: f64 = law.iter().map(|(_, seconds)| seconds).sum();
    law.iter().map(|(rate, own)| rate * own).sum::<f64>() / total
}

/// Returns the autocorrelation of a chain's rate after `after` seconds, by small steps of its
/// transitions.
fn correlation(law: &[(f64, f64)], after: f64) -> f64 {
    let mean = mean_of_law(law);
    let total: f64 = law.iter().map(|(_, seconds)| seconds).sum();
    let shares: Vec<f64> = law.iter().map(|(_, seconds)| seconds / total).collect();
    let variance: f64 = law
        .iter()
        .zip(&shares)
        .map(|((rate, _), share)| share * (rate - mean).powi(2))
        .sum();
    // The expected deviation of the rate, by the state at the start.
    let mut ahead: Vec<f64> = law.iter().map(|(rate, _)| rate - mean).collect();
    let others = (law.len() - 1).max(1) as f64;
    let steps = 5_000;
    for _ in 0..steps {
        let sum: f64 = ahead.iter().sum();
        let next = ahead.iter().zip(law).map(|(own, (_, seconds))| {
            let leave = (after / f64::from(steps) / seconds).min(1.0);
            own + leave * ((sum - own) / others - own)
        });
        ahead = next.collect();
    }
    let product: f64 = law
        .iter()
        .zip(&shares)
        .zip(&ahead)
        .map(|(((rate, _), share), ahead)| share * (rate - mean) * ahead)
        .sum();
    product / variance.max(1e-12)
}

/// Returns the state of each bin.
fn cluster(rates: &[f64], count: usize) -> Vec<usize> {
    let roots: Vec<f64> = rates.iter().map(|rate| libm::sqrt(*rate)).collect();
    let mut sorted = roots.clone();
    sorted.sort_by(f64::total_cmp);
    let quantile = |k: usize| sorted[(2 * k + 1) * sorted.len() / (2 * count)];
    let mut centres: Vec<f64> = (0..count).map(quantile).collect();
    let mut states = vec![0; roots.len()];
    for _ in 0..50 {
        for (state, root) in states.iter_mut().zip(&roots) {
            let near = |k: &usize| libm::fabs(centres[*k] - root);
            let nearest = (0..count).min_by(|a, b| near(a).total_cmp(&near(b)));
            *state = nearest.unwrap_or(0);
        }
        let moved = levels(&roots, &states, count);
        if moved == centres {
            break;
        }
        centres = moved;
    }
    states
}

fn levels(values: &[f64], states: &[usize], count: usize) -> Vec<f64> {
    let level = |state: usize| {
        let own = values.iter().zip(states).filter(|(_, own)| **own == state);
        let own: Vec<f64> = own.map(|(value, _)| *value).collect();
        mean_of(&own)
    };
    (0..count).map(level).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// Ten seconds of 12 Mbit/s alternate with five of 1.2 Mbit/s: 1 and 0.1 opportunities per
    /// millisecond.
    #[test]
    fn rates_and_shares_come_back() {
        let mut text = String::new();
        for millis in 0..150_000_u64 {
            let fast = millis / 5_000 % 3 < 2;
            if fast || millis % 10 == 0 {
                let _ = writeln!(text, "{millis}");
            }
        }
        let law = fit(&[of_trace(&text).expect("a trace")], 0.1).expect("a law");
        let [(slow, low), (fast, high)] = law.states[..] else {
            panic!("{law:?}");
        };
        assert_eq!([slow.as_bps(), fast.as_bps()], [1_200_000, 12_000_000]);
        assert!((high.as_secs_f64() / low.as_secs_f64() - 2.0).abs() < 1e-3);
        assert!((law.mean[0] - 8.4e6).abs() < 1e3 && (law.mean[1] - 8.4e6).abs() < 1e4);
        assert!(law.unexplained < 1e-9);
        // The autocorrelation is e^(−(1/low + 1/high)) after a second.
        let [recorded, fitted] = law.correlation[0];
        let formula = libm::exp(-1.0 / low.as_secs_f64() - 1.0 / high.as_secs_f64());
        assert!((fitted - formula).abs() < 1e-3 && (fitted - recorded).abs() < 1e-3);
    }

    /// A chain visits three states in a fixed order, unlike the model. The mean is still that of
    /// the recording.
    #[test]
    fn the_mean_is_the_recording_s() {
        let round = [vec![1e6; 10], vec![5e6; 4], vec![20e6; 2], vec![5e6; 4]].concat();
        let law = fit(&[round.repeat(20)], 1.0).expect("a law");
        assert_eq!(law.states.len(), 3);
        assert!((law.mean[1] / law.mean[0] - 1.0).abs() < 1e-3, "{law:?}");
        let [recorded, fitted] = law.correlation[0];
        assert!((fitted - recorded).abs() < 1e-3, "{law:?}");
    }

    /// Rates of 1 s come in two trials of 30 and 10 s: no pair has a rate from each trial.
    #[test]
    fn trials_do_not_follow_one_another() {
        let half: Vec<f64> = [vec![8e6; 30], vec![1e6; 10]].concat();
        let law = fit(&[half.clone(), half], 1.0).expect("a law");
        // The sum has 29 pairs of 1.75², one of 1.75 · −5.25 and 9 of 5.25², over a variance of
        // 9.1875.
        let expected = (29.0 * 3.0625 - 9.1875 + 9.0 * 27.5625) / 39.0 / 9.1875;
        assert!((law.correlation[0][0] - expected).abs() < 1e-9, "{law:?}");
    }

    #[test]
    fn too_little_is_said() {
        let two = of_trace("1\n2\n").expect("a trace");
        assert!(
            fit(&[two], 0.1)
                .unwrap_err()
                .contains("at least 60 rates over 60 s")
        );
        assert!(
            fit(&[vec![1e6; 100]], 1.0)
                .unwrap_err()
                .contains("never changes")
        );
        assert!(
            of_trace("2\n1\n")
                .unwrap_err()
                .starts_with("line 2: found 1")
        );
        assert!(of_trace("x\n").unwrap_err().starts_with("line 1"));
    }
}
