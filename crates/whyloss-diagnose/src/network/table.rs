//! Tables, row by row: CSV with a header, and Parquet (feature `parquet`).

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use crate::error::Error;

/// One row: its cells as text, by the names of their columns. An empty cell is none.
pub(super) struct Row<'a> {
    columns: &'a HashMap<String, usize>,
    cells: &'a [String],
}

impl Row<'_> {
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let cell = self.cells.get(*self.columns.get(name)?)?;
        Some(cell.as_str()).filter(|cell| !cell.is_empty())
    }

    pub(super) fn whole(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// Seconds, as whole nanoseconds.
    pub(super) fn nanos(&self, name: &str) -> Option<u64> {
        let nanos = (self.text(name)?.parse::<f64>().ok()? * 1e9).round();
        (0.0..9e18).contains(&nanos).then_some(nanos as u64)
    }
}

/// Hands each row of a file on.
///
/// # Errors
/// If it cannot be read to its end.
pub(super) fn read(path: &Path, take: &mut dyn FnMut(&Row<'_>)) -> Result<(), Error> {
    let wrong = |problem: String| Error::Part {
        path: path.to_owned(),
        problem,
    };
    let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
    if path.extension().is_some_and(|ending| ending == "parquet") {
        of_parquet(file, take, &wrong)
    } else {
        of_csv(file, take, &wrong)
    }
}

fn of_csv(
    file: File,
    take: &mut dyn FnMut(&Row<'_>),
    wrong: &dyn Fn(String) -> Error,
) -> Result<(), Error> {
    let mut reader = csv::Reader::from_reader(file);
    let say = |error: csv::Error| wrong(error.to_string());
    let names = reader.headers().map_err(say)?.iter();
    let columns = names
        .enumerate()
        .map(|(index, name)| (name.to_owned(), index));
    let columns = columns.collect();
    for record in reader.into_records() {
        let record = record.map_err(say)?;
        let cells: Vec<String> = record.iter().map(str::to_owned).collect();
        take(&Row {
            columns: &columns,
            cells: &cells,
        });
    }
    Ok(())
}

#[cfg(not(feature = "parquet"))]
fn of_parquet(
    _: File,
    _: &mut dyn FnMut(&Row<'_>),
    _: &dyn Fn(String) -> Error,
) -> Result<(), Error> {
    Err(Error::NoParquet)
}

#[cfg(feature = "parquet")]
fn of_parquet(
    file: File,
    take: &mut dyn FnMut(&Row<'_>),
    wrong: &dyn Fn(String) -> Error,
) -> Result<(), Error> {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::Field;
    let say = |error: parquet::errors::ParquetError| wrong(error.to_string());
    let reader = SerializedFileReader::new(file).map_err(say)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let columns = schema.columns().iter().enumerate();
    let columns = columns.map(|(index, column)| (column.name().to_owned(), index));
    let columns = columns.collect();
    for row in reader.get_row_iter(None).map_err(say)? {
        let row = row.map_err(say)?;
        let cells = row.get_column_iter().map(|(_, field)| match field {
            Field::Null => String::new(),
            Field::Str(text) => text.clone(),
            Field::Bytes(bytes) => bytes
                .as_utf8()
                .map_or_else(|_| String::new(), str::to_owned),
            Field::Double(real) => real.to_string(),
            other => other.to_string(),
        });
        let cells: Vec<String> = cells.collect();
        take(&Row {
            columns: &columns,
            cells: &cells,
        });
    }
    Ok(())
}
