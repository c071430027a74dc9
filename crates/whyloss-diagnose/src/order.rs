//! Sorts packets by time, and holds back as few as possible.
//!
//! Captures of several queues or interfaces arrive in bunches, and an emulator writes a packet when
//! its fate is known. The sorter learns from the capture how far packets are out of order. In an
//! ordered capture, no packet waits.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::steps::step;

/// The largest lag in ns at which a packet is still sorted. A larger lag means that the clock was
/// set back.
const FARTHEST: u64 = 2_000_000_000;
/// The maximum number of waiting packets.
const WAITING: usize = 1 << 16;

/// Holds packets back until earlier ones have arrived.
#[derive(Debug)]
pub(crate) struct Order<T> {
    waiting: BinaryHeap<Reverse<Waiting<T>>>,
    /// The number of times that the clock was set back, and the number of packets so far: the sort
    /// key before and after the time.
    run: u64,
    came: u64,
    /// The latest time of this run.
    end: u64,
    latest: u64,
    /// The time in ns for which packets wait: twice the largest lag so far.
    wait: u64,
    /// The bytes of the waiting packets, and the limit on them.
    bytes: usize,
    limit: usize,
    /// The number of packets that came after later ones, and the largest lag in ns.
    pub(crate) late: u64,
    pub(crate) lag: u64,
    /// The number of times that the clock was set back.
    pub(crate) set_back: u64,
    /// The number of packets released too early at the memory limit.
    pub(crate) early: u64,
}

#[derive(Debug)]
struct Waiting<T> {
    /// The run, the time, and the index of arrival.
    key: (u64, u64, u64),
    bytes: usize,
    item: T,
}

impl<T> Ord for Waiting<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        step(1);
        self.key.cmp(&other.key)
    }
}

impl<T> PartialOrd for Waiting<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Waiting<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<T> Eq for Waiting<T> {}

