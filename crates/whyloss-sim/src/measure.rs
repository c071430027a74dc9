//! The result of a run: counts over the measurement window, per flow and per link.

use std::ops::Deref;
use std::sync::Arc;

use whyloss::{Cause, Confusion, Duration, Rate, Time};
use whyloss_link::LinkSpec;

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
    /// Returns the measurement window of a scenario.
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

    /// Returns the mean of a link's rate, which handovers change.
    pub(crate) fn mean_rate(self, link: &LinkSpec) -> Rate {
        let span = |from: Time, to: Time| u128::from(to.as_nanos().saturating_sub(from.as_nanos()));
        let (mut rate, mut since, mut bits) = (link.rate, self.from, 0);
        for handover in &link.handovers {
            if let Some(new) = handover.rate {
                let at = handover.at.clamp(since, self.end.max(since));
                bits += u128::from(rate.as_bps()) * span(since, at);
                (rate, since) = (new, at);
            }
        }
        bits += u128::from(rate.as_bps()) * span(since, self.end);
        Rate::from_bps((bits / span(self.from, self.end).max(1)) as u64)
    }
}

/// The results of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The length of the measurement window.
    pub window: Duration,
    /// The results of the flows, in the order of the scenario.
    pub flows: Vec<FlowResult>,
    /// The results of the links, in the order of the scenario.
    pub links: Vec<LinkResult>,
    /// The number of events that the engine handled, inside the window and outside.
    pub events: u64,
}

/// Holds the measures of one flow inside the window. It dereferences to its counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowResult {
    /// The flow's name in the scenario.
    pub name: String,
    /// Whether the flow is warm-up or cross traffic.
    pub background: bool,
    /// The name in the file of the `[[flow]]` that the flow is a copy of; `None` without a `count`.
    pub copy_of: Option<Arc<str>>,
    /// The packets and verdicts that were counted.
    pub counts: FlowCounts,
    /// The completion times of transfers; `None` if the flow has no transfers.
    pub transfers: Option<Box<TransferResult>>,
    /// The measures of a call; `None` if the flow is not a call.
    pub call: Option<Box<CallResult>>,
    /// The time and reason of the close of the connection. `None` if it stayed open, or the
    /// transport has no close.
    pub closed: Option<Box<Closed>>,
}

/// Holds the counts of one flow inside the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowCounts {
    /// The number of data packets that left the source, retransmissions included.
    pub sent: u64,
    /// The number of data packets that the sink received, duplicates included.
    pub received: u64,
    /// The number of packets received with damaged bits, all beyond the flow's coverage.
    pub damaged: u64,
    /// The number of packets received that a queue had marked (ECN).
    pub marked: u64,
    /// The bytes of the packets received, headers included.
    pub received_bytes: u64,
    /// The number of data packets that the sink received for the first time (TCP: goodput).
    pub delivered: u64,
    /// The bytes that hosts from outside gave to the application at the sink, in order and once. 0
    /// for every other transport.
    pub application_bytes: u64,
    /// The number of data packets lost, by cause. Packets that the sink dropped for damage count as
    /// lost to the channel.
    pub lost: ByCause,
    /// The verdicts on lost packets. The verdict on a loss event counts for every packet lost in
    /// it. An on/off source has none.
    pub packets: Confusion,
    /// The verdicts on loss events: gaps at the receiver (TFRC), recoveries and timeouts at the
    /// sender (TCP, IFTP). The true cause of an event is congestion if any of its packets was lost
    /// to congestion.
    pub gaps: Confusion,
    /// The number of recoveries that began without a timeout, by their verdict (TCP, IFTP).
    pub recoveries: ByCause,
    /// The number of timeouts of the retransmission timer (TCP), or of IFTP's timer, which
    /// retransmits nothing.
    pub timeouts: u64,
}

