//! Packets put in the order of their times.
//!
//! Captures of several queues or interfaces are written in bunches, and those of an emulator when a packet's fate is known.
//! How far packets are out of order is learnt from the capture: one that is in order waits for nothing.

use std::collections::VecDeque;

/// How far behind a packet may be and still be put in its place, ns. Farther back it is a clock that was set.
const FARTHEST: u64 = 2_000_000_000;
/// Packets that wait at most.
const WAITING: usize = 1 << 16;

/// Packets that wait for earlier ones.
#[derive(Debug)]
pub(crate) struct Order<T> {
    waiting: VecDeque<(u64, T)>,
    latest: u64,
    /// How long packets wait, ns: twice what the farthest one was behind.
    wait: u64,
    /// Packets that came behind later ones.
    pub(crate) late: u64,
    /// Times that the clock was set back.
    pub(crate) set_back: u64,
}

impl<T> Order<T> {
    pub(crate) fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            latest: 0,
            wait: 0,
            late: 0,
            set_back: 0,
        }
    }

    /// Whether a packet of that time need not wait. One that must is to be pushed.
    pub(crate) fn passes(&mut self, time: u64) -> bool {
        let behind = self.latest.saturating_sub(time);
        if (1..=FARTHEST).contains(&behind) {
            self.late += 1;
            self.wait = self.wait.max((2 * behind).min(FARTHEST));
        } else {
            self.set_back += u64::from(behind > FARTHEST);
            self.latest = time;
        }
        self.wait == 0
    }

    /// A packet waits.
    pub(crate) fn push(&mut self, time: u64, item: T) {
        // Behind those of the same time; one whose clock was set stays behind all.
        let early = |other: u64| other > time && other - time <= FARTHEST;
        let mut at = self.waiting.len();
        while at > 0 && early(self.waiting[at - 1].0) {
            at -= 1;
        }
        self.waiting.insert(at, (time, item));
    }

    /// The next packet that waits no longer.
    pub(crate) fn due(&mut self) -> Option<T> {
        let &(time, _) = self.waiting.front()?;
        let due = time.saturating_add(self.wait) <= self.latest
            || time > self.latest.saturating_add(FARTHEST)
            || self.waiting.len() > WAITING;
        due.then(|| self.waiting.pop_front().map(|(_, item)| item))?
    }

    /// The next packet, after which none will come.
    pub(crate) fn last(&mut self) -> Option<T> {
        self.waiting.pop_front().map(|(_, item)| item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What goes in, in the order in which it comes out.
    fn order(times: &[u64]) -> Vec<u64> {
        let mut order = Order::new();
        let mut out = Vec::new();
        for &time in times {
            let time = time * 1_000_000;
            if order.passes(time) {
                out.push(time);
            } else {
                order.push(time, time);
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
        let mut in_order = Order::<u64>::new();
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
        let mut clock = Order::<u64>::new();
        let _ = [9_000_000_000, 1_000_000_000].map(|time| clock.passes(time));
        assert_eq!((clock.set_back, clock.late), (1, 0));
        let out = order(&[9000, 9010, 9005, 9020, 1000, 1010, 1020, 1015]);
        assert_eq!(out, [9000, 9010, 9005, 9020, 1000, 1010, 1015, 1020]);
    }
}
