//! Watching a run: what the engine tells whoever asks.
//!
//! Whoever implements [`Watch`] is told by [`run_watched`](crate::run_watched) of everything that happens to a flow or at a
//! link, in the order of its times. No time lies behind the end of the run.
//!
//! Where that is too slow, an [`Observer`] says what it needs, and in which [`Order`]: the engine is compiled for it. The less
//! it asks for, the earlier the engine may work out what no other packet can change, and the faster it is; what it tells is
//! the same. A run that nobody watches pays nothing.

use whyloss::receiver::Classifier;
use whyloss::{Cause, Duration, Time};
use whyloss_link::Fate;

use crate::host::tcp;
use crate::packet::Packet;

/// The order in which an observer must be told, from the cheapest to the dearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// What happens at one place, a link, a source or a sink, is told in the order of its times; a packet's departure is
    /// told before its arrival.
    Place,
    /// What concerns one flow is told in the order of its times, whichever end it happens at; what happens at one link
    /// likewise.
    Flow,
    /// Everything is told in the order of its times: the [plain engine](crate::run_plain) is used.
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

/// What a source with congestion control knows and allows; what it does not have is `None`.
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
    /// The first packet not acknowledged: nothing is said about the loss of an earlier one any more.
    pub una: u64,
}

/// Watches a run.
pub trait Watch {
    /// A source sent a data packet.
    #[inline]
    fn sent(&mut self, flow: usize, at: Time, packet: &Packet) {
        let _ = (flow, at, packet);
    }

    /// A packet reached the near end of a link at `at`, found `waiting` packets waiting (zero unless
    /// [`Observer::QUEUE_LENGTH`]), and met this fate.
    #[inline]
    fn offered(&mut self, link: usize, at: Time, packet: &Packet, waiting: usize, fate: Fate) {
        let _ = (link, at, packet, waiting, fate);
    }

    /// A link marked (ECN) the packet that [`Self::offered`] tells of next, which arrives; what that is shown is the packet as it
    /// came.
    #[inline]
    fn marked(&mut self, link: usize) {
        let _ = link;
    }

    /// A data packet reached its sink, which took it.
    #[inline]
    fn arrived(&mut self, flow: usize, at: Time, packet: &Packet, classifier: Option<&Classifier>) {
        let _ = (flow, at, packet, classifier);
    }

    /// A data packet reached its sink, which dropped it for damage where it is sensitive.
    #[inline]
    fn dropped(&mut self, flow: usize, at: Time, packet: &Packet) {
        let _ = (flow, at, packet);
    }

    /// A classifier gave a cause to a lost packet.
    #[inline]
    fn judged(&mut self, flow: usize, at: Time, sequence: u64, truth: Cause, verdict: Cause) {
        let _ = (flow, at, sequence, truth, verdict);
    }

    /// A source with congestion control took an answer or was woken, and has sent what it then might. An
    /// observer is told of it only if [`Observer::STATES`].
    #[inline]
    fn acted(&mut self, flow: usize, at: Time, state: &SourceState) {
        let _ = (flow, at, state);
    }

    /// Asks, every few thousand events and at the end, whether the run is to go on, and says how far it is. An
    /// observer is asked only if [`Observer::CLOCK`]. A run that is stopped returns what it has counted so far.
    #[inline]
    fn goes_on(&mut self, now: Time) -> bool {
        let _ = now;
        true
    }

    /// A TCP source took an acknowledgement or was woken by its timer.
    #[inline]
    fn reacted(&mut self, flow: usize, at: Time, sender: &tcp::Sender) {
        let _ = (flow, at, sender);
    }
}

/// Who watches and says what it needs, so that the engine made for it does no more.
pub trait Observer: Watch {
    /// The order in which it must be told.
    const ORDER: Order = Order::Flow;

    /// Whether it wants to hear of [`Watch::offered`], which keeps packets from taking a link's short cut.
    const LINKS: bool = true;

    /// Whether [`Watch::offered`] wants the length of the queue, which costs a look at it.
    const QUEUE_LENGTH: bool = false;

    /// Whether it wants to hear of [`Watch::reacted`].
    const SOURCES: bool = true;

    /// Whether it wants to hear of [`Watch::acted`], for which the state of the source is gathered.
    const STATES: bool = false;

    /// Whether it wants to be asked now and then whether the run is to go on ([`Watch::goes_on`]).
    const CLOCK: bool = false;
}

/// Watches nothing.
impl Watch for () {}

impl Observer for () {
    const ORDER: Order = Order::Place;
    const LINKS: bool = false;
    const SOURCES: bool = false;
}

/// Both watch.
#[expect(
    clippy::inline_always,
    reason = "what is handed on is not made if nobody looks at it"
)]
impl<A: Watch, B: Watch> Watch for (A, B) {
    #[inline]
    fn goes_on(&mut self, now: Time) -> bool {
        self.0.goes_on(now) & self.1.goes_on(now)
    }

    #[inline(always)]
    fn sent(&mut self, flow: usize, at: Time, packet: &Packet) {
        self.0.sent(flow, at, packet);
        self.1.sent(flow, at, packet);
    }

    #[inline(always)]
    fn marked(&mut self, link: usize) {
        self.0.marked(link);
        self.1.marked(link);
    }

