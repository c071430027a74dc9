//! Computes means and their confidence intervals (Student, 1908).
//!
//! ```text
//! mean       x̄ = Σx / n
//! deviation  s = √( Σ(x − x̄)² / (n − 1) )
//! half width h = t_{1 − (1−c)/2, n−1} · s / √n      for confidence c, in the unit of x
//! ```
//!
//! The quantile is rounded to nine decimals, so that the platform's last bit of `ln` cannot change
//! a result.

use core::cell::Cell;

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The summary of a sample: count, mean and confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// The number of values.
    pub count: usize,
    /// The mean of the values; `None` if there are none.
    pub mean: Option<f64>,
    /// Half the width of the mean's 95 % confidence interval; `None` with fewer than two values.
    pub ci95: Option<f64>,
}

impl Summary {
    /// Returns the count, the mean and the confidence interval of these values.
    pub fn of(values: &[f64]) -> Self {
        Self {
            count: values.len(),
            mean: mean(values),
            ci95: ci95(values),
        }
    }
}

/// Returns the arithmetic mean, or `None` if there are no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns half the width of the mean's 95 % confidence interval; `None` below two values.
pub fn ci95(values: &[f64]) -> Option<f64> {
    half_width(values, 0.95)
}

/// Returns half the width of the mean's confidence interval at `confidence` (0.95, 0.975, ...).
///
/// Returns `None` below two values, or if `confidence` is outside (0, 1).
pub fn half_width(values: &[f64], confidence: f64) -> Option<f64> {
    let n = values.len();
    let t = two_sided_quantile(confidence, n.checked_sub(1)?)?;
    Some(t * standard_deviation(values)? / libm::sqrt(n as f64))
}

/// Returns the sample's standard deviation (divisor n − 1), or `None` below two values.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let degrees = values.len().checked_sub(1).filter(|&degrees| degrees > 0)?;
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    Some(libm::sqrt(squares / degrees as f64))
}

/// Returns Jain's fairness index (Jain, Chiu and Hawe, 1984), (Σx)² / (n·Σx²): 1 if all values are
/// equal, 1/n if only one is not zero. Returns `None` if no value is above zero.
pub fn jain(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

/// Returns the two-sided quantile of Student's t: the t with P(|T| ≤ t) = `confidence` for
/// `degrees` degrees of freedom.
///
/// Returns `None` if there is no degree of freedom, or if `confidence` is outside (0, 1).
pub fn two_sided_quantile(confidence: f64, degrees: usize) -> Option<f64> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    // Successive means mostly have equal counts, and the inverse dominates the cost.
    let (of, known) = LAST.get();
    if of == (confidence.to_bits(), degrees) {
        return Some(known);
    }
    let student = StudentsT::new(0.0, 1.0, degrees as f64).ok()?;
    let t = student.inverse_cdf(1.0 - (1.0 - confidence) / 2.0);
    let t = libm::round(t * 1e9) / 1e9;
    LAST.set(((confidence.to_bits(), degrees), t));
    Some(t)
}

thread_local! {
    /// The last confidence (its bits) and degrees, with their quantile.
    static LAST: Cell<((u64, usize), f64)> = const { Cell::new(((0, 0), 0.0)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three decimals of the printed table of Student's t, two-sided.
    #[test]
    fn quantiles_of_the_table() {
        for (confidence, degrees, table) in [
            (0.95, 1, 12.706),
            (0.95, 2, 4.303),
            (0.95, 9, 2.262),
            (0.95, 29, 2.045),
            (0.95, 120, 1.980),
            (0.90, 9, 1.833),
            (0.98, 9, 2.821),
            (0.99, 9, 3.250),
        ] {
            let t = two_sided_quantile(confidence, degrees).expect("a quantile");
            assert!(
                (t - table).abs() < 0.0005,
                "t({confidence}, {degrees}) = {t}"
            );
        }
    }

    /// One degree of freedom is Cauchy's distribution, t = tan(π·c/2); with two, t = c·√(2/(1−c²)).
    #[test]
    fn quantiles_in_closed_form() {
        for confidence in [0.5, 0.9, 0.95, 0.975] {
            let one = libm::tan(core::f64::consts::FRAC_PI_2 * confidence);
            let two = confidence * libm::sqrt(2.0 / (1.0 - confidence * confidence));
            for (degrees, exact) in [(1, one), (2, two)] {
                let t = two_sided_quantile(confidence, degrees).expect("a quantile");
                assert!((t - exact).abs() < 1e-7, "t({confidence}, {degrees}) = {t}");
            }
        }
    }

    /// 2, 4, 6: mean 4, s = √(8/2) = 2, h = 4.3027 · 2/√3 = 4.9683.
    #[test]
    fn interval_by_hand() {
        let values = [2.0, 4.0, 6.0];
        assert_eq!(mean(&values), Some(4.0));
        assert_eq!(standard_deviation(&values), Some(2.0));
        let h = ci95(&values).expect("three values");
        assert!((h - 4.9683).abs() < 5e-5, "{h}");
        let summary = Summary::of(&values);
        assert_eq!((summary.count, summary.mean), (3, Some(4.0)));
        assert_eq!(summary.ci95, Some(h));
    }

    /// (1 + 2 + 3)² / (3 · 14) = 36/42.
    #[test]
    fn jain_by_hand() {
        let index = jain(&[1.0, 2.0, 3.0]).expect("three values");
        assert!((index - 36.0 / 42.0).abs() < 1e-12);
        assert_eq!(jain(&[2.0; 10]), Some(1.0));
        assert_eq!((jain(&[0.0, 0.0]), jain(&[])), (None, None));
    }

    #[test]
    fn too_few_values_have_no_interval() {
        assert_eq!(mean(&[]), None);
        assert_eq!(ci95(&[]), None);
        assert_eq!(mean(&[3.0]), Some(3.0));
        assert_eq!(ci95(&[3.0]), None);
        assert_eq!(ci95(&[3.0, 3.0]), Some(0.0));
        assert_eq!(half_width(&[1.0, 2.0], 1.0), None);
    }
}
