//! Reads and runs scenarios. Returns their results as tables.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use whyloss_sim::scenario::{self, Location, ScenarioFile};
use whyloss_sim::trace::{self, Batch, tables};
use whyloss_sim::{Needs, Scenario, Simulation, Trace, TraceOptions};
use whyloss_study::results::{self, Item, Results, Value};

use crate::outside::{self, Names, Raised};
use crate::table::{self, Table};

create_exception!(
    whyloss,
    ScenarioError,
    PyValueError,
    "A scenario that cannot be run: `file`, `line`, `column`, `path`, `message`."
);
create_exception!(
    whyloss,
    RunError,
    PyRuntimeError,
    "A run that came to no end."
);

/// Returns the scenarios of the repository as name and text, for users who have only the package.
#[pyfunction]
pub(crate) fn examples() -> Vec<(&'static str, &'static str)> {
    macro_rules! texts {
        ($($name:literal),+) => {
            vec![$(($name, include_str!(concat!("../../scenarios/", $name, ".toml")))),+]
        };
    }
    texts!(
        "beside",
        "call",
        "codel-radio",
        "downloads",
        "dumbbell",
        "iftp",
        "lossy",
        "media",
        "parking-lot",
        "quic",
        "radio",
        "satellite",
        "two-hop",
        "wb",
        "wlan",
        "wlh"
    )
}

/// A scenario that was read from its text and changes.
#[pyclass(module = "whyloss._whyloss", frozen)]
pub(crate) struct Parsed {
    file: ScenarioFile,
    text: String,
    name: String,
    sets: Vec<(String, String)>,
    own: Names,
}

/// Returns the Python exception for a fault in a scenario.
pub(crate) fn refuse(py: Python<'_>, error: &scenario::ScenarioError) -> PyErr {
    let raised = ScenarioError::new_err(error.to_string());
    let value = raised.value(py);
    let (file, line, column) = match &error.location {
        Location::File { file, line, column } => (Some(file.clone()), Some(*line), Some(*column)),
        Location::Override { .. } => (None, None, None),
    };
    // Attributes of an exception can always be set.
    let _ = value.setattr("file", file);
    let _ = value.setattr("line", line);
    let _ = value.setattr("column", column);
    let _ = value.setattr("path", &error.path);
    let _ = value.setattr("message", &error.message);
    raised
}

