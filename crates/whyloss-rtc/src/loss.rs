//! Estimates how many of the lost packets of a round a full queue dropped.
//!
//! ```text
//! refused   = Σ p over the lost packets of a round
//! lost      = their number
//!
//! case of a lost packet                              p, the probability that a full queue dropped it
//! the path reports the cause                         1 for congestion, 0 for the radio
//! whyloss's receiver trees call the gap wireless     0
//! they call it congestion                            odds/(1 + odds), from the odds of the trees
//! they have no evidence                              1/2
//! ```
//!
//! The share of lost packets has no threshold. A radio loss says nothing about the rate, but each
//! packet dropped by a queue shows that the rate was too high. `docs/evidence/classifier.md`
//! describes the trees.

use crate::fates::Gap;
use whyloss::Cause;
use whyloss::receiver::trees::Trees;
use whyloss::receiver::{Arrival, ReceiverClassifier};

#[derive(Clone, Debug)]
pub(crate) struct Losses {
    trees: Trees,
    /// The number of packets of this round that a queue dropped, by the odds.
    pub(crate) refused: f64,
    /// The number of packets of this round that did not arrive.
    pub(crate) lost: f64,
}

impl Losses {
    pub(crate) fn new() -> Self {
        Self {
            trees: Trees::default(),
            refused: 0.0,
            lost: 0.0,
        }
    }

    /// Updates the trees with an arrival and the losses that it reveals. Returns how many of these
    /// losses a queue caused, and how many there are.
    pub(crate) fn judge(&mut self, arrival: &Arrival, gap: &Gap) -> (f64, f64) {
        let p = match self.trees.on_arrival(arrival, gap.all()) {
            None => return (0.0, 0.0),
            Some(Cause::Wireless) => 0.0,
            Some(Cause::Congestion) => match self.trees.odds() {
                Some(odds) if odds.is_finite() => odds / (1.0 + odds),
                Some(_) => 1.0,
                None => 0.5,
            },
        };
        (
            p * gap.missing as f64 + gap.refused as f64,
            gap.all() as f64,
        )
    }

    /// Begins the next round.
    pub(crate) fn clear(&mut self) {
        (self.refused, self.lost) = (0.0, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whyloss::Time;

    #[test]
    fn weighs_by_odds_and_believes_the_path() {
        let mut losses = Losses::new();
        let arrival = |ms: u64| {
            let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
            Arrival::new(ms, at(ms), at(ms + 20), 1_200)
        };
        let gap = |missing, refused, corrupted| Gap {
            missing,
            refused,
            corrupted,
        };
        assert_eq!(losses.judge(&arrival(0), &gap(0, 0, 0)), (0.0, 0.0));
        // Without evidence, half of the losses count. Losses with a reported cause count in full.
        assert_eq!(losses.judge(&arrival(10), &gap(4, 1, 2)), (3.0, 7.0));
    }
}
