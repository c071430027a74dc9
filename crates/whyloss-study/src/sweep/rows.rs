//! All rows of a plan, in the plan's order.
//!
//! | column | |
//! |---|---|
//! | `point` | the point's number, from 0 |
//! | one for each axis | the value of the axis; if the axis sets several keys, that of the first |
//! | `seed` | |
//! | metrics | whole or real numbers; missing if there was nothing to measure |
//! | `error` | the error message of a failed run, which has no metrics |
//! | `set` | the settings of the run in the scenario: a JSON list of pairs of a key and a value, in the notation of `--set` |
//! | `scenario` | the name of the run's scenario, if the plan has several |
//!
//! The file's metadata has the scenario (`whyloss.scenario`), its name (`whyloss.file`), the text
//! of each other scenario (`whyloss.scenario.FILE`), the version, and the unit of each metric that
//! has one (`NAME.unit`).

use std::ops::Range;
use std::sync::Arc;

use parquet::basic::{LogicalType, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::part::{PartError, field, properties, write, write_reals, write_texts};
use crate::axis::Setting;
use crate::metric::{Kind, Metric};
use crate::plan::Network;

/// The rows, column by column, all of the same length.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The scenarios of the plan.
    pub networks: Vec<Network>,
    /// The index of each row's scenario.
    pub network: Vec<usize>,
    /// The name and values of each axis.
    pub axes: Vec<(String, AxisColumn)>,
    /// The number of each row's point.
    pub points: Vec<u64>,
    /// The seed of each row.
    pub seeds: Vec<u64>,
    /// Each metric with its values; NaN if missing.
    pub metrics: Vec<(Metric, Vec<f64>)>,
    /// The error of each row's run, if it failed.
    pub errors: Vec<Option<String>>,
    /// The settings of each run in the scenario, as JSON.
    pub sets: Vec<String>,
}

/// The values of an axis, of one type.
#[derive(Clone, Debug, PartialEq)]
pub enum AxisColumn {
    /// A column of whole numbers.
    Whole(Vec<i64>),
    /// A column of numbers that are not all whole.
    Real(Vec<f64>),
    /// A column of values of other types, as text.
    Text(Vec<String>),
}

impl AxisColumn {
    pub(super) fn of(settings: &[Setting]) -> Self {
        let whole = settings.iter().map(|setting| match setting {
            Setting::Whole(whole) => Some(*whole),
            _ => None,
        });
        if let Some(whole) = whole.collect() {
            return Self::Whole(whole);
        }
        let real = settings.iter().map(|setting| match setting {
            Setting::Whole(whole) => Some(*whole as f64),
            Setting::Real(real) => Some(*real),
            Setting::Text(_) => None,
        });
        match real.collect() {
            Some(real) => Self::Real(real),
            None => Self::Text(settings.iter().map(ToString::to_string).collect()),
        }
    }
}

/// The number of rows that are compressed together.
const GROUP: usize = 1 << 20;

impl Rows {
    pub(super) fn new(networks: &[Network], columns: &[Metric]) -> Self {
        Self {
            networks: networks.to_vec(),
            network: Vec::new(),
            axes: Vec::new(),
            points: Vec::new(),
            seeds: Vec::new(),
            metrics: columns
                .iter()
                .map(|column| (column.clone(), Vec::new()))
                .collect(),
            errors: Vec::new(),
            sets: Vec::new(),
        }
    }

    /// Returns the names of these rows' scenarios.
    pub fn files(&self, rows: Range<usize>) -> impl Iterator<Item = &str> {
        self.network[rows]
            .iter()
            .map(|&network| self.networks[network].file.as_str())
    }

    /// Encodes the rows as a Parquet file; equal rows give equal bytes.
    ///
    /// # Errors
    /// Returns an error if the Parquet encoder fails.
    pub fn to_parquet(&self) -> Result<Vec<u8>, PartError> {
        Ok(self.write()?)
    }

