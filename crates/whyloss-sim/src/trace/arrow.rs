//! Converts batches to Arrow record batches, for programs that need columns in memory without
//! files.
//!
//! Seconds and reals are `Float64`, whole numbers `UInt64`, words `Dictionary(Int32, Utf8)`; an
//! optional column is nullable. Each field's metadata has its `unit` and `meaning`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int32Array, RecordBatch, StringArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};

use super::batch::{Batch, Cell};
use super::tables::{Column, Kind, Table};

/// Returns the Arrow schema of a table.
pub fn schema(table: &Table) -> Schema {
    Schema::new(table.columns.iter().map(field).collect::<Vec<_>>())
}

fn field(column: &Column) -> Field {
    let kind = match column.kind {
        Kind::Seconds | Kind::Real => DataType::Float64,
        Kind::Whole => DataType::UInt64,
        Kind::Word => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
    };
    let about = [("unit", column.unit), ("meaning", column.meaning)];
    let about = about.map(|(key, value)| (key.to_owned(), value.to_owned()));
    Field::new(column.name, kind, column.optional).with_metadata(HashMap::from(about))
}

/// Converts a batch into an Arrow record batch.
///
/// # Errors
/// Never fails for a batch from a [`Trace`](super::Trace), whose columns have equal lengths and the
/// types of its table.
pub fn record_batch(batch: &Batch) -> Result<RecordBatch, ArrowError> {
    let columns = batch.table().columns.iter().enumerate();
    let columns = columns.map(|(index, column)| array(batch, index, column));
    RecordBatch::try_new(
        Arc::new(schema(batch.table())),
        columns.collect::<Result<_, _>>()?,
    )
}

fn array(batch: &Batch, index: usize, column: &Column) -> Result<ArrayRef, ArrowError> {
    let cells = batch.column(index);
    Ok(match column.kind {
        Kind::Seconds | Kind::Real => Arc::new(cells.map(Cell::as_f64).collect::<Float64Array>()),
        Kind::Whole => {
            let whole = |cell| match cell {
                Cell::Whole(value) => Some(value),
                _ => None,
            };
            Arc::new(cells.map(whole).collect::<UInt64Array>())
        }
        Kind::Word => {
            let key = |cell| match cell {
                Cell::Word(word) => Some(word.cast_signed()),
                _ => None,
            };
            let keys: Int32Array = cells.map(key).collect();
            let words = StringArray::from_iter_values(batch.words(index));
            Arc::new(DictionaryArray::<Int32Type>::try_new(
                keys,
                Arc::new(words),
            )?)
        }
    })
}
