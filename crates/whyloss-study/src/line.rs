//! Holds one value per seed along an axis and derives the values that claims compare.
//!
//! ```text
//! a.over(b)    quotient          a.gain(b)  100·(a/b − 1) %         a.less(b)  difference
//! ```
//!
//! Each operation pairs the seeds for which both lines have a value, then takes the mean. A missing
//! mean is NaN, so that every comparison with it fails, and so does the claim.

use core::fmt::{self, Write};
use std::borrow::Cow;

use crate::axis::{Axis, Notation};
use crate::report::place;
use crate::{CONFIDENCE, Cell, Look, Mean, Panel, Series};

/// A line: one metric's values per seed at each place of an axis.
#[derive(Clone, Debug)]
pub struct Line {
    /// The id by which code finds the line.
    pub id: String,
    /// The name of the line in figures.
    pub name: String,
    /// The unit of the values; may be empty.
    pub unit: &'static str,
    /// The form in which figures draw the line.
    pub look: Look,
    confidence: f64,
    notation: Option<Notation>,
    points: Vec<Point>,
}

/// The values of all seeds at one place. A derived `mean` replaces their mean.
#[derive(Clone, Debug)]
struct Point {
    x: f64,
    values: Vec<Option<f64>>,
    mean: Option<Mean>,
}

impl Line {
    /// Creates a line without points.
    pub fn new(id: &str, name: &str, unit: &'static str) -> Self {
        Self::of(id, name, unit, [])
    }

