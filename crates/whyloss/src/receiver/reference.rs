//! The reference classifiers: the oracle, the unaware, and the random one.
//!
//! Cen, Cosman & Voelker, MMCN 2002, section 4: a loss differentiation algorithm is judged between *omniscient* TFRC,
//! told every true cause (Mc = Mw = 0), and *unaware* TFRC, to which every loss is congestion (Mc = 0, Mw = 1). The
//! random one has Mc and Mw by decree, for the relations between Mc, Mw, throughput and congestion that the section
//! states (CEN-14).
//!
//! None of them looks at an arrival. The oracle does not know the truth either: its verdict asks whoever does to fill
//! it in, and the random one leaves the draws to the caller, so that this crate needs no random numbers.

use super::{Arrival, ReceiverClassifier, Verdict};
use crate::Cause;

/// Gives the same verdict on every gap.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference(Verdict);

impl Reference {
    /// The true cause of each packet.
    pub fn oracle() -> Self {
        Self(Verdict::Truth)
    }

    /// Always congestion.
    pub fn unaware() -> Self {
        Self(Verdict::Gap(Cause::Congestion))
    }

    /// The true cause of each packet, given wrongly with probability `mc` or `mw`.
    pub fn random(mc: f64, mw: f64) -> Self {
        Self(Verdict::Erring { mc, mw })
    }
}

impl ReceiverClassifier for Reference {
    #[inline]
    fn on_arrival(&mut self, _: &Arrival, missing: u64) -> Option<Verdict> {
        (missing > 0).then_some(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::arrival;
    use super::*;
    use Cause::{Congestion, Wireless};

    /// The cause given to a loss of cause `truth` when the draw is `uniform`.
    fn cause(mut classifier: Reference, truth: Cause, uniform: f64) -> Option<Cause> {
        classifier
            .on_arrival(&arrival(1, 0), 1)
            .map(|verdict| verdict.cause(truth, || uniform))
    }

    #[test]
    fn answers_by_definition() {
        for truth in [Congestion, Wireless] {
            assert_eq!(cause(Reference::oracle(), truth, 0.0), Some(truth));
            assert_eq!(cause(Reference::unaware(), truth, 0.0), Some(Congestion));
        }
        let random = Reference::random(0.25, 0.75);
        for (truth, uniform, expected) in [
            (Congestion, 0.24, Wireless),
            (Congestion, 0.25, Congestion),
            (Wireless, 0.74, Congestion),
            (Wireless, 0.75, Wireless),
        ] {
            assert_eq!(cause(random.clone(), truth, uniform), Some(expected));
        }
    }
}
