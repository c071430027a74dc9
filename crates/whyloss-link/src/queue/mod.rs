//! The queue of a link: first in, first out, with a limit, and a discipline that says who is refused.
//!
//! A FIFO link serves packets in the order they came at a known rate, so the moment a packet will start transmission is
//! known when it is admitted: a packet waits until then, and no event is needed to take it out. [DropTail](Discipline::DropTail) refuses
//! what finds no room; [RED](RedSpec) refuses some packets before that.

mod drop_tail;
mod red;

use whyloss::{Duration, Rate, Time};

use drop_tail::DropTail;
pub(crate) use red::Red;

pub use red::RedSpec;

use crate::random::Random;

/// How much may wait, *not* counting the packet in transmission.
///
/// ns-2's DropTail refuses the packet that would bring its queue *to* `limit_`, so its `queue-limit` of n is
/// `Packets(n - 1)` here. Its RED admits that packet: there n is `Packets(n)`.
///
/// A packet that finds the link idle does not wait, so no limit applies to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// No bound.
    #[default]
    Unlimited,
    /// So many packets.
    Packets(u32),
    /// So many bytes on the wire, headers included: a packet enters if those that wait and it come to no more than that.
    /// A small packet may find room where a larger one, refused before it, did not.
    Bytes(u64),
}

/// Who is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Discipline {
    /// What finds no room.
    #[default]
    DropTail,
    /// What finds no room, and before that packets drawn at random by the mean queue.
    Red(RedSpec),
}

/// What a scenario says about a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueSpec {
    /// How much may wait.
    pub limit: Limit,
    /// Who is refused.
    pub discipline: Discipline,
}

impl QueueSpec {
    /// A DropTail queue with this limit.
    pub const fn drop_tail(limit: Limit) -> Self {
        Self {
            limit,
            discipline: Discipline::DropTail,
        }
    }
}

/// A queue at work.
#[derive(Clone, Debug)]
pub struct Queue {
    line: DropTail,
    red: Option<Box<Red>>,
}

impl Queue {
    /// An empty queue of a link with this rate and delay; RED draws from `random`.
    pub fn new(spec: &QueueSpec, rate: Rate, delay: Duration, random: Random) -> Self {
        Self {
            line: DropTail::new(spec.limit),
            red: match &spec.discipline {
                Discipline::DropTail => None,
                Discipline::Red(spec) => Some(Box::new(Red::new(spec, rate, delay, random))),
            },
        }
    }

    /// Whether the discipline needs [`Queue::refuses`] to be asked about every packet.
    pub fn is_selective(&self) -> bool {
        self.red.is_some()
    }

    /// Whether the discipline refuses a packet of `size` bytes that arrives at `now`, at a link that has sent all
    /// before it by `free`. Times never decrease.
    pub fn refuses(&mut self, now: Time, free: Time, size: u32) -> bool {
        let Some(red) = &mut self.red else {
            return false;
        };
        self.line.start_due(now);
        let room = free <= now || self.line.has_room(size);
        let length = if red.counts_bytes() {
            self.line.bytes()
        } else {
            u64::from(self.line.packets())
        };
        red.refuses(now, free, length, size, room)
    }

    /// When a packet of `size` bytes that arrives at `now` starts its `transmission`, at a link that has sent all before it
    /// by `free`; `None` if there is no room. Times never decrease.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    pub fn enter(
        &mut self,
        now: Time,
        free: Time,
        size: u32,
        transmission: Duration,
    ) -> Option<Time> {
        self.line.enter(now, free, size, transmission)
    }

    /// Packets waiting at `now`.
    pub fn len(&mut self, now: Time) -> usize {
        self.line.start_due(now);
        self.line.packets() as usize
    }

    /// Whether a packet of `size` bytes would find room, as of the last time asked about.
    #[inline]
    pub(crate) fn has_room(&self, size: u32) -> bool {
        self.line.has_room(size)
    }
}
