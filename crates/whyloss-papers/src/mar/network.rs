//! The networks of Martignon & Fratta, Sections 3 to 6: links in a row, flows over all of them, and cross traffic over
//! some of them.
//!
//! ```text
//! Fig. 1   S ──C_SN, τ_SN── N ──C_ND, τ_ND── D     base: 10 Mbit/s and 50 ms, 10 Mbit/s and 0.01 ms (MAR-7, -8)
//! queues   BDP = C·RTT/(8·1500), C of the slowest link: 17, 42, 83 packets at 2, 5, 10 Mbit/s and 100 ms
//! ```
//!
//! A packet in transmission counts against the limit, as it does in ns-2, which the paper used.

use whyloss::{Duration, Rate, Time};
use whyloss_link::channel::TimedGilbertElliott;
use whyloss_link::queue::Limit;
use whyloss_link::{ChannelSpec, LinkSpec, QueueSpec};
use whyloss_sim::host::datagrams::{Law, Pattern};
use whyloss_sim::scenario::{Application, Flow, Scenario, Transport};

use crate::build::{duplex, node};
use crate::variant::Variant;

/// Payload of a segment in bytes, and what the paper's queues and cross traffic count in (MAR-7, -11).
pub(crate) const SEGMENT: u32 = 1500;
/// Bytes of TCP's and IP's headers, which ns-2 adds to a segment too.
pub(crate) const HEADERS: u32 = 40;
/// Steady state begins here (MAR-16).
pub(crate) const FROM: Time = Time::from_nanos(50_000_000_000);
/// A run ends here (MAR-16).
pub(crate) const END: Time = Time::from_nanos(500_000_000_000);
/// Where there are several flows, each starts within this time.
pub(crate) const STARTS_WITHIN: Duration = Duration::from_secs(10);
/// The round-trip time of the paper's networks, unless it varies.
pub(crate) const RTT: Duration = Duration::from_millis(100);
/// Sources of cross traffic on a link (MAR-11).
const SOURCES: u64 = 30;

/// A link of the row.
#[derive(Clone, Debug)]
pub(crate) struct Hop {
    pub(crate) rate: Rate,
    pub(crate) delay: Duration,
    /// What corrupts data packets; acknowledgements are not lost (MAR-9).
    pub(crate) channel: ChannelSpec,
    /// Whether 30 on/off sources take half of it on average (MAR-11).
    pub(crate) cross: bool,
}

/// Links in a row, and the flows from one end to the other.
#[derive(Clone, Debug)]
pub(crate) struct Network<'a> {
    pub(crate) hops: Vec<Hop>,
    /// One for each flow.
    pub(crate) flows: Vec<&'a Variant>,
    /// Packets that each link holds; `None`: the bandwidth-delay product.
    pub(crate) queue: Option<u32>,
    /// Steady state begins here …
    pub(crate) from: Time,
    /// … and the run ends here.
    pub(crate) end: Time,
}

impl<'a> Network<'a> {
    /// Fig. 1 with one flow; 100 ms of round trip.
    pub(crate) fn wired_cum_wireless(
        (wired, wireless): (Rate, Rate),
        channel: ChannelSpec,
        flow: &'a Variant,
    ) -> Self {
        let hop = |rate, delay, channel| Hop {
            rate,
            delay,
            channel,
            cross: false,
        };
        let hops = vec![
            hop(wired, Duration::from_millis(50), ChannelSpec::None),
            hop(wireless, Duration::from_micros(10), channel),
        ];
        Self::new(hops, vec![flow])
    }

    /// One link (Figs 7 and 8).
    pub(crate) fn single(
        rate: Rate,
        rtt: Duration,
        channel: ChannelSpec,
        flows: Vec<&'a Variant>,
    ) -> Self {
        let hop = Hop {
            rate,
            delay: rtt / 2,
            channel,
            cross: false,
        };
        Self::new(vec![hop], flows)
    }

    pub(crate) fn new(hops: Vec<Hop>, flows: Vec<&'a Variant>) -> Self {
        Self {
            hops,
            flows,
            queue: None,
            from: FROM,
            end: END,
        }
    }

    /// With cross traffic over the first link (MAR-11).
    pub(crate) fn with_cross_traffic(mut self) -> Self {
        self.hops[0].cross = true;
        self
    }

    /// The slowest link's rate.
    pub(crate) fn bottleneck(&self) -> Rate {
        let rates = self.hops.iter().map(|hop| hop.rate);
        rates.min().unwrap_or_default()
    }

    fn rtt(&self) -> Duration {
        let there = self.hops.iter().map(|hop| hop.delay);
        there.fold(Duration::ZERO, |sum, delay| sum + delay) * 2
    }

