//! Trees: sixty shallow trees over the timing and the delay of a gap, grown on networks drawn at random.
//!
//! This project's own (2026); `docs/classifier.md` says how it was made, how to make it again, what it is worth, and where
//! it does not help.
//!
//! ```text
//! congestion  ⇔  Σ over trees of leaf(signals) > threshold      thousandths of log-odds
//! ```
//!
//! Why these signals (`signals.rs`): a packet that the radio corrupts has used the link's time, so the packet after the gap
//! comes (n+1)·T after the one before it; one that a queue refused has not, so it comes early for its number (`pace`,
//! `slots`, `slots_long`, `usual`). A full queue refuses, so the delay beside a congestion loss is near its largest (`before`, `after`,
//! `larger`, `peak`, `trough`), and where losses do not get more frequent as the delay grows, no queue makes them
//! (`density_before`, `density_larger`). In a single queue that was full when the last missing packet came, the delay
//! cannot have fallen by more than the time since (`room`), nor risen before it faster than it ever does (`climb`). The rest
//! says what these are worth here: alone on the link or not (`back_to_back`, `spread`, `load`), a long queue or a short one
//! (`depth`), by an exact clock or not (`irregular`), how much is lost anyway (`loss_rate`, `recent_losses`, `burst`).
//!
//! More delay before the gap, less room, or a shorter climb never makes congestion less likely: the trees were grown under
//! that constraint. Before sixteen arrivals have been heard there is no evidence for the radio: congestion.

mod signals;
mod table;

pub use signals::{COUNT, NAMES, Signals};

use super::{Arrival, ReceiverClassifier};
use crate::Cause;
use crate::trees;
use table::TREES;

/// Gradient-boosted trees over [`Signals`].
#[derive(Clone, Debug, PartialEq)]
pub struct Trees {
    signals: Signals,
    /// Thousandths of log-odds.
    threshold: i32,
}

impl Trees {
    /// Log-odds above which a loss is congestion: Mc was 8 % on networks that the trees were not grown on.
    pub const THRESHOLD: f64 = table::THRESHOLD;

    /// Trees with this threshold, in log-odds: the lower it is, the more losses are congestion.
    pub fn new(threshold: f64) -> Self {
        Self {
            signals: Signals::new(),
            threshold: (1e3 * threshold) as i32,
        }
    }
}

impl Default for Trees {
    fn default() -> Self {
        Self::new(Self::THRESHOLD)
    }
}

/// The log-odds of congestion, in thousandths.
pub fn log_odds(signals: &[i16; COUNT]) -> i32 {
    trees::log_odds(&TREES, signals)
}

impl ReceiverClassifier for Trees {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, missing: u64) -> Option<Cause> {
        let described = self.signals.on_arrival(arrival, missing);
        (missing > 0).then(|| match described {
            Some(signals) if log_odds(&signals) <= self.threshold => Cause::Wireless,
            _ => Cause::Congestion,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::arrival;
    use super::*;
    use crate::trees::assert_monotone;

    /// The table's promise: more delay before the gap never makes congestion less likely, nor does less room.
    #[test]
    fn monotone_where_physics_is() {
        let constrained: [(&str, i32); 7] = [
            ("before", 1),
            ("larger", 1),
            ("before_long", 1),
            ("room", -1),
            ("density_before", 1),
            ("density_larger", 1),
            ("climb", -1),
        ];
        assert_monotone(&NAMES, &constrained, log_odds);
    }

    #[test]
    fn congestion_until_enough_was_heard() {
        let mut trees = Trees::new(1e5);
        for k in 0..16 {
            let said = trees.on_arrival(&arrival(k * 10_000_000, 20_000_000), 1);
            assert_eq!(said, Some(Cause::Congestion), "{k}");
        }
        let said = trees.on_arrival(&arrival(1 << 30, 20_000_000), 1);
        assert_eq!(said, Some(Cause::Wireless));
    }
}
