//! The sending end.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use whyloss::event::{AckEvent, LossEvent};
use whyloss::iftp::packet::{Header, Sum};
use whyloss::iftp::{self, Ack, Advice, Reaction};
use whyloss::sender::{Classifier, SenderClassifier};
use whyloss::{Duration, Time, tfrc};

use super::EndpointError;
use super::arrivals::Called;
use super::flow::{Carriage, Flow};
use super::opening::{gone, open, refused};
use super::pattern::short_digest;
use super::sink::Lines;
use super::socket::Wire;
use super::source::Source;
use super::truth::{Fates, Scores};
use super::wire::{
    self, BELOW, Carrier, Message, Terms, TfrcData, TfrcFeedback, iftp_format, is_session,
};
use crate::clock::Clock;

/// How to send.
#[derive(Clone, Debug)]
pub struct SendOptions {
    /// To whom.
    pub peer: SocketAddrV4,
    /// What carries it.
    pub flow: Flow,
    /// A file, or standard input for `-`, instead of what the flow's application says.
    pub file: Option<PathBuf>,
    /// How many packets at most; `None`: as many as the source has.
    pub packets: Option<u64>,
    /// For how long; `None`: until the source ends, or from outside.
    pub time: Option<Duration>,
    /// Over UDP-Lite.
    pub lite: bool,
    /// Where statistics go, `-` for standard output.
    pub stats: Option<PathBuf>,
    /// How long the peer may be silent.
    pub patience: Duration,
    /// The number of the first packet.
    pub first: u32,
    /// The directory of an emulator's log, to score verdicts with at the end (of a classifier at the sender).
    pub truth: Option<PathBuf>,
    /// Set from outside to end.
    pub stop: Arc<AtomicBool>,
}

/// What was sent.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sent {
    /// Seconds since the session began.
    pub at: f64,
    /// Whether it has ended.
    pub end: bool,
    /// Data packets.
    pub packets: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
    /// The rate that the transport allows: TFRC's X, or IFTP's n packets a round trip.
    pub allowed_kbit_per_s: f64,
    /// The smoothed round-trip time.
    pub rtt_ms: Option<f64>,
    /// TFRC's loss event rate, as reported.
    pub loss_event_rate: Option<f64>,
    /// Feedback or acknowledgements taken.
    pub answers: u64,
    /// Of a session that is not this one, of a packet never sent, with a stamp that cannot be, or no packet at all.
    pub ignored: u64,
    /// Times that IFTP's timer expired.
    pub timeouts: u64,
    /// Loss events by verdict (of a classifier at the sender).
    pub verdicts: BTreeMap<&'static str, u64>,
    /// Packets that the receiver says it has, at the end.
    pub arrived: Option<u64>,
    /// Packets that the receiver says came with another payload, at the end.
    pub wrong: Option<u64>,
    /// Verdicts against the emulator's log, at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truth: Option<Scores>,
}

/// Stamps of packets that are remembered: what is older is not answered any more.
const REMEMBERED: usize = 1 << 16;
/// How often statistics are written.
const EVERY: Duration = Duration::from_secs(1);
/// How often the end is said.
const SAY_END: Duration = Duration::from_millis(200);
/// Verdicts that are remembered for the truth.
const MOST_VERDICTS: usize = 1_000_000;

/// A transport at work.
enum Engine {
    Tfrc(tfrc::Sender),
    Iftp(iftp::Sender, Asked),
}

/// Answers IFTP by what the classifier says.
struct Asked {
    classifier: Box<Classifier>,
    /// The packet and the verdict of each loss event.
    said: Vec<(u64, Called)>,
    counts: BTreeMap<&'static str, u64>,
}

struct Session {
    options: SendOptions,
    terms: Terms,
    wire: Wire,
    clock: Clock,
    engine: Engine,
    source: Source,
    /// Number and stamp of the last packets, by their numbers.
    stamps: Vec<Option<(u64, Time)>>,
    next: u64,
    began: Time,
    heard: Time,
    sent: Sent,
}

