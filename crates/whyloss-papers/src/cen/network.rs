//! The networks of Cen et al., Section 5: wireless last hop, wireless backbone, wireless LAN.

use whyloss::{Duration, Rate, Time};
use whyloss_link::queue::Limit;
use whyloss_link::{ChannelSpec, LinkSpec, QueueSpec};
use whyloss_sim::host::datagrams::{Law, Pattern};
use whyloss_sim::scenario::{Application, Flow, Scenario, Transport};

use super::scheme::{PACKET, Scheme};
use crate::build::{duplex, node};

/// Warm-up traffic has the network to itself until here (CEN-22).
const WARM_UP: Time = Time::from_nanos(20_000_000_000);
/// Flows start, and warm-up traffic stops, within this time after the warm-up (CEN-22).
const STARTS_WITHIN: Duration = Duration::from_secs(2);
/// Data is transmitted and measured for this long (CEN-23).
const MEASURED: Duration = Duration::from_secs(200);

/// Where the wireless link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Topology {
    /// Wireless last hop (Fig. 5): a wired link shared by all flows, then a wireless link for each receiver.
    Wlh,
    /// Wireless backbone (Fig. 6): the shared link is wireless, and a LAN link leads to each receiver.
    Wb,
    /// Wireless LAN (Fig. 7): the shared wireless link leads to all receivers.
    Wlan,
}

impl Topology {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Wlh => "WLH",
            Self::Wb => "WB",
            Self::Wlan => "WLAN",
        }
    }

    /// The rate of the shared link for `n` flows (CEN-16, -17).
    pub(crate) fn shared_rate(self, n: usize) -> Rate {
        match self {
            Self::Wlh => Rate::from_kbps(130 * n.max(2) as u64),
            Self::Wb | Self::Wlan => Rate::from_kbps(if n <= 8 { 800 } else { 1600 }),
        }
    }

    /// The rate that throughput is normalised by (CEN-28).
    pub(crate) fn bottleneck(self, n: usize) -> Rate {
        match (self, n) {
            (Self::Wlh, 1) => WIRELESS_LAST_HOP,
            _ => self.shared_rate(n),
        }
    }
}

const LAN: Rate = Rate::from_mbps(10);
const LAN_DELAY: Duration = Duration::from_millis(1);
const WIRELESS_LAST_HOP: Rate = Rate::from_kbps(150);
const LAST_HOP_DELAY: Duration = Duration::from_millis(10);
const SHARED_DELAY: Duration = Duration::from_millis(20);

/// max(bandwidth / 60K, 6) packets, rounded down (CEN-21), as ns-2 takes a limit: it refuses the packet that would
/// bring the queue to it, so one less may wait beside the packet in transmission.
fn queue(rate: Rate) -> QueueSpec {
    let limit = (rate.as_bps() / 60_000).max(6) as u32;
    QueueSpec::drop_tail(Limit::Packets(limit - 1))
}

fn link(rate: Rate, delay: Duration, channel: &ChannelSpec) -> LinkSpec {
    LinkSpec {
        rate,
        delay,
        queue: queue(rate),
        channel: channel.clone(),
        ..LinkSpec::default()
    }
}

/// `n` flows, of these schemes in turn, over a topology whose wireless links have this channel; with the warm-up of Section 5.3, or
/// without it (then all flows start at once, as they do in the committed ns-2 runs).
pub(crate) struct Network<'a> {
    pub(crate) topology: Topology,
    pub(crate) flows: usize,
    pub(crate) schemes: &'a [Scheme],
    pub(crate) channel: &'a ChannelSpec,
    pub(crate) warm_up: bool,
    /// Corrupt packets before the queue, so that they use none of the link's time.
    pub(crate) before_queue: bool,
}

impl<'a> Network<'a> {
    /// With the warm-up and with errors behind the queue.
    pub(crate) fn new(
        topology: Topology,
        flows: usize,
        schemes: &'a [Scheme],
        channel: &'a ChannelSpec,
    ) -> Self {
        Self {
            topology,
            flows,
            schemes,
            channel,
            warm_up: true,
            before_queue: false,
        }
    }

