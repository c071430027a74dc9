//! The reference classifiers: the oracle, the unaware, and the random one.
//!
//! MAR-4 (NewReno-Ideal-LP) and MIL-7 (the ideal LDA) leave open what exactly an oracle looks up; [`Lookup`] has the
//! choices, and each paper's experiments name theirs. None of these looks at an acknowledgement.

use super::{Lookup, SenderClassifier, Verdict};
use crate::Cause;
use crate::event::{AckEvent, Detection, LossEvent};

/// Gives the same verdict on every loss event.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    verdict: Verdict,
    /// Whether timeouts are classified; otherwise they count as congestion (MIL-7 (c)).
    timeouts: bool,
}

impl Reference {
    /// The true cause, as `lookup` has it.
    pub fn oracle(lookup: Lookup, timeouts: bool) -> Self {
        let verdict = Verdict::Truth(lookup);
        Self { verdict, timeouts }
    }

    /// Always congestion.
    pub fn unaware() -> Self {
        Self {
            verdict: Verdict::Cause(Cause::Congestion),
            timeouts: true,
        }
    }

    /// The true cause, given wrongly with probability `mc` or `mw`.
    pub fn random(mc: f64, mw: f64) -> Self {
        Self {
            verdict: Verdict::Erring { mc, mw },
            timeouts: true,
        }
    }
}

impl SenderClassifier for Reference {
    #[inline]
    fn on_ack(&mut self, _: &AckEvent) {}

    fn on_loss(&mut self, loss: &LossEvent) -> Verdict {
        if loss.detection == Detection::Timeout && !self.timeouts {
            return Verdict::Cause(Cause::Congestion);
        }
        self.verdict
    }
}
