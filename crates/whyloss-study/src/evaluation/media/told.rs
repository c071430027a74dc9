//! Compares the estimator with a copy that knows the cause of every loss, on drawn networks.
//!
//! ```text
//! rate       log-uniform, 0.5 to 50 Mbit/s
//! buffer     log-uniform, 50 ms to 1 s at that rate
//! one way    uniform, 5 to 100 ms
//! losses     uniform, 0.5 to 15 %; in every second network in bursts of 1 to 10 packets on average
//! jitter     in two networks of four: uniform, up to 10 ms at most
//! ```
//!
//! The copy makes the same decisions from the same reports, so the difference is the cost of
//! classification errors. The last 60 of 70 s count. A packet's delay counts above the fastest
//! packet's.

use std::sync::atomic::AtomicBool;

use whyloss_link::Streams;
use whyloss_sim::{Needs, Registry, Scenario, Simulation};

use super::{MediaError, each};
use crate::experiment::Progress;
use crate::{Mean, Outcome};

/// The id by which a user selects these networks.
pub const ID: &str = "told";
/// The names of the two compared estimators.
const PAIR: [&str; 2] = ["oracle", "whyloss"];
/// The targets, relative to the copy: the lowest ratio of rates, the highest ratio of delays, and
/// the largest difference of delays in ms.
const RATE: f64 = 0.93;
const DELAY: f64 = 1.1;
const ABOVE: f64 = 5.0;

/// Results on a drawn network.
#[derive(Clone, Debug)]
pub struct Network {
    title: String,
    /// The rates of the copy and of the estimator, in kbit/s.
    rates: [f64; 2],
    /// The 95th percentiles of their delays, in ms.
    delays: [f64; 2],
}

