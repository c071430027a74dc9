//! `whyloss bench --ablate`: measures the saving of each shortcut of the fast engine.
//!
//! Each network runs with all shortcuts and without each one, under callgrind. A negative saving
//! means that a shortcut costs more on that network than it saves.

use core::fmt::Write;

use whyloss_sim::Shortcut;
use whyloss_study::Progress as _;

use super::callgrind;
use super::child::{self, Measured};
use super::error::BenchError;
use super::render::aligned;
use super::workload::{Load, Network};
use crate::progress::Bar;

/// The measured networks, each with its name and the simulated seconds of a shorter and a longer
/// run. The difference of the two runs excludes the start of the process.
const NETWORKS: [(Network, &str, [u32; 2]); 5] = [
    (Network::Dumbbell, "dumbbell", [2, 6]),
    (Network::OneFlow, "one flow", [5, 25]),
    (Network::ParkingLot, "parking lot", [2, 6]),
    (Network::Tfrc, "TFRC", [2, 6]),
    (Network::Codel, "CoDel", [2, 6]),
];

/// The cost of a packet on one network, in instructions and in events.
#[derive(Clone, Copy)]
struct Cost {
    instructions: f64,
    events: f64,
}

/// Measures the savings of each shortcut, and returns a table.
pub(super) fn table(bar: &Bar) -> Result<String, BenchError> {
    bar.expect(NETWORKS.len() as u64 * (1 + Shortcut::ALL.len() as u64));
    let mut whole = Vec::new();
    for network in NETWORKS {
        whole.push(cost(network, None, bar)?);
    }
    let heads = NETWORKS.map(|(_, name, _)| name.to_owned());
    let mut instructions = vec![[vec![String::new()], heads.to_vec()].concat()];
    let mut events = instructions.clone();
    let row = |name: &str, costs: &[Cost], cell: &dyn Fn(&Cost) -> String| {
        let cells = costs.iter().map(cell);
        core::iter::once(name.to_owned()).chain(cells).collect()
    };
    instructions.push(row("all shortcuts", &whole, &|cost| {
        format!("{:.0}", cost.instructions)
    }));
    events.push(row("all shortcuts", &whole, &|cost| {
        format!("{:.2}", cost.events)
    }));
    for shortcut in Shortcut::ALL {
        let mut cells = vec![format!("without {}", shortcut.name())];
        let mut without = cells.clone();
        for (network, all) in NETWORKS.into_iter().zip(&whole) {
            let cost = cost(network, Some(shortcut), bar)?;
            let more = 100.0 * (cost.instructions / all.instructions - 1.0);
            cells.push(format!("{more:+.1} %"));
            without.push(format!("{:.2}", cost.events));
        }
        instructions.push(cells);
        events.push(without);
    }
    let mut text = String::new();
    let _ = write!(
        text,
        "instructions per delivered packet\n\n{}\nevents per delivered packet\n\n{}",
        aligned(&instructions),
        aligned(&events)
    );
    Ok(text)
}

fn cost(
    (network, name, seconds): (Network, &str, [u32; 2]),
    without: Option<Shortcut>,
    bar: &Bar,
) -> Result<Cost, BenchError> {
    bar.begin(name, 0, 1);
    let command = |seconds| {
        let load = Load {
            seconds: Some(seconds),
            ..Load::whole(network)
        };
        let mut command = child::command(&load, 1, 1)?;
        if let Some(shortcut) = without {
            command.args(["--without", shortcut.name()]);
        }
        Ok::<_, BenchError>((command, String::new()))
    };
    let (shorter, mut longer) = (command(seconds[0])?, command(seconds[1])?);
    let measured: Measured = child::measure(&mut longer.0, "")?;
    let instructions = callgrind::per_packet(&shorter, &longer)?;
    bar.finish();
    Ok(Cost {
        instructions,
        events: measured.events as f64 / measured.packets as f64,
    })
}
