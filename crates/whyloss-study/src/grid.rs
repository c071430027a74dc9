//! Arranges work and its runs as lines over an axis.
//!
//! ```text
//! Grid<I>  an axis and lines over it: a work item for each x
//!   run ↓  every seed of every point; equal points run once
//! Runs     the same lines: for each x, one run per seed
//!  line ↓  a metric of each run
//! Line     for each x, one value per seed: to draw, tabulate or compare (`line`)
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use crate::CONFIDENCE;
use crate::axis::Axis;
use crate::experiment::{Context, ExperimentError};
use crate::line::{Line, Lines};
use crate::memo::Replications;
use crate::replicate::Precision;

/// Holds a line: id, name, and one item per x.
#[derive(Clone, Debug)]
struct Row<T> {
    id: String,
    name: String,
    points: Vec<T>,
}

/// Holds lines over one axis, with an item of type `T` at each place.
#[derive(Clone, Debug)]
pub struct Grid<T> {
    axis: Axis,
    xs: Vec<f64>,
    confidence: f64,
    rows: Vec<Row<T>>,
}

/// Holds the runs of lines over one axis.
pub type Runs<R> = Grid<Replications<R>>;

impl<T> Grid<T> {
    /// Creates a grid without lines.
    pub fn new(axis: &Axis, xs: &[f64]) -> Self {
        Self {
            axis: axis.clone(),
            xs: xs.into(),
            confidence: CONFIDENCE,
            rows: Vec::new(),
        }
    }

    /// Adds a line with the item that `item` returns for each x. Code refers to the line by `id`;
    /// figures show `name`.
    #[must_use]
    pub fn line(self, id: &str, name: &str, item: impl FnMut(f64) -> T) -> Self {
        let points = self.xs.iter().copied().map(item).collect();
        self.line_of(id, name, points)
    }

    /// Adds a line from items in the order of the places.
    #[must_use]
    pub fn line_of(mut self, id: &str, name: &str, points: Vec<T>) -> Self {
        let (id, name) = (id.into(), name.into());
        self.rows.push(Row { id, name, points });
        self
    }

    /// Iterates over every point: line id, place, and item.
    pub fn items(&self) -> impl Iterator<Item = (&str, f64, &T)> {
        self.rows.iter().flat_map(|row| {
            let points = self.xs.iter().zip(&row.points);
            points.map(|(&x, item)| (row.id.as_str(), x, item))
        })
    }

    /// Returns these lines with other items, taken line by line.
    fn with<S>(&self, points: impl IntoIterator<Item = S>) -> Grid<S> {
        let mut points = points.into_iter();
        let rows = self.rows.iter().map(|row| Row {
            id: row.id.clone(),
            name: row.name.clone(),
            points: points.by_ref().take(row.points.len()).collect(),
        });
        Grid {
            axis: self.axis.clone(),
            xs: self.xs.clone(),
            confidence: self.confidence,
            rows: rows.collect(),
        }
    }

    /// Returns a grid of the same lines and places, without runs.
    pub fn unrun<R>(&self) -> Runs<R> {
        self.with(core::iter::repeat_with(Vec::new))
    }

    /// Sets the confidence of the intervals.
    #[must_use]
    pub fn with_confidence(self, confidence: f64) -> Self {
        Self { confidence, ..self }
    }

    /// Returns the places on the axis.
    pub fn xs(&self) -> &[f64] {
        &self.xs
    }
}

impl<I: Sync> Grid<I> {
    /// Runs `work` for each point of all grids under each seed. Points with equal `key`s are run
    /// once and share the results.
    ///
    /// # Errors
    /// Returns the errors of [`Context::each`].
    pub fn run_all<R: Send + Sync + 'static>(
        context: &Context<'_>,
        grids: &[Self],
        key: impl Fn(&I) -> String,
        work: impl Fn(&I, u64) -> Result<R, ExperimentError> + Sync,
    ) -> Result<Vec<Runs<R>>, ExperimentError> {
        let mut unique: Vec<(String, &I)> = Vec::new();
        let mut index_of = HashMap::new();
        let mut places = Vec::new();
        for (_, _, item) in grids.iter().flat_map(Self::items) {
            let next = unique.len();
            let index = *index_of.entry(key(item)).or_insert_with_key(|key| {
                unique.push((key.clone(), item));
                next
            });
            places.push(index);
        }
        let done = context.each(
            &unique,
            |(key, _)| key.clone(),
            |(_, item), seed| work(item, seed),
        )?;
        let mut done = places.into_iter().map(|index| done[index].clone());
        Ok(grids.iter().map(|grid| grid.with(done.by_ref())).collect())
    }

    /// Runs like [`Self::run_all`], but replicates each place until `metric` is precise in every
    /// line. All lines at a place have the same seeds.
    ///
    /// # Errors
    /// Returns the errors of [`Context::each_until`].
    pub fn run_until<R: Send + Sync + 'static>(
        context: &Context<'_>,
        grids: &[Self],
        precision: &Precision,
        metric: impl Fn(&R) -> f64,
        key: impl Fn(&I) -> String,
        work: impl Fn(&I, u64) -> Result<R, ExperimentError> + Sync,
    ) -> Result<Vec<Runs<R>>, ExperimentError> {
        let places = grids.iter().flat_map(|grid| {
            let at = |index: usize| grid.rows.iter().map(move |row| &row.points[index]);
            (0..grid.xs.len()).map(move |index| at(index).collect())
        });
        let groups: Vec<Vec<&I>> = places.collect();
        let work = |item: &&I, seed| work(item, seed);
        let done = context.each_until(&groups, |item| key(item), work, precision, metric)?;
        let mut done = done.into_iter();
        let run = |grid: &Self| {
            let places: Vec<Vec<Replications<R>>> = done.by_ref().take(grid.xs.len()).collect();
            let lines = 0..grid.rows.len();
            grid.with(lines.flat_map(|line| places.iter().map(move |place| place[line].clone())))
        };
        Ok(grids.iter().map(run).collect())
    }
}

