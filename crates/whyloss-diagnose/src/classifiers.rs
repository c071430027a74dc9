//! The library's classifiers, each fed with what a capture shows.
//!
//! Oracles and the random one are left out, since a capture has no truth to tell them, and the
//! unaware, whose answer is known beforehand.

use whyloss::event::{AckEvent, LossEvent};
use whyloss::receiver::{self, Arrival, ReceiverClassifier as _};
use whyloss::sender::{self, SenderClassifier as _};

use crate::loss::Votes;

/// Bytes that a classifier keeps elsewhere, on the average.
const INSIDE: usize = 256;

const REFERENCES: [&str; 3] = ["oracle", "unaware", "random"];

/// The sender classifiers that are asked, in the order of the bits of [`Votes`].
pub fn senders() -> impl Iterator<Item = &'static sender::Entry> {
    sender::REGISTRY
        .iter()
        .filter(|entry| !REFERENCES.contains(&entry.id))
}

/// The receiver classifiers that are asked, in the order of the bits of [`Votes`].
pub fn receivers() -> impl Iterator<Item = &'static receiver::Entry> {
    receiver::REGISTRY
        .iter()
        .filter(|entry| !REFERENCES.contains(&entry.id))
}

/// The columns of their answers, senders' first: their ids. Of an id at both ends, the receiver's
/// column is `receiver-` and the id.
pub fn columns() -> Vec<String> {
    let column = |entry: &receiver::Entry| {
        let both = senders().any(|sender| sender.id == entry.id);
        format!("{}{}", if both { "receiver-" } else { "" }, entry.id)
    };
    let senders = senders().map(|entry| entry.id.to_owned());
    senders.chain(receivers().map(column)).collect()
}

/// Every sender classifier with its defaults.
#[derive(Clone, Debug)]
pub(crate) struct Senders(Vec<sender::Classifier>);

impl Senders {
    pub(crate) fn new() -> Self {
        // Defaults are in range: a test of the registry sees to it.
        Self(
            senders()
                .filter_map(|entry| entry.build(&[]).ok())
                .collect(),
        )
    }

    /// Bytes that they take, on the average.
    pub(crate) fn memory(&self) -> usize {
        self.0.capacity() * (size_of::<sender::Classifier>() + INSIDE)
    }

    pub(crate) fn on_ack(&mut self, ack: &AckEvent) {
        for classifier in &mut self.0 {
            classifier.on_ack(ack);
        }
    }

    pub(crate) fn on_loss(&mut self, loss: &LossEvent) -> Votes {
        let mut votes = Votes::default();
        for (index, classifier) in self.0.iter_mut().enumerate() {
            votes.add(index, classifier.on_loss(loss));
        }
        votes
    }
}

/// Every receiver classifier with its defaults.
#[derive(Clone, Debug)]
pub(crate) struct Receivers(Vec<receiver::Classifier>);

impl Receivers {
    pub(crate) fn new() -> Self {
        Self(
            receivers()
                .filter_map(|entry| entry.build(&[]).ok())
                .collect(),
        )
    }

    /// Bytes that they take, on the average.
    pub(crate) fn memory(&self) -> usize {
        self.0.capacity() * (size_of::<receiver::Classifier>() + INSIDE)
    }

    pub(crate) fn on_arrival(&mut self, arrival: &Arrival, missing: u64) -> Votes {
        let mut votes = Votes::default();
        for (index, classifier) in self.0.iter_mut().enumerate() {
            if let Some(cause) = classifier.on_arrival(arrival, missing) {
                votes.add(index, cause);
            }
        }
        votes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_classifier_is_built_and_has_a_bit() {
        assert_eq!(Senders::new().0.len(), senders().count());
        assert_eq!(Receivers::new().0.len(), receivers().count());
        assert!(senders().count() <= 32 && receivers().count() <= 32);
    }

    #[test]
    fn no_two_columns_have_one_name() {
        let mut columns = columns();
        assert!(columns.iter().any(|name| name == "trees"));
        assert!(columns.iter().any(|name| name == "receiver-trees"));
        columns.sort_unstable();
        let all = columns.len();
        columns.dedup();
        assert_eq!(columns.len(), all);
    }
}
