//! Finds and runs other simulators on this machine.
//!
//! | peer | found as | source |
//! |---|---|---|
//! | ns-2 | the command `ns` | Debian's package `ns2` |
//! | ns-3 | the header `ns3/core-module.h` and a C++ compiler | Debian's package `libns3-dev` |
//! | ns-3 from PyPI | the Python package `ns3` of the `python3` on the path, which includes headers and libraries | `pip install ns3` |
//!
//! The files in `peers/`, embedded here, drive these simulators in a comparison. They read a
//! description of a network from standard input and print counts. Other code may run its own
//! scripts in ns-2 ([`Ns2::script`]), the program for ns-3 ([`Ns3::command`]), and any command with
//! a time limit ([`run`]).

pub(crate) mod description;
pub(crate) mod ns2;
pub(crate) mod ns3;
mod process;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};

pub use description::{links, links_with};
pub use ns2::Ns2;
pub use ns3::Ns3;
pub use process::run;

/// A simulator to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Peer {
    /// ns-2, found as the command `ns`.
    Ns2,
    /// ns-3 from Debian's package.
    Ns3,
    /// ns-3 from the Python package `ns3`.
    Ns3Wheel,
}

impl Peer {
    /// Returns the simulator's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ns2 => "ns-2",
            Self::Ns3 => "ns-3",
            Self::Ns3Wheel => "ns-3 from PyPI",
        }
    }

    /// Returns the command that installs the simulator.
    pub fn install(self) -> &'static str {
        match self {
            Self::Ns2 => "apt-get install ns2",
            Self::Ns3 => "apt-get install libns3-dev g++",
            Self::Ns3Wheel => "apt-get install g++ && python3 -m pip install ns3",
        }
    }
}

/// A simulator that this machine cannot run, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The simulator that was run.
    pub peer: Peer,
    /// The missing or failing part.
    pub why: String,
}

/// The error of a simulator that gave no result.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// The simulator could not be started.
    #[error("`{name}` does not start: {source}")]
    Start {
        /// The command that was run.
        name: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The simulator did not end in time.
    #[error("`{name}` took longer than {seconds} s and was stopped")]
    TooLong {
        /// The command that was run.
        name: String,
        /// The time limit, in seconds.
        seconds: u64,
    },
    /// The simulator failed or crashed.
    #[error("`{name}` failed ({status}): {words}")]
    Failed {
        /// The command that was run.
        name: String,
        /// The exit code or signal.
        status: ExitStatus,
        /// The last message of the simulator.
        words: String,
    },
    /// The output of the simulator has an unexpected form.
    #[error("expected {expected}, but was told {found:?}")]
    Nonsense {
        /// The expected form of the output, in words.
        expected: &'static str,
        /// The beginning of the output.
        found: String,
    },
    /// A script or program could not be written into the cache.
    #[error("cannot write `{}`: {source}", path.display())]
    Cache {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// No script of this project can describe a part of the case.
    #[error("no peer can simulate {0}")]
    Unknown(&'static str),
}

impl PeerError {
    /// Returns the error of an output with an unexpected form.
    pub fn nonsense(expected: &'static str, found: &str) -> Self {
        Self::Nonsense {
            expected,
            found: found.chars().take(120).collect(),
        }
    }
}

/// Creates the directory for scripts and compiled programs, and returns its absolute path, because
/// peers run in another directory.
///
/// # Errors
/// Returns [`PeerError::Cache`] if the directory cannot be created.
pub fn cache(directory: &Path) -> Result<PathBuf, PeerError> {
    let made = fs::create_dir_all(directory).and_then(|()| fs::canonicalize(directory));
    made.map_err(|source| PeerError::Cache {
        path: directory.to_owned(),
        source,
    })
}

/// Returns a name in the cache that no other thread or process uses, for a file that is renamed
/// when it is complete.
fn unfinished(cache: &Path, name: &str) -> PathBuf {
    static BEGUN: AtomicU64 = AtomicU64::new(0);
    let (process, turn) = (std::process::id(), BEGUN.fetch_add(1, Ordering::Relaxed));
    cache.join(format!(".{name}.{process}.{turn}.tmp"))
}

/// Writes a file into the cache unless it exists. Several processes may do so at the same time.
fn keep(cache: &Path, name: &str, contents: &str) -> Result<PathBuf, PeerError> {
    let path = cache.join(name);
    let failed = |source| PeerError::Cache {
        path: path.clone(),
        source,
    };
    if fs::read(&path).is_ok_and(|kept| kept == contents.as_bytes()) {
        return Ok(path);
    }
    let temporary = unfinished(cache, name);
    fs::write(&temporary, contents).map_err(failed)?;
    fs::rename(&temporary, &path).map_err(failed)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn several_threads_keep_one_file() {
        let directory = tempfile::tempdir().unwrap();
        for round in 0..100 {
            let (name, together) = (format!("script-{round}"), Barrier::new(8));
            let work = || {
                together.wait();
                keep(directory.path(), &name, "puts 1")
            };
            thread::scope(|scope| {
                let workers: Vec<_> = (0..8).map(|_| scope.spawn(work)).collect();
                for worker in workers {
                    let kept = worker.join().unwrap().unwrap();
                    assert_eq!(fs::read_to_string(kept).unwrap(), "puts 1");
                }
            });
        }
        // No unfinished file remains.
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 100);
    }
}
