//! The networks of ElAarag, Moedinger & Hogg (Section 5.2, Fig. 1; Section 10.2), and the readings of what they leave open.
//!
//! ```text
//! Sections 6 to 9   source i ─ 10 Mbit/s, 100 ms ─ router ─ 1 Mbit/s, 10 ms, bit errors ─ client i
//! Section 10        source i ─ 10 Mbit/s, 10 ms ─ r1 ═ 50 Mbit/s, 50 ms ═ r2 ─ 1 Mbit/s, 100 ms, bit errors ─ client i
//! ```
//!
//! | open | readings |
//! |---|---|
//! | whether clients share the radio (ELA-33) | `own`: a wireless link for each, as drawn; `shared`: one of 1 Mbit/s for all |
//! | what a bit error rate means in Section 10 (ELA-32) | `labelled`: as defined; `calibrated`: what the tables imply |
//! | rates in Section 10, which states delays only | those of Section 5.2; `ela-sensitivity` varies the wireless one |
//! | "50K" | 50 000 bytes that wait at each output of a router |
//! | errors in acknowledgements | they have them, all of their 40 bytes sensitive (ELA-A11) |
//!
//! ```text
//! labelled     a packet is lost with 1 − e^{−8·c·BER}          c bytes sensitive, of L
//! calibrated   a packet is lost with 1 − e^{−88·BER·c/L}       so a whole one with 1 − e^{−88·BER}
//! ```
//!
//! Tables 1 and 2 print goodputs of e^{−88·BER} for packets of 8192 bits. The calibrated reading is therefore a link
//! whose errors are 88/(8·L) times as frequent as the label says; what of a packet is sensitive then scales by itself.
//!
//! Sources start together and never stop. What arrives counts from the first departure to the end of a time as long as
//! the sending, plus the path's latency without queues; throughput is over the time of sending.

use whyloss::{Duration, Rate, Time};
use whyloss_link::queue::Limit;
use whyloss_link::{ChannelSpec, LinkSpec, QueueSpec};
use whyloss_sim::scenario::{Application, Flow, Scenario};

use super::protocols::{Protocol, WIRED};
use crate::build::{node, simplex};

/// Rate of a wireless link.
pub(crate) const WIRELESS: Rate = Rate::from_mbps(1);
const TRUNK: Rate = Rate::from_mbps(50);
/// "50K".
pub(crate) const FINITE: Limit = Limit::Bytes(50_000);
/// Bits within which an error costs a packet, by Tables 1 and 2 (ELA-32).
pub(crate) const CALIBRATED_BITS: f64 = 88.0;

/// What a bit error rate means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Errors {
    /// Errors per bit.
    Labelled,
    /// What Tables 1 and 2 imply.
    Calibrated,
}

/// Who shares the wireless link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// Nobody: each client has its own.
    Own,
    /// All clients.
    Shared,
}

/// Where the bottleneck is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topology {
    /// One router (Sections 5 to 9).
    OneRouter,
    /// Two of them (Section 10).
    TwoRouters,
}

impl Errors {
    /// Errors per bit of a link whose packets have `size` bytes.
    pub(crate) fn on_link(self, label: f64, size: u32) -> f64 {
        match self {
            Self::Labelled => label,
            Self::Calibrated => label * CALIBRATED_BITS / f64::from(8 * size),
        }
    }
}

/// A network and the protocols on it.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) topology: Topology,
    pub(crate) medium: Medium,
    pub(crate) errors: Errors,
    /// The bit error rate's label.
    pub(crate) ber: f64,
    /// Whether acknowledgements meet errors, too.
    pub(crate) errors_in_acks: bool,
    /// Rate of the wireless links.
    pub(crate) wireless: Rate,
    /// What may wait at each output of a router.
    pub(crate) buffer: Limit,
    /// How long sources send.
    pub(crate) sending: Duration,
    /// One source for each.
    pub(crate) protocols: Vec<Protocol>,
}

impl Network {
    /// Sections 6, 8 and 9: 120 s, infinite buffers.
    pub(crate) fn one_router(ber: f64, protocols: Vec<Protocol>) -> Self {
        Self {
            topology: Topology::OneRouter,
            medium: Medium::Own,
            errors: Errors::Labelled,
            ber,
            errors_in_acks: true,
            wireless: WIRELESS,
            buffer: Limit::Unlimited,
            sending: Duration::from_secs(120),
            protocols,
        }
    }

    /// Section 10: 10 s, buffers of 50K.
    pub(crate) fn two_routers(
        (errors, medium): (Errors, Medium),
        ber: f64,
        protocols: Vec<Protocol>,
    ) -> Self {
        Self {
            topology: Topology::TwoRouters,
            medium,
            errors,
            buffer: FINITE,
            sending: Duration::from_secs(10),
            ..Self::one_router(ber, protocols)
        }
    }

    /// Delays of the wired link, the trunk and the wireless link.
    fn delays(&self) -> [Duration; 3] {
        match self.topology {
            Topology::OneRouter => [100, 0, 10],
            Topology::TwoRouters => [10, 50, 100],
        }
        .map(Duration::from_millis)
    }

