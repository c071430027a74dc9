//! Holds a mean over replications, as experiments compare and print it.

use core::fmt;

use crate::{CONFIDENCE, Cell, statistics};

/// A mean over seeds with its confidence interval. Missing values are NaN, so that no comparison
/// with them holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean, in the unit of the measured values.
    pub value: f64,
    /// Half the width of the mean's confidence interval (Student's t), in the unit of the mean.
    pub half_width: f64,
}

impl Mean {
    /// The mean of no values.
    pub const NONE: Self = Self {
        value: f64::NAN,
        half_width: f64::NAN,
    };

    /// Returns the mean of these values with its 95 % interval.
    pub fn of(values: &[f64]) -> Self {
        Self::with_confidence(values, CONFIDENCE)
    }

    /// Returns the mean of these values with an interval of this confidence.
    pub fn with_confidence(values: &[f64], confidence: f64) -> Self {
        Self {
            value: statistics::mean(values).unwrap_or(f64::NAN),
            half_width: statistics::half_width(values, confidence).unwrap_or(f64::NAN),
        }
    }

    /// Returns the ratio of the means of paired values. Its interval covers the errors of both means
    /// (Cochran, *Sampling Techniques*, 1977):
    ///
    /// ```text
    /// ȳ/x̄  ±  t·s/(√n·x̄)     s: deviation of yᵢ − (ȳ/x̄)·xᵢ
    /// ```
    pub fn ratio(y: &[f64], x: &[f64], confidence: f64) -> Self {
        let mean = |values: &[f64]| statistics::mean(values).unwrap_or(f64::NAN);
        let (x_mean, ratio) = (mean(x), mean(y) / mean(x));
        let residuals: Vec<f64> = x.iter().zip(y).map(|(x, y)| y - ratio * x).collect();
        let half = statistics::half_width(&residuals, confidence);
        Self {
            value: ratio,
            half_width: half.map_or(f64::NAN, |half| half / x_mean),
        }
    }

    /// Returns the mean as a table cell.
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
    /// Writes `12.3 ± 0.4`, or `none` for NaN. Small values and narrow intervals get more decimals,
    /// so that the interval shows at least one digit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.value.is_nan() {
            return f.write_str("none");
        }
        let usual = match self.value.abs() {
            value if value < 1.0 => 3,
            value if value < 10.0 => 2,
            _ => 1,
        };
        // Show the interval's first digit, with at most six decimals.
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
