//! The result of a run: counts over the measurement window, per flow and per link.

use whyloss::{Cause, Confusion, Duration, Rate, Time};

use crate::host::rtp::CallResult;
use crate::host::transfers::TransferResult;
use crate::scenario::Scenario;

/// The measurement window: both ends belong to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) from: Time,
    /// The end of the window, which is that of the run.
    pub(crate) end: Time,
}

impl Window {
    /// The measurement window of a scenario.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        Self {
            from: scenario.measure_from,
            end: scenario.end,
        }
    }

    #[inline]
    pub(crate) fn contains(self, at: Time) -> bool {
        self.from <= at && at <= self.end
    }

    pub(crate) fn length(self) -> Duration {
        self.end - self.from
    }
}

/// The counts of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Length of the measurement window.
    pub window: Duration,
    /// One per flow of the scenario, in its order.
    pub flows: Vec<FlowResult>,
    /// One per link of the scenario, in its order.
    pub links: Vec<LinkResult>,
    /// Events the engine handled, inside the window and out.
    pub events: u64,
}

/// The measures of one flow inside the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowResult {
    /// The flow's name in the scenario.
    pub name: String,
    /// Warm-up or cross traffic.
    pub background: bool,
    /// Data packets that left the source, retransmissions included.
    pub sent: u64,
    /// Data packets that the sink took, duplicates included.
    pub received: u64,
    /// Packets received with damaged bits, all beyond the flow's coverage.
    pub damaged: u64,
    /// Packets received that some queue had marked (ECN).
    pub marked: u64,
    /// Bytes of the packets received, headers included.
    pub received_bytes: u64,
    /// Data packets that the sink took for the first time (TCP: goodput).
    pub delivered: u64,
    /// Bytes that hosts from outside gave to the application at the sink, in order and once; 0 for
    /// every other transport.
    pub application_bytes: u64,
    /// Data packets lost, by cause. Those that the sink dropped for damage are lost to the channel.
    pub lost: ByCause,
    /// Verdicts on lost packets. The verdict on a loss event is that on every packet lost in it.
    /// None of an on/off source.
    pub packets: Confusion,
    /// Verdicts on loss events: gaps at the receiver (TFRC), recoveries and timeouts at the sender
    /// (TCP, IFTP). An event counts as congestion when any of its packets was lost to it.
    pub gaps: Confusion,
    /// Recoveries that began without a timeout, by the verdict (TCP, IFTP).
    pub recoveries: ByCause,
    /// Timeouts: the retransmission timer (TCP), the same without retransmission (IFTP).
    pub timeouts: u64,
    /// How long transfers took; `None` of a flow that has none.
    pub transfers: Option<Box<TransferResult>>,
    /// How a call fared; `None` of a flow that is none.
    pub call: Option<Box<CallResult>>,
}

impl FlowResult {
    /// Bits per second that reached the sink, headers and duplicates included, over a window of
    /// this length.
    pub fn throughput_bps(&self, window: Duration) -> f64 {
        self.received_bytes as f64 * 8.0 / window.as_secs_f64()
    }
}

/// A count for each cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByCause {
    /// Lost to full queues.
    pub congestion: u64,
    /// Lost to a channel.
    pub wireless: u64,
}

impl ByCause {
    pub(crate) fn add(&mut self, cause: Cause) {
        match cause {
            Cause::Congestion => self.congestion += 1,
            Cause::Wireless => self.wireless += 1,
        }
    }
}

/// The measures of one link inside the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkResult {
    /// The link's name in the scenario.
    pub name: String,
    /// Packets that arrived at the far end.
    pub delivered: u64,
    /// Delivered packets in which this link damaged bits.
    pub damaged: u64,
    /// Delivered packets that this link's queue marked (ECN) instead of dropping them.
    pub marked: u64,
    /// The bytes of those that arrived.
    pub delivered_bytes: u64,
    /// Packets lost, by cause.
    pub lost: ByCause,
    /// Bytes of the packets that the channel corrupted after their transmission.
    pub corrupted_bytes: u64,
    /// The link's rate.
    pub rate: Rate,
}

impl LinkResult {
    /// The share of a window of this length that the link spent sending.
    pub fn utilisation(&self, window: Duration) -> f64 {
        let bits = (self.delivered_bytes + self.corrupted_bytes) as f64 * 8.0;
        bits / (self.rate.as_bps() as f64 * window.as_secs_f64())
    }
}
