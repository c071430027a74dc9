//! Reads recordings of links: the fates of packets in one or more trials.
//!
//! | file | holds |
//! |---|---|
//! | pattern | digits, 1 for a lost packet, trials parted by blank lines ([`whyloss_link::channel::trace_file`]) |
//! | CSV with a column of digits | a trial per row; in `received` 1 is an arrival, in `lost` a loss |
//! | CSV with one digit per row | a packet per row; `trial` parts trials |
//! | CSV with `number` or `sequence` | the numbers that arrived, in order of arrival; missing numbers are losses |
//!
//! Rows of one packet may have a `time` (s), `time_ms`, `time_us` or `time_ns`. A directory holds
//! files of these kinds, read in the order of their names.

mod numbers;
mod table;

use std::fs;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use thiserror::Error;
use whyloss::Duration;
use whyloss_link::channel::trace_file::{self, TraceFileError};
use whyloss_link::channel::{ChannelError, ErrorPattern, TimedPattern};

pub use table::{Table, time_column};

/// The maximum number of packets in one recording.
pub const MOST_PACKETS: usize = 1 << 27;

/// The maximum number of files in a directory.
const MOST_FILES: usize = 10_000;

/// One uninterrupted sequence of packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trial {
    /// Whether each packet was lost.
    pub lost: Vec<bool>,
    /// When each packet left, in ns and never decreasing; empty if the recording has no times.
    pub times: Vec<i64>,
}

impl Trial {
    /// Returns the share of lost packets, in [0, 1].
    pub fn loss(&self) -> f64 {
        self.losses() as f64 / self.lost.len().max(1) as f64
    }

    /// Returns the number of lost packets.
    pub fn losses(&self) -> u64 {
        self.lost.iter().filter(|&&lost| lost).count() as u64
    }
}

/// The trials of one link, or of links that are treated as equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The trials, none of them empty.
    pub trials: Vec<Trial>,
    /// Facts about the input that matter for the results, one sentence each.
    pub notes: Vec<String>,
}

