//! Algorithms from outside this repository: a program registers them by name, and scenario files
//! can use them like built-in ones.
//!
//! A [`Registry`] is passed to the function that reads a scenario
//! ([`Scenario::from_toml_with`](crate::Scenario::from_toml_with)). Nothing is global, so two
//! readers in one process may use different names. Built-in algorithms stay enums and cost nothing
//! more; an algorithm from outside costs a virtual call per event.
//!
//! ```
//! use whyloss::receiver::{Arrival, ReceiverClassifier};
//! use whyloss::registry::{Entry, Parameter};
//! use whyloss::{Cause, Time};
//! use whyloss_sim::Scenario;
//! use whyloss_sim::decider::OutsideReceiver;
//! use whyloss_sim::registry::Registry;
//!
//! /// Calls a gap wireless if the packet behind it comes soon after the one before it.
//! struct Prompt { within_ms: f64, last: Time }
//!
//! impl ReceiverClassifier for Prompt {
//!     fn on_arrival(&mut self, arrival: &Arrival, missing: u64) -> Option<Cause> {
//!         let waited_ms = (arrival.received - self.last).as_secs_f64() * 1e3;
//!         self.last = arrival.received;
//!         let cause = Cause::wireless_if(waited_ms <= self.within_ms);
//!         (missing > 0).then_some(cause)
//!     }
//! }
//!
//! const PROMPT: Entry<OutsideReceiver> = Entry::new(
//!     ("prompt", "Prompt"),
//!     "wireless if the next packet comes soon",
//!     "this page",
//!     &[Parameter::real(10.0, 0.1, 1000.0, "longest wait in ms").named("within_ms")],
//!     |values| {
//!         let within_ms = values.value("within_ms");
//!         Ok(OutsideReceiver::new(move || Box::new(Prompt { within_ms, last: Time::ZERO })))
//!     },
//! );
//!
//! let registry = Registry::new().receiver(PROMPT);
//! registry.check()?;
//! let text = r#"
//!     duration = "10 s"
//!     [[link]]
//!     from = "a"
//!     to = "b"
//!     rate = "1 Mbit/s"
//!     delay = "20 ms"
//!     queue = { packets = 9 }
//!     channel = { kind = "bernoulli", loss = 0.02 }
//!     [[flow]]
//!     from = "a"
//!     to = "b"
//!     transport = "tfrc"
//!     classifier = { name = "prompt", within_ms = 20 }
//! "#;
//! let scenario = Scenario::from_toml_with(text, "example.toml", &[], &registry)?;
//! assert!(whyloss_sim::Simulation::new(&scenario, 1).run()?.flows[0].delivered > 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::sync::Arc;

use whyloss::congestion::{self, Controller, ControllerKind, Start, WirelessPolicy};
use whyloss::registry::{Entry, Parameter, ParameterError};
use whyloss::{receiver, schemes, sender};

use crate::decider::{
    Known, Line, Lookup, OutsideReceiver, OutsideSender, RECEIVERS, SENDERS, SenderDecider,
};

/// Builds the algorithm of a line, with the given values instead of the defaults.
type Build<X> = dyn Fn(&[(&str, f64)]) -> Result<X, ParameterError> + Send + Sync;

/// A named algorithm from outside, with its description and its constructor.
pub struct Own<X> {
    line: Line,
    build: Arc<Build<X>>,
}

impl<X> Own<X> {
    /// Combines a line and its constructor. The constructor gets the values that a scenario sets,
    /// each in its range; it uses defaults for the others.
    pub fn new(
        line: Line,
        build: impl Fn(&[(&str, f64)]) -> Result<X, ParameterError> + Send + Sync + 'static,
    ) -> Self {
        let build = Arc::new(build);
        Self { line, build }
    }

    /// Returns the description of the algorithm.
    pub fn line(&self) -> Line {
        self.line
    }
}

impl<X: Labelled> Own<X> {
    /// Builds the algorithm and labels it with its name, its values and the registry's `version`,
    /// which determine its behaviour.
    ///
    /// # Errors
    /// Returns the errors of [`Entry::build`].
    pub fn build(&self, overrides: &[(&str, f64)], version: &str) -> Result<X, ParameterError> {
        let label = format!("{} {overrides:?} {version:?}", self.line.id);
        Ok((self.build)(overrides)?.labelled(&label.into()))
    }
}

impl<X: 'static> From<Entry<X>> for Own<X> {
    fn from(entry: Entry<X>) -> Self {
        Self::new(Line::from(&entry), move |overrides| entry.build(overrides))
    }
}

