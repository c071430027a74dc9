//! An outcome as one JSON object, for programs.
//!
//! ```text
//! { "id", "title", "seeds", "confidence",
//!   "cells":  [ { "row", "column", "x" (figures only), "unit", "paper" or null,
//!                 "mean" or null, "half_width" or null, "within" or null } ],
//!   "claims": [ { "id", "text", "holds", "evidence" } ] }
//! ```
//!
//! Several experiments are several objects, one per line (JSON Lines): one experiment is exactly one JSON document,
//! each line can be read while later experiments still run, and no reader has to guess between an object and an array.

use serde::Serialize;

use crate::{Cell, Claim, Outcome};

/// One object on one line, with the newline.
pub fn render(outcome: &Outcome) -> String {
    let object = Object {
        id: &outcome.id,
        title: &outcome.title,
        seeds: outcome.seeds,
        confidence: outcome.confidence,
        cells: outcome.cells.iter().map(CellObject::from).collect(),
        claims: outcome.claims.iter().map(ClaimObject::from).collect(),
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
        }
    }
}

#[derive(Serialize)]
struct ClaimObject<'a> {
    id: &'a str,
    text: &'a str,
    holds: bool,
    evidence: &'a str,
}

impl<'a> From<&'a Claim> for ClaimObject<'a> {
    fn from(claim: &'a Claim) -> Self {
        Self {
            id: &claim.id,
            text: &claim.text,
            holds: claim.holds,
            evidence: &claim.evidence,
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
