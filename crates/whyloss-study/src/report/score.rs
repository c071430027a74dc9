//! Counts the cells within tolerance and the claims that hold, and scores trivial answers in the
//! same way.
//!
//! A cell counts if the paper states a value, a tolerance was fixed, and no constant was fitted to
//! that value. Null scores put one answer into every such cell: zero, the result if every loss is
//! called congestion (`unaware`), or the result if every cause is known (`oracle`). A claim counts
//! once, in the reading that the paper's words suggest. Claims that hold for any result do not
//! count.

use core::fmt::{self, Write as _};

use crate::{Cell, Outcome, Weight};

/// Counts cells within tolerance, all cells, and the cells that trivial answers would bring within
/// tolerance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cells {
    pub(super) within: usize,
    pub(super) of: usize,
    pub(super) zero: usize,
    /// The number for `unaware`; `None` if that answer applies to no cell.
    pub(super) unaware: Option<usize>,
    pub(super) oracle: Option<usize>,
}

impl Cells {
    fn add(&mut self, cell: &Cell) {
        let Some(within) = cell.within() else {
            return;
        };
        let meets = |value| usize::from(cell.would_be_within(value) == Some(true));
        let known = |count: &mut Option<usize>, value: Option<f64>| {
            if value.is_some() {
                *count = Some(count.unwrap_or(0) + meets(value));
            }
        };
        self.of += 1;
        self.within += usize::from(within);
        self.zero += meets(Some(0.0));
        known(&mut self.unaware, cell.nulls.unaware);
        known(&mut self.oracle, cell.nulls.oracle);
    }

    /// Formats the null scores as `zero 3, unaware 1, oracle 2`.
    pub(super) fn nulls(&self) -> String {
        let mut text = format!("zero {}", self.zero);
        for (name, count) in [("unaware", self.unaware), ("oracle", self.oracle)] {
            if let Some(count) = count {
                let _ = write!(text, ", {name} {count}");
            }
        }
        text
    }
}

impl fmt::Display for Cells {
    /// Writes `6/7 (zero 0, unaware 1, oracle 4)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.within, self.of)?;
        if self.of > 0 {
            write!(f, " ({})", self.nulls())?;
        }
        Ok(())
    }
}

/// The score of one or more outcomes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Score {
    pub(super) cells: Cells,
    /// The cells per metric, in order of first use.
    pub(super) metrics: Vec<(&'static str, Cells)>,
    /// The cells that a fitted constant decides.
    pub(super) fitted: Cells,
    /// The number of claims that hold, and of all claims that count.
    pub(super) claims: (usize, usize),
    /// The number of claims that hold, and of all claims, in other readings of the paper's words.
    pub(super) beside: (usize, usize),
    /// The number of claims that hold for any result.
    pub(super) foregone: usize,
}

impl Score {
    pub(super) fn of<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Self {
        let mut score = Self::default();
        for outcome in outcomes {
            for cell in &outcome.cells {
                if cell.fitted {
                    score.fitted.add(cell);
                    continue;
                }
                score.cells.add(cell);
                if cell.within().is_none() || cell.metric.is_empty() {
                    continue;
                }
                let known = score
                    .metrics
                    .iter()
                    .position(|known| known.0 == cell.metric);
                let place = known.unwrap_or_else(|| {
                    score.metrics.push((cell.metric, Cells::default()));
                    score.metrics.len() - 1
                });
                score.metrics[place].1.add(cell);
            }
            for claim in &outcome.claims {
                let share = match claim.weight {
                    _ if claim.counts() => &mut score.claims,
                    Weight::Beside => &mut score.beside,
                    Weight::Counted | Weight::Foregone => {
                        score.foregone += 1;
                        continue;
                    }
                };
                share.0 += usize::from(claim.holds);
                share.1 += 1;
            }
        }
        score
    }

    /// Returns the parts that do not count, each with its kind.
    pub(super) fn besides(&self) -> Vec<String> {
        let mut parts = Vec::new();
        if self.fitted.of > 0 {
            let Cells { within, of, .. } = self.fitted;
            parts.push(format!("fitted, not counted {within}/{of}"));
        }
        if self.beside.1 > 0 {
            let (held, of) = self.beside;
            parts.push(format!("in other readings {held}/{of}"));
        }
        if self.foregone > 0 {
            parts.push(format!("holds whatever happens {}", self.foregone));
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Claim, Nulls};

    fn cell(metric: &'static str, paper: f64, mean: f64) -> Cell {
        Cell {
            metric,
            paper: Some(paper),
            mean: Some(mean),
            tolerance: Some(5.0),
            ..Cell::default()
        }
    }

    #[test]
    fn what_trivial_answers_score_stands_beside() {
        let unaware = Nulls {
            unaware: Some(100.0),
            oracle: Some(0.0),
        };
        let outcome = Outcome {
            id: "example".into(),
            title: String::new(),
            seeds: 1,
            confidence: 0.95,
            without_interval: None,
            cells: vec![
                cell("throughput", 98.0, 97.0),
                Cell {
                    nulls: unaware,
                    ..cell("Mw", 65.0, 80.0)
                },
                Cell {
                    nulls: unaware,
                    ..cell("Mw", 2.0, 0.0)
                },
                Cell {
                    fitted: true,
                    ..cell("throughput", 1.0, 1.0)
                },
                // This cell is shown, but has no tolerance.
                Cell {
                    tolerance: None,
                    ..cell("Mw", 1.0, 1.0)
                },
            ],
            claims: vec![
                Claim::new("A-1", "", true, String::new()),
                Claim::new("A-2", "", false, String::new()),
                Claim::new("A-2", "", true, String::new()).weighing(Weight::Beside),
                Claim::new("A-3", "", true, String::new()).foregone(),
                // This claim should hold for any result, but fails.
                Claim::new("A-4", "", false, String::new()).foregone(),
            ],
            figures: Vec::new(),
            notes: Vec::new(),
        };
        let score = Score::of([&outcome]);
        assert_eq!(score.cells.to_string(), "2/3 (zero 1, unaware 0, oracle 1)");
        let metrics: Vec<String> = score
            .metrics
            .iter()
            .map(|(name, cells)| format!("{name} {cells}"))
            .collect();
        assert_eq!(
            metrics,
            [
                "throughput 1/1 (zero 0)",
                "Mw 1/2 (zero 1, unaware 0, oracle 1)"
            ]
        );
        assert_eq!(score.claims, (1, 3));
        assert_eq!(
            score.besides(),
            [
                "fitted, not counted 1/1",
                "in other readings 1/1",
                "holds whatever happens 1"
            ]
        );
    }
}
