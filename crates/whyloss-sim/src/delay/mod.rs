//! Packet delays: an observer that measures the delay and the jitter of every flow over the
//! measurement window.
//!
//! ```text
//! delay    arrival at the sink − first departure from the source, for the first copy that arrives
//! jitter   from those delays: variance (ms²), standard deviation (ms), and that of RFC 3550 §6.4.1
//! ```
//!
//! Therefore TCP's delay counts from the *first* departure of a segment, and retransmissions
//! lengthen it. Later copies of a segment that has arrived do not count (ElAarag et al. 2008,
//! §5.3). A packet that never arrives has no delay. ElAarag et al. call the variance jitter and
//! give it in milliseconds; this module has both the variance and its root.
//!
//! A packet counts in the window if it arrives in the window, even if it left earlier.

mod histogram;
mod origins;
mod summary;

use whyloss::Duration;

use crate::measure::Window;
use crate::observe::{Event, Observer, Order, Watch};
use crate::packet::Payload;
use crate::prefetch::prefetch;
use crate::scenario::Scenario;

pub(crate) use self::origins::Origins;
pub use self::summary::DelaySummary;

/// Measures delays in one run, which it must watch from the start. Each flow takes 2 bytes for each
/// of its first 1,024 delays. With more delays, it takes 256 bytes for every 64 buckets in use, and
/// 380 bytes for delays up to a second. The range from 100 to 200 ms has 1024 buckets. TCP also
/// takes a timestamp per segment of the window.
#[derive(Clone, Debug)]
pub struct Delays {
    window: Window,
    flows: Vec<FlowDelays>,
}

/// The delays of one flow.
#[derive(Clone, Debug, Default)]
struct FlowDelays {
    origins: Origins,
    summary: DelaySummary,
}

impl FlowDelays {
    /// Records the delay of the next packet that arrives.
    #[inline(never)]
    fn record(&mut self, delay: Duration) {
        self.summary.record(delay);
    }
}

impl Delays {
    /// Returns an observer of one run of this scenario.
    pub fn new(scenario: &Scenario) -> Self {
        Self {
            window: Window::of(scenario),
            flows: vec![FlowDelays::default(); scenario.flows.len()],
        }
    }

    /// Returns the delays of each flow of the scenario, in its order.
    pub fn into_flows(self) -> Vec<DelaySummary> {
        self.flows.into_iter().map(|flow| flow.summary).collect()
    }
}

impl Observer for Delays {
    const ORDER: Order = Order::Place;
    const LINKS: bool = false;
    const SOURCES: bool = false;

    #[inline]
    fn prefetch(&self, flow: usize, points: bool) {
        let flow = &self.flows[flow];
        if points {
            flow.origins.prefetch();
            flow.summary.prefetch();
        } else {
            prefetch(flow);
        }
    }
}

#[expect(
    clippy::inline_always,
    reason = "the packet is not made if only its number is looked at"
)]
impl Watch for Delays {
    #[inline(always)]
    fn on(&mut self, event: &Event<'_>) {
        match *event {
            Event::Sent { flow, at, packet } => {
                if let Payload::Segment(segment) = &packet.payload {
                    self.flows[flow].origins.left(segment, at);
                }
            }
            Event::Arrived {
                flow, at, packet, ..
            } => {
                let flow = &mut self.flows[flow];
                let origin = match &packet.payload {
                    Payload::Segment(segment) => flow.origins.arrived(segment, packet.sent),
                    _ => (!packet.copy).then_some(packet.sent),
                };
                if let Some(origin) = origin
                    && self.window.contains(at)
                {
                    flow.record(at.since(origin));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
