//! Reads tables row by row: CSV with a header, and Parquet (feature `parquet`).

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use crate::error::Error;
use crate::input::limited::Limited;

/// One row: the text of each cell by the name of its column. An empty cell counts as missing.
pub(crate) struct Row<'a> {
    columns: &'a HashMap<String, usize>,
    cells: &'a [String],
}

impl Row<'_> {
    /// Returns the names of the columns in their order.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names = vec![""; self.cells.len()];
        for (name, &index) in self.columns {
            if let Some(place) = names.get_mut(index) {
                *place = name;
            }
        }
        names
    }

    /// Returns the text of the column with this index.
    pub(crate) fn cell(&self, index: usize) -> Option<&str> {
        self.cells.get(index).map(String::as_str)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let cell = self.cells.get(*self.columns.get(name)?)?;
        Some(cell.as_str()).filter(|cell| !cell.is_empty())
    }

    pub(crate) fn whole(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// Reads a cell in seconds, and returns whole nanoseconds.
    pub(crate) fn nanos(&self, name: &str) -> Option<u64> {
        let nanos = (self.text(name)?.parse::<f64>().ok()? * 1e9).round();
        (0.0..9e18).contains(&nanos).then_some(nanos as u64)
    }
}

/// Passes each row of a file to `take`.
///
/// # Errors
/// Returns an error if the file cannot be read to its end.
pub(crate) fn read(path: &Path, take: &mut dyn FnMut(&Row<'_>)) -> Result<(), Error> {
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

/// The maximum length of a cell, in bytes.
const CELL: usize = 4096;

/// Returns an error if a cell of the row is too long.
fn check(row: u64, cells: &[String]) -> Result<(), String> {
    match cells.iter().find(|cell| cell.len() > CELL) {
        None => Ok(()),
        Some(cell) => Err(format!(
            "row {row} has a cell of {} bytes; expected at most {CELL}",
            cell.len()
        )),
    }
}

fn of_csv(
    file: File,
    take: &mut dyn FnMut(&Row<'_>),
    wrong: &dyn Fn(String) -> Error,
) -> Result<(), Error> {
    let (file, left) = Limited::new(file, "row");
    let mut reader = csv::Reader::from_reader(file);
    let say = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(error) => wrong(error.to_string()),
        csv::ErrorKind::UnequalLengths {
            pos,
            expected_len,
            len,
        } => wrong(format!(
            "line {} has {len} cells; expected {expected_len}",
            pos.map_or(0, |pos| pos.line())
        )),
        csv::ErrorKind::Utf8 { pos, .. } => wrong(format!(
            "line {} is not UTF-8",
            pos.map_or(0, |pos| pos.line())
        )),
        other => wrong(format!("it is no CSV: {other:?}")),
    };
    let names = reader.headers().map_err(say)?.iter().map(str::to_owned);
    let names: Vec<String> = names.collect();
    check(0, &names).map_err(wrong)?;
    let columns = names.into_iter().enumerate();
    let columns = columns.map(|(index, name)| (name, index)).collect();
    for (row, record) in (1..).zip(reader.into_records()) {
        let record = record.map_err(say)?;
        left.again();
        let cells: Vec<String> = record.iter().map(str::to_owned).collect();
        check(row, &cells).map_err(wrong)?;
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
    use parquet::file::reader::FileReader as _;
    use parquet::record::Field;
    use whyloss_study::parquet::{guard, open};
    let say = |error: parquet::errors::ParquetError| wrong(error.to_string());
    let reader = open(file).map_err(say)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let fields = schema.root_schema().get_fields().iter();
    if let Some(nested) = fields.clone().find(|field| !field.is_primitive()) {
        let name = nested.name();
        return Err(wrong(format!(
            "column `{name}` has columns in it; expected one value in each row"
        )));
    }
    let columns = fields
        .enumerate()
        .map(|(index, field)| (field.name().to_owned(), index));
    let columns = columns.collect();
    let mut rows = guard(|| reader.get_row_iter(None)).map_err(say)?;
    for number in 1.. {
        let Some(row) = guard(|| rows.next().transpose()).map_err(say)? else {
            break;
        };
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
        check(number, &cells).map_err(wrong)?;
        take(&Row {
            columns: &columns,
            cells: &cells,
        });
    }
    Ok(())
}
