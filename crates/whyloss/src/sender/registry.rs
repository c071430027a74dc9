//! The registry: every sender classifier by name, with its parameters.
//!
//! Scenarios, experiments and the command read [`REGISTRY`]. To add a classifier: its file, its `mod` line, and its
//! entry in the list below.

use super::{Lookup, LookupOf, Reference, SenderClassifier, Verdict};
use crate::event::{AckEvent, LossEvent};
use crate::registry::{self, Parameter, classifiers, real, switch, whole};

/// One line of the registry.
pub type Entry = registry::Entry<Classifier>;

macro_rules! dispatch {
    ($($type:ident),+) => {
        impl SenderClassifier for Classifier {
            #[inline]
            fn on_ack(&mut self, ack: &AckEvent) {
                match self {
                    $(Self::$type(classifier) => classifier.on_ack(ack)),+
                }
            }

            fn on_loss(&mut self, loss: &LossEvent) -> Verdict {
                match self {
                    $(Self::$type(classifier) => classifier.on_loss(loss)),+
                }
            }
        }
    };
}

// Type of the classifier, and for each of its entries: id, name, summary, source, parameters, and the constructor,
// which sees each parameter's value under its name (and, after `where`, what must hold between them).
classifiers! {
    dispatch,
    Reference {
        "oracle", "Oracle", "is told the true cause (\"ideal\")",
        "Martignon & Fratta 2005, section 5.1; Milenkoski & Stojcevska 2010, section 4",
        (
            of = whole(0, 0, 2, "whose cause: 0 any packet of the window, 1 the first one lost, 2 the one before it"),
            remembers = switch(false, "whether a packet once corrupted counts as corrupted ever after"),
            timeouts = switch(true, "whether timeouts are classified; if not, they are congestion"),
        )
        => Reference::oracle(lookup(of, remembers), timeouts != 0.0);

        "unaware", "Unaware", "always congestion, as transports without a classifier",
        "Jacobson, SIGCOMM 1988",
        ()
        => Reference::unaware();

        "random", "Random", "errs with given probabilities, loss event by loss event",
        "this project",
        (
            mc = real(0.5, 0.0, 1.0, "probability of calling a congestion loss wireless"),
            mw = real(0.5, 0.0, 1.0, "probability of calling a wireless loss congestion"),
        )
        => Reference::random(mc, mw);
    }
}

impl Classifier {
    /// Every loss is congestion.
    pub fn unaware() -> Self {
        Self::Reference(Reference::unaware())
    }
}

fn lookup(of: f64, remembers: f64) -> Lookup {
    let of = [LookupOf::Window, LookupOf::First, LookupOf::Acknowledged][of as usize % 3];
    Lookup {
        of,
        remembers: remembers != 0.0,
    }
}