/// Explains why a recording cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The operating system returned an error.
    #[error("cannot read the recording {}: {source}", path.display())]
    Io {
        /// The path of the file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The text is not a pattern.
    #[error("{}: {source}", path.display())]
    Pattern {
        /// The path of the file.
        path: PathBuf,
        /// The problem and its position.
        source: TraceFileError,
    },
    /// The table cannot be read, has no packets, or has too many.
    #[error("{}: {problem}", path.display())]
    Table {
        /// The path of the file.
        path: PathBuf,
        /// The problem and its position.
        problem: String,
    },
    /// The directory has no recording.
    #[error("the directory {} has no recording; expected files of type .csv, .txt, .pattern or .trace", .0.display())]
    NoFile(PathBuf),
    /// The directory has too many files.
    #[error("the directory {} has more than {MOST_FILES} recordings", .0.display())]
    Files(PathBuf),
    /// Not all packets have a time.
    #[error("replay by time needs the time of every packet, and {0} of the trials lack times")]
    NoTimes(usize),
    /// The trials do not form a pattern.
    #[error(transparent)]
    Channel(#[from] ChannelError),
}

/// Reads a recording from a file or a directory of files. `column` names the column of a table that
/// holds the packets.
///
/// # Errors
/// Returns a [`RecordingError`] that names the file and the line.
pub fn read(path: &Path, column: Option<&str>) -> Result<Recording, RecordingError> {
    let io = |source| RecordingError::Io {
        path: path.to_owned(),
        source,
    };
    let data = fs::metadata(path).map_err(io)?;
    if data.is_file() {
        return read_file(path, column);
    }
    if !data.is_dir() {
        return Err(io(std::io::Error::other(
            "it is neither a file nor a directory",
        )));
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(io)? {
        let file = entry.map_err(io)?.path();
        let kind = file.extension().and_then(|kind| kind.to_str());
        if matches!(kind, Some("csv" | "txt" | "pattern" | "trace")) && file.is_file() {
            files.push(file);
        }
        if files.len() > MOST_FILES {
            return Err(RecordingError::Files(path.to_owned()));
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(RecordingError::NoFile(path.to_owned()));
    }
    let mut whole = Recording::default();
    for file in files {
        let next = read_file(&file, column)?;
        whole.trials.extend(next.trials);
        whole.notes.extend(next.notes);
        let packets: usize = whole.trials.iter().map(|trial| trial.lost.len()).sum();
        if packets > MOST_PACKETS {
            return Err(RecordingError::Table {
                path: file,
                problem: too_many(),
            });
        }
    }
    Ok(whole)
}

fn too_many() -> String {
    format!("the recording has more than {MOST_PACKETS} packets; give fewer files at a time")
}

fn read_file(path: &Path, column: Option<&str>) -> Result<Recording, RecordingError> {
    let io = |source| RecordingError::Io {
        path: path.to_owned(),
        source,
    };
    let mut file = BufReader::with_capacity(1 << 16, fs::File::open(path).map_err(io)?);
    let mut head = Vec::new();
    (&mut file).take(4096).read_to_end(&mut head).map_err(io)?;
    let name = path.extension().is_some_and(|kind| kind == "csv");
    if name || column.is_some() || Table::begins(&head) {
        let whole = head.as_slice().chain(file);
        return Table::read(whole, column).map_err(|problem| RecordingError::Table {
            path: path.to_owned(),
            problem,
        });
    }
    // Reads one more byte than allowed, to detect a longer file.
    let most = trace_file::MAX_BYTES as u64 + 1;
    let mut text = head;
    file.take(most).read_to_end(&mut text).map_err(io)?;
    let pattern = trace_file::parse(&text).map_err(|source| RecordingError::Pattern {
        path: path.to_owned(),
        source,
    })?;
    let trials = pattern.trials().map(|trial| Trial {
        lost: trial.collect(),
        times: Vec::new(),
    });
    Ok(Recording {
        trials: trials.collect(),
        notes: Vec::new(),
    })
}

impl Recording {
    /// Returns the number of packets.
    pub fn packets(&self) -> u64 {
        self.trials
            .iter()
            .map(|trial| trial.lost.len() as u64)
            .sum()
    }

    /// Returns the number of lost packets.
    pub fn losses(&self) -> u64 {
        self.trials.iter().map(Trial::losses).sum()
    }

    /// Returns whether every packet has a time.
    pub fn is_timed(&self) -> bool {
        !self.trials.is_empty()
            && self
                .trials
                .iter()
                .all(|trial| trial.times.len() == trial.lost.len())
    }

    /// Sets times that are `interval` apart in trials without times.
    pub fn space(&mut self, interval: Duration) {
        for trial in &mut self.trials {
            if trial.times.is_empty() {
                let times = (0..trial.lost.len() as i64)
                    .map(|packet| packet.saturating_mul(interval.as_nanos()));
                trial.times = times.collect();
            }
        }
    }

    /// Keeps only the trials whose share of lost packets, in [0, 1], is at least `least` and below
    /// `most`.
    pub fn keep_losses(&mut self, least: f64, most: f64) {
        self.trials
            .retain(|trial| (least..most).contains(&trial.loss()));
    }

    /// Builds the pattern that replays the recording packet by packet.
    ///
    /// # Errors
    /// Returns an error if the recording has no trial.
    pub fn pattern(&self) -> Result<ErrorPattern, RecordingError> {
        let trials = self.trials.iter().map(|trial| &trial.lost);
        Ok(ErrorPattern::new(trials)?)
    }

    /// Builds the pattern that replays the recording by time.
    ///
    /// # Errors
    /// Returns an error if there is no trial, or if times are missing or decrease.
    pub fn timed_pattern(&self) -> Result<TimedPattern, RecordingError> {
        if !self.is_timed() && !self.trials.is_empty() {
            let lacks = |trial: &&Trial| trial.times.len() != trial.lost.len();
            let untimed = self.trials.iter().filter(lacks);
            return Err(RecordingError::NoTimes(untimed.count()));
        }
        let trials = self.trials.iter().map(|trial| &trial.times[..]);
        Ok(TimedPattern::new(&self.pattern()?, trials)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            fs::write(dir.path().join(name), text).expect("a file");
        }
        dir
    }

    #[test]
    fn a_directory_is_read_in_order() {
        let dir = scratch(&[
            ("b.csv", "noise,received\n-10,1101\n0,0111\n"),
            ("a.txt", "01\n\n000\n"),
            ("c.md", "not a recording"),
        ]);
        let recording = read(dir.path(), None).expect("recordings");
        let shown: Vec<String> = recording
            .trials
            .iter()
            .map(|trial| {
                trial
                    .lost
                    .iter()
                    .map(|&lost| if lost { '1' } else { '0' })
                    .collect()
            })
            .collect();
        assert_eq!(shown, ["01", "000", "0010", "1000"]);
        assert_eq!((recording.packets(), recording.losses()), (13, 3));
    }

    #[test]
    fn what_is_no_recording_is_refused() {
        let dir = scratch(&[("x.txt", "01x"), ("y.csv", "a,b\n1,2\n")]);
        let error = |name: &str| read(&dir.path().join(name), None).unwrap_err().to_string();
        assert!(
            error("x.txt").contains("line 1, column 3: found 'x'"),
            "{}",
            error("x.txt")
        );
        assert!(error("y.csv").contains("`received`"), "{}", error("y.csv"));
        assert!(error("none").contains("cannot read the recording"));
        let empty = scratch(&[]);
        let none = read(empty.path(), None).unwrap_err().to_string();
        assert!(none.contains("has no recording"), "{none}");
    }

    #[test]
    fn replay_by_time_needs_times() {
        let dir = scratch(&[("x.txt", "0110")]);
        let mut recording = read(dir.path(), None).expect("a pattern");
        assert!(matches!(
            recording.timed_pattern(),
            Err(RecordingError::NoTimes(1))
        ));
        recording.space(Duration::from_millis(100));
        assert_eq!(recording.trials[0].times[3], 300_000_000);
        assert!(recording.timed_pattern().is_ok());
    }
}
