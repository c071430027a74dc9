//! A link: queue, then rate, then channel, then delay.

use whyloss::{Cause, Duration, Rate, Time};

use crate::channel::{Channel, ChannelSpec};
use crate::queue::{Queue, QueueSpec};
use crate::random::Random;

/// What a scenario says about a link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkSpec {
    /// How fast bits leave.
    pub rate: Rate,
    /// From the last bit's departure to its arrival.
    pub delay: Duration,
    /// Where packets wait.
    pub queue: QueueSpec,
    /// What corrupts them.
    pub channel: ChannelSpec,
    /// Corrupt packets before the queue, so that they use none of the link's time. ns-2 scripts do both; the
    /// default, after transmission, is what a radio does.
    pub channel_before_queue: bool,
}

/// What becomes of a packet offered to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives whole at the far end at this time.
    Delivered(Time),
    /// It is lost, for this reason, at this time: on arrival at a full queue, or when its last bit left.
    Lost(Cause, Time),
}

/// A link at work.
#[derive(Clone, Debug)]
pub struct Link {
    rate: Rate,
    delay: Duration,
    queue: Queue,
    channel: Channel,
    channel_before_queue: bool,
    /// When the last admitted packet's last bit leaves.
    busy_until: Time,
    /// The last size asked about and its transmission time: most packets of a link are of one size.
    transmission: (u32, Duration),
}

impl Link {
    /// An idle link, whose channel draws from `random`.
    pub fn new(spec: &LinkSpec, random: Random) -> Self {
        Self {
            rate: spec.rate,
            delay: spec.delay,
            queue: Queue::new(&spec.queue),
            channel: spec.channel.build(random),
            channel_before_queue: spec.channel_before_queue,
            busy_until: Time::ZERO,
            transmission: (0, Duration::ZERO),
        }
    }

    /// Offers a packet of `size` bytes at `now` and says what becomes of it. Times never decrease.
    #[inline]
    pub fn offer(&mut self, now: Time, size: u32) -> Fate {
        if self.channel_before_queue && self.channel.corrupts(now, size) {
            return Fate::Lost(Cause::Wireless, now);
        }
        let start = if self.busy_until > now {
            if !self.queue.has_room(now, size) {
                return Fate::Lost(Cause::Congestion, now);
            }
            self.queue.admit(self.busy_until, size);
            self.busy_until
        } else {
            now
        };
        let departure = start + self.transmission_time(size);
        self.busy_until = departure;
        if !self.channel_before_queue && self.channel.corrupts(departure, size) {
            return Fate::Lost(Cause::Wireless, departure);
        }
        Fate::Delivered(departure + self.delay)
    }

    /// Packets waiting at `now`, not counting the one in transmission.
    pub fn queue_len(&mut self, now: Time) -> usize {
        self.queue.len(now)
    }

    #[inline]
    fn transmission_time(&mut self, size: u32) -> Duration {
        if self.transmission.0 != size {
            self.transmission = (size, self.rate.transmission_time(size));
        }
        self.transmission.1
    }
}
