//! Searches for the network in which a scheme harms a CUBIC flow alongside it most.
//!
//! ```text
//! harm = 1 − d/d′    d, d′: packets that the CUBIC flow delivers alongside the scheme, and
//!                    alongside as many CUBIC flows; means over seeds
//! ```
//!
//! Each round has the same number of candidates, whatever the number of threads: fresh draws, or
//! mutations of the best network since the last restart. A climb ends after ten rounds without a
//! worse network. The worst network of each climb is judged again with fresh seeds, because the
//! largest of many noisy values would be biased.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use whyloss_link::{Random, Streams};
use whyloss_sim::scenario::ScenarioError;
use whyloss_sim::{Registry, RunError, Scenario};

use super::criterion::Against;
use super::run::relative;
use super::{Carrier, Contender};
use crate::experiment::Progress;
use crate::{Mean, statistics};

/// The number of candidates in a round.
const ROUND: u64 = 8;
/// The number of rounds without a worse network, after which a climb ends.
const PATIENCE: u32 = 10;
/// The number of seeds that judge a candidate in the search, starting with seed 1.
const SEEDS: u64 = 3;
/// The number of seeds that judge the networks found, starting with seed 1001.
const FRESH: u64 = 10;
/// The minimum number of packets that the CUBIC flow receives alongside other CUBIC flows. With
/// fewer, harm is not measured.
const LEAST: f64 = 500.0;

/// The limits of a search.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The seed of the drawn networks.
    pub seed: u64,
    /// The maximum number of networks to try.
    pub evaluations: u64,
    /// The longest duration of the search, in wall-clock time.
    pub time: Duration,
}

/// A network of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Network {
    /// The rate of the link, in bit/s.
    rate: f64,
    /// The round-trip time without queueing, in s.
    round_trip: f64,
    /// The buffer, as a share of the product of rate and round trip.
    buffer: f64,
    /// The index of the queue: DropTail, RED, `CoDel`, PIE or FQ-CoDel.
    queue: u64,
    /// The number of flows of the scheme.
    flows: u64,
    /// The share of packets that the channel loses; 0 if there is no channel.
    loss: f64,
    /// The probability that the next packet after a lost one is also lost.
    stay: f64,
    /// The start times of the CUBIC flow and of the scheme's flows, in s.
    starts: [f64; 2],
}

/// A network and the harm in it.
#[derive(Clone, Debug)]
pub struct Found {
    /// The network in which the harm was measured.
    pub network: Network,
    /// The harm found in the search, in %.
    pub harm: f64,
    /// The harm with fresh seeds and half its 95 % interval, both in %.
    pub again: (f64, f64),
    /// The scenario, whose judged flows have the scheme.
    pub scenario: String,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The network with the highest harm; `None` if no network was judged.
    pub worst: Option<Found>,
    /// The network with the highest harm among those whose channel loses nothing; `None` if there
    /// is none.
    pub clean: Option<Found>,
    /// The number of networks that were judged.
    pub evaluations: u64,
    /// The number of random starts from which the search climbed.
    pub climbs: u64,
}

impl Network {
    fn draw(random: &mut Random) -> Self {
        let loss = if random.chance(0.5) {
            0.0
        } else {
            log_uniform(random, 0.0005, 0.05)
        };
        Self {
            rate: log_uniform(random, 0.5e6, 50e6),
            round_trip: log_uniform(random, 0.005, 0.6),
            buffer: log_uniform(random, 0.05, 8.0),
            queue: random.below(5),
            flows: 1 + random.below(8),
            loss,
            stay: 0.6 * random.uniform(),
            starts: [10.0 * random.uniform(), 10.0 * random.uniform()],
        }
    }

