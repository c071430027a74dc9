//! The directory of a run: its log, and everything needed to replay its links.
//!
//! | file | |
//! |---|---|
//! | `packets.jsonl` | the fate of every packet ([`record`]) |
//! | `HOST.pcapng` | the packets that a host sent and received |
//! | `link.toml`, `N.trace` | the links, and the traces of some |
//! | `run.json` | the seed and the other settings |
//! | `summary.json` | the summary of the run |
//! | `packets.parquet` | the log as a table ([`packets`](crate::packets), feature `parquet`) |

use std::fs::{self, File};
use std::io::{self, BufReader, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use whyloss_sim::replace_file;

use crate::record::{self, LogError, Record};
use crate::replay::{Replayed, replay};
use crate::spec::{Links, SpecError};
use crate::summary::Summary;

/// The content of the file `run.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RunFile {
    seed: u64,
    #[serde(default)]
    sets: Vec<(String, String)>,
}

/// Explains why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The links cannot be read.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The log cannot be read.
    #[error("{}: {source}", path.display())]
    Log {
        /// The path of the file.
        path: PathBuf,
        /// The fault in the log.
        source: LogError,
    },
    /// The log has no packets.
    #[error("{}: the log has no packets to replay", .0.display())]
    Empty(PathBuf),
}

/// Writes the links and the seed, so that the run can be replayed.
///
/// # Errors
/// Returns an error if a file cannot be written.
pub fn begin(directory: &Path, links: &Links, seed: u64) -> Result<(), ArchiveError> {
    fs::create_dir_all(directory).map_err(|source| ArchiveError::Write {
        path: directory.to_owned(),
        source,
    })?;
    write(&directory.join("link.toml"), links.text.as_bytes())?;
    for (name, text) in &links.traces {
        write(&directory.join(name), text.as_bytes())?;
    }
    let sets = links.sets.clone();
    write_json(&directory.join("run.json"), &RunFile { seed, sets })
}

/// Writes the summary of the run.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn end(directory: &Path, summary: &Summary) -> Result<(), ArchiveError> {
    write_json(&directory.join("summary.json"), summary)
}

/// Reads the links and the seed of a run.
///
/// # Errors
/// Returns an error if the files cannot be read.
pub fn links(directory: &Path) -> Result<(Links, u64), ArchiveError> {
    let path = directory.join("run.json");
    let run: RunFile = serde_json::from_str(&read(&path)?).map_err(|error| ArchiveError::Read {
        path,
        source: error.into(),
    })?;
    let path = directory.join("link.toml");
    let links = Links::from_toml(&read(&path)?, &path.to_string_lossy(), &run.sets)?;
    Ok((links, run.seed))
}

/// Reads the log of a run.
///
/// # Errors
/// Returns an error if the log cannot be read.
pub fn records(directory: &Path) -> Result<Vec<Record>, ArchiveError> {
    stream(directory)?.collect()
}

/// Reads the log of a run, record by record.
///
/// # Errors
/// Returns an error if the log cannot be opened. A line that is not a record gives an error in its
/// place.
pub fn stream(
    directory: &Path,
) -> Result<impl Iterator<Item = Result<Record, ArchiveError>>, ArchiveError> {
    let path = directory.join("packets.jsonl");
    let file = File::open(&path).map_err(|source| ArchiveError::Read {
        path: path.clone(),
        source,
    })?;
    let records = record::read(BufReader::new(file));
    Ok(records.map(move |record| {
        record.map_err(|source| ArchiveError::Log {
            path: path.clone(),
            source,
        })
    }))
}

/// Replays the log of a run through its links.
///
/// # Errors
/// Returns an error if `directory` does not hold a run.
pub fn replay_run(directory: &Path) -> Result<Replayed, ArchiveError> {
    let (links, seed) = links(directory)?;
    let records = records(directory)?;
    if records.is_empty() {
        return Err(ArchiveError::Empty(directory.join("packets.jsonl")));
    }
    Ok(replay(&links.plans(), seed, records))
}

fn read(path: &Path) -> Result<String, ArchiveError> {
    fs::read_to_string(path).map_err(|source| ArchiveError::Read {
        path: path.to_owned(),
        source,
    })
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), ArchiveError> {
    let written = replace_file(path).and_then(|mut file| file.write_all(bytes));
    written.map_err(|source| ArchiveError::Write {
        path: path.to_owned(),
        source,
    })
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), ArchiveError> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|error| ArchiveError::Write {
        path: path.to_owned(),
        source: error.into(),
    })?;
    text.push(b'\n');
    write(path, &text)
}
