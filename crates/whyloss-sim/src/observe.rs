//! Watching a run: what the engine tells whoever asks.
//!
//! Every method does nothing by default, and the engine is generic over its observer, so a run without one pays
//! nothing. Times of one kind of event of one link or flow never decrease; across links and flows they may, since the
//! engine works out at once what no other packet can change.

use whyloss::receiver::Classifier;
use whyloss::{Cause, Time};
use whyloss_link::Fate;

use crate::host::tcp;
use crate::packet::Packet;

/// Watches a run.
pub trait Observer {
    /// Whether [`Observer::offered`] wants the length of the queue, which costs a look at it.
    const QUEUE_LENGTH: bool = false;

    /// Whether it watches at all, and so must be told what concerns one flow in the order of its times, whichever end it
    /// happens at. What nobody watches the engine works out earlier still.
    const WATCHES: bool = true;

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
    const WATCHES: bool = false;
}

/// Both watch.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const QUEUE_LENGTH: bool = A::QUEUE_LENGTH || B::QUEUE_LENGTH;
    const WATCHES: bool = A::WATCHES || B::WATCHES;

    #[inline]
    fn offered(&mut self, link: usize, at: Time, packet: &Packet, waiting: usize, fate: Fate) {
        self.0.offered(link, at, packet, waiting, fate);
        self.1.offered(link, at, packet, waiting, fate);
    }

    #[inline]
    fn arrived(&mut self, flow: usize, at: Time, packet: &Packet, classifier: Option<&Classifier>) {
        self.0.arrived(flow, at, packet, classifier);
        self.1.arrived(flow, at, packet, classifier);
    }

    #[inline]
    fn dropped(&mut self, flow: usize, at: Time, packet: &Packet) {
        self.0.dropped(flow, at, packet);
        self.1.dropped(flow, at, packet);
    }

    #[inline]
    fn judged(&mut self, flow: usize, at: Time, sequence: u64, truth: Cause, verdict: Cause) {
        self.0.judged(flow, at, sequence, truth, verdict);
        self.1.judged(flow, at, sequence, truth, verdict);
    }

    #[inline]
    fn allowed(&mut self, flow: usize, at: Time, allowance: f64) {
        self.0.allowed(flow, at, allowance);
        self.1.allowed(flow, at, allowance);
    }

    #[inline]
    fn reacted(&mut self, flow: usize, at: Time, sender: &tcp::Sender) {
        self.0.reacted(flow, at, sender);
        self.1.reacted(flow, at, sender);
    }
}

/// Watches if it is there. Whether it wants the length of the queue cannot depend on that.
impl<A: Observer> Observer for Option<A> {
    const QUEUE_LENGTH: bool = A::QUEUE_LENGTH;
    const WATCHES: bool = A::WATCHES;

    #[inline]
    fn offered(&mut self, link: usize, at: Time, packet: &Packet, waiting: usize, fate: Fate) {
        if let Some(observer) = self {
            observer.offered(link, at, packet, waiting, fate);
        }
    }

    #[inline]
    fn arrived(&mut self, flow: usize, at: Time, packet: &Packet, classifier: Option<&Classifier>) {
        if let Some(observer) = self {
            observer.arrived(flow, at, packet, classifier);
        }
    }

    #[inline]
    fn dropped(&mut self, flow: usize, at: Time, packet: &Packet) {
        if let Some(observer) = self {
            observer.dropped(flow, at, packet);
        }
    }

    #[inline]
    fn judged(&mut self, flow: usize, at: Time, sequence: u64, truth: Cause, verdict: Cause) {
        if let Some(observer) = self {
            observer.judged(flow, at, sequence, truth, verdict);
        }
    }

    #[inline]
    fn allowed(&mut self, flow: usize, at: Time, allowance: f64) {
        if let Some(observer) = self {
            observer.allowed(flow, at, allowance);
        }
    }

    #[inline]
    fn reacted(&mut self, flow: usize, at: Time, sender: &tcp::Sender) {
        if let Some(observer) = self {
            observer.reacted(flow, at, sender);
        }
    }
}
