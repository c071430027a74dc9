//! The model to simulate: nodes, directed links, flows, and the window that is measured.
//!
//! Experiments build a [`Scenario`] in code; users write one in TOML.

pub mod check;
mod choices;
mod document;
mod error;
mod fields;
mod names;
mod origins;
mod parse;
pub mod recorded;
mod route;
pub mod schema;
mod text;
mod units;

pub use crate::host::supply::{Application, Arrivals, SizedTransfers, Stream};
pub use check::{CheckError, Place, Problem};
pub use error::{Location, ScenarioError, suggest};
pub use parse::{MOST_SEEDS, ScenarioFile};
pub use route::Router;
pub use text::{read_file, read_text};
pub use units::duration;

use whyloss::{Duration, Rate, Time, iftp, tfrc};
use whyloss_link::LinkSpec;

use crate::decider::{ReceiverDecider, SenderDecider};
use crate::host::datagrams::Pattern;
use crate::host::outside::Outside;
use crate::host::quic;
use crate::host::rtp;
use crate::host::tcp;
use crate::host::web::Transfers;
use crate::packet::Packet;
use crate::registry::OutsideController;

/// A network and what happens on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scenario {
    /// Title in a few words.
    pub title: String,
    /// The nodes' names; links and flows refer to them by index.
    pub nodes: Vec<String>,
    /// Directed links.
    pub links: Vec<Connection>,
    /// Flows, foreground and background.
    pub flows: Vec<Flow>,
    /// Measurements count from here …
    pub measure_from: Time,
    /// … to here, where the run ends.
    pub end: Time,
    /// Packets that may be under way or waiting, over all links: a run that would hold more fails.
    /// `None`: [`MOST_PACKETS`].
    pub most_packets: Option<u64>,
    /// How late receivers' clocks stamp arrivals for classifiers, on average; `None`: they are
    /// exact.
    pub clock_noise: Option<Duration>,
}

/// Packets that may be under way or waiting unless the scenario says otherwise: half a gigabyte of
/// them.
pub const MOST_PACKETS: u64 = 10_000_000;

/// A directed link between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// The link's name in results: `from->to` unless the scenario names it.
    pub name: String,
    /// Index of the node that sends.
    pub from: usize,
    /// Index of the node that receives.
    pub to: usize,
    /// Queue, rate, channel, delay.
    pub link: LinkSpec,
}

/// A flow from a source to a sink, with its acknowledgements on the way back.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// The flow's name in results.
    pub name: String,
    /// Index of the sending node.
    pub source: usize,
    /// Index of the receiving node.
    pub sink: usize,
    /// Links from source to sink, by index; empty: the route with the fewest hops.
    pub route: Vec<usize>,
    /// Links from sink to source, by index; empty: the route with the fewest hops.
    pub return_route: Vec<usize>,
    /// Bytes of a data packet on the wire ([`tfrc::Options::header`] comes on top).
    pub packet_size: u32,
    /// Bytes of a data packet, from its start and with its headers, in which a damaged bit makes
    /// the sink drop it (ELA-7, RFC 3828); damage beyond is delivered. `None`: all of them.
    pub coverage: Option<u32>,
    /// The transport that carries it.
    pub transport: Transport,
    /// The application that it carries.
    pub application: Application,
    /// When it starts: drawn uniformly between the two.
    pub start: (Time, Time),
    /// When it stops: drawn uniformly between the two; `None`: never.
    pub stop: Option<(Time, Time)>,
    /// Warm-up and cross traffic is left out of the totals over flows.
    pub background: bool,
}

