//! What an acknowledgement costs, for the benchmarks. Not part of the interface.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use whyloss::scheme::Scheme;
use whyloss::sender::Classifier;

use crate::adapter::Adapter;
use crate::{Clock, SchemeConfig};

/// A connection with 200 packets under way, whose peer acknowledges every second one.
#[derive(Debug)]
pub struct Acknowledgements {
    adapter: Adapter<Classifier>,
    clock: Clock,
    now: Instant,
    left: VecDeque<Instant>,
    sent: u64,
}

const MTU: u64 = 1200;
const UNDER_WAY: usize = 200;

impl Acknowledgements {
    /// A connection under this scheme, which began at `now`.
    pub fn new(scheme: Scheme, now: Instant) -> Self {
        let mut new = Self {
            adapter: SchemeConfig::new(scheme).adapter(MTU as u16),
            clock: Clock::new(now),
            now,
            left: VecDeque::with_capacity(2 * UNDER_WAY),
            sent: 0,
        };
        for _ in 0..UNDER_WAY {
            new.send();
        }
        new
    }

    fn send(&mut self) {
        self.now += Duration::from_micros(500);
        let now = self.clock.time(self.now);
        self.adapter.on_sent(now, MTU, self.sent);
        self.adapter.infer_window_limited();
        self.left.push_back(self.now);
        self.sent += 1;
    }

    /// Two packets leave, and two are acknowledged together, as quinn tells it. Gives the window.
    pub fn one(&mut self) -> u64 {
        self.send();
        self.send();
        let now = self.clock.time(self.now);
        for _ in 0..2 {
            if let Some(left) = self.left.pop_front() {
                self.adapter.on_ack(now, self.clock.time(left), MTU);
            }
        }
        let largest = self.sent - UNDER_WAY as u64 - 1;
        self.adapter.on_end_acks(now, false, Some(largest));
        self.adapter.window()
    }

    /// Packets for which there is room.
    pub fn held(&self) -> usize {
        self.adapter.held()
    }
}
