//! Builds the networks of comparisons: two of Cen et al., a path of two links, a dumbbell, a
//! parking lot.
//!
//! ```text
//! WLH       s ─10 M, 1 ms─ r1 ─260 k, 20 ms─ r2 ~150 k, 10 ms~ d          762-byte packets
//! WB        s ─10 M, 1 ms─ r1 ~800 k, 20 ms~ r2 ─10 M, 1 ms─ d            762-byte packets
//! path      s ─R, 50 ms─ n ~10 M, 10 µs~ d                                1500-byte packets;
//!           a queue of one bandwidth-delay product
//! dumbbell  4 × s ─100 M, 1.3 … 10.9 ms─ r1 ~4 M, 20 ms~ r2 ─100 M, 1 ms─ 4 × d
//!           a queue of 25, RED, CoDel, FQ-CoDel or PIE
//! parking   r0 ~2 M, 10 ms~ r1 ~2 M, 10 ms~ r2 ~2 M, 10 ms~ r3
//! lot       a flow over all three links and one over each; the queues of the dumbbell
//! ```
//!
//! ~ loses packets. By default, queues hold max(rate/60 kbit/s, 6) − 1 packets in addition to the
//! one in transmission. Flows start within the first second and are counted from the start of the
//! run.
//!
//! In the dumbbell and the parking lot, no two round trips differ by a multiple of the bottleneck's
//! transmission time. Otherwise packets would reach a full queue exactly when a place becomes free.
//! The order of the two simultaneous events would then decide which flow loses (phase effects;
//! Floyd and Jacobson 1992). Here the departure comes first; in ns-2, the event scheduled first.

use whyloss::{Duration, Rate, Time};
use whyloss_link::queue::{CodelSpec, Discipline, FqCodelSpec, Limit, PieSpec, RedSpec};
use whyloss_link::{ChannelSpec, LinkSpec, QueueSpec};
use whyloss_sim::scenario::{Connection, Flow, Scenario, Transport};

/// A network without the stacks of its flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Topology {
    /// The wireless last hop of Cen et al.
    Wlh,
    /// The wireless backbone of Cen et al.
    Wb,
    /// A wired link with this rate, then a wireless one.
    Path(Rate),
    /// Four flows with four round trips over one link.
    Dumbbell,
    /// One flow over three links, each of which also has a separate flow.
    ParkingLot,
}

/// The queue discipline of the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bottleneck {
    DropTail,
    Red,
    /// RED that marks. It is not gentle, because simulators differ in whether the gentle branch
    /// marks or drops.
    Marks,
    /// CoDel as in RFC 8289. Like the next three, it has room for 1,000 packets, so that only the
    /// discipline drops.
    Codel,
    /// CoDel that marks.
    CodelMarks,
    FqCodel,
    Pie,
}

impl Bottleneck {
    /// Returns the suffix of a case's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::DropTail => "",
            Self::Red => ", RED",
            Self::Marks => ", RED with ECN",
            Self::Codel => ", CoDel",
            Self::CodelMarks => ", CoDel with ECN",
            Self::FqCodel => ", FQ-CoDel",
            Self::Pie => ", PIE",
        }
    }

    /// Returns whether the queue marks packets.
    pub(crate) fn marks(self) -> bool {
        matches!(self, Self::Marks | Self::CodelMarks)
    }

    /// Returns whether the discipline controls the queueing delay.
    pub(crate) fn controls_delay(self) -> bool {
        matches!(
            self,
            Self::Codel | Self::CodelMarks | Self::FqCodel | Self::Pie
        )
    }

    /// Returns the queue. A DropTail queue has room for `packets` packets.
    fn queue(self, packets: u32) -> QueueSpec {
        let ecn = self.marks();
        let codel = CodelSpec {
            ecn,
            ..CodelSpec::default()
        };
        let (limit, discipline) = match self {
            Self::DropTail => (packets, Discipline::DropTail),
            Self::Red | Self::Marks => (
                50,
                Discipline::Red(RedSpec {
                    ecn,
                    gentle: !ecn,
                    ..RED
                }),
            ),
            Self::Codel | Self::CodelMarks => (1_000, Discipline::Codel(codel)),
            Self::FqCodel => (1_000, Discipline::FqCodel(FqCodelSpec::default())),
            Self::Pie => (1_000, Discipline::Pie(PieSpec::default())),
        };
        QueueSpec {
            limit: Limit::Packets(limit),
            discipline,
        }
    }
}

