//! Parts: Parquet files of some runs, each with its key and everything needed to repeat it.
//!
//! | column | |
//! |---|---|
//! | `run` | the key, 16 bytes |
//! | `seed` | |
//! | `set` | the settings of the run in the scenario: a JSON list of pairs of a key and a value, in the notation of `--set` |
//! | `error` | the error message of a failed run, which has no metrics |
//! | metrics | real numbers; missing if there was nothing to measure |
//!
//! The file's metadata has the scenario (`whyloss.scenario`), its name (`whyloss.file`), the
//! metrics and the version.

use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use twox_hash::XxHash3_128;

use super::Key;

/// Finished runs of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The text of the scenario.
    pub scenario: String,
    /// The name of the scenario in messages.
    pub file: String,
    /// The names of the metrics.
    pub metrics: Vec<String>,
    /// The finished runs of the part, a row each.
    pub rows: Vec<Row>,
}

/// One finished run with its metrics.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The key that identifies the run.
    pub key: Key,
    /// The run's settings in the scenario, as JSON.
    pub set: String,
    /// The seed of the run.
    pub seed: u64,
    /// The error message, if the run failed and has no metrics.
    pub error: Option<String>,
    /// The value of each metric; NaN if missing.
    pub values: Vec<f64>,
}

/// Reports a file that is not a part.
#[derive(Debug, thiserror::Error)]
#[error("this is no part of a sweep: {0}")]
pub struct PartError(#[from] ParquetError);

const FILE: &str = "whyloss.file";
const METRICS: &str = "whyloss.metrics";
const SCENARIO: &str = "whyloss.scenario";
const VERSION: &str = "whyloss.version";
/// The number of columns before the metrics.
const FIXED: usize = 4;

impl Part {
    pub(super) fn new(scenario: &str, file: &str, metrics: &[String]) -> Self {
        Self {
            scenario: scenario.to_owned(),
            file: file.to_owned(),
            metrics: metrics.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Returns the name of the part's file, which depends on the runs alone.
    pub fn name(&self) -> String {
        let keys: Vec<u8> = self
            .rows
            .iter()
            .flat_map(|row| row.key.to_be_bytes())
            .collect();
        format!("part-{:032x}.parquet", XxHash3_128::oneshot(&keys))
    }

    /// Encodes the part as a Parquet file.
    ///
    /// # Errors
    /// Returns an error if the Parquet encoder fails.
    pub fn to_parquet(&self) -> Result<Vec<u8>, PartError> {
        Ok(self.write()?)
    }

    /// Decodes a part from a Parquet file.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a Parquet file or not from a sweep.
    pub fn from_parquet(bytes: Vec<u8>) -> Result<Self, PartError> {
        Ok(read(bytes)?)
    }

    fn write(&self) -> Result<Vec<u8>, ParquetError> {
        let mut fields = vec![
            field("run", Physical::FIXED_LEN_BYTE_ARRAY, None, false, 16)?,
            field(
                "seed",
                Physical::INT64,
                Some(LogicalType::integer(64, false)),
                false,
                0,
            )?,
            field(
                "set",
                Physical::BYTE_ARRAY,
                Some(LogicalType::String),
                false,
                0,
            )?,
            field(
                "error",
                Physical::BYTE_ARRAY,
                Some(LogicalType::String),
                true,
                0,
            )?,
        ];
        for metric in &self.metrics {
            fields.push(field(metric, Physical::DOUBLE, None, true, 0)?);
        }
        let schema = Type::group_type_builder("part")
            .with_fields(fields)
            .build()?;
        let properties = properties(
            &[
                (SCENARIO, self.scenario.clone()),
                (FILE, self.file.clone()),
                (
                    METRICS,
                    serde_json::to_string(&self.metrics).unwrap_or_default(),
                ),
            ],
            &["run"],
        );
        let mut writer =
            SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
        let mut group = writer.next_row_group()?;
        let rows = &self.rows;
        let keys: Vec<FixedLenByteArray> = rows
            .iter()
            .map(|row| row.key.to_be_bytes().to_vec().into())
            .collect();
        write::<FixedLenByteArrayType>(&mut group, &keys, None)?;
        let seeds: Vec<i64> = rows.iter().map(|row| row.seed.cast_signed()).collect();
        write::<Int64Type>(&mut group, &seeds, None)?;
        let sets: Vec<ByteArray> = rows.iter().map(|row| row.set.as_str().into()).collect();
        write::<ByteArrayType>(&mut group, &sets, None)?;
        write_texts(&mut group, rows.iter().map(|row| row.error.as_deref()))?;
        for metric in 0..self.metrics.len() {
            write_reals(&mut group, rows.iter().map(|row| row.values[metric]))?;
        }
        group.close()?;
        writer.into_inner()
    }
}

/// Returns a column of a schema.
pub(super) fn field(
    name: &str,
    physical: Physical,
    logical: Option<LogicalType>,
    optional: bool,
    length: i32,
) -> Result<Arc<Type>, ParquetError> {
    let repetition = if optional {
        Repetition::OPTIONAL
    } else {
        Repetition::REQUIRED
    };
    let builder = Type::primitive_type_builder(name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .with_length(length);
    builder.build().map(Arc::new)
}

/// Returns how files are compressed. Columns in `plain` have no dictionary.
pub(super) fn properties(metadata: &[(&str, String)], plain: &[&str]) -> WriterProperties {
    let pairs = metadata
        .iter()
        .map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()));
    let version = KeyValue::new(VERSION.to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("whyloss ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_key_value_metadata(Some(pairs.chain([version]).collect()));
    for column in plain {
        let path = ColumnPath::from(*column);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::PLAIN);
    }
    properties.build()
}

type Group<'a> = SerializedRowGroupWriter<'a, Vec<u8>>;

/// Writes the next column. `levels` tell which rows have a value; `None` if all have one.
pub(super) fn write<T: DataType>(
    group: &mut Group<'_>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(values, levels, None)?;
        column.close()?;
    }
    Ok(())
}

/// Writes the next column of texts, some of which may be missing.
pub(super) fn write_texts<'a>(
    group: &mut Group<'_>,
    texts: impl Iterator<Item = Option<&'a str>> + Clone,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = texts
        .clone()
        .map(|text| i16::from(text.is_some()))
        .collect();
    let values: Vec<ByteArray> = texts.flatten().map(ByteArray::from).collect();
    write::<ByteArrayType>(group, &values, Some(&levels))
}

/// Writes the next column of real numbers. NaN marks a missing number.
pub(super) fn write_reals(
    group: &mut Group<'_>,
    reals: impl Iterator<Item = f64> + Clone,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = reals
        .clone()
        .map(|real| i16::from(!real.is_nan()))
        .collect();
    let values: Vec<f64> = reals.filter(|real| !real.is_nan()).collect();
    write::<DoubleType>(group, &values, Some(&levels))
}

fn read(bytes: Vec<u8>) -> Result<Part, ParquetError> {
    let reader = crate::parquet::open(bytes::Bytes::from(bytes))?;
    crate::parquet::guard(|| rows(&reader))
}

fn rows(reader: &impl FileReader) -> Result<Part, ParquetError> {
    let file = reader.metadata().file_metadata();
    let text = |key: &str| {
        let pairs = file.key_value_metadata().into_iter().flatten();
        let mut found = pairs.filter(|pair| pair.key == key);
        let value = found.next().and_then(|pair| pair.value.clone());
        value.ok_or_else(|| ParquetError::General(format!("its metadata has no `{key}`")))
    };
    let metrics: Vec<String> = serde_json::from_str(&text(METRICS)?)
        .map_err(|error| ParquetError::General(format!("`{METRICS}`: {error}")))?;
    let mut part = Part::new(&text(SCENARIO)?, &text(FILE)?, &metrics);
    if file.schema_descr().num_columns() != FIXED + metrics.len() {
        return Err(ParquetError::General(
            "its columns are not those of its metrics".to_owned(),
        ));
    }
    for index in 0..reader.num_row_groups() {
        let group = reader.get_row_group(index)?;
        let keys = column::<FixedLenByteArrayType>(&*group, 0)?;
        let seeds = column::<Int64Type>(&*group, 1)?;
        let sets = column::<ByteArrayType>(&*group, 2)?;
        let errors = column::<ByteArrayType>(&*group, 3)?;
        let values =
            (FIXED..FIXED + metrics.len()).map(|index| column::<DoubleType>(&*group, index));
        let values: Vec<Vec<Option<f64>>> = values.collect::<Result<_, _>>()?;
        let missing = || ParquetError::General("a value is missing".to_owned());
        for row in 0..keys.len() {
            let key = keys[row]
                .as_ref()
                .and_then(|key| key.data().try_into().ok());
            let set = sets[row].as_ref().ok_or_else(missing)?;
            let error = errors[row]
                .as_ref()
                .map(|error| error.as_utf8().map(str::to_owned));
            part.rows.push(Row {
                key: Key::from_be_bytes(key.ok_or_else(missing)?),
                set: set.as_utf8()?.to_owned(),
                seed: seeds[row].ok_or_else(missing)?.cast_unsigned(),
                error: error.transpose()?,
                values: values
                    .iter()
                    .map(|column| column[row].unwrap_or(f64::NAN))
                    .collect(),
            });
        }
    }
    Ok(part)
}

/// Returns the values of a column, one for each row.
fn column<T: DataType>(
    group: &dyn RowGroupReader,
    index: usize,
) -> Result<Vec<Option<T::T>>, ParquetError> {
    let rows = group.metadata().num_rows() as usize;
    let column = group.metadata().schema_descr().column(index);
    if column.physical_type() != T::get_physical_type() {
        return Err(ParquetError::General(format!(
            "column {} is of another type",
            column.name()
        )));
    }
    let mut reader = get_typed_column_reader::<T>(group.get_column_reader(index)?);
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    reader.read_records(rows, Some(&mut levels), None, &mut values)?;
    let mut values = values.into_iter();
    let optional = column.max_def_level() > 0;
    let read: Vec<Option<T::T>> = (0..rows)
        .map(|row| {
            if optional && levels.get(row) != Some(&1) {
                None
            } else {
                values.next()
            }
        })
        .collect();
    Ok(read)
}
