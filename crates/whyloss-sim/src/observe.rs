//! Watching a run: what the engine tells whoever asks.
//!
//! Every method does nothing by default, and the engine is generic over its observer, so a run without one pays
//! nothing. No time lies behind the end of the run.
//!
//! An observer says in which [`Order`] it must be told. The less it asks for, the earlier the engine may work out what no
//! other packet can change, and the faster it is; what it tells is the same.

use whyloss::receiver::Classifier;
use whyloss::{Cause, Time};
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

/// Watches a run.
pub trait Observer {
    /// The order in which it must be told.
    const ORDER: Order = Order::Flow;

    /// Whether it wants to hear of [`Observer::offered`], which keeps packets from taking a link's short cut.
    const LINKS: bool = true;

    /// Whether [`Observer::offered`] wants the length of the queue, which costs a look at it.
    const QUEUE_LENGTH: bool = false;

    /// Whether it wants to hear of [`Observer::allowed`] and [`Observer::reacted`].
    const SOURCES: bool = true;

    /// A source sent a data packet.
    #[inline]
    fn sent(&mut self, flow: usize, at: Time, packet: &Packet) {
        let _ = (flow, at, packet);
    }

    /// A packet reached the near end of a link at `at`, found `waiting` packets waiting (zero unless
    /// [`Self::QUEUE_LENGTH`]), and met this fate.
    #[inline]
    fn offered(&mut self, link: usize, at: Time, packet: &Packet, waiting: usize, fate: Fate) {
        let _ = (link, at, packet, waiting, fate);
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

    /// A source reacted to feedback or a timeout, and may now have this window (TCP and IFTP, bytes) or rate (TFRC, bytes/s).
    #[inline]
    fn allowed(&mut self, flow: usize, at: Time, allowance: f64) {
        let _ = (flow, at, allowance);
    }

    /// A TCP source took an acknowledgement or was woken by its timer.
    #[inline]
    fn reacted(&mut self, flow: usize, at: Time, sender: &tcp::Sender) {
        let _ = (flow, at, sender);
    }
}

/// Watches nothing.
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
impl<A: Observer, B: Observer> Observer for (A, B) {
    const ORDER: Order = A::ORDER.and(B::ORDER);
    const LINKS: bool = A::LINKS || B::LINKS;
    const QUEUE_LENGTH: bool = A::QUEUE_LENGTH || B::QUEUE_LENGTH;
    const SOURCES: bool = A::SOURCES || B::SOURCES;

    #[inline(always)]
    fn sent(&mut self, flow: usize, at: Time, packet: &Packet) {
        self.0.sent(flow, at, packet);
        self.1.sent(flow, at, packet);
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
    fn allowed(&mut self, flow: usize, at: Time, allowance: f64) {
        self.0.allowed(flow, at, allowance);
        self.1.allowed(flow, at, allowance);
    }

    #[inline(always)]
    fn reacted(&mut self, flow: usize, at: Time, sender: &tcp::Sender) {
        self.0.reacted(flow, at, sender);
        self.1.reacted(flow, at, sender);
    }
}

/// Watches if it is there. What it wants to hear, and in which order, cannot depend on that.
#[expect(
    clippy::inline_always,
    reason = "what is handed on is not made if nobody looks at it"
)]
impl<A: Observer> Observer for Option<A> {
    const ORDER: Order = A::ORDER;
    const LINKS: bool = A::LINKS;
    const QUEUE_LENGTH: bool = A::QUEUE_LENGTH;
    const SOURCES: bool = A::SOURCES;

    #[inline(always)]
    fn sent(&mut self, flow: usize, at: Time, packet: &Packet) {
        if let Some(observer) = self {
            observer.sent(flow, at, packet);
        }
    }

    #[inline(always)]
    fn offered(&mut self, link: usize, at: Time, packet: &Packet, waiting: usize, fate: Fate) {
        if let Some(observer) = self {
            observer.offered(link, at, packet, waiting, fate);
        }
    }

    #[inline(always)]
    fn arrived(&mut self, flow: usize, at: Time, packet: &Packet, classifier: Option<&Classifier>) {
        if let Some(observer) = self {
            observer.arrived(flow, at, packet, classifier);
        }
    }

    #[inline(always)]
    fn dropped(&mut self, flow: usize, at: Time, packet: &Packet) {
        if let Some(observer) = self {
            observer.dropped(flow, at, packet);
        }
    }

    #[inline(always)]
    fn judged(&mut self, flow: usize, at: Time, sequence: u64, truth: Cause, verdict: Cause) {
        if let Some(observer) = self {
            observer.judged(flow, at, sequence, truth, verdict);
        }
    }

    #[inline(always)]
    fn allowed(&mut self, flow: usize, at: Time, allowance: f64) {
        if let Some(observer) = self {
            observer.allowed(flow, at, allowance);
        }
    }

    #[inline(always)]
    fn reacted(&mut self, flow: usize, at: Time, sender: &tcp::Sender) {
        if let Some(observer) = self {
            observer.reacted(flow, at, sender);
        }
    }
}
