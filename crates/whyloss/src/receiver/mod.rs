//! Receiver classifiers: loss differentiation from packet arrivals alone.
//!
//! # Contract
//!
//! Pass *every* arrival to [`ReceiverClassifier::on_arrival`], in order. If the arrival reveals a
//! gap of `missing` packets, the classifier returns one [`Cause`] for the whole gap (CEN-1);
//! otherwise `None`. Each algorithm defines whether it updates its state before or after the
//! decision (CEN-A2). The clocks of sender and receiver need not agree: a constant offset never
//! changes a decision.
//!
//! Classifiers never allocate: this crate is `no_std` without `alloc`, and their state has a fixed
//! size. An oracle needs the true cause and is therefore not a classifier; the simulator has
//! oracles.
//!
//! If your packets have sequence numbers, use [`LossTracker`](crate::losses::LossTracker) instead.
//! It finds gaps, waits for reordered packets, and gets causes from any classifier.
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
//! Write one file, with a `mod` line below; add the type and its entry to the two lists in
//! `registry.rs`. Scenarios, experiments, the command, property tests, fuzz target and benchmarks
//! all read that registry.

pub mod biaz;
mod published;
mod registry;
pub mod spike;
pub mod trees;
mod unaware;
pub mod zbs;
pub mod zigzag;

pub use published::Published;
pub use registry::{Classifier, Entry, REGISTRY, find};
pub use unaware::Unaware;

use crate::{Cause, Time};

/// The arrival of a packet, as an end host sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Arrival {
    /// The sequence number, in packets.
    pub sequence: u64,
    /// The sending time, on the sender's clock.
    pub sent: Time,
    /// The arrival time, on the receiver's clock.
    pub received: Time,
    /// The packet size, in bytes.
    pub size: u32,
}

impl Arrival {
    /// Creates the arrival of packet number `sequence` of `size` bytes, with both stamps.
    #[inline]
    pub const fn new(sequence: u64, sent: Time, received: Time, size: u32) -> Self {
        Self {
            sequence,
            sent,
            received,
            size,
        }
    }

    /// Returns the relative one-way trip time, `received − sent`. Clock offset may make it
    /// negative.
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
    /// Updates the classifier with an arrival. `missing` packets are missing between it and the
    /// highest earlier sequence number.
    ///
    /// Returns `Some` exactly when `missing > 0`. A late packet, which fills an old gap, has
    /// `missing` 0.
    fn on_arrival(&mut self, arrival: &Arrival, missing: u64) -> Option<Cause>;
    /// Returns the odds of congestion of the latest cause, p/(1 − p). `None` if the algorithm
    /// estimates none or had no evidence.
    #[inline]
    fn odds(&self) -> Option<f64> {
        None
    }
}

/// Runs an algorithm's two halves for one arrival, in the order of `update_first` (CEN-A2).
#[inline]
fn in_order<S>(
    state: &mut S,
    update_first: bool,
    missing: u64,
    update: impl FnOnce(&mut S),
    judge: impl Fn(&S) -> Cause,
) -> Option<Cause> {
    // Call `update` in one place only, so that it is inlined. Gaps are rare, updates are not.
    let before = (missing > 0 && !update_first).then(|| judge(state));
    update(state);
    let after = || (missing > 0).then(|| judge(state));
    before.or_else(after)
}

#[cfg(test)]
mod tests {
    use super::Arrival;
    use crate::Time;

    /// Builds an arrival at `received` ns with a delay of `delay` ns.
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
