//! Channels: the error model of a link.
//!
//! A channel is asked about each packet at the time its last bit leaves (a corrupted packet has used the link's time),
//! in the order of departure. It never looks at anything but that time, the packet's size and its own random stream.

use whyloss::Time;

use crate::random::Random;

/// What a scenario says about a channel; [`ChannelSpec::build`] makes the state machine.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum ChannelSpec {
    /// Corrupts nothing.
    #[default]
    None,
    /// Each packet is lost independently.
    Bernoulli {
        /// Probability of loss, in [0, 1].
        loss: f64,
    },
}

impl ChannelSpec {
    /// The channel, drawing from `random`.
    pub fn build(&self, random: Random) -> Channel {
        match *self {
            Self::None => Channel::None,
            Self::Bernoulli { loss } => Channel::Bernoulli { loss, random },
        }
    }
}

/// A channel at work.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Channel {
    /// See [`ChannelSpec::None`].
    None,
    /// See [`ChannelSpec::Bernoulli`].
    Bernoulli {
        /// Probability of loss.
        loss: f64,
        /// Its stream.
        random: Random,
    },
}

impl Channel {
    /// Whether the packet of `size` bytes whose last bit leaves at `at` is corrupted. Times never decrease.
    #[inline]
    pub fn corrupts(&mut self, at: Time, size: u32) -> bool {
        let _ = (at, size);
        match self {
            Self::None => false,
            Self::Bernoulli { loss, random } => random.chance(*loss),
        }
    }
}