    /// Creates a line from points, each an x and one value per seed in seed order.
    pub fn of(
        id: &str,
        name: &str,
        unit: &'static str,
        points: impl IntoIterator<Item = (f64, Vec<Option<f64>>)>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            unit,
            look: Look::Line,
            confidence: CONFIDENCE,
            notation: None,
            points: points
                .into_iter()
                .map(|(x, values)| Point {
                    x,
                    values,
                    mean: None,
                })
                .collect(),
        }
    }

    /// Creates a line that holds one mean and has no axis.
    pub fn one(name: &str, unit: &'static str, mean: Mean) -> Self {
        let mut line = Self::of(name, name, unit, [(f64::NAN, Vec::new())]);
        line.points[0].mean = Some(mean);
        line
    }

    /// Sets the confidence of the intervals.
    #[must_use]
    pub fn with_confidence(self, confidence: f64) -> Self {
        Self { confidence, ..self }
    }

    /// Sets the format in which evidence writes the points.
    #[must_use]
    pub fn written(self, notation: Option<Notation>) -> Self {
        Self { notation, ..self }
    }

    /// Renames the line in figures.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        let name = name.into();
        Self { name, ..self }
    }

    /// Changes both id and name.
    #[must_use]
    pub fn called(self, id: &str, name: &str) -> Self {
        let id = id.into();
        Self {
            id,
            ..self.named(name)
        }
    }

    /// Changes the form in which figures draw the line.
    #[must_use]
    pub fn drawn(self, look: Look) -> Self {
        Self { look, ..self }
    }

    /// Drops the seeds' values and keeps each mean without an interval.
    #[must_use]
    pub fn bare(self) -> Self {
        self.by_mean(&self.name, |_, mean| mean)
    }

    /// Keeps the places that have a measured mean.
    #[must_use]
    pub fn measured(&self) -> Self {
        self.only(|x| self.at(x).value.is_finite())
    }

    /// Maps each place and its mean with `of`; the result has no intervals.
    #[must_use]
    pub fn by_mean(&self, name: &str, of: impl Fn(f64, f64) -> f64) -> Self {
        let points = self.means().map(|(x, mean)| Point {
            x,
            values: Vec::new(),
            mean: Some(Mean {
                value: of(x, mean.value),
                ..Mean::NONE
            }),
        });
        Self {
            points: points.collect(),
            ..self.clone()
        }
        .named(name)
    }

    /// Keeps the places for which `keep` returns true.
    #[must_use]
    pub fn only(&self, keep: impl Fn(f64) -> bool) -> Self {
        let points = self.points.iter().filter(|point| keep(point.x)).cloned();
        Self {
            points: points.collect(),
            ..self.clone()
        }
    }

    /// Returns a line with the constant `value` at the places of this line.
    #[must_use]
    pub fn constant(&self, id: &str, name: &str, value: f64) -> Self {
        let points = self.points.iter();
        let points = points.map(|point| (point.x, vec![Some(value); point.values.len()]));
        Self::of(id, name, self.unit, points)
            .drawn(Look::Dashed)
            .written(self.notation)
            .with_confidence(self.confidence)
    }

    /// Returns every place and its mean.
    pub fn means(&self) -> impl Iterator<Item = (f64, Mean)> + '_ {
        self.points.iter().map(|point| {
            let values = || point.values.iter().copied().flatten().collect::<Vec<f64>>();
            let mean = || Mean::with_confidence(&values(), self.confidence);
            (point.x, point.mean.unwrap_or_else(mean))
        })
    }

    /// Returns the mean at a place, or [`Mean::NONE`].
    pub fn at(&self, x: f64) -> Mean {
        let found = self.means().find(|&(other, _)| same(other, x));
        found.map_or(Mean::NONE, |(_, mean)| mean)
    }

    /// Returns the mean at a place, or the only mean of a line without an axis.
    pub fn anywhere(&self, x: f64) -> f64 {
        match self.points.as_slice() {
            [point] if point.x.is_nan() => self.at(f64::NAN).value,
            _ => self.at(x).value,
        }
    }

    /// Sums the seeds' values at each place.
    #[must_use]
    pub fn total(&self) -> Self {
        self.of_values(|values| values.iter().sum())
    }

    /// Returns the standard deviation of the seeds' values at each place.
    #[must_use]
    pub fn deviation(&self) -> Self {
        self.of_values(|values| crate::statistics::standard_deviation(values).unwrap_or(f64::NAN))
    }

    /// Counts the seeds with a value at each place.
    #[must_use]
    pub fn known(&self) -> Self {
        self.of_values(|values| values.len() as f64)
    }

    /// Bins the seeds' values at the first place by those of `by`. The place of a bin is its upper
    /// bound, which it excludes. The first bin starts at 0.
    #[must_use]
    pub fn binned(&self, by: &Self, bounds: &[f64]) -> Self {
        let first = |line: &Self| {
            line.points
                .first()
                .map_or_else(Vec::new, |of| of.values.clone())
        };
        let both: Vec<_> = first(self).into_iter().zip(first(by)).collect();
        let from = core::iter::once(0.0).chain(bounds.iter().copied());
        let bins = from.zip(bounds).map(|(from, &to)| {
            let within = |by: &Option<f64>| by.is_some_and(|by| from <= by && by < to);
            let values = both.iter().filter(|(_, by)| within(by));
            (to, values.map(|(value, _)| *value).collect())
        });
        Self::of(&self.id, &self.name, self.unit, bins)
            .written(self.notation)
            .with_confidence(self.confidence)
    }

    fn of_values(&self, of: impl Fn(&[f64]) -> f64) -> Self {
        let known = |x| {
            self.values_at(x)
                .iter()
                .copied()
                .flatten()
                .collect::<Vec<_>>()
        };
        self.by_mean(&self.name, |x, _| of(&known(x)))
    }

    /// Returns the place with the lowest mean; a missing mean counts as the lowest.
    pub fn lowest(&self) -> Option<(f64, Mean)> {
        let key = |value: f64| {
            if value.is_nan() {
                f64::NEG_INFINITY
            } else {
                value
            }
        };
        self.means()
            .min_by(|a, b| key(a.1.value).total_cmp(&key(b.1.value)))
    }

    /// Returns the place with the highest mean; a missing mean counts as the highest.
    pub fn highest(&self) -> Option<(f64, Mean)> {
        let key = |value: f64| if value.is_nan() { f64::INFINITY } else { value };
        // `min_by` returns the first of equal means; `max_by` would return the last.
        self.means()
            .min_by(|a, b| key(b.1.value).total_cmp(&key(a.1.value)))
    }

    /// Returns the unweighted mean of the means; NaN if one is missing.
    pub fn average(&self) -> f64 {
        let means: Vec<f64> = self.means().map(|(_, mean)| mean.value).collect();
        crate::statistics::mean(&means).unwrap_or(f64::NAN)
    }

    /// Returns whether every mean satisfies `holds`; false for an empty line.
    pub fn every(&self, holds: impl Fn(f64) -> bool) -> bool {
        !self.points.is_empty() && self.means().all(|(_, mean)| holds(mean.value))
    }

    /// Returns whether each pair of neighbouring means satisfies `holds`, in order of the places.
    pub fn every_step(&self, holds: impl Fn(f64, f64) -> bool) -> bool {
        let means: Vec<f64> = self.means().map(|(_, mean)| mean.value).collect();
        means.len() > 1 && means.windows(2).all(|pair| holds(pair[0], pair[1]))
    }

    /// Returns this line divided by `other`, place by place and seed by seed.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        let name = format!("{} / {}", self.name, other.name);
        self.paired(other, name, "", |a, b| a / b)
    }

    /// Returns this line's gain over `other` in %, place by place and seed by seed.
    #[must_use]
    pub fn gain(&self, other: &Self) -> Self {
        let name = format!("gain of {} over {}", self.name, other.name);
        self.paired(other, name, "%", |a, b| 100.0 * (a / b - 1.0))
    }

    /// Returns this line minus `other`, place by place and seed by seed.
    #[must_use]
    pub fn less(&self, other: &Self) -> Self {
        let name = format!("{} less {}", self.name, other.name);
        self.paired(other, name, self.unit, |a, b| a - b)
    }

    fn paired(
        &self,
        other: &Self,
        name: String,
        unit: &'static str,
        pair: impl Fn(f64, f64) -> f64,
    ) -> Self {
        let points = self.points.iter().map(|point| {
            let both = point.values.iter().zip(other.values_at(point.x));
            let pair = |(a, b): (&Option<f64>, &Option<f64>)| {
                Some(pair((*a)?, (*b)?)).filter(|value| value.is_finite())
            };
            Point {
                x: point.x,
                values: both.map(pair).collect(),
                mean: None,
            }
        });
        Self {
            id: self.id.clone(),
            name,
            unit,
            look: self.look,
            confidence: self.confidence,
            notation: self.notation,
            points: points.collect(),
        }
    }

    /// Returns the excess of this line's means over the other's, in %, over the seeds that both
    /// have. The interval is that of [`Mean::ratio`].
    #[must_use]
    pub fn improvement(&self, other: &Self) -> Self {
        let name = format!("improvement of {} over {}", self.name, other.name);
        let points = self.points.iter().map(|point| {
            let both = point.values.iter().zip(other.values_at(point.x));
            let both = both.filter_map(|(y, x)| Some(((*x)?, (*y)?)));
            let (x, y): (Vec<f64>, Vec<f64>) = both.unzip();
            let ratio = Mean::ratio(&y, &x, self.confidence);
            Point {
                x: point.x,
                values: Vec::new(),
                mean: Some(Mean {
                    value: 100.0 * (ratio.value - 1.0),
                    half_width: 100.0 * ratio.half_width,
                }),
            }
        });
        let (unit, points) = ("%", points.collect());
        let improved = Self {
            unit,
            points,
            ..self.clone()
        };
        improved.named(&name)
    }

    /// Returns the values of all seeds at all places.
    pub fn values(&self) -> impl Iterator<Item = f64> + '_ {
        let points = self.points.iter();
        points.flat_map(|point| point.values.iter().copied().flatten())
    }

    /// Returns the seeds' values at a place; empty if the line does not have it.
    fn values_at(&self, x: f64) -> &[Option<f64>] {
        let found = self.points.iter().find(|point| same(point.x, x));
        found.map_or(&[], |point| point.values.as_slice())
    }

    /// Returns one table cell per point.
    pub fn cells(&self, row: &str) -> Vec<Cell> {
        let cell = |(x, mean): (f64, Mean)| Cell {
            x: Some(x).filter(|x| !x.is_nan()),
            ..mean.cell(row, &self.name, self.unit)
        };
        self.means().map(cell).collect()
    }

    /// Returns the line as a series of a figure. Missing means interrupt it.
    pub fn series(&self) -> Series {
        // A missing measurement breaks the line.
        let finite = |half: f64| Some(half).filter(|half| half.is_finite());
        Series {
            name: self.name.clone(),
            look: self.look,
            points: self
                .means()
                .map(|(x, mean)| (x, mean.value, finite(mean.half_width)))
                .collect(),
        }
    }
}

