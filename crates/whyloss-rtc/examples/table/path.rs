//! Simulates a bottleneck: its capacity, a queue, other traffic, jitter, and a channel that loses
//! packets.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::sync::Arc;
use whyloss_rtc::Cause;

/// How the channel loses packets.
#[derive(Clone, Debug)]
pub(crate) enum Channel {
    /// Loses no packet.
    Clean,
    /// Loses every n-th packet before the queue, as rtc-interceptor's bench does.
    Nth(u32),
    /// Loses this share of packets, independently of each other.
    Random(f64),
    /// Loses this share of packets in total, in bursts of this mean length in packets.
    Bursts(f64, f64),
    /// Repeats a recording, in which true means arrived.
    Recorded(Arc<[bool]>),
}

/// When the queue is full.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Full {
    /// Full at this many waiting bits.
    Waiting(f64),
    /// Full at this many bits since the queue was last empty, as rtc-interceptor's bench counts.
    SinceEmpty(f64),
}

/// Other traffic on the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cross {
    None,
    /// A constant rate in bit/s that is alternately on and off for this many seconds.
    OnOff(f64, f64),
}

/// A path. Times are in seconds, rates in bit/s.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) propagation: f64,
    pub(crate) capacity: f64,
    /// The time of a change of the capacity, and the factor of the change.
    pub(crate) step: Option<(f64, f64)>,
    pub(crate) full: Full,
    pub(crate) channel: Channel,
    /// The largest extra delay, drawn uniformly per packet; packets stay in order.
    pub(crate) jitter: f64,
    pub(crate) cross: Cross,
}

impl Path {
    /// Creates a path with a one-way delay of 20 ms and a queue of one second.
    pub(crate) fn new(capacity: f64) -> Self {
        Self {
            propagation: 0.020,
            capacity,
            step: None,
            full: Full::Waiting(capacity),
            channel: Channel::Clean,
            jitter: 0.0,
            cross: Cross::None,
        }
    }

    pub(crate) fn capacity_at(&self, at: f64) -> f64 {
        match self.step {
            Some((from, factor)) if at >= from => self.capacity * factor,
            _ => self.capacity,
        }
    }

    fn cross_at(&self, at: f64) -> f64 {
        match self.cross {
            Cross::OnOff(rate, period) if (at / period) as u64 % 2 == 1 => rate,
            _ => 0.0,
        }
    }

    /// Returns the capacity that the other traffic leaves at `at`, in bit/s.
    pub(crate) fn left_at(&self, at: f64) -> f64 {
        self.capacity_at(at) - self.cross_at(at)
    }
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage {
    /// When the other end receives or misses the packet.
    pub(crate) at: f64,
    /// The seconds in the queue, without the packet's own transmission.
    pub(crate) waited: f64,
    pub(crate) lost: Option<Cause>,
}

/// The state of a path.
pub(crate) struct Bottleneck {
    path: Path,
    random: Xoshiro256PlusPlus,
    free: f64,
    since_empty: f64,
    offered: u32,
    bad: bool,
    place: usize,
    cross: f64,
    cross_bits: f64,
    last: f64,
}

const CROSS_PACKET: f64 = 9_600.0;

impl Bottleneck {
    pub(crate) fn new(path: Path, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let place = match &path.channel {
            Channel::Recorded(bits) => random.next_u64() as usize % bits.len(),
            _ => 0,
        };
        Self {
            path,
            random,
            free: 0.0,
            since_empty: 0.0,
            offered: 0,
            bad: false,
            place,
            cross: 0.0,
            cross_bits: 0.0,
            last: 0.0,
        }
    }

    fn draw(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Puts bits into the queue. Returns when they have left; `None` if the queue is full.
    fn queue(&mut self, now: f64, bits: f64) -> Option<f64> {
        if self.free <= now {
            self.since_empty = 0.0;
        }
        let capacity = self.path.capacity_at(now);
        let full = match self.path.full {
            Full::Waiting(most) => (self.free - now).max(0.0) * capacity + bits > most,
            Full::SinceEmpty(most) => self.since_empty + bits > most,
        };
        if full {
            return None;
        }
        self.since_empty += bits;
        self.free = self.free.max(now) + bits / capacity;
        Some(self.free)
    }

    /// Adds the other traffic that is due before `now`.
    fn others(&mut self, now: f64) {
        while self.cross < now {
            self.cross_bits += self.path.cross_at(self.cross) * 1e-3;
            if self.cross_bits >= CROSS_PACKET {
                self.cross_bits -= CROSS_PACKET;
                let _ = self.queue(self.cross, CROSS_PACKET);
            }
            self.cross += 1e-3;
        }
    }

    fn corrupted(&mut self) -> bool {
        match self.path.channel.clone() {
            Channel::Clean | Channel::Nth(_) => false,
            Channel::Random(share) => self.draw() < share,
            Channel::Bursts(share, length) => {
                let leave = 1.0 / length;
                let enter = leave * share / (1.0 - share);
                let turn = if self.bad { leave } else { enter };
                self.bad ^= self.draw() < turn;
                self.bad
            }
            Channel::Recorded(bits) => {
                self.place = (self.place + 1) % bits.len();
                !bits[self.place]
            }
        }
    }

    /// Sends a packet of `bits` bits at `now`.
    pub(crate) fn offer(&mut self, now: f64, bits: f64) -> Passage {
        self.others(now);
        self.offered += 1;
        let refused = |cause| Passage {
            at: now,
            waited: 0.0,
            lost: Some(cause),
        };
        if let Channel::Nth(n) = self.path.channel
            && self.offered.is_multiple_of(n)
        {
            return refused(Cause::Wireless);
        }
        let Some(left) = self.queue(now, bits) else {
            return refused(Cause::Congestion);
        };
        let waited = left - now - bits / self.path.capacity_at(now);
        let extra = self.path.jitter * self.draw();
        let lost = self.corrupted().then_some(Cause::Wireless);
        self.last = self.last.max(left + self.path.propagation + extra);
        Passage {
            at: self.last,
            waited,
            lost,
        }
    }
}
