//! One comparison: what was measured on either side, and what it says.

use crate::case::Metric;
use crate::equivalence::{Difference, Estimate, Verdict};
use crate::reasons::reason;
use crate::suite::Suite;

/// One comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// With what.
    pub suite: Suite,
    /// The subject: a protocol, or the name of a law.
    pub kind: &'static str,
    /// Where.
    pub case: String,
    /// Which number.
    pub metric: &'static str,
    /// The quantity's unit; may be empty.
    pub unit: &'static str,
    /// The value of Whyloss.
    pub ours: Estimate,
    /// The value of the peer or of the formula.
    pub theirs: Estimate,
    /// Ours − theirs.
    pub difference: Difference,
    /// The equivalence margin, in the unit.
    pub margin: f64,
    /// The verdict under the margin.
    pub verdict: Verdict,
    /// Why they differ, where that is known; only of rows that are not equivalent.
    pub reason: Option<&'static str>,
}

impl Row {
    pub(crate) fn new(
        suite: Suite,
        kind: &'static str,
        case: &str,
        metric: &Metric,
        (ours, theirs): (Estimate, Estimate),
    ) -> Self {
        let difference = Difference::between(&ours, &theirs);
        let margin = metric.margin.beside(theirs.mean);
        let verdict = difference.verdict(margin);
        Self {
            suite,
            kind,
            case: case.to_owned(),
            metric: metric.name,
            unit: metric.unit,
            ours,
            theirs,
            difference,
            margin,
            verdict,
            reason: (verdict != Verdict::Equivalent)
                .then(|| reason(suite, kind, case, metric.name))
                .flatten(),
        }
    }
}

/// A case without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Beside what.
    pub suite: Suite,
    /// The case that failed.
    pub case: String,
    /// The reason.
    pub why: String,
}
