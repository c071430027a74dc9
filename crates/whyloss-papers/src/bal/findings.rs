//! What runs give: a line per TCP, a list of values per point, one for each seed; and how lines compare, seed by seed.

use whyloss_sim::{Measurement, Scenario};

use super::stack::PACKET;
use crate::experiment::{Context, ExperimentError};
use crate::mean::Mean;
use crate::replicate::Replications;
use crate::{Cell, Panel, Series};

/// One line of a figure.
#[derive(Clone, Debug)]
struct Line {
    id: &'static str,
    name: &'static str,
    /// For each x, the values of the seeds, in their order.
    values: Vec<Vec<f64>>,
}

/// The lines of a figure over the same x.
#[derive(Clone, Debug)]
pub(crate) struct Findings {
    pub(crate) xs: Vec<f64>,
    lines: Vec<Line>,
}

/// What the axes of a figure mean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axes {
    pub(crate) x: &'static str,
    pub(crate) log_x: bool,
    pub(crate) y: &'static str,
    /// Of y, for cells.
    pub(crate) unit: &'static str,
}

impl Findings {
    /// No line yet.
    pub(crate) fn new(xs: &[f64]) -> Self {
        Self {
            xs: xs.into(),
            lines: Vec::new(),
        }
    }

    /// Adds a line: for each x the values of the seeds.
    pub(crate) fn insert(&mut self, id: &'static str, name: &'static str, values: Vec<Vec<f64>>) {
        self.lines.push(Line { id, name, values });
    }

    /// The values of the seeds at the `index`-th x; none if there is no such line.
    pub(crate) fn values(&self, id: &str, index: usize) -> &[f64] {
        let line = self.lines.iter().find(|line| line.id == id);
        let values = line.and_then(|line| line.values.get(index));
        values.map_or(&[], Vec::as_slice)
    }

    /// The mean at the `index`-th x.
    pub(crate) fn mean(&self, id: &str, index: usize) -> Mean {
        Mean::of(self.values(id, index))
    }

    /// How much one line is above another at the `index`-th x, in per cent of the other, seed by seed.
    pub(crate) fn gain(&self, id: &str, over: &str, index: usize) -> Mean {
        Mean::of(&gains(self.values(id, index), self.values(over, index)))
    }

    /// Every x with its index.
    pub(crate) fn points(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.xs.iter().copied().enumerate()
    }

    /// The index of an x.
    pub(crate) fn index(&self, x: f64) -> usize {
        let found = self.points().find(|&(_, other)| (other - x).abs() < 1e-9);
        found.map_or(usize::MAX, |(index, _)| index)
    }

    /// `x: mean ± half width` at every x: the evidence behind a claim.
    pub(crate) fn evidence(&self, value: impl Fn(usize) -> Mean) -> String {
        let parts: Vec<String> = self
            .points()
            .map(|(index, x)| format!("{x}: {}", value(index)))
            .collect();
        parts.join(", ")
    }

    /// Every point as a cell.
    pub(crate) fn cells(&self, row: &str, axes: Axes) -> Vec<Cell> {
        let mut cells = Vec::new();
        for line in &self.lines {
            for (index, x) in self.points() {
                cells.push(Cell {
                    x: Some(x),
                    ..self.mean(line.id, index).cell(row, line.name, axes.unit)
                });
            }
        }
        cells
    }

    /// All lines in one pair of axes.
    pub(crate) fn panel(&self, title: &str, axes: Axes) -> Panel {
        let series = self.lines.iter().map(|line| Series {
            name: line.name.into(),
            look: crate::Look::line(line.id == "fair"),
            points: self
                .points()
                .map(|(index, x)| (x, self.mean(line.id, index)))
                .filter(|(_, mean)| mean.value.is_finite())
                .map(|(x, mean)| (x, mean.value, Some(mean.half_width).filter(|h| !h.is_nan())))
                .collect(),
        });
        Panel {
            title: title.into(),
            x_label: axes.x.into(),
            y_label: axes.y.into(),
            log_x: axes.log_x,
            log_y: false,
            series: series.collect(),
        }
    }
}

/// How much each value is above that of the same seed, in per cent.
pub(crate) fn gains(values: &[f64], over: &[f64]) -> Vec<f64> {
    let gain = |(value, over): (&f64, &f64)| 100.0 * (value / over - 1.0);
    values.iter().zip(over).map(gain).collect()
}

/// The measurements of every scenario, and how many replications the least has.
pub(crate) fn run(
    context: &Context<'_>,
    scenarios: &[Scenario],
) -> Result<(Vec<Replications<Measurement>>, u64), ExperimentError> {
    let runs = context.replicate(scenarios)?;
    let seeds = runs.iter().map(Vec::len).min().unwrap_or(0) as u64;
    Ok((runs, seeds))
}

/// Bits of new data per second that reached the sinks of the foreground flows whose name begins with `prefix`, in
/// Mbit/s, flow by flow.
pub(crate) fn goodputs(run: &Measurement, prefix: &str) -> Vec<f64> {
    let bits_per_packet = f64::from(8 * PACKET);
    run.flows
        .iter()
        .filter(|flow| !flow.background && flow.name.starts_with(prefix))
        .map(|flow| flow.delivered as f64 * bits_per_packet / run.window.as_secs_f64() / 1e6)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_paired() {
        let mut findings = Findings::new(&[0.1, 1.0]);
        findings.insert("reno", "Reno", vec![vec![1.0, 2.0], vec![1.0, 1.0]]);
        findings.insert("balde", "BaLDE", vec![vec![1.5, 3.0], vec![]]);
        // Seed by seed both are 50 % above, whatever the seeds' own spread.
        let gain = findings.gain("balde", "reno", findings.index(0.1));
        assert_eq!((gain.value, gain.half_width), (50.0, 0.0));
        assert_eq!(gain.to_string(), "50.0 ± 0.0");
        // What was not measured decides nothing.
        assert!(findings.gain("balde", "reno", 1).value.is_nan());
        assert!(findings.mean("nobody", 0).value.is_nan());
        assert!(findings.mean("reno", findings.index(7.0)).value.is_nan());
    }
}
