//! Several outcomes at a glance, in Markdown: what reproduces, and what does not and why.
//!
//! `docs/reproduction.md` keeps that of all experiments.

use core::fmt::Write;

use super::grid;
use crate::{Cell, Outcome};

/// Why a cell (`row, column`) or a claim (its id) of an experiment fails, if that is known.
pub type Reason = fn(experiment: &str, what: &str) -> Option<&'static str>;

/// A table of scores, per experiment and per paper, and a table of everything that does not hold. Ends with a newline.
pub fn render(outcomes: &[Outcome], reason: Reason) -> String {
    let mut text = scores(outcomes);
    let failures = failures(outcomes, reason);
    if !failures.is_empty() {
        text.push_str(
            "\n| experiment | does not hold | measured | why, as far as we know |\n|---|---|---|---|\n",
        );
        text.push_str(&failures);
    }
    text
}

fn scores(outcomes: &[Outcome]) -> String {
    let mut text =
        "| experiment | seeds | cells in tolerance | claims held |\n|---|---|---|---|\n".to_owned();
    let mut row = |name: &str, seeds: &str, outcomes: &[&Outcome]| {
        let score = grid::score(outcomes.iter().copied());
        let share = |(held, of): (usize, usize)| match of {
            0 => "–".to_owned(),
            _ => format!("{held} / {of}"),
        };
        let _ = writeln!(
            text,
            "| {name} | {seeds} | {} | {} |",
            share(score.cells),
            share(score.claims)
        );
    };
    let paper = |outcome: &Outcome| outcome.id.split('-').next().unwrap_or_default().to_owned();
    for of_paper in outcomes.chunk_by(|a, b| paper(a) == paper(b)) {
        let of_paper: Vec<_> = of_paper.iter().collect();
        for outcome in &of_paper {
            row(&outcome.id, &outcome.seeds.to_string(), &[outcome]);
        }
        let name = of_paper.first().map(|outcome| paper(outcome));
        row(
            &format!("**{}, together**", name.unwrap_or_default()),
            "",
            &of_paper,
        );
    }
    text
}

fn failures(outcomes: &[Outcome], reason: Reason) -> String {
    let mut text = String::new();
    let mut push = |experiment: &str, key: &str, what: &str, measured: &str| {
        let why = reason(experiment, key).unwrap_or("not found yet");
        let [what, measured] = [what, measured].map(|field| field.replace('|', "\\|"));
        let _ = writeln!(text, "| {experiment} | {what} | {measured} | {why} |");
    };
    for outcome in outcomes {
        for cell in &outcome.cells {
            if cell.within() == Some(false) {
                let what = place(cell);
                push(&outcome.id, &what, &what, &measured(cell));
            }
        }
        for claim in outcome.claims.iter().filter(|claim| !claim.holds) {
            let what = format!("{}: {}", claim.id, claim.text);
            push(&outcome.id, &claim.id, &what, &claim.evidence);
        }
    }
    text
}

/// Where a cell stands: `row, column` and its x, if it has one. The key of its reason, too.
fn place(cell: &Cell) -> String {
    let x = cell.x.map_or_else(String::new, |x| format!(" at {x}"));
    let comma = if cell.row.is_empty() || cell.column.is_empty() {
        ""
    } else {
        ", "
    };
    format!("{}{comma}{}{x}", cell.row, cell.column)
}

fn measured(cell: &Cell) -> String {
    let decimals = grid::decimals(&[Some(cell)]);
    let mut text = grid::mean(cell, decimals);
    if cell.half_width.is_some() {
        let _ = write!(text, " {}", grid::half_width(cell, decimals));
    }
    let unit = cell.unit;
    let paper = cell.paper.unwrap_or_default();
    let _ = write!(text, " {unit}, paper {paper} {unit}");
    text
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn summary() {
        insta::assert_snapshot!(render(&[example::table(), example::figure()], |_, _| None));
    }
}
