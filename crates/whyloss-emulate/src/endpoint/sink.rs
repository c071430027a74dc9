//! Where received data goes: a file, standard output, nowhere; and lines of JSON to a file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use serde::Serialize;

use super::EndpointError;

/// Where received data goes.
#[derive(Debug)]
pub(super) enum Sink {
    /// Nowhere.
    Null,
    /// Each packet at its place: what is missing is a hole.
    File(File),
    /// In the order of arrival.
    Stdout,
}

impl Sink {
    /// A file, `-` for standard output, or nowhere.
    pub(super) fn open(path: Option<&Path>) -> Result<Self, EndpointError> {
        match path {
            None => Ok(Self::Null),
            Some(path) if path.as_os_str() == "-" => Ok(Self::Stdout),
            Some(path) => File::create(path)
                .map(Self::File)
                .map_err(EndpointError::Sink),
        }
    }

    /// Takes the payload of packet `sequence` of a session whose payloads have `size` bytes.
    pub(super) fn write(
        &mut self,
        sequence: u64,
        size: usize,
        payload: &[u8],
    ) -> Result<(), EndpointError> {
        match self {
            Self::Null => Ok(()),
            Self::File(file) => file.write_all_at(payload, sequence.saturating_mul(size as u64)),
            Self::Stdout => io::stdout().write_all(payload),
        }
        .map_err(EndpointError::Sink)
    }
}

/// Lines of JSON.
pub(super) struct Lines {
    what: &'static str,
    to: Option<Box<dyn Write>>,
}

impl Lines {
    /// To a file, to standard output for `-`, or nowhere.
    pub(super) fn open(what: &'static str, path: Option<&Path>) -> Result<Self, EndpointError> {
        let to: Option<Box<dyn Write>> = match path {
            None => None,
            Some(path) if path.as_os_str() == "-" => Some(Box::new(io::stdout())),
            Some(path) => {
                let file =
                    File::create(path).map_err(|source| EndpointError::Write { what, source })?;
                Some(Box::new(BufWriter::new(file)))
            }
        };
        Ok(Self { what, to })
    }

    pub(super) fn write(&mut self, line: &impl Serialize) -> Result<(), EndpointError> {
        let Some(to) = &mut self.to else {
            return Ok(());
        };
        let written = serde_json::to_vec(line)
            .map_err(io::Error::from)
            .and_then(|mut text| {
                text.push(b'\n');
                to.write_all(&text)
            });
        written.map_err(|source| EndpointError::Write {
            what: self.what,
            source,
        })
    }

    pub(super) fn flush(&mut self) -> Result<(), EndpointError> {
        let what = self.what;
        self.to
            .as_mut()
            .map_or(Ok(()), Write::flush)
            .map_err(|source| EndpointError::Write { what, source })
    }
}
