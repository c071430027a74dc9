//! The networks of Le & Hong, Figs 3, 6, 9, and what the paper leaves open about them.
//!
//! ```text
//! Fig. 6   source ─ access ─ r1 ═ bottleneck, buffers = pipe ═ r2 ─ wireless, losses ─ sink
//! Fig. 3   the same without a wireless link, its bottleneck shared with a CBR source
//! Fig. 9   Fig. 6, its bottleneck shared with ten on/off sources in each direction
//!
//! pipe     C·2d/8·1000 packets, d the one-way propagation delay of the whole path
//! ```
//!
//! Open in the paper: the wireless link's rate is 100 Mbit/s (stated in Section 4.5 alone), its delay 0.01 ms; the access
//! link is like it. Losses are independent and befall data only (BAL-A7), after transmission. Fig. 3 has a round trip
//! of 100 ms and a buffer of its pipe (BAL-10). A single flow starts within the first 0.1 s, several within the first
//! second; everything is measured from the beginning, since how a connection starts is part of the result (BAL-32).

use whyloss::{Duration, Rate, Time};
use whyloss_link::queue::Limit;
use whyloss_link::{ChannelSpec, LinkSpec, QueueSpec};
use whyloss_sim::host::datagrams::{Law, Pattern, Spacing};
use whyloss_sim::scenario::{Application, Flow, Scenario, Transport};

use super::stack::PACKET;
use crate::build::{duplex, node};
use crate::variant::Variant;

/// Delay of the wireless and the access link.
const EDGE_DELAY: Duration = Duration::from_micros(10);
/// Rate of the wireless link where Section 4.5 states it, and of the access link.
pub(crate) const EDGE_RATE: Rate = Rate::from_mbps(100);
/// Rate of an on/off source while it sends (BAL-13).
const BURST_RATE: Rate = Rate::from_kbps(500);

/// Traffic that shares the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cross {
    /// None.
    None,
    /// Ten on/off sources in each direction (Fig. 9).
    OnOff,
    /// A CBR source whose rate follows [`SCHEDULE`] (Fig. 4).
    Cbr,
}

/// Seconds, and the CBR source's rate from then on in kbit/s (BAL-10: the paper draws it only).
pub(crate) const SCHEDULE: [(u64, u64); 6] = [
    (0, 0),
    (25, 500),
    (50, 1000),
    (75, 250),
    (100, 750),
    (125, 0),
];

/// A network and its flows.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    /// Capacity of the bottleneck.
    pub(crate) bottleneck: Rate,
    /// Propagation delay of the path in one direction.
    pub(crate) one_way: Duration,
    /// Rate of the wireless link; `None`: there is none (Fig. 3).
    pub(crate) wireless: Option<Rate>,
    /// Probability that the wireless link loses a packet.
    pub(crate) loss: f64,
    /// Buffers in pipes.
    pub(crate) buffer: f64,
    /// What else the bottleneck carries.
    pub(crate) cross: Cross,
    /// A TCP flow from `r2` to `r1` between these times (Fig. 5).
    pub(crate) reverse: Option<(Variant, Time, Time)>,
    /// When the bottleneck's delay grows, and by how much (BAL-A8).
    pub(crate) step: Option<(Time, Duration)>,
    /// When the run ends.
    pub(crate) end: Time,
}

/// So many seconds after the beginning.
pub(crate) const fn at(seconds: u64) -> Time {
    Time::from_nanos(seconds * 1_000_000_000)
}

impl Network {
    /// Fig. 6: 5 Mbit/s, 50 ms, 100 s, no loss, nothing else.
    pub(crate) fn hybrid() -> Self {
        Self {
            bottleneck: Rate::from_mbps(5),
            one_way: Duration::from_millis(50),
            wireless: Some(EDGE_RATE),
            loss: 0.0,
            buffer: 1.0,
            cross: Cross::None,
            reverse: None,
            step: None,
            end: at(100),
        }
    }

    /// Fig. 3: 1.5 Mbit/s, 150 s.
    pub(crate) fn single_bottleneck() -> Self {
        Self {
            bottleneck: Rate::from_kbps(1500),
            wireless: None,
            end: at(150),
            ..Self::hybrid()
        }
    }

    /// The pipe in packets: what the bottleneck carries in a round trip without queueing.
    pub(crate) fn pipe(&self) -> f64 {
        let bits = self.bottleneck.as_bps() as f64 * 2.0 * self.one_way.as_secs_f64();
        bits / f64::from(8 * PACKET)
    }