impl fmt::Display for Line {
    /// Writes the evidence for a claim, as `BaLDE, Mbit/s: 0.1: 4.31 ± 0.02, 1: 2.05 ± 0.03` or in
    /// the axis's notation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(Notation { place, mean }) = self.notation {
            let points = self.means().map(|(x, of)| place(x) + &mean(of.value));
            let points: Vec<String> = points.collect();
            let gap = if self.name.is_empty() { "" } else { " " };
            return write!(f, "{gap}{}", points.join(", "));
        }
        if !self.unit.is_empty() {
            write!(f, ", {}", self.unit)?;
        }
        let mut before = ": ";
        for (x, mean) in self.means() {
            f.write_str(before)?;
            if !x.is_nan() {
                write!(f, "{}: ", place(x))?;
            }
            write!(f, "{mean}")?;
            before = ", ";
        }
        Ok(())
    }
}

/// The lines of one panel of a figure: one metric over one axis.
#[derive(Clone, Debug)]
pub struct Lines {
    what: String,
    unit: &'static str,
    axis: Axis,
    log_y: bool,
    y_label: Option<Cow<'static, str>>,
    each: Vec<Line>,
}

impl Lines {
    /// Creates lines with the heading `what` and the unit `unit`.
    pub fn new(
        what: &str,
        unit: &'static str,
        axis: &Axis,
        lines: impl IntoIterator<Item = Line>,
    ) -> Self {
        Self {
            what: what.into(),
            unit,
            axis: axis.clone(),
            log_y: false,
            y_label: None,
            each: lines.into_iter().collect(),
        }
    }

