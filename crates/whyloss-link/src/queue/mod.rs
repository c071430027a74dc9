//! The queue of a link: first in, first out, with a limit and a discipline that decides which
//! packets are dropped.
//!
//! A FIFO link serves packets in order at a known rate. The start of a packet's transmission is
//! therefore known when the packet is admitted. No event is needed to remove the packet from the
//! queue. [DropTail](Discipline::DropTail) drops packets that find no room; [RED](RedSpec) and
//! [PIE](PieSpec) drop some packets earlier. [CoDel](CodelSpec) and [FQ-CoDel](FqCodelSpec) decide
//! as packets leave, so they need an [`EventLink`](crate::EventLink).

mod codel;
mod drop_tail;
mod fq_codel;
mod pie;
mod red;

use whyloss::{Duration, Rate, Time};

use codel::{Codel, Line};
pub(crate) use drop_tail::DropTail;
use fq_codel::FqCodel;
use pie::Pie;
pub(crate) use red::Red;

pub use codel::CodelSpec;
pub(crate) use codel::Waiting;
pub use fq_codel::{FqCodelSpec, QUEUES};
pub use pie::PieSpec;
pub use red::RedSpec;

use crate::random::Random;

/// Limits the packets that may wait, *not* counting the packet in transmission.
///
/// ns-2's DropTail drops the packet that would bring its queue *to* `limit_`, so its `queue-limit`
/// of n is `Packets(n - 1)` here. Its RED admits that packet: there n is `Packets(n)`.
///
/// A packet that finds the link idle does not wait, so no limit applies to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// Any number of packets may wait.
    #[default]
    Unlimited,
    /// At most this many packets may wait.
    Packets(u32),
    /// At most this many bytes on the wire may wait, headers included. A packet enters if the
    /// waiting bytes and its own do not exceed the limit. A small packet may therefore fit where a
    /// larger one does not.
    Bytes(u64),
}

/// Names the rule by which a queue drops packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Discipline {
    /// Drops a packet that finds no room.
    #[default]
    DropTail,
    /// Also drops packets at random, with a probability that grows with the mean queue.
    Red(RedSpec),
    /// Also drops packets at random, with a probability that follows the queueing delay.
    Pie(PieSpec),
    /// Drops packets as they leave, when the queueing delay has been above its target for an
    /// interval.
    Codel(CodelSpec),
    /// Runs CoDel in a queue for each flow.
    FqCodel(FqCodelSpec),
}

impl Discipline {
    /// Returns whether the discipline marks ECN-capable packets.
    pub fn marks(&self) -> bool {
        match self {
            Self::DropTail => false,
            Self::Red(spec) => spec.ecn,
            Self::Pie(spec) => spec.ecn,
            Self::Codel(spec) => spec.ecn,
            Self::FqCodel(spec) => spec.codel.ecn,
        }
    }
}

/// The decision of a discipline about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The packet enters if there is room.
    Admit,
    /// The packet is dropped.
    Drop,
    /// An ECN-capable packet is marked and enters if there is room; another packet is dropped.
    Mark,
}

/// Describes the queue of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueSpec {
    /// The limit on waiting packets, in packets or bytes.
    pub limit: Limit,
    /// The rule by which the queue drops packets.
    pub discipline: Discipline,
}

impl QueueSpec {
    /// Returns a DropTail queue with this limit.
    pub const fn drop_tail(limit: Limit) -> Self {
        Self {
            limit,
            discipline: Discipline::DropTail,
        }
    }
}

/// The state of a discipline that decides when a packet arrives.
#[derive(Clone, Debug)]
pub(crate) enum Early {
    Red(Red),
    Pie(Pie),
}

impl Early {
    /// Returns the state of a discipline that decides at arrivals (RED, PIE); `None` for others.
    pub(crate) fn new(
        discipline: &Discipline,
        rate: Rate,
        delay: Duration,
        random: Random,
    ) -> Option<Box<Self>> {
        let early = match discipline {
            Discipline::Red(spec) => Self::Red(Red::new(spec, rate, delay, random)),
            Discipline::Pie(spec) => Self::Pie(Pie::new(*spec, random)),
            Discipline::DropTail | Discipline::Codel(_) | Discipline::FqCodel(_) => return None,
        };
        Some(Box::new(early))
    }