    /// The scenario.
    pub(crate) fn scenario(&self) -> Scenario {
        let mut net = Scenario {
            title: "Martignon & Fratta 2005".into(),
            measure_from: self.from,
            end: self.end,
            ..Scenario::default()
        };
        let product = || bdp(self.bottleneck(), self.rtt());
        let limit = self.queue.unwrap_or_else(product).max(2);
        let nodes: Vec<usize> = (0..=self.hops.len())
            .map(|index| node(&mut net, format!("n{index}")))
            .collect();
        for (ends, hop) in nodes.windows(2).zip(&self.hops) {
            let link = LinkSpec {
                rate: hop.rate,
                delay: hop.delay,
                queue: QueueSpec::drop_tail(Limit::Packets(limit - 1)),
                channel: hop.channel.clone(),
                ..LinkSpec::default()
            };
            duplex(&mut net, ends[0], ends[1], link);
        }
        let within = if self.flows.len() > 1 {
            STARTS_WITHIN
        } else {
            Duration::from_secs(1)
        };
        for (index, variant) in self.flows.iter().enumerate() {
            net.flows.push(Flow {
                name: format!("{}-{index}", variant.id),
                source: nodes[0],
                sink: nodes[self.hops.len()],
                route: Vec::new(),
                return_route: Vec::new(),
                packet_size: variant.size,
                coverage: None,
                transport: variant.transport.clone(),
                application: Application::Greedy,
                start: (Time::ZERO, Time::ZERO + within),
                stop: None,
                background: false,
            });
        }
        for (ends, hop) in nodes.windows(2).zip(&self.hops) {
            if hop.cross {
                cross_traffic(&mut net, (ends[0], ends[1]), hop.rate);
            }
        }
        net
    }
}

/// 30 sources whose on and off periods are Pareto distributed, with shape 1.5 and means of 100 and 200 ms (MAR-11). They
/// take half of the link: R_UDP = C/20, which is the paper's 0.5 Mbit/s of 10.
fn cross_traffic(net: &mut Scenario, (source, sink): (usize, usize), rate: Rate) {
    let rate = Rate::from_bps(rate.as_bps() * 3 / 2 / SOURCES);
    for index in 0..SOURCES {
        net.flows.push(Flow {
            name: format!("udp-{source}-{index}"),
            source,
            sink,
            route: Vec::new(),
            return_route: Vec::new(),
            packet_size: SEGMENT,
            coverage: None,
            transport: Transport::Datagrams {
                rate,
                pattern: Pattern::Bursts {
                    law: Law::Pareto { shape: 1.5 },
                    burst: Duration::from_millis(100),
                    idle: Duration::from_millis(200),
                },
            },
            application: Application::Greedy,
            start: (Time::ZERO, Time::ZERO + Duration::from_secs(1)),
            stop: None,
            background: true,
        });
    }
}

/// The bandwidth-delay product in packets, to the nearest.
pub(crate) fn bdp(rate: Rate, rtt: Duration) -> u32 {
    let bits = rate.as_bps() as f64 * rtt.as_secs_f64();
    libm::round(bits / f64::from(8 * SEGMENT)) as u32
}

/// Independent losses (MAR-9); none at all at a rate of 0.
pub(crate) fn independent(loss: f64) -> ChannelSpec {
    if loss > 0.0 {
        ChannelSpec::Bernoulli { loss }
    } else {
        ChannelSpec::None
    }
}

/// Correlated losses: good for 1 s, bad for 50 ms on average, losing only in the bad state (MAR-10).
pub(crate) fn correlated(loss_bad: f64) -> ChannelSpec {
    ChannelSpec::TimedGilbertElliott(TimedGilbertElliott {
        mean_good: Duration::from_secs(1),
        mean_bad: Duration::from_millis(50),
        loss_good: 0.0,
        loss_bad,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2·10⁶·0.1/12000 = 16.7, 41.7, 83.3.
    #[test]
    fn queues_as_in_mar_7() {
        for (mbps, packets) in [(2, 17), (5, 42), (10, 83)] {
            assert_eq!(bdp(Rate::from_mbps(mbps), RTT), packets);
        }
    }

    /// 30·R/3 is half of the link.
    #[test]
    fn cross_traffic_as_in_mar_11() {
        let variant = super::super::scheme::Schemes::paper().newreno();
        let rates = (Rate::from_mbps(10), Rate::from_mbps(10));
        let network = Network::wired_cum_wireless(rates, ChannelSpec::None, &variant);
        let scenario = network.with_cross_traffic().scenario();
        let udp: Vec<_> = scenario.flows.iter().filter(|f| f.background).collect();
        assert_eq!(udp.len(), 30);
        for flow in udp {
            let Transport::Datagrams { rate, .. } = flow.transport else {
                panic!("{:?}", flow.transport);
            };
            assert_eq!(rate, Rate::from_kbps(500));
        }
        assert!(scenario.check().is_ok());
    }

    /// 0.05/1.05 = 4.76 % of the time is bad (MAR-10).
    #[test]
    fn correlated_losses_as_in_mar_10() {
        let rate = correlated(1.0).loss_rate().expect("a stationary rate");
        assert!((rate - 0.05 / 1.05).abs() < 1e-12);
    }
}
