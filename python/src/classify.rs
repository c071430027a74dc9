//! Classifiers, estimators and controllers over tables: the same code as in a run, without one.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float64Array, UInt8Array, UInt64Array};
use arrow_schema::DataType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use whyloss::bandwidth::{AnyEstimator, BandwidthEstimator};
use whyloss::congestion::{ControllerSpec, Start, UnderPolicy};
use whyloss::event::{AckEvent, Detection, LossEvent};
use whyloss::receiver::{self, Arrival, ReceiverClassifier};
use whyloss::registry::Parameter;
use whyloss::{Cause, Duration, Time, bandwidth, congestion, sender};

use crate::table::{Table, Texts};

type Parameters = std::collections::BTreeMap<String, f64>;

/// Builds what an entry of a registry names.
macro_rules! build {
    ($family:path, $what:literal, $name:expr, $parameters:expr) => {{
        let entry = $family
            .iter()
            .find(|entry| entry.id == $name)
            .ok_or_else(|| {
                let ids: Vec<&str> = $family.iter().map(|entry| entry.id).collect();
                PyValueError::new_err(format!(
                    "no {} is called `{}`; there are {}",
                    $what,
                    $name,
                    ids.join(", ")
                ))
            })?;
        let values: Vec<(&str, f64)> = $parameters
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .collect();
        entry
            .build(&values)
            .map_err(|error| PyValueError::new_err(error.to_string()))?
    }};
}

/// What there is: family, name, title, summary, source and parameters of each algorithm.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "rows of a table")]
pub(crate) fn registry() -> Vec<(
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    Vec<(&'static str, f64, f64, f64, &'static str)>,
)> {
    fn parameters(list: &[Parameter]) -> Vec<(&'static str, f64, f64, f64, &'static str)> {
        list.iter()
            .map(|p| (p.name, p.default, p.min, p.max, p.doc))
            .collect()
    }
    let mut rows = Vec::new();
    macro_rules! family {
        ($name:literal, $registry:path) => {
            for e in $registry {
                rows.push((
                    $name,
                    e.id,
                    e.name,
                    e.summary,
                    e.source,
                    parameters(e.parameters),
                ));
            }
        };
    }
    family!("receiver classifier", receiver::REGISTRY);
    family!("sender classifier", sender::REGISTRY);
    family!("estimator", bandwidth::REGISTRY);
    family!("controller", congestion::REGISTRY);
    rows
}

