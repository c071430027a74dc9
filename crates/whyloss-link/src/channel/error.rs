//! What is wrong with a channel's parameters.

use core::ops::RangeInclusive;

use thiserror::Error;

/// Why a channel cannot be what its specification says.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ChannelError {
    /// A value that its meaning does not allow.
    #[error("{name} is {value}; it must be {expected}")]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// What it was.
        value: f64,
        /// What it may be.
        expected: &'static str,
    },
    /// Burst lengths whose probabilities are not a distribution.
    #[error("the burst-length probabilities sum to {sum}; they must sum to 1")]
    BurstLengthSum {
        /// What they sum to.
        sum: f64,
    },
    /// More loss than bursts with a good packet between them can make.
    #[error(
        "loss is {loss}; with this mean burst it must be at most {limit}, since a good packet parts two bursts"
    )]
    TooMuchLoss {
        /// The loss rate asked for.
        loss: f64,
        /// The highest loss rate these bursts reach.
        limit: f64,
    },
    /// A chain that never leaves the state it is in, and so has no loss rate but 0 or 1.
    #[error(
        "stay is 1, so that every packet after a lost one is lost too; then loss must be 0 or 1, and it is {loss}"
    )]
    NeverLeaves {
        /// The loss rate asked for.
        loss: f64,
    },
    /// Slots of a channel that damages bits.
    #[error(
        "slots go with channels that lose packets, not with bit errors, which reach every bit of a packet as it is"
    )]
    SlotsOfBits,
    /// A pattern without a trial.
    #[error("the error pattern has no trial; it needs at least one")]
    NoTrial,
    /// A trial without a packet.
    #[error(
        "trial {trial} of the error pattern (counted from 1) is empty; it needs at least one packet"
    )]
    EmptyTrial {
        /// Which trial, counted from 1.
        trial: usize,
    },
    /// A trial whose packets lack times, or have some that decrease.
    #[error(
        "trial {trial} of the error pattern (counted from 1) needs a time for each packet, and times that never decrease"
    )]
    Times {
        /// Which trial, counted from 1.
        trial: usize,
    },
}

/// Refuses a `value` that is NaN or outside `range`.
pub(super) fn in_range(
    name: &'static str,
    value: f64,
    range: RangeInclusive<f64>,
    expected: &'static str,
) -> Result<(), ChannelError> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(ChannelError::OutOfRange {
        name,
        value,
        expected,
    })
}

/// Refuses what is no probability.
pub(super) fn probability(name: &'static str, value: f64) -> Result<(), ChannelError> {
    in_range(name, value, 0.0..=1.0, "a probability, in [0, 1]")
}