    #[inline(always)]
    fn offered(&mut self, link: usize, at: Time, packet: &Packet, waiting: usize, fate: Fate) {
        self.0.offered(link, at, packet, waiting, fate);
        self.1.offered(link, at, packet, waiting, fate);
    }

    #[inline(always)]
    fn arrived(&mut self, flow: usize, at: Time, packet: &Packet, classifier: Option<&Classifier>) {
        self.0.arrived(flow, at, packet, classifier);
        self.1.arrived(flow, at, packet, classifier);
    }

    #[inline(always)]
    fn dropped(&mut self, flow: usize, at: Time, packet: &Packet) {
        self.0.dropped(flow, at, packet);
        self.1.dropped(flow, at, packet);
    }

    #[inline(always)]
    fn judged(&mut self, flow: usize, at: Time, sequence: u64, truth: Cause, verdict: Cause) {
        self.0.judged(flow, at, sequence, truth, verdict);
        self.1.judged(flow, at, sequence, truth, verdict);
    }

    #[inline(always)]
    fn acted(&mut self, flow: usize, at: Time, state: &SourceState) {
        self.0.acted(flow, at, state);
        self.1.acted(flow, at, state);
    }

    #[inline(always)]
    fn reacted(&mut self, flow: usize, at: Time, sender: &tcp::Sender) {
        self.0.reacted(flow, at, sender);
        self.1.reacted(flow, at, sender);
    }
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    const ORDER: Order = A::ORDER.and(B::ORDER);
    const LINKS: bool = A::LINKS || B::LINKS;
    const QUEUE_LENGTH: bool = A::QUEUE_LENGTH || B::QUEUE_LENGTH;
    const SOURCES: bool = A::SOURCES || B::SOURCES;
    const STATES: bool = A::STATES || B::STATES;
    const CLOCK: bool = A::CLOCK || B::CLOCK;
}

/// Watches if it is there.
impl<A: Watch> Watch for Option<A> {
    fn goes_on(&mut self, now: Time) -> bool {
        self.as_mut().is_none_or(|observer| observer.goes_on(now))
    }

    fn sent(&mut self, flow: usize, at: Time, packet: &Packet) {
        if let Some(observer) = self {
            observer.sent(flow, at, packet);
        }
    }

    fn marked(&mut self, link: usize) {
        if let Some(observer) = self {
            observer.marked(link);
        }
    }

    fn offered(&mut self, link: usize, at: Time, packet: &Packet, waiting: usize, fate: Fate) {
        if let Some(observer) = self {
            observer.offered(link, at, packet, waiting, fate);
        }
    }

    fn arrived(&mut self, flow: usize, at: Time, packet: &Packet, classifier: Option<&Classifier>) {
        if let Some(observer) = self {
            observer.arrived(flow, at, packet, classifier);
        }
    }

    fn dropped(&mut self, flow: usize, at: Time, packet: &Packet) {
        if let Some(observer) = self {
            observer.dropped(flow, at, packet);
        }
    }

    fn judged(&mut self, flow: usize, at: Time, sequence: u64, truth: Cause, verdict: Cause) {
        if let Some(observer) = self {
            observer.judged(flow, at, sequence, truth, verdict);
        }
    }

    fn acted(&mut self, flow: usize, at: Time, state: &SourceState) {
        if let Some(observer) = self {
            observer.acted(flow, at, state);
        }
    }

    fn reacted(&mut self, flow: usize, at: Time, sender: &tcp::Sender) {
        if let Some(observer) = self {
            observer.reacted(flow, at, sender);
        }
    }
}

/// Whoever is behind the reference watches.
impl<W: Watch + ?Sized> Watch for &mut W {
    fn sent(&mut self, flow: usize, at: Time, packet: &Packet) {
        (**self).sent(flow, at, packet);
    }

    fn offered(&mut self, link: usize, at: Time, packet: &Packet, waiting: usize, fate: Fate) {
        (**self).offered(link, at, packet, waiting, fate);
    }

    fn marked(&mut self, link: usize) {
        (**self).marked(link);
    }

    fn arrived(&mut self, flow: usize, at: Time, packet: &Packet, classifier: Option<&Classifier>) {
        (**self).arrived(flow, at, packet, classifier);
    }

    fn dropped(&mut self, flow: usize, at: Time, packet: &Packet) {
        (**self).dropped(flow, at, packet);
    }

    fn judged(&mut self, flow: usize, at: Time, sequence: u64, truth: Cause, verdict: Cause) {
        (**self).judged(flow, at, sequence, truth, verdict);
    }

    fn acted(&mut self, flow: usize, at: Time, state: &SourceState) {
        (**self).acted(flow, at, state);
    }

    fn goes_on(&mut self, now: Time) -> bool {
        (**self).goes_on(now)
    }

    fn reacted(&mut self, flow: usize, at: Time, sender: &tcp::Sender) {
        (**self).reacted(flow, at, sender);
    }
}

/// Whoever it is hears everything: one engine, compiled once, serves all.
impl Observer for &mut dyn Watch {
    const QUEUE_LENGTH: bool = true;
    const STATES: bool = true;
    const CLOCK: bool = true;
}