/// A column of numbers of any type, read as reals or as whole numbers.
enum Numbers<'a> {
    Real(&'a [f64]),
    U64(&'a [u64]),
    I64(&'a [i64]),
    U32(&'a [u32]),
    I32(&'a [i32]),
    /// Not there: always this.
    None,
}

impl<'a> Numbers<'a> {
    fn of(name: &str, array: &'a ArrayRef) -> PyResult<Self> {
        if array.null_count() > 0 {
            return Err(PyValueError::new_err(format!(
                "column `{name}` lacks values"
            )));
        }
        Ok(match array.data_type() {
            DataType::Float64 => Self::Real(array.as_primitive::<Float64Type>().values()),
            DataType::UInt64 => Self::U64(array.as_primitive::<UInt64Type>().values()),
            DataType::Int64 => Self::I64(array.as_primitive::<Int64Type>().values()),
            DataType::UInt32 => Self::U32(array.as_primitive::<UInt32Type>().values()),
            DataType::Int32 => Self::I32(array.as_primitive::<Int32Type>().values()),
            other => {
                return Err(PyTypeError::new_err(format!(
                    "column `{name}` is of {other}, expected numbers of 32 or 64 bits"
                )));
            }
        })
    }

    /// As whole numbers; negative ones are none.
    #[inline]
    fn whole(&self, row: usize) -> u64 {
        match self {
            Self::U64(values) => values[row],
            Self::I64(values) => values[row].max(0).cast_unsigned(),
            Self::U32(values) => u64::from(values[row]),
            Self::I32(values) => u64::from(values[row].max(0).cast_unsigned()),
            Self::Real(values) => values[row] as u64,
            Self::None => 0,
        }
    }

    /// Seconds as nanoseconds.
    #[inline]
    fn nanos(&self, row: usize) -> i64 {
        match self {
            Self::Real(values) => nanos(values[row]),
            Self::None => 0,
            _ => self.whole(row).cast_signed() * 1_000_000_000,
        }
    }
}

/// Seconds as the whole nanoseconds nearest to them, without a call per value: 1.5 · 2⁵² more, and the last bits count.
/// Beyond 2⁵¹ ns (26 days), where that ends, as usual.
#[inline]
fn nanos(seconds: f64) -> i64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    let nanos = seconds * 1e9;
    if nanos.abs() < 2_251_799_813_685_248.0 {
        (nanos + SHIFT).to_bits().cast_signed() - SHIFT.to_bits().cast_signed()
    } else {
        nanos.round() as i64
    }
}

/// A receiver classifier, fed with arrivals.
#[pyclass(module = "whyloss")]
pub(crate) struct Classifier {
    name: String,
    inner: receiver::Classifier,
    /// The first sequence number after the highest that arrived.
    expected: u64,
    /// Arrivals so far.
    rows: u64,
}

/// Gaps with their verdicts.
#[derive(Default)]
struct Verdicts {
    row: Vec<u64>,
    time: Vec<f64>,
    first: Vec<u64>,
    missing: Vec<u64>,
    wireless: Vec<u8>,
}

#[pymethods]
impl Classifier {
    #[new]
    #[pyo3(signature = (name, **parameters))]
    fn new(name: String, parameters: Option<Parameters>) -> PyResult<Self> {
        let parameters = parameters.unwrap_or_default();
        let classifier = build!(receiver::REGISTRY, "receiver classifier", name, parameters);
        Ok(Self {
            name,
            inner: classifier,
            expected: 0,
            rows: 0,
        })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Takes arrivals; answers a verdict for each gap that they reveal.
    fn judge(&mut self, py: Python<'_>, arrivals: &Bound<'_, PyAny>) -> PyResult<Table> {
        let table = Table::from_python(arrivals)?;
        let column = |name: &str| table.arrays(name);
        let (times, sequences, rotts) = (column("time_s")?, column("sequence")?, column("rott_s")?);
        let sizes = if table.has("size_bytes") {
            Some(column("size_bytes")?)
        } else {
            None
        };
        if table.has("flow") {
            one_flow(&table)?;
        }
        let mut verdicts = Verdicts::default();
        for batch in 0..times.len() {
            let time = Numbers::of("time_s", times[batch])?;
            let sequence = Numbers::of("sequence", sequences[batch])?;
            let rott = Numbers::of("rott_s", rotts[batch])?;
            let size = match &sizes {
                Some(sizes) => Numbers::of("size_bytes", sizes[batch])?,
                None => Numbers::None,
            };
            let rows = times[batch].len();
            py.detach(|| match (&time, &sequence, &rott, &size) {
                // As traces have them: no question about types in the loop.
                (
                    Numbers::Real(time),
                    Numbers::U64(sequence),
                    Numbers::Real(rott),
                    Numbers::U64(size),
                ) => {
                    let (time, sequence, rott, size) = (
                        &time[..rows],
                        &sequence[..rows],
                        &rott[..rows],
                        &size[..rows],
                    );
                    self.feed(rows, &mut verdicts, |row| {
                        (nanos(time[row]), sequence[row], nanos(rott[row]), size[row])
                    });
                }
                _ => self.feed(rows, &mut verdicts, |row| {
                    (
                        time.nanos(row),
                        sequence.whole(row),
                        rott.nanos(row),
                        size.whole(row),
                    )
                }),
            });
        }
        verdicts.table()
    }

    fn __repr__(&self) -> String {
        format!(
            "<whyloss.Classifier {}, {} arrivals so far>",
            self.name, self.rows
        )
    }
}

impl Classifier {
    #[inline]
    fn feed(
        &mut self,
        rows: usize,
        verdicts: &mut Verdicts,
        arrival: impl Fn(usize) -> (i64, u64, i64, u64),
    ) {
        // A clock that starts late enough for whatever was sent before it.
        const EPOCH: i64 = 1 << 60;
        for row in 0..rows {
            let (time, sequence, rott, size) = arrival(row);
            let received = Time::from_nanos((EPOCH + time).cast_unsigned());
            let sent = Time::from_nanos((EPOCH + time - rott).cast_unsigned());
            let missing = sequence.saturating_sub(self.expected);
            self.expected = self.expected.max(sequence.saturating_add(1));
            let arrival = Arrival::new(sequence, sent, received, size as u32);
            if let Some(cause) = self.inner.on_arrival(&arrival, missing) {
                verdicts.row.push(self.rows + row as u64);
                verdicts.time.push(time as f64 / 1e9);
                verdicts.first.push(sequence - missing);
                verdicts.missing.push(missing);
                verdicts.wireless.push(u8::from(cause == Cause::Wireless));
            }
        }
        self.rows += rows as u64;
    }
}

impl Verdicts {
    fn table(self) -> PyResult<Table> {
        let words = Arc::new(arrow_array::StringArray::from(vec![
            "congestion",
            "wireless",
        ]));
        let verdict = arrow_array::DictionaryArray::<UInt8Type>::try_new(
            UInt8Array::from(self.wireless),
            words,
        );
        Table::of(vec![
            (
                "row".into(),
                "",
                Arc::new(UInt64Array::from(self.row)) as ArrayRef,
            ),
            (
                "time_s".into(),
                "s",
                Arc::new(Float64Array::from(self.time)),
            ),
            (
                "first_missing".into(),
                "packets",
                Arc::new(UInt64Array::from(self.first)),
            ),
            (
                "missing".into(),
                "packets",
                Arc::new(UInt64Array::from(self.missing)),
            ),
            (
                "verdict".into(),
                "",
                Arc::new(verdict.map_err(crate::table::refuse)?),
            ),
        ])
    }
}

/// Refuses arrivals of several flows: a classifier's state is that of one.
fn one_flow(table: &Table) -> PyResult<()> {
    let mut only: Option<String> = None;
    for array in table.arrays("flow")? {
        // Most often one word for all; looking at every row would take longer than the verdicts.
        let same = array
            .as_any_dictionary_opt()
            .is_some_and(|few| few.values().len() <= 1);
        if same {
            continue;
        }
        let texts = Texts::of(array)?;
        for row in 0..array.len() {
            let flow = texts.get(row);
            match (&only, flow) {
                (None, Some(flow)) => only = Some(flow.to_owned()),
                (Some(only), Some(flow)) if only != flow => {
                    return Err(PyValueError::new_err(format!(
                        "found arrivals of flows `{only}` and `{flow}`; expected those of one flow, since a classifier's state is that of one"
                    )));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Columns of a table of acknowledgements, of one batch; those that are not there are zero.
struct Acks<'a> {
    time: Numbers<'a>,
    acked: Numbers<'a>,
    in_flight: Numbers<'a>,
    window: Numbers<'a>,
    rtt: Option<&'a Float64Array>,
    rows: usize,
}

impl<'a> Acks<'a> {
    fn of(table: &'a Table) -> PyResult<Vec<Self>> {
        let whole = |name: &str, batch: usize| {
            if table.has(name) {
                Numbers::of(name, table.arrays(name)?[batch])
            } else {
                Ok(Numbers::None)
            }
        };
        let times = table.arrays("time_s")?;
        table.arrays("acked_bytes")?;
        let batch = |batch: usize| {
            let rtt = if table.has("rtt_s") {
                Some(table.arrays("rtt_s")?[batch])
            } else {
                None
            };
            let rtt = rtt.map(|rtt| {
                rtt.as_primitive_opt::<Float64Type>()
                    .ok_or_else(|| PyTypeError::new_err("column `rtt_s` is no column of reals"))
            });
            Ok(Acks {
                time: Numbers::of("time_s", times[batch])?,
                acked: whole("acked_bytes", batch)?,
                in_flight: whole("in_flight_bytes", batch)?,
                window: whole("window_bytes", batch)?,
                rtt: rtt.transpose()?,
                rows: times[batch].len(),
            })
        };
        (0..times.len()).map(batch).collect()
    }

    fn at(&self, row: usize) -> Time {
        Time::from_nanos(self.time.nanos(row).max(0).cast_unsigned())
    }

    fn rtt(&self, row: usize) -> Option<Duration> {
        let rtt = self.rtt.filter(|rtt| rtt.is_valid(row))?;
        Some(Duration::from_nanos(nanos(rtt.value(row))))
    }

    /// The acknowledgement of a row, after which `acknowledged` bytes have been acknowledged in all.
    fn ack(&self, row: usize, segment_size: u32, acknowledged: u64) -> AckEvent {
        AckEvent::new(self.at(row), segment_size)
            .acked(self.acked.whole(row))
            .acknowledged(acknowledged)
            .in_flight(self.in_flight.whole(row))
            .window(self.window.whole(row))
            .rtt(self.rtt(row))
    }
}

/// An estimator of bandwidth, fed with acknowledgements.
#[pyclass(module = "whyloss")]
pub(crate) struct Estimator {
    inner: AnyEstimator,
    segment_size: u32,
    acknowledged: u64,
}

#[pymethods]
impl Estimator {
    #[new]
    #[pyo3(signature = (name, segment_size = 1500, **parameters))]
    #[expect(clippy::needless_pass_by_value, reason = "it comes from Python")]
    fn new(name: String, segment_size: u32, parameters: Option<Parameters>) -> PyResult<Self> {
        let parameters = parameters.unwrap_or_default();
        let spec = build!(bandwidth::REGISTRY, "estimator", name, parameters);
        let segment_size = segment_size.max(1);
        Ok(Self {
            inner: spec.build(segment_size),
            segment_size,
            acknowledged: 0,
        })
    }

    /// Takes acknowledgements; answers the estimate after each.
    fn estimate(&mut self, py: Python<'_>, acks: &Bound<'_, PyAny>) -> PyResult<Table> {
        let table = Table::from_python(acks)?;
        let (mut times, mut rates) = (Vec::new(), Vec::new());
        for acks in Acks::of(&table)? {
            py.detach(|| {
                for row in 0..acks.rows {
                    self.acknowledged += acks.acked.whole(row);
                    self.inner
                        .on_ack(&acks.ack(row, self.segment_size, self.acknowledged));
                    times.push(acks.at(row).as_secs_f64());
                    rates.push(
                        self.inner
                            .estimate()
                            .map_or(f64::NAN, |rate| rate.as_bps() as f64),
                    );
                }
            });
        }
        Table::of(vec![
            ("time_s".into(), "s", crate::table::reals(times)),
            ("estimate_bps".into(), "bit/s", crate::table::reals(rates)),
        ])
    }
}

/// A congestion controller, fed with acknowledgements and losses.
#[pyclass(module = "whyloss")]
pub(crate) struct Controller {
    inner: UnderPolicy,
    segment_size: u32,
    acknowledged: u64,
}

#[pymethods]
impl Controller {
    #[new]
    #[pyo3(signature = (name, segment_size = 1500, **parameters))]
    #[expect(clippy::needless_pass_by_value, reason = "it comes from Python")]
    fn new(name: String, segment_size: u32, parameters: Option<Parameters>) -> PyResult<Self> {
        let parameters = parameters.unwrap_or_default();
        let kind = build!(congestion::REGISTRY, "controller", name, parameters);
        let segment_size = segment_size.max(1);
        let spec = ControllerSpec {
            kind,
            ..ControllerSpec::default()
        };
        Ok(Self {
            inner: spec.build(&Start::new(segment_size)),
            segment_size,
            acknowledged: 0,
        })
    }

    /// Takes events, each an `ack`, a `loss`, the `recovered` after it, or a `timeout`; answers the window after each.
    fn follow(&mut self, py: Python<'_>, events: &Bound<'_, PyAny>) -> PyResult<Table> {
        let table = Table::from_python(events)?;
        let kinds = table.arrays("event")?;
        let (mut times, mut windows, mut thresholds, mut rates) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (acks, kinds) in Acks::of(&table)?.into_iter().zip(kinds) {
            let kinds = Texts::of(kinds)?;
            py.detach(|| {
                for row in 0..acks.rows {
                    let at = acks.at(row);
                    let window = match &acks.window {
                        Numbers::None => self.inner.window(),
                        given => given.whole(row),
                    };
                    let loss = |detection| {
                        LossEvent::new(at, detection, self.segment_size)
                            .in_flight(acks.in_flight.whole(row))
                            .window(window)
                            .rtt(acks.rtt(row))
                    };
                    match kinds.get(row) {
                        Some("ack") => {
                            self.acknowledged += acks.acked.whole(row);
                            let ack = acks.ack(row, self.segment_size, self.acknowledged).window(window);
                            self.inner.on_ack(&ack);
                        }
                        Some("loss") => self.inner.on_loss(&loss(Detection::Duplicates), Cause::Congestion),
                        Some("recovered") => self.inner.on_recovery_end(at, u64::MAX),
                        Some("timeout") => self.inner.on_timeout(&loss(Detection::Timeout), Cause::Congestion),
                        other => {
                            let found = other.map_or("nothing".to_owned(), |word| format!("{word:?}"));
                            return Err(PyValueError::new_err(format!(
                                "row {row}: `event` is {found}, expected \"ack\", \"loss\", \"recovered\" or \"timeout\""
                            )));
                        }
                    }
                    times.push(at.as_secs_f64());
                    windows.push(self.inner.window());
                    let threshold = self.inner.ssthresh();
                    thresholds.push((threshold != u64::MAX).then_some(threshold));
                    rates.push(self.inner.pacing_rate().map_or(f64::NAN, |rate| rate.as_bps() as f64));
                }
                Ok(())
            })?;
        }
        Table::of(vec![
            ("time_s".into(), "s", crate::table::reals(times)),
            (
                "cwnd_bytes".into(),
                "bytes",
                Arc::new(UInt64Array::from(windows)) as ArrayRef,
            ),
            (
                "ssthresh_bytes".into(),
                "bytes",
                Arc::new(UInt64Array::from(thresholds)),
            ),
            ("pacing_bps".into(), "bit/s", crate::table::reals(rates)),
        ])
    }
}
