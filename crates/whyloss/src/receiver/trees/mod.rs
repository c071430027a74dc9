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
//! `slots`, `usual`). A full queue refuses, so the delay beside a congestion loss is near its largest (`before`, `after`,
//! `larger`, `peak`), and where losses do not get more frequent as the delay grows, no queue makes them
//! (`density_before`, `density_larger`). In a single queue that was full when the last missing packet came, the delay
//! cannot have fallen by more than the time since (`room`). The rest says what these are worth here: alone on
//! the link or not (`back_to_back`, `spread`), by an exact clock or not (`irregular`), how much is lost anyway
//! (`loss_rate`, `recent_losses`).
//!
//! More delay before the gap, or less room, never makes congestion less likely: the trees were grown under that
//! constraint. Before sixteen arrivals have been heard there is no evidence for the radio: congestion.

mod signals;
mod table;

pub use signals::{COUNT, NAMES, Signals};

use super::{Arrival, ReceiverClassifier};
use crate::Cause;
use table::TREES;

/// Questions from the root of a tree to its leaves.
const DEPTH: usize = 4;

/// A complete tree: the question at `q` is followed by 2q + 1 if the signal is at most the bound, else by 2q + 2.
#[derive(Debug)]
struct Tree {
    /// Number of a signal, and the bound.
    questions: [(u8, i16); (1 << DEPTH) - 1],
    /// Thousandths of log-odds of congestion.
    leaves: [i16; 1 << DEPTH],
}

impl Tree {
    #[inline]
    fn leaf(&self, signals: &[i16; COUNT]) -> i32 {
        let mut at = 0;
        for _ in 0..DEPTH {
            let (signal, bound) = self.questions[at];
            at = 2 * at + 1 + usize::from(signals[usize::from(signal)] > bound);
        }
        i32::from(self.leaves[at - self.questions.len()])
    }
}

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
    TREES.iter().map(|tree| tree.leaf(signals)).sum()
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

    #[test]
    fn leaves_by_hand() {
        let mut questions = [(0, 0); 15];
        // pace ≤ 50 → slots ≤ 7; else the third signal, and so on.
        (questions[0], questions[1], questions[2]) = ((0, 50), (1, 7), (2, 3));
        let mut leaves = [0; 16];
        (leaves[0], leaves[4], leaves[8], leaves[15]) = (1, 2, 3, 4);
        let tree = Tree { questions, leaves };
        let at = |pace, slots, missing| {
            let mut signals = [0; COUNT];
            (signals[0], signals[1], signals[2]) = (pace, slots, missing);
            tree.leaf(&signals)
        };
        // Below the first two rows every question is pace ≤ 0.
        assert_eq!(at(0, 7, 0), 1);
        assert_eq!(at(0, 8, 0), 2);
        assert_eq!(at(51, 0, 4), 4);
    }

    /// The table's promise: more delay before the gap never makes congestion less likely, nor does less room.
    #[test]
    fn monotone_where_physics_is() {
        let constrained: [(&str, i32); 6] = [
            ("before", 1),
            ("larger", 1),
            ("before_long", 1),
            ("room", -1),
            ("density_before", 1),
            ("density_larger", 1),
        ];
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % below) as i16
        };
        for _ in 0..2_000 {
            let mut signals = [0; COUNT];
            for signal in &mut signals {
                *signal = draw(300);
            }
            let (name, sign) = constrained[draw(6) as usize];
            let at = NAMES.iter().position(|(known, _)| *known == name);
            let at = at.expect("a signal");
            let mut last = i32::MIN;
            for step in 0..20 {
                signals[at] = 15 * step;
                let odds = if sign > 0 {
                    log_odds(&signals)
                } else {
                    signals[at] = 300 - 15 * step;
                    log_odds(&signals)
                };
                assert!(odds >= last, "{name}: {odds} after {last}");
                last = odds;
            }
        }
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