    /// Sets whether the y axis is logarithmic.
    #[must_use]
    pub fn log_y(self, log_y: bool) -> Self {
        Self { log_y, ..self }
    }

    /// Replaces the default y label, which is metric and unit.
    #[must_use]
    pub fn labelled(self, y_label: &'static str) -> Self {
        let y_label = Some(Cow::Borrowed(y_label));
        Self { y_label, ..self }
    }

    /// Maps every line with `of`, which may drop it, restrict it, or change its look.
    #[must_use]
    pub fn shown(mut self, of: impl Fn(Line) -> Option<Line>) -> Self {
        self.each = self.each.into_iter().filter_map(of).collect();
        self
    }

    /// Returns these lines with `line` added.
    #[must_use]
    pub fn with(mut self, line: Line) -> Self {
        self.each.push(line);
        self
    }

    /// Returns the line with this id, or one without points, so that no claim about it holds.
    pub fn line(&self, id: &str) -> Line {
        let found = self.each.iter().find(|line| line.id == id);
        found.map_or_else(|| Line::new(id, id, self.unit), Clone::clone)
    }

    /// Iterates over the lines.
    pub fn iter(&self) -> impl Iterator<Item = &Line> {
        self.each.iter()
    }

    /// Returns every point as a cell of this row.
    pub fn cells(&self, row: &str) -> Vec<Cell> {
        self.each.iter().flat_map(|line| line.cells(row)).collect()
    }

    /// Returns one panel with all lines.
    pub fn panel(&self, title: &str) -> Panel {
        let label = || {
            let mut label = self.what.clone();
            if !self.unit.is_empty() {
                let _ = write!(label, ", {}", self.unit);
            }
            label.into()
        };
        let y_label = self.y_label.clone().unwrap_or_else(label);
        Panel {
            log_x: self.axis.log,
            log_y: self.log_y,
            ..Panel::new(
                title,
                (&self.axis.name, &y_label),
                self.each.iter().map(Line::series).collect(),
            )
        }
    }
}

/// Returns whether two places are equal up to rounding. NaN, the place of a table without an axis,
/// equals NaN.
pub(crate) fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()) || (a.is_nan() && b.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, points: &[(f64, &[f64])]) -> Line {
        let values = |values: &[f64]| values.iter().copied().map(Some).collect();
        let points = points.iter().map(|&(x, of)| (x, values(of)));
        Line::of(name, name, "Mbit/s", points)
    }

    #[test]
    fn gains_are_paired() {
        let reno = line("reno", &[(0.1, &[1.0, 2.0]), (1.0, &[1.0, 1.0])]);
        let balde = line("balde", &[(0.1, &[1.5, 3.0]), (1.0, &[])]);
        // Both seeds are 50 % above, although the seeds differ.
        let gain = balde.gain(&reno);
        assert_eq!(gain.at(0.1).to_string(), "50.0 ± 0.0");
        // A missing measurement satisfies no comparison.
        assert!(gain.at(1.0).value.is_nan() && gain.at(7.0).value.is_nan());
        assert!(!gain.every(|gain| gain > 0.0));
        assert!(!Line::new("", "", "").every(|_| true));
        assert_eq!(balde.over(&reno).at(0.1).to_string(), "1.50 ± 0.00");
        assert_eq!(balde.less(&reno).at(0.1).to_string(), "0.750 ± 3.177");
        assert_eq!(
            gain.to_string(),
            "gain of balde over reno, %: 0.1: 50.0 ± 0.0, 1: none"
        );
    }

    #[test]
    fn a_hole_is_lowest_and_highest() {
        let points: &[(f64, &[f64])] = &[(1.0, &[1.0]), (2.0, &[]), (3.0, &[2.0])];
        let hole = line("", points);
        let at = |found: Option<(f64, Mean)>| found.map(|(x, _)| x);
        assert_eq!(
            (at(hole.lowest()), at(hole.highest())),
            (Some(2.0), Some(2.0))
        );
        let whole = hole.only(|x| !same(x, 2.0));
        assert_eq!(
            (at(whole.lowest()), at(whole.highest())),
            (Some(1.0), Some(3.0))
        );
        assert!(whole.every_step(|a, b| a < b) && !hole.every_step(|a, b| a < b));
        assert_eq!(
            (
                hole.series().points.len(),
                hole.measured().series().points.len()
            ),
            (3, 2)
        );
    }
}
