//! The queue of a link: first in, first out, with a limit, and a discipline that says who is refused.
//!
//! A FIFO link serves packets in the order they came at a known rate, so the moment a packet will start transmission is
//! known when it is admitted. The queue therefore holds those moments alone: a packet waits until then, and no event
//! is needed to take it out. DropTail refuses what finds no room; [RED](RedSpec) refuses some packets before that.

mod red;

use std::collections::VecDeque;

use whyloss::{Duration, Rate, Time};

use red::Red;

pub use red::RedSpec;

use crate::random::Random;

/// How much may wait, *not* counting the packet in transmission.
///
/// ns-2's DropTail refuses the packet that would bring its queue *to* `limit_`, so its `queue-limit` of n is
/// `Packets(n - 1)` here. Its RED admits that packet: there n is `Packets(n)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// No bound.
    #[default]
    Unlimited,
    /// Packets.
    Packets(u32),
    /// Bytes.
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

/// A queue at work: the packets that are waiting, each until it starts transmission.
#[derive(Clone, Debug)]
pub struct Queue {
    limit: Limit,
    waiting: VecDeque<(Time, u32)>,
    bytes: u64,
    red: Option<Box<Red>>,
}

impl Queue {
    /// An empty queue of a link with this rate and delay; RED draws from `random`.
    pub fn new(spec: &QueueSpec, rate: Rate, delay: Duration, random: Random) -> Self {
        Self {
            limit: spec.limit,
            waiting: VecDeque::new(),
            bytes: 0,
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
        self.start_due(now);
        let room = free <= now || self.has_room(size);
        let (packets, bytes) = (self.waiting.len() as u64, self.bytes);
        self.red.as_mut().is_some_and(|red| {
            let length = if red.counts_bytes() { bytes } else { packets };
            red.refuses(now, free, length, size, room)
        })
    }

    /// When a packet of `size` bytes that arrives at `now` starts transmission, at a link that has sent all before it
    /// by `free`; `None` if there is no room. Times never decrease.
    #[inline]
    pub fn enter(&mut self, now: Time, free: Time, size: u32) -> Option<Time> {
        if free <= now {
            return Some(now);
        }
        self.start_due(now);
        if !self.has_room(size) {
            return None;
        }
        self.waiting.push_back((free, size));
        self.bytes += u64::from(size);
        Some(free)
    }

    /// Packets waiting at `now`.
    pub fn len(&mut self, now: Time) -> usize {
        self.start_due(now);
        self.waiting.len()
    }

    #[inline]
    fn has_room(&self, size: u32) -> bool {
        match self.limit {
            Limit::Unlimited => true,
            Limit::Packets(limit) => self.waiting.len() < limit as usize,
            Limit::Bytes(limit) => self.bytes + u64::from(size) <= limit,
        }
    }

    /// Lets go of every packet that has started transmission by `now`.
    #[inline]
    fn start_due(&mut self, now: Time) {
        while let Some(&(start, size)) = self.waiting.front() {
            if start > now {
                break;
            }
            self.waiting.pop_front();
            self.bytes -= u64::from(size);
        }
    }
}
