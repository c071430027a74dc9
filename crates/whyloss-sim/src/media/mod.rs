//! Follows the frames of every media stream to its sink, as a viewer or listener receives them.
//!
//! ```text
//! whole, damaged   all packets of the frame have arrived by capture + playout delay; damaged: at least one of them has
//!                  damaged bits that no checksum covers
//! late             they arrive later, before the run ends
//! never            a packet is missing: lost, dropped for a damaged header, discarded unsent, or still waiting
//! ```
//!
//! Over TCP, a frame arrives only once all earlier data has, because the application reads in
//! order. Other transports pass on each packet as it arrives. A frame is captured when the
//! application produces it, so its wait for the transport counts.
//!
//! A frame counts if it is captured in the measurement window. Its deadline must also be before the
//! end of the run and before the flow may stop.

mod frames;

use whyloss::Duration;

use crate::observe::{Event, Observer, Order, Watch};
use crate::scenario::Scenario;

pub use self::frames::StreamResult;

/// Follows the frames of a run. Memory grows with the packets in flight. Of frames whose packets
/// overtake each other, at most 1,024 may be incomplete at a time; older ones never arrive.
#[derive(Clone, Debug)]
pub struct Media {
    /// The frames of each flow, in the order of the scenario; `None` for a flow that is not a
    /// stream.
    pub flows: Vec<Option<StreamResult>>,
}

/// The counts of a stream's frames at one playout delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounts {
    /// The playout delay: the time from the capture of a frame to its playing.
    pub playout: Duration,
    /// The number of frames that count.
    pub frames: u64,
    /// The number of frames in time without damage.
    pub whole: u64,
    /// The number of frames in time with damaged bits.
    pub damaged: u64,
    /// The number of frames that arrived after their playout time.
    pub late: u64,
}

impl FrameCounts {
    /// Returns the number of frames that never arrived.
    pub fn never(&self) -> u64 {
        self.frames - self.whole - self.damaged - self.late
    }

    /// Returns `count` as a share of all frames, in [0, 1]; `None` if there are no frames.
    pub fn share(&self, count: u64) -> Option<f64> {
        (self.frames > 0).then(|| count as f64 / self.frames as f64)
    }

    /// Returns the share of frames in time, damaged or not, in [0, 1]; `None` if there are no
    /// frames.
    pub fn usable(&self) -> Option<f64> {
        self.share(self.whole + self.damaged)
    }
}

impl Media {
    /// Creates an observer for one run of this scenario.
    pub fn new(scenario: &Scenario) -> Self {
        let flows = scenario.flows.iter();
        Self {
            flows: flows.map(|f| StreamResult::new(scenario, f)).collect(),
        }
    }

    /// Returns the counts of each flow, in the order of the scenario, with one entry for each
    /// playout delay. A flow without a stream has none.
    pub fn into_counts(self) -> Vec<Vec<FrameCounts>> {
        let counts =
            |flow: &Option<StreamResult>| flow.as_ref().map_or_else(Vec::new, StreamResult::counts);
        self.flows.iter().map(counts).collect()
    }
}

impl Observer for Media {
    const ORDER: Order = Order::Place;
    const LINKS: bool = false;
    const SOURCES: bool = false;
}

#[expect(
    clippy::inline_always,
    reason = "the packet is not made if it is of no stream"
)]
impl Watch for Media {
    #[inline(always)]
    fn on(&mut self, event: &Event<'_>) {
        match *event {
            Event::Sent { flow, packet, .. } => {
                if let Some(stream) = &mut self.flows[flow] {
                    stream.left(packet);
                }
            }
            Event::Arrived {
                flow, at, packet, ..
            } => {
                if let Some(stream) = &mut self.flows[flow] {
                    stream.arrived(at, packet);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