/// A scenario and the indices of its bottlenecks.
pub(crate) struct Network {
    pub(crate) scenario: Scenario,
    pub(crate) bottlenecks: Vec<usize>,
}

/// The delays from the sources to the first router, in µs.
const ACCESS: [i64; 4] = [1_300, 4_100, 7_700, 10_900];

const RED: RedSpec = RedSpec {
    min: Some(5.0),
    max: Some(15.0),
    max_p: 0.1,
    weight: Some(0.002),
    gentle: true,
    wait: true,
    adaptive: false,
    target_delay: Duration::from_millis(5),
    bytes: false,
    mean_packet: 1_000,
    ecn: false,
};

impl Topology {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Wlh => "WLH".into(),
            Self::Wb => "WB".into(),
            Self::Path(rate) => format!("path of {} Mbit/s", rate.as_bps() / 1_000_000),
            Self::Dumbbell => "dumbbell".into(),
            Self::ParkingLot => "parking lot".into(),
        }
    }

    /// Returns the size of a full packet on the wire, in bytes.
    pub(crate) fn packet(self) -> u32 {
        match self {
            Self::Wlh | Self::Wb => 762,
            _ => 1500,
        }
    }

    /// Returns the simulated time of a run, in seconds.
    fn seconds(self) -> i64 {
        match self {
            Self::Wlh | Self::Wb | Self::Path(_) => 200,
            Self::Dumbbell | Self::ParkingLot => 100,
        }
    }

    /// Returns the network with flows of this transport.
    pub(crate) fn network(
        self,
        transport: &Transport,
        channel: &ChannelSpec,
        discipline: Bottleneck,
    ) -> Network {
        let mut build = Build {
            net: Scenario {
                title: self.name(),
                end: Time::ZERO + Duration::from_secs(self.seconds()),
                ..Scenario::default()
            },
            channel,
            discipline,
        };
        let bottlenecks = match self {
            Self::Wlh => {
                let [s, r1, r2, d] = ["s", "r1", "r2", "d"].map(|name| build.node(name));
                build.duplex(s, r1, &wired(10_000, 1_000));
                build.duplex(r1, r2, &wired(260, 20_000));
                let last = build.wireless(r2, d, wired(150, 10_000));
                build.flow(s, d, self.packet(), transport);
                vec![last]
            }
            Self::Wb => {
                let [s, r1, r2, d] = ["s", "r1", "r2", "d"].map(|name| build.node(name));
                build.duplex(s, r1, &wired(10_000, 1_000));
                let shared = build.wireless(r1, r2, wired(800, 20_000));
                build.duplex(r2, d, &wired(10_000, 1_000));
                build.flow(s, d, self.packet(), transport);
                vec![shared]
            }
            Self::Path(rate) => {
                let [s, n, d] = ["s", "n", "d"].map(|name| build.node(name));
                // A bandwidth-delay product of 100 ms in packets of 1500 bytes, rounded up
                // like ns-2's limit.
                let product = (rate.as_bps() / 10).div_ceil(8 * 1500) as u32;
                let there = LinkSpec {
                    rate,
                    delay: Duration::from_millis(50),
                    ..LinkSpec::default()
                };
                let first = build.bottleneck(s, n, there.clone(), product - 1);
                build.simplex(n, s, with_queue(there, 999));
                let radio = with_queue(wired(10_000, 10), 999);
                let last = build.net.links.len();
                build.duplex(n, d, &radio);
                build.net.links[last].link.channel = channel.clone();
                build.flow(s, d, self.packet(), transport);
                vec![first]
            }
            Self::Dumbbell => {
                let [r1, r2] = ["r1", "r2"].map(|name| build.node(name));
                let shared = build.bottleneck(r1, r2, wired(4_000, 20_000), 25);
                build.net.links[shared].link.channel = channel.clone();
                build.simplex(r2, r1, with_queue(wired(4_000, 20_000), 999));
                for (index, delay) in ACCESS.into_iter().enumerate() {
                    let s = build.node(&format!("s{index}"));
                    let d = build.node(&format!("d{index}"));
                    let near = with_queue(wired(100_000, delay), 999);
                    build.duplex(s, r1, &near);
                    build.duplex(r2, d, &with_queue(wired(100_000, 1_000), 999));
                    build.flow(s, d, self.packet(), transport);
                }
                vec![shared]
            }
            Self::ParkingLot => {
                let routers = [0, 1, 2, 3].map(|index| build.node(&format!("r{index}")));
                let hops = routers.windows(2).map(|ends| {
                    let there = build.bottleneck(ends[0], ends[1], wired(2_000, 10_000), 25);
                    build.net.links[there].link.channel = channel.clone();
                    build.simplex(ends[1], ends[0], with_queue(wired(2_000, 10_000), 999));
                    there
                });
                let hops = hops.collect();
                let ends = [(0, 3), (0, 1), (1, 2), (2, 3)];
                for ((from, to), delay) in ends.into_iter().zip(ACCESS) {
                    let s = build.node(&format!("s{from}{to}"));
                    let d = build.node(&format!("d{from}{to}"));
                    build.duplex(s, routers[from], &with_queue(wired(100_000, delay), 999));
                    build.duplex(routers[to], d, &with_queue(wired(100_000, 1_000), 999));
                    build.flow(s, d, self.packet(), transport);
                }
                hops
            }
        };
        Network {
            scenario: build.net,
            bottlenecks,
        }
    }
}

