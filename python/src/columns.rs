//! Reads columns of numbers of any type.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::events::nanos;

/// A column of numbers of any type, read as reals or as whole numbers.
pub(crate) enum Numbers<'a> {
    Real(&'a [f64]),
    U64(&'a [u64]),
    I64(&'a [i64]),
    U32(&'a [u32]),
    I32(&'a [i32]),
    U16(&'a [u16]),
    /// The column or all its values are missing. Every row reads as 0.
    None,
}

impl<'a> Numbers<'a> {
    pub(crate) fn of(name: &str, array: &'a ArrayRef) -> PyResult<Self> {
        let is_empty = *array.data_type() == DataType::Null && !array.is_empty();
        if is_empty || array.null_count() > 0 {
            return Err(PyValueError::new_err(format!(
                "column `{name}` lacks values"
            )));
        }
        Self::or_null(name, array)
    }

    /// Reads a column that may lack values, which the caller must not read.
    pub(crate) fn or_null(name: &str, array: &'a ArrayRef) -> PyResult<Self> {
        Ok(match array.data_type() {
            DataType::Float64 => Self::Real(array.as_primitive::<Float64Type>().values()),
            DataType::UInt64 => Self::U64(array.as_primitive::<UInt64Type>().values()),
            DataType::Int64 => Self::I64(array.as_primitive::<Int64Type>().values()),
            DataType::UInt32 => Self::U32(array.as_primitive::<UInt32Type>().values()),
            DataType::Int32 => Self::I32(array.as_primitive::<Int32Type>().values()),
            DataType::UInt16 => Self::U16(array.as_primitive::<UInt16Type>().values()),
            DataType::Null => Self::None,
            other => {
                return Err(PyTypeError::new_err(format!(
                    "column `{name}` is of {other}, expected numbers of 32 or 64 bits, or unsigned ones of 16"
                )));
            }
        })
    }

    /// Returns the value as a whole number; negative values become 0.
    #[inline]
    pub(crate) fn whole(&self, row: usize) -> u64 {
        match self {
            Self::U64(values) => values[row],
            Self::I64(values) => values[row].max(0).cast_unsigned(),
            Self::U32(values) => u64::from(values[row]),
            Self::I32(values) => u64::from(values[row].max(0).cast_unsigned()),
            Self::U16(values) => u64::from(values[row]),
            Self::Real(values) => values[row] as u64,
            Self::None => 0,
        }
    }

    /// Returns the value in seconds as nanoseconds.
    #[inline]
    pub(crate) fn nanos(&self, row: usize) -> i64 {
        match self {
            Self::Real(values) => nanos(values[row]),
            Self::None => 0,
            _ => self.whole(row).cast_signed() * 1_000_000_000,
        }
    }
}
