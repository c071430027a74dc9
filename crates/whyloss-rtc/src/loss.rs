//! The loss side: why packets were lost, and how many a full queue refused.
//!
//! ```text
//! p         probability that a gap is congestion, by whyloss's receiver trees: odds/(1 + odds); 0 if their verdict,
//!           which knows how few of the latest gaps looked like congestion, is the radio; 1/2 without evidence
//! refused   = Σ p·n over the gaps of a round, n packets each
//! lost      = Σ n
//! ```
//!
//! No share of lost packets is a threshold: a loss that no queue made says nothing about the rate,
//! and one that a queue made says how much it refused. `docs/evidence/classifier.md` describes the
//! trees.

use crate::fates::Gap;
use whyloss::Cause;
use whyloss::receiver::trees::Trees;
use whyloss::receiver::{Arrival, ReceiverClassifier};

#[derive(Clone, Debug)]
pub(crate) struct Losses {
    trees: Trees,
    /// The number of packets of this round that a queue refused, by the odds.
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
    /// a queue refused, and how many there are.
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
        // Without evidence, half of it; what the path tells counts in full.
        assert_eq!(losses.judge(&arrival(10), &gap(4, 1, 2)), (3.0, 7.0));
    }
}
