//! Counts instructions with valgrind's callgrind. The counts do not depend on the load of the
//! machine.
//!
//! ```text
//! instructions per packet = (instructions of the longer run − of the shorter)
//!                           / (packets of the longer run − of the shorter)
//! ```
//!
//! In this quotient, the start of the process and the building of the network cancel out.

use std::process::Command;
use std::time::Duration;

use whyloss_validate::peers::{self, PeerError};

use super::child::{self, Measured};

/// The command that installs callgrind.
pub(crate) const INSTALL: &str = "apt-get install valgrind";
/// The time limit of a run. Callgrind makes a run about fifty times slower.
const LIMIT: Duration = Duration::from_hours(1);
const PROBE: Duration = Duration::from_mins(1);

/// Returns whether valgrind is installed.
pub(crate) fn is_there() -> bool {
    peers::run(Command::new("valgrind").arg("--version"), "", PROBE).is_ok()
}

/// Returns the instructions per packet from two runs that differ only in simulated time. Each run
/// is a command and its input.
///
/// # Errors
/// Returns an error if a run fails, or the longer run delivers no more packets than the shorter
/// one.
pub(crate) fn per_packet(
    shorter: &(Command, String),
    longer: &(Command, String),
) -> Result<f64, PeerError> {
    let (less, few) = count(shorter)?;
    let (more, many) = count(longer)?;
    if more <= less || many.packets <= few.packets {
        let found = format!("{less} and {more} instructions");
        return Err(PeerError::nonsense("more of the longer run", &found));
    }
    Ok((more - less) as f64 / (many.packets - few.packets) as f64)
}

fn count((command, input): &(Command, String)) -> Result<(u64, Measured), PeerError> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args([
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        "--log-fd=1",
    ]);
    valgrind.arg(command.get_program()).args(command.get_args());
    if let Some(directory) = command.get_current_dir() {
        valgrind.current_dir(directory);
    }
    let answer = peers::run(&mut valgrind, input, LIMIT)?;
    let instructions = collected(&answer);
    let instructions =
        instructions.ok_or_else(|| PeerError::nonsense("a count of instructions", &answer))?;
    Ok((instructions, child::measured(&answer)?))
}

/// Returns the number after "Collected :" in callgrind's output.
fn collected(words: &str) -> Option<u64> {
    let number = words.rsplit_once("Collected :")?.1;
    number.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_read() {
        let words = "==7== Events    : Ir\n==7== Collected : 2431207\n==7== \n";
        assert_eq!(collected(words), Some(2_431_207));
        assert_eq!(collected("==7== killed"), None);
    }
}
