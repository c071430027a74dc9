//! Hosts: the two ends of a flow, for every transport.
//!
//! A source sends data and receives acknowledgements; a sink receives data and sends answers. The
//! engine delivers packets, wakes a host at its deadline, and polls it for packets until there are
//! none.

pub mod datagrams;
mod iftp;
mod judge;
pub mod outside;
pub mod quic;
pub mod rtp;
mod supplied;
pub mod supply;
pub mod tcp;
pub(crate) mod tfrc;
pub(crate) mod transfers;
pub mod web;

use whyloss::receiver::Classifier;
use whyloss::{Cause, Duration, Time, iftp as iftp_core, tfrc as tfrc_core};
use whyloss_link::{Ecn, Streams};

use crate::clock::{self, NoisyClock};
use crate::decider::SenderDecider;
use crate::observe::SourceState;
use crate::packet::{Packet, Payload};
use crate::scenario::{Flow, Scenario, Transport};

use self::datagrams::Datagrams;
use self::iftp::IftpSource;
use self::judge::Judgement;
use self::outside::{Beginning, Hosts, Judge};
use self::supplied::{Content, Supplied};
use self::supply::{Application, Supply};
pub(crate) use self::tfrc::TfrcSink;
use self::transfers::Backlog;
use self::web::Web;

/// The facts about a flow's source that decide which shortcuts the fast engine uses.
pub(crate) struct SourceFacts {
    /// Whether the source may [foresee](tcp::Sender::foresees) its reaction to acknowledgements.
    pub(crate) may_foresee: bool,
    /// Whether the source sends by timers and all its packets have one size. Answers may also
    /// release packets, as with RACK.
    pub(crate) paced: bool,
}

/// The sending end. Functions that every packet calls check for TCP first.
#[derive(Debug)]
#[repr(u8)]
#[expect(
    clippy::large_enum_variant,
    reason = "TCP is the hot one: no pointer to follow"
)]
pub(crate) enum Source {
    Datagrams(Box<Datagrams>),
    Iftp(Box<IftpSource>),
    Outside(Box<outside::End>),
    Tcp(tcp::Sender),
    Tfrc(Box<tfrc_core::Sender>),
    Web(Box<Web>),
    /// Any of these transports, with an application that does not always have data.
    Supplied(Box<Supplied>),
}

/// The receiving end of a flow.
#[derive(Debug)]
#[repr(u8)]
pub(crate) enum Sink {
    /// The sink counts packets and sends no answers.
    Silent,
    Iftp(iftp_core::Receiver),
    Outside(Box<outside::End>),
    Tcp(tcp::Receiver),
    Tfrc(Box<TfrcSink>),
}

