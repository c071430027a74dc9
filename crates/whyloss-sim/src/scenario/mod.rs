//! The model to simulate: nodes, directed links, flows, and the measurement window.
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

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

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

/// A network, its traffic and the measured time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scenario {
    /// The title, in a few words.
    pub title: String,
    /// The nodes' names; links and flows refer to them by index.
    pub nodes: Vec<String>,
    /// The directed links.
    pub links: Vec<Connection>,
    /// The flows, foreground and background.
    pub flows: Vec<Flow>,
    /// The start of the measurement window.
    pub measure_from: Time,
    /// The end of the measurement window and of the run.
    pub end: Time,
    /// The maximum number of packets that may be in flight or waiting, over all links. A run that
    /// would hold more fails. `None` means [`MOST_PACKETS`].
    pub most_packets: Option<u64>,
    /// The mean time by which receivers' clocks stamp arrivals late for classifiers. `None` for
    /// exact clocks.
    pub clock_noise: Option<Duration>,
}

/// The default limit on packets that are in flight or waiting. These packets take half a gigabyte.
pub const MOST_PACKETS: u64 = 10_000_000;

/// A directed link between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// The link's name in results: `from->to` unless the scenario names it.
    pub name: String,
    /// The index of the sending node.
    pub from: usize,
    /// The index of the receiving node.
    pub to: usize,
    /// The queue, rate, channel and delay of the link.
    pub link: LinkSpec,
}

/// A flow from a source to a sink, with its acknowledgements on the way back.
///
/// Clones share their [`FlowSpec`], which the flow dereferences to, until one of them changes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// The flow's name in results.
    pub name: String,
    /// The index of the sending node.
    pub source: usize,
    /// The index of the receiving node.
    pub sink: usize,
    spec: Arc<FlowSpec>,
}

/// The part of a flow that many flows may have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpec {
    /// The indices of the links from source to sink. Empty for the route with the fewest hops.
    pub route: Vec<usize>,
    /// The indices of the links from sink to source. Empty for the route with the fewest hops.
    pub return_route: Vec<usize>,
    /// The size of a data packet on the wire, in bytes, without [`tfrc::Options::header`].
    pub packet_size: u32,
    /// The bytes from the start of a data packet, headers included, in which a damaged bit makes
    /// the sink drop the packet (ELA-7, RFC 3828). Packets with damage beyond them are delivered.
    /// `None` covers the whole packet.
    pub coverage: Option<u32>,
    /// The transport that carries the flow.
    pub transport: Transport,
    /// The application that produces the data.
    pub application: Application,
    /// The start of the flow, drawn uniformly between the two times.
    pub start: (Time, Time),
    /// The stop of the flow, drawn uniformly between the two times; `None` for never.
    pub stop: Option<(Time, Time)>,
    /// Whether the flow is warm-up or cross traffic, which is left out of the totals over flows.
    pub background: bool,
    /// The name in the file of the `[[flow]]` that this flow is a copy of; `None` without a
    /// `count`.
    pub copy_of: Option<Arc<str>>,
}

impl Deref for Flow {
    type Target = FlowSpec;

    fn deref(&self) -> &FlowSpec {
        &self.spec
    }
}

impl DerefMut for Flow {
    fn deref_mut(&mut self) -> &mut FlowSpec {
        Arc::make_mut(&mut self.spec)
    }
}

/// The transport of a flow.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Transport {
    /// A source without congestion control.
    Datagrams {
        /// The source's rate while it sends.
        rate: Rate,
        /// When the source sends.
        pattern: Pattern,
    },
    /// The flow uses IFTP, with a classifier at the sender. Enhanced Veno makes it IFTPV.
    Iftp {
        /// The options of IFTP. The default transmission time is that of the flow's first link.
        options: iftp::Options,
        /// The decider of the causes of losses.
        classifier: SenderDecider,
    },
    /// A transport from outside this crate.
    Outside {
        /// The hosts at both ends.
        hosts: Outside,
        /// The decider of the causes of losses, if the source uses its judge.
        classifier: SenderDecider,
    },
    /// The flow uses QUIC, by a protocol engine that is [installed](crate::host::quic::install).
    Quic {
        /// The engine and its congestion controller.
        options: quic::Options,
        /// The decider of the causes of losses, if the controller uses one.
        classifier: SenderDecider,
    },
    /// A video call over RTP, by hosts that are [installed](crate::host::rtp::install).
    Rtp {
        /// The rate estimator and the encoder.
        options: rtp::Options,
    },
    /// The flow uses TCP, with a classifier at the sender.
    Tcp {
        /// The options of TCP. The window counts [`tcp::Options::segment_size`] bytes per packet.
        options: tcp::Options,
        /// The decider of the causes of losses.
        classifier: SenderDecider,
        /// A controller from outside; it replaces the kind in `options` and keeps their policy.
        controller: Option<OutsideController>,
    },
    /// The flow uses TFRC, with a classifier at the receiver.
    Tfrc {
        /// The options of TFRC.
        options: tfrc::Options,
        /// The decider of the causes of losses.
        classifier: ReceiverDecider,
    },
    /// The flow opens one TCP connection after the other, each with one transfer. Their losses are
    /// not scored.
    Web {
        /// The options of each connection. There is no handshake, and each transfer sets the number
        /// of segments.
        options: tcp::Options,
        /// The times and sizes of transfers.
        transfers: Transfers,
    },
}

