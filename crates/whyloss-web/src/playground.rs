//! Runs a scenario. Returns its results and the data that a canvas draws.

use std::path::Path;

use whyloss::{Cause, Time};
use whyloss_link::Fate;
use whyloss_sim::scenario::ScenarioFile;
use whyloss_sim::{Event, Needs, Scenario, Simulation, Watch};
use whyloss_study::results::{Results, Seed, json};

/// The scenario's name in messages and results.
pub const NAME: &str = "playground.toml";

/// The maximum number of rows of a table. More rows are counted, but not drawn.
const MOST_ROWS: usize = 1 << 20;

/// The results of one run. Times are in seconds and sizes in bytes. Unknown values are NaN. Tables
/// are lists of rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Play {
    /// The results as `whyloss run --format json` prints them.
    pub results: String,
    /// A row per data packet offered to a link: time, time of the fate, index of the link, index of
    /// the flow, packet number, size, packets waiting at that time, and fate. A fate is 0
    /// (delivered), 1 (congestion) or 2 (wireless).
    pub packets: Vec<[f64; 8]>,
    /// A row per change of a source: time, index of the flow, window, rate in bytes per second,
    /// round-trip time.
    pub sources: Vec<[f64; 5]>,
    /// A row per verdict: time, index of the flow, packet number, true cause, verdict (1
    /// congestion, 2 wireless).
    pub losses: Vec<[f64; 5]>,
}

/// Runs a scenario with one seed.
///
/// # Errors
/// Returns an error message if the scenario is invalid or its run needs too much memory.
pub fn play(text: &str, seed: u64) -> Result<Play, String> {
    let file = ScenarioFile::parse(text, NAME, &[]).map_err(|error| error.to_string())?;
    let scenario = file.scenario;
    let mut watch = Rows(Play::default());
    let simulation = Simulation::new(&scenario, seed).watch(&mut watch);
    let run = simulation.measure(Needs::all(&scenario));
    let run = run.map_err(|error| error.to_string())?;
    let mut play = watch.0;
    play.results = results(&scenario, &[Seed::of(&scenario, &run)]);
    Ok(play)
}

fn results(scenario: &Scenario, seeds: &[Seed]) -> String {
    json::render(&Results::of(scenario, seeds), Path::new(NAME))
}

impl Play {
    /// Returns results, packets, sources and losses as bytes. The tables are little-endian reals,
    /// row by row.
    pub fn into_parts(self) -> Vec<Vec<u8>> {
        vec![
            self.results.into_bytes(),
            bytes(&self.packets),
            bytes(&self.sources),
            bytes(&self.losses),
        ]
    }
}

fn bytes<const N: usize>(rows: &[[f64; N]]) -> Vec<u8> {
    let reals = rows.as_flattened().iter();
    reals.flat_map(|real| real.to_le_bytes()).collect()
}

/// Fills the tables.
struct Rows(Play);

impl Watch for Rows {
    fn on(&mut self, event: &Event<'_>) {
        let Self(play) = self;
        match *event {
            Event::Offered {
                link,
                at,
                packet,
                waiting,
                fate,
                ..
            } => {
                let Some(sequence) = packet.payload.sequence() else {
                    return;
                };
                let what = match fate {
                    Fate::Lost(cause, _) => number(cause),
                    Fate::Delivered(_) | Fate::Damaged(..) | Fate::Held => 0.0,
                };
                let row = [
                    seconds(at),
                    seconds(fate.when()),
                    link as f64,
                    f64::from(packet.flow),
                    sequence as f64,
                    f64::from(packet.size),
                    waiting as f64,
                    what,
                ];
                push(&mut play.packets, row);
            }
            Event::Acted { flow, at, state } => {
                let row = [
                    seconds(at),
                    flow as f64,
                    state.cwnd.map_or(f64::NAN, |bytes| bytes as f64),
                    state.rate.unwrap_or(f64::NAN),
                    state
                        .rtt
                        .or(state.srtt)
                        .map_or(f64::NAN, whyloss::SignedDuration::as_secs_f64),
                ];
                push(&mut play.sources, row);
            }
            Event::Judged {
                flow,
                at,
                sequence,
                truth,
                verdict,
            } => {
                let row = [
                    seconds(at),
                    flow as f64,
                    sequence as f64,
                    number(truth),
                    number(verdict),
                ];
                push(&mut play.losses, row);
            }
            _ => {}
        }
    }
}

fn push<const N: usize>(rows: &mut Vec<[f64; N]>, row: [f64; N]) {
    if rows.len() < MOST_ROWS {
        rows.push(row);
    }
}

fn seconds(at: Time) -> f64 {
    (at - Time::ZERO).as_secs_f64()
}

fn number(cause: Cause) -> f64 {
    match cause {
        Cause::Congestion => 1.0,
        Cause::Wireless => 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOSSY: &str = r#"
        duration = "10 s"
        link = [{ from = "a", to = "b", rate = "1 Mbit/s", delay = "5 ms", queue = { packets = 10 },
                  channel = { kind = "bernoulli", loss = 0.02 } }]
        flow = [{ from = "a", to = "b", transport = "tfrc", classifier = "zbs2" }]
    "#;

    #[test]
    fn tables_agree_with_the_results() {
        let play = play(LOSSY, 1).expect("a scenario");
        let results: serde_json::Value = serde_json::from_str(&play.results).expect("JSON");
        let lost = |fate: f64| {
            let of_fate = |row: &&[f64; 8]| row[7].total_cmp(&fate).is_eq();
            play.packets.iter().filter(of_fate).count()
        };
        for (fate, cause) in [(1.0, "congestion"), (2.0, "wireless")] {
            assert_eq!(results["total"]["lost"][cause], lost(fate), "{cause}");
            assert!(lost(fate) > 0, "{cause}");
        }
        assert_eq!(results["total"]["sent"], play.packets.len());
        assert!(!play.losses.is_empty() && !play.sources.is_empty());
        let parts = play.clone().into_parts();
        assert_eq!(parts[1].len(), play.packets.len() * 8 * size_of::<f64>());
    }

    #[test]
    fn wrong_scenarios_are_refused_with_their_line() {
        let message = play("duration = \"10 s\"\nlinks = 3\n", 1).expect_err("a wrong key");
        assert!(message.starts_with("playground.toml:2"), "{message}");
    }
}
