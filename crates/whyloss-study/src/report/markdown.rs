//! Writes outcomes as Markdown tables.

use core::fmt::Write;
use core::iter::once;

use super::grid::{self, Row};
use crate::Outcome;

/// The maximum number of columns beside the labels.
const MOST_COLUMNS: usize = 6;

/// Returns the tables of an outcome without its heading; means show intervals if `intervals`.
///
/// Each quantity of the labels `QUANTITY: CASE` has a table of its own. If a table would be too
/// wide, its columns become rows, and its rows become the columns of one or more tables.
pub fn tables(outcome: &Outcome, intervals: bool) -> String {
    let mut text = String::new();
    for block in grid::blocks(&outcome.cells) {
        let (title, axis) = caption(block.title.as_deref().unwrap_or_default(), ", by ");
        let head = once(axis).chain(block.columns.iter().map(String::as_str));
        let head: Vec<String> = head.map(escape).collect();
        let quantity = |row: &Row<'_>| caption(&row.label, ": ").0;
        for rows in block.rows.chunk_by(|a, b| quantity(a) == quantity(b)) {
            let caption = [title.clone(), quantity(&rows[0])].concat();
            if !caption.is_empty() {
                let _ = writeln!(text, "**{}**\n", escape(&caption));
            }
            let rows: Vec<_> = rows.iter().map(|row| cells(row, intervals)).collect();
            if block.columns.len() <= MOST_COLUMNS {
                push(&mut text, once(&head).chain(&rows));
                continue;
            }
            let parts = rows.len().div_ceil(MOST_COLUMNS);
            for part in rows.chunks(rows.len().div_ceil(parts)) {
                let of_column = |at: usize| -> Vec<String> {
                    let lines = once(&head).chain(part);
                    lines.map(|line| line[at].clone()).collect()
                };
                let turned: Vec<_> = (0..head.len()).map(of_column).collect();
                push(&mut text, &turned);
            }
        }
    }
    text
}

/// Appends a table, whose first line is its head.
fn push<'a>(text: &mut String, lines: impl IntoIterator<Item = &'a Vec<String>>) {
    for (number, line) in lines.into_iter().enumerate() {
        let _ = writeln!(text, "| {} |", line.join(" | "));
        if number == 0 {
            let _ = writeln!(text, "|{}", "---|".repeat(line.len()));
        }
    }
    text.push('\n');
}

/// Returns the label of a row and its means.
fn cells(row: &Row<'_>, intervals: bool) -> Vec<String> {
    let label = escape(caption(&row.label, ": ").1);
    let means = row.cells.iter().map(|cell| {
        let Some(cell) = cell else {
            return "–".to_owned();
        };
        let half_width = grid::half_width(cell, row.decimals);
        let mean = grid::mean(cell, row.decimals).replace('-', "−");
        if intervals && !half_width.is_empty() {
            format!("{mean} {half_width}")
        } else {
            mean
        }
    });
    once(label).chain(means).collect()
}

/// Splits `QUANTITY, by AXIS (UNIT)` or `QUANTITY: CASE (UNIT)` at the separator, into a caption
/// with the unit and the rest.
fn caption<'a>(title: &'a str, separator: &str) -> (String, &'a str) {
    let Some((quantity, rest)) = title.split_once(separator) else {
        return (String::new(), title);
    };
    match rest.rsplit_once(" (") {
        Some((rest, unit)) => (format!("{quantity} ({unit}"), rest),
        None => (quantity.to_owned(), rest),
    }
}

/// Escapes characters that would end a cell.
fn escape(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mean;

    #[test]
    fn cells_by_hand() {
        let cell =
            |row: &str, column: &str, values: &[f64]| Mean::of(values).cell(row, column, "%");
        let outcome = Outcome::new("x", "X", 2)
            .cells([cell("lost", "A|B", &[10.0, 12.0]), cell("lost", "C", &[])]);
        // Student's t for one degree of freedom is 12.7.
        assert_eq!(
            tables(&outcome, true),
            "|  | A\\|B | C |\n|---|---|---|\n| lost (%) | 11.0 ±12.7 | – |\n\n"
        );
    }

    #[test]
    fn a_panel_has_a_caption_with_the_unit_and_a_column_for_its_axis() {
        let of = |row: &str, unit| Mean::of(&[-1.5]).cell(row, "A", unit);
        let cells = [of("harm, by loss in %", "%"), of("index, by flows", "")];
        let cells = cells.map(|cell| crate::Cell {
            x: Some(3.0),
            ..cell
        });
        assert_eq!(
            tables(&Outcome::new("x", "X", 1).cells(cells), false),
            "**harm (%)**\n\n| loss in % | A |\n|---|---|\n| 3 | −1.50 |\n\n\
             **index**\n\n| flows | A |\n|---|---|\n| 3 | −1.50 |\n\n"
        );
    }

    #[test]
    fn each_quantity_has_a_table_of_its_own() {
        let of = |row: &str, unit| Mean::of(&[1.5]).cell(row, "A", unit);
        let cells = [
            of("sent: one: two", "%"),
            of("sent: three", "%"),
            of("index: one", ""),
        ];
        assert_eq!(
            tables(&Outcome::new("x", "X", 1).cells(cells), false),
            "**sent (%)**\n\n|  | A |\n|---|---|\n| one: two | 1.50 |\n| three | 1.50 |\n\n\
             **index**\n\n|  | A |\n|---|---|\n| one | 1.50 |\n\n"
        );
    }

    /// Seven schemes run down. Seven cases do not fit beside each other either, so that a table of
    /// four and one of three hold them.
    #[test]
    fn a_wide_table_is_turned_and_cut() {
        let cells = (1..=7).flat_map(|case| {
            let of = move |scheme| {
                let value = f64::from(10 * scheme + case);
                Mean::of(&[value]).cell(&format!("c{case}"), &format!("s{scheme}"), "%")
            };
            (1..=7).map(of)
        });
        let text = tables(&Outcome::new("x", "X", 1).cells(cells), false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2 * 10, "{text}");
        assert_eq!(lines[0], "|  | c1 (%) | c2 (%) | c3 (%) | c4 (%) |");
        assert_eq!(lines[1], "|---|---|---|---|---|");
        assert_eq!(lines[2], "| s1 | 11.0 | 12.0 | 13.0 | 14.0 |");
        assert_eq!(lines[10], "|  | c5 (%) | c6 (%) | c7 (%) |");
        assert_eq!(lines[18], "| s7 | 75.0 | 76.0 | 77.0 |");
    }
}
