//! Deciders of the causes of a flow's losses: any classifier, or a reference that depends on the
//! true causes.
//!
//! The oracle learns the true cause; the erring reference reports it wrongly with given
//! probabilities. Neither is a classifier, because their verdicts depend on the true causes. They
//! are therefore defined here, and the hosts that score verdicts supply the truth. Two registries,
//! for receivers and for senders, list them together with the classifiers.
//!
//! Cen, Cosman & Voelker (MMCN 2002, section 4) judge a loss differentiation algorithm between two
//! extremes. *Omniscient* TFRC knows every true cause (Mc = Mw = 0); *unaware* TFRC takes every
//! loss for congestion (Mc = 0, Mw = 1). The erring reference has set values of Mc and Mw, to
//! measure their relation to throughput and congestion that the section states (CEN-14). MAR-4
//! (NewReno-Ideal-LP) and MIL-7 (the ideal LDA) leave open which packets an oracle at a sender
//! looks up. [`Lookup`] has the choices, and each paper's experiments name one.

use std::fmt;
use std::sync::Arc;

use whyloss::receiver::{Arrival, ReceiverClassifier as _};
use whyloss::registry::{Entry, Parameter, ParameterError};
pub use whyloss::schemes::{Lookup, LookupOf};
use whyloss::{Cause, receiver, sender};

use crate::registry::{Labelled, Own};

/// Decides the causes of a flow's losses: a classifier `C`, a classifier `X` from outside, or a
/// reference. `O` holds the settings of the oracle.
#[derive(Clone, Debug, PartialEq)]
pub enum Decider<C, O, X> {
    /// Every loss is congestion. This equals the unaware classifier, but takes no memory, because
    /// scenarios may have ten thousand such flows.
    Unaware,
    /// A classifier, which sees only what an end host sees.
    Classifier(Box<C>),
    /// A classifier from outside. A scenario file can name it if a
    /// [`Registry`](crate::registry::Registry) lists it.
    Outside(X),
    /// The oracle, which reports the true cause.
    Oracle(O),
    /// Reports the true cause, but wrongly with probability `mc` for congestion losses and `mw` for
    /// wireless losses.
    Erring {
        /// The probability of calling a congestion loss wireless, in [0, 1].
        mc: f64,
        /// The probability of calling a wireless loss congestion, in [0, 1].
        mw: f64,
    },
}

/// A decider at a receiver. Its oracle reads the cause of each packet's loss.
pub type ReceiverDecider = Decider<receiver::Classifier, (), OutsideReceiver>;

/// A decider at a sender.
pub type SenderDecider = Decider<sender::Classifier, Lookup, OutsideSender>;

/// A receiver classifier from outside.
pub type OutsideReceiver = Outside<dyn receiver::ReceiverClassifier + Send + Sync>;

/// A sender classifier from outside.
pub type OutsideSender = Outside<dyn sender::SenderClassifier + Send + Sync>;

/// Makes classifiers from outside, one for each run of each flow. A clone starts without history.
pub struct Outside<T: ?Sized> {
    make: Arc<dyn Fn() -> Box<T> + Send + Sync>,
    made: Option<Box<T>>,
    /// The description of the classifier, if a registry built it.
    label: Arc<str>,
}

impl<T: ?Sized> Outside<T> {
    /// Wraps `make`, which creates the classifier when a run first needs it.
    pub fn new(make: impl Fn() -> Box<T> + Send + Sync + 'static) -> Self {
        Self {
            make: Arc::new(make),
            made: None,
            label: "".into(),
        }
    }

    /// Returns a new instance in its initial state.
    pub(crate) fn make(&self) -> Box<T> {
        (self.make)()
    }

    /// Returns the classifier of this run.
    pub(crate) fn classifier(&mut self) -> &mut T {
        self.made.get_or_insert_with(|| (self.make)())
    }
}

impl<T: ?Sized> Clone for Outside<T> {
    fn clone(&self) -> Self {
        Self {
            make: Arc::clone(&self.make),
            made: None,
            label: Arc::clone(&self.label),
        }
    }
}