/// The two ends of flow number `index` of the scenario, which starts at `start`.
pub(crate) fn ends(
    scenario: &Scenario,
    index: usize,
    (start, stop): (Time, Time),
    streams: Streams,
) -> (Source, Sink) {
    let flow = &scenario.flows[index];
    let (size, index) = (flow.packet_size, index as u64);
    let verdicts = || streams.stream("verdict", index);
    let backlog = |transfers| Backlog::new(transfers, start, streams.stream("transfers", index));
    let outside = |classifier: &SenderDecider, make: &dyn Fn(Beginning) -> Hosts| {
        let judge = Judge::new(classifier.clone(), verdicts());
        let transfers = flow.application.transfers();
        let mut seeds = streams.stream("outside", index);
        let Hosts { source, sink } = make(Beginning {
            start,
            datagram: size.saturating_sub(outside::HEADERS),
            seed: std::array::from_fn(|_| seeds.bits()),
            judge: judge.clone(),
            endless: transfers.is_none(),
            measured: (scenario.measure_from, scenario.end.min(stop)),
            capacity: scenario.capacity(flow),
        });
        let source = outside::End::source(source, judge, transfers.map(backlog));
        let sink = outside::End::sink(sink);
        (
            Source::Outside(Box::new(source)),
            Sink::Outside(Box::new(sink)),
        )
    };
    let (source, sink) = match &flow.transport {
        Transport::Outside { hosts, classifier } => {
            return outside(classifier, &|beginning| hosts.make(beginning));
        }
        Transport::Quic {
            options,
            classifier,
        } => return outside(classifier, &|beginning| quic::hosts(options, beginning)),
        Transport::Rtp { options } => {
            let unaware = SenderDecider::unaware();
            return outside(&unaware, &|beginning| rtp::hosts(options, beginning));
        }
        Transport::Datagrams { rate, pattern } => {
            let random = streams.stream("on-off", index);
            let source = Datagrams::new(*rate, pattern, size, start, random);
            (Source::Datagrams(Box::new(source)), Sink::Silent)
        }
        Transport::Iftp {
            options,
            classifier,
        } => {
            let stated = options.transmission_time;
            let options = iftp_core::Options {
                transmission_time: stated.or_else(|| scenario.transmission_time(flow)),
                ..*options
            };
            let source = IftpSource::new(&options, size, classifier.clone(), verdicts());
            let sink = iftp_core::Receiver;
            (Source::Iftp(Box::new(source)), Sink::Iftp(sink))
        }
        Transport::Tcp {
            options,
            classifier,
            controller,
        } => {
            let (outside, classifier) = (controller.as_ref(), classifier.clone());
            let source = tcp::Sender::with_decider(options, outside, classifier, verdicts());
            let sink = tcp::Receiver::new(options);
            (Source::Tcp(source), Sink::Tcp(sink))
        }
        Transport::Tfrc {
            options,
            classifier,
        } => {
            let mut decider = classifier.clone();
            if let Some(mean) = scenario.clock_noise {
                let clock = NoisyClock::new(mean, streams.stream("clock", index));
                decider = clock::noisy(decider, clock);
            }
            let source = tfrc_core::Sender::new(options, size, start);
            let sink = TfrcSink::new(options, size, decider, verdicts());
            (Source::Tfrc(Box::new(source)), Sink::Tfrc(Box::new(sink)))
        }
        Transport::Web { options, transfers } => {
            let random = streams.stream("web", index);
            let source = Web::new(options, transfers, tcp::payload(size), start, random);
            let sink = tcp::Receiver::new(options);
            (Source::Web(Box::new(source)), Sink::Tcp(sink))
        }
    };
    let content = match &flow.application {
        Application::Greedy => return (source, sink),
        Application::Stream(stream) => Content::Frames(Supply::new(stream, start)),
        Application::Transfers(transfers) => {
            let segments = transfers.segments(flow);
            Content::Transfers(backlog(transfers), segments)
        }
    };
    let source = Supplied::new(source, content, flow.transport.opening());
    (Source::Supplied(Box::new(source)), sink)
}

impl Source {
    /// Returns the facts about a flow's source.
    pub(crate) fn facts(flow: &Flow) -> SourceFacts {
        let (alert, paced) = match &flow.transport {
            Transport::Datagrams { .. } | Transport::Iftp { .. } | Transport::Tfrc { .. } => {
                (true, true)
            }
            Transport::Tcp {
                options,
                controller,
                ..
            } => tcp::Sender::alert_and_timed(options, controller.as_ref()),
            Transport::Outside { .. }
            | Transport::Quic { .. }
            | Transport::Rtp { .. }
            | Transport::Web { .. } => (true, false),
        };
        // If a source stops, its packets and its timer depend on the time of the call.
        let endless = flow.application == Application::Greedy && flow.stop.is_none();
        SourceFacts {
            may_foresee: !alert && endless,
            paced,
        }
    }

    /// Returns whether no packet can leave at `now`. `false` means that only [`Self::poll`] can
    /// tell.
    #[inline]
    pub(crate) fn rests(&self, now: Time) -> bool {
        match self {
            Self::Tcp(sender) => sender.rests(now),
            Self::Iftp(source) => source.sender.next_timeout() > now,
            Self::Tfrc(sender) => sender.next_timeout() > now,
            _ => false,
        }
    }