    /// The scenario in which `flows` share this network.
    pub(crate) fn scenario(&self, flows: &[Variant]) -> Scenario {
        let mut net = Scenario {
            title: "Le and Hong 2006".into(),
            end: self.end,
            ..Scenario::default()
        };
        // ns-2 refuses the packet that would bring its queue to the limit.
        let limit = Limit::Packets(((self.buffer * self.pipe()) as u32).max(2) - 1);
        let link = |rate, delay| LinkSpec {
            rate,
            delay,
            queue: QueueSpec::drop_tail(limit),
            ..LinkSpec::default()
        };
        let edges = if self.wireless.is_some() { 2 } else { 1 };
        let delay = self.one_way - EDGE_DELAY * edges;
        let (r1, r2) = (node(&mut net, "r1".into()), node(&mut net, "r2".into()));
        let bottleneck = LinkSpec {
            delay_changes: self
                .step
                .map(|(from, by)| (from, delay + by))
                .into_iter()
                .collect(),
            ..link(self.bottleneck, delay)
        };
        duplex(&mut net, r1, r2, bottleneck);
        let source = node(&mut net, "source".into());
        duplex(&mut net, source, r1, link(EDGE_RATE, EDGE_DELAY));
        let sink = self.wireless.map_or(r2, |rate| {
            let sink = node(&mut net, "sink".into());
            let channel = if self.loss > 0.0 {
                ChannelSpec::Bernoulli { loss: self.loss }
            } else {
                ChannelSpec::None
            };
            let radio = LinkSpec {
                channel,
                ..link(rate, EDGE_DELAY)
            };
            duplex(&mut net, r2, sink, radio);
            sink
        });
        let latest = if flows.len() > 1 {
            at(1)
        } else {
            Time::ZERO + Duration::from_millis(100)
        };
        for (index, variant) in (1..).zip(flows) {
            net.flows.push(Flow {
                start: (Time::ZERO, latest),
                ..flow(
                    format!("{}-{index}", variant.id),
                    (source, sink),
                    variant.transport.clone(),
                )
            });
        }
        if let Some((variant, from, to)) = &self.reverse {
            net.flows.push(Flow {
                start: (*from, *from),
                stop: Some((*to, *to)),
                background: true,
                ..flow("reverse".into(), (r2, r1), variant.transport.clone())
            });
        }
        self.cross_traffic(&mut net, (r1, r2));
        net
    }

    fn cross_traffic(&self, net: &mut Scenario, (r1, r2): (usize, usize)) {
        let mut add = |name: String, ends, transport| {
            net.flows.push(Flow {
                background: true,
                ..flow(name, ends, transport)
            });
        };
        match self.cross {
            Cross::None => {}
            Cross::OnOff => {
                for index in 1..=10 {
                    add(format!("forward-{index}"), (r1, r2), on_off());
                    add(format!("backward-{index}"), (r2, r1), on_off());
                }
            }
            Cross::Cbr => add("cbr".into(), (r1, r2), cbr()),
        }
    }
}

/// Bursts of 300 ms and pauses of 200 ms in the mean, both Pareto of shape 1.5 (BAL-13).
fn on_off() -> Transport {
    Transport::Datagrams {
        rate: BURST_RATE,
        pattern: Pattern::Bursts {
            law: Law::Pareto { shape: 1.5 },
            burst: Duration::from_millis(300),
            idle: Duration::from_millis(200),
        },
    }
}

/// A packet at constant intervals, by [`SCHEDULE`].
fn cbr() -> Transport {
    let change = |&(from, kbps): &(u64, u64)| (at(from), Rate::from_kbps(kbps));
    Transport::Datagrams {
        rate: Rate::from_kbps(SCHEDULE[0].1),
        pattern: Pattern::Steady {
            spacing: Spacing::Regular,
            changes: SCHEDULE[1..].iter().map(change).collect(),
        },
    }
}

fn flow(name: String, (source, sink): (usize, usize), transport: Transport) -> Flow {
    Flow {
        name,
        source,
        sink,
        route: Vec::new(),
        return_route: Vec::new(),
        packet_size: PACKET,
        coverage: None,
        transport,
        application: Application::Greedy,
        start: (Time::ZERO, Time::ZERO),
        stop: None,
        background: false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::stack::Stack;
    use super::*;

    #[test]
    fn pipes_by_hand() {
        // 5 Mbit/s · 100 ms = 62.5 packets; 1.5 Mbit/s · 100 ms = 18.75; 10 Mbit/s · 70 ms = 87.5.
        let friendly = Network {
            bottleneck: Rate::from_mbps(10),
            one_way: Duration::from_millis(35),
            ..Network::hybrid()
        };
        for (network, pipe) in [
            (Network::hybrid(), 62.5),
            (Network::single_bottleneck(), 18.75),
            (friendly, 87.5),
        ] {
            assert!((network.pipe() - pipe).abs() < 1e-9, "{}", network.pipe());
        }
    }

    #[test]
    fn every_network_passes_the_checks() {
        let stack = Stack::default();
        for cross in [Cross::None, Cross::OnOff, Cross::Cbr] {
            for wireless in [None, Some(EDGE_RATE)] {
                let network = Network {
                    cross,
                    wireless,
                    loss: 0.01,
                    reverse: Some((stack.reno(), at(30), at(120))),
                    step: Some((at(50), Duration::from_millis(50))),
                    ..Network::hybrid()
                };
                let scenario = network.scenario(&stack.all());
                assert!(scenario.check().is_ok(), "{network:?}");
            }
        }
    }
}
