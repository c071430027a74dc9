//! What claims ask of a list of means. A NaN (a mean that does not exist) makes every answer NaN, so that no comparison
//! with it holds.

/// The base classifiers, in the order of Table 2.
pub(crate) const BASE: [&str; 4] = ["biaz", "mbiaz", "spike", "zigzag"];
/// Numbers of flows of the figures (CEN-19).
pub(crate) const FLOWS: [usize; 8] = [1, 2, 4, 6, 8, 10, 12, 16];
/// Numbers of flows above one.
pub(crate) const SEVERAL: [usize; 7] = [2, 4, 6, 8, 10, 12, 16];

/// A value at each number of flows.
pub(crate) fn over(flows: &[usize], value: impl Fn(usize) -> f64) -> Vec<f64> {
    flows.iter().map(|&n| value(n)).collect()
}

/// Mean of these values.
pub(crate) fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The smallest and the largest.
pub(crate) fn range(values: &[f64]) -> (f64, f64) {
    // `f64::min` would drop a NaN.
    if values.iter().any(|value| value.is_nan()) {
        return (f64::NAN, f64::NAN);
    }
    let ends = (f64::INFINITY, f64::NEG_INFINITY);
    values.iter().fold(ends, |(low, high), &value| {
        (low.min(value), high.max(value))
    })
}

/// How far apart they are.
pub(crate) fn spread(values: &[f64]) -> f64 {
    let (low, high) = range(values);
    high - low
}

/// Whether they rise strictly.
pub(crate) fn rising(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[0] < pair[1])
}

/// Whether two means differ by at most `limit`. Two that do not exist are alike; one that does not is not.
pub(crate) fn alike(a: f64, b: f64, limit: f64) -> bool {
    (a.is_nan() && b.is_nan()) || (a - b).abs() <= limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_exist_decides_nothing() {
        let hole = [1.0, f64::NAN, 2.0];
        assert!(spread(&hole).is_nan() && average(&hole).is_nan());
        assert!(!rising(&hole));
        assert!(!alike(1.0, f64::NAN, 5.0) && alike(f64::NAN, f64::NAN, 5.0));
    }

    #[test]
    fn by_hand() {
        assert_eq!(range(&[3.0, 1.0, 2.0]), (1.0, 3.0));
        assert!((average(&over(&[1, 2], |n| n as f64)) - 1.5).abs() < 1e-12);
        assert!(rising(&[1.0, 2.0]) && !rising(&[1.0, 1.0]));
        assert!(alike(1.0, 2.0, 1.0) && !alike(1.0, 2.5, 1.0));
    }
}
