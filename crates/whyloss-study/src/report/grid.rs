//! Arranges cells as a paper prints them; text and page share this layout.
//!
//! Cells without an `x` form one block, with a row per [`Cell::row`] and a column per
//! [`Cell::column`]. Cells with an `x` form one block per row (a figure's panel): `x` down, columns
//! across. Rows and columns appear in order of first use; `x` ascends. A second cell for the same
//! place opens another row with the same label. Units label rows, or columns if only the rows mix
//! units.

use crate::{Cell, Outcome};

/// Holds rows and columns under a common heading.
pub(super) struct Block<'a> {
    /// The title of a figure's panel; `None` for a table.
    pub(super) title: Option<String>,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Row<'a>>,
}

/// Holds one row with at most one cell per column of the block.
pub(super) struct Row<'a> {
    pub(super) label: String,
    /// Decimals of every mean in the row.
    pub(super) decimals: usize,
    pub(super) cells: Vec<Option<&'a Cell>>,
}

pub(super) fn blocks(cells: &[Cell]) -> Vec<Block<'_>> {
    let table: Vec<_> = cells.iter().filter(|cell| cell.x.is_none()).collect();
    let mut panels: Vec<(String, Vec<&Cell>)> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.x.is_some()) {
        let title = with_unit(&cell.row, cell.unit);
        match panels.iter_mut().find(|(known, _)| *known == title) {
            Some((_, panel)) => panel.push(cell),
            None => panels.push((title, vec![cell])),
        }
    }

    let table = (!table.is_empty()).then(|| {
        let units_differ_within = |name: fn(&Cell) -> &str| {
            let differ = |a: &Cell, b: &Cell| name(a) == name(b) && a.unit != b.unit;
            table.iter().any(|a| table.iter().any(|b| differ(a, b)))
        };
        let by_column =
            units_differ_within(|cell| &cell.row) && !units_differ_within(|cell| &cell.column);
        let mut block = if by_column {
            fill(None, &table, |cell| cell.row.clone())
        } else {
            fill(None, &table, |cell| with_unit(&cell.row, cell.unit))
        };
        if by_column {
            for name in &mut block.columns {
                let unit = table.iter().find(|cell| cell.column == *name);
                *name = with_unit(name, unit.map_or("", |cell| cell.unit));
            }
        }
        for row in &mut block.rows {
            row.decimals = decimals(&row.cells);
        }
        block
    });
    let panels = panels.into_iter().map(|(title, mut panel)| {
        panel.sort_by(|a, b| a.x.unwrap_or(0.0).total_cmp(&b.x.unwrap_or(0.0)));
        let places = decimals(&panel.iter().copied().map(Some).collect::<Vec<_>>());
        let mut block = fill(Some(title), &panel, |cell| {
            cell.x.map_or_else(String::new, place)
        });
        for row in &mut block.rows {
            row.decimals = places;
        }
        block
    });
    table.into_iter().chain(panels).collect()
}

fn fill<'a>(
    title: Option<String>,
    cells: &[&'a Cell],
    label: impl Fn(&Cell) -> String,
) -> Block<'a> {
    let mut columns: Vec<&str> = Vec::new();
    for cell in cells {
        if !columns.contains(&cell.column.as_str()) {
            columns.push(&cell.column);
        }
    }
    let mut rows: Vec<Row<'_>> = Vec::new();
    for cell in cells {
        let Some(column) = columns.iter().position(|column| *column == cell.column) else {
            continue;
        };
        let label = label(cell);
        let free = rows
            .iter_mut()
            .find(|row| row.label == label && row.cells[column].is_none());
        if let Some(row) = free {
            row.cells[column] = Some(cell);
        } else {
            let mut row = Row {
                label,
                decimals: 0,
                cells: vec![None; columns.len()],
            };
            row.cells[column] = Some(cell);
            rows.push(row);
        }
    }
    Block {
        title,
        columns: columns.into_iter().map(str::to_owned).collect(),
        rows,
    }
}

/// Formats the value of an axis at a place: 250, 0.001, 3e-5.
pub fn place(x: f64) -> String {
    if x != 0.0 && x.abs() < 1e-4 {
        format!("{x:e}")
    } else {
        x.to_string()
    }
}

fn with_unit(name: &str, unit: &str) -> String {
    if unit.is_empty() {
        name.to_owned()
    } else {
        format!("{name} ({unit})")
    }
}

/// Returns the decimals, one to five, that show three digits of the largest mean, half width or
/// paper value: 98.1, 2.31, 0.123.
pub(super) fn decimals(cells: &[Option<&Cell>]) -> usize {
    let largest = cells
        .iter()
        .flatten()
        .flat_map(|cell| [cell.mean, cell.half_width, cell.paper])
        .flatten()
        .fold(0.0, |largest: f64, value| largest.max(value.abs()));
    [100.0, 10.0, 1.0, 0.1, 0.01, 0.001]
        .iter()
        .position(|&bound| largest >= bound)
        .map_or(1, |digits| digits.max(1))
}

/// Formats the mean with its half width; `–` if nothing could be measured.
pub(super) fn mean(cell: &Cell, decimals: usize) -> String {
    cell.mean
        .map_or_else(|| "–".to_owned(), |mean| fixed(mean, decimals))
}

