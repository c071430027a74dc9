//! The queue of a link: first in, first out, with a limit, and a discipline that says who is
//! refused.
//!
//! A FIFO link serves packets in the order they came at a known rate, so the moment a packet will
//! start transmission is known when it is admitted: a packet waits until then, and no event is
//! needed to take it out. [DropTail](Discipline::DropTail) refuses what finds no room;
//! [RED](RedSpec) and [PIE](PieSpec) refuse some packets before that. [CoDel](CodelSpec) and
//! [FQ-CoDel](FqCodelSpec) decide as packets leave: only an [`EventLink`](crate::EventLink) can
//! have them.

mod codel;
mod drop_tail;
mod fq_codel;
mod pie;
mod red;

use whyloss::{Duration, Rate, Time};

use codel::{Codel, Line};
use drop_tail::DropTail;
use fq_codel::FqCodel;
use pie::Pie;
pub(crate) use red::Red;

pub use codel::CodelSpec;
pub(crate) use codel::Waiting;
pub use fq_codel::{FqCodelSpec, QUEUES};
pub use pie::PieSpec;
pub use red::RedSpec;

use crate::random::Random;

/// How much may wait, *not* counting the packet in transmission.
///
/// ns-2's DropTail refuses the packet that would bring its queue *to* `limit_`, so its
/// `queue-limit` of n is `Packets(n - 1)` here. Its RED admits that packet: there n is
/// `Packets(n)`.
///
/// A packet that finds the link idle does not wait, so no limit applies to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// No bound.
    #[default]
    Unlimited,
    /// So many packets.
    Packets(u32),
    /// So many bytes on the wire, headers included: a packet enters if those that wait and it come
    /// to no more than that. A small packet may find room where a larger one, refused before it,
    /// did not.
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
    /// The same, by a probability that follows the delay.
    Pie(PieSpec),
    /// What has waited for too long too long; the packet that leaves pays.
    Codel(CodelSpec),
    /// The same in a queue for each flow.
    FqCodel(FqCodelSpec),
}

impl Discipline {
    /// Whether it marks ECN-capable packets.
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

/// What a discipline that decides as packets arrive makes of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may enter, if there is room.
    Admit,
    /// It is dropped.
    Drop,
    /// It is marked and may enter, if it is ECN-capable; else it is dropped.
    Mark,
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

/// A queue at work.
#[derive(Clone, Debug)]
pub struct Queue {
    line: DropTail,
    early: Option<Box<Early>>,
    /// Whether even a packet that finds the link idle waits, for an opportunity.
    all_wait: bool,
}

impl Queue {
    /// An empty queue of a link with this rate and delay; RED and PIE draw from `random`.
    /// Disciplines that decide as packets leave are DropTail here.
    pub fn new(spec: &QueueSpec, rate: Rate, delay: Duration, random: Random) -> Self {
        Self {
            line: DropTail::new(spec.limit),
            early: Early::new(&spec.discipline, rate, delay, random),
            all_wait: false,
        }
    }

    /// Lets even a packet that finds the link idle wait, until the time that [`Self::enter_at`] is
    /// told.
    pub(crate) fn let_all_wait(&mut self) {
        self.all_wait = true;
    }

    /// Whether the discipline needs [`Queue::judges`] to be asked about every packet.
    pub fn is_selective(&self) -> bool {
        self.early.is_some()
    }

    /// Returns the discipline's verdict on a packet of `size` bytes that arrives at `now`, at a
    /// link that has sent all before it by `free`. Times never decrease.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    pub fn judges(&mut self, now: Time, free: Time, size: u32) -> Verdict {
        let room = self.has_room(now, free, size);
        let Some(early) = &mut self.early else {
            return Verdict::Admit;
        };
        let waiting = (u64::from(self.line.packets()), self.line.bytes());
        early.judges(now, free, waiting, size, room)
    }

