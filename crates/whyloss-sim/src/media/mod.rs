//! Follows the frames of every media stream to its sink, as a viewer or listener gets them.
//!
//! ```text
//! whole, damaged   all packets of the frame are there at capture + playout delay; damaged: bits were hit in one of them
//!                  that no checksum covered
//! late             they are there later, before the run ends
//! never            they are not: lost, dropped for a damaged header, thrown away unsent, or still waiting
//! ```
//!
//! Over TCP a frame is there when all before it is, too: the application reads in order. Other
//! transports hand over what arrives. A frame is captured when the application produces it, so
//! waiting for the transport counts.
//!
//! Frames count that are captured in the measurement window and whose deadline lies before the end
//! of the run, or of the flow if that may stop earlier.

mod frames;

use whyloss::Duration;

use crate::observe::{Event, Observer, Order, Watch};
use crate::scenario::Scenario;

pub use self::frames::StreamResult;

/// Follows frames. Its memory is that of the packets under way.
#[derive(Clone, Debug)]
pub struct Media {
    /// One per flow of the scenario, in its order; `None` without a stream.
    pub flows: Vec<Option<StreamResult>>,
}

/// The counts of a stream's frames, for one playout delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounts {
    /// How long after its capture a frame is played.
    pub playout: Duration,
    /// Frames that count.
    pub frames: u64,
    /// Frames in time without damage.
    pub whole: u64,
    /// Frames in time with damage.
    pub damaged: u64,
    /// Frames that came later.
    pub late: u64,
}

impl FrameCounts {
    /// Counts the frames that did not come.
    pub fn never(&self) -> u64 {
        self.frames - self.whole - self.damaged - self.late
    }

    /// So many frames as a share of all; `None` if there are none.
    pub fn share(&self, count: u64) -> Option<f64> {
        (self.frames > 0).then(|| count as f64 / self.frames as f64)
    }

    /// The share of those in time, damaged or not.
    pub fn usable(&self) -> Option<f64> {
        self.share(self.whole + self.damaged)
    }
}

impl Media {
    /// An observer of one run of this scenario.
    pub fn new(scenario: &Scenario) -> Self {
        let flows = scenario.flows.iter();
        Self {
            flows: flows.map(|f| StreamResult::new(scenario, f)).collect(),
        }
    }

    /// Counts of the frames of each flow of the scenario, for each playout delay; none without a
    /// stream.
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