    /// Returns the verdict on a packet of `size` bytes that arrives at `now`. The link will have
    /// sent all earlier packets by `free`. `packets` and `bytes` are the current backlog; `room`
    /// tells whether the packet fits.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    pub(crate) fn judges(
        &mut self,
        now: Time,
        free: Time,
        (packets, bytes): (u64, u64),
        size: u32,
        room: bool,
    ) -> Verdict {
        match self {
            Self::Red(red) => {
                let length = if red.spec.bytes { bytes } else { packets };
                red.judges(now, free, length, size, room)
            }
            Self::Pie(pie) => pie.judges(now, free, bytes, room),
        }
    }
}

/// The queue of a link that decides which packet is next when the link is free.
#[derive(Clone, Debug)]
pub(crate) enum Turns {
    Fifo(Line),
    Codel(Line, Box<Codel>),
    FqCodel(Box<FqCodel>),
}

impl Turns {
    pub(crate) fn new(discipline: &Discipline) -> Self {
        match discipline {
            Discipline::DropTail | Discipline::Red(_) | Discipline::Pie(_) => {
                Self::Fifo(Line::default())
            }
            Discipline::Codel(spec) => Self::Codel(Line::default(), Box::new(Codel::new(*spec))),
            Discipline::FqCodel(spec) => Self::FqCodel(Box::new(FqCodel::new(*spec))),
        }
    }

    /// Returns the number of packets that wait.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Fifo(line) | Self::Codel(line, _) => line.len(),
            Self::FqCodel(fq) => fq.len(),
        }
    }

    /// Returns the number of bytes that wait.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Fifo(line) | Self::Codel(line, _) => line.bytes(),
            Self::FqCodel(fq) => fq.bytes(),
        }
    }

    /// Returns the earliest time of a drop, if the next packet leaves at `turn`.
    pub(crate) fn drops_from(&self, turn: Time) -> Time {
        match self {
            Self::Fifo(_) => Time::MAX,
            Self::Codel(_, codel) => codel.drops_from(turn),
            // The next packet may be in any of many lines, so this returns the earliest possible
            // time.
            Self::FqCodel(_) => turn,
        }
    }

    /// Adds a packet, for which there is room or [will be](Self::make_room).
    pub(crate) fn push(&mut self, packet: Waiting) {
        match self {
            Self::Fifo(line) => line.push(packet),
            Self::Codel(line, codel) => {
                codel.saw(packet.size);
                line.push(packet);
            }
            Self::FqCodel(fq) => fq.push(packet),
        }
    }

    /// Lets a packet of `size` bytes that finds an empty queue leave immediately, if the discipline
    /// allows it. Returns whether it left.
    #[inline]
    pub(crate) fn pass(&mut self, size: u32) -> bool {
        match self {
            Self::Fifo(_) => true,
            Self::Codel(_, codel) => {
                codel.pass(size);
                true
            }
            Self::FqCodel(_) => false,
        }
    }

    /// Returns whether a full queue drops another packet to admit an arriving one.
    pub(crate) fn makes_room(&self) -> bool {
        matches!(self, Self::FqCodel(_))
    }

    /// Removes and returns the packet that makes room.
    pub(crate) fn make_room(&mut self) -> Option<Waiting> {
        match self {
            Self::Fifo(_) | Self::Codel(..) => None,
            Self::FqCodel(fq) => fq.pop_from_fattest(),
        }
    }

    /// Removes and returns a waiting packet; the order depends on the discipline.
    pub(crate) fn give_up(&mut self) -> Option<Waiting> {
        match self {
            Self::Fifo(line) | Self::Codel(line, _) => line.pop(),
            Self::FqCodel(fq) => fq.pop_from_fattest(),
        }
    }

    /// Adds a copy of each waiting packet that has none, at the end of its line, with the arrival
    /// time `now`. Passes each ticket to `copied`.
    pub(crate) fn copy(&mut self, now: Time, copied: impl FnMut(u32)) {
        match self {
            Self::Fifo(line) | Self::Codel(line, _) => line.copy(now, copied),
            Self::FqCodel(fq) => fq.copy(now, copied),
        }
    }

    /// Returns the packet whose transmission starts at `now`. Passes packets that the discipline
    /// drops to `dropped`.
    pub(crate) fn leave(&mut self, now: Time, dropped: impl FnMut(Waiting)) -> Option<Waiting> {
        match self {
            Self::Fifo(line) => line.pop(),
            Self::Codel(line, codel) => codel.leave(now, line, dropped),
            Self::FqCodel(fq) => fq.leave(now, dropped),
        }
    }
}