    /// Returns when a packet of `size` bytes that arrives at `now` starts its `transmission`, at a
    /// link that has sent all before it by `free`; `None` if there is no room. Times never
    /// decrease.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    pub fn enter(
        &mut self,
        now: Time,
        free: Time,
        size: u32,
        transmission: Duration,
    ) -> Option<Time> {
        self.line.enter(now, free, size, transmission)
    }

    /// Packets waiting at `now`.
    pub fn len(&mut self, now: Time) -> usize {
        self.line.start_due(now);
        self.line.packets() as usize
    }

    /// Whether a packet of `size` bytes finds room at `now`, at a link that has sent all before it
    /// by `free`.
    #[inline]
    pub(crate) fn has_room(&mut self, now: Time, free: Time, size: u32) -> bool {
        self.line.start_due(now);
        (free <= now && !self.all_wait) || self.line.has_room(size)
    }

    /// Adds a packet for which there is room and that waits until `start`.
    pub(crate) fn enter_at(&mut self, start: Time, size: u32) {
        self.line.enter_at(start, size);
    }
}

/// A discipline that decides as a packet arrives.
#[derive(Clone, Debug)]
pub(crate) enum Early {
    Red(Red),
    Pie(Pie),
}

impl Early {
    /// The discipline of a link with this rate and delay, if it decides then.
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

    /// What it makes of a packet of `size` bytes that arrives at `now` at a link which has sent all
    /// before it by `free`, while so many packets and bytes wait, and there is room or not. Times
    /// never decrease.
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
                let length = if red.counts_bytes() { bytes } else { packets };
                red.judges(now, free, length, size, room)
            }
            Self::Pie(pie) => pie.judges(now, free, bytes, room),
        }
    }
}

/// Whose turn it is to be sent, where that is decided when the link is free.
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

    /// Packets that wait.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Fifo(line) | Self::Codel(line, _) => line.len(),
            Self::FqCodel(fq) => fq.len(),
        }
    }

    /// Bytes that wait.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Fifo(line) | Self::Codel(line, _) => line.bytes(),
            Self::FqCodel(fq) => fq.bytes(),
        }
    }

    /// No packet is dropped earlier than this, if the next one leaves at `turn`.
    pub(crate) fn drops_from(&self, turn: Time) -> Time {
        match self {
            Self::Fifo(_) => Time::MAX,
            Self::Codel(_, codel) => codel.drops_from(turn),
            // One of many lines, and which is not looked for.
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

    /// Lets a packet of this size leave at once that finds nobody waiting, if that is all there is
    /// to it.
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

    /// Whether somebody else makes room for a packet that finds none.
    pub(crate) fn makes_room(&self) -> bool {
        matches!(self, Self::FqCodel(_))
    }

    /// The packet that makes room.
    pub(crate) fn make_room(&mut self) -> Option<Waiting> {
        match self {
            Self::Fifo(_) | Self::Codel(..) => None,
            Self::FqCodel(fq) => fq.pop_from_fattest(),
        }
    }

    /// Takes a packet that waits out of the queue, in whatever order suits the queue.
    pub(crate) fn give_up(&mut self) -> Option<Waiting> {
        match self {
            Self::Fifo(line) | Self::Codel(line, _) => line.pop(),
            Self::FqCodel(fq) => fq.pop_from_fattest(),
        }
    }

    /// Adds a copy of each packet that waits and has none, which comes at `now`, behind the others
    /// of its line; the packets' tickets are told to `copied`.
    pub(crate) fn copy(&mut self, now: Time, copied: impl FnMut(u32)) {
        match self {
            Self::Fifo(line) | Self::Codel(line, _) => line.copy(now, copied),
            Self::FqCodel(fq) => fq.copy(now, copied),
        }
    }

    /// The packet that is sent from `now` on; those that its discipline drops are told to
    /// `dropped`.
    pub(crate) fn leave(&mut self, now: Time, dropped: impl FnMut(Waiting)) -> Option<Waiting> {
        match self {
            Self::Fifo(line) => line.pop(),
            Self::Codel(line, codel) => codel.leave(now, line, dropped),
            Self::FqCodel(fq) => fq.leave(now, dropped),
        }
    }
}
