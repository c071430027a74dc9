//! A mean over replications, as experiments compare and print it.

use core::fmt;

use crate::{CONFIDENCE, Cell, statistics};

/// A mean over the seeds and half of its 95 % interval. NaN where there is none, so that no
/// comparison with it holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean, in the unit of what was measured.
    pub value: f64,
    /// Half the width of its 95 % confidence interval (Student’s t), in the same unit.
    pub half_width: f64,
}

impl Mean {
    /// Of nothing.
    pub const NONE: Self = Self {
        value: f64::NAN,
        half_width: f64::NAN,
    };

    /// The mean of these values.
    pub fn of(values: &[f64]) -> Self {
        Self::with_confidence(values, CONFIDENCE)
    }

    /// The same with an interval of this confidence.
    pub fn with_confidence(values: &[f64], confidence: f64) -> Self {
        Self {
            value: statistics::mean(values).unwrap_or(f64::NAN),
            half_width: statistics::half_width(values, confidence).unwrap_or(f64::NAN),
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
            ..Cell::default()
        }
    }
}

impl fmt::Display for Mean {
    /// `12.3 ± 0.4`; small values show more decimals, and narrow intervals, of which a digit is to
    /// be seen. `none` of nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.value.is_nan() {
            return f.write_str("none");
        }
        let usual = match self.value.abs() {
            value if value < 1.0 => 3,
            value if value < 10.0 => 2,
            _ => 1,
        };
        // As many as the first digit of the interval has, up to six.
        let half = self.half_width;
        let shows = |decimals: &usize| half * libm::pow(10.0, *decimals as f64) >= 0.5;
        let decimals = if half > 0.0 {
            (usual..6).find(shows).unwrap_or(6)
        } else {
            usual
        };
        write!(f, "{:.decimals$}", self.value)?;
        if self.half_width.is_finite() {
            write!(f, " ± {:.decimals$}", self.half_width)?;
        }
        Ok(())
    }
}