/// Returns a link with this rate in kbit/s and delay in µs, with the queue of Cen et al.
fn wired(kbps: u64, micros: i64) -> LinkSpec {
    let link = LinkSpec {
        rate: Rate::from_kbps(kbps),
        delay: Duration::from_micros(micros),
        ..LinkSpec::default()
    };
    with_queue(link, (kbps / 60).max(6) as u32 - 1)
}

fn with_queue(link: LinkSpec, packets: u32) -> LinkSpec {
    LinkSpec {
        queue: QueueSpec::drop_tail(Limit::Packets(packets)),
        ..link
    }
}

/// A scenario under construction.
struct Build<'a> {
    net: Scenario,
    channel: &'a ChannelSpec,
    discipline: Bottleneck,
}

impl Build<'_> {
    fn node(&mut self, name: &str) -> usize {
        self.net.nodes.push(name.into());
        self.net.nodes.len() - 1
    }

    fn simplex(&mut self, from: usize, to: usize, link: LinkSpec) -> usize {
        let name = format!("{}->{}", self.net.nodes[from], self.net.nodes[to]);
        self.net.links.push(Connection {
            name,
            from,
            to,
            link,
        });
        self.net.links.len() - 1
    }

    fn duplex(&mut self, a: usize, b: usize, link: &LinkSpec) {
        self.simplex(a, b, link.clone());
        self.simplex(b, a, link.clone());
    }

    /// Adds a bottleneck with room for `packets` packets, and returns its index.
    fn bottleneck(&mut self, from: usize, to: usize, link: LinkSpec, packets: u32) -> usize {
        let queue = self.discipline.queue(packets);
        self.simplex(from, to, LinkSpec { queue, ..link })
    }

    /// Adds a link that loses packets towards `to`, and returns the index of that direction.
    fn wireless(&mut self, from: usize, to: usize, link: LinkSpec) -> usize {
        let back = link.clone();
        let there = self.simplex(
            from,
            to,
            LinkSpec {
                channel: self.channel.clone(),
                ..link
            },
        );
        self.simplex(to, from, back);
        there
    }

    fn flow(&mut self, source: usize, sink: usize, packet_size: u32, transport: &Transport) {
        let name = format!("flow-{}", self.net.flows.len());
        let mut flow = Flow::new(name, (source, sink), packet_size, transport.clone());
        flow.start.1 = Time::ZERO + Duration::from_secs(1);
        self.net.flows.push(flow);
    }
}