impl<T: ?Sized> Labelled for Outside<T> {
    fn labelled(self, label: &Arc<str>) -> Self {
        let label = Arc::clone(label);
        Self { label, ..self }
    }
}

impl<T: ?Sized> fmt::Debug for Outside<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Outside").field(&self.label).finish()
    }
}

/// Two deciders are equal if they share the function that makes them.
impl<T: ?Sized> PartialEq for Outside<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}

impl ReceiverDecider {
    /// Updates the classifier with an arrival that has `missing` packets directly before it.
    /// Returns the verdict on the missing packets; `None` from a reference, which needs the truth
    /// of each packet.
    pub fn hear(&mut self, arrival: &Arrival, missing: u64) -> Option<Cause> {
        match self {
            Self::Classifier(classifier) => classifier.on_arrival(arrival, missing),
            Self::Outside(outside) => outside.classifier().on_arrival(arrival, missing),
            Self::Unaware => (missing > 0).then_some(Cause::Congestion),
            Self::Oracle(()) | Self::Erring { .. } => None,
        }
    }
}

impl<C: Unaware, O, X> Decider<C, O, X> {
    /// Returns a decider without a classifier: it calls every loss congestion.
    pub fn unaware() -> Self {
        Self::Unaware
    }

    /// Returns a decider that uses this classifier.
    pub fn of(classifier: C) -> Self {
        if classifier == C::unaware() {
            Self::Unaware
        } else {
            Self::Classifier(Box::new(classifier))
        }
    }

    /// Returns the erring reference's verdict on a loss of cause `truth`. The verdict is wrong if
    /// `uniform`, a number in [0, 1), is below the error rate of this cause.
    pub(crate) fn err(mc: f64, mw: f64, truth: Cause, uniform: f64) -> Cause {
        let (rate, wrong) = match truth {
            Cause::Congestion => (mc, Cause::Wireless),
            Cause::Wireless => (mw, Cause::Congestion),
        };
        if uniform < rate { wrong } else { truth }
    }
}

impl<O, X> From<sender::Classifier> for Decider<sender::Classifier, O, X> {
    fn from(classifier: sender::Classifier) -> Self {
        Self::of(classifier)
    }
}

impl From<OutsideSender> for SenderDecider {
    fn from(outside: OutsideSender) -> Self {
        Self::Outside(outside)
    }
}

/// A family of classifiers that has an unaware one.
pub trait Unaware: PartialEq {
    /// Returns the unaware classifier of the family.
    fn unaware() -> Self;
}

impl Unaware for receiver::Classifier {
    fn unaware() -> Self {
        Self::unaware()
    }
}

impl Unaware for sender::Classifier {
    fn unaware() -> Self {
        Self::unaware()
    }
}

/// A registry of classifiers and of the references.
#[derive(Debug)]
pub struct Family<C: 'static, O: 'static, X: 'static> {
    classifiers: &'static [Entry<C>],
    references: &'static [Entry<Decider<C, O, X>>],
}

/// One line of a registry: the description of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The name in scenarios and commands.
    pub id: &'static str,
    /// The name in its paper.
    pub name: &'static str,
    /// A one-line summary.
    pub summary: &'static str,
    /// The authors and the publication that describe the algorithm.
    pub source: &'static str,
    /// The parameters that can be set.
    pub parameters: &'static [Parameter],
}

impl<C> From<&Entry<C>> for Line {
    fn from(entry: &Entry<C>) -> Self {
        Self {
            id: entry.id,
            name: entry.name,
            summary: entry.summary,
            source: entry.source,
            parameters: entry.parameters,
        }
    }
}

impl<C: Unaware, O, X> Family<C, O, X> {
    /// Returns every line: the classifiers in their order, then the references.
    pub fn lines(&self) -> impl Iterator<Item = Line> + Clone {
        let classifiers = self.classifiers.iter().map(Line::from);
        classifiers.chain(self.references.iter().map(Line::from))
    }

    /// Finds the line with this id.
    pub fn find(&self, id: &str) -> Option<Line> {
        self.lines().find(|line| line.id == id)
    }

