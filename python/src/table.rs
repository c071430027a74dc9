//! Passes Arrow tables to and from Python through the Arrow C data interface.
//!
//! A table is passed in a capsule (`__arrow_c_stream__`), whose name identifies its contents. The
//! only `unsafe` code of the package opens such a capsule from another library.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchIterator, StringArray,
    UInt64Array,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

/// A table of Arrow record batches.
#[pyclass(module = "whyloss", frozen)]
#[derive(Clone)]
pub(crate) struct Table {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
}

/// Returns the Python exception for an error of Arrow.
#[expect(clippy::needless_pass_by_value, reason = "it is mapped over errors")]
pub(crate) fn refuse(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

impl Table {
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, batches }
    }

    /// Creates a table of one batch, from columns with names and units.
    pub(crate) fn of(columns: Vec<(String, &str, ArrayRef)>) -> PyResult<Self> {
        let field = |(name, unit, array): &(String, &str, ArrayRef)| {
            let field = Field::new(name, array.data_type().clone(), true);
            if unit.is_empty() {
                field
            } else {
                field.with_metadata(HashMap::from([("unit".to_owned(), (*unit).to_owned())]))
            }
        };
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let arrays = columns.into_iter().map(|(_, _, array)| array).collect();
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).map_err(refuse)?;
        Ok(Self::new(schema, vec![batch]))
    }

    /// Imports the table from an object of any Arrow library.
    pub(crate) fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(table) = object.cast::<Self>() {
            return Ok(table.get().clone());
        }
        let stream = "__arrow_c_stream__";
        if !object.hasattr(stream)? {
            return Err(PyTypeError::new_err(format!(
                "found {}, expected a table that speaks Arrow (`__arrow_c_stream__`): of whyloss, Polars, pandas 2.2, pyarrow or DuckDB",
                object.get_type().name()?
            )));
        }
        let capsule = object.call_method0(stream)?.cast_into::<PyCapsule>()?;
        let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
        // SAFETY: by the Arrow PyCapsule interface, a capsule of this name holds a stream. The
        // stream is moved out, and the rest is marked as released, which the destructor of the
        // capsule checks.
        #[expect(unsafe_code, reason = "a capsule is opened")]
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.cast().as_ptr()) };
        let reader = RecordBatchStreamReader::try_new(stream).map_err(refuse)?;
        let schema = arrow_array::RecordBatchReader::schema(&reader);
        let batches = reader.collect::<Result<_, _>>().map_err(refuse)?;
        Ok(Self::new(schema, batches))
    }

    /// Returns a column by name, batch by batch.
    pub(crate) fn arrays(&self, name: &str) -> PyResult<Vec<&ArrayRef>> {
        let index = self.schema.index_of(name).map_err(|_| {
            let names: Vec<String> = self
                .schema
                .fields()
                .iter()
                .map(|field| format!("`{}`", field.name()))
                .collect();
            PyKeyError::new_err(format!(
                "no column is called `{name}`; there are {}",
                names.join(", ")
            ))
        })?;
        Ok(self
            .batches
            .iter()
            .map(|batch| batch.column(index))
            .collect())
    }

    /// Returns whether a column with this name exists.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.schema.index_of(name).is_ok()
    }
}

