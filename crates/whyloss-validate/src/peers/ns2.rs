//! Runs ns-2 2.35 for a comparison, one process per run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::description::Asked;
use super::{Missing, Peer, PeerError, keep, process};
use crate::case::Observed;

const SCRIPT: &str = include_str!("../../peers/ns2.tcl");
/// The time limit of a run. A run takes at most a second, but an agent whose window grows without
/// bound never ends.
const LIMIT: Duration = Duration::from_mins(1);

/// An ns-2 on this machine.
#[derive(Clone, Debug)]
pub struct Ns2 {
    /// The directory for scripts, in which ns-2 runs and briefly leaves its trace.
    directory: PathBuf,
}

impl Ns2 {
    /// Looks for ns-2. `cache` is the path from [`cache`](super::cache).
    ///
    /// # Errors
    /// Returns an outer error if the cache cannot be written, and an inner error if ns-2 is
    /// missing.
    pub fn find(cache: &Path) -> Result<Result<Self, Missing>, PeerError> {
        let probe = keep(
            cache,
            "probe.tcl",
            "puts [[new Simulator] info class]; exit 0\n",
        )?;
        let answer = process::run(Command::new("ns").arg(&probe), "", LIMIT);
        let why = match answer {
            Ok(answer) if answer.trim() == "Simulator" => {
                let directory = cache.to_owned();
                return Ok(Ok(Self { directory }));
            }
            Ok(_) => "`ns` is not ns-2".to_owned(),
            Err(error) => error.to_string(),
        };
        let peer = Peer::Ns2;
        Ok(Err(Missing { peer, why }))
    }

    /// Writes a script into the cache under `name`, and returns the command that runs it.
    ///
    /// # Errors
    /// Returns [`PeerError::Cache`] if the script cannot be written.
    pub fn script(&self, name: &str, text: &str) -> Result<Command, PeerError> {
        let mut command = Command::new("ns");
        command.arg(keep(&self.directory, name, text)?);
        command.current_dir(&self.directory);
        Ok(command)
    }

    /// Returns the results of one run.
    ///
    /// # Errors
    /// Returns an error if ns-2 fails or prints an unexpected output.
    pub(crate) fn run(&self, asked: &Asked<'_>) -> Result<Observed, PeerError> {
        let answer = self.answer(asked)?;
        let mut runs = asked.observed(&answer)?;
        runs.pop().ok_or(PeerError::Unknown("no run"))
    }

    /// Returns the time in seconds and the number of each packet offered to the traced link.
    ///
    /// # Errors
    /// Returns an error if ns-2 fails or prints an unexpected output.
    pub(crate) fn trace(&self, asked: &Asked<'_>) -> Result<Vec<(f64, u64)>, PeerError> {
        let answer = self.answer(asked)?;
        let sent = answer.lines().filter_map(|line| line.strip_prefix("sent "));
        let sent = sent.map(|line| {
            let (time, sequence) = line.split_once(' ')?;
            Some((time.parse().ok()?, sequence.parse().ok()?))
        });
        let sent: Option<Vec<(f64, u64)>> = sent.collect();
        sent.filter(|sent| !sent.is_empty())
            .ok_or_else(|| PeerError::nonsense("the packets sent", &answer))
    }

    fn answer(&self, asked: &Asked<'_>) -> Result<String, PeerError> {
        let mut command = self.script("ns2.tcl", SCRIPT)?;
        process::run(&mut command, &asked.description()?, LIMIT)
    }
}
