//! The networks of Milenkoski & Stojcevska, Section 5, as tcp-eval (Wang and Xia, NEC 2007, v. 2008) sets them up.
//!
//! ```text
//! sources ─ access ─ r0 ═══ r1 ─ access ─ sinks               single bottleneck
//! sources ─ access ─ r0 ═══ r1 ═══ r2 ═══ r3 ─ access ─ sinks  multiple bottlenecks
//!
//! bottleneck   10 Mbit/s, 80 ms · 0.5 · 0.8 / bottlenecks = 32 or 10.67 ms, queue = BDP = 100 packets, FIFO or RED
//! access       15 Mbit/s, 80 ms · 0.5 · 0.2 / 2 = 4 ms, DropTail of 100 packets; its own for every flow
//! errors       Bernoulli, at every bottleneck in both directions, before the queue (ns-2's `lossmodel`)
//! ```
//!
//! The paper prints the rates, the queue's length, the error rates and the traffic; the rest is tcp-eval's default
//! (MIL-11), among them the errors' place: a packet that the error model drops has taken none of the link's time, and
//! acknowledgements are dropped like data. Data packets have 1000 bytes.

use whyloss::{Duration, Rate, Time};
use whyloss_link::queue::Limit;
use whyloss_link::{ChannelSpec, LinkSpec, QueueSpec};
use whyloss_sim::scenario::{Flow, Scenario, Transport};

use crate::build::{node, simplex};
use crate::variant::Variant;

/// Bytes of a data packet on the wire.
pub(crate) const PACKET: u32 = 1000;
/// The bottlenecks' rate.
pub(crate) const BOTTLENECK: Rate = Rate::from_mbps(10);
const ACCESS: Rate = Rate::from_mbps(15);
const ACCESS_DELAY: Duration = Duration::from_millis(4);
/// The delay of all bottlenecks together, one way.
const CORE_DELAY: Duration = Duration::from_millis(32);
/// One bandwidth-delay product: 10 Mbit/s · 80 ms in packets of 1000 bytes.
const QUEUE: u32 = 100;
/// Statistics begin after a fifth of the time.
const NEGLECTED: Time = Time::from_nanos(20_000_000_000);
const END: Time = Time::from_nanos(100_000_000_000);
/// When flows start.
const STARTS: (Time, Time) = (Time::from_nanos(1_000_000), Time::from_nanos(300_000_000));

/// How many bottlenecks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Topology {
    /// One (Fig. 1).
    Single,
    /// Three in a row (Fig. 2).
    Multiple,
}

impl Topology {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Single, Self::Multiple];

    /// As the paper writes it, but for "-bottleneck".
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Multiple => "multiple",
        }
    }

    /// How many bottlenecks.
    pub(crate) fn bottlenecks(self) -> usize {
        match self {
            Self::Single => 1,
            Self::Multiple => 3,
        }
    }
}

/// The discipline of the bottlenecks' queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Queueing {
    /// First in, first out; what finds no room is dropped.
    Fifo,
}

impl Queueing {
    /// Both.
    pub(crate) const ALL: [Self; 1] = [Self::Fifo];

    /// As the paper writes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fifo => "FIFO",
        }
    }
}

/// What shares the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Traffic {
    /// Scenario 1: one forward flow and nothing else.
    Alone,
    /// Scenario 2: so many forward flows (20 in the paper), 5 in reverse, voice, video and web.
    Congested(usize),
}

impl Traffic {
    /// Scenario 2 as printed.
    pub(crate) const SCENARIO_2: Self = Self::Congested(20);

    /// As the paper writes it.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Alone => "Scenario 1".into(),
            Self::SCENARIO_2 => "Scenario 2".into(),
            Self::Congested(flows) => format!("Scenario 2 with {flows} forward flows"),
        }
    }

    /// Forward long-lived flows: what is measured.
    pub(crate) fn forward(self) -> usize {
        match self {
            Self::Alone => 1,
            Self::Congested(flows) => flows,
        }
    }
}

/// Everything but the variant of TCP and the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Setting {
    pub(crate) topology: Topology,
    pub(crate) queueing: Queueing,
    pub(crate) traffic: Traffic,
    /// The packet error rate of each bottleneck in each direction, in percent.
    pub(crate) per: u32,
}

impl Setting {
    /// The scenario in which all long-lived flows are of this variant. The forward ones come first.
    pub(crate) fn scenario(&self, variant: &Variant) -> Scenario {
        let mut net = Scenario {
            title: format!("{}, {}", self.topology.name(), self.traffic.name()),
            measure_from: NEGLECTED,
            end: END,
            ..Scenario::default()
        };
        let bottlenecks = self.topology.bottlenecks();
        let routers: Vec<usize> = (0..=bottlenecks)
            .map(|index| node(&mut net, format!("r{index}")))
            .collect();
        for pair in routers.windows(2) {
            simplex(&mut net, pair[0], pair[1], self.bottleneck());
            simplex(&mut net, pair[1], pair[0], self.bottleneck());
        }
        let (near, far) = (routers[0], routers[bottlenecks]);
        let mut add = |name: String, (from, to), packet_size, transport| {
            let source = node(&mut net, format!("{name}-source"));
            let sink = node(&mut net, format!("{name}-sink"));
            for (host, router) in [(source, from), (sink, to)] {
                simplex(&mut net, host, router, access());
                simplex(&mut net, router, host, access());
            }
            net.flows.push(Flow {
                name,
                source,
                sink,
                route: Vec::new(),
                return_route: Vec::new(),
                packet_size,
                transport,
                start: STARTS,
                stop: None,
                background: false,
            });
        };
        for index in 1..=self.traffic.forward() {
            let name = format!("forward-{index}");
            add(name, (near, far), PACKET, variant.transport());
        }
        net
    }

    fn bottleneck(&self) -> LinkSpec {
        LinkSpec {
            rate: BOTTLENECK,
            delay: Duration::from_nanos(CORE_DELAY.as_nanos() / self.topology.bottlenecks() as i64),
            queue: drop_tail(),
            channel: ChannelSpec::Bernoulli {
                loss: f64::from(self.per) / 100.0,
            },
            channel_before_queue: true,
        }
    }
}

fn access() -> LinkSpec {
    LinkSpec {
        rate: ACCESS,
        delay: ACCESS_DELAY,
        queue: drop_tail(),
        channel: ChannelSpec::None,
        channel_before_queue: false,
    }
}

/// ns-2's DropTail refuses the packet that would bring its queue to the limit.
fn drop_tail() -> QueueSpec {
    QueueSpec {
        limit: Limit::Packets(QUEUE - 1),
    }
}
