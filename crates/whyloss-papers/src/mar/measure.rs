//! Families of scenarios over one axis, and what their runs say in the paper's terms (Section 4).
//!
//! ```text
//! goodput    payload that the receiver has for the first time / length of the window                [Mbit/s]
//! accuracy   loss events (third duplicate, timeout) given their true cause / loss events (MAR-14)   [%]
//! Jain       (Σ goodput)² / (n·Σ goodput²) over the n flows of a run (MAR-16)
//! ```
//!
//! A loss event is a congestion loss if its window lost anything to congestion (MAR-4).

use std::collections::BTreeMap;

use whyloss::Confusion;
use whyloss_sim::measure::FlowResult;
use whyloss_sim::{Measurement, Scenario};

use super::network::SEGMENT;
use crate::experiment::{Context, ExperimentError};
use crate::replicate::Replications;
use crate::statistics;
use crate::{Cell, Panel, Series};

/// The confidence of every interval of the paper (Section 4).
pub(crate) const CONFIDENCE: f64 = 0.975;

/// A mean and half its confidence interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    pub(crate) x: f64,
    /// NaN if nothing could be measured, so that every comparison with it fails.
    pub(crate) mean: f64,
    pub(crate) half_width: Option<f64>,
}

impl Estimate {
    /// Of these values at `x`.
    pub(crate) fn of(x: f64, values: &[f64]) -> Self {
        Self {
            x,
            mean: statistics::mean(values).unwrap_or(f64::NAN),
            half_width: statistics::half_width(values, CONFIDENCE),
        }
    }
}

/// Estimates along an axis, and what they are called.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<Estimate>,
}

impl Line {
    /// The mean at `x`; NaN if there is none.
    pub(crate) fn at(&self, x: f64) -> f64 {
        let point = self.points.iter().find(|point| same(point.x, x));
        point.map_or(f64::NAN, |point| point.mean)
    }

    /// The point with the smallest mean, a NaN first.
    pub(crate) fn lowest(&self) -> Option<Estimate> {
        let key = |point: &Estimate| {
            if point.mean.is_nan() {
                f64::NEG_INFINITY
            } else {
                point.mean
            }
        };
        self.points
            .iter()
            .copied()
            .min_by(|a, b| key(a).total_cmp(&key(b)))
    }

    /// The point with the largest mean, a NaN first.
    pub(crate) fn highest(&self) -> Option<Estimate> {
        let key = |point: &Estimate| {
            if point.mean.is_nan() {
                f64::INFINITY
            } else {
                point.mean
            }
        };
        self.points
            .iter()
            .copied()
            .max_by(|a, b| key(a).total_cmp(&key(b)))
    }

    /// The part of it where `keep` says so.
    pub(crate) fn where_x(&self, keep: impl Fn(f64) -> bool) -> Self {
        Self {
            name: self.name.clone(),
            points: self
                .points
                .iter()
                .copied()
                .filter(|point| keep(point.x))
                .collect(),
        }
    }

    /// Under another name.
    pub(crate) fn named(self, name: &str) -> Self {
        Self {
            name: name.into(),
            ..self
        }
    }

    /// Without its intervals.
    pub(crate) fn bare(mut self) -> Self {
        for point in &mut self.points {
            point.half_width = None;
        }
        self
    }

    /// The part of it that was measured.
    pub(crate) fn where_mean_exists(self) -> Self {
        let points = self
            .points
            .into_iter()
            .filter(|point| point.mean.is_finite());
        Self {
            points: points.collect(),
            ..self
        }
    }

    /// Cells of a figure's panel.
    pub(crate) fn cells(&self, row: &str, unit: &'static str) -> Vec<Cell> {
        let cell = |point: &Estimate| Cell {
            row: row.into(),
            column: self.name.clone(),
            x: Some(point.x),
            unit,
            paper: None,
            mean: Some(point.mean).filter(|mean| mean.is_finite()),
            half_width: point.half_width,
            tolerance: None,
            ..Cell::default()
        };
        self.points.iter().map(cell).collect()
    }