    /// Builds the algorithm with this id, with `overrides` instead of the defaults. Returns `None`
    /// if no line has this id.
    ///
    /// # Errors
    /// Returns the errors of [`Entry::build`].
    pub fn build(
        &self,
        id: &str,
        overrides: &[(&str, f64)],
    ) -> Option<Result<Decider<C, O, X>, ParameterError>> {
        if let Some(entry) = self.classifiers.iter().find(|entry| entry.id == id) {
            return Some(entry.build(overrides).map(Decider::of));
        }
        let entry = self.references.iter().find(|entry| entry.id == id)?;
        Some(entry.build(overrides))
    }
}

/// A family together with the classifiers from outside.
#[derive(Debug)]
pub struct Known<'a, C: 'static, O: 'static, X: 'static> {
    family: &'static Family<C, O, X>,
    own: &'a [Own<X>],
    version: &'a str,
}

impl<'a, C: Unaware, O, X> Known<'a, C, O, X> {
    pub(crate) fn new(
        family: &'static Family<C, O, X>,
        own: &'a [Own<X>],
        version: &'a str,
    ) -> Self {
        Self {
            family,
            own,
            version,
        }
    }

    /// Returns every entry: first those of the family, then those from outside.
    pub fn lines(&self) -> impl Iterator<Item = Line> + Clone + use<'a, C, O, X> {
        self.family.lines().chain(self.own.iter().map(Own::line))
    }

    /// Finds the line with this id.
    pub fn find(&self, id: &str) -> Option<Line> {
        self.lines().find(|line| line.id == id)
    }
}

impl<C: Unaware, O, X: Labelled> Known<'_, C, O, X> {
    /// Builds the algorithm with this id, with `overrides` instead of the defaults. Returns `None`
    /// if no line has this id.
    ///
    /// # Errors
    /// Returns the errors of [`Entry::build`].
    pub fn build(
        &self,
        id: &str,
        overrides: &[(&str, f64)],
    ) -> Option<Result<Decider<C, O, X>, ParameterError>> {
        self.family.build(id, overrides).or_else(|| {
            let own = self.own.iter().find(|own| own.line().id == id)?;
            Some(own.build(overrides, self.version).map(Decider::Outside))
        })
    }
}

const ERRORS: [Parameter; 2] = [
    Parameter::real(
        0.5,
        0.0,
        1.0,
        "probability of calling a congestion loss wireless",
    )
    .named("mc"),
    Parameter::real(
        0.5,
        0.0,
        1.0,
        "probability of calling a wireless loss congestion",
    )
    .named("mw"),
];

/// Returns the registry entry of the erring reference.
const fn random<C, O, X>(summary: &'static str, source: &'static str) -> Entry<Decider<C, O, X>> {
    Entry::new(("random", "Random"), summary, source, &ERRORS, |values| {
        Ok(Decider::Erring {
            mc: values.value("mc"),
            mw: values.value("mw"),
        })
    })
}

/// Deciders at a receiver (TFRC).
pub static RECEIVERS: Family<receiver::Classifier, (), OutsideReceiver> = Family {
    classifiers: receiver::REGISTRY,
    references: &[
        Entry::new(
            ("oracle", "Oracle"),
            "knows the true cause of each packet (\"omniscient\")",
            "Cen, Cosman & Voelker, MMCN 2002, section 3",
            &[],
            |_| Ok(Decider::Oracle(())),
        ),
        random(
            "errs with given probabilities, packet by packet",
            "this project, for the relations of Cen, Cosman & Voelker, MMCN 2002, section 4",
        ),
    ],
};

