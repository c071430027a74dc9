//! Runs sweeps with the command's engine, on this machine or as tasks for other workers.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array, UInt64Array};
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::ThreadPoolBuilder;
use whyloss_study::Progress;
use whyloss_study::sweep::{self, AxisColumn, Batch, Kind, Part, Plan, Store, Sweep, Task};

use crate::outside::{Names, Raised};
use crate::scenario::{interrupt, interruptible, refuse};
use crate::table::{Table, counts, reals, texts};

create_exception!(
    whyloss,
    SweepError,
    PyValueError,
    "A plan that is none, or a sweep that cannot go on."
);

fn raise(py: Python<'_>, error: &sweep::SweepError) -> PyErr {
    match error {
        sweep::SweepError::File { .. } => PyOSError::new_err(error.to_string()),
        sweep::SweepError::Scenario { source, .. } => {
            let raised = refuse(py, source);
            // The message includes the point on the axes.
            let _ = raised.value(py).setattr("args", (error.to_string(),));
            raised
        }
        _ => SweepError::new_err(error.to_string()),
    }
}

/// A sweep, its finished runs, and where they are kept.
#[pyclass(module = "whyloss._whyloss")]
pub(crate) struct Engine {
    sweep: Sweep,
    store: Option<Store>,
    batches: Vec<Batch>,
    raised: Raised,
}

/// The interval of progress reports to Python.
const TELL: Duration = Duration::from_millis(200);

/// The runs done and the runs to do.
struct Told {
    expected: AtomicU64,
    finished: AtomicU64,
}

impl Told {
    /// Reports the progress, unless it has not changed.
    fn tell(&self, progress: &Py<PyAny>, last: &mut Option<(u64, u64)>) {
        let done = self.finished.load(Ordering::Relaxed);
        let of = self.expected.load(Ordering::Relaxed);
        if last.replace((done, of)) == Some((done, of)) {
            return;
        }
        // An exception in the callback does not end a sweep.
        let _ = Python::attach(|py| progress.call1(py, (done, of)));
    }
}

impl Progress for Told {
    fn expect(&self, replications: u64) {
        self.expected.fetch_add(replications, Ordering::Relaxed);
    }

    fn finish(&self) {
        self.finished.fetch_add(1, Ordering::Relaxed);
    }
}

#[pymethods]
impl Engine {
    /// Reads a plan. `scenario` has the text and name of the scenario if the plan names none.
    #[new]
    fn new(
        py: Python<'_>,
        plan: &str,
        file: &str,
        scenario: Option<(String, String)>,
        out: Option<PathBuf>,
        own: Vec<(String, Py<PyAny>)>,
        version: String,
    ) -> PyResult<Self> {
        let raised = Raised::default();
        let registry = Names::new(own, version).registry(py, &raised)?;
        let made = py.detach(|| {
            let plan = match scenario {
                None => Plan::parse(plan, file)?,
                Some((text, name)) => Plan::of_scenario(plan, file, text, name)?,
            };
            let mut sweep = Sweep::with(plan, registry)?;
            let store = out.map(|out| Store::open(&out)).transpose()?;
            if let Some(store) = &store {
                store.parts(|part| sweep.learn(part))?;
            }
            Ok(Self {
                sweep,
                store,
                batches: Vec::new(),
                raised,
            })
        });
        made.map_err(|error| raise(py, &error))
    }

    /// Releases the directory, so that other sweeps can use it.
    fn close(&mut self) {
        self.store = None;
    }

    /// Returns the number of finished runs and of runs required so far.
    fn count(&self) -> (usize, usize) {
        self.sweep.count()
    }

    /// Runs the missing runs on this machine's cores. Calls `progress` with the numbers of runs
    /// done and to do.
    fn run(
        &mut self,
        py: Python<'_>,
        jobs: usize,
        every_s: f64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let pool = ThreadPoolBuilder::new().num_threads(jobs).build();
        let pool = pool.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let every = Duration::try_from_secs_f64(every_s)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let told = Told {
            expected: 0.into(),
            finished: 0.into(),
        };
        let over = AtomicBool::new(false);
        let (sweep, store) = (&mut self.sweep, self.store.as_ref());
        // An error of a classifier stops the sweep as well.
        let (raised, stop) = (&self.raised, self.raised.stop());
        let ran = py.detach(|| {
            std::thread::scope(|scope| {
                if let Some(progress) = progress {
                    let (told, over) = (&told, &over);
                    scope.spawn(move || {
                        let mut last = None;
                        while !over.load(Ordering::Relaxed) {
                            std::thread::park_timeout(TELL);
                            told.tell(&progress, &mut last);
                        }
                        told.tell(&progress, &mut last);
                    });
                }
                let run = || pool.install(|| sweep.run(store, every, &told, stop));
                let ran = Python::attach(|py| interruptible(py, stop, run));
                over.store(true, Ordering::Relaxed);
                ran
            })
        });
        let ran = ran?;
        if let Some(error) = raised.take() {
            return Err(error);
        }
        ran.map_err(|error| raise(py, &error))
    }

