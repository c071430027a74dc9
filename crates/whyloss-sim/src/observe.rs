//! Watching a run: what the engine tells whoever asks.
//!
//! Every method does nothing by default, and the engine is generic over its observer, so a run without one pays
//! nothing. Times of one kind of event of one link or flow never decrease; across links and flows they may, since the
//! engine works out at once what no other packet can change.

use whyloss::receiver::Classifier;
use whyloss::{Cause, Time};
use whyloss_link::Fate;

use crate::packet::Packet;

/// Watches a run.
pub trait Observer {
    /// Whether [`Observer::offered`] wants the length of the queue, which costs a look at it.
    const QUEUE_LENGTH: bool = false;

    /// A packet reached the near end of a link at `at`, found `waiting` packets waiting (zero unless
    /// [`Self::QUEUE_LENGTH`]), and met this fate.
    #[inline]
    fn offered(&mut self, link: usize, at: Time, packet: &Packet, waiting: usize, fate: Fate) {
        let _ = (link, at, packet, waiting, fate);
    }

    /// A data packet reached its sink.
    #[inline]
    fn arrived(&mut self, flow: usize, at: Time, packet: &Packet, classifier: Option<&Classifier>) {
        let _ = (flow, at, packet, classifier);
    }

    /// A classifier gave a cause to a lost packet.
    #[inline]
    fn judged(&mut self, flow: usize, at: Time, sequence: u64, truth: Cause, verdict: Cause) {
        let _ = (flow, at, sequence, truth, verdict);
    }

    /// A source reacted to feedback or a timeout, and may now have this window (TCP, bytes) or rate (TFRC, bytes/s).
    #[inline]
    fn allowed(&mut self, flow: usize, at: Time, allowance: f64) {
        let _ = (flow, at, allowance);
    }
}

/// Watches nothing.
impl Observer for () {}
