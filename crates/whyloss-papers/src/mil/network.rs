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
//! acknowledgements are dropped like data. Data packets have 1000 bytes. In Scenario 2 voice is 64 kbit/s in packets of
//! 200 bytes, both ways; "HTTP generation rate: 5 Kb/s" is taken for tcp-eval's parameter of that name, which counts
//! connections per second; its servers sit at the far end, so what they send goes against the forward flows. tcp-eval's
//! cross traffic is not mentioned and not there. RED is tcp-eval's too: adaptive, gentle, a target delay of 5 ms, with
//! ns-2's mean packet of 500 bytes; it drops packets and does not mark them.

use whyloss::{Duration, Rate, Time};
use whyloss_link::queue::{Discipline, Limit, RedSpec};
use whyloss_link::{ChannelSpec, LinkSpec, QueueSpec};
use whyloss_sim::host::datagrams::{Pattern, Spacing};
use whyloss_sim::host::web::Transfers;
use whyloss_sim::scenario::{Application, Flow, Scenario, Transport};

use super::variants;
use super::variants::PACKET;
use crate::build::{node, simplex};
use crate::variant::Variant;

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
const WEB_FLOWS: usize = 10;
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
    /// Random early detection.
    Red,
}

impl Queueing {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Fifo, Self::Red];

    /// As the paper writes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fifo => "FIFO",
            Self::Red => "RED",
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

/// What the paper leaves open about the network, one departure at a time (MIL-A3, -A5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Reading {
    /// As taken.
    #[default]
    Taken,
    /// Errors after the transmission: a corrupted packet has used the link's time.
    ErrorsAfterQueue,
    /// Errors towards the sinks alone: no acknowledgement of a forward flow is corrupted.
    ErrorsForward,
    /// tcp-eval's five transfers across each of several bottlenecks.
    CrossTraffic,
    /// 200 s, of which 40 s are neglected.
    Longer,
    /// Queues of RED mark, and all TCP is ECN-capable (tcp-eval's `setbit_`, with `ecn_`).
    Marks,
}

/// Everything but the variant of TCP and the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Setting {
    pub(crate) topology: Topology,
    pub(crate) queueing: Queueing,
    pub(crate) traffic: Traffic,
    /// The packet error rate of each bottleneck in each direction, in percent.
    pub(crate) per: u32,
    pub(crate) reading: Reading,
}

impl Setting {
    /// The scenario in which all long-lived flows are of this variant. The forward ones come first.
    pub(crate) fn scenario(&self, variant: &Variant) -> Scenario {
        let title = format!("{}, {}", self.topology.name(), self.traffic.name());
        let (measure_from, end) = match self.reading {
            Reading::Longer => (twice(NEGLECTED), twice(END)),
            _ => (NEGLECTED, END),
        };
        let mut net = Scenario {
            title,
            measure_from,
            end,
            ..Scenario::default()
        };
        let bottlenecks = self.topology.bottlenecks();
        let routers: Vec<usize> = (0..=bottlenecks)
            .map(|index| node(&mut net, format!("r{index}")))
            .collect();
        for pair in routers.windows(2) {
            simplex(&mut net, pair[0], pair[1], self.bottleneck(true));
            simplex(&mut net, pair[1], pair[0], self.bottleneck(false));
        }
        let mut builder = Builder {
            net,
            near: routers[0],
            far: routers[bottlenecks],
        };
        let tcp = || (PACKET, variant.transport.clone());
        builder.add(self.traffic.forward(), "forward", true, tcp);
        if self.traffic != Traffic::Alone {
            builder.add(5, "reverse", false, tcp);
            builder.add(5, "voice", true, voice);
            builder.add(5, "voice-back", false, voice);
            builder.add(5, "video", true, video);
            builder.add(5, "video-back", false, video);
            builder.add(WEB_FLOWS, "web", false, web);
        }
        if self.reading == Reading::CrossTraffic && bottlenecks > 1 {
            for (index, pair) in routers.windows(2).enumerate() {
                (builder.near, builder.far) = (pair[0], pair[1]);
                builder.add(5, &format!("cross-{index}"), true, tcp);
            }
        }
        let mut net = builder.net;
        for flow in &mut net.flows {
            if let Transport::Tcp { options, .. } | Transport::Web { options, .. } =
                &mut flow.transport
            {
                options.ecn = self.reading == Reading::Marks;
            }
        }
        net
    }

    fn bottleneck(&self, forward: bool) -> LinkSpec {
        let share = self.topology.bottlenecks() as i64;
        LinkSpec {
            rate: BOTTLENECK,
            delay: Duration::from_nanos(CORE_DELAY.as_nanos() / share),
            queue: match self.queueing {
                Queueing::Fifo => drop_tail(),
                Queueing::Red => red(self.reading == Reading::Marks),
            },
            channel: if forward || self.reading != Reading::ErrorsForward {
                ChannelSpec::Bernoulli {
                    loss: f64::from(self.per) / 100.0,
                }
            } else {
                ChannelSpec::None
            },
            channel_before_queue: self.reading != Reading::ErrorsAfterQueue,
            ..LinkSpec::default()
        }
    }
}

