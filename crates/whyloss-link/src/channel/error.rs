//! The errors of channel parameters.

use core::ops::RangeInclusive;

use thiserror::Error;

/// Explains why a channel's specification is invalid.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ChannelError {
    /// A value is outside its permitted range.
    #[error("{name} is {value}; it must be {expected}")]
    OutOfRange {
        /// The name of the parameter.
        name: &'static str,
        /// The given value.
        value: f64,
        /// The permitted range, in words.
        expected: &'static str,
    },
    /// The probabilities of the burst lengths do not sum to 1.
    #[error("the burst-length probabilities sum to {sum}; they must sum to 1")]
    BurstLengthSum {
        /// The sum of the probabilities.
        sum: f64,
    },
    /// The loss rate is higher than bursts separated by one good packet can reach.
    #[error(
        "loss is {loss}; with this mean burst it must be at most {limit}, since a good packet parts two bursts"
    )]
    TooMuchLoss {
        /// The requested loss rate, as a share of packets.
        loss: f64,
        /// The highest loss rate that these bursts reach, as a share of packets.
        limit: f64,
    },
    /// The chain never leaves its state, so its loss rate must be 0 or 1.
    #[error(
        "stay is 1, so every packet after a lost one is lost; loss must then be 0 or 1, not {loss}"
    )]
    NeverLeaves {
        /// The requested loss rate, as a share of packets.
        loss: f64,
    },
    /// Slots were requested for a channel that damages bits.
    #[error(
        "slots need a channel that loses packets; bit errors reach every bit of a packet without them"
    )]
    SlotsOfBits,
    /// The pattern has no trial.
    #[error("the error pattern has no trial; it needs at least one")]
    NoTrial,
    /// A trial has no packet.
    #[error(
        "trial {trial} of the error pattern (counted from 1) is empty; it needs at least one packet"
    )]
    EmptyTrial {
        /// The trial's number, counted from 1.
        trial: usize,
    },
    /// A packet of a trial has no time, or the times decrease.
    #[error(
        "trial {trial} of the error pattern (counted from 1) needs a time for each packet, and times that never decrease"
    )]
    Times {
        /// The trial's number, counted from 1.
        trial: usize,
    },
}

impl ChannelError {
    /// Checks a parameter of a channel, inside or outside this crate.
    ///
    /// # Errors
    /// Returns [`Self::OutOfRange`] if `value` is NaN or outside `range`.
    pub fn in_range(
        name: &'static str,
        value: f64,
        range: RangeInclusive<f64>,
        expected: &'static str,
    ) -> Result<(), Self> {
        if range.contains(&value) {
            return Ok(());
        }
        Err(Self::OutOfRange {
            name,
            value,
            expected,
        })
    }
}

/// Rejects a `value` that is not a probability.
pub(super) fn probability(name: &'static str, value: f64) -> Result<(), ChannelError> {
    ChannelError::in_range(name, value, 0.0..=1.0, "a probability, in [0, 1]")
}