/// Sends until the source has ended, the time is over, or something goes wrong.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn send(options: &SendOptions) -> Result<Sent, EndpointError> {
    let clock = Clock::start();
    let peer = SocketAddr::V4(options.peer);
    let flow = &options.flow;
    let session = session_number();
    let coverage = flow.coverage.unwrap_or(flow.packet).min(flow.packet) as u16;
    let partial = u32::from(coverage) < flow.packet;
    let section = partial.then(|| coverage.saturating_sub(BELOW as u16));
    let any = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
    let wire = Wire::bind(any, options.lite, section, clock)?;
    wire.connect(peer).map_err(EndpointError::Socket)?;
    // Stamps are of a clock that nobody has to agree with.
    let _ = nix::sys::prctl::set_timerslack(1);
    let source = match &options.file {
        Some(path) => Source::file(path, flow.payload(), session)?,
        None => Source::application(&flow.application, flow.payload(), session, clock.now()),
    }
    .up_to(options.packets.unwrap_or(u64::MAX));
    let terms = Terms {
        session,
        carrier: match flow.carriage {
            Carriage::Tfrc(..) => Carrier::Tfrc,
            Carriage::Iftp(..) => Carrier::Iftp,
        },
        packet: flow.packet as u16,
        coverage,
        first: options.first,
        pattern: source.is_pattern(),
    };
    let mut lines = Lines::open("the statistics", options.stats.as_deref())?;
    open(&wire, clock, terms, peer, &options.stop)?;
    let now = clock.now();
    let engine = match &flow.carriage {
        Carriage::Tfrc(options, _) => Engine::Tfrc(tfrc::Sender::new(options, flow.packet, now)),
        Carriage::Iftp(options, classifier) => {
            let asked = Asked {
                classifier: classifier.clone(),
                said: Vec::new(),
                counts: BTreeMap::new(),
            };
            Engine::Iftp(iftp::Sender::new(options, flow.packet), asked)
        }
    };
    let mut session = Session {
        options: options.clone(),
        terms,
        wire,
        clock,
        engine,
        source,
        stamps: vec![None; REMEMBERED],
        next: 0,
        began: now,
        heard: now,
        sent: Sent::default(),
    };
    let ran = session.run(&mut lines);
    if let Ok(()) = ran {
        session.sent.truth = session.scores();
    }
    session.sent.end = true;
    session.update(clock.now());
    lines.write(&session.sent)?;
    lines.flush()?;
    ran.map(|()| session.sent)
}

/// A number that others do not know.
fn session_number() -> u32 {
    use std::hash::{BuildHasher as _, RandomState};
    let random = RandomState::new();
    let numbers = (0u64..).map(|try_| random.hash_one(try_) as u32);
    numbers
        .into_iter()
        .find(|&number| is_session(number))
        .unwrap_or(1)
}

impl Session {
    fn peer(&self) -> SocketAddr {
        SocketAddr::V4(self.options.peer)
    }

    fn run(&mut self, lines: &mut Lines) -> Result<(), EndpointError> {
        let mut report = self.began + EVERY;
        loop {
            let now = self.clock.now();
            if self.options.stop.load(Ordering::Relaxed) {
                self.finish()?;
                return Err(EndpointError::Interrupted);
            }
            if self.source.has_ended()
                || self
                    .options
                    .time
                    .is_some_and(|time| now - self.began >= time)
            {
                return self.finish();
            }
            if now - self.heard > self.options.patience {
                return Err(EndpointError::Silent {
                    peer: self.peer().to_string(),
                    seconds: self.options.patience.as_secs_f64(),
                });
            }
            let has_data = self.source.has_data(now)?;
            self.transmit(now, has_data)?;
            if now >= report {
                self.update(now);
                lines.write(&self.sent)?;
                lines.flush()?;
                report += EVERY;
            }
            let due = match &self.engine {
                Engine::Tfrc(sender) => sender.next_timeout(),
                Engine::Iftp(sender, _) => sender.next_timeout(),
            };
            let look = if has_data {
                Time::MAX
            } else {
                self.source.next(now)
            };
            let until = due
                .min(look)
                .min(report)
                .min(now + Duration::from_millis(100));
            self.wire.wait(until).map_err(EndpointError::Socket)?;
            self.listen()?;
        }
    }

