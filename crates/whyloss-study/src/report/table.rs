//! Renders an outcome as text, laid out like the paper's own table.
//!
//! ```text
//! measured ± half the confidence interval | paper, ✓ within tolerance or ✗ outside
//! ```
//!
//! A table wider than a line continues below with its row labels repeated. The width is fixed and
//! ignores the terminal, so that equal outcomes give equal bytes.

use core::fmt::Write;

use super::counted;
use super::grid::{self, Block};
use super::score::Score;
use crate::Outcome;

/// The number of characters per line.
const LINE: usize = 120;

/// Renders tables, claims, notes, and a line of scores. Ends with a newline.
pub fn render(outcome: &Outcome) -> String {
    let mut text = format!(
        "{}  {}  ({}, intervals at {} %)\n",
        outcome.id,
        outcome.title,
        counted(outcome.seeds, "seed"),
        grid::percent(outcome.confidence),
    );
    for block in grid::blocks(&outcome.cells) {
        text.push('\n');
        push_block(&mut text, &block);
    }
    if let Some(reason) = grid::of_certain(outcome) {
        let _ = writeln!(text, "\nwithout ±: {reason}");
    }
    if !outcome.claims.is_empty() {
        text.push_str("\nclaims\n");
        let id_width = outcome.claims.iter().map(|claim| width(&claim.id)).max();
        let verdicts = outcome.claims.iter().map(|claim| width(claim.verdict()));
        let verdict_width = verdicts.max().unwrap_or(0);
        for claim in &outcome.claims {
            let head = format!(
                "  {:<verdict_width$}  {}  ",
                claim.verdict(),
                padded(&claim.id, id_width.unwrap_or(0))
            );
            push_wrapped(
                &mut text,
                &head,
                &format!("{} — {}", claim.text, claim.evidence),
            );
        }
    }
    if !outcome.notes.is_empty() {
        text.push_str("\nnotes\n");
        for note in &outcome.notes {
            push_wrapped(&mut text, "  - ", note);
        }
    }
    let score = Score::of([outcome]);
    if score == Score::default() {
        // Without comparable cells, there is no score.
        return text;
    }
    let mut parts = vec![
        format!("cells in tolerance {}", score.cells),
        format!("claims held {}/{}", score.claims.0, score.claims.1),
    ];
    parts.extend(score.besides());
    push_line(&mut text, &format!("\n{}", parts.join(" · ")));
    if score.metrics.len() > 1 {
        for (name, cells) in &score.metrics {
            push_line(&mut text, &format!("  {name} {cells}"));
        }
    }
    text
}

fn push_block(text: &mut String, block: &Block<'_>) {
    let corner = block.title.as_deref().unwrap_or("");
    let label_width = block.rows.iter().map(|row| width(&row.label)).max();
    let label_width = label_width.unwrap_or(0).max(width(corner));
    let columns: Vec<Vec<String>> = (0..block.columns.len())
        .map(|column| column_texts(block, column))
        .collect();

    let columns: Vec<(&str, Vec<String>, usize)> = block
        .columns
        .iter()
        .zip(columns)
        .map(|(name, texts)| {
            let column_width = column_width(name, &texts);
            (name.as_str(), texts, column_width)
        })
        .collect();
    let fit = |columns: &[(&str, Vec<String>, usize)]| {
        let mut line_width = label_width;
        let fit = columns.iter().take_while(|(_, _, column_width)| {
            line_width += GAP.len() + column_width;
            line_width <= LINE
        });
        fit.count().max(1)
    };
    let (mut parts, mut rest) = (0, &columns[..]);
    while !rest.is_empty() {
        parts += 1;
        rest = &rest[fit(rest)..];
    }
    // Give each part about the same number of columns.
    let most = columns.len().div_ceil(parts.max(1));
    rest = &columns;
    while !rest.is_empty() {
        let (part, more) = rest.split_at(fit(rest).min(most));
        push_part(text, block, label_width, part);
        rest = more;
        if !rest.is_empty() {
            text.push('\n');
        }
    }
}

/// The space between columns.
const GAP: &str = "   ";

/// Appends some columns of a block: name, texts and width of each.
fn push_part(
    text: &mut String,
    block: &Block<'_>,
    label_width: usize,
    columns: &[(&str, Vec<String>, usize)],
) {
    let mut header = padded(block.title.as_deref().unwrap_or(""), label_width);
    for (name, _, column_width) in columns {
        header.push_str(GAP);
        header.push_str(&padded(name, *column_width));
    }
    push_line(text, &header);
    for (index, row) in block.rows.iter().enumerate() {
        let mut line = if block.title.is_some() {
            format!("{:>label_width$}", row.label)
        } else {
            padded(&row.label, label_width)
        };
        for (_, texts, column_width) in columns {
            line.push_str(GAP);
            line.push_str(&padded(&texts[index], *column_width));
        }
        push_line(text, &line);
    }
}

/// Formats the cells of one column; means, half widths and paper values align.
fn column_texts(block: &Block<'_>, column: usize) -> Vec<String> {
    let parts: Vec<[String; 3]> = block
        .rows
        .iter()
        .map(|row| match row.cells[column] {
            None => Default::default(),
            Some(cell) => [
                grid::mean(cell, row.decimals),
                grid::half_width(cell, row.decimals),
                cell.paper.map_or_else(String::new, |paper| {
                    format!("| {paper} {}", grid::sign(cell.within()))
                }),
            ],
        })
        .collect();
    let widest = |part: usize| parts.iter().map(|p| width(&p[part])).max().unwrap_or(0);
    let (mean_width, half_width_width) = (widest(0), widest(1));
    parts
        .iter()
        .map(|[mean, half_width, paper]| {
            let mut text = format!("{mean:>mean_width$}");
            if half_width_width > 0 {
                let _ = write!(text, " {}", padded(half_width, half_width_width));
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

/// Appends `words` after `head` and indents later lines to the first word.
fn push_wrapped(text: &mut String, head: &str, words: &str) {
    let indent = width(head);
    let mut line = head.to_owned();
    // Keep a number and its unit on one line.
    for word in words.replace(" %", "\u{a0}%").split(' ') {
        let word = word.replace('\u{a0}', " ");
        let begun = width(&line) > indent;
        if begun && width(&line) + 1 + width(&word) > LINE {
            push_line(text, &line);
            line = " ".repeat(indent);
        } else if begun {
            line.push(' ');
        }
        line.push_str(&word);
    }
    push_line(text, &line);
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
    fn no_line_is_longer_than_a_line() {
        let mut outcome = example::table();
        for cell in example::table().cells {
            for copy in 0..4 {
                let column = format!("{} {copy}", cell.column);
                let cell = cell.clone();
                outcome.cells.push(crate::Cell { column, ..cell });
            }
        }
        outcome.notes.push("a few words more ".repeat(20));
        outcome.claims[0].evidence = "1 < 2 ".repeat(40);
        let text = render(&outcome);
        assert!(text.lines().all(|line| width(line) <= LINE), "{text}");
        let headed = text.lines().filter(|line| line.contains("TCP 3"));
        assert_eq!(headed.count(), 1);
        let label = |line: &&str| line.starts_with("throughput (%)");
        assert!(text.lines().filter(label).count() > 1);
    }

    #[test]
    fn figure() {
        insta::assert_snapshot!(render(&example::figure()));
    }
}
