//! A mean over replications, as experiments compare and print it.

use core::fmt;

use crate::Cell;
use crate::statistics::Summary;

/// A mean over the seeds and half of its 95 % interval. NaN where there is none, so that no comparison with it holds.
#[derive(Clone, Copy, Debug)]
pub struct Mean {
    /// The mean, in the unit of what was measured.
    pub value: f64,
    /// Half the width of its 95 % confidence interval (Student’s t), in the same unit.
    pub half_width: f64,
}

impl Mean {
    /// The mean of these values.
    pub fn of(values: &[f64]) -> Self {
        let Summary { mean, ci95, .. } = Summary::of(values);
        Self {
            value: mean.unwrap_or(f64::NAN),
            half_width: ci95.unwrap_or(f64::NAN),
        }
    }

    /// As a cell of a table.
    pub fn cell(self, row: &str, column: &str, unit: &'static str) -> Cell {
        let finite = |value: f64| value.is_finite().then_some(value);
        Cell {
            row: row.into(),
            column: column.into(),
            x: None,
            unit,
            paper: None,
            mean: finite(self.value),
            half_width: finite(self.half_width),
            tolerance: None,
        }
    }
}

impl fmt::Display for Mean {
    /// `12.3 ± 0.4`; small values show more decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = match self.value.abs() {
            value if value < 1.0 => 3,
            value if value < 10.0 => 2,
            _ => 1,
        };
        write!(f, "{:.decimals$}", self.value)?;
        if self.half_width.is_finite() {
            write!(f, " ± {:.decimals$}", self.half_width)?;
        }
        Ok(())
    }
}
