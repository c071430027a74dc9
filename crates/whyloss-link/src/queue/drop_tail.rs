//! DropTail: a FIFO queue that drops packets that do not fit.
//!
//! At a fixed rate, packets follow each other without a gap ([`DropTail::enter`]). At the
//! opportunities of a trace, each packet has an explicit start time ([`DropTail::enter_at`]).

use std::collections::VecDeque;

use whyloss::{Duration, Time};

use super::Limit;

/// The packets that wait for transmission. Only the start of the first one and the time from each
/// start to the next are stored. Most packets have the same size, so the queue counts them in runs.
#[derive(Clone, Debug)]
pub(crate) struct DropTail {
    limit: Limit,
    /// When the first packet starts transmission.
    start: Time,
    /// The packets at the front.
    front: Run,
    /// The runs behind the front.
    behind: VecDeque<Run>,
    packets: u32,
    bytes: u64,
    /// The start of the last packet that was added with an explicit start time.
    last_start: Time,
}

/// A run of consecutive packets of one size.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    count: u32,
    size: u32,
    /// The time from the start of each packet to the next: its transmission time if there are no
    /// gaps.
    transmission: Duration,
}

impl DropTail {
    /// Returns a queue without packets.
    pub(crate) fn new(limit: Limit) -> Self {
        Self {
            limit,
            start: Time::ZERO,
            front: Run::default(),
            behind: VecDeque::new(),
            packets: 0,
            bytes: 0,
            last_start: Time::ZERO,
        }
    }

    /// Returns the number of waiting packets at the time of the last query.
    pub(crate) fn packets(&self) -> u32 {
        self.packets
    }

    /// Returns the number of waiting bytes at the time of the last query.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns when a packet of `size` bytes that arrives at `now` starts its `transmission`;
    /// `None` if there is no room. The link will have sent all earlier packets by `free`. Times
    /// must not decrease.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    pub(crate) fn enter(
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

    /// Adds a packet of `size` bytes that fits. Its transmission begins at `start`, which must not
    /// decrease.
    pub(crate) fn enter_at(&mut self, start: Time, size: u32) {
        let alone = Run {
            count: 1,
            size,
            transmission: Duration::ZERO,
        };
        if self.packets == 0 {
            (self.start, self.front) = (start, alone);
        } else {
            let last = self.behind.back_mut().unwrap_or(&mut self.front);
            last.transmission = start - self.last_start;
            self.behind.push_back(alone);
        }
        self.last_start = start;
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    /// Counts a packet behind those at the front.
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

    /// Returns whether a packet of `size` bytes would have fitted at the time of the last query.
    #[inline]
    pub(crate) fn has_room(&self, size: u32) -> bool {
        match self.limit {
            Limit::Unlimited => true,
            Limit::Packets(limit) => self.packets < limit,
            Limit::Bytes(limit) => self.bytes + u64::from(size) <= limit,
        }
    }

    /// Removes every packet that has started transmission by `now`.
    #[inline]
    pub(crate) fn start_due(&mut self, now: Time) {
        while self.packets > 0 && self.start <= now {
            self.start = self.start.later(self.front.transmission);
            self.packets -= 1;
            self.bytes -= u64::from(self.front.size);
            self.front.count -= 1;
            if self.front.count == 0 && self.packets > 0 {
                self.bring_forward();
            }
        }
    }

    /// Moves the packets behind the front to the front.
    #[cold]
    #[inline(never)]
    fn bring_forward(&mut self) {
        self.front = self.behind.pop_front().unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use whyloss::Rate;

    use super::*;

    /// A byte takes 1 µs.
    const RATE: Rate = Rate::from_mbps(8);

    fn micros(micros: u64) -> Time {
        Time::from_nanos(micros * 1_000)
    }

    /// A queue, and the time when its link becomes free.
    struct Line {
        queue: DropTail,
        free: Time,
    }

    impl Line {
        fn new(limit: Limit) -> Self {
            Self {
                queue: DropTail::new(limit),
                free: Time::ZERO,
            }
        }

        /// Returns the number of packets that wait at `now`.
        fn len(&mut self, now: Time) -> usize {
            self.queue.start_due(now);
            self.queue.packets() as usize
        }

        /// Offers a packet and returns whether it finds room.
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
        assert_eq!(line.len(Time::ZERO), 99_999);
        assert_eq!(line.free, micros(102_400_000));
        assert_eq!(line.len(micros(102_400_000 - 1_024)), 0);
    }

    /// ELA-11: besides the packet in transmission, 50 000 bytes hold 48 packets of 1024 bytes, and
    /// 848 bytes more.
    #[test]
    fn fifty_thousand_bytes_by_hand() {
        let mut line = Line::new(Limit::Bytes(50_000));
        let admitted = (0..100).filter(|_| line.offer(Time::ZERO, 1_024)).count();
        assert_eq!(admitted, 1 + 48);
        assert!(!line.offer(Time::ZERO, 849));
        assert!(line.offer(Time::ZERO, 40));
        assert!(line.offer(Time::ZERO, 808));
        assert!(!line.offer(Time::ZERO, 1));
        // The first waiting packet starts at 1024 µs and leaves room for one of its size.
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
        /// The limits hold for any packets, compared with a list of all admitted packets.
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
                prop_assert_eq!(line.len(now), packets);
                let start = line.free.max(now);
                prop_assert_eq!(line.offer(now, size), room);
                if room {
                    admitted.push((start, size));
                }
            }
        }
    }
}
