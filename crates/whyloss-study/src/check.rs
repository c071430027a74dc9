//! Checks of claims, with the compared values as evidence.

use core::fmt::Display;

use crate::report::place;
use crate::{Claim, Line};

/// The result of a comparison: whether it holds, and the evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Whether the comparison holds.
    pub holds: bool,
    /// The compared values, as text.
    pub evidence: String,
}

impl Check {
    /// Checks whether `holds` returns true for `compared`. The evidence lists only these values.
    pub fn of<const N: usize, T: Display>(
        compared: [&T; N],
        holds: impl FnOnce([&T; N]) -> bool,
    ) -> Self {
        let evidence: Vec<String> = compared.iter().map(ToString::to_string).collect();
        Self {
            holds: holds(compared),
            evidence: evidence.join("; "),
        }
    }

    /// Combines two checks: both must hold, and the evidence lists both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let Self { holds, evidence } = other;
        Self {
            holds: self.holds && holds,
            evidence: format!("{}; {evidence}", self.evidence),
        }
    }

    /// Replaces the wording of the evidence.
    #[must_use]
    pub fn put(self, evidence: impl Into<String>) -> Self {
        let evidence = evidence.into();
        Self { evidence, ..self }
    }

    /// Turns the check into a claim.
    pub fn claim(self, id: &str, text: &str) -> Claim {
        Claim::new(id, text, self.holds, self.evidence)
    }
}

impl Line {
    /// Checks that every mean differs from `value` by at most `allowed`.
    pub fn near(&self, value: f64, allowed: f64) -> Check {
        Check::of([self], |[line]| {
            line.every(|mean| (mean - value).abs() <= allowed)
        })
    }

    /// Checks that the mean exceeds that of `other` at each x. The evidence has the gain per seed.
    pub fn above(&self, other: &Self) -> Check {
        let not = |&(x, mean): &(f64, crate::Mean)| {
            // `>` rather than `<=`: a missing mean (NaN) is not above.
            let above = mean.value > other.at(x).value;
            !above
        };
        let below: Vec<String> = self.means().filter(not).map(|(x, _)| place(x)).collect();
        let verdict = if below.is_empty() {
            "everywhere".to_owned()
        } else {
            format!("not at {}", below.join(", "))
        };
        let gain = self.gain(other).named("gain in");
        Check {
            holds: below.is_empty() && self.means().next().is_some(),
            evidence: format!(
                "above {} {verdict}; {}",
                other.name,
                gain.to_string().replacen("gain in, %", "gain in %", 1)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, means: [f64; 3]) -> Line {
        let points = (1..).zip(means);
        let points = points.map(|(x, mean)| (f64::from(x), vec![Some(mean)]));
        Line::of(name, name, "", points)
    }

    #[test]
    fn evidence_is_what_was_compared() {
        let (a, b) = (line("A", [2.0, 4.0, 6.0]), line("B", [1.0, 4.0, 5.0]));
        let above = a.above(&b);
        assert!(!above.holds);
        assert_eq!(
            above.evidence,
            "above B not at 2; gain in %: 1: 100.0, 2: 0.000, 3: 20.0"
        );
        let half = a.over(&b).near(1.5, 0.5);
        assert!(half.holds);
        let both = half.and(b.near(3.0, 1.0)).claim("EX-1", "both are near");
        assert!(!both.holds);
        assert_eq!(
            both.evidence,
            "A / B: 1: 2.00, 2: 1.00, 3: 1.20; B: 1: 1.00, 2: 4.00, 3: 5.00"
        );
        assert!(!Line::new("a", "A", "").above(&b).holds);
    }
}
