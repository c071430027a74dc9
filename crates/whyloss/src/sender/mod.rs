//! Sender classifiers: loss differentiation from acknowledgements alone.
//!
//! # Contract
//!
//! Pass every acknowledgement, duplicates included, to [`SenderClassifier::on_ack`] in order of
//! arrival. Call [`SenderClassifier::on_loss`] once per loss event, that is when a recovery begins
//! or the retransmission timer expires, to get its [`Cause`]. Pass the acknowledgement that reveals
//! the loss first. ECN marks are always congestion, so classifiers do not see them. A classifier
//! may revise its verdict when the recovery ends. [`crate::congestion::WirelessPolicy`] decides the
//! effect on the window; [`crate::schemes`] combines the two.
//!
//! Classifiers never allocate: this crate is `no_std` without `alloc`. An oracle needs the true
//! cause and is therefore not a classifier; the simulator has oracles.
//!
//! # Adding a classifier
//!
//! Write one file with its `mod` line; add the type and its entry to the two lists in
//! `registry.rs`.

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
    /// Updates the classifier with a departure. No built-in classifier uses this event.
    #[inline]
    fn on_sent(&mut self, sent: &SentEvent) {
        let _ = sent;
    }
    /// Updates the classifier with an acknowledgement.
    fn on_ack(&mut self, ack: &AckEvent);
    /// Returns the cause of a loss event.
    fn on_loss(&mut self, loss: &LossEvent) -> Cause;
    /// Returns the odds of congestion of the latest cause, p/(1 − p). `None` if the algorithm
    /// estimates none or had no evidence.
    #[inline]
    fn odds(&self) -> Option<f64> {
        None
    }
    /// Returns whether verdicts on losses found by acknowledgements are final only when the
    /// recovery ends. Most classifiers decide immediately.
    #[inline]
    fn revises(&self) -> bool {
        false
    }
    /// Returns the cause of a repaired loss event, if the classifier [revises](Self::revises)
    /// verdicts. If it is wireless, the transport undoes the loss's effect.
    fn on_recovery_end(&mut self, now: Time) -> Cause {
        let _ = now;
        Cause::Congestion
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{AckEvent, Detection, LossEvent};
    use crate::{Duration, Time};

    /// Builds an acknowledgement of a 1000-byte segment, `rtt` ns after it left (0: no sample),
    /// with window `window`.
    pub(super) fn ack(rtt: i64, window: u64) -> AckEvent {
        AckEvent::new(Time::ZERO, 1000)
            .acked(1000)
            .window(window)
            .rtt((rtt != 0).then_some(Duration::from_nanos(rtt)))
    }

    /// Builds a loss found by duplicates, with window `window`.
    pub(super) fn loss(window: u64) -> LossEvent {
        LossEvent::new(Time::ZERO, Detection::Duplicates, 1000).window(window)
    }

    pub(super) fn timeout(window: u64) -> LossEvent {
        LossEvent::new(Time::ZERO, Detection::Timeout, 1000).window(window)
    }
}