    /// The scenario.
    pub(crate) fn scenario(&self) -> Scenario {
        let Self {
            topology, flows: n, ..
        } = *self;
        let none = ChannelSpec::None;
        let (shared_channel, last_channel) = match topology {
            Topology::Wlh => (&none, self.channel),
            Topology::Wb | Topology::Wlan => (self.channel, &none),
        };
        let link = |rate, delay, channel: &ChannelSpec| LinkSpec {
            channel_before_queue: self.before_queue && *channel != ChannelSpec::None,
            ..link(rate, delay, channel)
        };
        let mut net = Scenario {
            title: format!("{} with {n} flows", topology.name()),
            measure_from: WARM_UP,
            end: WARM_UP + MEASURED,
            ..Scenario::default()
        };
        let (r1, r2) = (node(&mut net, "r1".into()), node(&mut net, "r2".into()));
        let shared = topology.shared_rate(n);
        duplex(&mut net, r1, r2, link(shared, SHARED_DELAY, shared_channel));
        for (index, scheme) in (1..=n).zip(self.schemes.iter().cycle()) {
            let source = node(&mut net, format!("s{index}"));
            duplex(&mut net, source, r1, link(LAN, LAN_DELAY, &none));
            let sink = match topology {
                Topology::Wlan => r2,
                Topology::Wlh | Topology::Wb => {
                    let sink = node(&mut net, format!("d{index}"));
                    let (rate, delay) = match topology {
                        Topology::Wlh => (WIRELESS_LAST_HOP, LAST_HOP_DELAY),
                        _ => (LAN, LAN_DELAY),
                    };
                    duplex(&mut net, r2, sink, link(rate, delay, last_channel));
                    sink
                }
            };
            let latest = if self.warm_up {
                STARTS_WITHIN
            } else {
                Duration::ZERO
            };
            net.flows.push(Flow {
                name: format!("{}-{index}", scheme.id),
                source,
                sink,
                route: Vec::new(),
                return_route: Vec::new(),
                packet_size: PACKET,
                coverage: None,
                transport: scheme.transport.clone(),
                application: Application::Greedy,
                start: (WARM_UP, WARM_UP + latest),
                stop: None,
                background: false,
            });
        }
        if self.warm_up {
            net.flows
                .extend((1..=2).map(|index| warm_up(index, r1, r2, shared)));
        }
        net
    }
}

/// One of the two on/off sources that warm the network up (CEN-22: ns-2's default burst and pause, half the shared
/// rate each, over the shared link).
fn warm_up(index: usize, source: usize, sink: usize, shared: Rate) -> Flow {
    let half_a_second = Duration::from_millis(500);
    let rate = Rate::from_bps(shared.as_bps() / 2);
    Flow {
        name: format!("warm-up-{index}"),
        source,
        sink,
        route: Vec::new(),
        return_route: Vec::new(),
        packet_size: PACKET,
        coverage: None,
        transport: Transport::Datagrams {
            rate,
            pattern: Pattern::Bursts {
                law: Law::Exponential,
                burst: half_a_second,
                idle: half_a_second,
            },
        },
        application: Application::Greedy,
        start: (Time::ZERO, Time::ZERO),
        stop: Some((WARM_UP, WARM_UP + STARTS_WITHIN)),
        background: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_as_in_cen_21() {
        for (kbps, packets) in [
            (150, 6),
            (260, 6),
            (520, 8),
            (780, 13),
            (800, 13),
            (1600, 26),
            (2080, 34),
            (10_000, 166),
        ] {
            assert_eq!(
                queue(Rate::from_kbps(kbps)).limit,
                Limit::Packets(packets - 1),
                "{kbps} kbit/s"
            );
        }
    }

    #[test]
    fn shared_rates_as_in_cen_16_and_17() {
        assert_eq!(Topology::Wlh.shared_rate(1), Rate::from_kbps(260));
        assert_eq!(Topology::Wlh.bottleneck(1), Rate::from_kbps(150));
        assert_eq!(Topology::Wlh.shared_rate(16), Rate::from_kbps(2080));
        assert_eq!(Topology::Wb.shared_rate(8), Rate::from_kbps(800));
        assert_eq!(Topology::Wlan.shared_rate(10), Rate::from_kbps(1600));
    }
}
