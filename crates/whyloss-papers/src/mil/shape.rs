//! What claims ask of a list of means. A NaN (a mean that does not exist) makes every answer NaN, so that no comparison
//! with it holds.

/// The least-squares line through (xᵢ, yᵢ): its slope, and R², the share of the variance of y that it explains.
pub(crate) fn line(xs: &[u32], ys: &[f64]) -> (f64, f64) {
    let n = xs.len() as f64;
    let mean_x = xs.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
    let mean_y = ys.iter().sum::<f64>() / n;
    let (mut sxx, mut sxy, mut syy) = (0.0, 0.0, 0.0);
    for (&x, y) in xs.iter().zip(ys) {
        let (dx, dy) = (f64::from(x) - mean_x, y - mean_y);
        sxx += dx * dx;
        sxy += dx * dy;
        syy += dy * dy;
    }
    (sxy / sxx, sxy * sxy / (sxx * syy))
}

/// Pearson's correlation.
pub(crate) fn correlation(xs: &[f64], ys: &[f64]) -> f64 {
    let n = xs.len() as f64;
    let (mean_x, mean_y) = (xs.iter().sum::<f64>() / n, ys.iter().sum::<f64>() / n);
    let (mut sxx, mut sxy, mut syy) = (0.0, 0.0, 0.0);
    for (x, y) in xs.iter().zip(ys) {
        let (dx, dy) = (x - mean_x, y - mean_y);
        sxx += dx * dx;
        sxy += dx * dy;
        syy += dy * dy;
    }
    sxy / libm::sqrt(sxx * syy)
}

/// The x at which y is largest; `None` if some y does not exist.
pub(crate) fn peak(xs: &[u32], ys: &[f64]) -> Option<u32> {
    if ys.iter().any(|y| y.is_nan()) {
        return None;
    }
    let pairs = xs.iter().zip(ys);
    pairs.max_by(|a, b| a.1.total_cmp(b.1)).map(|(&x, _)| x)
}

/// The x at which y is smallest; `None` if some y does not exist.
pub(crate) fn trough(xs: &[u32], ys: &[f64]) -> Option<u32> {
    let negated: Vec<f64> = ys.iter().map(|y| -y).collect();
    peak(xs, &negated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // 1, 3, 2 over 1, 2, 3: slope 1/2, sxy = 1, sxx = syy = 2.
        let (slope, r2) = line(&[1, 2, 3], &[1.0, 3.0, 2.0]);
        assert!((slope - 0.5).abs() < 1e-12 && (r2 - 0.25).abs() < 1e-12);
        assert!((correlation(&[1.0, 2.0, 3.0], &[1.0, 3.0, 2.0]) - 0.5).abs() < 1e-12);
        assert_eq!(peak(&[4, 5, 6], &[1.0, 3.0, 2.0]), Some(5));
        assert_eq!(trough(&[4, 5, 6], &[1.0, 3.0, 2.0]), Some(4));
        assert_eq!(peak(&[4, 5], &[1.0, f64::NAN]), None);
        assert!(line(&[1, 2], &[f64::NAN, 1.0]).1.is_nan());
    }
}
