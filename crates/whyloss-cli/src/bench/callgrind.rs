//! Instructions, counted by valgrind's callgrind, which do not depend on what else the machine
//! does.
//!
//! ```text
//! instructions per packet = (instructions of the longer run − of the shorter) / (packets of the longer − of the shorter)
//! ```
//!
//! so that starting the process and building the network cancel out.

use std::process::Command;
use std::time::Duration;

use whyloss_validate::peers::{self, PeerError};

use super::child::{self, Measured};

/// The command that installs it.
pub(crate) const INSTALL: &str = "apt-get install valgrind";
/// Fifty times as long as without it.
const LIMIT: Duration = Duration::from_hours(1);
const PROBE: Duration = Duration::from_mins(1);

/// Whether valgrind is there.
pub(crate) fn is_there() -> bool {
    peers::run(Command::new("valgrind").arg("--version"), "", PROBE).is_ok()
}

/// Instructions per packet, from two runs that differ in simulated time alone: each a command and
/// its input.
///
/// # Errors
/// If a run fails, or the longer one delivers no more than the shorter.
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

/// The number behind "Collected :".
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
