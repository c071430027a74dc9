//! Interfaces for watching a run.
//!
//! A [`Watch`] receives every [`Event`] of a flow or a link in the order of their times
//! ([`Simulation::watch`](crate::Simulation::watch)). No event is later than the end of the run.
//!
//! For more speed, an [`Observer`] states the events that it needs and their [`Order`]. The engine
//! is compiled for these needs ([`Simulation::observe`](crate::Simulation::observe)). With fewer
//! needs, the engine computes more ahead of time and runs faster. The contents of events do not
//! change.

use whyloss::receiver::Classifier;
use whyloss::{Cause, Duration, Time};
use whyloss_link::Fate;

use crate::host::tcp;
use crate::packet::Packet;

/// The order in which an observer needs events, from the cheapest to the most expensive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// Events at one place (a link, a source or a sink) come in the order of their times; a
    /// packet's departure comes before its arrival.
    Place,
    /// Events of one flow come in the order of their times, at either end; so do events of one
    /// link.
    Flow,
    /// All events of the run come in the order of their times, from the [plain
    /// engine](crate::Simulation::plain).
    Run,
}

impl Order {
    /// Returns the cheapest order that satisfies both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        if self as u8 >= other as u8 {
            self
        } else {
            other
        }
    }
}

/// The state of a source with congestion control. A value that the source does not have is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SourceState {
    /// The congestion window in bytes.
    pub cwnd: Option<u64>,
    /// The slow start threshold in bytes.
    pub ssthresh: Option<u64>,
    /// The bytes sent since the last timeout, if there was one, that are not acknowledged
    /// cumulatively.
    pub in_flight: Option<u64>,
    /// The rate, in bytes per second, at which packets may leave.
    pub rate: Option<f64>,
    /// The latest measured round-trip time.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// The current retransmission timeout, back-off included.
    pub rto: Option<Duration>,
    /// The sequence number of the first packet not acknowledged. No verdict on an earlier packet
    /// can follow.
    pub una: u64,
}

/// An event of a flow or a link, as a [`Watch`] receives it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A source sent a data packet.
    Sent {
        /// The index of the flow in the scenario.
        flow: usize,
        /// When the packet left.
        at: Time,
        /// The packet that was sent.
        packet: &'a Packet,
    },
    /// A packet reached the near end of a link.
    Offered {
        /// The index of the link in the scenario.
        link: usize,
        /// When the packet reached the link.
        at: Time,
        /// The packet as it reached the link.
        packet: &'a Packet,
        /// The number of packets in the queue at this time, without the one in transmission. It is
        /// 0 unless [`Observer::QUEUE_LENGTH`] is true.
        waiting: usize,
        /// The fate of the packet.
        fate: Fate,
        /// Whether the link's queue marks the packet (ECN) and lets it pass.
        marked: bool,
    },
    /// A data packet reached its sink, which accepted it.
    Arrived {
        /// The index of the flow in the scenario.
        flow: usize,
        /// The time of the arrival.
        at: Time,
        /// The packet that arrived.
        packet: &'a Packet,
        /// The sink's classifier in its state after this packet; `None` if the flow has none.
        classifier: Option<&'a Classifier>,
    },
    /// A data packet reached its sink, which dropped it for damage within its coverage.
    Dropped {
        /// The index of the flow in the scenario.
        flow: usize,
        /// The time of the arrival.
        at: Time,
        /// The packet that was dropped.
        packet: &'a Packet,
    },
    /// A classifier gave a cause to a lost packet.
    Judged {
        /// The index of the flow in the scenario.
        flow: usize,
        /// The time of the verdict.
        at: Time,
        /// The packet's sequence number.
        sequence: u64,
        /// The true cause of the loss.
        truth: Cause,
        /// The cause that the classifier named.
        verdict: Cause,
    },
    /// A source with congestion control received an answer or was woken, and has sent all packets
    /// that it may send then. Only observers with [`Observer::STATES`] receive this event.
    Acted {
        /// The index of the flow in the scenario.
        flow: usize,
        /// When the source acted.
        at: Time,
        /// The state of the source afterwards.
        state: &'a SourceState,
    },
    /// A TCP source received an acknowledgement or was woken by its timer. Only observers with
    /// [`Observer::SOURCES`] receive this event.
    Reacted {
        /// The index of the flow in the scenario.
        flow: usize,
        /// When the source received the acknowledgement or was woken.
        at: Time,
        /// The source after it handled the event, before it sends anything.
        sender: &'a tcp::Sender,
    },
    /// A transfer is complete: its sink received the last part of its data. At the end of the run,
    /// every incomplete transfer has such an event, too.
    Transfer {
        /// The index of the flow in the scenario.
        flow: usize,
        /// When the transfer began.
        began: Time,
        /// When the sink had all of its data; `None` if the run ended before.
        done: Option<Time>,
        /// The bytes of payload. Over TCP and web, a transfer fills whole segments.
        size: u64,
    },
}

/// Watches a run by receiving its events.
pub trait Watch {
    /// Receives an event, in the order of [`Observer::ORDER`].
    fn on(&mut self, event: &Event<'_>);
}

/// Watches a run and states its needs in constants. The engine is compiled for them and does no
/// other work.
pub trait Observer: Watch {
    /// The order in which the observer needs events.
    const ORDER: Order = Order::Flow;

    /// Whether the observer needs [`Event::Offered`], which keeps packets from taking a link's
    /// shortcut.
    const LINKS: bool = true;

    /// Whether [`Event::Offered`] must have the length of the queue, which takes time to find.
    const QUEUE_LENGTH: bool = false;

    /// Whether the observer needs [`Event::Reacted`].
    const SOURCES: bool = true;

    /// Whether the observer needs [`Event::Acted`], for which the state of the source is collected.
    const STATES: bool = false;

    /// Prefetches the observer's data on a flow whose next event is near, or, with `points`, the
    /// data that it points to. The engine calls this before the event if there are many flows.
    #[inline]
    fn prefetch(&self, _flow: usize, _points: bool) {}
}

/// Ignores every event.
impl Watch for () {
    #[inline]
    fn on(&mut self, _: &Event<'_>) {}
}

impl Observer for () {
    const ORDER: Order = Order::Place;
    const LINKS: bool = false;
    const SOURCES: bool = false;
}

/// Passes every event to both.
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

    #[inline]
    fn prefetch(&self, flow: usize, points: bool) {
        self.0.prefetch(flow, points);
        self.1.prefetch(flow, points);
    }
}

/// Passes events on if there is a watcher.
impl<A: Watch> Watch for Option<A> {
    fn on(&mut self, event: &Event<'_>) {
        if let Some(watch) = self {
            watch.on(event);
        }
    }
}

/// Passes events to the watcher behind the reference.
impl<W: Watch + ?Sized> Watch for &mut W {
    fn on(&mut self, event: &Event<'_>) {
        (**self).on(event);
    }
}

/// Receives every event. All watchers share one compiled engine.
impl Observer for &mut dyn Watch {
    const QUEUE_LENGTH: bool = true;
    const STATES: bool = true;
}
