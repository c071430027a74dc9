//! The networks that `whyloss bench` runs.
//!
//! ```text
//! dumbbell     scenarios/dumbbell.toml: ten NewReno flows over 100 Mbit/s for 100 s
//! one-flow     a NewReno flow over 10 Mbit/s and 50 ms for 100 s; the queue holds one
//!              bandwidth-delay product
//! flows        the dumbbell with 1 to 10,000 flows over 1 Gbit/s for 10 s; access links have
//!              10 Gbit/s; more than 1,000 flows share 1,000 pairs of hosts
//! parking-lot  scenarios/parking-lot.toml: three adaptive RED queues, TCP both ways and across,
//!              voice, video and web, for 100 s
//! pipe         a datagram source of 1 Gbit/s over a link of variable delay, followed by a link
//!              with another source: measures the memory of a packet in flight
//! wlh          scenarios/wlh.toml: the replications of the sweep
//! tfrc, codel  the dumbbell with TFRC flows, or with CoDel at the bottleneck, for `--ablate`
//! ```
//!
//! Deliveries count from the start of the run.

use clap::ValueEnum;
use whyloss::{Duration, Time};
use whyloss_sim::Scenario;
use whyloss_sim::host::tcp::Recovery;
use whyloss_sim::scenario::{ScenarioError, Transport};

const DUMBBELL: &str = include_str!("../../scenarios/dumbbell.toml");
const PARKING_LOT: &str = include_str!("../../scenarios/parking-lot.toml");
const WLH: &str = include_str!("../../scenarios/wlh.toml");

const ONE_FLOW: &str = r#"
duration = "100 s"

[[link]]
name = "path"
from = "s"
to = "d"
rate = "10 Mbit/s"
delay = "50 ms"
queue = { packets = 83 }

[[flow]]
name = "bulk"
from = "s"
to = "d"
packet = "1500 B"
transport = { kind = "tcp", recovery = "newreno", delayed_ack = "none" }
"#;

const PIPE: &str = r#"
duration = "10 s"

[[link]]
name = "path"
from = "s"
to = "r"
rate = "1 Gbit/s"
delay = "1 ms"
queue = "unlimited"

# Where something else may come in, so that packets must wait to see whether it does.
[[link]]
name = "last"
from = "r"
to = "d"
rate = "10 Gbit/s"
delay = "0 ms"
queue = "unlimited"

[[flow]]
name = "source"
from = "s"
to = "d"
packet = "1500 B"
transport = { kind = "cbr", rate = "1 Gbit/s" }

[[flow]]
name = "other"
from = "r"
to = "d"
packet = "1500 B"
transport = { kind = "cbr", rate = "1 kbit/s" }
"#;

/// The maximum number of host pairs in `flows`. ns-2 keeps a table of all addresses in each node,
/// and a scenario has at most 10,000 links.
const PAIRS: u32 = 1_000;

/// A network without its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Network {
    Dumbbell,
    OneFlow,
    Flows,
    ParkingLot,
    Pipe,
    Wlh,
    Tfrc,
    Codel,
}

/// The load of one process: a network, its size and its simulated time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) network: Network,
    /// The number of flows of `flows`, or the delay of `pipe` in ms. Other networks have one size
    /// and ignore it.
    pub(crate) size: u32,
    /// The simulated time in seconds; `None` for that of the scenario.
    pub(crate) seconds: Option<u32>,
    /// Whether flows use selective acknowledgements instead of NewReno's recovery.
    pub(crate) sack: bool,
}

impl Load {
    /// Returns the load of a network with its default size and simulated time.
    pub(crate) fn whole(network: Network) -> Self {
        Self {
            network,
            size: 1,
            seconds: None,
            sack: false,
        }
    }