impl<X> Clone for Own<X> {
    fn clone(&self) -> Self {
        let (line, build) = (self.line, Arc::clone(&self.build));
        Self { line, build }
    }
}

impl<X> fmt::Debug for Own<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Own({})", self.line.id)
    }
}

/// An algorithm with a label. A sweep distinguishes runs by the labels of the algorithms in their
/// scenarios.
pub trait Labelled: Sized {
    /// Returns the algorithm with this label.
    #[must_use]
    fn labelled(self, label: &Arc<str>) -> Self;
}

/// Creates a controller from its start values.
type Make = dyn Fn(&Start) -> Box<dyn Boxed> + Send + Sync;

/// Creates controllers from outside, one for each flow of each run.
#[derive(Clone)]
pub struct OutsideController {
    make: Arc<Make>,
    label: Arc<str>,
}

impl OutsideController {
    /// Wraps `make`, which creates a controller at the start of a flow.
    pub fn new<C: Controller + Clone + Send + Sync + 'static>(
        make: impl Fn(&Start) -> C + Send + Sync + 'static,
    ) -> Self {
        Self {
            make: Arc::new(move |start| Box::new(make(start))),
            label: "".into(),
        }
    }

    /// Creates a controller for a flow.
    pub(crate) fn make(&self, start: &Start) -> Box<dyn Boxed> {
        (self.make)(start)
    }
}

impl Labelled for OutsideController {
    fn labelled(self, label: &Arc<str>) -> Self {
        let label = Arc::clone(label);
        Self { label, ..self }
    }
}

impl fmt::Debug for OutsideController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OutsideController")
            .field(&self.label)
            .finish()
    }
}

/// Two controllers are equal if they share the function that creates them.
impl PartialEq for OutsideController {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}

/// A controller behind a pointer that can be copied with its sender.
pub(crate) trait Boxed: Controller + Send + Sync {
    /// Returns a copy of the controller.
    fn boxed(&self) -> Box<dyn Boxed>;
    /// Returns the controller for a downcast to its type.
    fn as_any(&self) -> &dyn std::any::Any;
}

impl<C: Controller + Clone + Send + Sync + 'static> Boxed for C {
    fn boxed(&self) -> Box<dyn Boxed> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

/// A classifier, a controller and a policy under one name.
#[derive(Clone, Debug, PartialEq)]
pub struct OutsideScheme {
    pub(crate) controller: SchemeController,
    pub(crate) wireless: WirelessPolicy,
    pub(crate) classifier: SenderDecider,
}

/// The controller of a scheme: a built-in one, or one from outside.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemeController {
    /// A built-in controller.
    Ours(ControllerKind),
    /// A controller from outside.
    Outside(OutsideController),
}

impl From<ControllerKind> for SchemeController {
    fn from(kind: ControllerKind) -> Self {
        Self::Ours(kind)
    }
}

impl From<OutsideController> for SchemeController {
    fn from(controller: OutsideController) -> Self {
        Self::Outside(controller)
    }
}

impl OutsideScheme {
    /// Combines a controller, a policy and a classifier. The controller and the classifier may each
    /// be built in or from outside.
    pub fn new(
        controller: impl Into<SchemeController>,
        wireless: WirelessPolicy,
        classifier: impl Into<SenderDecider>,
    ) -> Self {
        Self {
            controller: controller.into(),
            wireless,
            classifier: classifier.into(),
        }
    }
}

impl Labelled for OutsideScheme {
    fn labelled(self, label: &Arc<str>) -> Self {
        let controller = match self.controller {
            SchemeController::Outside(controller) => controller.labelled(label).into(),
            ours @ SchemeController::Ours(_) => ours,
        };
        let classifier = match self.classifier {
            SenderDecider::Outside(outside) => SenderDecider::Outside(outside.labelled(label)),
            ours => ours,
        };
        Self {
            controller,
            classifier,
            ..self
        }
    }
}

/// Algorithms from outside this repository. See the [module](self).
#[derive(Clone, Debug, Default)]
pub struct Registry {
    receivers: Vec<Own<OutsideReceiver>>,
    senders: Vec<Own<OutsideSender>>,
    controllers: Vec<Own<OutsideController>>,
    schemes: Vec<Own<OutsideScheme>>,
    version: String,
}

impl Registry {
    /// Returns a registry of only the built-in algorithms.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a receiver classifier, for TFRC flows.
    #[must_use]
    pub fn receiver(mut self, own: impl Into<Own<OutsideReceiver>>) -> Self {
        self.receivers.push(own.into());
        self
    }

    /// Adds a sender classifier, for TCP, QUIC and IFTP flows.
    #[must_use]
    pub fn sender(mut self, own: impl Into<Own<OutsideSender>>) -> Self {
        self.senders.push(own.into());
        self
    }