/// Returns the title and the scenario of network number `index`, for each estimator.
fn draw(seed: u64, index: u64) -> (String, [String; 2]) {
    let mut random = Streams::new(seed).stream("told", index);
    let mut draw = || random.uniform();
    let kbit = 500.0 * libm::pow(100.0, draw());
    let seconds = 0.05 * libm::pow(20.0, draw());
    let (share, length) = (0.005 + 0.145 * draw(), 1.0 + 9.0 * draw());
    let (channel, losses) = if index.is_multiple_of(2) {
        let channel = format!(r#"{{ kind = "bernoulli", loss = {share:.4} }}"#);
        (channel, format!("{:.1} %", 100.0 * share))
    } else {
        let stay = 1.0 - 1.0 / length;
        let channel =
            format!(r#"{{ kind = "gilbert-elliott", loss = {share:.4}, stay = {stay:.4} }}"#);
        (channel, format!("{:.1} % by {length:.1}", 100.0 * share))
    };
    let delay = 5.0 + 95.0 * draw();
    let mean = 0.1 + 4.9 * draw();
    let jitter = if index % 4 < 2 {
        String::new()
    } else {
        format!("jitter = {{ kind = \"uniform\", mean = \"{mean:.3} ms\" }}\n")
    };
    let title = format!("{index}: {:.1} Mbit/s, {delay:.0} ms, {losses}", kbit / 1e3);
    let bytes = (kbit * seconds * 125.0).max(3_000.0);
    let text = |estimator| {
        format!(
            r#"title = "{title}"
duration = "70 s"
measure_from = "10 s"

[[link]]
name = "bottleneck"
from = "a"
to = "b"
rate = "{kbit:.0} kbit/s"
delay = "{delay:.3} ms"
queue = {{ bytes = "{bytes:.0} B" }}
channel = {channel}
{jitter}
[[flow]]
name = "call"
from = "a"
to = "b"
packet = "1200 B"
transport = {{ kind = "rtp", estimator = "{estimator}", most = "100 Mbit/s" }}
"#
        )
    };
    (title.clone(), PAIR.map(text))
}

/// Runs this many networks of `seed`. Returns `None` once `stop` is set.
///
/// # Errors
/// Returns a [`MediaError`] if a case cannot be read or a run fails.
pub fn run(
    networks: u64,
    seed: u64,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Option<Vec<Network>>, MediaError> {
    let drawn: Vec<(String, [String; 2])> = (0..networks).map(|index| draw(seed, index)).collect();
    let jobs: Vec<(&str, u64)> = (0..)
        .zip(&drawn)
        .flat_map(|(index, (_, texts))| texts.iter().map(move |text| (text.as_str(), index)))
        .collect();
    let done = each(&jobs, progress, stop, |&(text, index)| {
        let scenario = Scenario::from_toml_with(text, ID, &[], &Registry::new())?;
        let needs = Needs {
            delays: true,
            frames: false,
        };
        let run = Simulation::new(&scenario, seed + index).measure(needs);
        let run = run.map_err(|error| MediaError::Run(ID, error))?;
        let flow = run.measurement.flows.first();
        let rate = flow.map(|flow| flow.throughput_bps(run.measurement.window) / 1e3);
        let delay = run.delays.first().and_then(|delays| {
            let (late, least) = (delays.quantile_ms(0.95)?, delays.min_ms()?);
            Some(late - least)
        });
        Ok((rate.unwrap_or(f64::NAN), delay.unwrap_or(f64::NAN)))
    })?;
    Ok(done.map(|done| {
        let pairs = drawn.into_iter().zip(done.chunks_exact(PAIR.len()));
        let networks = pairs.map(|((title, _), pair)| Network {
            title,
            rates: [pair[0].0, pair[1].0],
            delays: [pair[0].1, pair[1].1],
        });
        networks.collect()
    }))
}

/// Returns a summary, a table of the rates and a table of the delays, all over every network.
pub fn outcomes(networks: &[Network]) -> [Outcome; 3] {
    let count = networks.len() as u64;
    let title = "whyloss beside a copy that is told the cause of every loss";
    let mut summary = Outcome::new("media-told", title, count);
    let of = |pair: [f64; 2]| pair[1] / pair[0];
    let shares: Vec<f64> = networks.iter().map(|one| of(one.rates)).collect();
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let number = |holds: &dyn Fn(&Network) -> bool| {
        let number = networks.iter().filter(|one| holds(one)).count();
        number as f64
    };
    let near = |one: &Network| of(one.delays) <= DELAY;
    let rows = [
        ("rate, relative to the copy: mean", Mean::of(&shares).value),
        ("rate, relative to the copy: lowest", least),
        (
            "networks with a rate of at least 0.93 of it",
            number(&|one| of(one.rates) >= RATE),
        ),
        (
            "networks with a p95 of the delay at most 1.1 times",
            number(&near),
        ),
        (
            "or at most 5 ms above",
            number(&|one| near(one) || one.delays[1] <= one.delays[0] + ABOVE),
        ),
        ("networks", count as f64),
    ];
    for (row, value) in rows {
        let mean = Mean {
            value,
            ..Mean::NONE
        };
        summary.cells.push(mean.cell(row, "whyloss", ""));
    }
    let table = |id: &str, title: &str, unit, values: fn(&Network) -> [f64; 2]| {
        let mut outcome = Outcome::new(id, title, count);
        for network in networks {
            for (name, value) in PAIR.iter().zip(values(network)) {
                let mean = Mean {
                    value,
                    ..Mean::NONE
                };
                outcome.cells.push(mean.cell(&network.title, name, unit));
            }
        }
        outcome
    };
    [
        summary,
        table(
            "media-told-rate",
            "rate of a call on drawn networks",
            "kbit/s",
            |one| one.rates,
        ),
        table(
            "media-told-delay",
            "delay of a packet above the fastest, p95, on drawn networks",
            "ms",
            |one| one.delays,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every network parses with either estimator, and the two texts differ in nothing else.
    #[test]
    fn networks_are_sound() {
        for index in 0..40 {
            let (title, texts) = draw(1, index);
            let read = |text| Scenario::from_toml_with(text, ID, &[], &Registry::new());
            for text in &texts {
                let scenario = read(text).unwrap_or_else(|error| panic!("{title}: {error}"));
                assert_eq!(scenario.flows.len(), 1);
            }
            assert_eq!(texts[0].replace("oracle", "whyloss"), texts[1]);
        }
    }

    #[test]
    fn counts_by_hand() {
        let network = |rates, delays| Network {
            title: String::new(),
            rates,
            delays,
        };
        let [summary, ..] = outcomes(&[
            network([100.0, 93.0], [10.0, 11.0]),
            network([100.0, 92.0], [10.0, 15.0]),
            network([100.0, 101.0], [100.0, 116.0]),
        ]);
        let values: Vec<Option<f64>> = summary.cells.iter().map(|cell| cell.mean).collect();
        assert_eq!(
            values[1..],
            [Some(0.92), Some(2.0), Some(1.0), Some(2.0), Some(3.0)]
        );
    }
}
