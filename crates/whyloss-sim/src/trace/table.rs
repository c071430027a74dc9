//! A table as a CSV file, and how its fields are written.

use std::fmt::{self, Display, Write as _};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use whyloss::{Duration, Time};

use crate::output::{OutputError, create_file};

/// One CSV file.
#[derive(Debug)]
pub(super) struct Table {
    csv: csv::Writer<File>,
    path: PathBuf,
    /// Before then no row is due.
    next: Time,
    /// The field being written.
    field: String,
}

impl Table {
    pub(super) fn create(path: PathBuf, header: &[&str]) -> Result<Self, OutputError> {
        let csv = csv::Writer::from_writer(create_file(&path)?);
        let mut table = Self {
            csv,
            path,
            next: Time::ZERO,
            field: String::new(),
        };
        table
            .csv
            .write_record(header)
            .map_err(|error| refuse(&table.path, error))?;
        Ok(table)
    }

    /// Whether a row is due at `at`; if so, the next one is not before `thin` later.
    pub(super) fn due(&mut self, at: Time, thin: Duration) -> bool {
        let due = self.next <= at;
        if due {
            self.next = at + thin;
        }
        due
    }

    pub(super) fn write(&mut self, row: &[&dyn Display]) -> Result<(), OutputError> {
        let mut write = || {
            for value in row {
                self.field.clear();
                // A string takes whatever it is given.
                let _ = write!(self.field, "{value}");
                self.csv.write_field(&self.field)?;
            }
            self.csv.write_record(None::<&[u8]>)
        };
        write().map_err(|error| refuse(&self.path, error))
    }

    pub(super) fn flush(&mut self) -> Result<(), OutputError> {
        self.csv
            .flush()
            .map_err(|error| OutputError::new(&self.path, error))
    }
}

/// An empty field if there is nothing.
pub(super) struct Optional<T>(pub(super) Option<T>);

impl<T: Display> Display for Optional<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |value| value.fmt(f))
    }
}

/// Seconds with nine decimals, from integers.
pub(super) struct Seconds {
    negative: bool,
    nanos: u64,
}

impl From<Time> for Seconds {
    fn from(time: Time) -> Self {
        Self {
            negative: false,
            nanos: time.as_nanos(),
        }
    }
}

impl From<Duration> for Seconds {
    fn from(span: Duration) -> Self {
        Self {
            negative: span < Duration::ZERO,
            nanos: span.as_nanos().unsigned_abs(),
        }
    }
}

impl Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        write!(
            f,
            "{sign}{}.{:09}",
            self.nanos / 1_000_000_000,
            self.nanos % 1_000_000_000
        )
    }
}

fn refuse(path: &Path, error: csv::Error) -> OutputError {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => OutputError::new(path, error),
        other => OutputError::new(path, io::Error::other(format!("{other:?}"))),
    }
}
