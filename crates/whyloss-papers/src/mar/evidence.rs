//! What decides a claim, in words.

use super::measure::{Estimate, Line};

/// `4.32 ± 0.05`.
pub(crate) fn estimate(point: &Estimate) -> String {
    let decimals = if point.mean.abs() < 10.0 { 3 } else { 1 };
    let half_width = point
        .half_width
        .map_or_else(String::new, |half| format!(" ± {half:.decimals$}"));
    format!("{:.decimals$}{half_width}", point.mean)
}

/// `4.32 ± 0.05 at 0.001`.
pub(crate) fn at(point: Option<Estimate>) -> String {
    point.map_or_else(
        || "nothing".into(),
        |point| format!("{} at {}", estimate(&point), point.x),
    )
}

/// Every point of a line.
pub(crate) fn all(line: &Line) -> String {
    let points: Vec<String> = line.points.iter().map(|point| at(Some(*point))).collect();
    points.join(", ")
}
