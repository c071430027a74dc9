//! Summarises several outcomes in Markdown: the reproduced parts, and the reasons for failures.
//!
//! `docs/evidence/data/scores.txt` holds the summary of all experiments.

use core::fmt::Write;

use super::grid;
use super::score::Score;
use crate::{Cell, Claim, Outcome};

/// Tells who is responsible for a disagreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Whose {
    /// This project may be responsible: a reading or a mechanism may be wrong.
    Ours,
    /// The cause is open: the paper does not give the deciding detail.
    Open,
    /// The paper is responsible: it contradicts itself, or is impossible in the network that it
    /// describes.
    Papers,
}

/// Explains why a comparison with a paper fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Why {
    /// The responsible side: ours, the paper's, or open.
    pub whose: Whose,
    /// The explanation of the failure, in words.
    pub text: &'static str,
}

/// Looks up why a cell (`row, column`) or a claim (its id) of an experiment fails, if known.
pub type Reason = fn(experiment: &str, what: &str) -> Option<Why>;

/// Counts the experiments of a paper, given its id.
pub type Experiments = fn(paper: &str) -> usize;

/// Renders scores per experiment, per complete paper and per metric, then every failure. Failures
/// that may be ours come first, then open ones, then the paper's. Ends with a newline.
pub fn render(outcomes: &[Outcome], reason: Reason, experiments: Experiments) -> String {
    let mut text = scores(outcomes, experiments);
    text.push_str(&metrics(outcomes));
    let failures = failures(outcomes, reason);
    for (whose, heading) in [
        (Whose::Ours, "does not hold, and may still be ours"),
        (
            Whose::Open,
            "does not hold, and hangs on what the paper leaves open",
        ),
        (Whose::Papers, "does not hold, and is the paper's"),
    ] {
        let mut rows = failures.iter().filter(|(of, _)| *of == whose).peekable();
        if rows.peek().is_some() {
            let _ = write!(
                text,
                "\n| experiment | {heading} | measured | why, as far as we know |\n|---|---|---|---|\n"
            );
        }
        rows.for_each(|(_, row)| text.push_str(row));
    }
    text
}

/// Groups outcomes by paper and returns each group with its name.
fn papers(outcomes: &[Outcome]) -> impl Iterator<Item = (&str, &[Outcome])> {
    let paper = |outcome: &Outcome| outcome.id.split('-').next().unwrap_or_default().to_owned();
    let groups = outcomes.chunk_by(move |a, b| paper(a) == paper(b));
    groups.filter_map(|group| Some((group.first()?.id.split('-').next()?, group)))
}

fn scores(outcomes: &[Outcome], experiments: Experiments) -> String {
    let mut text =
        "| experiment | seeds | cells in tolerance | trivial answers | claims held | besides |\n\
                    |---|---|---|---|---|---|\n"
            .to_owned();
    let mut row = |name: &str, seeds: &str, outcomes: &[Outcome]| {
        let score = Score::of(outcomes);
        let share = |(held, of): (usize, usize)| match of {
            0 => "–".to_owned(),
            _ => format!("{held} / {of}"),
        };
        let nulls = match score.cells.of {
            0 => "–".to_owned(),
            _ => score.cells.nulls(),
        };
        let _ = writeln!(
            text,
            "| {name} | {seeds} | {} | {nulls} | {} | {} |",
            share((score.cells.within, score.cells.of)),
            share(score.claims),
            score.besides().join(", ")
        );
    };
    for outcome in outcomes {
        row(
            &outcome.id,
            &outcome.seeds.to_string(),
            core::slice::from_ref(outcome),
        );
    }
    for (name, of_paper) in papers(outcomes) {
        if of_paper.len() == experiments(name) {
            row(&format!("**{name}, together**"), "", of_paper);
        }
    }
    text
}

/// Returns the cells per metric; empty if none are scored that way.
fn metrics(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    for (name, of_paper) in papers(outcomes) {
        for (metric, cells) in &Score::of(of_paper).metrics {
            let _ = writeln!(
                text,
                "| {name} | {metric} | {} / {} | {} |",
                cells.within,
                cells.of,
                cells.nulls()
            );
        }
    }
    if !text.is_empty() {
        text.insert_str(
            0,
            "\n| paper | metric | cells in tolerance | trivial answers |\n|---|---|---|---|\n",
        );
    }
    text
}

fn failures(outcomes: &[Outcome], reason: Reason) -> Vec<(Whose, String)> {
    let mut rows = Vec::new();
    let mut push = |experiment: &str, key: &str, what: &str, measured: &str| {
        let Why { whose, text: why } = reason(experiment, key).unwrap_or(Why {
            whose: Whose::Ours,
            text: "not found yet",
        });
        let [what, measured] = [what, measured].map(|field| field.replace('|', "\\|"));
        rows.push((
            whose,
            format!("| {experiment} | {what} | {measured} | {why} |\n"),
        ));
    };
    for outcome in outcomes {
        for cell in &outcome.cells {
            if cell.within() == Some(false) && !cell.fitted {
                let what = place(cell);
                push(&outcome.id, &what, &what, &measured(cell));
            }
        }
        let fails = |claim: &&Claim| claim.counts() && !claim.holds;
        for claim in outcome.claims.iter().filter(fails) {
            let what = format!("{}: {}", claim.id, claim.text);
            push(&outcome.id, &claim.id, &what, &claim.evidence);
        }
    }
    rows
}

/// Returns a cell's `row, column` and its x, if any. It is also the key of its reason.
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
    let interval = grid::half_width(cell, decimals);
    if !interval.is_empty() {
        let _ = write!(text, " {interval}");
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
        let outcomes = [example::table(), example::figure()];
        insta::assert_snapshot!(render(&outcomes, |_, _| None, |_| 2));
        let part = render(&outcomes, |_, _| None, |_| 3);
        assert!(!part.contains("together"));
    }
}
