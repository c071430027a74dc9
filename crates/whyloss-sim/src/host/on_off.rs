//! An on/off source: exponential bursts at a constant rate, and exponential pauses (ns-2's `Traffic/Expoo`).

use whyloss::{Duration, Rate, Time};
use whyloss_link::Random;

/// An on/off source at work.
#[derive(Clone, Debug)]
pub(crate) struct OnOff {
    spacing: Duration,
    burst: Duration,
    idle: Duration,
    random: Random,
    next: Time,
    burst_ends: Time,
    sequence: u64,
}

impl OnOff {
    /// A source that starts with a pause at `start`.
    pub(crate) fn new(
        rate: Rate,
        burst: Duration,
        idle: Duration,
        size: u32,
        start: Time,
        random: Random,
    ) -> Self {
        let spacing = rate.transmission_time(size);
        let mut source = Self {
            spacing,
            burst,
            idle,
            random,
            next: start,
            burst_ends: start,
            sequence: 0,
        };
        source.pause(start);
        source
    }

    /// When the next packet is due.
    pub(crate) fn next_timeout(&self) -> Time {
        self.next
    }

    /// The number of the packet that is due at `now`, if one is.
    pub(crate) fn poll(&mut self, now: Time) -> Option<u64> {
        if self.next > now {
            return None;
        }
        self.sequence += 1;
        let next = self.next + self.spacing;
        if next < self.burst_ends {
            self.next = next;
        } else {
            self.pause(next);
        }
        Some(self.sequence - 1)
    }

    /// A pause from `at`, then a burst of at least one packet.
    fn pause(&mut self, at: Time) {
        let mut exponential =
            |mean: Duration| Duration::from_secs_f64(self.random.exponential(mean.as_secs_f64()));
        self.next = at + exponential(self.idle);
        self.burst_ends = self.next + exponential(self.burst);
    }
}
