//! Instructions, counted by valgrind's callgrind, which do not depend on what else the machine does.
//!
//! ```text
//! instructions per packet = (instructions of the longer run − of the shorter) / (packets of the longer − of the shorter)
//! ```
//!
//! so that starting the process and building the network cancel out.

use std::process::Command;

use super::child::{self, Measured};
use super::error::BenchError;

/// The command that installs it.
pub(crate) const INSTALL: &str = "apt-get install valgrind";

/// Whether valgrind is there.
pub(crate) fn is_there() -> bool {
    let answer = Command::new("valgrind").arg("--version").output();
    answer.is_ok_and(|output| output.status.success())
}

/// Instructions per packet, from two runs that differ in simulated time alone: each a command and its input.
///
/// # Errors
/// If a run fails, or the longer one delivers no more than the shorter.
pub(crate) fn per_packet(
    shorter: &(Command, String),
    longer: &(Command, String),
) -> Result<f64, BenchError> {
    let (less, few) = count(shorter)?;
    let (more, many) = count(longer)?;
    if more <= less || many.packets <= few.packets {
        return Err(BenchError::Answer {
            name: "valgrind".into(),
            found: format!("{less} and {more} instructions"),
        });
    }
    Ok((more - less) as f64 / (many.packets - few.packets) as f64)
}

fn count((command, input): &(Command, String)) -> Result<(u64, Measured), BenchError> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(command.get_program()).args(command.get_args());
    let (measured, words) = child::measure(&mut valgrind, input)?;
    let instructions = collected(&words).ok_or_else(|| BenchError::Answer {
        name: "valgrind".into(),
        found: words.chars().take(120).collect(),
    })?;
    Ok((instructions, measured))
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
