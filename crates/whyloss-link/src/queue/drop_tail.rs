//! DropTail: first in, first out; a packet that finds no room is dropped.
//!
//! A FIFO link serves packets in the order they came at a known rate, so the moment a packet will start transmission is
//! known when it is admitted. The queue therefore holds those moments alone: a packet waits until then, and no event
//! is needed to take it out.

use std::collections::VecDeque;

use whyloss::Time;

/// How much may wait, *not* counting the packet in transmission.
///
/// ns-2's DropTail refuses the packet that would bring its queue *to* `limit_`, so its `queue-limit` of n is
/// `Packets(n - 1)` here.
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

/// What a scenario says about a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSpec {
    /// How much may wait.
    pub limit: Limit,
}

/// A DropTail queue at work: the packets that are waiting, each until it starts transmission.
#[derive(Clone, Debug)]
pub struct Queue {
    limit: Limit,
    waiting: VecDeque<(Time, u32)>,
    bytes: u64,
}

impl Queue {
    /// An empty queue.
    pub fn new(spec: &QueueSpec) -> Self {
        Self {
            limit: spec.limit,
            waiting: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Whether a packet of `size` bytes that arrives at `now` finds room. Times never decrease.
    #[inline]
    pub fn has_room(&mut self, now: Time, size: u32) -> bool {
        self.start_due(now);
        match self.limit {
            Limit::Unlimited => true,
            Limit::Packets(limit) => self.waiting.len() < limit as usize,
            Limit::Bytes(limit) => self.bytes + u64::from(size) <= limit,
        }
    }

    /// Admits a packet that will start transmission at `start`.
    #[inline]
    pub fn admit(&mut self, start: Time, size: u32) {
        self.waiting.push_back((start, size));
        self.bytes += u64::from(size);
    }

    /// Packets waiting at `now`.
    pub fn len(&mut self, now: Time) -> usize {
        self.start_due(now);
        self.waiting.len()
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