/// Deciders at a sender (TCP, IFTP).
pub static SENDERS: Family<sender::Classifier, Lookup, OutsideSender> = Family {
    classifiers: sender::REGISTRY,
    references: &[
        Entry::new(
            ("oracle", "Oracle"),
            "knows the true cause (\"ideal\")",
            "Martignon & Fratta 2005, section 5.1; Milenkoski & Stojcevska 2010, section 4",
            &[
                Parameter::whole(
                    0,
                    0,
                    2,
                    "packet whose cause counts: 0 any of the window, 1 the first lost one, 2 the one before it",
                )
                .named("of"),
                Parameter::switch(
                    false,
                    "whether a packet that was corrupted once always counts as corrupted",
                )
                .named("remembers"),
                Parameter::switch(
                    true,
                    "whether timeouts are classified; if not, they are congestion",
                )
                .named("timeouts"),
            ],
            |values| {
                let of = [LookupOf::Window, LookupOf::First, LookupOf::Acknowledged];
                Ok(Decider::Oracle(Lookup {
                    of: of[values.value("of") as usize % 3],
                    remembers: values.value("remembers") != 0.0,
                    timeouts: values.value("timeouts") != 0.0,
                }))
            },
        ),
        random(
            "errs with given probabilities, loss event by loss event",
            "this project",
        ),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use Cause::{Congestion, Wireless};

    #[test]
    fn errors_come_as_often_as_decreed() {
        for (truth, uniform, expected) in [
            (Congestion, 0.24, Wireless),
            (Congestion, 0.25, Congestion),
            (Wireless, 0.74, Congestion),
            (Wireless, 0.75, Wireless),
        ] {
            assert_eq!(ReceiverDecider::err(0.25, 0.75, truth, uniform), expected);
        }
    }

    #[test]
    fn ids_are_unique_and_build() {
        for id in RECEIVERS.lines().map(|line| line.id) {
            assert_eq!(RECEIVERS.lines().filter(|line| line.id == id).count(), 1);
            assert!(RECEIVERS.build(id, &[]).is_some_and(|built| built.is_ok()));
        }
        for id in SENDERS.lines().map(|line| line.id) {
            assert_eq!(SENDERS.lines().filter(|line| line.id == id).count(), 1);
            assert!(SENDERS.build(id, &[]).is_some_and(|built| built.is_ok()));
        }
        assert!(SENDERS.find("zigzag").is_none());
        assert!(RECEIVERS.build("vegas", &[]).is_none());
    }

    /// A classifier from outside acts like the same built-in one at either end, and starts anew in
    /// each run.
    #[test]
    fn what_comes_from_outside_is_asked_as_what_is_within() {
        use crate::scenario::{Scenario, Transport};
        let text = |transport: &str, classifier: &str| {
            format!(
                r#"
                duration = "20 s"
                link = [{{ from = "a", to = "b", rate = "1 Mbit/s", delay = "20 ms", queue = {{ packets = 9 }}, channel = {{ kind = "bernoulli", loss = 0.02 }} }}]
                flow = [{{ name = "f", from = "a", to = "b", packet = "1000 B", transport = "{transport}", classifier = "{classifier}" }}]
                "#
            )
        };
        for (transport, classifier) in [("tfrc", "zigzag"), ("tcp", "veno"), ("iftp", "veno")] {
            let within = Scenario::of(&text(transport, classifier));
            let mut outside = within.clone();
            match &mut outside.flows[0].transport {
                Transport::Tfrc { classifier, .. } => {
                    *classifier = Decider::Outside(OutsideReceiver::new(|| {
                        Box::new(receiver::zigzag::ZigZag::default())
                    }));
                }
                Transport::Tcp { classifier, .. } | Transport::Iftp { classifier, .. } => {
                    let Decider::Classifier(known) = classifier.clone() else {
                        panic!("no classifier")
                    };
                    *classifier = Decider::Outside(OutsideSender::new(move || known.clone()));
                }
                _ => panic!("no classifier"),
            }
            let expected = crate::Simulation::new(&within, 3).run().expect("runs");
            assert!(expected.flows[0].gaps.count(Wireless, Wireless) > 0);
            for _ in 0..2 {
                let found = crate::Simulation::new(&outside, 3).run().expect("runs");
                // IFTP's built-in classifier may return more than a cause.
                if transport != "iftp" {
                    assert_eq!(found, expected, "{transport}");
                }
                assert!(found.flows[0].gaps.count(Wireless, Wireless) > 0);
            }
        }
    }
}
