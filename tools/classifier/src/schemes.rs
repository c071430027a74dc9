//! Compares whole schemes: received packets, harm to a flow without a classifier, and fairness
//! among equal flows.
//!
//! A contender is a controller, or a controller and a classifier (`cubic+trees`).

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use rayon::prelude::*;
use whyloss_sim::Scenario;
use whyloss_study::arena::{Family, LEAST, Network, Transport, Variant, quantile};
use whyloss_study::statistics;

use crate::networks::Drawn;

type Failure = Box<dyn Error + Send + Sync>;

/// The changes to the drawn networks.
#[derive(Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) drawn: Drawn,
    /// Whether judged flows use QUIC (quinn) instead of TCP.
    pub(crate) quic: bool,
    /// Whether buffers have 4 to 8 packets instead of the drawn size.
    pub(crate) shallow: bool,
    /// The length of a run in seconds, of which the first ten do not count.
    pub(crate) seconds: u32,
    /// The number of seeds, starting with seed 1.
    pub(crate) seeds: u64,
}

#[derive(Default)]
struct Tally {
    own: Vec<f64>,
    plain: f64,
}

impl Tally {
    fn received(&self) -> f64 {
        self.own.iter().sum()
    }

    /// Returns Jain's index of fairness, (Σx)²/(n·Σx²).
    fn fairness(&self) -> f64 {
        let squares: f64 = self.own.iter().map(|share| share * share).sum();
        self.received().powi(2) / (self.own.len() as f64 * squares)
    }
}

impl Setting {
    pub(crate) fn scenario(
        self,
        index: u64,
        contender: &str,
        variant: Variant,
    ) -> Result<Scenario, Failure> {
        let network = self.drawn.network(index);
        let text = network.scenario(Transport::Cubic, variant);
        let text = text.replace("\"130 s\"", &format!("\"{} s\"", self.seconds));
        let contender = contender
            .split_once('@')
            .map_or(contender, |(name, _)| name);
        let (controller, classifier) = contender.split_once('+').unwrap_or((contender, "unaware"));
        let own = if self.quic {
            format!("{{ kind = \"quic\", stack = \"quinn\", controller = \"{controller}\" }}")
        } else {
            let more = self.drawn.tcp;
            format!("{{ kind = \"tcp\", controller = \"{controller}\"{more} }}")
        };
        let mut overrides = Vec::new();
        for flow in 1..=network.flows {
            if self.quic {
                // This is the smallest packet size that QUIC allows.
                overrides.push((
                    format!("flow.judged-{flow}.packet"),
                    "\"1228 B\"".to_owned(),
                ));
            }
            overrides.push((format!("flow.judged-{flow}.transport"), own.clone()));
            if !controller.starts_with("stack-") {
                overrides.push((
                    format!("flow.judged-{flow}.classifier"),
                    classifier.to_owned(),
                ));
            }
        }
        if self.shallow {
            let queue = format!("{{ packets = {} }}", 4 + index / 3 % 5);
            overrides
                .extend(narrow(&network).map(|link| (format!("link.{link}.queue"), queue.clone())));
        }
        Ok(Scenario::from_toml(&text, "drawn", &overrides)?)
    }

    fn tally(self, index: u64, contender: &str, variant: Variant) -> Result<Tally, Failure> {
        let scenario = self.scenario(index, contender, variant)?;
        let mut tally = Tally::default();
        // `cubic@7` has other seeds, so its "harm" is chance alone.
        let offset: u64 = contender
            .split_once('@')
            .map_or(Ok(0), |(_, seed)| seed.parse())?;
        for seed in 1..=self.seeds {
            let run = whyloss_sim::Simulation::new(&scenario, 1000 * offset + seed).run()?;
            let own = run
                .flows
                .iter()
                .zip(&scenario.flows)
                .filter(|(_, spec)| !spec.background);
            let own: Vec<f64> = own.map(|(flow, _)| flow.delivered as f64).collect();
            let plain = run
                .flows
                .iter()
                .zip(&scenario.flows)
                .find(|(_, spec)| spec.name == "plain");
            tally.plain += plain.map_or(0.0, |(flow, _)| flow.delivered as f64);
            let mut sums = tally.own.into_iter();
            tally.own = own
                .iter()
                .map(|own| own + sums.next().unwrap_or(0.0))
                .collect();
        }
        Ok(tally)
    }