impl Transport {
    /// Returns whether the transport's data packets are ECN-capable.
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

    /// Returns the number of segments before the data that open the connection.
    pub(crate) fn opening(&self) -> u64 {
        match self {
            Self::Tcp { options, .. } => u64::from(options.handshake),
            _ => 0,
        }
    }

    /// Returns whether the controller weighs the causes of losses itself, so that the flow has no
    /// verdicts to score.
    pub fn ignores_verdicts(&self) -> bool {
        match self {
            Self::Tcp {
                options,
                controller: None,
                ..
            } => options.controller.kind.ignores_verdicts(),
            Self::Quic { options, .. } => match options.controller {
                quic::Controller::Ours(spec) => spec.kind.ignores_verdicts(),
                quic::Controller::Own(_) => false,
            },
            _ => false,
        }
    }
}

impl Scenario {
    /// Returns whether some flow is ECN-capable, or some queue marks.
    pub fn uses_ecn(&self) -> bool {
        let capable = |flow: &Flow| flow.transport.is_ecn_capable();
        let marks = |link: &Connection| link.link.queue.discipline.marks();
        self.flows.iter().any(capable) || self.links.iter().any(marks)
    }

    /// Returns the maximum number of packets that may be in flight or waiting.
    pub fn packet_limit(&self) -> u64 {
        self.most_packets.unwrap_or(MOST_PACKETS)
    }

    /// Returns the lowest `rate` of the links on the route of a flow's data.
    pub fn capacity(&self, flow: &Flow) -> Option<Rate> {
        let (way, _) = Router::new(self).routes_of(flow)?;
        let rates = way.into_iter().map(|link| self.links[link].link.rate);
        rates.min_by_key(|rate| rate.as_bps())
    }

    /// Returns how long the first link of a flow takes to send one of its packets; `None` if there
    /// is no such link.
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
    /// Returns a greedy flow from node `source` to node `sink` that starts at time 0.
    pub fn new(
        name: impl Into<String>,
        (source, sink): (usize, usize),
        packet_size: u32,
        transport: Transport,
    ) -> Self {
        let spec = FlowSpec {
            route: Vec::new(),
            return_route: Vec::new(),
            packet_size,
            coverage: None,
            transport,
            application: Application::Greedy,
            start: (Time::ZERO, Time::ZERO),
            stop: None,
            background: false,
            copy_of: None,
        };
        Self {
            name: name.into(),
            source,
            sink,
            spec: Arc::new(spec),
        }
    }

    /// Returns the number of bits from the start of a data packet in which damage makes the sink
    /// drop the packet.
    pub fn covered_bits(&self) -> u32 {
        self.coverage.unwrap_or(Packet::WHOLE / 8).saturating_mul(8)
    }

    /// Returns whether the flow's hosts come from outside, so that its packets have any size.
    pub(crate) fn is_from_outside(&self) -> bool {
        matches!(
            self.transport,
            Transport::Outside { .. } | Transport::Quic { .. } | Transport::Rtp { .. }
        )
    }

    /// Returns whether completion times of the flow's transfers are measured.
    pub fn has_transfers(&self) -> bool {
        self.application.transfers().is_some() || matches!(self.transport, Transport::Web { .. })
    }

    /// Returns the size of a data packet on the wire, in bytes. For hosts from outside, this is the
    /// largest size.
    pub fn wire_size(&self) -> u32 {
        match &self.transport {
            Transport::Tfrc { options, .. } => self.packet_size.saturating_add(options.header),
            _ => self.packet_size,
        }
    }
}
