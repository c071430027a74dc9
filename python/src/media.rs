//! Runs the bandwidth estimator for media over tables of reports.

use arrow_array::{Array as _, ArrayRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use whyloss_rtc::{Ecn, Estimator, Fate, Report};

use crate::columns::Numbers;
use crate::events::{nanos, shifted};
use crate::table::{Table, reals};

/// The columns of one batch of a table of reports.
struct Reports<'a> {
    time: Numbers<'a>,
    id: Numbers<'a>,
    departed: Numbers<'a>,
    arrived: Numbers<'a>,
    /// The column of `arrived`, which shows the nulls.
    received: &'a ArrayRef,
    size: Numbers<'a>,
    ecn: Numbers<'a>,
    rows: usize,
}

impl<'a> Reports<'a> {
    fn of(table: &'a Table) -> PyResult<Vec<Self>> {
        let times = table.arrays("time_s")?;
        let arrived = table.arrays("received_s")?;
        let batch = |batch: usize| {
            let numbers = |name: &str| Numbers::of(name, table.arrays(name)?[batch]);
            Ok(Self {
                time: numbers("time_s")?,
                id: numbers("id")?,
                departed: numbers("sent_s")?,
                arrived: Numbers::or_null("received_s", arrived[batch])?,
                received: arrived[batch],
                size: numbers("size_bytes")?,
                ecn: if table.has("ecn") {
                    numbers("ecn")?
                } else {
                    Numbers::None
                },
                rows: times[batch].len(),
            })
        };
        (0..times.len()).map(batch).collect()
    }

    fn report(&self, row: usize) -> Report {
        let lost = match &self.arrived {
            _ if self.received.is_null(row) => true,
            Numbers::Real(values) => values[row].is_nan(),
            // Arrow gives a column without any value no type.
            Numbers::None => true,
            _ => false,
        };
        Report {
            id: self.id.whole(row),
            departed: shifted(self.departed.nanos(row)),
            size: u32::try_from(self.size.whole(row)).unwrap_or(u32::MAX),
            fate: if lost {
                Fate::Lost(None)
            } else {
                let at = shifted(self.arrived.nanos(row));
                Fate::Arrived(Some(at), Ecn::from_bits(self.ecn.whole(row) as u8))
            },
        }
    }
}

/// Estimates the bitrate at which a media sender should send.
#[pyclass(module = "whyloss")]
pub(crate) struct BandwidthEstimator {
    inner: Estimator,
}

#[pymethods]
impl BandwidthEstimator {
    #[new]
    #[pyo3(signature = (initial_bps, *, least_bps = 100e3, most_bps = 100e6))]
    fn new(initial_bps: f64, least_bps: f64, most_bps: f64) -> PyResult<Self> {
        let rates = [initial_bps, least_bps, most_bps];
        if rates.iter().any(|rate| !rate.is_finite() || *rate <= 0.0) || least_bps > most_bps {
            return Err(PyValueError::new_err(format!(
                "rates are {initial_bps}, {least_bps} and {most_bps}, expected positive bit/s, the least at most the most"
            )));
        }
        let inner = Estimator::new(initial_bps, least_bps, most_bps);
        Ok(Self { inner })
    }

    /// Processes more reports; returns the target after each batch of rows with one time.
    fn feed(&mut self, py: Python<'_>, reports: &Bound<'_, PyAny>) -> PyResult<Table> {
        let table = Table::from_python(reports)?;
        let (mut times, mut targets, mut queues) = (Vec::new(), Vec::new(), Vec::new());
        let mut batch: Vec<Report> = Vec::new();
        let mut at: Option<i64> = None;
        let inner = &mut self.inner;
        let mut end = |at: Option<i64>, batch: &mut Vec<Report>| {
            let Some(at) = at else { return };
            inner.on_reports(shifted(at), batch.iter().copied());
            batch.clear();
            times.push(at as f64 / 1e9);
            targets.push(inner.target());
            queues.push(inner.stats().queue);
        };
        for reports in Reports::of(&table)? {
            py.detach(|| {
                for row in 0..reports.rows {
                    let now = reports.time.nanos(row);
                    if at != Some(now) {
                        end(at.replace(now), &mut batch);
                    }
                    batch.push(reports.report(row));
                }
            });
        }
        end(at, &mut batch);
        Table::of(vec![
            ("time_s".into(), "s", reals(times)),
            ("target_bps".into(), "bit/s", reals(targets)),
            ("queue_s".into(), "s", reals(queues)),
        ])
    }

    /// Halves the target, once per silence, if `time_s` is past `timeout_s`.
    fn timeout(&mut self, time_s: f64) {
        self.inner.timeout(shifted(nanos(time_s)));
    }

    #[getter]
    fn timeout_s(&self) -> Option<f64> {
        let due = self.inner.poll_timeout()?;
        Some((due - shifted(0)).as_secs_f64())
    }

    #[getter]
    fn target_bps(&self) -> f64 {
        self.inner.target()
    }
}