    /// Returns when to wake the source.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Time {
        match self {
            Self::Tcp(sender) => sender.next_timeout(),
            Self::Iftp(source) => source.sender.next_timeout(),
            Self::Tfrc(sender) => sender.next_timeout(),
            Self::Datagrams(source) => source.next_timeout(),
            Self::Outside(end) => end.next_timeout(),
            Self::Web(web) => web.next_timeout(),
            Self::Supplied(supplied) => supplied.next_timeout(),
        }
    }

    /// Returns whether an expired deadline only releases a packet to send. The caller may then skip
    /// [`wake`](Self::wake). `false` also means that this is not known.
    #[inline]
    pub(crate) fn is_only_to_send(&self, now: Time) -> bool {
        match self {
            Self::Datagrams(_) | Self::Tfrc(_) => true,
            Self::Tcp(sender) => sender.is_only_to_send(now),
            Self::Iftp(source) => !source.sender.is_expired(now),
            _ => false,
        }
    }

    /// Handles an expired deadline of the source. Returns whether it was a retransmission timeout.
    #[inline]
    pub(crate) fn wake(&mut self, now: Time) -> bool {
        match self {
            Self::Tcp(sender) => expire(sender, now),
            Self::Iftp(source) => source.wake(now),
            Self::Outside(end) => {
                end.wake(now);
                false
            }
            Self::Web(web) => web.wake(now),
            Self::Supplied(supplied) => supplied.source.wake(now),
            Self::Datagrams(_) | Self::Tfrc(_) => false,
        }
    }

    /// Delivers an answer of the sink.
    #[inline]
    pub(crate) fn receive(&mut self, now: Time, packet: &Packet) {
        match (self, &packet.payload) {
            (Self::Tcp(sender), Payload::Ack(ack)) if packet.ecn_flag => {
                sender.on_echo(now, ack, packet.sent);
            }
            (Self::Tcp(sender), Payload::Ack(ack)) => sender.on_ack(now, ack, packet.sent),
            (Self::Iftp(source), Payload::IftpAck(ack)) => source.on_ack(now, ack),
            (Self::Web(web), Payload::Ack(ack)) => {
                web.on_ack(now, ack, packet.sent, packet.ecn_flag);
            }
            (Self::Tfrc(sender), Payload::TfrcFeedback(feedback)) => {
                sender.on_feedback(now, feedback);
            }
            (Self::Supplied(supplied), _) => supplied.source.receive(now, packet),
            _ => {}
        }
    }

    /// Returns the next packet that may leave at `now`.
    #[inline]
    pub(crate) fn poll(&mut self, now: Time) -> Option<Payload> {
        match self {
            Self::Datagrams(source) => source.poll(now).map(Payload::Datagram),
            Self::Iftp(source) => source.poll(now).map(Payload::IftpData),
            Self::Outside(end) => end.poll(now),
            Self::Tcp(sender) => sender.poll_transmit(now).map(Payload::Segment),
            Self::Tfrc(sender) => tfrc::poll(sender, now).map(Payload::TfrcData),
            Self::Web(web) => web.poll(now).map(Payload::Segment),
            Self::Supplied(supplied) => supplied.poll(now),
        }
    }

    /// Sets the ECN fields of a packet that leaves an ECN-capable source.
    pub(crate) fn dress(&mut self, packet: &mut Packet) {
        let said = match (self, &packet.payload) {
            (Self::Tcp(sender), Payload::Segment(segment)) => sender.marking(segment),
            (Self::Web(web), Payload::Segment(segment)) => web.marking(segment),
            (Self::Supplied(supplied), _) => return supplied.source.dress(packet),
            (Self::Tfrc(_), Payload::TfrcData(_)) => (true, false),
            _ => return,
        };
        let (capable, flag) = said;
        if capable {
            packet.ecn = Ecn::Capable;
        }
        packet.ecn_flag = flag;
    }

    /// Returns the state of congestion control; `None` if the source has none.
    pub(crate) fn state(&self) -> Option<SourceState> {
        match self {
            Self::Datagrams(_) => None,
            Self::Iftp(source) => Some(source.state()),
            Self::Outside(end) => Some(end.state()),
            Self::Tcp(sender) => Some(sender.state()),
            Self::Tfrc(sender) => Some(SourceState {
                rate: Some(sender.rate()),
                srtt: sender.rtt(),
                ..SourceState::default()
            }),
            Self::Web(web) => Some(web.state()),
            Self::Supplied(supplied) => supplied.source.state(),
        }
    }

    /// Returns the TCP sender; `None` for other transports.
    #[inline]
    pub(crate) fn tcp(&self) -> Option<&tcp::Sender> {
        match self {
            Self::Tcp(sender) => Some(sender),
            Self::Supplied(supplied) => supplied.source.tcp(),
            _ => None,
        }
    }

    /// Returns the TCP sender, to supply it with data; `None` for other transports.
    fn tcp_mut(&mut self) -> Option<&mut tcp::Sender> {
        match self {
            Self::Tcp(sender) => Some(sender),
            _ => None,
        }
    }

    /// Returns the flow's transfers, if it has any.
    pub(crate) fn backlog(&mut self) -> Option<&mut Backlog> {
        match self {
            Self::Outside(end) => end.backlog(),
            Self::Supplied(supplied) => supplied.backlog(),
            _ => None,
        }
    }

    /// Returns the classifier's verdict on the loss that the last event found, if any, and the
    /// packets that it covers.
    #[inline]
    pub(crate) fn judgement(&self) -> Option<(Judgement, &[(u64, Cause)])> {
        match self {
            Self::Tcp(sender) => sender.judgement(),
            Self::Iftp(source) => source.judgement(),
            Self::Datagrams(_) | Self::Tfrc(_) | Self::Web(_) => None,
            Self::Outside(end) => end.judgement(),
            Self::Supplied(supplied) => supplied.source.judgement(),
        }
    }

    /// Frees a scored [verdict](Self::judgement) while it is in the cache.
    #[cold]
    #[inline(never)]
    pub(crate) fn scored(&mut self) {
        match self {
            Self::Tcp(sender) => sender.scored(),
            Self::Iftp(source) => source.scored(),
            Self::Supplied(supplied) => supplied.source.scored(),
            _ => {}
        }
    }

    /// Records that the path lost this packet for this cause.
    pub(crate) fn on_lost(&mut self, sequence: u64, cause: Cause) {
        match self {
            Self::Tcp(sender) => sender.on_lost(sequence, cause),
            Self::Iftp(source) => source.on_lost(sequence, cause),
            Self::Outside(end) => end.on_lost(sequence, cause),
            Self::Supplied(supplied) => supplied.source.on_lost(sequence, cause),
            Self::Datagrams(_) | Self::Tfrc(_) | Self::Web(_) => {}
        }
    }
}

