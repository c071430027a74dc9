//! Writes an outcome as one JSON object, for programs.
//!
//! ```text
//! { "id", "title", "seeds", "confidence",
//!   "cells":  [ { "row", "column", "x" (figures only), "unit", "paper" or null,
//!                 "mean" or null, "half_width" or null, "within" or null,
//!                 "unaware", "oracle" (the value of such an answer, if it has one),
//!                 "fitted" (if it is) } ],
//!   "claims": [ { "id", "text", "holds", "evidence",
//!                 "weight": "counted", "beside" or "foregone" } ],
//!   "score":  { "within", "of": cells that count;
//!               "zero", "unaware" or null, "oracle" or null: the scores of such answers;
//!               "metrics": [ { "metric", and the same } ], "claims_held", "claims" } }
//! ```
//!
//! Several experiments are several objects, one per line (JSON Lines). A reader can parse each line
//! while later experiments still run, and never has to distinguish an object from an array.

use serde::Serialize;

use super::score::{Cells, Score};
use crate::{Cell, Claim, Outcome, Weight};

/// Returns the object on one line, with the newline.
pub fn render(outcome: &Outcome) -> String {
    let object = Object {
        id: &outcome.id,
        title: &outcome.title,
        seeds: outcome.seeds,
        confidence: outcome.confidence,
        cells: outcome.cells.iter().map(CellObject::from).collect(),
        claims: outcome.claims.iter().map(ClaimObject::from).collect(),
        score: ScoreObject::from(&Score::of([outcome])),
    };
    // Strings, numbers and lists of them always serialise.
    let mut line = serde_json::to_string(&object).unwrap_or_default();
    line.push('\n');
    line
}

#[derive(Serialize)]
struct Object<'a> {
    id: &'a str,
    title: &'a str,
    seeds: u64,
    confidence: f64,
    cells: Vec<CellObject<'a>>,
    claims: Vec<ClaimObject<'a>>,
    score: ScoreObject,
}

#[derive(Serialize)]
struct ScoreObject {
    #[serde(flatten)]
    cells: CellsObject,
    metrics: Vec<MetricObject>,
    claims_held: usize,
    claims: usize,
}

#[derive(Serialize)]
struct MetricObject {
    metric: &'static str,
    #[serde(flatten)]
    cells: CellsObject,
}

#[derive(Serialize)]
struct CellsObject {
    within: usize,
    of: usize,
    zero: usize,
    unaware: Option<usize>,
    oracle: Option<usize>,
}

impl From<&Cells> for CellsObject {
    fn from(cells: &Cells) -> Self {
        let Cells {
            within,
            of,
            zero,
            unaware,
            oracle,
        } = *cells;
        Self {
            within,
            of,
            zero,
            unaware,
            oracle,
        }
    }
}

impl From<&Score> for ScoreObject {
    fn from(score: &Score) -> Self {
        let metric = |(metric, cells): &(&'static str, Cells)| MetricObject {
            metric,
            cells: cells.into(),
        };
        Self {
            cells: (&score.cells).into(),
            metrics: score.metrics.iter().map(metric).collect(),
            claims_held: score.claims.0,
            claims: score.claims.1,
        }
    }
}

#[derive(Serialize)]
struct CellObject<'a> {
    row: &'a str,
    column: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    x: Option<f64>,
    unit: &'a str,
    paper: Option<f64>,
    mean: Option<f64>,
    half_width: Option<f64>,
    within: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unaware: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oracle: Option<f64>,
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    fitted: bool,
}

impl<'a> From<&'a Cell> for CellObject<'a> {
    fn from(cell: &'a Cell) -> Self {
        Self {
            row: &cell.row,
            column: &cell.column,
            x: cell.x,
            unit: cell.unit,
            paper: cell.paper,
            mean: cell.mean,
            half_width: cell.half_width,
            within: cell.within(),
            unaware: cell.nulls.unaware,
            oracle: cell.nulls.oracle,
            fitted: cell.fitted,
        }
    }
}

#[derive(Serialize)]
struct ClaimObject<'a> {
    id: &'a str,
    text: &'a str,
    holds: bool,
    evidence: &'a str,
    weight: &'static str,
}

impl<'a> From<&'a Claim> for ClaimObject<'a> {
    fn from(claim: &'a Claim) -> Self {
        Self {
            id: &claim.id,
            text: &claim.text,
            holds: claim.holds,
            evidence: &claim.evidence,
            weight: match claim.weight {
                Weight::Counted => "counted",
                Weight::Beside => "beside",
                Weight::Foregone => "foregone",
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn one_object_on_one_line() {
        let line = render(&example::table());
        assert_eq!(line.matches('\n').count(), 1);
        let object: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(object["cells"][0]["within"], true);
        assert!(object["cells"][0].get("x").is_none());
        insta::assert_snapshot!(line);
    }

    #[test]
    fn figures_have_x() {
        let object: serde_json::Value =
            serde_json::from_str(&render(&example::figure())).expect("JSON");
        assert_eq!(object["cells"][0]["x"], 1.0);
        assert!(object["cells"][0]["paper"].is_null());
    }
}