    fn all(self, contender: &str, variant: Variant) -> Result<Vec<Tally>, Failure> {
        let indices = (0..self.drawn.networks).into_par_iter();
        indices
            .map(|index| self.tally(index, contender, variant))
            .collect()
    }
}

/// Returns the names of the links that may be the bottleneck.
fn narrow(network: &Network) -> impl Iterator<Item = String> {
    let names = match network.family {
        Family::LastHop => (1..=network.flows)
            .map(|flow| format!("last-{flow}"))
            .collect(),
        Family::Backbone => vec!["core".to_owned()],
        Family::TwoQueues => vec!["core".to_owned(), "radio".to_owned()],
    };
    names.into_iter()
}

fn mean(values: &[f64]) -> f64 {
    statistics::mean(values).unwrap_or(f64::NAN)
}

/// Prints a line for each contender, relative to the first one, which should know the true causes
/// (`cubic+oracle`). Harm is relative to `cubic`.
pub(crate) fn run(
    setting: Setting,
    contenders: &[String],
    only_harm: bool,
    csv: Option<&Path>,
) -> Result<(), Failure> {
    let mut each = String::from(
        "contender,network,family,flows,rate,round_trip,buffer,loss,received,fairness,harm\n",
    );
    let reference = match contenders.first() {
        Some(first) if !only_harm => setting.all(first, Variant::Drawn)?,
        _ => Vec::new(),
    };
    let plain = setting.all("cubic", Variant::BesideClean)?;
    println!(
        "{:<28} received  p10    fairness  harm %: mean  p90  worst (network)",
        "contender"
    );
    for contender in contenders {
        let own = if only_harm {
            Vec::new()
        } else {
            setting.all(contender, Variant::Drawn)?
        };
        let beside = if contender.ends_with("+oracle") {
            Vec::new()
        } else {
            setting.all(contender, Variant::BesideClean)?
        };
        let (mut received, mut fairness, mut harms) = (Vec::new(), Vec::new(), Vec::new());
        for index in 0..setting.drawn.networks as usize {
            let share = own
                .get(index)
                .map(|own| own.received() / reference[index].received());
            let even = own.get(index).map(Tally::fairness);
            let harm = beside
                .get(index)
                .filter(|_| plain[index].plain >= LEAST as f64);
            let harm = harm.map(|beside| 100.0 * (1.0 - beside.plain / plain[index].plain));
            received.extend(share);
            fairness.extend(even);
            harms.extend(harm.map(|harm| (harm, index)));
            let n = setting.drawn.network(index as u64);
            let words =
                |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.4}"));
            let _ = writeln!(
                each,
                "{contender},{index},{},{},{:.0},{:.3},{},{:.4},{},{},{}",
                n.family.id(),
                n.flows,
                n.rate,
                n.round_trip,
                n.buffer,
                n.loss,
                words(share),
                words(even),
                words(harm)
            );
        }
        harms.sort_by(|one, other| other.0.total_cmp(&one.0));
        let worst: Vec<String> = harms
            .iter()
            .take(4)
            .map(|(harm, at)| format!("{harm:.0} ({at})"))
            .collect();
        let only: Vec<f64> = harms.iter().map(|harm| harm.0).collect();
        let at =
            |values: &[f64], share| quantile(values, share).map_or(f64::NAN, |(value, _)| value);
        println!(
            "{contender:<28} {:.3}  {:.3}  {:.3}  {:.1}  {:.1}  {}",
            mean(&received),
            at(&received, 0.1),
            mean(&fairness),
            mean(&only),
            at(&only, 0.9),
            worst.join(" ")
        );
    }
    if let Some(path) = csv {
        std::fs::write(path, each)?;
    }
    Ok(())
}