    /// Changes one to three parameters slightly.
    fn mutate(mut self, random: &mut Random) -> Self {
        for _ in 0..=random.below(3) {
            let factor = log_uniform(random, 0.6, 1.0 / 0.6);
            match random.below(8) {
                0 => self.rate = (self.rate * factor).clamp(0.5e6, 50e6),
                1 => self.round_trip = (self.round_trip * factor).clamp(0.005, 0.6),
                2 => self.buffer = (self.buffer * factor).clamp(0.05, 8.0),
                3 => self.queue = random.below(5),
                4 => {
                    self.flows = (self.flows + random.below(5))
                        .saturating_sub(2)
                        .clamp(1, 16);
                }
                5 if random.chance(0.3) => self.loss = 0.0,
                5 if self.loss > 0.0 => self.loss = (self.loss * factor).clamp(0.0005, 0.05),
                5 => self.loss = 0.002,
                6 => self.stay = 0.6 * random.uniform(),
                _ => self.starts[random.below(2) as usize] = 10.0 * random.uniform(),
            }
        }
        self
    }

    /// Returns the scenario of this network. Its judged flows use CUBIC unless overrides give them
    /// another scheme.
    pub fn scenario(&self) -> String {
        let packets =
            (self.rate * self.round_trip * self.buffer / 12_000.0).clamp(4.0, 5_000.0) as u64;
        let queue = match self.queue {
            1 => format!("{{ packets = {}, red = \"adaptive\" }}", packets.max(12)),
            2 => "{ packets = 1000, aqm = \"codel\" }".to_owned(),
            3 => "{ packets = 1000, aqm = \"pie\" }".to_owned(),
            4 => "{ packets = 1000, aqm = \"fq-codel\" }".to_owned(),
            _ => format!("{{ packets = {packets} }}"),
        };
        let channel = if self.loss > 0.0 {
            format!(
                "{{ kind = \"gilbert-elliott\", loss = {:.5}, stay = {:.3} }}",
                self.loss, self.stay
            )
        } else {
            "\"none\"".to_owned()
        };
        let rate = format!("{:.0} kbit/s", self.rate / 1e3);
        let delay = format!("{:.0} us", self.round_trip / 2.0 * 1e6);
        let mut text = format!(
            "title = \"A network in which a scheme harms a CUBIC flow\"\nduration = \"80 s\"\nmeasure_from = \"20 s\"\n\n\
             [[link]]\nname = \"narrow\"\nfrom = \"server\"\nto = \"client\"\nrate = \"{rate}\"\ndelay = \"{delay}\"\nqueue = {queue}\nchannel = {channel}\nboth_ways = false\n\n\
             [[link]]\nname = \"back\"\nfrom = \"client\"\nto = \"server\"\nrate = \"{rate}\"\ndelay = \"{delay}\"\nqueue = {{ packets = 1000 }}\nboth_ways = false\n"
        );
        for (name, count, start) in [
            ("plain", 1, self.starts[0]),
            ("own-{i}", self.flows, self.starts[1]),
        ] {
            let _ = write!(
                text,
                "\n[[flow]]\nname = \"{name}\"\ncount = {count}\nfrom = \"server\"\nto = \"client\"\ntransport = {{ kind = \"tcp\", recovery = \"rack\", controller = \"cubic\" }}\nstart = [\"{start:.3} s\", \"{:.3} s\"]\n",
                start + 0.5
            );
        }
        text.replace("name = \"plain\"\ncount = 1\n", "name = \"plain\"\n")
    }

    /// Returns the scenario file, in which `contender` controls the judged flows.
    fn written(&self, contender: &Contender, carrier: Carrier) -> String {
        let mut text = self.scenario();
        let own = text.find("name = \"own-{i}\"").unwrap_or(text.len());
        let mut flow = text.split_off(own);
        let sets = contender.sets("x", carrier);
        for (key, value) in &sets {
            let key = key.trim_start_matches("flow.x.");
            match key.strip_prefix("transport.") {
                None if key == "transport" => {
                    let at = flow.find("transport = ").unwrap_or(flow.len());
                    let end = flow[at..].find('\n').map_or(flow.len(), |end| at + end);
                    flow.replace_range(at..end, &format!("transport = {value}"));
                }
                None => {
                    let _ = writeln!(flow, "{key} = \"{value}\"");
                }
                Some(inner) => {
                    if inner == "controller" {
                        flow = flow.replace(", controller = \"cubic\"", "");
                    }
                    if inner == "recovery" {
                        flow = flow.replace(", recovery = \"rack\"", "");
                    }
                    if let Some(at) = flow.find(" }\nstart") {
                        flow.insert_str(at, &format!(", {inner} = \"{value}\""));
                    }
                }
            }
        }
        if sets.iter().any(|(key, _)| key.ends_with("scheme")) {
            // The transport's own keys would take precedence over the scheme.
            flow = flow.replace(", controller = \"cubic\"", "");
        }
        format!("{text}{flow}")
    }

