//! An outcome as text, laid out like the paper's own table.
//!
//! ```text
//! measured ± half the 95 % interval | paper, ✓ within tolerance or ✗ outside
//! ```

use core::fmt::Write;

use super::grid::{self, Block};
use crate::Outcome;

/// Tables, claims, notes, and a line that counts what agrees. Ends with a newline.
pub fn render(outcome: &Outcome) -> String {
    let mut text = format!(
        "{}  {}  ({} {})\n",
        outcome.id,
        outcome.title,
        outcome.seeds,
        if outcome.seeds == 1 { "seed" } else { "seeds" }
    );
    for block in grid::blocks(&outcome.cells) {
        text.push('\n');
        push_block(&mut text, &block);
    }
    if !outcome.claims.is_empty() {
        text.push_str("\nclaims\n");
        let id_width = outcome.claims.iter().map(|claim| width(&claim.id)).max();
        for claim in &outcome.claims {
            let verdict = if claim.holds { "holds" } else { "FAILS" };
            let line = format!(
                "  {verdict}  {}  {} — {}",
                padded(&claim.id, id_width.unwrap_or(0)),
                claim.text,
                claim.evidence
            );
            push_line(&mut text, &line);
        }
    }
    if !outcome.notes.is_empty() {
        text.push_str("\nnotes\n");
        for note in &outcome.notes {
            push_line(&mut text, &format!("  - {note}"));
        }
    }
    let score = grid::score([outcome]);
    push_line(
        &mut text,
        &format!(
            "\ncells in tolerance {}/{} · claims held {}/{}",
            score.cells.0, score.cells.1, score.claims.0, score.claims.1
        ),
    );
    text
}

fn push_block(text: &mut String, block: &Block<'_>) {
    let corner = block.title.as_deref().unwrap_or("");
    let label_width = block.rows.iter().map(|row| width(&row.label)).max();
    let label_width = label_width.unwrap_or(0).max(width(corner));
    let columns: Vec<Vec<String>> = (0..block.columns.len())
        .map(|column| column_texts(block, column))
        .collect();

    let mut header = padded(corner, label_width);
    for (name, texts) in block.columns.iter().zip(&columns) {
        let _ = write!(header, "   {}", padded(name, column_width(name, texts)));
    }
    push_line(text, &header);
    for (index, row) in block.rows.iter().enumerate() {
        let mut line = if block.title.is_some() {
            format!("{:>label_width$}", row.label)
        } else {
            padded(&row.label, label_width)
        };
        for (name, texts) in block.columns.iter().zip(&columns) {
            let _ = write!(
                line,
                "   {}",
                padded(&texts[index], column_width(name, texts))
            );
        }
        push_line(text, &line);
    }
}

/// The cells of one column, their means, half widths and paper's values each aligned.
fn column_texts(block: &Block<'_>, column: usize) -> Vec<String> {
    let parts: Vec<[String; 3]> = block
        .rows
        .iter()
        .map(|row| match row.cells[column] {
            None => Default::default(),
            Some(cell) => [
                grid::mean(cell, row.decimals),
                grid::ci95(cell, row.decimals),
                cell.paper.map_or_else(String::new, |paper| {
                    format!("| {paper} {}", grid::sign(cell.within()))
                }),
            ],
        })
        .collect();
    let widest = |part: usize| parts.iter().map(|p| width(&p[part])).max().unwrap_or(0);
    let (mean_width, ci95_width) = (widest(0), widest(1));
    parts
        .iter()
        .map(|[mean, ci95, paper]| {
            let mut text = format!("{mean:>mean_width$}");
            if ci95_width > 0 {
                let _ = write!(text, " {}", padded(ci95, ci95_width));
            }
            if !paper.is_empty() {
                let _ = write!(text, " {}", paper.trim_end());
            }
            text
        })
        .collect()
}

fn column_width(name: &str, texts: &[String]) -> usize {
    texts
        .iter()
        .map(|text| width(text))
        .fold(width(name), usize::max)
}

fn padded(text: &str, columns: usize) -> String {
    format!("{text:<columns$}")
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line.trim_end());
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn table() {
        insta::assert_snapshot!(render(&example::table()));
    }

    #[test]
    fn figure() {
        insta::assert_snapshot!(render(&example::figure()));
    }
}
