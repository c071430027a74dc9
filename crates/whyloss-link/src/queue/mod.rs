//! The queue of a link: first in, first out, with a limit, and a discipline that says who is refused.
//!
//! A FIFO link serves packets in the order they came at a known rate, so the moment a packet will start transmission is
//! known when it is admitted: a packet waits until then, and no event is needed to take it out. DropTail refuses what finds no room; [RED](RedSpec) refuses some packets before that.

mod red;

use std::collections::VecDeque;

use whyloss::{Duration, Rate, Time};

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

/// A queue at work: the packets that are waiting, each until it starts transmission. There is no gap between two of
/// them, so it is enough to know when the first starts and how long each takes; most are of one size, so they are
/// counted in runs.
#[derive(Clone, Debug)]
pub struct Queue {
    limit: Limit,
    /// When the first packet starts transmission.
    start: Time,
    /// The packets at the front.
    front: Run,
    /// Packets behind the front, if they are of other sizes.
    behind: VecDeque<Run>,
    packets: u32,
    bytes: u64,
    red: Option<Box<Red>>,
}

/// Packets of one size in a row.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    count: u32,
    size: u32,
    /// The transmission time of each.
    transmission: Duration,
}

impl Queue {
    /// An empty queue of a link with this rate and delay; RED draws from `random`.
    pub fn new(spec: &QueueSpec, rate: Rate, delay: Duration, random: Random) -> Self {
        Self {
            limit: spec.limit,
            start: Time::ZERO,
            front: Run::default(),
            behind: VecDeque::new(),
            packets: 0,
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
        let (packets, bytes) = (u64::from(self.packets), self.bytes);
        self.red.as_mut().is_some_and(|red| {
            let length = if red.counts_bytes() { bytes } else { packets };
            red.refuses(now, free, length, size, room)
        })
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
        if free <= now {
            return Some(now);
        }
        self.start_due(now);
        if !self.has_room(size) {
            return None;
        }
        if self.packets == 0 {
            self.start = free;
            self.front.size = size;
            self.front.transmission = transmission;
        }
        self.packets += 1;
        self.bytes += u64::from(size);
        if self.front.size == size && self.behind.is_empty() {
            self.front.count += 1;
        } else {
            self.enter_behind(size, transmission);
        }
        Some(free)
    }

    /// Counts a packet that is not of the size of those at the front.
    #[inline(never)]
    fn enter_behind(&mut self, size: u32, transmission: Duration) {
        match self.behind.back_mut() {
            Some(run) if run.size == size => run.count += 1,
            _ => self.behind.push_back(Run {
                count: 1,
                size,
                transmission,
            }),
        }
    }

    /// Packets waiting at `now`.
    pub fn len(&mut self, now: Time) -> usize {
        self.start_due(now);
        self.packets as usize
    }

    /// Whether a packet of `size` bytes would find room, as of the last time asked about.
    #[inline]
    pub(crate) fn has_room(&self, size: u32) -> bool {
        match self.limit {
            Limit::Unlimited => true,
            Limit::Packets(limit) => self.packets < limit,
            Limit::Bytes(limit) => self.bytes + u64::from(size) <= limit,
        }
    }

    /// Lets go of every packet that has started transmission by `now`.
    #[inline]
    fn start_due(&mut self, now: Time) {
        while self.packets > 0 && self.start <= now {
            self.start = self.start.later(self.front.transmission);
            self.packets -= 1;
            self.bytes -= u64::from(self.front.size);
            self.front.count -= 1;
            if self.front.count == 0
                && let Some(run) = self.behind.pop_front()
            {
                self.front = run;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random::Streams;

    /// A byte takes 1 µs.
    const RATE: Rate = Rate::from_mbps(8);

    fn micros(micros: u64) -> Time {
        Time::from_nanos(micros * 1_000)
    }

    /// A queue and when its link is free.
    struct Line {
        queue: Queue,
        free: Time,
    }

    impl Line {
        fn new(limit: Limit) -> Self {
            let random = Streams::new(1).stream("queue", 0);
            Self {
                queue: Queue::new(&QueueSpec::drop_tail(limit), RATE, Duration::ZERO, random),
                free: Time::ZERO,
            }
        }

        /// Whether a packet finds room.
        fn offer(&mut self, now: Time, size: u32) -> bool {
            let transmission = RATE.transmission_time(size);
            let start = self.queue.enter(now, self.free, size, transmission);
            if let Some(start) = start {
                assert_eq!(start, self.free.max(now));
                self.free = start + transmission;
            }
            start.is_some()
        }
    }

    /// ELA-10: an infinite buffer.
    #[test]
    fn without_a_limit_nothing_is_refused() {
        let mut line = Line::new(Limit::Unlimited);
        assert!((0..100_000).all(|_| line.offer(Time::ZERO, 1_024)));
        assert_eq!(line.queue.len(Time::ZERO), 99_999);
        assert_eq!(line.free, micros(102_400_000));
        assert_eq!(line.queue.len(micros(102_400_000 - 1_024)), 0);
    }

    /// ELA-11: 50 000 bytes are 48 packets of 1024 (49 152 bytes), beside the one in transmission, and 848 bytes more.
    #[test]
    fn fifty_thousand_bytes_by_hand() {
        let mut line = Line::new(Limit::Bytes(50_000));
        let admitted = (0..100).filter(|_| line.offer(Time::ZERO, 1_024)).count();
        assert_eq!(admitted, 1 + 48);
        assert!(!line.offer(Time::ZERO, 849));
        assert!(line.offer(Time::ZERO, 40));
        assert!(line.offer(Time::ZERO, 808));
        assert!(!line.offer(Time::ZERO, 1));
        // The first of those that wait starts at 1024 µs, and leaves room for one like it.
        assert!(!line.offer(micros(1_023), 1_024));
        assert!(line.offer(micros(1_024), 1_024));
        assert!(!line.offer(micros(1_024), 1));
    }

    #[test]
    fn an_idle_link_takes_more_than_may_wait() {
        for limit in [Limit::Bytes(1_000), Limit::Packets(0)] {
            let mut line = Line::new(limit);
            assert!(line.offer(Time::ZERO, 1_500));
            assert!(!line.offer(micros(1_499), 1_500));
            assert!(line.offer(micros(1_500), 1_500));
        }
    }

    proptest! {
        /// Against a list of all that was ever admitted.
        #[test]
        fn limits_hold(
            limit in prop_oneof![
                Just(Limit::Unlimited),
                (0u32..20).prop_map(Limit::Packets),
                (0u64..20_000).prop_map(Limit::Bytes),
            ],
            offers in prop::collection::vec((0u64..2_000, prop_oneof![1u32..1_500, Just(700)]), 1..300),
        ) {
            let mut line = Line::new(limit);
            let mut admitted: Vec<(Time, u32)> = Vec::new();
            let mut now = Time::ZERO;
            for (gap, size) in offers {
                now += Duration::from_micros(gap as i64);
                let waiting = || admitted.iter().filter(|&&(start, _)| start > now);
                let (packets, bytes) = (waiting().count(), waiting().map(|&(_, size)| u64::from(size)).sum::<u64>());
                let room = line.free <= now || match limit {
                    Limit::Unlimited => true,
                    Limit::Packets(limit) => packets < limit as usize,
                    Limit::Bytes(limit) => bytes + u64::from(size) <= limit,
                };
                prop_assert_eq!(line.queue.len(now), packets);
                let start = line.free.max(now);
                prop_assert_eq!(line.offer(now, size), room);
                if room {
                    admitted.push((start, size));
                }
            }
        }
    }
}