impl<T> Order<T> {
    /// Creates an order in which waiting packets take at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            waiting: BinaryHeap::new(),
            run: 0,
            came: 0,
            end: 0,
            latest: 0,
            wait: 0,
            bytes: 0,
            limit,
            late: 0,
            lag: 0,
            set_back: 0,
            early: 0,
        }
    }

    /// Returns whether a packet of this time can pass without waiting. If not, [`push`](Self::push)
    /// it.
    pub(crate) fn passes(&mut self, time: u64) -> bool {
        let behind = self.latest.saturating_sub(time);
        if (1..=FARTHEST).contains(&behind) {
            self.late += 1;
            self.lag = self.lag.max(behind);
            self.wait = (2 * self.lag).min(FARTHEST);
        } else {
            self.set_back += u64::from(behind > FARTHEST);
            self.latest = time;
        }
        self.wait == 0
    }

    /// Adds a packet of `bytes` bytes, which waits.
    pub(crate) fn push(&mut self, time: u64, bytes: usize, item: T) {
        // The packet goes after those of the same time, or after all if the clock was set back.
        if self.waiting.is_empty() {
            self.end = 0;
        } else if self.end > time.saturating_add(FARTHEST) {
            (self.run, self.end) = (self.run + 1, 0);
        }
        self.end = self.end.max(time);
        self.came += 1;
        self.bytes += bytes;
        let key = (self.run, time, self.came);
        self.waiting.push(Reverse(Waiting { key, bytes, item }));
    }

    /// Returns the next packet whose wait is over.
    pub(crate) fn due(&mut self) -> Option<T> {
        let (_, time, _) = self.waiting.peek()?.0.key;
        let due = time.saturating_add(self.wait) <= self.latest
            || time > self.latest.saturating_add(FARTHEST)
            || self.waiting.len() > WAITING;
        let crowded = !due && self.bytes > self.limit;
        self.early += u64::from(crowded);
        (due || crowded).then(|| self.last())?
    }

    /// Returns the next packet at the end of the input, in order.
    pub(crate) fn last(&mut self) -> Option<T> {
        let Reverse(first) = self.waiting.pop()?;
        self.bytes -= first.bytes;
        Some(first.item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the times in the order of release.
    fn order(times: &[u64]) -> Vec<u64> {
        let mut order = Order::new(usize::MAX);
        let mut out = Vec::new();
        for &time in times {
            let time = time * 1_000_000;
            if order.passes(time) {
                out.push(time);
            } else {
                order.push(time, 1, time);
            }
            while let Some(time) = order.due() {
                out.push(time);
            }
        }
        out.extend(std::iter::from_fn(|| order.last()));
        out.iter().map(|time| time / 1_000_000).collect()
    }

    #[test]
    fn what_is_in_order_waits_for_nothing() {
        let mut in_order = Order::<u64>::new(usize::MAX);
        assert!((0..100).all(|time| in_order.passes(time) && in_order.due().is_none()));
        assert_eq!(in_order.late, 0);
    }

    #[test]
    fn after_the_first_that_is_late_all_are_in_order() {
        let out = order(&[1, 5, 4, 7, 6, 20, 21, 19, 30, 29, 60]);
        assert_eq!(out, [1, 5, 4, 6, 7, 19, 20, 21, 29, 30, 60]);
    }

    #[test]
    fn a_clock_that_is_set_back_holds_nothing_up() {
        let mut clock = Order::<u64>::new(usize::MAX);
        let _ = [9_000_000_000, 1_000_000_000].map(|time| clock.passes(time));
        assert_eq!((clock.set_back, clock.late), (1, 0));
        let _ = [9_000_000_000, 8_990_000_000, 8_970_000_000].map(|time| clock.passes(time));
        assert_eq!((clock.late, clock.lag), (2, 30_000_000));
        let out = order(&[9000, 9010, 9005, 9020, 1000, 1010, 1020, 1015]);
        assert_eq!(out, [9000, 9010, 9005, 9020, 1000, 1010, 1015, 1020]);
    }

    /// For any times, the order is that of a list that is searched from its end.
    #[test]
    fn any_times_come_out_as_from_a_list() {
        let mut state = 7_u64;
        let mut draw = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..300 {
            let (mut order, mut list) = (Order::new(usize::MAX), Vec::<(u64, u64)>::new());
            let (mut now, mut out) = (5_000_000_000_u64, Vec::new());
            for number in 0..200 {
                now = match draw(30) {
                    0 => now.saturating_sub(2_500_000_000),
                    1 => now + 2_200_000_000,
                    _ => now + draw(50_000_000),
                };
                let time = now.saturating_sub(draw(40) * draw(50_000_000));
                if order.passes(time) {
                    continue;
                }
                order.push(time, 1, number);
                let early = |other: u64| other > time && other - time <= FARTHEST;
                let at = list.iter().rposition(|&(other, _)| !early(other));
                list.insert(at.map_or(0, |at| at + 1), (time, number));
                while let Some(due) = order.due() {
                    assert_eq!(list.remove(0).1, due);
                    out.push(due);
                }
            }
            while let Some(last) = order.last() {
                assert_eq!(list.remove(0).1, last);
            }
            assert!(list.is_empty());
        }
    }

    #[test]
    fn packets_that_all_belong_before_the_others_take_steps_in_proportion() {
        crate::steps::assert_linear(10_000, 40, |many| {
            let mut order = Order::new(usize::MAX);
            order.passes(many);
            for time in (0..many).rev() {
                order.passes(time);
                order.push(time, 1, time);
            }
            while order.last().is_some() {}
        });
    }

    #[test]
    fn packets_that_wait_have_a_limit_of_memory() {
        let mut order = Order::new(1000);
        let _ = [2_000_000_000, 1].map(|time| order.passes(time));
        for time in 0..100 {
            order.push(1_000_000_000 + time, 100, time);
            while order.due().is_some() {}
        }
        assert_eq!((order.bytes, order.early), (1000, 90));
    }
}