/// The transport of a flow.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Transport {
    /// A source without congestion control.
    Datagrams {
        /// The source's rate while it sends.
        rate: Rate,
        /// When it sends.
        pattern: Pattern,
    },
    /// IFTP, with a classifier at the sender: enhanced Veno makes it IFTPV.
    Iftp {
        /// IFTP's choices. Without a transmission time it has that of the flow's first link.
        options: iftp::Options,
        /// The decider of a loss's cause.
        classifier: SenderDecider,
    },
    /// A transport from outside.
    Outside {
        /// Its hosts.
        hosts: Outside,
        /// The decider of the cause of a loss, if the source asks its judge.
        classifier: SenderDecider,
    },
    /// QUIC, by a protocol engine that is [installed](crate::host::quic::install).
    Quic {
        /// Which engine, and what controls congestion in it.
        options: quic::Options,
        /// The decider of the cause of a loss, if the controller asks.
        classifier: SenderDecider,
    },
    /// A video call over RTP, by hosts that are [installed](crate::host::rtp::install).
    Rtp {
        /// Who estimates its rate, and how its encoder behaves.
        options: rtp::Options,
    },
    /// TCP, with a classifier at the sender.
    Tcp {
        /// TCP's choices; [`tcp::Options::segment_size`] is what the window counts for a packet.
        options: tcp::Options,
        /// The decider of a loss's cause.
        classifier: SenderDecider,
        /// A controller from outside, in place of the options' kind and under their policy.
        controller: Option<OutsideController>,
    },
    /// TFRC, with a classifier at the receiver.
    Tfrc {
        /// TFRC's choices.
        options: tfrc::Options,
        /// The decider of a loss's cause.
        classifier: ReceiverDecider,
    },
    /// One TCP connection after the other, each with one transfer. Their losses are not scored.
    Web {
        /// The connections' choices; there is no handshake, and each transfer sets how many
        /// segments there are.
        options: tcp::Options,
        /// When transfers come, and how large they are.
        transfers: Transfers,
    },
}

impl Transport {
    /// Whether its data is ECN-capable.
    pub fn is_ecn_capable(&self) -> bool {
        match self {
            Self::Tcp { options, .. } | Self::Web { options, .. } => options.ecn,
            Self::Tfrc { options, .. } => options.ecn,
            Self::Datagrams { .. }
            | Self::Iftp { .. }
            | Self::Outside { .. }
            | Self::Quic { .. }
            | Self::Rtp { .. } => false,
        }
    }
}

impl Scenario {
    /// Whether some flow is ECN-capable, or some queue marks.
    pub fn uses_ecn(&self) -> bool {
        let capable = |flow: &Flow| flow.transport.is_ecn_capable();
        let marks = |link: &Connection| link.link.queue.discipline.marks();
        self.flows.iter().any(capable) || self.links.iter().any(marks)
    }

    /// Packets that may be under way or waiting.
    pub fn packet_limit(&self) -> u64 {
        self.most_packets.unwrap_or(MOST_PACKETS)
    }

    /// Returns the least rate of the links on the way of a flow's data, as their `rate` says.
    pub fn capacity(&self, flow: &Flow) -> Option<Rate> {
        let (way, _) = Router::new(self).routes_of(flow)?;
        let rates = way.into_iter().map(|link| self.links[link].link.rate);
        rates.min_by_key(|rate| rate.as_bps())
    }

    /// How long the first link of a flow takes to send one of its packets; `None` if there is no
    /// such link.
    pub fn transmission_time(&self, flow: &Flow) -> Option<Duration> {
        let first = match flow.route.first() {
            Some(&first) => first,
            None => *Router::new(self).route(flow.source, flow.sink)?.first()?,
        };
        let rate = self.links.get(first)?.link.rate;
        Some(rate.transmission_time(flow.wire_size()))
    }
}

impl Flow {
    /// Bits from the start of a data packet in which damage makes the sink drop it.
    pub fn covered_bits(&self) -> u32 {
        self.coverage.unwrap_or(Packet::WHOLE / 8).saturating_mul(8)
    }

    /// Whether its hosts come from outside, so that its packets are of any size.
    pub(crate) fn is_from_outside(&self) -> bool {
        matches!(
            self.transport,
            Transport::Outside { .. } | Transport::Quic { .. } | Transport::Rtp { .. }
        )
    }

    /// Whether the completion of its transfers is measured.
    pub fn has_transfers(&self) -> bool {
        self.application.transfers().is_some() || matches!(self.transport, Transport::Web { .. })
    }

    /// Bytes of a data packet on the wire; of hosts from outside, of the largest one.
    pub fn wire_size(&self) -> u32 {
        match &self.transport {
            Transport::Tfrc { options, .. } => self.packet_size.saturating_add(options.header),
            _ => self.packet_size,
        }
    }
}
