//! Sender classifiers: loss differentiation from acknowledgements alone.
//!
//! # Contract
//!
//! A classifier is told of every acknowledgement, in order of arrival ([`SenderClassifier::on_ack`]), duplicates
//! included, and asked for a [`Verdict`] once per loss event ([`SenderClassifier::on_loss`]): when a recovery begins
//! and when the retransmission timer expires. The acknowledgement that reveals the loss has been told before. What the
//! verdict does to the window is not its business: see [`crate::congestion::WirelessPolicy`].
//!
//! A verdict needs no allocation, by construction: this crate is `no_std` without `alloc`.
//!
//! # Adding a classifier
//!
//! One file, its `mod` line, and one entry in the list of `registry.rs`.

mod backlog;
pub mod fq_rtt;
pub mod gradient;
mod reference;
mod registry;
mod rounds;
pub mod vegas;
pub mod veno;

pub use reference::Reference;
pub use registry::{Classifier, Entry, REGISTRY, find};

use crate::Cause;
use crate::event::{AckEvent, LossEvent};

/// What a sender classifier answers about a loss event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// This cause.
    Cause(Cause),
    /// The true cause: the oracle's answer, which whoever knows the truth looks up.
    Truth(Lookup),
    /// The true cause (as [`Lookup::default`] has it), given wrongly with probability `mc` (congestion called wireless)
    /// or `mw` (wireless called congestion).
    Erring {
        /// Probability of calling a congestion loss wireless.
        mc: f64,
        /// Probability of calling a wireless loss congestion.
        mw: f64,
    },
}

/// What an oracle looks up about a loss event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lookup {
    /// Of which packets.
    pub of: LookupOf,
    /// Whether a packet once corrupted counts as corrupted ever after, also when its retransmission is dropped by a
    /// queue (MIL-7 (b): a record file that nobody prunes). Otherwise its latest loss counts.
    pub remembers: bool,
}

/// Of which packets an oracle looks up the cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LookupOf {
    /// Of all packets known to be lost in the window: congestion if any of them was lost to congestion (MAR-4).
    #[default]
    Window,
    /// Of the first lost packet alone (MIL-7).
    First,
    /// Of the packet before it, the last one acknowledged, to the letter of MIL's text (MIL-7 (a)).
    Acknowledged,
}

/// A loss differentiation algorithm at the sender. See the [module](self) for the contract.
pub trait SenderClassifier {
    /// Takes an acknowledgement.
    fn on_ack(&mut self, ack: &AckEvent);
    /// Gives the cause of a loss event.
    fn on_loss(&mut self, loss: &LossEvent) -> Verdict;
}

#[cfg(test)]
mod tests {
    use super::Verdict;
    use crate::event::{AckEvent, Detection, LossEvent};
    use crate::{Cause, Duration, Time};

    /// An acknowledgement of a segment of 1000 bytes, `rtt` ns after it left (0: no sample), at a window of `window`.
    pub(super) fn ack(rtt: i64, window: u64) -> AckEvent {
        AckEvent {
            now: Time::ZERO,
            acked: 1000,
            sacked: 0,
            acknowledged: 0,
            in_flight: 0,
            window,
            segment_size: 1000,
            rtt: (rtt != 0).then_some(Duration::from_nanos(rtt)),
            receiver_stamp: None,
            app_limited: false,
            in_recovery: false,
        }
    }

    /// A loss found by duplicates, at a window of `window`.
    pub(super) fn loss(window: u64) -> LossEvent {
        LossEvent {
            now: Time::ZERO,
            detection: Detection::Duplicates,
            first: 0,
            sent: None,
            transmissions: 1,
            in_flight: 0,
            window,
            segment_size: 1000,
            rtt: None,
            min_rtt: None,
            repeated: false,
        }
    }

    pub(super) fn timeout(window: u64) -> LossEvent {
        LossEvent {
            detection: Detection::Timeout,
            ..loss(window)
        }
    }

    /// The cause of a verdict that names one.
    pub(super) fn cause(verdict: Verdict) -> Cause {
        match verdict {
            Verdict::Cause(cause) => cause,
            other => panic!("{other:?}"),
        }
    }
}
