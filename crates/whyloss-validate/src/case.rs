//! A network that both sides simulate, and what is compared.

use whyloss::Time;
use whyloss_sim::RunError;
use whyloss_sim::Watch;
use whyloss_sim::host::tcp;
use whyloss_sim::scenario::{Scenario, Transport};
use whyloss_study::statistics::jain;

use crate::margin::Margin;

/// A network with flows of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// What the flows are, such as `NewReno`.
    pub(crate) kind: &'static str,
    /// What sets the case apart, such as `path of 2 Mbit/s, loss 1 %`.
    pub(crate) name: String,
    /// The network.
    pub(crate) scenario: Scenario,
    /// What the peer calls the flows' stack.
    pub(crate) stack: String,
    /// The receiver's window, in packets.
    pub(crate) window: u32,
    /// Whether receivers delay acknowledgements.
    pub(crate) delayed_ack: bool,
    /// The links that limit, by index: their drops count, and goodput is a share of the first one's rate.
    pub(crate) bottlenecks: Vec<usize>,
    /// How far goodput may be off.
    pub(crate) goodput: Margin,
    /// What is compared besides goodput.
    pub(crate) also: Vec<Also>,
    /// Replications on either side.
    pub(crate) seeds: u64,
}

/// What may be compared besides goodput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Also {
    /// Packets dropped at the bottlenecks.
    Drops,
    /// Packets marked there.
    Marks,
    /// Jain's index over the flows.
    Jain,
    /// Goodput of the first flow alone.
    FirstFlow,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) margin: Margin,
}

/// What one run showed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Observed {
    /// Packets that arrived for the first time, as the sender knows (TCP) or all that arrived (TFRC), per flow.
    pub(crate) packets: Vec<f64>,
    /// Packets offered to the bottlenecks.
    pub(crate) offered: f64,
    /// Packets that their queues dropped.
    pub(crate) dropped: f64,
    /// Packets that they marked.
    pub(crate) marked: f64,
}

impl Case {
    /// What is compared, in the order of [`Case::values`].
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let also = self.also.iter().map(|also| match also {
            Also::Drops => Metric {
                name: "queue drops",
                unit: "%",
                margin: Margin::DROPS,
            },
            Also::Marks => Metric {
                name: "queue marks",
                unit: "%",
                margin: Margin::DROPS,
            },
            Also::Jain => Metric {
                name: "Jain's index",
                unit: "",
                margin: Margin::JAIN,
            },
            Also::FirstFlow => Metric {
                name: "goodput of the long flow",
                unit: "%",
                margin: Margin::ONE_OF_SEVERAL,
            },
        });
        let goodput = Metric {
            name: "goodput",
            unit: "%",
            margin: self.goodput,
        };
        [goodput].into_iter().chain(also).collect()
    }

    /// What a run says of each metric. Goodput counts packets with their headers, in per cent of a bottleneck's rate.
    pub(crate) fn values(&self, run: &Observed) -> Vec<f64> {
        let size = self.scenario.flows.first().map_or(0, |f| f.packet_size);
        let rate = self
            .bottlenecks
            .first()
            .map_or(0, |&link| self.scenario.links[link].link.rate.as_bps());
        let seconds = (self.scenario.end - Time::ZERO).as_secs_f64();
        let percent =
            |packets: f64| packets * f64::from(8 * size) / (seconds * rate as f64) * 100.0;
        let sum: f64 = run.packets.iter().sum();
        let also = self.also.iter().map(|also| match also {
            Also::Drops => 100.0 * run.dropped / run.offered,
            Also::Marks => 100.0 * run.marked / run.offered,
            Also::Jain => jain(&run.packets).unwrap_or(f64::NAN),
            Also::FirstFlow => percent(run.packets.first().copied().unwrap_or(0.0)),
        });
        [percent(sum)].into_iter().chain(also).collect()
    }

    /// One run of ours.
    ///
    /// # Errors
    /// Why the engine has no result.
    pub(crate) fn run(&self, seed: u64) -> Result<Observed, RunError> {
        let mut acknowledged = Acknowledged(vec![0; self.scenario.flows.len()]);
        let run = whyloss_sim::run_watched(&self.scenario, seed, &mut acknowledged)?;
        let flows = self.scenario.flows.iter().zip(&run.flows);
        let packets = flows.zip(acknowledged.0).map(|((flow, result), count)| {
            match &flow.transport {
                // The first stands for the SYN, or is left out where there is none.
                Transport::Tcp { options, .. } => {
                    count.saturating_sub(u64::from(options.handshake)) as f64
                }
                _ => result.received as f64,
            }
        });
        let mut observed = Observed {
            packets: packets.collect(),
            ..Observed::default()
        };
        for &link in &self.bottlenecks {
            let link = &run.links[link];
            observed.offered += (link.delivered + link.lost.congestion + link.lost.wireless) as f64;
            observed.dropped += link.lost.congestion as f64;
            observed.marked += link.marked as f64;
        }
        Ok(observed)
    }
}

/// The number of segments that each flow's sender knows to have arrived.
struct Acknowledged(Vec<u64>);

impl Watch for Acknowledged {
    fn reacted(&mut self, flow: usize, _at: Time, sender: &tcp::Sender) {
        self.0[flow] = sender.acknowledged();
    }
}
