//! Classifiers written in Python, at the ends of simulated flows.
//!
//! The object is asked at every arrival or acknowledgement, with Python's lock taken each time. What it raises ends the
//! run: the first error is kept, and whoever watches the run looks for it.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use whyloss::event::{AckEvent, LossEvent};
use whyloss::receiver::{self, ReceiverClassifier};
use whyloss::sender::SenderClassifier;
use whyloss::{Cause, Duration};
use whyloss_sim::Scenario;
use whyloss_sim::decider::{Decider, OutsideReceiver, OutsideSender};
use whyloss_sim::scenario::Transport;

/// The first error that some classifier raised.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    fn keep(&self, error: PyErr) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(error);
    }

    pub(crate) fn is_some(&self) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// An arrival at a receiver.
#[pyclass(module = "whyloss", frozen, get_all)]
pub(crate) struct Arrival {
    sequence: u64,
    sent_s: f64,
    received_s: f64,
    rott_s: f64,
    size_bytes: u32,
}

/// An acknowledgement at a sender.
#[pyclass(module = "whyloss", frozen, get_all)]
pub(crate) struct Ack {
    time_s: f64,
    segment_size: u32,
    acked_bytes: u64,
    sacked_bytes: u64,
    acknowledged_bytes: u64,
    in_flight_bytes: u64,
    window_bytes: u64,
    rtt_s: Option<f64>,
    in_recovery: bool,
}

/// A loss event at a sender.
#[pyclass(module = "whyloss", frozen, get_all)]
pub(crate) struct Loss {
    time_s: f64,
    segment_size: u32,
    timeout: bool,
    first_byte: u64,
    in_flight_bytes: u64,
    window_bytes: u64,
    rtt_s: Option<f64>,
    min_rtt_s: Option<f64>,
}

/// An object of Python's that is asked.
struct Asked {
    object: PyResult<Py<PyAny>>,
    raised: Raised,
}

impl Asked {
    fn new(make: &Py<PyAny>, raised: Raised) -> Self {
        let object = Python::attach(|py| make.call0(py));
        let object = object.map_err(|error| {
            raised.keep(error);
            PyTypeError::new_err("")
        });
        Self { object, raised }
    }

    fn ask<T: Default>(&self, ask: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> T {
        let Ok(object) = &self.object else {
            return T::default();
        };
        Python::attach(|py| ask(object.bind(py))).unwrap_or_else(|error| {
            self.raised.keep(error);
            T::default()
        })
    }
}

/// The cause that an answer names.
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
        let seen = Arrival {
            sequence: arrival.sequence,
            sent_s: arrival.sent.as_secs_f64(),
            received_s: arrival.received.as_secs_f64(),
            rott_s: arrival.rott().as_secs_f64(),
            size_bytes: arrival.size,
        };
        let said = self.ask(|object| {
            let answer = object.call_method1("on_arrival", (seen, missing))?;
            if missing == 0 {
                Ok(None)
            } else {
                cause("on_arrival", &answer)
            }
        });
        // An error ends the run soon.
        said.or((missing > 0).then_some(Cause::Congestion))
    }
}

impl SenderClassifier for Asked {
    fn on_ack(&mut self, ack: &AckEvent) {
        let seen = Ack {
            time_s: ack.now.as_secs_f64(),
            segment_size: ack.segment_size,
            acked_bytes: ack.acked,
            sacked_bytes: ack.sacked,
            acknowledged_bytes: ack.acknowledged,
            in_flight_bytes: ack.in_flight,
            window_bytes: ack.window,
            rtt_s: ack.rtt.map(Duration::as_secs_f64),
            in_recovery: ack.in_recovery,
        };
        self.ask(|object| object.call_method1("on_ack", (seen,)).map(drop));
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Cause {
        let seen = Loss {
            time_s: loss.now.as_secs_f64(),
            segment_size: loss.segment_size,
            timeout: loss.detection.is_timeout(),
            first_byte: loss.first,
            in_flight_bytes: loss.in_flight,
            window_bytes: loss.window,
            rtt_s: loss.rtt.map(Duration::as_secs_f64),
            min_rtt_s: loss.min_rtt.map(Duration::as_secs_f64),
        };
        let said = self.ask(|object| cause("on_loss", &object.call_method1("on_loss", (seen,))?));
        said.unwrap_or(Cause::Congestion)
    }
}

/// Puts what `make` makes to the end of a flow that classifies.
pub(crate) fn install(
    scenario: &mut Scenario,
    flow: &str,
    make: Py<PyAny>,
    raised: &Raised,
) -> PyResult<()> {
    let known = || {
        scenario
            .flows
            .iter()
            .map(|flow| format!("`{}`", flow.name))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let Some(index) = scenario.flows.iter().position(|known| known.name == flow) else {
        return Err(PyValueError::new_err(format!(
            "no flow is called `{flow}`; there are {}",
            known()
        )));
    };
    let raised = raised.clone();
    match &mut scenario.flows[index].transport {
        Transport::Tfrc { classifier, .. } => {
            *classifier = Decider::Outside(OutsideReceiver::new(move || {
                Box::new(Asked::new(&make, raised.clone()))
            }));
        }
        Transport::Tcp { classifier, .. } | Transport::Iftp { classifier, .. } => {
            *classifier = Decider::Outside(OutsideSender::new(move || {
                Box::new(Asked::new(&make, raised.clone()))
            }));
        }
        _ => {
            return Err(PyValueError::new_err(format!(
                "flow `{flow}` classifies nothing; expected one of TFRC, TCP or IFTP"
            )));
        }
    }
    Ok(())
}
