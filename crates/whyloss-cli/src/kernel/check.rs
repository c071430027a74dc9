//! `whyloss kernel check`: compares the decisions of loaded controls with those of the library.

use std::io::Write;

use whyloss_kernel::bed::Bed;
use whyloss_kernel::check::{Checked, check as check_one};
use whyloss_kernel::control::{CONTROLS, Control};

use super::CheckArgs;
use crate::error::CliError;

/// The maximum number of rounds of transfers until enough events are compared. A busy machine moves
/// less data per round than an idle one.
const ROUNDS: u64 = 8;

pub(super) fn check(
    controls: &[&Control],
    args: &CheckArgs,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let scratch = std::env::temp_dir().join(format!("whyloss-kernel-{}", std::process::id()));
    let bed = Bed {
        program: std::env::current_exe().map_err(CliError::Start)?,
        scratch: scratch.clone(),
    };
    let all: Vec<&Control> = CONTROLS.iter().collect();
    let controls = if controls.is_empty() { &all } else { controls };
    writeln!(
        out,
        "{:<14} {:>9} {:>9} {:>7} {:>9} {:>7} {:>9} {:>7} {:>9} {:>7} {:>12} {:>8}",
        "control",
        "events",
        "compared",
        "sockets",
        "acks",
        "differ",
        "losses",
        "differ",
        "estimates",
        "differ",
        "farthest B/s",
        "of bound"
    )?;
    let (mut compared, mut wrong) = (0, Vec::new());
    let rounds = (0..ROUNDS).flat_map(|round| controls.iter().map(move |control| (round, control)));
    for (round, control) in rounds {
        if round > 0 && compared >= args.events {
            break;
        }
        let checked = check_one(&bed, control, args.seconds, args.seed + round)?;
        writeln!(out, "{}", row(control, &checked))?;
        out.flush()?;
        compared += checked.tally.compared;
        if !checked.tally.agrees() {
            wrong.push(format!("{} decides otherwise than the library", control.id));
        }
        if checked.tally.losses == 0 {
            wrong.push(format!("{} met no loss", control.id));
        }
        if !checked.gone {
            wrong.push(format!("{} was not gone afterwards", control.id));
        }
    }
    // The scratch files are no longer needed.
    let _ = std::fs::remove_dir_all(scratch);
    writeln!(out, "{compared} events compared")?;
    if compared < args.events {
        wrong.push(format!("{} events were to be compared", args.events));
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(CliError::Unlike(wrong))
    }
}

fn row(control: &Control, checked: &Checked) -> String {
    let tally = &checked.tally;
    let text = format!(
        "{:<14} {:>9} {:>9} {:>7} {:>9} {:>7} {:>9} {:>7} {:>9} {:>7} {:>12.3} {:>7.1} %\n\
         {:<14} of the losses {} were called wireless, {} found by timeouts, {} answered late; {} reductions were taken back",
        control.id,
        tally.events,
        tally.compared,
        tally.sockets,
        tally.acks,
        tally.states_differ,
        tally.losses,
        tally.verdicts_differ,
        tally.estimates,
        tally.estimates_differ,
        tally.farthest,
        100.0 * tally.nearest_to_bound,
        "",
        checked.wireless,
        checked.timeouts,
        checked.late,
        checked.undone,
    );
    match (tally.broken, tally.met_late) {
        (0, 0) => text,
        (broken, late) => {
            text + &format!("; of {broken} sockets events found no room, {late} were met late")
        }
    }
}
