//! What is to be run, and the runs: lines along an axis.
//!
//! ```text
//! Plan     an axis, and lines over it: for each x something to run (a scenario, say)
//!   run ↓  every seed of every point, each once however often it is listed
//! Runs     the same lines, at each x the runs of the seeds
//!  line ↓  what a metric says of each run
//! Line     for each x the values of the seeds: what is drawn, tabulated, compared (`line`)
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use whyloss_sim::Scenario;

use crate::CONFIDENCE;
use crate::axis::Axis;
use crate::experiment::{Context, ExperimentError};
use crate::line::{Line, Lines};
use crate::memo::Replications;
use crate::replicate::Precision;

/// Measured values.
#[derive(Debug)]
pub struct Metric<R> {
    /// What it is called, in tables and on the axis.
    pub name: &'static str,
    /// The unit of its values; may be empty.
    pub unit: &'static str,
    /// Whether it is drawn in powers of ten.
    pub log: bool,
    /// The value of a run; `None` if the run says nothing about it.
    pub of: fn(&R) -> Option<f64>,
}

impl<R> Clone for Metric<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Metric<R> {}

impl<R> Metric<R> {
    /// A metric that is drawn in equal steps.
    pub const fn new(name: &'static str, unit: &'static str, of: fn(&R) -> Option<f64>) -> Self {
        let log = false;
        Self {
            name,
            unit,
            log,
            of,
        }
    }
}

/// A line that is to be run, or was: id, name, and something for each x.
#[derive(Clone, Debug)]
struct Row<I> {
    id: String,
    name: String,
    points: Vec<I>,
}

/// Lines over one axis, to be run.
#[derive(Clone, Debug)]
pub struct Plan<I = Scenario> {
    axis: Axis,
    xs: Vec<f64>,
    rows: Vec<Row<I>>,
}

impl<I> Plan<I> {
    /// No line yet.
    pub fn new(axis: &Axis, xs: &[f64]) -> Self {
        Self {
            axis: axis.clone(),
            xs: xs.into(),
            rows: Vec::new(),
        }
    }

    /// No axis: one place, which tables and evidence do not name.
    pub fn table() -> Self {
        Self::new(&Axis::linear(""), &[f64::NAN])
    }

    /// One more line, which code calls `id` and the figure `name`: what to run for each x.
    #[must_use]
    pub fn line(self, id: &str, name: &str, item: impl FnMut(f64) -> I) -> Self {
        let points = self.xs.iter().copied().map(item).collect();
        self.line_of(id, name, points)
    }

    /// One more line, of what to run at each x in its order.
    #[must_use]
    pub fn line_of(mut self, id: &str, name: &str, points: Vec<I>) -> Self {
        let (id, name) = (id.into(), name.into());
        self.rows.push(Row { id, name, points });
        self
    }

    /// One run: the line's id, the place, and the item.
    pub fn items(&self) -> impl Iterator<Item = (&str, f64, &I)> {
        self.rows.iter().flat_map(|row| {
            let points = self.xs.iter().zip(&row.points);
            points.map(|(&x, item)| (row.id.as_str(), x, item))
        })
    }
}

impl<I> Plan<I> {
    /// Its lines, with no run at any place.
    pub fn unrun<R>(self) -> Runs<R> {
        let rows = self.rows.into_iter().map(|Row { id, name, points }| Row {
            id,
            name,
            points: points.iter().map(|_| Vec::new()).collect(),
        });
        Runs {
            rows: rows.collect(),
            axis: self.axis,
            xs: self.xs,
            confidence: CONFIDENCE,
        }
    }
}

impl<I: Sync> Plan<I> {
    /// Does `work` for every point of every plan under every seed; points with the same `key` share it.
    ///
    /// # Errors
    /// As [`Context::each`].
    pub fn run_all_with<R: Send + Sync + 'static>(
        context: &Context<'_>,
        plans: &[Self],
        key: impl Fn(&I) -> String,
        work: impl Fn(&I, u64) -> Result<R, ExperimentError> + Sync,
    ) -> Result<Vec<Runs<R>>, ExperimentError> {
        let items = || plans.iter().flat_map(|plan| &plan.rows);
        let mut unique: Vec<(String, &I)> = Vec::new();
        let mut index_of = HashMap::new();
        let mut places = Vec::new();
        for item in items().flat_map(|row| &row.points) {
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
        let mut places = places.into_iter();
        let run = |plan: &Self| {
            let rows = plan.rows.iter().map(|row| Row {
                id: row.id.clone(),
                name: row.name.clone(),
                points: places
                    .by_ref()
                    .take(row.points.len())
                    .map(|index| done[index].clone())
                    .collect(),
            });
            Runs {
                axis: plan.axis.clone(),
                xs: plan.xs.clone(),
                confidence: CONFIDENCE,
                rows: rows.collect(),
            }
        };
        Ok(plans.iter().map(run).collect())
    }
}