/// Handles an expired deadline of a TCP sender. Returns whether it was a retransmission timeout.
#[inline]
fn expire(sender: &mut tcp::Sender, now: Time) -> bool {
    let before = sender.timeouts();
    sender.on_timeout(now);
    sender.timeouts() > before
}

impl Sink {
    /// Returns whether a flow's sink sets no deadlines. Then only arriving packets, in their order,
    /// change it or make it send.
    pub(crate) fn answers_at_once(transport: &Transport) -> bool {
        match transport {
            Transport::Tcp { options, .. } | Transport::Web { options, .. } => options
                .delayed_ack
                .is_none_or(|delay| delay <= Duration::ZERO),
            Transport::Tfrc { .. }
            | Transport::Outside { .. }
            | Transport::Quic { .. }
            | Transport::Rtp { .. } => false,
            Transport::Datagrams { .. } | Transport::Iftp { .. } => true,
        }
    }

    /// Returns when to wake the sink.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Time {
        match self {
            Self::Silent | Self::Iftp(_) => Time::MAX,
            Self::Outside(end) => end.next_timeout(),
            Self::Tcp(receiver) => receiver.next_timeout(),
            Self::Tfrc(sink) => sink.receiver.next_timeout(),
        }
    }

    /// Handles an expired deadline of the sink.
    #[inline]
    pub(crate) fn wake(&mut self, now: Time) -> Option<Payload> {
        match self {
            Self::Silent | Self::Iftp(_) => None,
            Self::Outside(end) => {
                end.wake(now);
                None
            }
            Self::Tcp(receiver) => receiver.on_timeout(now).map(Payload::Ack),
            Self::Tfrc(sink) => sink.receiver.on_timeout(now).map(Payload::TfrcFeedback),
        }
    }

    /// Returns the next packet that the sink sends at `now`, besides the answer that it returned
    /// for the last arrival or wake-up.
    #[inline]
    pub(crate) fn poll(&mut self, now: Time) -> Option<Payload> {
        match self {
            Self::Outside(end) => end.poll(now),
            _ => None,
        }
    }

    /// Returns the classifier at work in this sink.
    #[inline]
    pub(crate) fn classifier(&self) -> Option<&Classifier> {
        match self {
            Self::Tfrc(sink) => sink.classifier(),
            _ => None,
        }
    }
}
