//! Time as integer nanoseconds.
//!
//! Times are integers because Biaz's lower bound `(n+1)·T_min ≤ T_i` holds with *equality* for
//! packets sent back to back (CEN-A10). A rounding error would change the decision. All operators
//! saturate, so no timestamp from a peer can panic or wrap around.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// A point in time: nanoseconds since time zero of a clock that the caller chooses.
///
/// Clocks of two hosts may differ in their time zero, because classifiers only use differences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Time(u64);

/// A signed span of time in nanoseconds. A relative one-way trip time may be negative.
///
/// Converts from and to [`core::time::Duration`]; a negative span fails with an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct SignedDuration(i64);

/// The short name of [`SignedDuration`], for signatures. Unlike [`core::time::Duration`], it may be
/// negative.
pub type Duration = SignedDuration;

impl Time {
    /// Time zero of the clock.
    pub const ZERO: Self = Self(0);
    /// The latest time; the value of an inactive timer.
    pub const MAX: Self = Self(u64::MAX);

    /// Creates the time `nanos` nanoseconds after time zero.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Creates the time `seconds` after time zero, rounded to 1 ns; negative and NaN become time
    /// zero.
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self(libm::round(seconds * 1e9) as u64)
    }

    /// Returns the time in nanoseconds since time zero.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the time `span` after this one, or [`Time::MAX`] on overflow. Cheaper than `+`, but
    /// `span` must not be negative: otherwise the result is some later time or [`Time::MAX`].
    #[inline]
    #[must_use]
    pub const fn later(self, span: SignedDuration) -> Self {
        Self(self.0.saturating_add(span.0 as u64))
    }

    /// Returns the span since `earlier`, at most [`SignedDuration::MAX`]; zero if `earlier` is
    /// later. Cheaper than `-`.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Self) -> SignedDuration {
        let span = self.0.wrapping_sub(earlier.0) as i64;
        if self.0 >= earlier.0 && span >= 0 {
            SignedDuration(span)
        } else {
            self.since_out_of_range(earlier)
        }
    }

    #[cold]
    const fn since_out_of_range(self, earlier: Self) -> SignedDuration {
        if self.0 < earlier.0 {
            SignedDuration::ZERO
        } else {
            SignedDuration::MAX
        }
    }

    /// Returns the time in seconds since time zero.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns `self - earlier`, saturated.
    #[cold]
    fn distant_difference(self, earlier: Self) -> SignedDuration {
        let farthest = if self.0 > earlier.0 {
            i64::MAX
        } else {
            i64::MIN
        };
        SignedDuration(self.0.checked_signed_diff(earlier.0).unwrap_or(farthest))
    }
}

impl SignedDuration {
    /// The span of length zero.
    pub const ZERO: Self = Self(0);
    /// The longest span, about 292 years.
    pub const MAX: Self = Self(i64::MAX);

    /// Creates a span of `nanos` nanoseconds.
    #[inline]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Creates a span of `micros` microseconds.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// Creates a span of `millis` milliseconds.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Creates a span of `seconds` seconds.
    pub const fn from_secs(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000))
    }

    /// Creates a span of `seconds` seconds, rounded to the nanosecond; NaN becomes zero.
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self(libm::round(seconds * 1e9) as i64)
    }

    /// Returns the span in nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Returns the span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add<SignedDuration> for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: SignedDuration) -> Time {
        Time(self.0.saturating_add_signed(span.0))
    }
}

impl AddAssign<SignedDuration> for Time {
    fn add_assign(&mut self, span: SignedDuration) {
        *self = *self + span;
    }
}

impl Sub<SignedDuration> for Time {
    type Output = Time;
    #[inline]
    fn sub(self, span: SignedDuration) -> Time {
        self + -span
    }
}

impl Sub for Time {
    type Output = SignedDuration;
    /// Returns the signed span from `earlier` to `self`.
    #[inline]
    fn sub(self, earlier: Time) -> SignedDuration {
        // The difference of times below 292 years always fits.
        if i64::try_from(self.0 | earlier.0).is_ok() {
            SignedDuration(self.0 as i64 - earlier.0 as i64)
        } else {
            self.distant_difference(earlier)
        }
    }
}

impl Add for SignedDuration {
    type Output = SignedDuration;
    #[inline]
    fn add(self, other: SignedDuration) -> SignedDuration {
        SignedDuration(self.0.saturating_add(other.0))
    }
}

impl AddAssign for SignedDuration {
    fn add_assign(&mut self, other: SignedDuration) {
        *self = *self + other;
    }
}

