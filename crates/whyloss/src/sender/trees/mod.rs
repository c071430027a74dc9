//! Trees: forty shallow trees over what acknowledgements say of delay, timing and losses, grown on
//! networks drawn at random.
//!
//! This project's own (2026); `docs/evidence/classifier.md` says how it was made, how to make it
//! again, what it is worth, and where it does not help.
//!
//! ```text
//! congestion  ⇔  Σ over trees of leaf(signals) > threshold      thousandths of log-odds
//! ```
//!
//! Why these signals (`signals.rs`): the acknowledgement before a loss carries the round-trip time
//! of the packet before the lost one. A full queue refuses, so the backlog is then near its largest
//! (`backlog`), the delay has been high for a while (`trough`) and is near its largest of a minute
//! (`before_long`), and losses are more frequent at this delay and at this window than at others
//! (`density_before`, `density_window`); the radio looks at neither. A packet that the radio
//! corrupts has used the link's time, so the first duplicate comes two slots after the
//! acknowledgement before it; one that a queue refused has not (`gap`, `duplicates`, `span`). A
//! delay or a window that jumped just before (`jump`, `growth`) fills a queue at once, as slow
//! start does. The rest says what these are worth here: a queue of some length (`depth`), alone on
//! the link and with an exact clock or not (`spread`, `irregular`), how much is lost anyway
//! (`loss_rate`, `recent_losses`), and whether nothing has been heard for long (`timeout`).
//!
//! A higher delay or backlog, and a higher density of losses there, never makes congestion less
//! likely: the trees were grown under that constraint. Before eight acknowledgements and a
//! round-trip time there is no evidence for the radio: congestion.
//!
//! Limit, as fqRTT's: with QUIC's events as [`crate::event`] has them each acknowledgement of a
//! recovery looks partial, and so like a loss. An adapter must hold the edge back at the first loss
//! until the recovery ends or a second packet is lost.

mod signals;
mod table;

pub(crate) use signals::Heard;
pub use signals::{COUNT, NAMES, Signals};

use super::SenderClassifier;
use crate::event::{AckEvent, LossEvent};
use crate::{Cause, trees};
use table::TREES;

/// Gradient-boosted trees over [`Signals`].
#[derive(Clone, Debug, PartialEq)]
pub struct Trees {
    signals: Signals,
    /// Thousandths of log-odds.
    threshold: i32,
    /// Of the latest loss, if there was evidence.
    log_odds: Option<i32>,
}

impl Trees {
    /// Log-odds above which a loss is congestion: a plain flow lost at most 5 % beside them on
    /// networks that served for choosing.
    pub const THRESHOLD: f64 = table::THRESHOLD;

    /// Trees with this threshold, in log-odds: the lower it is, the more losses are congestion.
    pub fn new(threshold: f64) -> Self {
        Self {
            signals: Signals::new(),
            threshold: (1e3 * threshold) as i32,
            log_odds: None,
        }
    }

    /// Returns the threshold in thousandths of log-odds: above it, a loss is congestion.
    pub fn threshold(&self) -> i32 {
        self.threshold
    }
}

impl Default for Trees {
    fn default() -> Self {
        Self::new(Self::THRESHOLD)
    }
}

/// The number of trees.
pub const GROWN: usize = TREES.len();

/// Returns the table of trees, for programs that cannot call [`log_odds`].
///
/// A tree has 15 questions and 16 leaves (thousandths of log-odds). A question is the number of a
/// signal and a bound: values up to the bound lead to the leaves before it. Question k lies between
/// leaves k and k + 1. The search asks the middle one of those left.
pub fn table() -> impl Iterator<Item = (&'static [(u8, i16); 15], &'static [i16; 16])> {
    TREES.iter().map(|tree| (&tree.questions, &tree.leaves))
}

/// The log-odds of congestion, in thousandths.
pub fn log_odds(signals: &[i16; COUNT]) -> i32 {
    trees::log_odds(&TREES, signals)
}

impl SenderClassifier for Trees {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        self.signals.on_ack(ack);
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Cause {
        self.log_odds = self.signals.on_loss(loss).map(|signals| log_odds(&signals));
        match self.log_odds {
            Some(odds) if odds <= self.threshold => Cause::Wireless,
            _ => Cause::Congestion,
        }
    }

    fn odds(&self) -> Option<f64> {
        self.log_odds.map(trees::odds)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, loss, timeout};
    use super::*;
    use crate::trees::assert_monotone;

    /// The table's promise: more delay, backlog or losses there never makes congestion less likely.
    #[test]
    fn monotone_where_physics_is() {
        let names = [
            "backlog",
            "trough",
            "before_long",
            "density_before",
            "density_window",
        ];
        let rising = names.map(|name| (name, 1));
        assert_monotone(&NAMES, &rising, log_odds);
    }

    #[test]
    fn congestion_until_enough_was_heard() {
        let mut trees = Trees::new(1e5);
        assert_eq!(trees.on_loss(&timeout(10_000)), Cause::Congestion);
        for k in 0..8 {
            assert_eq!(trees.on_loss(&loss(10_000)), Cause::Congestion, "{k}");
            trees.on_ack(&ack(100_000_000, 10_000));
        }
        assert_eq!(trees.on_loss(&loss(10_000)), Cause::Wireless);
        // Without a round-trip time nothing is known of the delay.
        let mut deaf = Trees::new(1e5);
        for _ in 0..20 {
            deaf.on_ack(&ack(0, 10_000));
        }
        assert_eq!(deaf.on_loss(&loss(10_000)), Cause::Congestion);
    }
}