/// Converts a confidence to percent: 95, 97.5.
pub(super) fn percent(confidence: f64) -> f64 {
    libm::round(confidence * 1000.0) / 10.0
}

pub(super) fn half_width(cell: &Cell, decimals: usize) -> String {
    match cell.half_width {
        // The value is the same for every seed; an interval would suggest randomness.
        None | Some(0.0) => String::new(),
        Some(half_width) => format!("±{}", fixed(half_width, decimals)),
    }
}

/// Returns the reason why means have no interval; `None` if all have one, or for other reasons.
pub(super) fn of_certain(outcome: &Outcome) -> Option<&'static str> {
    let bare = |cell: &&Cell| cell.mean.is_some() && cell.half_width.unwrap_or_default() == 0.0;
    let mut bare = outcome.cells.iter().filter(bare).peekable();
    bare.peek()?;
    outcome.without_interval.or_else(|| {
        let certain = bare.all(|cell| cell.half_width == Some(0.0));
        certain.then_some("the same under every seed")
    })
}

/// Returns `✓` within tolerance, `✗` outside, and an empty string without a comparison.
pub(super) fn sign(within: Option<bool>) -> &'static str {
    match within {
        Some(true) => "✓",
        Some(false) => "✗",
        None => "",
    }
}

/// Formats a number without the minus sign of a negative zero.
fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(zero) if zero.bytes().all(|b| matches!(b, b'0' | b'.')) => zero.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(row: &str, column: &str, x: Option<f64>, mean: f64) -> Cell {
        Cell {
            row: row.into(),
            column: column.into(),
            x,
            unit: "%",
            paper: None,
            mean: Some(mean),
            half_width: None,
            tolerance: None,
            ..Cell::default()
        }
    }

    #[test]
    fn no_value_is_lost() {
        let cells = [
            cell("a", "one", None, 1.0),
            cell("a", "one", None, 2.0),
            cell("b", "two", Some(4.0), 3.0),
            cell("b", "two", Some(1.0), 4.0),
            cell("b", "one", Some(4.0), 5.0),
        ];
        let blocks = blocks(&cells);
        let shown: Vec<_> = blocks
            .iter()
            .flat_map(|block| &block.rows)
            .flat_map(|row| row.cells.iter().flatten().filter_map(|cell| cell.mean))
            .collect();
        assert_eq!(shown, [1.0, 2.0, 4.0, 3.0, 5.0]);
        assert_eq!(blocks[1].title.as_deref(), Some("b (%)"));
        assert_eq!(blocks[1].rows[0].label, "1");
    }

    #[test]
    fn three_digits_of_the_largest() {
        for (mean, digits) in [
            (0.0, 1),
            (1200.0, 1),
            (98.1, 1),
            (-2.3, 2),
            (0.3, 3),
            (0.05, 4),
        ] {
            let cell = cell("a", "b", None, mean);
            assert_eq!(decimals(&[Some(&cell), None]), digits, "{mean}");
        }
    }

    #[test]
    fn the_paper_and_half_widths_count_too() {
        let precise = Cell {
            paper: Some(1.2),
            ..cell("a", "b", None, 0.05)
        };
        assert_eq!(decimals(&[Some(&precise)]), 2);
    }

    #[test]
    fn units_stand_where_they_do_not_mix() {
        let with = |row, column, unit| Cell {
            unit,
            ..cell(row, column, None, 1.0)
        };
        let by_column = [with("a", "loss", "%"), with("a", "delay", "ms")];
        let block = blocks(&by_column).remove(0);
        assert_eq!(block.columns, ["loss (%)", "delay (ms)"]);
        assert_eq!((block.rows.len(), block.rows[0].label.as_str()), (1, "a"));
        let by_row = [with("loss", "a", "%"), with("delay", "a", "ms")];
        let block = blocks(&by_row).remove(0);
        assert_eq!(block.columns, ["a"]);
        assert_eq!(block.rows[1].label, "delay (ms)");
    }

    /// A mean of one seed has no interval, but nothing says that other seeds would give the same.
    #[test]
    fn only_means_that_are_certain_are_called_so() {
        let with = |half_width| Cell {
            half_width,
            ..cell("a", "b", None, 1.0)
        };
        let unmeasured = Cell {
            mean: None,
            ..with(None)
        };
        let note = |cells: &[Cell], without_interval| {
            of_certain(&Outcome {
                without_interval,
                ..Outcome::new("x", "X", 2).cells(cells.to_vec())
            })
        };
        let certain = [with(Some(0.0)), with(Some(0.1)), unmeasured];
        assert_eq!(note(&certain, None), Some("the same under every seed"));
        assert_eq!(note(&certain, Some("few")), Some("few"));
        assert_eq!(note(&certain[1..], Some("few")), None);
        let mixed = [with(Some(0.0)), with(None)];
        assert_eq!(note(&mixed, None), None);
        assert_eq!(note(&mixed, Some("few")), Some("few"));
    }

    #[test]
    fn zero_has_no_sign() {
        assert_eq!(fixed(-0.04, 1), "0.0");
        assert_eq!(fixed(-0.06, 1), "-0.1");
    }
}
