//! Runs classifiers written in Python: at the ends of the flows of a scenario, or by name in a
//! registry.
//!
//! Every arrival or acknowledgement calls the object and takes Python's lock each time. An
//! exception ends the run: the first error is kept and sets a flag that stops all work.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use whyloss::Cause;
use whyloss::event::{AckEvent, LossEvent};
use whyloss::receiver::{self, ReceiverClassifier};
use whyloss::registry::Parameter;
use whyloss::sender::SenderClassifier;
use whyloss_sim::decider::{Decider, Line, OutsideReceiver, OutsideSender};
use whyloss_sim::registry::Own;
use whyloss_sim::scenario::Transport;
use whyloss_sim::{Registry, Scenario};

use crate::events::{Ack, Arrival, Loss};

/// The first error that any classifier raised.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Kept>);

#[derive(Default)]
struct Kept {
    error: Mutex<Option<PyErr>>,
    stop: AtomicBool,
}

impl Raised {
    fn keep(&self, error: PyErr) {
        self.0
            .error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(error);
        self.0.stop.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_some(&self) -> bool {
        self.0.stop.load(Ordering::Relaxed)
    }

    /// Returns the flag that an error sets. Other code may also set it, to stop the work.
    pub(crate) fn stop(&self) -> &AtomicBool {
        &self.0.stop
    }

    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0
            .error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

/// Creates Python objects with these parameters.
struct Maker {
    make: Py<PyAny>,
    parameters: Vec<(String, f64)>,
    raised: Raised,
}

impl Maker {
    fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let given = PyDict::new(py);
        for (name, value) in &self.parameters {
            given.set_item(name, value)?;
        }
        self.make.call(py, (), Some(&given))
    }
}

/// A Python object that classifies.
struct Asked {
    /// `None` if it could not be created, or after an error.
    object: Option<Py<PyAny>>,
    raised: Raised,
    /// Whether it has `on_arrival` and `on_gap`, or `on_ack`.
    hears: bool,
    gaps: bool,
}

impl Asked {
    fn new(maker: &Maker, hears: &str, gaps: &str) -> Self {
        let raised = maker.raised.clone();
        Python::attach(|py| {
            let object = maker.object(py);
            let has = |name: &str| {
                let object = object.as_ref().ok();
                object.is_some_and(|object| object.bind(py).hasattr(name).unwrap_or(false))
            };
            let (hears, gaps) = (has(hears), has(gaps));
            Self {
                object: object.map_err(|error| raised.keep(error)).ok(),
                raised,
                hears,
                gaps,
            }
        })
    }

