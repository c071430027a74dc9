//! Writes outcomes as Markdown tables.

use core::fmt::Write;

use super::grid;
use crate::Outcome;

/// Returns the tables of an outcome without its heading; means show intervals if `intervals`.
pub fn tables(outcome: &Outcome, intervals: bool) -> String {
    let mut text = String::new();
    for block in grid::blocks(&outcome.cells) {
        let columns: Vec<String> = block.columns.iter().map(|name| escape(name)).collect();
        let (caption, axis) = caption(block.title.as_deref().unwrap_or_default());
        if !caption.is_empty() {
            let _ = writeln!(text, "**{}**\n", escape(&caption));
        }
        let _ = writeln!(text, "| {} | {} |", escape(axis), columns.join(" | "));
        let _ = writeln!(text, "|---|{}", "---|".repeat(columns.len()));
        for row in &block.rows {
            let _ = write!(text, "| {} |", escape(&row.label));
            for cell in &row.cells {
                let cell = cell.map_or_else(
                    || "–".to_owned(),
                    |cell| {
                        let half_width = grid::half_width(cell, row.decimals);
                        let mean = grid::mean(cell, row.decimals).replace('-', "−");
                        if intervals && !half_width.is_empty() {
                            format!("{mean} {half_width}")
                        } else {
                            mean
                        }
                    },
                );
                let _ = write!(text, " {cell} |");
            }
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

/// Splits a panel's title, `QUANTITY, by AXIS (UNIT)`, into a caption with the unit and the axis.
fn caption(title: &str) -> (String, &str) {
    let Some((quantity, axis)) = title.split_once(", by ") else {
        return (String::new(), title);
    };
    match axis.rsplit_once(" (") {
        Some((axis, unit)) => (format!("{quantity} ({unit}"), axis),
        None => (quantity.to_owned(), axis),
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
}