    /// As it is drawn.
    pub(crate) fn series(&self, dashed: bool) -> Series {
        let points = self.points.iter().map(|p| (p.x, p.mean, p.half_width));
        Series {
            name: self.name.clone(),
            look: crate::Look::line(dashed),
            points: points.collect(),
        }
    }
}

/// Whether two places of an axis are the same.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// The runs of one family, such as one variant of TCP.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    name: String,
    points: Vec<(f64, Replications<Measurement>)>,
}

impl Family {
    /// A line of what `metric` says of each run; runs of which it says nothing do not count.
    pub(crate) fn line(&self, metric: impl Fn(&Measurement) -> Option<f64>) -> Line {
        let estimate = |(x, runs): &(f64, Replications<Measurement>)| {
            let values: Vec<f64> = runs.iter().filter_map(|run| metric(run)).collect();
            Estimate::of(*x, &values)
        };
        Line {
            name: self.name.clone(),
            points: self.points.iter().map(estimate).collect(),
        }
    }

    /// A line of the quotient of what `metric` says of this family's run and of the other's under the same seed.
    pub(crate) fn ratio(&self, other: &Self, metric: impl Fn(&Measurement) -> Option<f64>) -> Line {
        let pairs = self.points.iter().zip(&other.points);
        let points = pairs.map(|((x, mine), (_, theirs))| {
            let quotient =
                |(a, b): (&_, &_)| Some(metric(a)? / metric(b)?).filter(|q| q.is_finite());
            let pairs = mine
                .iter()
                .zip(theirs)
                .map(|(a, b)| (a.as_ref(), b.as_ref()));
            let values: Vec<f64> = pairs.filter_map(quotient).collect();
            Estimate::of(*x, &values)
        });
        Line {
            name: format!("{} / {}", self.name, other.name),
            points: points.collect(),
        }
    }

    /// Each flow's goodput at a point, averaged over the runs.
    pub(crate) fn mean_goodputs(&self, index: usize) -> Vec<f64> {
        let Some((_, runs)) = self.points.get(index) else {
            return Vec::new();
        };
        let flows = runs.first().map_or(0, |run| foreground(run).count());
        let mean = |flow: usize| {
            let values: Vec<f64> = runs
                .iter()
                .filter_map(|run| Some(rate(run, foreground(run).nth(flow)?)))
                .collect();
            statistics::mean(&values).unwrap_or(f64::NAN)
        };
        (0..flows).map(mean).collect()
    }
}

/// Families by id, as they were measured together.
#[derive(Debug, Default)]
pub(crate) struct Families {
    families: BTreeMap<String, Family>,
    /// Replications behind every mean; the fewest.
    pub(crate) seeds: u64,
}

/// What is to be run: id and name of a family, and its scenarios along the axis.
pub(crate) type Plan = (String, String, Vec<(f64, Scenario)>);

impl Families {
    /// Runs them all together, so that no core waits for another family's end.
    pub(crate) fn measure(
        context: &Context<'_>,
        plans: Vec<Plan>,
    ) -> Result<Self, ExperimentError> {
        let mut scenarios: Vec<Scenario> = Vec::new();
        let mut shapes: Vec<(String, String, Vec<f64>)> = Vec::new();
        for (id, name, points) in plans {
            let (xs, of_points): (Vec<f64>, Vec<Scenario>) = points.into_iter().unzip();
            scenarios.extend(of_points);
            shapes.push((id, name, xs));
        }
        let mut runs = context.replicate(&scenarios)?;
        let seeds = runs.iter().map(|runs| runs.len() as u64).min().unwrap_or(0);
        let mut runs = runs.drain(..);
        let families = shapes.into_iter().map(|(id, name, xs)| {
            let points = xs.into_iter().zip(runs.by_ref()).collect();
            (id, Family { name, points })
        });
        Ok(Self {
            families: families.collect(),
            seeds,
        })
    }

    /// The family of this id.
    ///
    /// # Errors
    /// If it was not measured: a mistake in this crate.
    pub(crate) fn family(&self, id: &str) -> Result<&Family, ExperimentError> {
        let missing = || ExperimentError::Failed(format!("no family `{id}` was measured").into());
        self.families.get(id).ok_or_else(missing)
    }
}

