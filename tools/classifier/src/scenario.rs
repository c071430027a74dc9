//! Runs drivers in a scenario file, and prints the goodput and the error rates of each.

use std::error::Error;
use std::path::Path;

use whyloss::Confusion;
use whyloss_sim::Scenario;

use crate::networks::Drivers;

/// Prints a line for each driver, over the flows that it controls and all seeds.
pub(crate) fn run(
    file: &Path,
    flows: &str,
    sets: &[String],
    seeds: u64,
    drivers: &Drivers,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let text = std::fs::read_to_string(file)?;
    let sets: Vec<(String, String)> = sets
        .iter()
        .filter_map(|set| set.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    println!(
        "driver: kbit/s of its flows, of the others; of its flows congestion loss %, Mc %, Mw %"
    );
    for driver in &drivers.names {
        let model = drivers.model(driver).is_some();
        let mut sets = sets.clone();
        let known = if model { "unaware" } else { driver };
        let key = format!("flow.{}.classifier", flows.trim_end_matches('-'));
        sets.push((key, known.to_owned()));
        let mut scenario = Scenario::from_toml(&text, &file.to_string_lossy(), &sets)?;
        drivers.put(driver, &mut scenario, flows);
        let (mut rates, mut lost, mut sent) = ([0.0; 2], 0, 0);
        let mut verdicts = Confusion::default();
        for seed in 1..=seeds {
            let run = whyloss_sim::Simulation::new(&scenario, seed).run()?;
            for (flow, found) in scenario.flows.iter().zip(&run.flows) {
                let own = flow.name.starts_with(flows);
                if !flow.background {
                    rates[usize::from(!own)] +=
                        found.throughput_bps(run.window) / 1e3 / seeds as f64;
                }
                if own {
                    lost += found.lost.congestion;
                    sent += found.received + found.lost.congestion + found.lost.wireless;
                    verdicts.merge(&found.packets);
                }
            }
        }
        let percent = |share: Option<f64>| share.map_or(f64::NAN, |share| 100.0 * share);
        println!(
            "{driver}: {:.1}, {:.1}; {:.2}, {:.1}, {:.1}",
            rates[0],
            rates[1],
            100.0 * lost as f64 / sent as f64,
            percent(verdicts.mc()),
            percent(verdicts.mw())
        );
    }
    Ok(())
}
