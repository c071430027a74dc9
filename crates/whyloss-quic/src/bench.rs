//! Drives a connection with any events, for benchmarks and tests of its cost. Not part of the
//! public interface.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use whyloss::connection::Connection;
use whyloss::schemes::Scheme;

use crate::{Clock, SchemeConfig};

/// A connection with 200 packets in flight, whose peer acknowledges every second one.
#[derive(Debug)]
pub struct Acknowledgements {
    connection: Connection,
    clock: Clock,
    now: Instant,
    left: VecDeque<Instant>,
    sent: u64,
}

const MTU: u64 = 1200;
const UNDER_WAY: usize = 200;

impl Acknowledgements {
    /// Creates a connection under this scheme that began at `now`.
    pub fn new(scheme: Scheme, now: Instant) -> Self {
        let mut new = Self {
            connection: SchemeConfig::new(scheme).connection(MTU as u16),
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
        let now = self.clock.now(self.now);
        self.connection.on_sent(now, MTU, self.sent);
        self.connection.infer_window_limited();
        self.left.push_back(self.now);
        self.sent += 1;
    }

    /// Sends two packets, acknowledges two together like quinn, and returns the window in bytes.
    pub fn one(&mut self) -> u64 {
        self.send();
        self.send();
        self.acknowledge(2, false);
        self.connection.window()
    }

    /// Sends four packets, loses the oldest one and acknowledges the next three. If `named`,
    /// packets have numbers, as in noq.
    pub fn lose(&mut self, named: bool) {
        self.lose_for(named, false);
    }

    /// Reports a loss, like [`Self::lose`], as persistent congestion.
    pub fn lose_persistently(&mut self, named: bool) {
        self.lose_for(named, true);
    }

    fn lose_for(&mut self, named: bool, persistent: bool) {
        for _ in 0..4 {
            self.send();
        }
        let number = self.oldest();
        let Some(left) = self.left.pop_front() else {
            return;
        };
        self.acknowledge(3, named);
        let (now, left) = (self.clock.now(self.now), self.clock.time(left));
        if named {
            self.connection.on_packet_lost(number, MTU);
        } else {
            self.connection.on_lost_until(left, MTU);
        }
        self.connection.on_lost(now, left, persistent);
    }

    /// Reports an ECN mark, then a spurious loss event, then a larger and a smaller packet size.
    pub fn rarities(&mut self) {
        let now = self.clock.now(self.now);
        self.connection.on_marked(now, now);
        self.connection.on_spurious(now);
        self.connection.on_mtu_change(1400);
        self.connection.on_mtu_change(MTU as u32);
    }

    /// Returns the packet number of the oldest packet in flight.
    fn oldest(&self) -> u64 {
        self.sent - self.left.len() as u64
    }

    fn acknowledge(&mut self, packets: usize, named: bool) {
        let now = self.clock.now(self.now);
        for _ in 0..packets {
            let number = self.oldest();
            let Some(left) = self.left.pop_front() else {
                return;
            };
            let left = self.clock.time(left);
            if named {
                self.connection.on_acked(now, left, MTU, number);
            } else {
                self.connection.on_acked_at(now, left, MTU);
            }
        }
        let largest = self.oldest() - 1;
        self.connection.on_end_acks(now, false, Some(largest));
    }

    /// Returns the number of packets for which there is room.
    pub fn held(&self) -> usize {
        self.connection.held()
    }
}
