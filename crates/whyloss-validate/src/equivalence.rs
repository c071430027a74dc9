//! Equivalence of two means by two one-sided tests (Schuirmann 1987) with Welch's standard error
//! (1947).
//!
//! ```text
//! d    x̄ − ȳ
//! se   √(a + b),  a = s_x²/n_x,  b = s_y²/n_y            b = 0 for a closed form
//! ν    (a + b)² / (a²/(n_x − 1) + b²/(n_y − 1))
//! I    d ± t_{0.95, ν}·se                                both tests at 5 %, so an interval at 90 %
//!
//! equivalent   I inside [−margin, margin]
//! different    I outside [−margin, margin], on one side of it
//! undecided    I contains an end of the margin: more replications would decide
//! ```
//!
//! Two means that differ significantly are still equivalent if the difference is surely below the
//! margin. Two means that do not differ significantly are undecided if the difference may be above
//! the margin.

use statrs::distribution::{ContinuousCDF, StudentsT};
use whyloss_study::statistics;

/// The level of each of the two tests.
pub const LEVEL: f64 = 0.05;

/// A mean with the deviation and size of its sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean of the sample.
    pub mean: f64,
    /// The sample's standard deviation; 0 for an exact value.
    pub deviation: f64,
    /// The number of values in the sample; 0 for a value that is known exactly.
    pub count: usize,
}

impl Estimate {
    /// Returns the estimate from these values; `None` for fewer than two.
    pub fn of(values: &[f64]) -> Option<Self> {
        Some(Self {
            mean: statistics::mean(values)?,
            deviation: statistics::standard_deviation(values)?,
            count: values.len(),
        })
    }

    /// Returns the estimate of a value that is known exactly.
    pub const fn exact(mean: f64) -> Self {
        Self {
            mean,
            deviation: 0.0,
            count: 0,
        }
    }

    /// Returns half the width of the 95 % confidence interval of the mean; `None` for an exact
    /// value.
    pub fn half_width(&self) -> Option<f64> {
        let t = statistics::two_sided_quantile(0.95, self.count.checked_sub(1)?)?;
        Some(t * libm::sqrt(self.variance()))
    }

    /// Returns the variance of the mean.
    fn variance(&self) -> f64 {
        match self.count {
            0 => 0.0,
            n => self.deviation * self.deviation / n as f64,
        }
    }
}

/// The relation of two means, for a margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The difference is within the margin, with 95 % confidence on either side.
    Equivalent,
    /// The difference is beyond the margin: the interval is outside.
    Different,
    /// The interval contains an end of the margin; more replications would decide.
    Undecided,
}

impl Verdict {
    /// Returns the verdict as a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Equivalent => "equivalent",
            Self::Different => "different",
            Self::Undecided => "undecided",
        }
    }
}

/// A difference of means and half the width of its 90 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The mean of ours minus the mean of theirs.
    pub mean: f64,
    /// Half the width of the 90 % interval.
    pub half_width: f64,
}

impl Difference {
    /// Returns the difference `ours` − `theirs` with its 90 % interval.
    pub fn between(ours: &Estimate, theirs: &Estimate) -> Self {
        let (a, b) = (ours.variance(), theirs.variance());
        let share = |variance: f64, count: usize| {
            let degrees = count.saturating_sub(1).max(1) as f64;
            variance * variance / degrees
        };
        let error = libm::sqrt(a + b);
        let half_width = if error > 0.0 {
            let degrees = (a + b) * (a + b) / (share(a, ours.count) + share(b, theirs.count));
            quantile(degrees) * error
        } else {
            0.0
        };
        Self {
            mean: ours.mean - theirs.mean,
            half_width,
        }
    }

    /// Returns the verdict under this margin, which has the unit of the means.
    pub fn verdict(&self, margin: f64) -> Verdict {
        let distance = self.mean.abs();
        if distance + self.half_width <= margin {
            Verdict::Equivalent
        } else if distance - self.half_width > margin {
            Verdict::Different
        } else {
            // This includes a difference of NaN.
            Verdict::Undecided
        }
    }
}

/// Returns t with P(T ≤ t) = 1 − [`LEVEL`] for `degrees` degrees of freedom, rounded to nine
/// decimals.
fn quantile(degrees: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees).map_or(f64::NAN, |student| {
        libm::round(student.inverse_cdf(1.0 - LEVEL) * 1e9) / 1e9
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 5e-4, "{a} {b}");
    }

    /// Compares 9, 10, 11 with 11, 13, 15. The variances of the means are 1/3 and 4/3, so se =
    /// √(5/3) = 1.29099 and ν = (5/3)²/((1/9 + 16/9)/2) = 2.94118. The value t_{0.95} is 2.920 for
    /// two degrees of freedom, 2.353 for three, and 2.3764 for ν.
    #[test]
    fn welch_by_hand() {
        let ours = Estimate::of(&[9.0, 10.0, 11.0]).expect("three values");
        let theirs = Estimate::of(&[11.0, 13.0, 15.0]).expect("three values");
        let difference = Difference::between(&ours, &theirs);
        close(difference.mean, -3.0);
        let t = difference.half_width / 1.290_994;
        assert!((2.353..2.42).contains(&t), "{t}");
        // The table has 2.353 for exactly three degrees of freedom.
        close(quantile(3.0), 2.3534);
    }

    /// A closed form has no error, so only ours counts: 9, 10, 11 has se 0.57735, and t_{0.95, 2} =
    /// 2.9200.
    #[test]
    fn one_sample_by_hand() {
        let ours = Estimate::of(&[9.0, 10.0, 11.0]).expect("three values");
        let difference = Difference::between(&ours, &Estimate::exact(10.5));
        close(difference.mean, -0.5);
        close(difference.half_width, 1.6859);
        close(ours.half_width().expect("an interval"), 2.4841);
        assert_eq!(Estimate::exact(1.0).half_width(), None);
    }

    #[test]
    fn the_interval_decides() {
        let difference = |mean, half_width| Difference { mean, half_width };
        for (mean, half_width, verdict) in [
            (0.0, 0.9, Verdict::Equivalent),
            (0.5, 0.4, Verdict::Equivalent),
            (-0.5, 0.6, Verdict::Undecided),
            // The difference is not significant, but the means are not equivalent either.
            (0.0, 1.1, Verdict::Undecided),
            (1.5, 0.6, Verdict::Undecided),
            (1.7, 0.6, Verdict::Different),
            (-1.7, 0.6, Verdict::Different),
            (f64::NAN, 0.6, Verdict::Undecided),
        ] {
            assert_eq!(difference(mean, half_width).verdict(1.0), verdict, "{mean}");
        }
    }

    #[test]
    fn what_does_not_vary_is_decided_by_its_difference() {
        let ours = Estimate::of(&[10.0, 10.0]).expect("two values");
        let difference = Difference::between(&ours, &Estimate::exact(10.0));
        assert_eq!(difference.verdict(0.0), Verdict::Equivalent);
        let difference = Difference::between(&ours, &Estimate::exact(11.0));
        assert_eq!(difference.verdict(0.5), Verdict::Different);
    }

    #[test]
    fn too_few_values_have_no_estimate() {
        assert_eq!(Estimate::of(&[1.0]), None);
    }
}
