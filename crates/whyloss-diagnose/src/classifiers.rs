//! The library's classifiers, each fed with the events that a capture shows.
//!
//! The list omits the oracle and the random classifier, because a capture does not contain the
//! truth. It also omits the unaware classifier, whose verdict is always the same.

use whyloss::event::{AckEvent, LossEvent};
use whyloss::receiver::{self, Arrival, Published, ReceiverClassifier as _};
use whyloss::sender::{self, SenderClassifier as _};

use crate::loss::Votes;

/// The mean number of bytes that a classifier allocates.
const INSIDE: usize = 256;

const REFERENCES: [&str; 3] = ["oracle", "unaware", "random"];

/// Returns the sender classifiers that a diagnosis uses, in the order of the bits of [`Votes`].
pub fn senders() -> impl Iterator<Item = &'static sender::Entry> {
    sender::REGISTRY
        .iter()
        .filter(|entry| !REFERENCES.contains(&entry.id))
}

/// Returns the receiver classifiers that a diagnosis uses, in the order of the bits of [`Votes`].
pub fn receivers() -> impl Iterator<Item = &'static receiver::Entry> {
    receiver::REGISTRY
        .iter()
        .filter(|entry| !REFERENCES.contains(&entry.id))
}

/// Returns the column names of the verdicts of all classifiers: the ids of the sender classifiers,
/// then those of the receiver classifiers. A receiver id that is also a sender id gets the prefix
/// `receiver-`.
pub fn columns() -> Vec<String> {
    let column = |entry: &receiver::Entry| {
        let both = senders().any(|sender| sender.id == entry.id);
        format!("{}{}", if both { "receiver-" } else { "" }, entry.id)
    };
    let senders = senders().map(|entry| entry.id.to_owned());
    senders.chain(receivers().map(column)).collect()
}

/// The maximum number of waiting events. One batch of them finds a classifier's state in the cache.
const WAITING: usize = 32;

/// Every sender classifier with its defaults.
#[derive(Clone, Debug)]
pub(crate) struct Senders {
    all: Vec<sender::Classifier>,
    /// The acknowledgements that the classifiers have not received yet.
    waiting: Vec<AckEvent>,
}

impl Senders {
    pub(crate) fn new() -> Self {
        // Defaults are in range; a test of the registry checks this.
        let built = senders().filter_map(|entry| entry.build(&[]).ok());
        Self {
            all: built.collect(),
            waiting: Vec::with_capacity(WAITING),
        }
    }

    /// Returns the mean memory in use, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.all.capacity() * (size_of::<sender::Classifier>() + INSIDE)
            + self.waiting.capacity() * size_of::<AckEvent>()
    }

    pub(crate) fn on_ack(&mut self, ack: &AckEvent) {
        self.waiting.push(*ack);
        if self.waiting.len() == WAITING {
            self.tell();
        }
    }

    fn tell(&mut self) {
        for classifier in &mut self.all {
            for ack in &self.waiting {
                classifier.on_ack(ack);
            }
        }
        self.waiting.clear();
    }

    pub(crate) fn on_loss(&mut self, loss: &LossEvent) -> Votes {
        self.tell();
        let mut votes = Votes::default();
        for (index, classifier) in self.all.iter_mut().enumerate() {
            votes.add(index, classifier.on_loss(loss));
        }
        votes
    }
}

/// Every receiver classifier with its defaults.
#[derive(Clone, Debug)]
pub(crate) struct Receivers {
    /// The first classifiers of the registry, which share their statistics.
    published: Published,
    others: Vec<receiver::Classifier>,
    /// The arrivals without a gap that the classifiers have not received yet.
    waiting: Vec<Arrival>,
}

impl Receivers {
    pub(crate) fn new() -> Self {
        let others = receivers().skip(Published::IDS.len());
        Self {
            published: Published::default(),
            others: others.filter_map(|entry| entry.build(&[]).ok()).collect(),
            waiting: Vec::with_capacity(WAITING),
        }
    }

    /// Returns the memory in use, in bytes.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Self>()
            + self.others.capacity() * size_of::<receiver::Classifier>()
            + self.waiting.capacity() * size_of::<Arrival>()
    }

    pub(crate) fn on_arrival(&mut self, arrival: &Arrival, missing: u64) -> Votes {
        let mut votes = Votes::default();
        if missing == 0 {
            self.waiting.push(*arrival);
            if self.waiting.len() == WAITING {
                self.tell();
            }
            return votes;
        }
        self.tell();
        let published = self.published.on_arrival(arrival, missing);
        let others = self.others.iter_mut();
        let others = others.filter_map(|classifier| classifier.on_arrival(arrival, missing));
        let causes = published.into_iter().flatten().chain(others);
        for (index, cause) in causes.enumerate() {
            votes.add(index, cause);
        }
        votes
    }

    fn tell(&mut self) {
        for arrival in &self.waiting {
            self.published.on_arrival(arrival, 0);
        }
        for classifier in &mut self.others {
            for arrival in &self.waiting {
                classifier.on_arrival(arrival, 0);
            }
        }
        self.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use whyloss::Time;

    use super::*;

    #[test]
    fn every_classifier_is_built_and_has_a_bit() {
        assert_eq!(Senders::new().all.len(), senders().count());
        let ids: Vec<&str> = receivers().map(|entry| entry.id).collect();
        assert!(ids.starts_with(&Published::IDS));
        let others = Receivers::new().others.len();
        assert_eq!(Published::IDS.len() + others, ids.len());
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

    /// One arrival in forty reveals a gap. The votes are those of the registry's classifiers, each
    /// of which receives every arrival immediately.
    #[test]
    fn events_that_wait_and_shared_statistics_change_no_vote() {
        let direct = receivers().map(|entry| entry.build(&[]).expect("defaults"));
        let (mut waiting, mut direct) = (Receivers::new(), direct.collect::<Vec<_>>());
        let mut asked = 0;
        for number in 0..2_000_u64 {
            let delay = 20_000_000 + number * number * 7919 % 30_000_000;
            let sent = Time::from_nanos(number * 10_000_000);
            let received = Time::from_nanos(number * 10_000_000 + delay);
            let arrival = Arrival::new(number, sent, received, 1000);
            let missing = u64::from(number % 40 == 39) * (1 + number % 3);
            let votes = waiting.on_arrival(&arrival, missing);
            let mut expected = Votes::default();
            for (index, classifier) in direct.iter_mut().enumerate() {
                if let Some(cause) = classifier.on_arrival(&arrival, missing) {
                    expected.add(index, cause);
                    asked += 1;
                }
            }
            assert_eq!(votes, expected, "{number}");
        }
        assert_eq!(asked, 50 * receivers().count());
    }
}