    /// Returns the scenario of the load.
    ///
    /// # Errors
    /// Returns an error if the size makes an invalid scenario.
    pub(crate) fn scenario(&self) -> Result<Scenario, ScenarioError> {
        let (text, sets) = match self.network {
            Network::Dumbbell => (DUMBBELL, Vec::new()),
            Network::OneFlow => (ONE_FLOW, Vec::new()),
            Network::Flows => (DUMBBELL, self.gigabit()),
            Network::ParkingLot => (PARKING_LOT, Vec::new()),
            Network::Pipe => (
                PIPE,
                vec![("link.path.delay".into(), format!("{} ms", self.size))],
            ),
            Network::Wlh => (WLH, Vec::new()),
            Network::Tfrc => (
                DUMBBELL,
                vec![("flow.bulk.transport".into(), r#"{ kind = "tfrc" }"#.into())],
            ),
            Network::Codel => (
                DUMBBELL,
                vec![("link.bottleneck.queue.aqm".into(), "codel".into())],
            ),
        };
        let mut scenario = Scenario::from_toml(text, "", &sets)?;
        if self.network == Network::Flows {
            let pairs = scenario.flows.len();
            scenario
                .flows
                .reserve_exact((self.size as usize).saturating_sub(pairs));
            for index in pairs..self.size as usize {
                let mut flow = scenario.flows[index % pairs].clone();
                flow.name = format!("bulk-{}", index + 1);
                scenario.flows.push(flow);
            }
        }
        for flow in scenario.flows.iter_mut().filter(|_| self.sack) {
            if let Transport::Tcp { options, .. } = &mut flow.transport {
                options.recovery = Recovery::Sack;
            }
        }
        if let Some(seconds) = self.seconds {
            scenario.end = Time::ZERO + Duration::from_secs(i64::from(seconds));
        }
        scenario.measure_from = Time::ZERO;
        Ok(scenario)
    }

    fn gigabit(&self) -> Vec<(String, String)> {
        let flows = self.size.min(PAIRS).to_string();
        let sets = [
            ("link.left.count", flows.as_str()),
            ("link.right.count", &flows),
            ("flow.bulk.count", &flows),
            ("link.left.rate", "10 Gbit/s"),
            ("link.right.rate", "10 Gbit/s"),
            ("link.bottleneck.rate", "1 Gbit/s"),
            ("link.bottleneck.queue.packets", "3667"), // 1 Gbit/s × 44 ms / 12000 bit
            ("duration", "10 s"),
        ];
        let owned = sets.map(|(key, value)| (key.to_owned(), value.to_owned()));
        owned.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_network_is_a_scenario_of_its_size() {
        for &network in Network::value_variants() {
            let load = Load {
                size: 100,
                seconds: Some(70),
                ..Load::whole(network)
            };
            let scenario = load.scenario().expect("a scenario");
            scenario.check().expect("one that runs");
            assert_eq!(scenario.end, Time::from_nanos(70_000_000_000));
            if network == Network::Flows {
                assert_eq!(scenario.flows.len(), 100);
                // Two access links and the bottleneck, in both directions.
                assert_eq!(scenario.links.len(), 402);
            }
        }
        let shared = Load {
            size: 2_500,
            ..Load::whole(Network::Flows)
        };
        let shared = shared.scenario().expect("a scenario");
        shared.check().expect("one that runs");
        assert_eq!((shared.flows.len(), shared.links.len()), (2_500, 4_002));
        assert_eq!(shared.flows[2_499].source, shared.flows[499].source);
        let full = Load::whole(Network::Dumbbell)
            .scenario()
            .expect("a scenario");
        assert_eq!((full.flows.len(), full.links.len()), (10, 42));
    }

    #[test]
    fn selective_acknowledgements_are_all_that_changes() {
        let plain = Load::whole(Network::Dumbbell);
        let sack = Load {
            sack: true,
            ..plain
        };
        let [mut plain, sack] = [plain, sack].map(|load| load.scenario().expect("a scenario"));
        assert_ne!(plain, sack);
        for flow in &mut plain.flows {
            if let Transport::Tcp { options, .. } = &mut flow.transport {
                options.recovery = Recovery::Sack;
            }
        }
        assert_eq!(plain, sack);
    }
}
