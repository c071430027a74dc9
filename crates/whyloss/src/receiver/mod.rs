//! Receiver classifiers: loss differentiation from packet arrivals alone.
//!
//! # Contract
//!
//! A classifier is told of *every* arrival, in the order of arrival, through
//! [`ReceiverClassifier::on_arrival`]. When the arrival reveals a gap of `missing` packets, the
//! answer is one [`Cause`] for the whole gap (CEN-1); otherwise it is `None`. Whether the revealing
//! packet updates the state before or after the decision is part of each algorithm's definition
//! (CEN-A2). Stamps of sender and receiver come from clocks that need not agree: a constant offset
//! between them never changes a decision.
//!
//! An answer needs no allocation, by construction: this crate is `no_std` without `alloc`, and a
//! classifier's state is a fixed number of words. An oracle, which is told the truth, is no
//! classifier: it lives with whoever knows the truth.
//!
//! Programs that hold packets with sequence numbers need none of this:
//! [`LossTracker`](crate::losses::LossTracker) counts gaps, waits for what was only overtaken, and
//! asks any classifier.
//!
//! # By name
//!
//! ```
//! use whyloss::receiver::{Arrival, ReceiverClassifier, find};
//! use whyloss::{Cause, Time};
//!
//! let mbiaz = find("mbiaz").expect("in the registry");
//! let mut classifier = mbiaz.build(&[("upper", 1.3)])?;
//! let ms = |ms: u64| Time::from_nanos(ms * 1_000_000);
//! let arrival = |sequence, sent| Arrival::new(sequence, ms(sent), ms(sent + 20), 762);
//! assert_eq!(classifier.on_arrival(&arrival(0, 0), 0), None);
//! assert_eq!(classifier.on_arrival(&arrival(1, 40), 0), None);
//! // Packet 2 is missing, and packet 3 comes just when it should.
//! assert_eq!(classifier.on_arrival(&arrival(3, 120), 1), Some(Cause::Wireless));
//! # Ok::<(), whyloss::registry::ParameterError>(())
//! ```
//!
//! # Adding a classifier
//!
//! One file (and the `mod` line below by which the compiler finds it); its type and its entry in
//! the two lists of `registry.rs`; scenarios, experiments, the command, the property tests, the
//! fuzz target and the benchmarks read the list.

pub mod biaz;
mod registry;
pub mod spike;
pub mod trees;
mod unaware;
pub mod zbs;
pub mod zigzag;

pub use registry::{Classifier, Entry, REGISTRY, find};
pub use unaware::Unaware;

use crate::{Cause, Time};

/// One packet's arrival, as an end host sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Arrival {
    /// Sequence number, in packets.
    pub sequence: u64,
    /// The sender's stamp, on the sender's clock.
    pub sent: Time,
    /// The receiver's stamp, on the receiver's clock.
    pub received: Time,
    /// Bytes.
    pub size: u32,
}

impl Arrival {
    /// Makes the arrival of packet number `sequence`, of `size` bytes, stamped `sent` and
    /// `received`.
    #[inline]
    pub const fn new(sequence: u64, sent: Time, received: Time, size: u32) -> Self {
        Self {
            sequence,
            sent,
            received,
            size,
        }
    }

    /// Relative one-way trip time: receive stamp − send stamp. Negative when the clocks say so.
    #[inline]
    pub fn rott(&self) -> crate::Duration {
        self.received - self.sent
    }
}

/// A loss differentiation algorithm at the receiver. See the [module](self) for the contract.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no receiver classifier",
    note = "those are in `whyloss::receiver`; what is in `whyloss::sender` hears acknowledgements, not arrivals"
)]
pub trait ReceiverClassifier {
    /// Takes one arrival; `missing` packets lie between it and the highest sequence number that
    /// arrived before.
    ///
    /// Answers `Some` exactly when `missing > 0`. A late packet (one that fills an old gap) comes
    /// with `missing` 0.
    fn on_arrival(&mut self, arrival: &Arrival, missing: u64) -> Option<Cause>;
    /// The odds of congestion behind the latest cause: p/(1 − p). `None` if the algorithm weighs
    /// none, or has had no evidence.
    #[inline]
    fn odds(&self) -> Option<f64> {
        None
    }
}

/// One arrival through a classifier's two halves, in the order that `update_first` says (CEN-A2).
#[inline]
fn in_order<S>(
    state: &mut S,
    update_first: bool,
    missing: u64,
    update: impl FnOnce(&mut S),
    judge: impl Fn(&S) -> Cause,
) -> Option<Cause> {
    // One call of `update`, so that it is inlined: gaps are rare, updates are not.
    let before = (missing > 0 && !update_first).then(|| judge(state));
    update(state);
    let after = || (missing > 0).then(|| judge(state));
    before.or_else(after)
}

#[cfg(test)]
mod tests {
    use super::Arrival;
    use crate::Time;

    /// An arrival `received` ns after some epoch, after `delay` ns on the way.
    pub(super) fn arrival(received: u64, delay: u64) -> Arrival {
        const EPOCH: u64 = 1 << 40;
        Arrival {
            sequence: 0,
            sent: Time::from_nanos(EPOCH + received - delay),
            received: Time::from_nanos(EPOCH + received),
            size: 762,
        }
    }
}
