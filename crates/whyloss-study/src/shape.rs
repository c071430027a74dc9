//! Describes the shape of a line of means. A missing mean makes every answer NaN or `None`, so that
//! no comparison with it holds.

use crate::{Line, Mean};

impl Line {
    /// Returns the position of the highest mean; `None` if one is missing.
    pub fn peak(&self) -> Option<f64> {
        let (x, mean) = self.highest()?;
        (!mean.value.is_nan()).then_some(x)
    }

    /// Returns the position of the lowest mean; `None` if one is missing.
    pub fn trough(&self) -> Option<f64> {
        let (x, mean) = self.lowest()?;
        (!mean.value.is_nan()).then_some(x)
    }

    /// Returns the difference between the highest and lowest mean; NaN if one is missing.
    pub fn spread(&self) -> f64 {
        let ends = self.highest().zip(self.lowest());
        ends.map_or(f64::NAN, |(high, low)| high.1.value - low.1.value)
    }

    /// Fits a least-squares line to the means. Returns its slope, in the unit per unit of the axis,
    /// and R², the share of the variance that it explains.
    pub fn trend(&self) -> (f64, f64) {
        let points: Vec<(f64, f64)> = self.means().map(|(x, mean)| (x, mean.value)).collect();
        let (sxx, sxy, syy) = moments(&points);
        (sxy / sxx, sxy * sxy / (sxx * syy))
    }

    /// Returns the harmonic mean of quantities whose reciprocals are the means: n/Σ means.
    /// Propagates their intervals.
    pub fn harmonic(&self) -> Mean {
        let count = self.means().count() as f64;
        let sum = |of: fn(Mean) -> f64| self.means().map(|(_, mean)| of(mean)).sum::<f64>();
        let value = count / sum(|mean| mean.value);
        let squares = sum(|mean| mean.half_width * mean.half_width);
        Mean {
            value,
            half_width: libm::sqrt(squares) / count * value * value,
        }
    }

    /// Returns Pearson's correlation of the means with those of `other` at the same places.
    pub fn correlation(&self, other: &Self) -> f64 {
        let pairs = self
            .means()
            .map(|(x, mean)| (mean.value, other.at(x).value));
        let (sxx, sxy, syy) = moments(&pairs.collect::<Vec<_>>());
        sxy / libm::sqrt(sxx * syy)
    }
}

/// Returns Σ(x − x̄)², Σ(x − x̄)(y − ȳ) and Σ(y − ȳ)².
fn moments(points: &[(f64, f64)]) -> (f64, f64, f64) {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|point| point.0).sum::<f64>() / n;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / n;
    let sums = |(sxx, sxy, syy), (x, y)| {
        let (dx, dy) = (x - mean_x, y - mean_y);
        (sxx + dx * dx, sxy + dx * dy, syy + dy * dy)
    };
    points.iter().copied().fold((0.0, 0.0, 0.0), sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(points: &[(f64, f64)]) -> Line {
        let points = points.iter().map(|&(x, y)| (x, vec![Some(y)]));
        Line::of("", "", "", points)
    }

    #[test]
    fn by_hand() {
        // 1, 3, 2 over 4, 5, 6: the slope is 1/2, sxy = 1, and sxx = syy = 2.
        let hill = line(&[(4.0, 1.0), (5.0, 3.0), (6.0, 2.0)]);
        let (slope, r2) = hill.trend();
        assert!((slope - 0.5).abs() < 1e-12 && (r2 - 0.25).abs() < 1e-12);
        let rise = line(&[(4.0, 1.0), (5.0, 2.0), (6.0, 3.0)]);
        assert!((rise.correlation(&hill) - 0.5).abs() < 1e-12);
        assert_eq!((hill.peak(), hill.trough()), (Some(5.0), Some(4.0)));
        let hole = line(&[(4.0, 1.0), (5.0, f64::NAN)]);
        assert_eq!((hole.peak(), hole.trough()), (None, None));
        assert!(hole.trend().1.is_nan() && hole.spread().is_nan());
        assert!((hill.spread() - 2.0).abs() < 1e-12);
        // Means of 10 and 12 are a gain of 20 %.
        let both = [10.0, 12.0].map(|mean| line(&[(1.0, mean)]));
        assert!((both[1].improvement(&both[0]).at(1.0).value - 20.0).abs() < 1e-12);
    }
}