impl<I: Sync> Plan<I> {
    /// The same, but with as many replications of each place as it takes until `metric` is precise in each of its lines,
    /// which have the same seeds.
    ///
    /// # Errors
    /// As [`Context::each_until`].
    pub fn run_until<R: Send + Sync + 'static>(
        context: &Context<'_>,
        plans: &[Self],
        precision: &Precision,
        metric: impl Fn(&R) -> f64,
        key: impl Fn(&I) -> String,
        work: impl Fn(&I, u64) -> Result<R, ExperimentError> + Sync,
    ) -> Result<Vec<Runs<R>>, ExperimentError> {
        let places = plans.iter().flat_map(|plan| {
            let at = |index: usize| {
                plan.rows
                    .iter()
                    .map(move |row| &row.points[index])
                    .collect()
            };
            (0..plan.xs.len()).map(at)
        });
        let groups: Vec<Vec<&I>> = places.collect();
        let work = |item: &&I, seed| work(item, seed);
        let done = context.each_until(&groups, |item| key(item), work, precision, metric)?;
        let mut done = done.into_iter();
        let run = |plan: &Self| {
            let places: Vec<Vec<Replications<R>>> = done.by_ref().take(plan.xs.len()).collect();
            let rows = plan.rows.iter().enumerate().map(|(line, row)| Row {
                id: row.id.clone(),
                name: row.name.clone(),
                points: places.iter().map(|place| place[line].clone()).collect(),
            });
            Runs {
                axis: plan.axis.clone(),
                xs: plan.xs.clone(),
                confidence: CONFIDENCE,
                rows: rows.collect(),
            }
        };
        Ok(plans.iter().map(run).collect())
    }
}

/// The runs of lines over one axis.
#[derive(Clone, Debug)]
pub struct Runs<R> {
    axis: Axis,
    xs: Vec<f64>,
    confidence: f64,
    rows: Vec<Row<Replications<R>>>,
}

impl<R> Runs<R> {
    /// The same with intervals of this confidence.
    #[must_use]
    pub fn with_confidence(self, confidence: f64) -> Self {
        Self { confidence, ..self }
    }

    /// What `of` takes of every run of this plan, told by what was run: a flow of it, say.
    #[must_use]
    pub fn each<I, S>(self, plan: &Plan<I>, of: impl Fn(&I, &R) -> S) -> Runs<S> {
        let rows = self.rows.into_iter().zip(&plan.rows);
        let rows = rows.map(|(Row { id, name, points }, items)| {
            let points = points.iter().zip(&items.points).map(|(runs, item)| {
                let taken = |run: &Arc<R>| Arc::new(of(item, run));
                runs.iter().map(taken).collect()
            });
            let points = points.collect();
            Row { id, name, points }
        });
        Runs {
            rows: rows.collect(),
            axis: self.axis,
            xs: self.xs,
            confidence: self.confidence,
        }
    }

    /// The fewest replications behind a point.
    pub fn seeds(&self) -> u64 {
        let points = self.rows.iter().flat_map(|row| &row.points);
        points.map(Vec::len).min().unwrap_or(0) as u64
    }

    /// The places on the axis.
    pub fn xs(&self) -> &[f64] {
        &self.xs
    }

    /// The runs of a line at a place; none if it was not run.
    pub fn at(&self, id: &str, x: f64) -> &[Arc<R>] {
        let row = self.rows.iter().find(|row| row.id == id);
        let point = row.and_then(|row| {
            let index = self
                .xs
                .iter()
                .position(|&other| crate::line::same(other, x))?;
            row.points.get(index)
        });
        point.map_or(&[], Vec::as_slice)
    }

    /// What the metric says of every line.
    pub fn lines(&self, metric: &Metric<R>) -> Lines {
        self.lines_by((metric.name, metric.unit), metric.of)
            .log_y(metric.log)
    }

    /// What `of` says of every line.
    pub fn lines_by(
        &self,
        (what, unit): (&str, &'static str),
        of: impl Fn(&R) -> Option<f64>,
    ) -> Lines {
        let lines = self.rows.iter().map(|row| self.read(row, unit, &of));
        self.gather((what, unit), lines)
    }

    /// What the metric says of one line.
    pub fn line(&self, id: &str, metric: &Metric<R>) -> Line {
        self.lines(metric).line(id)
    }

    /// A line of its own id and name: what `of` says of the runs of line `of_line`.
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

    /// Lines that share this axis, under a heading and with a unit.
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
            Plan::new(&axis, &[1.0, 2.0])
                .line("a", "A", |x| x as u64)
                .line("b", "B", |x| 2 * x as u64)
        };
        let count = AtomicU64::new(0);
        let runs = Plan::run_all_with(
            &context,
            &[plan(), plan()],
            ToString::to_string,
            |item, seed| {
                count.fetch_add(1, Ordering::Relaxed);
                Ok(item * 10 + seed)
            },
        )
        .expect("not stopped");
        // 1, 2 and 4, each under three seeds.
        assert_eq!(count.load(Ordering::Relaxed), 9);
        assert_eq!((runs.len(), runs[1].seeds()), (2, 3));
        let metric = Metric::new("value", "", |run: &u64| Some(*run as f64));
        let b = runs[1].line("b", &metric);
        // 40 + 1, 2, 3.
        assert!((b.at(2.0).value - 42.0).abs() < 1e-12);
        assert!(runs[0].line("c", &metric).at(2.0).value.is_nan());
        assert_eq!(runs[0].lines(&metric).cells("row").len(), 4);
        // What is taken of a run may depend on what was run.
        let more = runs[0].clone().each(&plan(), |item, run| item + run);
        assert!((more.line("b", &metric).at(2.0).value - 46.0).abs() < 1e-12);
    }
}