    /// Lets packets leave that are due.
    fn transmit(&mut self, now: Time, mut has_data: bool) -> Result<(), EndpointError> {
        loop {
            let due = match &mut self.engine {
                Engine::Tfrc(sender) => {
                    sender.set_has_data(now, has_data);
                    sender
                        .on_timeout(now)
                        .map(|data| (data.sequence, data.stamp, Some(data)))
                }
                Engine::Iftp(sender, asked) => {
                    sender.set_has_data(now, has_data);
                    sender.on_timeout(now, asked);
                    sender
                        .poll_transmit(now)
                        .map(|data| (data.sequence, data.stamp, None))
                }
            };
            let Some((sequence, stamp, data)) = due else {
                return Ok(());
            };
            let number = self.terms.first.wrapping_add(sequence as u32);
            let payload = self.source.take(number);
            self.stamps[sequence as usize % REMEMBERED] = Some((sequence, stamp));
            self.next = sequence + 1;
            self.sent.packets += 1;
            match data {
                Some(data) => {
                    let check = short_digest(&payload);
                    let packet = TfrcData {
                        number,
                        data,
                        check,
                    };
                    self.put(&packet.encode(self.terms.session, &payload), false)?;
                }
                None => self.put_iftp(number, stamp, &payload)?,
            }
            has_data = self.source.has_data(now)?;
        }
    }

    fn put_iftp(&mut self, number: u32, stamp: Time, payload: &[u8]) -> Result<(), EndpointError> {
        let partial = self.terms.coverage < self.terms.packet;
        let format = iftp_format(partial);
        let mut packet = vec![0; format.data_header()];
        packet.extend(payload);
        let header = Header {
            source_port: (self.terms.session >> 16) as u16,
            destination_port: self.terms.session as u16,
            number: number as u16,
            stamp: format.stamp(stamp),
        };
        // The last payload of a file may be shorter than the section.
        let section = usize::from(self.terms.coverage).saturating_sub(BELOW as usize);
        let coverage = if partial {
            section.clamp(format.data_header(), packet.len()) as u16
        } else {
            0
        };
        format
            .encode_data(&header, coverage, &mut packet, Sum::default())
            .map_err(|error| EndpointError::Socket(std::io::Error::other(error)))?;
        self.put(&packet, partial)
    }

    fn put(&mut self, packet: &[u8], partial: bool) -> Result<(), EndpointError> {
        let peer = self.peer();
        self.wire
            .set_partial(partial)
            .map_err(EndpointError::Socket)?;
        self.wire.send(packet).map_err(|error| gone(error, peer))
    }

    /// Takes what the receiver says.
    fn listen(&mut self) -> Result<(), EndpointError> {
        let mut buffer = [0; 2048];
        let peer = self.peer();
        while let Some(datagram) = self
            .wire
            .receive(&mut buffer)
            .map_err(|error| gone(error, peer))?
        {
            let packet = &buffer[..datagram.length];
            if let Some((session, Message::Reset(refusal))) = Message::decode(packet)
                && session == self.terms.session
            {
                return Err(refused(refusal, peer));
            }
            if self.answer(datagram.at, packet).is_some() {
                self.sent.answers += 1;
                self.heard = self.clock.now();
            } else {
                self.sent.ignored += 1;
            }
        }
        Ok(())
    }

    /// Takes an answer; `None` if it is none of this session, or says what cannot be.
    fn answer(&mut self, at: Time, packet: &[u8]) -> Option<()> {
        // The kernel's stamp may lie a little before the packet left.
        let newest = self.next.checked_sub(1)?;
        let first = self.terms.first;
        let sent = |stamps: &[Option<(u64, Time)>], sequence: u64| {
            let (known, stamp) = stamps[sequence as usize % REMEMBERED]?;
            (known == sequence && sequence <= newest).then_some(stamp)
        };
        match &mut self.engine {
            Engine::Tfrc(sender) => {
                let (session, answer) = TfrcFeedback::decode(packet)?;
                let sequence = wire::expand(answer.number, first, newest)?;
                let stamp = sent(&self.stamps, sequence)?;
                let feedback = answer.feedback;
                let now = at.max(stamp);
                let possible = session == self.terms.session
                    && feedback.echo == stamp
                    && feedback.hold >= Duration::ZERO
                    && feedback.hold <= now - stamp;
                possible.then(|| sender.on_feedback(now, &feedback))
            }
            Engine::Iftp(sender, asked) => {
                let format = iftp_format(self.terms.coverage < self.terms.packet);
                let header = format.decode_ack(packet, Sum::default()).ok()?;
                let ports =
                    (u32::from(header.source_port) << 16) | u32::from(header.destination_port);
                let sequence = wire::expand_short(header.number, first, newest)?;
                let stamp = sent(&self.stamps, sequence)?;
                if ports != self.terms.session || header.stamp != format.stamp(stamp) {
                    return None;
                }
                sender.on_ack(
                    at.max(stamp),
                    &Ack {
                        sequence,
                        echo: stamp,
                    },
                    asked,
                );
                Some(())
            }
        }
    }