    /// Divides the missing runs into batches of at most `most` runs; returns the number of batches.
    fn plan(&mut self, most: usize) -> usize {
        self.batches = self.sweep.missing(most.max(1));
        self.batches.len()
    }

    /// Returns a batch as a task for any machine. Also returns its number of runs.
    fn task<'py>(&self, py: Python<'py>, batch: usize) -> PyResult<(Bound<'py, PyBytes>, usize)> {
        let batch = self
            .batches
            .get(batch)
            .ok_or_else(|| PyValueError::new_err("no such batch"))?;
        let task = self.sweep.task(batch);
        let json =
            serde_json::to_vec(&task).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok((PyBytes::new(py, &json), task.runs()))
    }

    /// Accepts the part that a task returned. Stores it if `keep` is true.
    fn accept(&mut self, py: Python<'_>, part: &[u8], keep: bool) -> PyResult<String> {
        let accepted = py.detach(|| {
            let part = Part::from_parquet(part.to_vec()).map_err(|error| error.to_string())?;
            if let (true, Some(store)) = (keep, &self.store) {
                store.put(&part).map_err(|error| error.to_string())?;
            }
            self.sweep.learn(&part);
            Ok(part.name())
        });
        accepted.map_err(|error: String| SweepError::new_err(error))
    }

    /// Returns all rows of the plan as the contents of `rows.parquet`.
    fn rows_parquet<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.sweep.rows().to_parquet());
        let bytes = bytes.map_err(|error| SweepError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes `rows.parquet`, if the sweep has a directory. Removes the page of other rows.
    fn write_rows(&self, py: Python<'_>) -> PyResult<()> {
        let Some(store) = &self.store else {
            return Ok(());
        };
        let written = py.detach(|| store.renew_rows(&self.sweep.rows()));
        written.map(drop).map_err(|error| raise(py, &error))
    }

    /// Returns the number of failed runs and the error of the first one.
    fn failed(&self) -> Option<(usize, String)> {
        self.sweep
            .failed()
            .map(|failed| (failed.runs, failed.first))
    }

    /// Returns all rows of the plan as a table.
    fn rows(&self, py: Python<'_>) -> PyResult<Table> {
        let rows = py.detach(|| self.sweep.rows());
        let several = rows.networks.len() > 1;
        let files = several.then(|| {
            rows.files(0..rows.points.len())
                .map(str::to_owned)
                .collect()
        });
        let files: Option<Vec<String>> = files;
        let mut columns = vec![(
            "point".to_owned(),
            "",
            Arc::new(UInt64Array::from(rows.points)) as ArrayRef,
        )];
        for (name, values) in rows.axes {
            columns.push((
                name,
                "",
                match values {
                    AxisColumn::Whole(values) => Arc::new(Int64Array::from(values)) as ArrayRef,
                    AxisColumn::Real(values) => reals(values),
                    AxisColumn::Text(values) => texts(values.into_iter().map(Some)),
                },
            ));
        }
        columns.push((
            "seed".to_owned(),
            "",
            Arc::new(UInt64Array::from(rows.seeds)),
        ));
        let (metrics, values): (Vec<_>, Vec<_>) = rows.metrics.into_iter().unzip();
        for (metric, values) in metrics.iter().zip(values) {
            let array = match metric.kind {
                Kind::Count => counts(values),
                Kind::Real => reals(values),
            };
            columns.push((metric.id.clone(), metric.unit.as_str(), array));
        }
        columns.push(("error".to_owned(), "", texts(rows.errors)));
        columns.push(("set".to_owned(), "", texts(rows.sets.into_iter().map(Some))));
        if let Some(files) = files {
            columns.push((
                "scenario".to_owned(),
                "",
                texts(files.into_iter().map(Some)),
            ));
        }
        Table::of(columns)
    }
}

/// Runs a task on this machine. Returns the name of its part, and the part as a Parquet file.
#[pyfunction]
pub(crate) fn run_task<'py>(
    py: Python<'py>,
    task: &[u8],
    own: Vec<(String, Py<PyAny>)>,
    version: String,
) -> PyResult<(String, Bound<'py, PyBytes>)> {
    let task: Task =
        serde_json::from_slice(task).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let raised = Raised::default();
    let registry = Names::new(own, version).registry(py, &raised)?;
    let stop = raised.stop();
    // A worker needs no second thread to check for Ctrl-C, which reaches the driver.
    let done = py.detach(|| {
        task.run(&registry, stop, || {
            if interrupt().is_some() {
                stop.store(true, Ordering::Relaxed);
            }
        })
    });
    if let Some(error) = raised.take() {
        return Err(error);
    }
    let part = done.map_err(|error| refuse(py, &error))?;
    let bytes = part
        .to_parquet()
        .map_err(|error| SweepError::new_err(error.to_string()))?;
    Ok((part.name(), PyBytes::new(py, &bytes)))
}
