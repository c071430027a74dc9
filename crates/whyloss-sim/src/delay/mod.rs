//! How long packets take: an observer that measures the delay and the jitter of every flow over the measurement window.
//!
//! ```text
//! delay    arrival at the sink − first departure from the source, of the first copy that arrives
//! jitter   of those delays: variance (ms²), standard deviation (ms), and that of RFC 3550 §6.4.1
//! ```
//!
//! So TCP's delay counts from when a segment was *first* sent, and retransmissions lengthen it; a further copy of what
//! has arrived is not counted (ElAarag et al. 2008, §5.3). What never arrives has no delay. ElAarag et al. call the
//! variance jitter, and give it in milliseconds: here are both, the variance and its root.
//!
//! A packet belongs to the window if it arrives in it, whenever it left.

mod histogram;
mod origins;
mod summary;

use whyloss::Time;
use whyloss::receiver::Classifier;

use crate::measure::Window;
use crate::observe::{Observer, Order, Watch};
use crate::packet::{Packet, Payload};
use crate::scenario::Scenario;

pub(crate) use self::origins::Origins;
pub use self::summary::DelaySummary;

/// Measures delays. Each flow takes 4 bytes for each of its first 128 delays; with more of them 256 bytes for every 64 buckets in
/// which it has some (those from 100 to 200 ms are 1024), and 380 more up to a second. TCP takes a time stamp per segment of the
/// window, too.
#[derive(Clone, Debug)]
pub struct Delays {
    window: Window,
    origins: Vec<Origins>,
    /// One per flow of the scenario, in its order.
    pub flows: Vec<DelaySummary>,
}

impl Delays {
    /// An observer of one run of this scenario.
    pub fn new(scenario: &Scenario) -> Self {
        Self {
            window: Window::of(scenario),
            origins: vec![Origins::default(); scenario.flows.len()],
            flows: vec![DelaySummary::default(); scenario.flows.len()],
        }
    }
}

impl Observer for Delays {
    const ORDER: Order = Order::Place;
    const LINKS: bool = false;
    const SOURCES: bool = false;
}

#[expect(
    clippy::inline_always,
    reason = "the packet is not made if only its number is looked at"
)]
impl Watch for Delays {
    #[inline(always)]
    fn sent(&mut self, flow: usize, at: Time, packet: &Packet) {
        if let Payload::Segment(segment) = packet.payload {
            self.origins[flow].left(segment.sequence, at);
        }
    }

    #[inline(always)]
    fn arrived(&mut self, flow: usize, at: Time, packet: &Packet, _: Option<&Classifier>) {
        match packet.payload {
            Payload::Segment(segment) => {
                if let Some(origin) = self.origins[flow].arrived(segment.sequence) {
                    self.took(flow, at, origin);
                }
            }
            _ if packet.copy => {}
            _ => self.took(flow, at, packet.sent),
        }
    }
}

impl Delays {
    /// Takes the arrival of a packet that left first at `origin`.
    #[inline(never)]
    fn took(&mut self, flow: usize, at: Time, origin: Time) {
        if self.window.contains(at) {
            self.flows[flow].record(at - origin);
        }
    }
}

#[cfg(test)]
mod tests;
