//! Batches of rows of a table, which a run passes to a sink.

use std::sync::Arc;

use super::tables::{Kind, Table};

/// A batch of rows of one table.
#[derive(Clone, Debug)]
pub struct Batch {
    table: &'static Table,
    /// The words of each column; empty for other columns.
    words: Vec<Words>,
    /// The cells of all rows, row after row.
    cells: Vec<Cell>,
}

/// The words that a column chooses from.
pub type Words = Arc<[String]>;

/// The value of one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    /// The value is missing.
    None,
    /// A time in whole nanoseconds; the column is in seconds.
    Nanos(i64),
    /// A whole number.
    Whole(u64),
    /// A real number.
    Real(f64),
    /// A word, by its index in the column's [`Batch::words`].
    Word(u32),
}

impl Cell {
    /// Returns the value of a time (in seconds) or of a real number; `None` for other cells.
    pub fn as_f64(self) -> Option<f64> {
        match self {
            Self::Nanos(nanos) => Some(nanos as f64 / 1e9),
            Self::Real(real) => Some(real),
            Self::None | Self::Whole(_) | Self::Word(_) => None,
        }
    }
}

impl Batch {
    /// Returns an empty batch of a table. `words` has one list for each column of words, in the
    /// order of those columns.
    pub fn new(table: &'static Table, words: impl IntoIterator<Item = Words>) -> Self {
        let mut words = words.into_iter();
        let mut of = |kind| match kind {
            Kind::Word => words.next().unwrap_or_default(),
            _ => Words::default(),
        };
        Self {
            table,
            words: table.columns.iter().map(|c| of(c.kind)).collect(),
            cells: Vec::new(),
        }
    }

    /// Appends a row with one cell for each column.
    pub fn push<const N: usize>(&mut self, row: [Cell; N]) {
        debug_assert_eq!(N, self.table.columns.len());
        self.cells.extend(row);
    }

    /// Removes the rows but keeps their memory.
    pub(super) fn clear(&mut self) {
        self.cells.clear();
    }

    /// Returns the table of the rows.
    pub fn table(&self) -> &'static Table {
        self.table
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.cells.len() / self.table.columns.len()
    }

    /// Returns whether the batch has no rows.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Returns the rows, each with one cell per column.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[Cell]> {
        self.cells.chunks_exact(self.table.columns.len())
    }

    /// Returns the values of column number `index`, one per row.
    pub fn column(&self, index: usize) -> impl Iterator<Item = Cell> + '_ {
        self.rows().map(move |row| row[index])
    }

    /// Returns the words of column number `index`; empty if its values are not words.
    pub fn words(&self, index: usize) -> &[String] {
        &self.words[index]
    }
}