#[pymethods]
impl Table {
    /// Imports a table from any Arrow library (`__arrow_c_stream__`), without a copy.
    #[staticmethod]
    fn from_arrow(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::from_python(object)
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.__len__()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    /// The unit of each column that has one, such as `{"time_s": "s"}`.
    #[getter]
    fn units(&self) -> std::collections::BTreeMap<String, String> {
        let fields = self.schema.fields().iter();
        let unit = |field: &Arc<Field>| {
            Some((field.name().clone(), field.metadata().get("unit")?.clone()))
        };
        fields
            .filter_map(unit)
            .filter(|(_, unit)| !unit.is_empty())
            .collect()
    }

    /// Returns a column as a list; missing values are None.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for array in self.arrays(name)? {
            extend(&list, array)?;
        }
        Ok(list)
    }

    /// Returns every column as a list; missing values are None.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for field in self.schema.fields() {
            dict.set_item(field.name(), self.__getitem__(py, field.name())?)?;
        }
        Ok(dict)
    }

    /// Iterates over the rows, each a mapping from column names to values.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let names = self.column_names();
        let columns = names.iter().map(|name| self.__getitem__(py, name));
        let columns: Vec<Bound<'py, PyList>> = columns.collect::<PyResult<_>>()?;
        let rows = PyList::empty(py);
        for row in 0..self.__len__() {
            let dict = PyDict::new(py);
            for (name, column) in names.iter().zip(&columns) {
                dict.set_item(name, column.get_item(row)?)?;
            }
            rows.append(dict)?;
        }
        Ok(rows.try_iter()?.into_any())
    }

    fn __repr__(&self) -> String {
        format!(
            "<whyloss.Table of {} rows: {}>",
            self.__len__(),
            self.column_names().join(", ")
        )
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.schema).map_err(refuse)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows a producer to ignore the requested schema.
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// Appends the values of an array to a list.
fn extend(list: &Bound<'_, PyList>, array: &ArrayRef) -> PyResult<()> {
    macro_rules! each {
        ($array:expr) => {
            for value in $array {
                list.append(value)?;
            }
        };
    }
    match array.data_type() {
        DataType::Float64 => each!(array.as_primitive::<Float64Type>()),
        DataType::UInt64 => each!(array.as_primitive::<UInt64Type>()),
        DataType::Int64 => each!(array.as_primitive::<Int64Type>()),
        DataType::Boolean => each!(array.as_boolean()),
        DataType::Utf8 => each!(array.as_string::<i32>()),
        _ => {
            let texts = Texts::of(array)?;
            for row in 0..array.len() {
                list.append(texts.get(row))?;
            }
        }
    }
    Ok(())
}

/// The texts of a column, in any encoding.
pub(crate) enum Texts<'a> {
    Plain(&'a StringArray),
    Large(&'a arrow_array::LargeStringArray),
    View(&'a arrow_array::StringViewArray),
    Few(Vec<Option<usize>>, Box<Texts<'a>>),
}

impl<'a> Texts<'a> {
    pub(crate) fn of(array: &'a ArrayRef) -> PyResult<Self> {
        if let Some(few) = array.as_any_dictionary_opt() {
            let keys = few.keys();
            let keys: Vec<Option<usize>> = match keys.data_type() {
                DataType::Int32 => keys
                    .as_primitive::<Int32Type>()
                    .iter()
                    .map(|key| key.map(|key| key as usize))
                    .collect(),
                DataType::UInt32 => keys
                    .as_primitive::<UInt32Type>()
                    .iter()
                    .map(|key| key.map(|key| key as usize))
                    .collect(),
                _ => (0..few.len())
                    .map(|row| few.is_valid(row).then(|| few.normalized_keys()[row]))
                    .collect(),
            };
            return Ok(Self::Few(keys, Box::new(Self::of(few.values())?)));
        }
        match array.data_type() {
            DataType::Utf8 => Ok(Self::Plain(array.as_string())),
            DataType::LargeUtf8 => Ok(Self::Large(array.as_string())),
            DataType::Utf8View => Ok(Self::View(array.as_string_view())),
            other => Err(PyTypeError::new_err(format!(
                "found a column of {other}, expected text"
            ))),
        }
    }

    pub(crate) fn get(&self, row: usize) -> Option<&str> {
        match self {
            Self::Plain(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Large(array) => array.is_valid(row).then(|| array.value(row)),
            Self::View(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Few(keys, values) => values.get(keys[row]?),
        }
    }
}

/// Returns a column of reals; NaN is missing.
pub(crate) fn reals(values: impl IntoIterator<Item = f64>) -> ArrayRef {
    Arc::new(
        values
            .into_iter()
            .map(|value| (!value.is_nan()).then_some(value))
            .collect::<Float64Array>(),
    )
}

/// Returns a column of counts; NaN is missing.
pub(crate) fn counts(values: impl IntoIterator<Item = f64>) -> ArrayRef {
    Arc::new(
        values
            .into_iter()
            .map(|value| (!value.is_nan()).then_some(value as u64))
            .collect::<UInt64Array>(),
    )
}

/// Returns a column of texts.
pub(crate) fn texts<T: AsRef<str>>(values: impl IntoIterator<Item = Option<T>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<StringArray>())
}

/// Returns a column of truth values.
pub(crate) fn flags(values: impl IntoIterator<Item = Option<bool>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<BooleanArray>())
}

/// Returns half the width of the confidence interval of the mean (Student's t); None with fewer
/// than two values.
#[pyfunction]
#[pyo3(signature = (values, confidence = 0.95))]
#[expect(clippy::needless_pass_by_value, reason = "it comes from Python")]
pub(crate) fn half_width(values: Vec<f64>, confidence: f64) -> Option<f64> {
    whyloss_study::statistics::half_width(&values, confidence)
}