    /// Returns the keys and values of the file's metadata: the scenarios, and the units of the
    /// metrics.
    fn metadata(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for (index, network) in self.networks.iter().enumerate() {
            if index == 0 {
                all.push(("whyloss.scenario".to_owned(), network.text.clone()));
                all.push(("whyloss.file".to_owned(), network.file.clone()));
            } else {
                all.push((
                    format!("whyloss.scenario.{}", network.file),
                    network.text.clone(),
                ));
            }
        }
        let units = self
            .metrics
            .iter()
            .filter(|(metric, _)| !metric.unit.is_empty());
        all.extend(units.map(|(metric, _)| (format!("{}.unit", metric.id), metric.unit.clone())));
        all
    }

    fn write(&self) -> Result<Vec<u8>, ParquetError> {
        let whole = || Some(LogicalType::integer(64, false));
        let text = || Some(LogicalType::String);
        let mut fields = vec![field("point", Physical::INT64, whole(), false, 0)?];
        for (name, column) in &self.axes {
            fields.push(match column {
                AxisColumn::Whole(_) => field(name, Physical::INT64, None, false, 0)?,
                AxisColumn::Real(_) => field(name, Physical::DOUBLE, None, false, 0)?,
                AxisColumn::Text(_) => field(name, Physical::BYTE_ARRAY, text(), false, 0)?,
            });
        }
        fields.push(field("seed", Physical::INT64, whole(), false, 0)?);
        for (column, _) in &self.metrics {
            fields.push(match column.kind {
                Kind::Count => field(&column.id, Physical::INT64, whole(), true, 0)?,
                Kind::Real => field(&column.id, Physical::DOUBLE, None, true, 0)?,
            });
        }
        fields.push(field("error", Physical::BYTE_ARRAY, text(), true, 0)?);
        fields.push(field("set", Physical::BYTE_ARRAY, text(), false, 0)?);
        let several = self.networks.len() > 1;
        if several {
            fields.push(field("scenario", Physical::BYTE_ARRAY, text(), false, 0)?);
        }
        let schema = Type::group_type_builder("rows")
            .with_fields(fields)
            .build()?;
        let metadata = self.metadata();
        let metadata = metadata
            .iter()
            .map(|(key, value)| (key.as_str(), value.clone()));
        let properties = properties(&metadata.collect::<Vec<_>>(), &[]);
        let mut writer =
            SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
        for start in (0..self.points.len()).step_by(GROUP) {
            let rows = start..self.points.len().min(start + GROUP);
            let signed = |values: &[u64]| {
                values
                    .iter()
                    .map(|value| value.cast_signed())
                    .collect::<Vec<i64>>()
            };
            let mut group = writer.next_row_group()?;
            write::<Int64Type>(&mut group, &signed(&self.points[rows.clone()]), None)?;
            for (_, column) in &self.axes {
                match column {
                    AxisColumn::Whole(values) => {
                        write::<Int64Type>(&mut group, &values[rows.clone()], None)?;
                    }
                    AxisColumn::Real(values) => {
                        write::<DoubleType>(&mut group, &values[rows.clone()], None)?;
                    }
                    AxisColumn::Text(values) => {
                        write::<ByteArrayType>(&mut group, &texts(&values[rows.clone()]), None)?;
                    }
                }
            }
            write::<Int64Type>(&mut group, &signed(&self.seeds[rows.clone()]), None)?;
            for (column, values) in &self.metrics {
                let values = values[rows.clone()].iter().copied();
                match column.kind {
                    Kind::Real => write_reals(&mut group, values)?,
                    Kind::Count => {
                        let levels: Vec<i16> = values
                            .clone()
                            .map(|value| i16::from(!value.is_nan()))
                            .collect();
                        let counts: Vec<i64> = values
                            .filter(|value| !value.is_nan())
                            .map(|value| value as i64)
                            .collect();
                        write::<Int64Type>(&mut group, &counts, Some(&levels))?;
                    }
                }
            }
            write_texts(
                &mut group,
                self.errors[rows.clone()].iter().map(Option::as_deref),
            )?;
            write::<ByteArrayType>(&mut group, &texts(&self.sets[rows.clone()]), None)?;
            if several {
                let files: Vec<String> = self.files(rows).map(str::to_owned).collect();
                write::<ByteArrayType>(&mut group, &texts(&files), None)?;
            }
            group.close()?;
        }
        writer.into_inner()
    }
}

fn texts(texts: &[String]) -> Vec<ByteArray> {
    texts.iter().map(|text| text.as_str().into()).collect()
}