fn twice(time: Time) -> Time {
    Time::from_nanos(2 * time.as_nanos())
}

/// A scenario in the making, and the routers at its ends.
struct Builder {
    net: Scenario,
    near: usize,
    far: usize,
}

impl Builder {
    /// Adds flows, each with its own hosts and access links.
    fn add(
        &mut self,
        count: usize,
        name: &str,
        forward: bool,
        carrier: impl Fn() -> (u32, Transport),
    ) {
        let net = &mut self.net;
        let (from, to) = if forward {
            (self.near, self.far)
        } else {
            (self.far, self.near)
        };
        for index in 1..=count {
            let source = node(net, format!("{name}-source-{index}"));
            let sink = node(net, format!("{name}-sink-{index}"));
            for (host, router) in [(source, from), (sink, to)] {
                simplex(net, host, router, access());
                simplex(net, router, host, access());
            }
            let (packet_size, transport) = carrier();
            net.flows.push(Flow {
                name: format!("{name}-{index}"),
                source,
                sink,
                route: Vec::new(),
                return_route: Vec::new(),
                packet_size,
                coverage: None,
                transport,
                application: Application::Greedy,
                start: STARTS,
                stop: None,
                background: name != "forward",
            });
        }
    }
}

/// ns-2's CBR with `random_ 1`.
fn steady(packet: u32, kbps: u64) -> (u32, Transport) {
    let pattern = Pattern::Steady {
        spacing: Spacing::Dithered,
        changes: Vec::new(),
    };
    let rate = Rate::from_kbps(kbps);
    (packet, Transport::Datagrams { rate, pattern })
}

fn voice() -> (u32, Transport) {
    steady(200, 64)
}

fn video() -> (u32, Transport) {
    steady(840, 640)
}

/// Five connections a second, over as many flows as it takes for few to wait for one another; PackMime's responses.
fn web() -> (u32, Transport) {
    let transfers = Transfers {
        per_second: 5.0 / WEB_FLOWS as f64,
        size: 2_272,
        ..Transfers::default()
    };
    let options = variants::web();
    (PACKET, Transport::Web { options, transfers })
}

fn access() -> LinkSpec {
    LinkSpec {
        rate: ACCESS,
        delay: ACCESS_DELAY,
        queue: drop_tail(),
        ..LinkSpec::default()
    }
}

/// ns-2's DropTail refuses the packet that would bring its queue to the limit.
fn drop_tail() -> QueueSpec {
    QueueSpec::drop_tail(Limit::Packets(QUEUE - 1))
}

/// ns-2's RED admits that packet. It may mark.
fn red(ecn: bool) -> QueueSpec {
    QueueSpec {
        limit: Limit::Packets(QUEUE),
        discipline: Discipline::Red(RedSpec {
            weight: Some(0.001),
            adaptive: true,
            mean_packet: 500,
            ecn,
            ..RedSpec::default()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(topology: Topology, traffic: Traffic) -> Setting {
        Setting {
            topology,
            queueing: Queueing::Red,
            traffic,
            per: 3,
            reading: Reading::Taken,
        }
    }

    /// MIL-11: 80 ms over one bottleneck and over three, by the routes that packets take.
    #[test]
    fn the_round_trip_takes_80_ms() {
        for topology in Topology::ALL {
            let net = setting(topology, Traffic::Alone).scenario(&variants::newreno().plain);
            net.check().expect("a valid scenario");
            let (there, back) = whyloss_sim::scenario::Router::new(&net)
                .routes_of(&net.flows[0])
                .expect("a route");
            assert_eq!(there.len(), topology.bottlenecks() + 2);
            let delays = there
                .iter()
                .chain(&back)
                .map(|&link| net.links[link].link.delay);
            let nanos: i64 = delays.map(Duration::as_nanos).sum();
            assert!((nanos - 80_000_000).abs() < 10, "{nanos}");
        }
    }

    /// MIL-10: 20 forward and 5 reverse long-lived flows, 5 calls both ways, 5 films each way, and the web.
    #[test]
    fn scenario_2_has_what_is_printed() {
        let net =
            setting(Topology::Multiple, Traffic::SCENARIO_2).scenario(&variants::newreno().plain);
        net.check().expect("a valid scenario");
        let of = |name: &str| {
            let flows = net.flows.iter().map(|flow| flow.name.rsplit_once('-'));
            flows
                .filter(|parts| parts.is_some_and(|(stem, _)| stem == name))
                .count()
        };
        let counts = [
            "forward",
            "reverse",
            "voice",
            "voice-back",
            "video",
            "video-back",
        ]
        .map(of);
        assert_eq!(counts, [20, 5, 5, 5, 5, 5]);
        assert!(net.flows[..20].iter().all(|flow| !flow.background));
    }
}