impl<R> Runs<R> {
    /// Maps every run with `of`, which also sees the matching item of `grid`.
    #[must_use]
    pub fn each<I, S>(&self, grid: &Grid<I>, of: impl Fn(&I, &R) -> S) -> Runs<S> {
        let both = self.items().zip(grid.items());
        self.with(both.map(|((_, _, runs), (_, _, item))| {
            runs.iter().map(|run| Arc::new(of(item, run))).collect()
        }))
    }

    /// Returns the smallest number of replications at any point.
    pub fn seeds(&self) -> u64 {
        let points = self.items().map(|(_, _, runs)| runs.len());
        points.min().unwrap_or(0) as u64
    }

    /// Returns the runs of a line at a place; empty if it did not run.
    pub fn at(&self, id: &str, x: f64) -> &[Arc<R>] {
        let mut items = self.items();
        let found = items.find(|&(line, place, _)| line == id && crate::line::same(place, x));
        found.map_or(&[], |(_, _, runs)| runs.as_slice())
    }

    /// Reads a value from every run of every line.
    pub fn lines(
        &self,
        (what, unit): (&str, &'static str),
        of: impl Fn(&R) -> Option<f64>,
    ) -> Lines {
        let lines = self.rows.iter().map(|row| self.read(row, unit, &of));
        self.gather((what, unit), lines)
    }

    /// Returns a line with its own id and name, measured by `of` on the runs of the line `of_line`.
    pub fn read_off(
        &self,
        of_line: &str,
        (id, name): (&str, &str),
        unit: &'static str,
        of: impl Fn(&R) -> Option<f64>,
    ) -> Line {
        let row = self.rows.iter().find(|row| row.id == of_line);
        let line = row.map(|row| self.read(row, unit, of));
        let line = line.unwrap_or_else(|| Line::new(id, name, unit));
        line.called(id, name)
    }

    /// Gathers lines over this axis under a heading and a unit.
    pub fn gather(
        &self,
        (what, unit): (&str, &'static str),
        lines: impl IntoIterator<Item = Line>,
    ) -> Lines {
        Lines::new(what, unit, &self.axis, lines)
    }

    fn read(
        &self,
        row: &Row<Replications<R>>,
        unit: &'static str,
        of: impl Fn(&R) -> Option<f64>,
    ) -> Line {
        let points = self.xs.iter().zip(&row.points);
        let points = points.map(|(&x, runs)| (x, runs.iter().map(|run| of(run)).collect()));
        Line::of(&row.id, &row.name, unit, points)
            .with_confidence(self.confidence)
            .written(self.axis.notation)
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use super::*;
    use crate::experiment::Unwatched;

    #[test]
    fn what_is_listed_twice_is_run_once() {
        let stop = AtomicBool::new(false);
        let context = Context::new(&Unwatched, &stop).with_seeds(3);
        let axis = Axis::linear("x");
        let plan = || {
            Grid::new(&axis, &[1.0, 2.0])
                .line("a", "A", |x| x as u64)
                .line("b", "B", |x| 2 * x as u64)
        };
        let count = AtomicU64::new(0);
        let runs = Grid::run_all(
            &context,
            &[plan(), plan()],
            ToString::to_string,
            |item, seed| {
                count.fetch_add(1, Ordering::Relaxed);
                Ok(item * 10 + seed)
            },
        )
        .expect("not stopped");
        // The three items 1, 2 and 4 run with three seeds each.
        assert_eq!(count.load(Ordering::Relaxed), 9);
        assert_eq!((runs.len(), runs[1].seeds()), (2, 3));
        let lines = |runs: &Runs<u64>| runs.lines(("value", ""), |run| Some(*run as f64));
        let b = lines(&runs[1]).line("b");
        // The values are 40 + 1, 2, 3.
        assert!((b.at(2.0).value - 42.0).abs() < 1e-12);
        assert!(lines(&runs[0]).line("c").at(2.0).value.is_nan());
        assert_eq!(lines(&runs[0]).cells("row").len(), 4);
        // A run's value may depend on its item.
        let more = runs[0].each(&plan(), |item, run| item + run);
        assert!((lines(&more).line("b").at(2.0).value - 46.0).abs() < 1e-12);
    }
}
