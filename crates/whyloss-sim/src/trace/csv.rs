//! Writes tables as CSV files: a header, then a line for each row. A missing value is empty. A name
//! that a spreadsheet would take for a formula has an apostrophe before it.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use super::batch::{Batch, Cell};
use super::sink::Sink;
use super::tables::TABLES;
use crate::output::{OutputError, Whole, create_directory, create_file, note};
use crate::text::defused;

/// Writes `sources.csv`, `arrivals.csv`, `losses.csv`, `links.csv` and `transfers.csv`.
#[derive(Debug)]
pub struct CsvFiles {
    files: Vec<(PathBuf, csv::Writer<Whole>)>,
    /// The text of the field that is being written.
    field: String,
}

impl CsvFiles {
    /// Opens the files in `directory`, which is created if it is missing. Files of these names are
    /// replaced.
    ///
    /// # Errors
    /// Returns an error if the directory or a file cannot be created.
    pub fn create(directory: &Path) -> Result<Self, OutputError> {
        create_directory(directory)?;
        let names = TABLES.map(|table| format!("{}.csv", table.name));
        note(directory, names.iter().map(String::as_str))?;
        let open = |table: &&super::tables::Table| {
            let path = directory.join(format!("{}.csv", table.name));
            let mut file = csv::Writer::from_writer(create_file(&path)?);
            file.write_record(table.columns.iter().map(|column| column.name))
                .map_err(|error| refuse(&path, error))?;
            Ok((path, file))
        };
        Ok(Self {
            files: TABLES.iter().map(open).collect::<Result<_, _>>()?,
            field: String::new(),
        })
    }
}

impl Sink for CsvFiles {
    fn write(&mut self, batch: &Batch) -> Result<(), OutputError> {
        let place = TABLES.iter().position(|table| *table == batch.table());
        let Some((path, file)) = place.map(|place| &mut self.files[place]) else {
            return Ok(());
        };
        let mut write = |row: &[Cell]| {
            for (index, &cell) in row.iter().enumerate() {
                self.field.clear();
                // Writing to a string cannot fail.
                let _ = match cell {
                    Cell::None => Ok(()),
                    Cell::Nanos(nanos) => write_seconds(&mut self.field, nanos),
                    Cell::Whole(number) => write!(self.field, "{number}"),
                    Cell::Real(real) => write!(self.field, "{real}"),
                    Cell::Word(word) => {
                        let word = batch.words(index).get(word as usize);
                        self.field
                            .write_str(&defused(word.map_or("", String::as_str)))
                    }
                };
                file.write_field(&self.field)?;
            }
            file.write_record(None::<&[u8]>)
        };
        batch
            .rows()
            .try_for_each(&mut write)
            .map_err(|error| refuse(path, error))
    }

    fn finish(&mut self) -> Result<(), OutputError> {
        for (path, file) in self.files.drain(..) {
            let whole = file.into_inner().map_err(csv::IntoInnerError::into_error);
            whole
                .and_then(Whole::finish)
                .map_err(|error| OutputError::new(&path, error))?;
        }
        Ok(())
    }
}

/// Writes seconds with nine decimals, exactly, from whole nanoseconds.
fn write_seconds(text: &mut String, nanos: i64) -> std::fmt::Result {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    write!(
        text,
        "{sign}{}.{:09}",
        nanos / 1_000_000_000,
        nanos % 1_000_000_000
    )
}

fn refuse(path: &Path, error: csv::Error) -> OutputError {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => OutputError::new(path, error),
        other => OutputError::new(path, io::Error::other(format!("{other:?}"))),
    }
}
