//! Time as integer nanoseconds.
//!
//! Integers, because Biaz's lower bound `(n+1)·T_min ≤ T_i` holds with *equality* when packets
//! travel back to back (CEN-A10): a rounding error would flip the answer. All operators saturate,
//! so no stamp that a peer sends can panic or wrap around.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// A point in time: nanoseconds since an epoch of the caller's choosing.
///
/// The clocks of two hosts need not share an epoch; every classifier works on differences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Time(u64);

/// A signed span of time in nanoseconds. A relative one-way trip time may be negative.
///
/// Times and spans convert from and to [`core::time`]; a negative span does not, and says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct SignedDuration(i64);

/// The short name of a [`SignedDuration`], which signatures here use. Unlike
/// [`core::time::Duration`] it may be negative.
pub type Duration = SignedDuration;

impl Time {
    /// The epoch.
    pub const ZERO: Self = Self(0);
    /// The end of time: what a timer that is not set is set to.
    pub const MAX: Self = Self(u64::MAX);

    /// `nanos` nanoseconds after the epoch.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// `seconds` after the epoch, rounded to the nanosecond; negative and NaN become the epoch.
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self(libm::round(seconds * 1e9) as u64)
    }

    /// Nanoseconds since the epoch.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the time `span` after this one, or [`Time::MAX`] if there is none. Takes fewer
    /// instructions than `+`, since the span must not be negative; a negative one comes out as
    /// [`Time::MAX`] or some other later time.
    #[inline]
    #[must_use]
    pub const fn later(self, span: SignedDuration) -> Self {
        Self(self.0.saturating_add(span.0 as u64))
    }

    /// Returns the span from an earlier time to this one, at most [`SignedDuration::MAX`]; zero
    /// from a later time. Takes fewer instructions than `-`.
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

    /// Seconds since the epoch.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl SignedDuration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(i64::MAX);

    /// A span of `nanos` nanoseconds.
    #[inline]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// A span of `micros` microseconds.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// A span of `millis` milliseconds.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// A span of `seconds` seconds.
    pub const fn from_secs(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000))
    }

    /// A span of `seconds` seconds, rounded to the nanosecond; NaN becomes zero.
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self(libm::round(seconds * 1e9) as i64)
    }

    /// Nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Seconds.
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
    /// The signed span from `earlier` to `self`.
    #[inline]
    fn sub(self, earlier: Time) -> SignedDuration {
        SignedDuration(
            self.0
                .checked_signed_diff(earlier.0)
                .unwrap_or(if self.0 > earlier.0 {
                    i64::MAX
                } else {
                    i64::MIN
                }),
        )
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
    /// On division by zero, as integers do.
    #[inline]
    fn div(self, divisor: i64) -> SignedDuration {
        SignedDuration(self.0.saturating_div(divisor))
    }
}

impl From<core::time::Duration> for Time {
    /// The point so long after the epoch: `instant - epoch` of a standard clock. Beyond 584 years
    /// it is [`Time::MAX`].
    fn from(since: core::time::Duration) -> Self {
        Self(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Time> for core::time::Duration {
    /// The span since the epoch: `epoch + time.into()` is the instant of a standard clock.
    fn from(time: Time) -> Self {
        Self::from_nanos(time.0)
    }
}

impl From<core::time::Duration> for SignedDuration {
    /// Converts the span; beyond 292 years it is [`SignedDuration::MAX`].
    fn from(span: core::time::Duration) -> Self {
        Self(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl TryFrom<SignedDuration> for core::time::Duration {
    type Error = NegativeDuration;

    /// # Errors
    /// When the span is negative, which a standard one cannot be.
    fn try_from(span: SignedDuration) -> Result<Self, NegativeDuration> {
        let nanos = u64::try_from(span.0).map_err(|_| NegativeDuration(span))?;
        Ok(Self::from_nanos(nanos))
    }
}

/// The error of a negative span where only others fit.
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
