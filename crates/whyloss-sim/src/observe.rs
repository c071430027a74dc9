//! Watching a run: what the engine tells.
//!
//! A [`Watch`] is told of every [`Event`] of a flow or at a link, in the order of their times
//! ([`Simulation::watch`](crate::Simulation::watch)). No time lies behind the end of the run.
//!
//! Where that is too slow, an [`Observer`] says what it needs, and in which [`Order`], and the
//! engine is compiled for it ([`Simulation::observe`](crate::Simulation::observe)). The less it
//! asks for, the more the engine may work out ahead of time, and the faster it is; what it tells is
//! the same. A run without a watch pays nothing.

use whyloss::receiver::Classifier;
use whyloss::{Cause, Duration, Time};
use whyloss_link::Fate;

use crate::host::tcp;
use crate::packet::Packet;

/// The order in which an observer must be told, from the cheapest to the dearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// Events at one place (a link, a source or a sink) come in the order of their times; a
    /// packet's departure comes before its arrival.
    Place,
    /// Events of one flow come in the order of their times, at whichever end they happen; so do
    /// events of one link.
    Flow,
    /// Everything is told in the order of its times: the [plain engine](crate::Simulation::plain)
    /// is used.
    Run,
}

impl Order {
    /// The order that serves both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        if self as u8 >= other as u8 {
            self
        } else {
            other
        }
    }
}

/// The state of a source with congestion control; a value that it lacks is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SourceState {
    /// The congestion window in bytes.
    pub cwnd: Option<u64>,
    /// The slow start threshold in bytes.
    pub ssthresh: Option<u64>,
    /// Bytes sent, since the last timeout if there was one, and not acknowledged cumulatively.
    pub in_flight: Option<u64>,
    /// Bytes per second at which packets may leave.
    pub rate: Option<f64>,
    /// The latest round-trip time measured.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// The retransmission timeout in force, back-off included.
    pub rto: Option<Duration>,
    /// The first packet not acknowledged: nothing is said about the loss of an earlier one any
    /// more.
    pub una: u64,
}

/// Something that happens to a flow or at a link, as a [`Watch`] is told of it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A source sent a data packet.
    Sent {
        /// Index of the flow.
        flow: usize,
        /// When the packet left.
        at: Time,
        /// The packet.
        packet: &'a Packet,
    },
    /// A packet reached the near end of a link.
    Offered {
        /// Index of the link.
        link: usize,
        /// When the packet came.
        at: Time,
        /// The packet as it came.
        packet: &'a Packet,
        /// Packets that waited then; zero unless [`Observer::QUEUE_LENGTH`].
        waiting: usize,
        /// Fate of the packet.
        fate: Fate,
        /// Whether the link's queue marks the packet (ECN), which arrives.
        marked: bool,
    },
    /// A data packet reached its sink, which took it.
    Arrived {
        /// Index of the flow.
        flow: usize,
        /// When it arrived.
        at: Time,
        /// The packet.
        packet: &'a Packet,
        /// The sink's classifier, which has heard of the packet.
        classifier: Option<&'a Classifier>,
    },
    /// A data packet reached its sink, which dropped it for damage within its coverage.
    Dropped {
        /// Index of the flow.
        flow: usize,
        /// When it arrived.
        at: Time,
        /// The packet.
        packet: &'a Packet,
    },
    /// A classifier gave a cause to a lost packet.
    Judged {
        /// Index of the flow.
        flow: usize,
        /// When the verdict was given.
        at: Time,
        /// The number of the packet.
        sequence: u64,
        /// Why it was lost.
        truth: Cause,
        /// The classifier's answer.
        verdict: Cause,
    },
    /// A source with congestion control took an answer or was woken, and has sent all that it then
    /// may. An observer is told of it only if [`Observer::STATES`].
    Acted {
        /// Index of the flow.
        flow: usize,
        /// When the source acted.
        at: Time,
        /// The source afterwards.
        state: &'a SourceState,
    },
    /// A TCP source took an acknowledgement or was woken by its timer. An observer is told of it
    /// only if
    /// [`Observer::SOURCES`].
    Reacted {
        /// Index of the flow.
        flow: usize,
        /// When the source was reached.
        at: Time,
        /// The source, which sends only afterwards.
        sender: &'a tcp::Sender,
    },
}

/// Watches a run.
pub trait Watch {
    /// Is told of an event.
    fn on(&mut self, event: &Event<'_>);
}

/// Says what it needs beside watching, so that the engine made for it does no more.
pub trait Observer: Watch {
    /// The order in which it must be told.
    const ORDER: Order = Order::Flow;

    /// Whether it wants to hear of [`Event::Offered`], which keeps packets from taking a link's
    /// short cut.
    const LINKS: bool = true;

    /// Whether [`Event::Offered`] needs the length of the queue, which costs a look at it.
    const QUEUE_LENGTH: bool = false;

    /// Whether it wants to hear of [`Event::Reacted`].
    const SOURCES: bool = true;

    /// Whether it wants to hear of [`Event::Acted`], for which the state of the source is gathered.
    const STATES: bool = false;
}

/// Watches nothing.
impl Watch for () {
    #[inline]
    fn on(&mut self, _: &Event<'_>) {}
}

impl Observer for () {
    const ORDER: Order = Order::Place;
    const LINKS: bool = false;
    const SOURCES: bool = false;
}

/// Both watch.
impl<A: Watch, B: Watch> Watch for (A, B) {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "an event is not made if its parts are not looked at"
    )]
    fn on(&mut self, event: &Event<'_>) {
        self.0.on(event);
        self.1.on(event);
    }
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    const ORDER: Order = A::ORDER.and(B::ORDER);
    const LINKS: bool = A::LINKS || B::LINKS;
    const QUEUE_LENGTH: bool = A::QUEUE_LENGTH || B::QUEUE_LENGTH;
    const SOURCES: bool = A::SOURCES || B::SOURCES;
    const STATES: bool = A::STATES || B::STATES;
}

/// Watches if it is there.
impl<A: Watch> Watch for Option<A> {
    fn on(&mut self, event: &Event<'_>) {
        if let Some(watch) = self {
            watch.on(event);
        }
    }
}

/// The one behind the reference watches.
impl<W: Watch + ?Sized> Watch for &mut W {
    fn on(&mut self, event: &Event<'_>) {
        (**self).on(event);
    }
}

/// Hears everything: one engine, compiled once, serves all.
impl Observer for &mut dyn Watch {
    const QUEUE_LENGTH: bool = true;
    const STATES: bool = true;
}