    /// Returns the harm in percent, relative to CUBIC in the same place; `None` where it cannot be
    /// measured.
    fn harm(
        &self,
        contender: &Contender,
        carrier: Carrier,
        registry: &Registry,
        seeds: std::ops::Range<u64>,
    ) -> Result<Option<Mean>, RunError> {
        let delivered = |text: &str| -> Result<Vec<f64>, RunError> {
            let scenario = Scenario::from_toml_with(text, "adversary", &[], registry);
            let scenario = scenario.unwrap_or_else(|error| panic!("{error}\n{text}"));
            let run = |seed| {
                let run = whyloss_sim::Simulation::new(&scenario, seed).run()?;
                let plain = run.flows.iter().find(|flow| flow.name == "plain");
                Ok(plain.map_or(0.0, |flow| flow.delivered as f64))
            };
            seeds.clone().map(run).collect()
        };
        let beside_cubic = delivered(&self.scenario())?;
        if statistics::mean(&beside_cubic).unwrap_or_default() < LEAST {
            return Ok(None);
        }
        let own = delivered(&self.written(contender, carrier))?;
        Ok(Some(relative(&own, &beside_cubic, Against::Cubic)))
    }
}

/// Checks that the flows of the search can carry the scheme.
///
/// # Errors
/// Returns the scenario's error.
pub fn check(
    contender: &Contender,
    carrier: Carrier,
    registry: &Registry,
) -> Result<(), ScenarioError> {
    let network = Network::draw(&mut Streams::new(0).stream("check", 0));
    let text = network.written(contender, carrier);
    Scenario::from_toml_with(&text, &contender.name, &[], registry)?;
    Ok(())
}