/// The results of a run: JSON, tables of flows, frames, transfers and links, and the trace if
/// requested.
type Tables = (
    String,
    Table,
    Table,
    Table,
    Table,
    Option<Vec<(&'static str, Table)>>,
);

#[pymethods]
impl Parsed {
    /// Reads a scenario. `own` has Python classifiers by name, each with its constructor; `version`
    /// distinguishes them from earlier ones.
    #[new]
    fn new(
        py: Python<'_>,
        text: String,
        name: String,
        sets: Vec<(String, String)>,
        own: Vec<(String, Py<PyAny>)>,
        version: String,
    ) -> PyResult<Self> {
        let own = Names::new(own, version);
        let registry = own.registry(py, &Raised::default())?;
        let file = ScenarioFile::parse_with(&text, &name, &sets, &registry);
        let file = file.map_err(|error| refuse(py, &error))?;
        Ok(Self {
            file,
            text,
            name,
            sets,
            own,
        })
    }

    #[getter]
    fn title(&self) -> &str {
        &self.file.scenario.title
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.file.scenario.end.as_secs_f64()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.file.seed
    }

    #[getter]
    fn seeds(&self) -> u64 {
        self.file.seeds
    }

    #[getter]
    fn flows(&self) -> Vec<String> {
        self.file
            .scenario
            .flows
            .iter()
            .map(|flow| flow.name.clone())
            .collect()
    }

    #[getter]
    fn links(&self) -> Vec<String> {
        self.file
            .scenario
            .links
            .iter()
            .map(|link| link.name.clone())
            .collect()
    }

    /// Runs one seed.
    fn run(
        &self,
        py: Python<'_>,
        seed: u64,
        trace: bool,
        classifiers: Vec<(String, Py<PyAny>)>,
    ) -> PyResult<Tables> {
        let raised = Raised::default();
        let mut scenario = self.file.scenario.clone();
        if !self.own.is_empty() {
            // Read the scenario again, to separate the exceptions of this run from those of other
            // runs.
            let registry = self.own.registry(py, &raised)?;
            let read = Scenario::from_toml_with(&self.text, &self.name, &self.sets, &registry);
            scenario = read.map_err(|error| refuse(py, &error))?;
        }
        for (flow, make) in classifiers {
            outside::install(&mut scenario, &flow, &make, &raised)?;
        }
        let (mut asked, mut interrupted) = (now(), None);
        // Stop the run after an interrupt, or after an error of a classifier.
        let mut goes_on = |_| {
            if interrupted.is_none() && asked.elapsed() >= ASK {
                asked = now();
                interrupted = interrupt();
            }
            interrupted.is_none() && !raised.is_some()
        };
        let done = py.detach(|| {
            let needs = Needs::all(&scenario);
            let simulation = Simulation::new(&scenario, seed).ask(&mut goes_on);
            let mut tracer =
                trace.then(|| Trace::new(&scenario, TraceOptions::default(), Vec::new()));
            let run = match &mut tracer {
                Some(tracer) => simulation.watch(tracer).measure(needs),
                None => simulation.measure(needs),
            };
            run.map(|run| (run, tracer))
        });
        let (run, tracer) =
            done.map_err(|error: whyloss_sim::RunError| RunError::new_err(error.to_string()))?;
        if let Some(error) = raised.take().or(interrupted) {
            return Err(error);
        }
        let results = Results::new(&scenario, &[&run]);
        let json = results::json::render(&results, Path::new(&self.name));
        // Writing to memory cannot fail.
        let batches = tracer.and_then(|tracer| tracer.finish().ok());
        let traced = batches.map(|batches| traced(&batches)).transpose()?;
        Ok((
            json,
            items(&results.flows)?,
            items(&results.frames)?,
            items(&results.transfers)?,
            items(&results.links)?,
            traced,
        ))
    }
}

/// Returns a table with a row for each item and a column for each metric.
fn items(items: &[Item]) -> PyResult<Table> {
    let mut columns = vec![(
        "name".to_owned(),
        "",
        table::texts(items.iter().map(|item| Some(&item.name))),
    )];
    let Some(first) = items.first() else {
        return Table::of(columns);
    };
    if first.playout_ms.is_some() {
        let ms = items.iter().map(|item| item.playout_ms.unwrap_or(f64::NAN));
        columns.push(("playout_ms".to_owned(), "ms", table::reals(ms)));
    }
    columns.push((
        "background".to_owned(),
        "",
        table::flags(items.iter().map(|item| Some(item.background))),
    ));
    for metric in &first.metrics {
        let values = items
            .iter()
            .map(|item| item.metric(metric.key).map(|metric| metric.values[0]));
        let numbers = values.map(|value| value.and_then(Value::as_f64).unwrap_or(f64::NAN));
        let unit = if metric.key.ends_with("_bps") {
            "bit/s"
        } else if metric.key.ends_with("_ms") {
            "ms"
        } else {
            ""
        };
        let array = match metric.values[0] {
            Value::Count(_) => table::counts(numbers),
            Value::Real(_) => table::reals(numbers),
        };
        columns.push((metric.key.to_owned(), unit, array));
    }
    Table::of(columns)
}

fn traced(batches: &[Batch]) -> PyResult<Vec<(&'static str, Table)>> {
    let tables = tables::TABLES.iter().map(|of| {
        let of_table = batches.iter().filter(|batch| batch.table() == *of);
        let batches = of_table
            .map(trace::arrow::record_batch)
            .collect::<Result<_, _>>()
            .map_err(table::refuse)?;
        Ok((
            of.name,
            Table::new(Arc::new(trace::arrow::schema(of)), batches),
        ))
    });
    tables.collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "how often Python is asked for Ctrl-C is no result"
)]
fn now() -> Instant {
    Instant::now()
}

/// The interval of checks for Ctrl-C in Python.
const ASK: Duration = Duration::from_millis(50);

/// Returns the exception of Python's signal handlers, if they raise one.
pub(crate) fn interrupt() -> Option<PyErr> {
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "a method's lifetime is not general enough"
    )]
    Python::attach(|py| py.check_signals()).err()
}

/// Runs `work` in another thread, and stops it at Ctrl-C.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let (done, interrupted) = py.detach(|| {
        std::thread::scope(|scope| {
            let worker = scope.spawn(work);
            let mut interrupted = None;
            while !worker.is_finished() {
                std::thread::park_timeout(Duration::from_millis(5));
                if interrupted.is_none() {
                    interrupted = interrupt();
                    stop.fetch_or(interrupted.is_some(), Ordering::Relaxed);
                }
            }
            (worker.join(), interrupted)
        })
    });
    match (done, interrupted) {
        (_, Some(error)) => Err(error),
        (Ok(done), None) => Ok(done),
        (Err(panic), None) => std::panic::resume_unwind(panic),
    }
}
