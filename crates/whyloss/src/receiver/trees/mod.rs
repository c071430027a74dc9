//! Trees: sixty shallow trees over the timing and delay of a gap, trained on random networks.
//!
//! Developed in this project (2026). `docs/evidence/classifier.md` explains how the trees were
//! trained, how to reproduce them, how good they are, and where they do not help.
//!
//! ```text
//! odds           Σ over trees of leaf(signals)                              thousandths of log-odds
//! congestion  ⇔  odds > threshold + 3000·max(1 − 3·suspects, 0)
//! suspects    ←  suspects + ((1 if odds > threshold else 0) − suspects)/64   at each gap, from 1/6
//! ```
//!
//! The signals (`signals.rs`) use how the two kinds of loss differ:
//!
//! - A packet corrupted by radio used the link, so the packet after the gap arrives (n+1)·T after
//!   the one before it. A packet dropped by a queue did not, so the next one is early (`pace`,
//!   `slots`, `slots_long`, `usual`).
//! - A full queue drops packets, so the delay around a congestion loss is near its maximum
//!   (`before`, `after`, `larger`, `peak`, `trough`). If losses do not become more frequent with
//!   delay, no queue causes them (`density_before`, `density_larger`).
//! - If a single queue was full at the last missing packet, the delay has fallen by at most the
//!   time since then (`room`). It also rose no faster before than it ever did (`climb`).
//! - Other signals tell how reliable these are on this path: a shared link (`back_to_back`,
//!   `spread`, `load`), queue length (`depth`), clock (`irregular`), other losses (`loss_rate`,
//!   `recent_losses`, `burst`).
//!
//! The trees see only one gap. Where congestion is rare, most suspected congestion is a false
//! alarm, and one false alarm in a hundred losses halves the throughput. The threshold therefore
//! rises if fewer than a third of recent gaps are suspects. This is Bayes' rule with a prior from
//! the flow's past. Suspects are counted without that rise, so verdicts do not reinforce
//! themselves.
//!
//! By constraint, more delay before the gap, less room, or a shorter climb never makes congestion
//! less likely. The first sixteen arrivals give no evidence for radio loss, so their losses are
//! congestion.

mod signals;
mod table;

pub use signals::{COUNT, NAMES, Signals};

use super::{Arrival, ReceiverClassifier};
use crate::Cause;
use crate::trees;
use table::TREES;

/// Classifies gaps by gradient-boosted trees over [`Signals`].
#[derive(Clone, Debug, PartialEq)]
pub struct Trees {
    signals: Signals,
    past: Past,
    /// The threshold, in thousandths of log-odds.
    threshold: i32,
    /// The log-odds of the latest gap in thousandths, if there was evidence.
    log_odds: Option<i32>,
}

/// The share of a flow's recent gaps that looked like congestion by their odds alone, as a moving
/// mean over 64 gaps.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    suspects: f64,
}

impl Past {
    /// The time constant of the share of suspects, in gaps.
    const GAPS: f64 = 64.0;
    /// The share of suspects below which the threshold rises, and its rise at share 0, in
    /// thousandths of log-odds.
    const FEW: f64 = 1.0 / 3.0;
    const MOST: f64 = 3_000.0;

    /// Creates a history without gaps.
    pub fn new() -> Self {
        let suspects = Self::FEW / 2.0;
        Self { suspects }
    }

    /// Returns the cause of a loss. `odds` and `threshold` are in thousandths of log-odds.
    pub fn cause(&mut self, odds: i32, threshold: i32) -> Cause {
        let rise = Self::MOST * (1.0 - self.suspects / Self::FEW).max(0.0);
        let suspect = f64::from(u8::from(odds > threshold));
        self.suspects += (suspect - self.suspects) / Self::GAPS;
        Cause::congestion_if(odds > threshold.saturating_add(rise as i32))
    }
}

impl Default for Past {
    fn default() -> Self {
        Self::new()
    }
}

impl Trees {
    /// The log-odds above which a gap looks like congestion. Mc is then 9 to 11 % on networks like
    /// the training networks, and up to 15 % on longer ones (`docs/evidence/classifier.md`).
    pub const THRESHOLD: f64 = table::THRESHOLD;

    /// Creates trees with this threshold in log-odds; a lower one classifies more losses as
    /// congestion.
    pub fn new(threshold: f64) -> Self {
        Self {
            signals: Signals::new(),
            past: Past::new(),
            threshold: (1e3 * threshold) as i32,
            log_odds: None,
        }
    }
}

impl Default for Trees {
    fn default() -> Self {
        Self::new(Self::THRESHOLD)
    }
}

/// Returns the log-odds of congestion for these signals, in thousandths.
pub fn log_odds(signals: &[i16; COUNT]) -> i32 {
    trees::log_odds(&TREES, signals)
}

impl ReceiverClassifier for Trees {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, missing: u64) -> Option<Cause> {
        let described = self.signals.on_arrival(arrival, missing);
        if missing == 0 {
            return None;
        }
        self.log_odds = described.map(|signals| log_odds(&signals));
        Some(match self.log_odds {
            Some(odds) => self.past.cause(odds, self.threshold),
            None => Cause::Congestion,
        })
    }

    fn odds(&self) -> Option<f64> {
        self.log_odds.map(trees::odds)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::arrival;
    use super::*;
    use crate::trees::assert_monotone;

    /// More delay or less room never makes congestion less likely, as the training requires.
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

    /// The threshold rises by 1500 at first (share 1/6), and does not rise at a share of 1/3 or
    /// more.
    #[test]
    fn convinced_by_more_where_few_are_suspect() {
        let mut past = Past::new();
        assert_eq!(past.cause(1_500, 0), Cause::Wireless);
        // The share is 1/6 + 5/6/64 = 0.1797, and 1 − 3 · 0.1797 = 0.4609.
        assert_eq!(past.clone().cause(1_382, 0), Cause::Wireless);
        assert_eq!(past.cause(1_383, 0), Cause::Congestion);
        for _ in 0..64 {
            past.cause(100, 0);
        }
        assert_eq!(past.cause(1, 0), Cause::Congestion);
        assert_eq!(past.cause(0, 0), Cause::Wireless);
        for _ in 0..1_000 {
            past.cause(0, 0);
        }
        assert_eq!(past.clone().cause(2_999, 0), Cause::Wireless);
        assert_eq!(past.cause(3_000, 0), Cause::Congestion);
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