    /// Says that this is the end until the receiver has heard it.
    fn finish(&mut self) -> Result<(), EndpointError> {
        let message = Message::End {
            packets: self.next,
            bytes: self.source.bytes,
            digest: self.source.digest,
        };
        let began = self.clock.now();
        let peer = self.peer();
        let mut buffer = [0; 2048];
        let mut say = began;
        loop {
            let now = self.clock.now();
            if now - began > self.options.patience {
                return Err(EndpointError::Silent {
                    peer: peer.to_string(),
                    seconds: self.options.patience.as_secs_f64(),
                });
            }
            if now >= say {
                self.put(&message.encode(self.terms.session), false)?;
                say = now + SAY_END;
            }
            self.wire.wait(say).map_err(EndpointError::Socket)?;
            while let Some(datagram) = self
                .wire
                .receive(&mut buffer)
                .map_err(|error| gone(error, peer))?
            {
                match Message::decode(&buffer[..datagram.length]) {
                    Some((session, message)) if session == self.terms.session => match message {
                        Message::Ended { packets, wrong } => {
                            self.sent.arrived = Some(packets);
                            self.sent.wrong = Some(wrong);
                            return Ok(());
                        }
                        Message::Reset(refusal) => return Err(refused(refusal, peer)),
                        _ => {}
                    },
                    _ => {}
                }
            }
        }
    }

    fn update(&mut self, now: Time) {
        let sent = &mut self.sent;
        sent.at = (now - self.began).as_secs_f64();
        sent.bytes = self.source.bytes;
        let millis = |span: Duration| span.as_secs_f64() * 1e3;
        match &self.engine {
            Engine::Tfrc(sender) => {
                sent.allowed_kbit_per_s = sender.rate() * 8e-3;
                sent.rtt_ms = sender.rtt().map(millis);
                sent.loss_event_rate = Some(sender.loss_event_rate());
            }
            Engine::Iftp(sender, asked) => {
                sent.rtt_ms = sender.rtt().map(millis);
                let bits = sender.n() * f64::from(self.terms.packet) * 8.0;
                sent.allowed_kbit_per_s = sent.rtt_ms.map_or(0.0, |rtt| bits / rtt);
                sent.timeouts = sender.timeouts();
                sent.verdicts.clone_from(&asked.counts);
            }
        }
    }

    /// Verdicts of a classifier here against the log of an emulator.
    fn scores(&self) -> Option<Scores> {
        let Engine::Iftp(_, asked) = &self.engine else {
            return None;
        };
        let directory = self.options.truth.as_deref()?;
        let numbers: Vec<u32> = asked
            .said
            .iter()
            .map(|(sequence, _)| u32::from(self.terms.first.wrapping_add(*sequence as u32) as u16))
            .collect();
        let fates = Fates::await_all(directory, &numbers, |headers| {
            headers.destination == *self.options.peer.ip()
                && headers.destination_port == Some(self.options.peer.port())
        });
        let mut scores = Scores::default();
        for (number, (_, called)) in numbers.iter().zip(&asked.said) {
            scores.count(fates.cause(*number), *called);
        }
        Some(scores)
    }
}

impl iftp::Judge for Asked {
    fn on_ack(&mut self, ack: &AckEvent) {
        SenderClassifier::on_ack(&mut *self.classifier, ack);
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Reaction {
        let advice = Advice::of(&mut self.classifier, loss);
        let called = Called::from(advice.cause);
        let name = match called {
            Called::Congestion => "congestion",
            Called::Wireless => "wireless",
        };
        *self.counts.entry(name).or_default() += 1;
        if self.said.len() < MOST_VERDICTS {
            self.said
                .push((loss.first / u64::from(loss.segment_size.max(1)), called));
        }
        advice.reaction
    }
}
