//! Writes tables as Parquet files, with a row group for each batch. Columns have the types of
//! [`super::arrow`]; the metadata has their units and meanings.
//!
//! | column | stored as |
//! |---|---|
//! | seconds | DOUBLE, rounded once from whole nanoseconds: `round(1e9 · x)` gives them back |
//! | whole numbers | INT64, unsigned, as differences (DELTA_BINARY_PACKED) |
//! | reals | DOUBLE |
//! | words | UTF-8, as indices into a dictionary |

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::{ColumnPath, Type};

use super::batch::{Batch, Cell};
use super::sink::Sink;
use super::tables::{Column, Kind, TABLES, Table};
use crate::output::{OutputError, Whole, create_directory, create_file, note};

/// Writes each table to a file of its name, such as `losses.parquet`.
pub struct ParquetFiles {
    files: Vec<(&'static Table, PathBuf, SerializedFileWriter<Whole>)>,
}

impl std::fmt::Debug for ParquetFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.files.iter().map(|(_, path, _)| path))
            .finish()
    }
}

impl ParquetFiles {
    /// Opens files for the tables of a trace in `directory`, which is created if it is missing.
    /// Files of these names are replaced.
    ///
    /// # Errors
    /// Returns an error if the directory or a file cannot be created.
    pub fn create(directory: &Path) -> Result<Self, OutputError> {
        Self::of(&TABLES, directory)
    }

    /// Opens files for these tables, like [`Self::create`].
    ///
    /// # Errors
    /// Returns an error if the directory or a file cannot be created.
    pub fn of(tables: &[&'static Table], directory: &Path) -> Result<Self, OutputError> {
        create_directory(directory)?;
        let names = tables.iter().map(|table| format!("{}.parquet", table.name));
        let names: Vec<String> = names.collect();
        note(directory, names.iter().map(String::as_str))?;
        let open = |&table: &&'static Table| {
            let path = directory.join(format!("{}.parquet", table.name));
            let file = create_file(&path)?;
            let writer = schema(table)
                .and_then(|schema| {
                    SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties(table)))
                })
                .map_err(|error| refuse(&path, error))?;
            Ok((table, path, writer))
        };
        Ok(Self {
            files: tables.iter().map(open).collect::<Result<_, _>>()?,
        })
    }
}

impl Sink for ParquetFiles {
    fn write(&mut self, batch: &Batch) -> Result<(), OutputError> {
        let files = &mut self.files;
        let Some((_, path, writer)) = files.iter_mut().find(|(table, ..)| *table == batch.table())
        else {
            return Ok(());
        };
        let mut write = || {
            let mut group = writer.next_row_group()?;
            for (index, column) in batch.table().columns.iter().enumerate() {
                if let Some(mut chunk) = group.next_column()? {
                    write_column(&mut chunk, batch, index, column)?;
                    chunk.close()?;
                }
            }
            group.close().map(drop)
        };
        write().map_err(|error| refuse(path, error))
    }

    fn finish(&mut self) -> Result<(), OutputError> {
        for (_, path, writer) in self.files.drain(..) {
            let whole = writer.into_inner().map_err(|error| refuse(&path, error))?;
            whole
                .finish()
                .map_err(|error| OutputError::new(&path, error))?;
        }
        Ok(())
    }
}

fn schema(table: &Table) -> Result<Type, ParquetError> {
    let fields = table.columns.iter().map(|column| {
        let (physical, logical) = match column.kind {
            Kind::Seconds | Kind::Real => (Physical::DOUBLE, None),
            Kind::Whole => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Kind::Word => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let repetition = if column.optional {
            Repetition::OPTIONAL
        } else {
            Repetition::REQUIRED
        };
        Type::primitive_type_builder(column.name, physical)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .build()
            .map(Arc::new)
    });
    Type::group_type_builder(table.name)
        .with_fields(fields.collect::<Result<_, _>>()?)
        .build()
}

fn properties(table: &Table) -> WriterProperties {
    let about = |column: &Column| {
        let unit = if column.unit.is_empty() {
            "none"
        } else {
            column.unit
        };
        [
            KeyValue::new(format!("{}.unit", column.name), unit.to_owned()),
            KeyValue::new(
                format!("{}.meaning", column.name),
                column.meaning.to_owned(),
            ),
        ]
    };
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("whyloss ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(table.columns.iter().flat_map(about).collect()));
    for column in table.columns {
        let path = ColumnPath::from(column.name);
        let encoding = match column.kind {
            Kind::Seconds | Kind::Real => Encoding::BYTE_STREAM_SPLIT,
            Kind::Whole => Encoding::DELTA_BINARY_PACKED,
            Kind::Word => continue,
        };
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, encoding);
    }
    properties.build()
}

fn write_column(
    chunk: &mut SerializedColumnWriter<'_>,
    batch: &Batch,
    index: usize,
    column: &Column,
) -> Result<(), ParquetError> {
    let levels: Option<Vec<i16>> = column.optional.then(|| {
        let there = |cell| i16::from(cell != Cell::None);
        batch.column(index).map(there).collect()
    });
    let levels = levels.as_deref();
    match column.kind {
        Kind::Seconds | Kind::Real => {
            let values: Vec<f64> = batch.column(index).filter_map(Cell::as_f64).collect();
            chunk
                .typed::<DoubleType>()
                .write_batch(&values, levels, None)
        }
        Kind::Whole => {
            let whole = |cell| match cell {
                Cell::Whole(value) => Some(value.cast_signed()),
                _ => None,
            };
            let values: Vec<i64> = batch.column(index).filter_map(whole).collect();
            chunk
                .typed::<Int64Type>()
                .write_batch(&values, levels, None)
        }
        Kind::Word => {
            let words = batch.words(index).iter();
            let words: Vec<ByteArray> = words.map(|word| ByteArray::from(word.as_str())).collect();
            let word = |cell| match cell {
                Cell::Word(index) => words.get(index as usize).cloned(),
                _ => None,
            };
            let values: Vec<ByteArray> = batch.column(index).filter_map(word).collect();
            chunk
                .typed::<ByteArrayType>()
                .write_batch(&values, levels, None)
        }
    }
    .map(drop)
}

fn refuse(path: &Path, error: ParquetError) -> OutputError {
    let source = match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    };
    OutputError::new(path, source)
}
