//! Trees: sixty shallow trees over the timing and the delay of a gap, grown on networks drawn at
//! random.
//!
//! This project's own (2026); `docs/evidence/classifier.md` says how it was made, how to make it
//! again, what it is worth, and where it does not help.
//!
//! ```text
//! odds           Σ over trees of leaf(signals)                                   thousandths of log-odds
//! congestion  ⇔  odds > threshold + 3000·max(1 − 3·suspects, 0)
//! suspects    ←  suspects + ((1 if odds > threshold else 0) − suspects)/64       at each gap, from 1/6 on
//! ```
//!
//! Why these signals (`signals.rs`): a packet that the radio corrupts has used the link's time, so
//! the packet after the gap comes (n+1)·T after the one before it; one that a queue refused has
//! not, so it comes early for its number (`pace`, `slots`, `slots_long`, `usual`). A full queue
//! refuses, so the delay beside a congestion loss is near its largest (`before`, `after`, `larger`,
//! `peak`, `trough`), and where losses do not get more frequent as the delay grows, no queue makes
//! them (`density_before`, `density_larger`). In a single queue that was full when the last missing
//! packet came, the delay cannot have fallen by more than the time since (`room`), nor risen before
//! it faster than it ever does (`climb`). The rest says what these are worth here: alone on the
//! link or not (`back_to_back`, `spread`, `load`), a long queue or a short one (`depth`), by an
//! exact clock or not (`irregular`), how much is lost anyway (`loss_rate`, `recent_losses`,
//! `burst`).
//!
//! The trees see a gap alone. Where hardly any loss is congestion, most of those that look like it
//! are mistakes, and one mistake in a hundred halves what is received; so less than a third of
//! suspects among the latest gaps raises what it takes to be convinced (Bayes' rule with a prior
//! that the flow's own past tells). Suspects are counted before that rise: verdicts do not feed
//! themselves.
//!
//! More delay before the gap, less room, or a shorter climb never makes congestion less likely: the
//! trees were grown under that constraint. Before sixteen arrivals have been heard there is no
//! evidence for the radio: congestion.

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
    past: Past,
    /// Thousandths of log-odds.
    threshold: i32,
    /// Of the latest gap, if there was evidence.
    log_odds: Option<i32>,
}

/// How many of a flow's latest gaps looked like congestion by themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    suspects: f64,
}

impl Past {
    /// Gaps that the share of suspects is of.
    const GAPS: f64 = 64.0;
    /// The share below which more is asked of a suspect, and how much if there are none:
    /// thousandths of log-odds.
    const FEW: f64 = 1.0 / 3.0;
    const MOST: f64 = 3_000.0;

    /// Has seen no gap yet.
    pub fn new() -> Self {
        let suspects = Self::FEW / 2.0;
        Self { suspects }
    }

    /// The cause of a loss with these odds, in thousandths of log-odds as the threshold.
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
    /// Log-odds above which a gap looks like congestion: Mc is then 9 to 11 % on networks of the
    /// kind that the trees were grown on, and up to 15 % on longer ones
    /// (`docs/evidence/classifier.md`).
    pub const THRESHOLD: f64 = table::THRESHOLD;

    /// Trees with this threshold, in log-odds: the lower it is, the more losses are congestion.
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

/// The log-odds of congestion, in thousandths.
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

    /// The table's promise: more delay before the gap never makes congestion less likely, nor does
    /// less room.
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

    /// From 1/6 on, half the rise is asked for; with each suspect less, and nothing where a third
    /// are.
    #[test]
    fn convinced_by_more_where_few_are_suspect() {
        let mut past = Past::new();
        assert_eq!(past.cause(1_500, 0), Cause::Wireless);
        // 1/6 + 5/6/64 = 0.1797: 1 − 3 · 0.1797 = 0.4609.
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
