//! Reads the fate of packets from the log that `whyloss link` writes while it runs.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use whyloss::Cause;
use whyloss_emulate::archive::ArchiveError;
use whyloss_emulate::record::{Fate, LogError, Record};
use whyloss_kernel::event::{Detection, Ends, Event};

use crate::error::CliError;

/// The protocol number of TCP in IP.
const TCP: u8 = 6;
/// The maximum distance in bytes between a loss that a probe repaired and the first unacknowledged
/// byte.
const BEHIND: u32 = 1 << 24;

/// The lost segments of a log that is still being written.
pub(super) struct Truth {
    path: PathBuf,
    file: Option<File>,
    /// The beginning of an incomplete line.
    rest: Vec<u8>,
    lines: usize,
    /// The losses of each connection in the order of the log: sequence number, and whether the
    /// queue caused the loss.
    lost: BTreeMap<(SocketAddr, SocketAddr), Vec<(u32, bool)>>,
}

/// The number of segments lost at the queue and on the channel, within the window of a loss event.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fates {
    queue: usize,
    channel: usize,
}

impl Truth {
    /// Returns a reader of the log in this directory. The log need not exist yet.
    pub(super) fn of(directory: &Path) -> Self {
        Self {
            path: directory.join("packets.jsonl"),
            file: None,
            rest: Vec::new(),
            lines: 0,
            lost: BTreeMap::new(),
        }
    }

    /// Reads the lines appended to the log since the last call.
    pub(super) fn read_on(&mut self) -> Result<(), CliError> {
        let failed = |path: &Path, source| {
            CliError::Archive(ArchiveError::Read {
                path: path.to_owned(),
                source,
            })
        };
        if self.file.is_none() {
            match File::open(&self.path) {
                Ok(file) => self.file = Some(file),
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(failed(&self.path, error)),
            }
        }
        if let Some(file) = &mut self.file {
            file.read_to_end(&mut self.rest)
                .map_err(|error| failed(&self.path, error))?;
        }
        let whole = self.rest.iter().rposition(|&byte| byte == b'\n');
        let lines: Vec<u8> = self.rest.drain(..whole.map_or(0, |at| at + 1)).collect();
        for line in lines.split(|&byte| byte == b'\n') {
            if line.is_empty() {
                continue;
            }
            self.lines += 1;
            let record: Record = serde_json::from_slice(line).map_err(|source| {
                CliError::Archive(ArchiveError::Log {
                    path: self.path.clone(),
                    source: LogError::Line {
                        line: self.lines,
                        source,
                    },
                })
            })?;
            self.keep(&record);
        }
        Ok(())
    }

    fn keep(&mut self, record: &Record) {
        let headers = &record.headers;
        let (Some(source), Some(destination), Some(sequence)) = (
            headers.source_port,
            headers.destination_port,
            headers.sequence,
        ) else {
            return;
        };
        let queue = matches!(record.fate, Fate::Overflow | Fate::Aqm);
        // A loss by the emulator itself does not count as the channel's, and makes the run invalid.
        if headers.protocol == TCP && (queue || record.fate == Fate::Channel) {
            let connection = (
                SocketAddr::new(headers.source, source),
                SocketAddr::new(headers.destination, destination),
            );
            self.lost
                .entry(connection)
                .or_default()
                .push((sequence, queue));
        }
    }

    /// Removes the losses in the window of a loss event, and returns their number by cause. Each
    /// lost segment is counted for one event only.
    pub(super) fn take(&mut self, ends: &Ends, event: &Event, detection: Detection) -> Fates {
        let mut fates = Fates::default();
        let Some(lost) = self.lost.get_mut(&(ends.local, ends.remote)) else {
            return fates;
        };
        let mut told = Vec::new();
        lost.retain(|&(sequence, queue)| {
            let outstanding = sequence.wrapping_sub(event.una) < event.nxt.wrapping_sub(event.una);
            let behind = event.una.wrapping_sub(sequence);
            let meant = match detection {
                // The hole has already been filled.
                Detection::Probe => (1..BEHIND).contains(&behind),
                _ => outstanding,
            };
            // A segment that was lost again belongs to another event.
            if !meant || told.contains(&sequence) {
                // A later segment was repaired without a separate event, as part of the previous
                // recovery.
                return meant || behind == 0 || behind >= BEHIND;
            }
            told.push(sequence);
            if queue {
                fates.queue += 1;
            } else {
                fates.channel += 1;
            }
            false
        });
        fates
    }
}

impl Fates {
    /// Returns the true cause: congestion if the queue lost any segment, as the simulator's oracle
    /// decides; `None` if no segment was lost.
    fn cause(self) -> Option<Cause> {
        match self {
            Self { queue: 1.., .. } => Some(Cause::Congestion),
            Self { channel: 1.., .. } => Some(Cause::Wireless),
            Self { .. } => None,
        }
    }
}

impl fmt::Display for Fates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cause = match self.cause() {
            None => return f.write_str("nothing was lost"),
            Some(Cause::Congestion) => "congestion",
            Some(Cause::Wireless) => "wireless",
        };
        write!(
            f,
            "{cause} (queue {}, channel {})",
            self.queue, self.channel
        )
    }
}

/// The counts of verdicts by true cause.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Confusion {
    /// Wireless losses called wireless, and those called congestion.
    wireless: [u64; 2],
    /// Congestion losses called wireless, and those called congestion.
    congestion: [u64; 2],
    /// Reported losses of segments that were not lost.
    spurious: u64,
}

impl Confusion {
    pub(super) fn count(&mut self, verdict: Cause, fates: &Fates) {
        let called = usize::from(verdict == Cause::Congestion);
        match fates.cause() {
            Some(Cause::Wireless) => self.wireless[called] += 1,
            Some(Cause::Congestion) => self.congestion[called] += 1,
            None => self.spurious += 1,
        }
    }
}

impl fmt::Display for Confusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [kept, cut] = self.wireless;
        let [missed, seen] = self.congestion;
        write!(
            f,
            "{} wireless losses: {kept} called wireless, {cut} congestion; {} congestion losses: {missed} called wireless, {seen} \
             congestion; {} spurious losses",
            kept + cut,
            missed + seen,
            self.spurious
        )
    }
}