    fn ask<T: Default>(&self, ask: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> T {
        let Some(object) = self.object.as_ref().filter(|_| !self.raised.is_some()) else {
            return T::default();
        };
        Python::attach(|py| ask(object.bind(py))).unwrap_or_else(|error| {
            self.raised.keep(error);
            T::default()
        })
    }
}

/// Returns the cause that a return value names.
fn cause(method: &str, answer: &Bound<'_, PyAny>) -> PyResult<Option<Cause>> {
    match answer.extract::<&str>() {
        Ok("congestion") => Ok(Some(Cause::Congestion)),
        Ok("wireless") => Ok(Some(Cause::Wireless)),
        _ => Err(PyValueError::new_err(format!(
            "{method} answered {}, expected \"congestion\" or \"wireless\"",
            answer.repr()?
        ))),
    }
}

impl ReceiverClassifier for Asked {
    fn on_arrival(&mut self, arrival: &receiver::Arrival, missing: u64) -> Option<Cause> {
        if !self.hears && missing == 0 {
            return None;
        }
        let (hears, gaps) = (self.hears, self.gaps);
        let said = self.ask(|object| {
            let seen = Bound::new(object.py(), Arrival::from(arrival))?;
            let mut answer = None;
            if hears {
                answer = Some(object.call_method1("on_arrival", (&seen, missing))?);
            }
            if missing == 0 {
                return Ok(None);
            }
            match answer {
                Some(answer) if !gaps => cause("on_arrival", &answer),
                _ => cause("on_gap", &object.call_method1("on_gap", (&seen, missing))?),
            }
        });
        // The verdict does not matter after an error, which ends the run soon.
        said.or((missing > 0).then_some(Cause::Congestion))
    }
}

impl SenderClassifier for Asked {
    fn on_ack(&mut self, ack: &AckEvent) {
        if self.hears {
            let seen = Ack::from(ack);
            self.ask(|object| object.call_method1("on_ack", (seen,)).map(drop));
        }
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Cause {
        let seen = Loss::from(loss);
        let said = self.ask(|object| cause("on_loss", &object.call_method1("on_loss", (seen,))?));
        said.unwrap_or(Cause::Congestion)
    }
}

fn at_receiver(maker: Maker) -> OutsideReceiver {
    OutsideReceiver::new(move || Box::new(Asked::new(&maker, "on_arrival", "on_gap")))
}

fn at_sender(maker: Maker) -> OutsideSender {
    OutsideSender::new(move || Box::new(Asked::new(&maker, "on_ack", "on_loss")))
}

/// Installs the classifiers that `make` creates at the flows of this name: one flow, or all copies
/// of one.
pub(crate) fn install(
    scenario: &mut Scenario,
    flow: &str,
    make: &Py<PyAny>,
    raised: &Raised,
) -> PyResult<()> {
    let flows = scenario.flows.iter().map(|known| known.name.as_str());
    let exact: Vec<usize> = matching(flows.clone(), |name| name == flow);
    let found = match exact.as_slice() {
        [] => matching(flows.clone(), |name| is_copy(name, flow)),
        _ => exact,
    };
    if found.is_empty() {
        let known: Vec<String> = flows.map(|name| format!("`{name}`")).collect();
        return Err(PyValueError::new_err(format!(
            "no flow is called `{flow}`; there are {}",
            known.join(", ")
        )));
    }
    for index in found {
        let make = Python::attach(|py| make.clone_ref(py));
        let maker = Maker {
            make,
            parameters: Vec::new(),
            raised: raised.clone(),
        };
        match &mut scenario.flows[index].transport {
            Transport::Tfrc { classifier, .. } => {
                *classifier = Decider::Outside(at_receiver(maker));
            }
            Transport::Tcp { classifier, .. } | Transport::Iftp { classifier, .. } => {
                *classifier = Decider::Outside(at_sender(maker));
            }
            _ => {
                return Err(PyValueError::new_err(format!(
                    "flow `{flow}` classifies nothing; expected one of TFRC, TCP or IFTP"
                )));
            }
        }
    }
    Ok(())
}

fn matching<'a>(names: impl Iterator<Item = &'a str>, is: impl Fn(&str) -> bool) -> Vec<usize> {
    let found = names.enumerate().filter(|(_, name)| is(name));
    found.map(|(index, _)| index).collect()
}

/// Returns whether a flow is a copy of the flow `of` in the file: `video-3` of `video` with a
/// count, or of `video-{i}`.
fn is_copy(name: &str, of: &str) -> bool {
    let (before, after) = match of.split_once("{i}") {
        Some((before, after)) => (before.to_owned(), after),
        None => (format!("{of}-"), ""),
    };
    let number = name
        .strip_prefix(&before)
        .and_then(|rest| rest.strip_suffix(after));
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The Python classifiers by name, each with its constructor, and the text that distinguishes their
/// versions.
pub(crate) struct Names {
    own: Vec<(String, Py<PyAny>)>,
    version: String,
}

impl Names {
    pub(crate) fn new(own: Vec<(String, Py<PyAny>)>, version: String) -> Self {
        Self { own, version }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// Returns a registry with these classifiers. Their exceptions go to `raised`.
    pub(crate) fn registry(&self, py: Python<'_>, raised: &Raised) -> PyResult<Registry> {
        let mut registry = Registry::new().version(&self.version);
        for (name, make) in &self.own {
            let ends = Ends::of(py, name, make)?;
            let line = line(py, name, make)?;
            if ends.receiver {
                registry = registry.receiver(own(py, line, make, raised, at_receiver));
            }
            if ends.sender {
                registry = registry.sender(own(py, line, make, raised, at_sender));
            }
        }
        let checked = registry.check();
        checked.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(registry)
    }
}

/// Returns a registry entry that creates objects with `make`.
fn own<X: 'static>(
    py: Python<'_>,
    line: Line,
    make: &Py<PyAny>,
    raised: &Raised,
    end: fn(Maker) -> X,
) -> Own<X> {
    let (make, raised) = (make.clone_ref(py), raised.clone());
    Own::new(line, move |values| {
        Ok(end(Maker {
            make: Python::attach(|py| make.clone_ref(py)),
            parameters: values
                .iter()
                .map(|&(name, value)| (name.to_owned(), value))
                .collect(),
            raised: raised.clone(),
        }))
    })
}

/// The ends at which a class can classify.
struct Ends {
    receiver: bool,
    sender: bool,
}

impl Ends {
    fn of(py: Python<'_>, name: &str, make: &Py<PyAny>) -> PyResult<Self> {
        let make = make.bind(py);
        if !make.is_callable() {
            return Err(PyTypeError::new_err(format!(
                "`{name}` is {}, expected a class, or a function that makes a classifier",
                make.repr()?
            )));
        }
        // For a function, create an object to see its methods.
        let shown = if make.is_instance_of::<PyType>() {
            make.clone()
        } else {
            make.call0()?
        };
        let has = |method: &str| shown.hasattr(method);
        let ends = Self {
            receiver: has("on_arrival")? || has("on_gap")?,
            sender: has("on_loss")?,
        };
        if ends.receiver || ends.sender {
            return Ok(ends);
        }
        Err(PyTypeError::new_err(format!(
            "`{name}` is no classifier: one at a receiver has on_arrival or on_gap, one at a sender on_loss (and on_ack)"
        )))
    }
}

/// Returns a class's description: the first line of its docstring, and its `parameters`.
fn line(py: Python<'_>, name: &str, make: &Py<PyAny>) -> PyResult<Line> {
    let make = make.bind(py);
    let text = |attribute: &str| {
        let text = make.getattr(attribute).ok();
        text.and_then(|text| text.extract::<String>().ok())
            .unwrap_or_default()
    };
    let mut parameters = Vec::new();
    if let Ok(given) = make.getattr("parameters") {
        let wrong = || {
            PyTypeError::new_err(format!(
                "`parameters` of `{name}`: expected a mapping such as {{\"share\": (0.5, 0.0, 1.0, \"what it is\")}}: default, least, most, meaning"
            ))
        };
        let given = given.cast::<PyDict>().map_err(|_| wrong())?;
        for (key, of) in given.iter() {
            let key: String = key.extract().map_err(|_| wrong())?;
            let of: (f64, f64, f64, String) = of.extract().map_err(|_| wrong())?;
            parameters.push((key, of));
        }
    }
    Ok(Line {
        id: kept(name),
        name: kept(&text("__name__")),
        summary: kept(text("__doc__").lines().next().unwrap_or_default()),
        source: kept(&text("__module__")),
        parameters: kept_parameters(parameters),
    })
}

/// Returns the text with the lifetime of the process, which registries need. Equal texts are kept
/// once.
fn kept(text: &str) -> &'static str {
    static KEPT: OnceLock<Mutex<HashSet<&'static str>>> = OnceLock::new();
    let kept = KEPT.get_or_init(Mutex::default);
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.get(text) {
        return known;
    }
    let new: &'static str = Box::leak(text.to_owned().into());
    kept.insert(new);
    new
}

/// Returns the parameters with the lifetime of the process. Equal parameters are kept once.
fn kept_parameters(given: Vec<(String, (f64, f64, f64, String))>) -> &'static [Parameter] {
    static KEPT: Mutex<Vec<&'static [Parameter]>> = Mutex::new(Vec::new());
    let parameter = |(name, (default, min, max, doc)): (String, (f64, f64, f64, String))| {
        Parameter::real(default, min, max, kept(&doc)).named(kept(&name))
    };
    let given: Vec<Parameter> = given.into_iter().map(parameter).collect();
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.iter().find(|known| ***known == *given) {
        return known;
    }
    let new: &'static [Parameter] = Box::leak(given.into());
    kept.push(new);
    new
}
