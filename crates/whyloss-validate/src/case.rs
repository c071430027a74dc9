//! Describes a network that both sides simulate, and the metrics to compare.

use whyloss::Duration;
use whyloss_link::Fate;

use whyloss_sim::scenario::{Scenario, Transport};
use whyloss_sim::{Event, RunError, Watch};
use whyloss_study::statistics::jain;

use crate::margin::Margin;

/// A network with flows of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The kind of the flows, such as `NewReno`.
    pub(crate) kind: &'static str,
    /// The name of the case, such as `path of 2 Mbit/s, loss 1 %`.
    pub(crate) name: String,
    /// The network and its flows.
    pub(crate) scenario: Scenario,
    /// The peer's name for the flows' stack.
    pub(crate) stack: String,
    /// The receiver's window, in packets.
    pub(crate) window: u32,
    /// Whether receivers delay acknowledgements.
    pub(crate) delayed_ack: bool,
    /// The links that limit, by index: their drops count, and goodput is a share of the first one's
    /// rate.
    pub(crate) bottlenecks: Vec<usize>,
    /// The margin within which goodput must agree.
    pub(crate) goodput: Margin,
    /// The metrics besides goodput.
    pub(crate) also: Vec<Also>,
    /// The number of replications on either side.
    pub(crate) seeds: u64,
}

/// A metric besides goodput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Also {
    /// The share of packets dropped at the bottlenecks.
    Drops,
    /// The share of packets marked at the bottlenecks.
    Marks,
    /// Jain's index over the flows.
    Jain,
    /// The goodput of the first flow alone.
    FirstFlow,
    /// The time that packets wait at the bottlenecks before they are sent.
    Wait,
}

/// The quantities that are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) margin: Margin,
}

/// The results of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Observed {
    /// The number of packets of each flow that arrived. For TCP, each acknowledged packet counts
    /// once; for TFRC, all packets count.
    pub(crate) packets: Vec<f64>,
    /// The number of packets offered to the bottlenecks.
    pub(crate) offered: f64,
    /// The number of packets that the bottlenecks' queues dropped.
    pub(crate) dropped: f64,
    /// The number of packets that the bottlenecks marked.
    pub(crate) marked: f64,
    /// The mean waiting time of the packets that left a bottleneck, in seconds, summed over the
    /// bottlenecks; NaN if the peer does not report it.
    pub(crate) wait: f64,
}

impl Case {
    /// Returns the kind and name, which `--only` searches.
    pub(crate) fn label(&self) -> String {
        format!("{}, {}", self.kind, self.name)
    }

    /// Returns the metrics, in the order of [`Case::values`].
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
            Also::Wait => Metric {
                name: "mean wait",
                unit: "ms",
                margin: Margin::WAIT,
            },
        });
        let goodput = Metric {
            name: "goodput",
            unit: "%",
            margin: self.goodput,
        };
        [goodput].into_iter().chain(also).collect()
    }

    /// Returns each metric's value in a run. Goodput counts packets with their headers, in percent
    /// of a bottleneck's rate.
    pub(crate) fn values(&self, run: &Observed) -> Vec<f64> {
        let size = self.scenario.flows.first().map_or(0, |f| f.packet_size);
        let rate = self
            .bottlenecks
            .first()
            .map_or(0, |&link| self.scenario.links[link].link.rate.as_bps());
        let seconds = (self.scenario.end - self.scenario.measure_from).as_secs_f64();
        let percent =
            |packets: f64| packets * f64::from(8 * size) / (seconds * rate as f64) * 100.0;
        let sum: f64 = run.packets.iter().sum();
        let also = self.also.iter().map(|also| match also {
            Also::Drops => 100.0 * run.dropped / run.offered,
            Also::Marks => 100.0 * run.marked / run.offered,
            Also::Jain => jain(&run.packets).unwrap_or(f64::NAN),
            Also::FirstFlow => percent(run.packets.first().copied().unwrap_or(0.0)),
            Also::Wait => 1_000.0 * run.wait,
        });
        [percent(sum)].into_iter().chain(also).collect()
    }

    /// Runs Whyloss once.
    ///
    /// # Errors
    /// Returns the reason why the engine has no result.
    pub(crate) fn run(&self, seed: u64) -> Result<Observed, RunError> {
        let mut seen = Seen {
            scenario: &self.scenario,
            before: vec![0; self.scenario.flows.len()],
            acknowledged: vec![0; self.scenario.flows.len()],
            waits: vec![(Duration::ZERO, 0); self.scenario.links.len()],
        };
        let run = whyloss_sim::Simulation::new(&self.scenario, seed)
            .watch(&mut seen)
            .run()?;
        let flows = self.scenario.flows.iter().zip(&run.flows);
        let counts = seen.acknowledged.iter().zip(&seen.before);
        let packets = flows.zip(counts).map(|((flow, result), (&all, &before))| {
            match &flow.transport {
                // The first acknowledged segment is the SYN, which does not count; without a
                // handshake, all count.
                Transport::Tcp { options, .. } => {
                    (all - before.max(u64::from(options.handshake)).min(all)) as f64
                }
                _ => result.received as f64,
            }
        });
        let mut observed = Observed {
            packets: packets.collect(),
            ..Observed::default()
        };
        for &index in &self.bottlenecks {
            let (waited, packets) = seen.waits[index];
            observed.wait += waited.as_secs_f64() / packets as f64;
            let link = &run.links[index];
            observed.offered += (link.delivered + link.lost.congestion + link.lost.wireless) as f64;
            observed.dropped += link.lost.congestion as f64;
            observed.marked += link.marked as f64;
        }
        Ok(observed)
    }
}