fn foreground(run: &Measurement) -> impl Iterator<Item = &FlowResult> {
    run.flows.iter().filter(|flow| !flow.background)
}

fn rate(run: &Measurement, flow: &FlowResult) -> f64 {
    let bits = flow.delivered as f64 * f64::from(8 * SEGMENT);
    bits / run.window.as_secs_f64() / 1e6
}

/// Mean goodput of the flows whose names begin so.
pub(crate) fn goodput_of(run: &Measurement, id: &str) -> Option<f64> {
    let of_kind = |flow: &&FlowResult| {
        flow.name
            .rsplit_once('-')
            .is_some_and(|(kind, _)| kind == id)
    };
    let values: Vec<f64> = foreground(run)
        .filter(of_kind)
        .map(|flow| rate(run, flow))
        .collect();
    statistics::mean(&values)
}

/// Mean goodput of all flows.
pub(crate) fn goodput(run: &Measurement) -> Option<f64> {
    let values: Vec<f64> = foreground(run).map(|flow| rate(run, flow)).collect();
    statistics::mean(&values)
}

/// The loss events of all flows together.
pub(crate) fn loss_events(run: &Measurement) -> Confusion {
    foreground(run).fold(Confusion::default(), |mut all, flow| {
        all.merge(&flow.gaps);
        all
    })
}

/// Accuracy; none without a loss event.
pub(crate) fn accuracy(run: &Measurement) -> Option<f64> {
    loss_events(run).accuracy().map(|share| 100.0 * share)
}

/// Jain's index of the flows' goodputs.
pub(crate) fn jain(goodputs: &[f64]) -> Option<f64> {
    let sum: f64 = goodputs.iter().sum();
    let squares: f64 = goodputs.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (goodputs.len() as f64 * squares))
}

/// Jain's index of a run.
pub(crate) fn jain_of(run: &Measurement) -> Option<f64> {
    let goodputs: Vec<f64> = foreground(run).map(|flow| rate(run, flow)).collect();
    jain(&goodputs)
}

/// A panel of these lines, the last `dashed` of them dashed.
pub(crate) fn panel(
    title: &str,
    (x_label, y_label): (&str, &str),
    log_x: bool,
    lines: &[Line],
    dashed: usize,
) -> Panel {
    let solid = lines.len() - dashed.min(lines.len());
    let series = lines.iter().enumerate();
    Panel {
        title: title.into(),
        x_label: x_label.into(),
        y_label: y_label.into(),
        log_x,
        log_y: false,
        series: series
            .map(|(index, line)| line.series(index >= solid))
            .collect(),
    }
}

/// A constant along the axis of `like`.
pub(crate) fn constant(name: &str, value: f64, like: &Line) -> Line {
    let point = |point: &Estimate| Estimate {
        x: point.x,
        mean: value,
        half_width: None,
    };
    Line {
        name: name.into(),
        points: like.points.iter().map(point).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (1 + 2 + 3)²/(3·14) = 36/42.
    #[test]
    fn jain_by_hand() {
        assert_eq!(jain(&[2.0; 5]), Some(1.0));
        assert!((jain(&[1.0, 2.0, 3.0]).expect("an index") - 36.0 / 42.0).abs() < 1e-12);
        assert_eq!(jain(&[0.0]), None);
    }

    #[test]
    fn what_was_not_measured_is_lowest_and_highest() {
        let point = |mean| Estimate {
            x: 0.0,
            mean,
            half_width: None,
        };
        let line = |means: [f64; 3]| Line {
            name: String::new(),
            points: means.map(point).into(),
        };
        let hole = line([1.0, f64::NAN, 2.0]);
        assert!(hole.lowest().is_some_and(|p| p.mean.is_nan()));
        assert!(hole.highest().is_some_and(|p| p.mean.is_nan()));
        let whole = line([2.0, 1.0, 3.0]);
        assert_eq!(whole.lowest().map(|p| p.mean), Some(1.0));
        assert_eq!(whole.highest().map(|p| p.mean), Some(3.0));
    }
}
