//! Sender classifiers: loss differentiation from acknowledgements alone.
//!
//! # Contract
//!
//! A classifier is told of every acknowledgement, in order of arrival
//! ([`SenderClassifier::on_ack`]), duplicates included, and asked for a [`Cause`] once per loss
//! event ([`SenderClassifier::on_loss`]): when a recovery begins and when the retransmission timer
//! expires. The acknowledgement that reveals the loss has been told before. It is not asked about
//! ECN marks, which are congestion. One that knows better when the repair is done may say so then.
//! The effect of the answer on the window is decided elsewhere: see
//! [`crate::congestion::WirelessPolicy`]; [`crate::schemes`] puts the two together.
//!
//! An answer needs no allocation, by construction: this crate is `no_std` without `alloc`. An
//! oracle, which is told the truth, is no classifier: it lives with whoever knows the truth.
//!
//! # Adding a classifier
//!
//! One file, its `mod` line; its type and its entry in the two lists of `registry.rs`.

mod backlog;
pub mod episode;
pub mod fq_rtt;
pub mod gradient;
pub mod isolated;
mod registry;
mod rounds;
pub mod trees;
mod unaware;
pub mod vegas;
pub mod veno;

pub use registry::{Classifier, Entry, REGISTRY, find};
pub use unaware::Unaware;

use crate::event::{AckEvent, LossEvent, SentEvent};
use crate::{Cause, Time};

/// A loss differentiation algorithm at the sender. See the [module](self) for the contract.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no sender classifier",
    note = "those are in `whyloss::sender`; what is in `whyloss::receiver` hears arrivals, not acknowledgements"
)]
pub trait SenderClassifier {
    /// Takes a packet that leaves. None of ours needs to know.
    #[inline]
    fn on_sent(&mut self, sent: &SentEvent) {
        let _ = sent;
    }
    /// Takes an acknowledgement.
    fn on_ack(&mut self, ack: &AckEvent);
    /// Gives the cause of a loss event.
    fn on_loss(&mut self, loss: &LossEvent) -> Cause;
    /// The odds of congestion behind the latest cause: p/(1 − p). `None` if the algorithm weighs
    /// none, or has had no evidence.
    #[inline]
    fn odds(&self) -> Option<f64> {
        None
    }
    /// Whether what it says of a loss that acknowledgements found is only final when the recovery
    /// ends. Most know at once.
    #[inline]
    fn revises(&self) -> bool {
        false
    }
    /// Gives the cause of a loss event that has been repaired, if it [revises](Self::revises)
    /// verdicts. If it is wireless, the transport undoes what the loss did.
    fn on_recovery_end(&mut self, now: Time) -> Cause {
        let _ = now;
        Cause::Congestion
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{AckEvent, Detection, LossEvent};
    use crate::{Duration, Time};

    /// An acknowledgement of a segment of 1000 bytes, `rtt` ns after it left (0: no sample), at a
    /// window of `window`.
    pub(super) fn ack(rtt: i64, window: u64) -> AckEvent {
        AckEvent::new(Time::ZERO, 1000)
            .acked(1000)
            .window(window)
            .rtt((rtt != 0).then_some(Duration::from_nanos(rtt)))
    }

    /// A loss found by duplicates, at a window of `window`.
    pub(super) fn loss(window: u64) -> LossEvent {
        LossEvent::new(Time::ZERO, Detection::Duplicates, 1000).window(window)
    }

    pub(super) fn timeout(window: u64) -> LossEvent {
        LossEvent::new(Time::ZERO, Detection::Timeout, 1000).window(window)
    }
}