/// Searches until the effort is spent or `stop` is set.
///
/// # Errors
/// Returns the error of a run that fails.
///
/// # Panics
/// Panics if the flows of the search cannot carry the scheme; call [`check`] first.
#[expect(
    clippy::disallowed_methods,
    reason = "how long a search may take decides how many networks it tries, not what is measured in one"
)]
pub fn search(
    contender: &Contender,
    carrier: Carrier,
    effort: Effort,
    registry: &Registry,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Outcome, RunError> {
    let began = Instant::now();
    let streams = Streams::new(effort.seed);
    let (mut best, mut idle, mut done, mut climbs): (Option<(f64, Network)>, u32, u64, u64) =
        (None, 0, 0, 0);
    // The worst networks of each climb, with and without a lossy channel.
    let mut peaks: [Vec<(f64, Network)>; 2] = [Vec::new(), Vec::new()];
    progress.expect(effort.evaluations);
    while done < effort.evaluations
        && began.elapsed() < effort.time
        && !stop.load(Ordering::Relaxed)
    {
        if best.is_none() {
            climbs += 1;
            for peaks in &mut peaks {
                let nothing = Network::draw(&mut streams.stream("none", 0));
                peaks.push((f64::NEG_INFINITY, nothing));
            }
        }
        let candidate = |number: u64| {
            let mut random = streams.stream("candidate", done + number);
            match best {
                Some((_, network)) => network.mutate(&mut random),
                None => Network::draw(&mut random),
            }
        };
        let round = ROUND.min(effort.evaluations - done);
        let candidates: Vec<Network> = (0..round).map(candidate).collect();
        let judged: Result<Vec<_>, RunError> = candidates
            .par_iter()
            .map(|network| {
                let harm = network.harm(contender, carrier, registry, 1..1 + SEEDS)?;
                progress.finish();
                Ok((harm.map(|harm| harm.value), *network))
            })
            .collect();
        done += round;
        let before = best.map_or(f64::NEG_INFINITY, |best| best.0);
        for (harm, network) in judged? {
            let Some(harm) = harm else { continue };
            if best.is_none_or(|best| harm > best.0) {
                best = Some((harm, network));
            }
            let kinds = if network.loss > 0.0 { 0..1 } else { 0..2 };
            for peaks in &mut peaks[kinds] {
                if let Some(peak) = peaks.last_mut().filter(|peak| harm > peak.0) {
                    *peak = (harm, network);
                }
            }
        }
        idle = if best.is_some_and(|best| best.0 > before) {
            0
        } else {
            idle + 1
        };
        if idle >= PATIENCE {
            (best, idle) = (None, 0);
        }
    }
    let [worst, clean] = peaks.map(|mut peaks| {
        peaks.retain(|peak| peak.0.is_finite());
        peaks.sort_by(|a, b| b.0.total_cmp(&a.0));
        peaks.truncate(3);
        let again: Result<Vec<Found>, RunError> = peaks
            .par_iter()
            .filter_map(|&(harm, network)| {
                let fresh = network.harm(contender, carrier, registry, 1001..1001 + FRESH);
                let found = |again: Mean| Found {
                    network,
                    harm,
                    again: (again.value, again.half_width),
                    scenario: network.written(contender, carrier),
                };
                fresh.map(|again| again.map(found)).transpose()
            })
            .collect();
        again.map(|found| {
            found
                .into_iter()
                .max_by(|a, b| a.again.0.total_cmp(&b.again.0))
        })
    });
    Ok(Outcome {
        worst: worst?,
        clean: clean?,
        evaluations: done,
        climbs,
    })
}

fn log_uniform(random: &mut Random, from: f64, to: f64) -> f64 {
    from * libm::pow(to / from, random.uniform())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Unwatched;

    fn short(scheme: &str, evaluations: u64) -> Outcome {
        let registry = Registry::new();
        let contender = Contender::find(scheme, &registry).expect("registered");
        let effort = Effort {
            seed: 7,
            evaluations,
            time: Duration::MAX,
        };
        let stop = AtomicBool::new(false);
        search(
            &contender,
            Carrier::Tcp,
            effort,
            &registry,
            &Unwatched,
            &stop,
        )
        .expect("runs")
    }

    /// A repeated search finds an equal network, which is a valid scenario.
    #[test]
    fn it_is_deterministic_and_writes_a_scenario() {
        let [one, other] = [short("whyloss", 16), short("whyloss", 16)];
        let [one, other] = [one, other].map(|found| found.worst.expect("a network"));
        assert_eq!((one.network, one.again), (other.network, other.again));
        let scenario = Scenario::from_toml(&one.scenario, "worst", &[]).expect("valid");
        assert!(scenario.check().is_ok());
    }

    /// A harmful scheme is found. CUBIC in its place does no harm, with certainty.
    #[test]
    fn it_tells_harm_from_none() {
        let again = |scheme| short(scheme, 16).worst.expect("a network").again;
        assert!(again("bbr").0 > 30.0);
        let (harm, half_width) = again("cubic");
        assert!(
            harm.abs() < 1e-9 && half_width == 0.0,
            "{harm} ± {half_width}"
        );
    }

    /// Runs mutated networks: each is a valid scenario.
    #[test]
    fn mutations_are_valid() {
        let mut random = Streams::new(3).stream("mutations", 0);
        let mut network = Network::draw(&mut random);
        let registry = Registry::new();
        for scheme in ["whyloss", "vegas", "cubic+trees", "bbr"] {
            let contender = Contender::find(scheme, &registry).expect("registered");
            for _ in 0..100 {
                network = network.mutate(&mut random);
                let text = network.written(&contender, Carrier::Tcp);
                let scenario = Scenario::from_toml(&text, "mutated", &[]);
                let scenario = scenario.unwrap_or_else(|error| panic!("{error}\n{text}"));
                assert!(scenario.check().is_ok(), "{text}");
            }
        }
    }
}