    /// Adds a controller, for TCP flows.
    #[must_use]
    pub fn controller(mut self, own: impl Into<Own<OutsideController>>) -> Self {
        self.controllers.push(own.into());
        self
    }

    /// Adds a scheme, for TCP flows.
    #[must_use]
    pub fn scheme(mut self, own: impl Into<Own<OutsideScheme>>) -> Self {
        self.schemes.push(own.into());
        self
    }

    /// Sets the version of these algorithms. A sweep reuses rows of the same version, so a program
    /// must change its version when it changes an algorithm.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Returns every receiver classifier: the built-in ones, then those from outside.
    pub fn receivers(&self) -> Known<'_, receiver::Classifier, (), OutsideReceiver> {
        Known::new(&RECEIVERS, &self.receivers, &self.version)
    }

    /// Returns every sender classifier: the built-in ones, then those from outside.
    pub fn senders(&self) -> Known<'_, sender::Classifier, Lookup, OutsideSender> {
        Known::new(&SENDERS, &self.senders, &self.version)
    }

    /// Returns the lines of every controller: the built-in ones, then those from outside.
    pub fn controllers(&self) -> impl Iterator<Item = Line> + Clone + '_ {
        let built_in = congestion::REGISTRY.iter().map(Line::from);
        built_in.chain(self.controllers.iter().map(Own::line))
    }

    /// Returns the lines of every scheme with a window: the built-in ones, the ideal ones, then
    /// those from outside.
    pub fn schemes(&self) -> impl Iterator<Item = Line> + Clone + '_ {
        let real = schemes::REGISTRY.iter().map(Line::from);
        let ideal = schemes::IDEAL.iter().map(Line::from);
        real.chain(ideal).chain(self.schemes.iter().map(Own::line))
    }

    /// Returns the controllers from outside and a text that differs between their versions.
    pub(crate) fn own_controllers(&self) -> (&[Own<OutsideController>], &str) {
        (&self.controllers, &self.version)
    }

    /// Returns the schemes from outside and a text that differs between their versions.
    pub(crate) fn own_schemes(&self) -> (&[Own<OutsideScheme>], &str) {
        (&self.schemes, &self.version)
    }

    /// Checks that every name and parameter can be used.
    ///
    /// # Errors
    /// Returns the first name or parameter that cannot be used.
    pub fn check(&self) -> Result<(), RegistryError> {
        check("receiver classifier", &self.receivers().lines())?;
        check("sender classifier", &self.senders().lines())?;
        check("controller", &self.controllers())?;
        check("scheme", &self.schemes())
    }
}

/// Checks the lines of one kind.
fn check(
    kind: &'static str,
    lines: &(impl Iterator<Item = Line> + Clone),
) -> Result<(), RegistryError> {
    let word = |text: &str| {
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        !text.is_empty() && text.len() <= 64 && text.chars().all(good)
    };
    for line in lines.clone() {
        let id = line.id.to_owned();
        if !word(line.id) {
            return Err(RegistryError::Name { kind, id });
        }
        if lines.clone().filter(|other| other.id == line.id).count() > 1 {
            return Err(RegistryError::Taken { kind, id });
        }
        for parameter in line.parameters {
            let same = |other: &&Parameter| other.name == parameter.name;
            let once = line.parameters.iter().filter(same).count() == 1;
            let free = parameter.name != "name" && once;
            if !word(parameter.name) || !free || !parameter.allows(parameter.default) {
                let parameter = parameter.name.to_owned();
                return Err(RegistryError::Parameter { id, parameter });
            }
        }
    }
    Ok(())
}

/// Explains why a registry is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// A scenario file cannot contain the name.
    #[error("a {kind} is registered as {id:?}; expected up to 64 letters, digits, `-` and `_`")]
    Name {
        /// The kind of algorithm, such as a classifier.
        kind: &'static str,
        /// The given name.
        id: String,
    },
    /// Another algorithm of the kind has the name.
    #[error(
        "a {kind} is registered as `{id}`, but that name is taken; `whyloss list` names them all"
    )]
    Taken {
        /// The kind of algorithm, such as a classifier.
        kind: &'static str,
        /// The given name.
        id: String,
    },
    /// A parameter's name is invalid or used twice, or its default is outside its range.
    #[error(
        "parameter {parameter:?} of `{id}` needs a name of its own other than `name`, of letters, digits, `-` and `_`, and a default in its range"
    )]
    Parameter {
        /// The name of the algorithm.
        id: String,
        /// The name of the parameter.
        parameter: String,
    },
}

#[cfg(test)]
mod tests;