/// Collects counts that are not part of the results of a run.
struct Seen<'a> {
    scenario: &'a Scenario,
    /// The number of acknowledged segments of each flow when measuring began.
    before: Vec<u64>,
    /// The number of acknowledged segments of each flow at the end.
    acknowledged: Vec<u64>,
    /// The total waiting time of the packets that left each link, and their number.
    waits: Vec<(Duration, u64)>,
}

impl Watch for Seen<'_> {
    fn on(&mut self, event: &Event<'_>) {
        match *event {
            Event::Reacted { flow, at, sender } => {
                self.acknowledged[flow] = sender.acknowledged();
                if at < self.scenario.measure_from {
                    self.before[flow] = self.acknowledged[flow];
                }
            }
            Event::Offered {
                link,
                at,
                packet,
                fate,
                ..
            } => {
                if let Fate::Delivered(arrives) = fate
                    && arrives >= self.scenario.measure_from
                {
                    let spec = &self.scenario.links[link].link;
                    let (waited, packets) = &mut self.waits[link];
                    *waited += arrives - at - spec.rate.transmission_time(packet.size) - spec.delay;
                    *packets += 1;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ns3_grid;
    use whyloss::Time;

    fn under_codel() -> Case {
        let mut cases = ns3_grid::cases(true);
        let index = cases.iter().position(|case| case.name.contains("CoDel"));
        cases.swap_remove(index.expect("in the grid"))
    }

    /// With a window of one packet, no packet waits. With a window of a thousand, packets wait at
    /// the first link for more than CoDel's target.
    #[test]
    fn waits_are_without_transmission_and_delay() {
        let mut case = under_codel();
        let wait = |case: &Case| case.run(1).expect("a run").wait;
        let full = wait(&case);
        assert!(full > 0.005 && full < 0.020, "{full}");
        for flow in &mut case.scenario.flows {
            let Transport::Tcp { options, .. } = &mut flow.transport else {
                panic!("no TCP");
            };
            options.receive_window = 1;
        }
        assert!(wait(&case).abs() < 1e-12);
    }

    /// In the last tenth of the time, at most the link's capacity arrives; over the whole run,
    /// about ten times as much.
    #[test]
    fn what_came_before_measuring_does_not_count() {
        let mut case = under_codel();
        let packets = |case: &Case| case.run(1).expect("a run").packets[0];
        case.scenario.measure_from = Time::ZERO;
        let all = packets(&case);
        case.scenario.measure_from = Time::ZERO + Duration::from_secs(90);
        let last = packets(&case);
        let carried = 10.0 * 2e6 / (8.0 * 1_502.0);
        assert!(last <= carried + 1.0, "{last} of {carried}");
        assert!((all / last - 10.0).abs() < 1.0, "{all} and {last}");
    }
}