impl Sub for SignedDuration {
    type Output = SignedDuration;
    #[inline]
    fn sub(self, other: SignedDuration) -> SignedDuration {
        SignedDuration(self.0.saturating_sub(other.0))
    }
}

impl SubAssign for SignedDuration {
    fn sub_assign(&mut self, other: SignedDuration) {
        *self = *self - other;
    }
}

impl Neg for SignedDuration {
    type Output = SignedDuration;
    #[inline]
    fn neg(self) -> SignedDuration {
        SignedDuration(self.0.saturating_neg())
    }
}

impl Mul<i64> for SignedDuration {
    type Output = SignedDuration;
    #[inline]
    fn mul(self, factor: i64) -> SignedDuration {
        SignedDuration(self.0.saturating_mul(factor))
    }
}

impl Div<i64> for SignedDuration {
    type Output = SignedDuration;
    /// # Panics
    /// Panics on division by zero, as for integers.
    #[inline]
    fn div(self, divisor: i64) -> SignedDuration {
        SignedDuration(self.0.saturating_div(divisor))
    }
}

impl From<core::time::Duration> for Time {
    /// Converts a span since time zero, such as `instant - epoch` of a standard clock. Beyond 584
    /// years it becomes [`Time::MAX`].
    fn from(since: core::time::Duration) -> Self {
        Self(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Time> for core::time::Duration {
    /// Returns the span since time zero; `epoch + time.into()` is a standard clock's instant.
    fn from(time: Time) -> Self {
        Self::from_nanos(time.0)
    }
}

impl From<core::time::Duration> for SignedDuration {
    /// Converts the span; beyond 292 years it becomes [`SignedDuration::MAX`].
    fn from(span: core::time::Duration) -> Self {
        Self(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl TryFrom<SignedDuration> for core::time::Duration {
    type Error = NegativeDuration;

    /// # Errors
    /// Returns an error if the span is negative.
    fn try_from(span: SignedDuration) -> Result<Self, NegativeDuration> {
        let nanos = u64::try_from(span.0).map_err(|_| NegativeDuration(span))?;
        Ok(Self::from_nanos(nanos))
    }
}

/// The error when a negative span is converted to [`core::time::Duration`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NegativeDuration(SignedDuration);

impl fmt::Display for NegativeDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is negative", self.0)
    }
}

impl core::error::Error for NegativeDuration {}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9} s", self.as_secs_f64())
    }
}

impl fmt::Display for SignedDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6} ms", self.0 as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_signed() {
        let (early, late) = (Time::from_nanos(5), Time::from_nanos(9));
        assert_eq!(late - early, SignedDuration::from_nanos(4));
        assert_eq!(early - late, SignedDuration::from_nanos(-4));
    }

    #[test]
    fn standard_durations_come_and_go() {
        let standard = core::time::Duration::from_millis(1500);
        assert_eq!(
            SignedDuration::from(standard),
            SignedDuration::from_millis(1500)
        );
        assert_eq!(Time::from(standard), Time::from_nanos(1_500_000_000));
        assert_eq!(core::time::Duration::from(Time::from(standard)), standard);
        assert_eq!(SignedDuration::from_millis(1500).try_into(), Ok(standard));
        let negative = SignedDuration::from_millis(-1);
        assert_eq!(
            core::time::Duration::try_from(negative),
            Err(NegativeDuration(negative))
        );
        assert_eq!(
            SignedDuration::from(core::time::Duration::MAX),
            SignedDuration::MAX
        );
        assert_eq!(Time::from(core::time::Duration::MAX), Time::MAX);
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Time::MAX + SignedDuration::from_secs(1), Time::MAX);
        assert_eq!(Time::ZERO - SignedDuration::from_secs(1), Time::ZERO);
        assert_eq!(Time::MAX - Time::ZERO, SignedDuration::MAX);
        assert_eq!(SignedDuration::MAX * 2, SignedDuration::MAX);
        assert_eq!(Time::MAX.later(SignedDuration::MAX), Time::MAX);
        assert!(Time::ZERO.later(SignedDuration::from_nanos(-1)) > Time::ZERO);
        assert_eq!(Time::MAX.since(Time::ZERO), SignedDuration::MAX);
        assert_eq!(Time::ZERO.since(Time::MAX), SignedDuration::ZERO);
        assert_eq!(Time::ZERO - Time::MAX, SignedDuration::from_nanos(i64::MIN));
    }
}
