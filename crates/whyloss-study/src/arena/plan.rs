//! Writes the arena as a plan for a sweep: every network, in each variant, under every contender.

use std::collections::HashMap;

use toml::{Table, Value};
use whyloss_sim::{Registry, Scenario, Simulation};

use super::{Contender, Setting, Tally, Variant};
use crate::ExperimentError;
use crate::axis::{Axis, Choice};
use crate::metric::{Metric, Observed};
use crate::plan::{Document, Network as File, Plan, PlanError};

/// The metrics of a run, in the order that [`Tally::of`] takes them.
const COUNTS: [&str; 9] = [
    "delivered = sum(delivered@judged)",
    "received = sum(received@judged)",
    "congestion = sum(lost.congestion@judged)",
    "wireless = sum(lost.wireless@judged)",
    "congestion_called_congestion = sum(packets.congestion_called_congestion@judged)",
    "congestion_called_wireless = sum(packets.congestion_called_wireless@judged)",
    "wireless_called_congestion = sum(packets.wireless_called_congestion@judged)",
    "wireless_called_wireless = sum(packets.wireless_called_wireless@judged)",
    "plain = flow.plain.delivered",
];

/// Returns the variants that a setting runs. Those with an additional flow measure harm.
pub(super) fn variants(setting: &Setting) -> &'static [Variant] {
    if setting.harm {
        &[Variant::Drawn, Variant::Beside, Variant::BesideClean]
    } else {
        &[Variant::Drawn]
    }
}

/// Returns the plan of these contenders. Networks vary slowest, then variants, then contenders.
///
/// # Errors
/// Returns an error if it exceeds the networks or runs that a plan may have.
pub fn plan(
    setting: &Setting,
    contenders: &[Contender],
    seeds: u64,
    registry: &Registry,
) -> Result<Plan, PlanError> {
    let mut files = HashMap::new();
    let mut networks = Vec::new();
    for network in setting.draw() {
        for &variant in variants(setting) {
            let place = format!("{}{}", network.index, variant.suffix());
            let file = format!("network-{place}.toml");
            networks.push(choice(place, Some(file.clone()), Table::new()));
            files.insert(file, network.scenario(setting.transport, variant));
        }
    }
    let of = |contender: &Contender| {
        let set = contender.set(setting.transport, setting.ecn, registry);
        choice(contender.0.clone(), None, Table::from_iter([set]))
    };
    let contenders = contenders.iter().map(of).collect();
    let axis = |name: &str, choices| Axis {
        choices: Some(choices),
        ..Axis::named(name.to_owned())
    };
    let first = networks.first().and_then(|first| first.scenario.clone());
    // Without harm, the last count has no flow to sum.
    let counts = &COUNTS[..COUNTS.len() - usize::from(!setting.harm)];
    let document = Document {
        scenario: first.clone(),
        seeds,
        first_seed: 1,
        metrics: counts.iter().map(|&count| count.to_owned()).collect(),
        axes: vec![axis("network", networks), axis("contender", contenders)],
        ..Document::default()
    };
    let read = |file: &str| -> Result<File, PlanError> {
        Ok(File {
            file: file.to_owned(),
            text: files.get(file).cloned().unwrap_or_default(),
        })
    };
    let first = read(first.as_deref().unwrap_or_default())?;
    Plan::new("arena.toml", first, document, read)
}

fn choice(name: String, scenario: Option<String>, set: Table) -> Choice {
    Choice {
        name: Value::String(name),
        scenario,
        network: None,
        set,
    }
}

/// Runs one point of an arena's plan with one seed.
pub(super) fn run(
    plan: &Plan,
    point: u64,
    seed: u64,
    registry: &Registry,
) -> Result<Tally, ExperimentError> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| ExperimentError::Failed(error);
    let at = plan.point(point);
    let File { file, text } = &plan.networks[at.network];
    let scenario = Scenario::from_toml_with(text, file, &at.set, registry);
    let scenario = scenario.map_err(|error| failed(error.into()))?;
    let measurement = Simulation::new(&scenario, seed).run();
    let measurement = measurement.map_err(|error| failed(error.into()))?;
    let run = Observed {
        measurement: &measurement,
        delays: &[],
        frames: &[],
        probe: &[],
    };
    let mut counts = [0; COUNTS.len()];
    for (count, metric) in counts.iter_mut().zip(COUNTS) {
        let metric = Metric::find(metric).map_err(|message| failed(message.into()))?;
        *count = metric.of(&run, None).unwrap_or_default() as u64;
    }
    Ok(Tally::of(counts))
}
