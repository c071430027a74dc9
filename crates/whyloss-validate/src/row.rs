//! The result of one comparison: the measurements of both sides and the verdict.

use crate::case::Metric;
use crate::equivalence::{Difference, Estimate, Verdict};
use crate::reasons::reason;
use crate::suite::Suite;

/// The result of one comparison with a formula or another simulator.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The suite of the comparison.
    pub suite: Suite,
    /// The subject: a protocol, or the name of a formula.
    pub kind: &'static str,
    /// The network and its parameters, in words.
    pub case: String,
    /// The name of the metric.
    pub metric: &'static str,
    /// The unit of the metric; may be empty.
    pub unit: &'static str,
    /// The value that Whyloss measures.
    pub ours: Estimate,
    /// The value of the peer or of the formula.
    pub theirs: Estimate,
    /// The difference, ours − theirs.
    pub difference: Difference,
    /// The equivalence margin, in the unit of the metric.
    pub margin: f64,
    /// The verdict: whether the two values agree within the margin.
    pub verdict: Verdict,
    /// The known reason for the difference; `None` for equivalent rows, or if no reason is known.
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
    /// The suite of the case.
    pub suite: Suite,
    /// The name of the case that failed.
    pub case: String,
    /// The reason for the failure, as text for the user.
    pub why: String,
}
