//! The destinations of received data (a file, standard output, or none), and files of JSON lines.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use whyloss_sim::replace_file;

use super::EndpointError;

/// The destination of received data.
#[derive(Debug)]
pub(super) enum Sink {
    /// Discards the data.
    Null,
    /// Writes each packet at its offset in a file of limited size; missing packets leave holes.
    File(PathBuf, File, u64),
    /// Writes packets to standard output in the order of arrival.
    Stdout,
}

impl Sink {
    /// Returns a file of at most `limit` bytes, standard output for `-`, or a sink that discards.
    pub(super) fn open(path: Option<&Path>, limit: u64) -> Result<Self, EndpointError> {
        match path {
            None => Ok(Self::Null),
            Some(path) if path.as_os_str() == "-" => Ok(Self::Stdout),
            Some(path) => {
                let file = replace_file(path).map_err(failed(DATA, path))?;
                Ok(Self::File(path.to_owned(), file, limit))
            }
        }
    }

    /// Empties a file for another session.
    pub(super) fn restart(&mut self) -> Result<(), EndpointError> {
        let Self::File(path, file, _) = self else {
            return Ok(());
        };
        let emptied = file.metadata().and_then(|found| {
            // Devices and pipes have no length.
            if found.is_file() {
                file.set_len(0)
            } else {
                Ok(())
            }
        });
        emptied.map_err(failed(DATA, path))
    }

    /// Writes the payload of packet `sequence` of a session whose payloads have `size` bytes.
    /// Returns whether the file's limit allowed it.
    pub(super) fn write(
        &mut self,
        sequence: u64,
        size: usize,
        payload: &[u8],
    ) -> Result<bool, EndpointError> {
        match self {
            Self::Null => Ok(true),
            Self::File(path, file, limit) => {
                let at = sequence.saturating_mul(size as u64);
                if at.saturating_add(payload.len() as u64) > *limit {
                    return Ok(false);
                }
                let written = file.write_all_at(payload, at);
                written.map(|()| true).map_err(failed(DATA, path))
            }
            Self::Stdout => {
                let written = io::stdout().write_all(payload);
                written.map(|()| true).map_err(failed(DATA, Path::new("-")))
            }
        }
    }
}

/// The name of a sink's contents in errors.
const DATA: &str = "what was received";

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> EndpointError {
    let path = path.to_owned();
    move |source| EndpointError::Write { what, path, source }
}

/// Lines of JSON.
pub(super) struct Lines {
    what: &'static str,
    path: PathBuf,
    to: Option<Box<dyn Write>>,
    /// The number of bytes that the file still has room for.
    room: u64,
}

impl Lines {
    /// Opens a file of at most `limit` bytes, standard output for `-`, or nothing.
    pub(super) fn open(
        what: &'static str,
        path: Option<&Path>,
        limit: u64,
    ) -> Result<Self, EndpointError> {
        let mut room = limit;
        let to: Option<Box<dyn Write>> = match path {
            None => None,
            Some(path) if path.as_os_str() == "-" => {
                room = u64::MAX;
                Some(Box::new(io::stdout()))
            }
            Some(path) => {
                let file = replace_file(path).map_err(failed(what, path))?;
                Some(Box::new(BufWriter::new(file)))
            }
        };
        let path = path.unwrap_or(Path::new("-")).to_owned();
        Ok(Self {
            what,
            path,
            to,
            room,
        })
    }

    /// Writes a line if the file stays within its limit. Returns whether it did. After the first
    /// line beyond the limit, writes nothing more.
    pub(super) fn write(&mut self, line: &impl Serialize) -> Result<bool, EndpointError> {
        let Some(to) = &mut self.to else {
            return Ok(true);
        };
        let room = &mut self.room;
        let written = serde_json::to_vec(line)
            .map_err(io::Error::from)
            .and_then(|mut text| {
                text.push(b'\n');
                let Some(left) = room.checked_sub(text.len() as u64) else {
                    // A log with holes would look as if packets had been lost.
                    *room = 0;
                    return Ok(false);
                };
                *room = left;
                to.write_all(&text).map(|()| true)
            });
        written.map_err(failed(self.what, &self.path))
    }

    pub(super) fn flush(&mut self) -> Result<(), EndpointError> {
        let flushed = self.to.as_mut().map_or(Ok(()), Write::flush);
        flushed.map_err(failed(self.what, &self.path))
    }
}
