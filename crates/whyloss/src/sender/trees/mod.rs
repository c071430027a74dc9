//! Trees: forty shallow trees over delay, timing and losses seen in acknowledgements, trained on
//! random networks.
//!
//! Developed in this project (2026). `docs/evidence/classifier.md` explains how the trees were
//! trained, how to reproduce them, how good they are, and where they do not help.
//!
//! ```text
//! congestion  ⇔  Σ over trees of leaf(signals) > threshold      thousandths of log-odds
//! ```
//!
//! The signals (`signals.rs`) use how the two kinds of loss differ:
//!
//! - The acknowledgement before a loss carries the round trip of the packet before the lost one. A
//!   full queue drops packets, so the backlog is then near its maximum (`backlog`). The delay has
//!   been high for a while (`trough`) and is near the maximum of a minute (`before_long`). Losses
//!   are more frequent at this delay and window than at others (`density_before`,
//!   `density_window`). Radio loss depends on neither.
//! - A packet corrupted by radio used the link, so the first duplicate arrives two slots after the
//!   acknowledgement before it. After a queue drop, it arrives earlier (`gap`, `duplicates`,
//!   `span`).
//! - A sudden rise of delay or window (`jump`, `growth`) fills a queue immediately, as slow start
//!   does.
//! - Other signals tell how reliable these are on this path: queue length (`depth`), link and clock
//!   (`spread`, `irregular`), other losses (`loss_rate`, `recent_losses`), a long silence
//!   (`timeout`).
//!
//! By constraint, more delay or backlog, or denser losses at that delay, never makes congestion
//! less likely. The first eight acknowledgements give no evidence for radio loss, nor do
//! acknowledgements without a round-trip time. A loss is then congestion.
//!
//! Limit, shared with fqRTT: under QUIC's events ([`crate::event`]), each acknowledgement in a
//! recovery looks partial, like a loss. An adapter must hold the edge at the first loss until the
//! recovery ends or a second packet is lost.

mod signals;
mod table;

pub use signals::{COUNT, NAMES, Signals};
pub(crate) use signals::{Heard, Losses};

use super::SenderClassifier;
use crate::event::{AckEvent, LossEvent};
use crate::{Cause, trees};
use table::TREES;

/// Classifies loss events by gradient-boosted trees over [`Signals`].
#[derive(Clone, Debug, PartialEq)]
pub struct Trees {
    signals: Signals,
    /// The threshold, in thousandths of log-odds.
    threshold: i32,
    /// The log-odds of the latest loss in thousandths, if there was evidence.
    log_odds: Option<i32>,
}

impl Trees {
    /// The log-odds above which a loss is congestion. With this threshold, a flow without a
    /// classifier lost at most 5 % beside flows with the trees, on the networks used for selection.
    pub const THRESHOLD: f64 = table::THRESHOLD;

    /// Creates trees with this threshold in log-odds; a lower one classifies more losses as
    /// congestion.
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

/// The number of trees in the classifier.
pub const GROWN: usize = TREES.len();

/// Returns the table of trees, for programs that cannot call [`log_odds`].
///
/// A tree has 15 questions and 16 leaves; a leaf is a value in thousandths of log-odds. A question
/// is the number of a signal and a bound. Values up to the bound lead to the leaves before the
/// question. Question k separates leaves k and k + 1. The search always takes the middle one of the
/// remaining questions.
pub fn table() -> impl Iterator<Item = (&'static [(u8, i16); 15], &'static [i16; 16])> {
    TREES.iter().map(|tree| (&tree.questions, &tree.leaves))
}

/// Returns the log-odds of congestion for these signals, in thousandths.
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

    /// More delay, backlog or losses at that delay never make congestion less likely, as the
    /// training requires.
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
        // Without a round-trip time the delay is unknown.
        let mut deaf = Trees::new(1e5);
        for _ in 0..20 {
            deaf.on_ack(&ack(0, 10_000));
        }
        assert_eq!(deaf.on_loss(&loss(10_000)), Cause::Congestion);
    }
}