    /// How long a packet takes from source to client without queues.
    pub(crate) fn latency(&self, size: u32) -> Duration {
        let [wired, trunk, wireless] = self.delays();
        let mut latency = wired + trunk + wireless;
        latency += WIRED.transmission_time(size) + self.wireless.transmission_time(size);
        if self.topology == Topology::TwoRouters {
            latency += TRUNK.transmission_time(size);
        }
        latency
    }

    /// The scenario.
    pub(crate) fn scenario(&self) -> Scenario {
        let largest = self.protocols.iter().map(|protocol| protocol.size).max();
        let latency = self.latency(largest.unwrap_or(0));
        let mut net = Scenario {
            title: "ElAarag, Moedinger and Hogg 2008".into(),
            end: Time::ZERO + self.sending + latency,
            ..Scenario::default()
        };
        let [wired, trunk, wireless] = self.delays();
        let link = |rate, delay, limit| LinkSpec {
            rate,
            delay,
            queue: QueueSpec::drop_tail(limit),
            ..LinkSpec::default()
        };
        let both = |net: &mut Scenario, a, b, there: LinkSpec, back: LinkSpec| {
            simplex(net, a, b, there);
            simplex(net, b, a, back);
        };
        let near = node(&mut net, "r1".into());
        let far = match self.topology {
            Topology::OneRouter => near,
            Topology::TwoRouters => {
                let far = node(&mut net, "r2".into());
                let spec = link(TRUNK, trunk, self.buffer);
                both(&mut net, near, far, spec.clone(), spec);
                far
            }
        };
        let radio = |size, errors: bool| LinkSpec {
            channel: match self.errors.on_link(self.ber, size) {
                rate if rate > 0.0 && errors => ChannelSpec::BitErrors { rate },
                _ => ChannelSpec::None,
            },
            ..link(self.wireless, wireless, self.buffer)
        };
        let mut shared = None;
        for (index, protocol) in (1..).zip(&self.protocols) {
            let source = node(&mut net, format!("source-{index}"));
            let client = |net: &mut Scenario| {
                let client = node(net, format!("client-{index}"));
                let (there, back) = (
                    radio(protocol.size, true),
                    radio(protocol.size, self.errors_in_acks),
                );
                both(net, far, client, there, back);
                client
            };
            // A host's own output never overflows.
            let spec = link(WIRED, wired, Limit::Unlimited);
            let back = link(WIRED, wired, self.buffer);
            both(&mut net, source, near, spec, back);
            let sink = match self.medium {
                Medium::Own => client(&mut net),
                Medium::Shared => *shared.get_or_insert_with(|| client(&mut net)),
            };
            net.flows.push(Flow {
                name: protocol.id.into(),
                source,
                sink,
                route: Vec::new(),
                return_route: Vec::new(),
                packet_size: protocol.size,
                coverage: protocol.coverage,
                transport: protocol.transport.clone(),
                start: (Time::ZERO, Time::ZERO),
                stop: None,
                application: Application::Greedy,
                background: false,
            });
        }
        net
    }
}

#[cfg(test)]
mod tests {
    use super::super::protocols::{HEADER, PACKET, UDP_RATE, VIDEO};
    use super::*;

    #[test]
    fn latencies_by_hand() {
        // 1024 bytes take 0.8192, 0.16384 and 8.192 ms on the wired link, the trunk and the wireless link.
        let one = Network::one_router(0.0, Vec::new());
        assert_eq!(one.latency(PACKET), Duration::from_nanos(119_011_200));
        let two = Network::two_routers((Errors::Labelled, Medium::Own), 0.0, Vec::new());
        assert_eq!(two.latency(PACKET), Duration::from_nanos(169_175_040));
    }

    #[test]
    fn calibrated_errors_by_hand() {
        // 88 of 8192 bits; a whole packet is then lost with 1 − e^(−88·BER).
        let rate = Errors::Calibrated.on_link(1e-3, PACKET);
        assert!((rate * 8192.0 - 0.088).abs() < 1e-12);
        assert!((Errors::Labelled.on_link(1e-3, PACKET) - 1e-3).abs() < 1e-18);
    }

    #[test]
    fn every_network_passes_the_checks() {
        let protocols = [
            Protocol::udp_with_header(UDP_RATE, 16),
            Protocol::tcp(),
            Protocol::iftp(PACKET),
            Protocol::iftp_w(VIDEO, HEADER),
            Protocol::iftpv(PACKET),
        ];
        for medium in [Medium::Own, Medium::Shared] {
            for errors in [Errors::Labelled, Errors::Calibrated] {
                let network = Network::two_routers((errors, medium), 1e-4, protocols.to_vec());
                assert!(network.scenario().check().is_ok(), "{network:?}");
                let network = Network {
                    medium,
                    ..Network::one_router(1e-4, protocols.to_vec())
                };
                assert!(network.scenario().check().is_ok(), "{network:?}");
            }
        }
    }
}