/// The close of a connection during a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// When the first end closed it, in simulated time.
    pub at: Time,
    /// The reason, in the words of the closing end's stack.
    pub reason: String,
}

impl Measurement {
    /// Returns the transfers of the flow with this name, or else of all copies of the `[[flow]]`
    /// with this name in the file. Returns `None` if there are none.
    pub fn transfers_of(&self, name: &str) -> Option<TransferResult> {
        let named = |flow: &&FlowResult| flow.name == name;
        let copies = |flow: &&FlowResult| flow.copy_of.as_deref() == Some(name);
        let mut flows: Vec<_> = self.flows.iter().filter(named).collect();
        if flows.is_empty() {
            flows = self.flows.iter().filter(copies).collect();
        }
        let results = flows.iter().filter_map(|flow| flow.transfers.as_deref());
        let results: Vec<_> = results.collect();
        (!results.is_empty()).then(|| results.into_iter().sum())
    }
}

impl Deref for FlowResult {
    type Target = FlowCounts;

    fn deref(&self) -> &FlowCounts {
        &self.counts
    }
}

impl FlowResult {
    /// Returns the rate in bits per second that reached the sink over a window of this length,
    /// headers and duplicates included.
    pub fn throughput_bps(&self, window: Duration) -> f64 {
        self.received_bytes as f64 * 8.0 / window.as_secs_f64()
    }
}

/// A count for each cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByCause {
    /// The number of losses by congestion.
    pub congestion: u64,
    /// The number of losses by a wireless channel.
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

/// Holds the measures of one link inside the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkResult {
    /// The link's name in the scenario.
    pub name: String,
    /// The number of packets that arrived at the far end.
    pub delivered: u64,
    /// The number of delivered packets in which this link damaged bits.
    pub damaged: u64,
    /// The number of delivered packets that this link's queue marked (ECN) instead of dropping
    /// them.
    pub marked: u64,
    /// The bytes of the packets that arrived.
    pub delivered_bytes: u64,
    /// The number of packets lost, by cause.
    pub lost: ByCause,
    /// The bytes of the packets that the channel corrupted after their transmission.
    pub corrupted_bytes: u64,
    /// The rate of the link, or the mean of one that varies or that handovers change.
    pub rate: Rate,
}

impl LinkResult {
    /// Returns the share of a window of this length, in [0, 1], that the link spent sending.
    pub fn utilisation(&self, window: Duration) -> f64 {
        let bits = (self.delivered_bytes + self.corrupted_bytes) as f64 * 8.0;
        bits / (self.rate.as_bps() as f64 * window.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simulation;

    /// A greedy flow keeps a link busy whose rate rises from 2 to 20 Mbit/s after 10 of 60 s, and
    /// then falls to 5 Mbit/s after the end.
    #[test]
    fn handovers_change_the_rate_that_utilisation_is_relative_to() {
        let text = r#"
            duration = "60 s"
            link = [{ from = "a", to = "b", rate = "2 Mbit/s", delay = "5 ms", queue = { packets = 50 }, handovers = [{ at = "10 s", rate = "20 Mbit/s" }, { at = "70 s", rate = "5 Mbit/s" }] }]
            flow = [{ from = "a", to = "b", transport = { kind = "cbr", rate = "30 Mbit/s" } }]
        "#;
        for (from, mean) in [(0, 17_000_000), (5, 18_363_636), (20, 20_000_000)] {
            let mut scenario = Scenario::of(text);
            scenario.measure_from = Time::from_nanos(from * 1_000_000_000);
            let run = Simulation::new(&scenario, 1).run().expect("it can be run");
            let plain = Simulation::new(&scenario, 1)
                .plain()
                .run()
                .expect("it can be run");
            assert_eq!(run.links, plain.links);
            assert_eq!(run.links[0].rate, Rate::from_bps(mean));
            let used = run.links[0].utilisation(run.window);
            assert!((0.995..1.001).contains(&used), "{used}");
        }
    }
}
