//! The receiving end.

use std::net::{IpAddr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use whyloss::iftp;
use whyloss::iftp::packet::{Header, Sum};
use whyloss::receiver::{Arrival, Classifier, ReceiverClassifier};
use whyloss::{Cause, Duration, Time, tfrc};

use super::EndpointError;
use super::arrivals::{Called, Line, Skew};
use super::flow::{Carriage, Flow};
use super::opening::Cookies;
use super::pattern::{differences, short_digest};
use super::seen::Seen;
use super::sink::{Lines, Sink};
use super::socket::Wire;
use super::truth::{Fates, Scores};
use super::wire::{
    self, BELOW, Carrier, DATA_HEADER, Message, Refusal, Terms, TfrcData, TfrcFeedback, iftp_format,
};
use crate::clock::Clock;

/// How to receive.
#[derive(Clone, Debug)]
pub struct ReceiveOptions {
    /// Where.
    pub at: SocketAddrV4,
    /// What carries it: the transport and the classifier count.
    pub flow: Flow,
    /// Where data goes: a file, `-` for standard output, or nowhere.
    pub out: Option<PathBuf>,
    /// Over UDP-Lite.
    pub lite: bool,
    /// Whether it ends with the first session.
    pub once: bool,
    /// Where statistics go, `-` for standard output.
    pub stats: Option<PathBuf>,
    /// Where every arrival goes.
    pub arrivals: Option<PathBuf>,
    /// How long the peer may be silent.
    pub patience: Duration,
    /// This end's clock against the machine's.
    pub skew: Skew,
    /// The directory of an emulator's log, to score verdicts with at the end.
    pub truth: Option<PathBuf>,
    /// Set from outside to end.
    pub stop: Arc<AtomicBool>,
}

/// What was received.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Received {
    /// Seconds since the session began.
    pub at: f64,
    /// Whether it has ended.
    pub end: bool,
    /// Data packets, each counted once.
    pub packets: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
    /// Bits of whole packets per second, since the last statistics.
    pub kbit_per_s: f64,
    /// TFRC's loss event rate.
    pub loss_event_rate: Option<f64>,
    /// Missing packets that were called congestion (all, without a classifier here).
    pub missing_congestion: u64,
    /// Missing packets that were called wireless.
    pub missing_wireless: u64,
    /// Packets that came after a later one.
    pub late: u64,
    /// Packets that had come before.
    pub repeated: u64,
    /// Packets with damaged bits outside what is covered, which were taken.
    pub damaged: u64,
    /// Packets whose application checksum failed, which were dropped.
    pub refused: u64,
    /// Packets that came with another payload than was sent.
    pub wrong: u64,
    /// Packets of no session, with a number that cannot be, or no packets at all.
    pub ignored: u64,
    /// Cookies handed out, and openings with a wrong one.
    pub cookies: u64,
    /// See above.
    pub wrong_cookies: u64,
    /// What the sender says it sent, at the end.
    pub sent: Option<u64>,
    /// Missing packets by verdict and truth, at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truth: Option<Scores>,
}

/// Verdicts that are remembered for the truth.
const MOST_VERDICTS: usize = 1_000_000;
/// How often statistics are written.
const EVERY: Duration = Duration::from_secs(1);
/// How long the end is repeated to a sender that has not heard it.
const LINGER: Duration = Duration::from_millis(500);
/// A sender that has been silent for so long may have been restarted.
const REPLACEABLE: Duration = Duration::from_secs(2);
/// Answers to unknown sessions, a second at most.
const MOST_RESETS: u32 = 100;
/// This end's time when it starts: clocks may be set back by a day.
const EPOCH: Duration = Duration::from_secs(86_400);

/// A transport at work.
enum Engine {
    Tfrc(Box<(tfrc::Receiver, Classifier)>),
    Iftp,
}

struct Session {
    terms: Terms,
    peer: SocketAddr,
    engine: Engine,
    seen: Seen,
    began: Time,
    heard: Time,
    ended: Option<Time>,
    missing: Vec<(u32, Called)>,
    bytes_before: u64,
}

struct Receiver<'a> {
    options: &'a ReceiveOptions,
    wire: Wire,
    clock: Clock,
    cookies: Cookies,
    session: Option<Session>,
    received: Received,
    sink: Sink,
    stats: Lines,
    arrivals: Lines,
    /// When the resets of this second are counted from, and how many there were.
    resets: (Time, u32),
    report: Time,
}

/// Receives until the session has ended (with `once`), or something goes wrong.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn receive(options: &ReceiveOptions) -> Result<Received, EndpointError> {
    let clock = Clock::start();
    // Acknowledgements are covered whole.
    let mut receiver = Receiver {
        wire: Wire::bind(options.at, options.lite, None, clock)?,
        clock,
        cookies: Cookies::default(),
        session: None,
        received: Received::default(),
        sink: Sink::open(options.out.as_deref())?,
        stats: Lines::open("the statistics", options.stats.as_deref())?,
        arrivals: Lines::open("the arrivals", options.arrivals.as_deref())?,
        resets: (Time::ZERO, 0),
        report: Time::MAX,
        options,
    };
    let ran = receiver.run();
    let now = clock.now();
    if ran.is_ok() {
        receiver.received.truth = receiver.scores();
    }
    receiver.received.end = true;
    receiver.update(now);
    receiver.stats.write(&receiver.received)?;
    receiver.stats.flush()?;
    receiver.arrivals.flush()?;
    ran?;
    match receiver.received.wrong {
        0 => Ok(receiver.received),
        wrong => Err(EndpointError::Wrong(wrong)),
    }
}

impl Receiver<'_> {
    /// This end's clock.
    fn own(&self, at: Time) -> Time {
        self.options.skew.apply(at + EPOCH)
    }

    /// The machine's time at which this end's clock shows `own`, nearly: a little early rather than late.
    fn machine(&self, own: Time) -> Time {
        if own == Time::MAX {
            return Time::MAX;
        }
        let now = self.clock.now();
        now + (own - self.own(now)).max(Duration::ZERO)
    }

    fn run(&mut self) -> Result<(), EndpointError> {
        let mut buffer = vec![0; 65_536];
        loop {
            let now = self.clock.now();
            if self.options.stop.load(Ordering::Relaxed) {
                let ended = self
                    .session
                    .as_ref()
                    .is_some_and(|session| session.ended.is_some());
                return if ended {
                    Ok(())
                } else {
                    Err(EndpointError::Interrupted)
                };
            }
            if let Some(session) = &self.session {
                match session.ended {
                    Some(ended) if now - ended > LINGER => {
                        if self.options.once {
                            return Ok(());
                        }
                        self.session = None;
                    }
                    None if now - session.heard > self.options.patience => {
                        return Err(EndpointError::Silent {
                            peer: session.peer.to_string(),
                            seconds: self.options.patience.as_secs_f64(),
                        });
                    }
                    _ => {}
                }
            }
            self.timer()?;
            if now >= self.report {
                self.update(now);
                self.stats.write(&self.received)?;
                self.stats.flush()?;
                self.arrivals.flush()?;
                self.report += EVERY;
            }
            let due = match self.session.as_ref().map(|session| &session.engine) {
                Some(Engine::Tfrc(end)) => self.machine(end.0.next_timeout()),
                _ => Time::MAX,
            };
            let until = due.min(self.report).min(now + Duration::from_millis(100));
            self.wire.wait(until).map_err(EndpointError::Socket)?;
            // A flood does not keep the timers from running.
            for _ in 0..256 {
                let Some(datagram) = self
                    .wire
                    .receive(&mut buffer)
                    .map_err(EndpointError::Socket)?
                else {
                    break;
                };
                let packet = &buffer[..datagram.length];
                if self.take(packet, datagram.from, datagram.at)?.is_none() {
                    self.received.ignored += 1;
                }
            }
        }
    }

    /// Lets the receiver's timer expire.
    fn timer(&mut self) -> Result<(), EndpointError> {
        let own = self.own(self.clock.now());
        let Some(session) = &mut self.session else {
            return Ok(());
        };
        if let Engine::Tfrc(end) = &mut session.engine
            && session.ended.is_none()
            && let Some(feedback) = end.0.on_timeout(own)
        {
            self.feed_back(&feedback)?;
        }
        Ok(())
    }

    fn feed_back(&mut self, feedback: &tfrc::Feedback) -> Result<(), EndpointError> {
        let Some(session) = &self.session else {
            return Ok(());
        };
        let number = session
            .terms
            .first
            .wrapping_add(session.seen.expected().wrapping_sub(1) as u32);
        let packet = TfrcFeedback {
            number,
            feedback: *feedback,
        }
        .encode(session.terms.session);
        self.say(&packet, session.peer)
    }

    /// Sends something that may be lost.
    fn say(&self, packet: &[u8], peer: SocketAddr) -> Result<(), EndpointError> {
        match self.wire.send_to(packet, peer) {
            Ok(()) => Ok(()),
            // The peer may have gone, or never have been; what it means shows when it stays silent.
            Err(error)
                if matches!(
                    error.raw_os_error(),
                    Some(
                        nix::libc::ECONNREFUSED
                            | nix::libc::EPERM
                            | nix::libc::EINVAL
                            | nix::libc::ENETUNREACH
                            | nix::libc::EHOSTUNREACH
                    )
                ) =>
            {
                Ok(())
            }
            Err(error) => Err(EndpointError::Socket(error)),
        }
    }

    /// Takes a datagram; `None` if it is of no use.
    fn take(
        &mut self,
        packet: &[u8],
        from: SocketAddr,
        at: Time,
    ) -> Result<Option<()>, EndpointError> {
        if let Some((session, message)) = Message::decode(packet) {
            return self.message(session, message, from);
        }
        let ours = self
            .session
            .as_ref()
            .filter(|session| session.peer == from && session.ended.is_none());
        let Some(session) = ours else {
            if let Some((session, ..)) = TfrcData::decode(packet) {
                self.reset(session, Refusal::Unknown, from)?;
            } else if packet.len() >= 16 && self.session.is_none() {
                // It may be IFTP's.
                let number = u32::from_be_bytes([packet[0], packet[1], packet[2], packet[3]]);
                self.reset(number, Refusal::Unknown, from)?;
            }
            return Ok(None);
        };
        match session.engine {
            Engine::Tfrc(_) => self.tfrc(packet, at),
            Engine::Iftp => self.iftp(packet, at),
        }
    }

    fn message(
        &mut self,
        number: u32,
        message: Message,
        from: SocketAddr,
    ) -> Result<Option<()>, EndpointError> {
        let now = self.clock.now();
        let current = self
            .session
            .as_ref()
            .is_some_and(|session| session.terms.session == number && session.peer == from);
        match message {
            Message::Hello(terms) => {
                self.received.cookies += 1;
                let cookie = self.cookies.give(now, from, terms);
                self.say(&Message::Cookie(cookie).encode(number), from)?;
            }
            Message::Start(_, _) if current => self.say(&Message::Accept.encode(number), from)?,
            Message::Start(terms, cookie) => {
                if !self.cookies.accept(now, from, terms, cookie) {
                    self.received.wrong_cookies += 1;
                    return Ok(None);
                }
                let carrier = match self.options.flow.carriage {
                    Carriage::Tfrc(..) => Carrier::Tfrc,
                    Carriage::Iftp(..) => Carrier::Iftp,
                };
                if carrier != terms.carrier || u32::from(terms.packet) <= BELOW + DATA_HEADER as u32
                {
                    self.reset(number, Refusal::Carrier, from)?;
                    return Ok(None);
                }
                if let Some(session) = self
                    .session
                    .as_ref()
                    .filter(|session| session.ended.is_none())
                {
                    // The same host, and silence where it was: it was restarted.
                    if session.peer.ip() == from.ip() && now - session.heard > REPLACEABLE {
                        return Err(EndpointError::Replaced);
                    }
                    self.reset(number, Refusal::Busy, from)?;
                    return Ok(None);
                }
                self.begin(terms, from, now);
                self.say(&Message::Accept.encode(number), from)?;
            }
            Message::End { packets, .. } if current => {
                if let Some(session) = &mut self.session {
                    session.ended.get_or_insert(now);
                    session.heard = now;
                }
                self.received.sent = Some(packets);
                let (packets, wrong) = (self.received.packets, self.received.wrong);
                self.say(&Message::Ended { packets, wrong }.encode(number), from)?;
            }
            Message::End { .. } => {
                self.reset(number, Refusal::Unknown, from)?;
                return Ok(None);
            }
            _ => return Ok(None),
        }
        Ok(Some(()))
    }

    fn begin(&mut self, terms: Terms, peer: SocketAddr, now: Time) {
        let engine = match &self.options.flow.carriage {
            Carriage::Tfrc(options, classifier) => {
                let receiver = tfrc::Receiver::new(options, u32::from(terms.packet));
                Engine::Tfrc(Box::new((receiver, classifier.as_ref().clone())))
            }
            Carriage::Iftp(..) => Engine::Iftp,
        };
        self.received = Received {
            ignored: self.received.ignored,
            cookies: self.received.cookies,
            wrong_cookies: self.received.wrong_cookies,
            ..Received::default()
        };
        self.session = Some(Session {
            terms,
            peer,
            engine,
            seen: Seen::new(),
            began: now,
            heard: now,
            ended: None,
            missing: Vec::new(),
            bytes_before: 0,
        });
        self.report = now + EVERY;
    }

    /// Says that there is no such session, not too often, and in fewer bytes than were sent.
    fn reset(
        &mut self,
        session: u32,
        refusal: Refusal,
        to: SocketAddr,
    ) -> Result<(), EndpointError> {
        let now = self.clock.now();
        if now - self.resets.0 > Duration::from_secs(1) {
            self.resets = (now, 0);
        }
        self.resets.1 += 1;
        if self.resets.1 > MOST_RESETS {
            return Ok(());
        }
        self.say(&Message::Reset(refusal).encode(session), to)
    }

    fn tfrc(&mut self, packet: &[u8], at: Time) -> Result<Option<()>, EndpointError> {
        let own = self.own(at);
        let Some(session) = &mut self.session else {
            return Ok(None);
        };
        let Some((number, data, payload)) = TfrcData::decode(packet) else {
            return Ok(None);
        };
        if number != session.terms.session {
            return Ok(None);
        }
        let expanded = wire::expand(data.number, session.terms.first, session.seen.expected());
        let Some((sequence, missing)) =
            expanded.and_then(|number| Some((number, session.seen.missing(number)?)))
        else {
            return Ok(None);
        };
        session.heard = at;
        let again = !session.seen.mark(sequence);
        let Engine::Tfrc(end) = &mut session.engine else {
            return Ok(None);
        };
        let (receiver, classifier) = &mut **end;
        let size = packet.len() as u32 + BELOW;
        let data_of = tfrc::Data {
            sequence,
            ..data.data
        };
        let arrival = Arrival::new(sequence, data.data.stamp, own, size);
        let verdict = classifier.on_arrival(&arrival, missing);
        let feedback = receiver.on_data(own, &data_of, size, |_| {
            verdict.unwrap_or(Cause::Congestion)
        });
        self.received.loss_event_rate = Some(receiver.loss_event_rate());
        let wrong = short_digest(payload) != data.check;
        let called = verdict.map(Called::from);
        self.arrived(
            sequence,
            data.data.stamp,
            own,
            size,
            missing,
            called,
            Vec::new(),
            again,
            wrong,
            payload,
        )?;
        if let Some(feedback) = feedback {
            self.feed_back(&feedback)?;
        }
        Ok(Some(()))
    }

    fn iftp(&mut self, packet: &[u8], at: Time) -> Result<Option<()>, EndpointError> {
        let own = self.own(at);
        let Some(session) = &mut self.session else {
            return Ok(None);
        };
        let terms = session.terms;
        let format = iftp_format(terms.coverage < terms.packet);
        // UDP's length is damaged as any other field where nothing checks it.
        let cut = terms.pattern && packet.len() as u32 + BELOW != u32::from(terms.packet);
        let Some((header, covered)) = format
            .decode_data(packet, Sum::default())
            .ok()
            .filter(|_| !cut)
        else {
            self.received.refused += 1;
            return Ok(Some(()));
        };
        let ports = (u32::from(header.source_port) << 16) | u32::from(header.destination_port);
        if ports != terms.session {
            return Ok(None);
        }
        let expanded = wire::expand_short(header.number, terms.first, session.seen.expected());
        let Some((sequence, missing)) =
            expanded.and_then(|number| Some((number, session.seen.missing(number)?)))
        else {
            return Ok(None);
        };
        session.heard = at;
        let again = !session.seen.mark(sequence);
        let peer = session.peer;
        let stamp = Time::from_nanos(u64::from(header.stamp) * format.tick_nanos());
        let ack = iftp::Receiver.on_data(&iftp::Data { sequence, stamp });
        let mut answer = [0; 16];
        let reply = Header {
            number: terms.first.wrapping_add(ack.sequence as u32) as u16,
            stamp: header.stamp,
            ..header
        };
        if let Ok(length) = format.encode_ack(&reply, &mut answer, Sum::default()) {
            self.say(&answer[..length], peer)?;
        }
        let payload = &packet[format.data_header()..];
        let number = terms.first.wrapping_add(sequence as u32);
        let mut damaged = Vec::new();
        if terms.pattern {
            let before = (BELOW as usize + format.data_header()) as u32 * 8;
            damaged = differences(terms.session, number, payload);
            for bit in &mut damaged {
                *bit += before;
            }
        }
        // What is covered is as it was sent, or the checksum lies.
        let wrong = damaged
            .iter()
            .any(|&bit| bit < (covered as u32 + BELOW) * 8);
        let size = packet.len() as u32 + BELOW;
        let called = (missing > 0).then_some(Called::Congestion);
        self.arrived(
            sequence, stamp, own, size, missing, called, damaged, again, wrong, payload,
        )?;
        Ok(Some(()))
    }

    /// Counts, logs and hands over a data packet.
    #[expect(
        clippy::too_many_arguments,
        reason = "what both transports know of an arrival"
    )]
    fn arrived(
        &mut self,
        sequence: u64,
        sent: Time,
        received: Time,
        size: u32,
        missing: u64,
        verdict: Option<Called>,
        damaged: Vec<u32>,
        again: bool,
        wrong: bool,
        payload: &[u8],
    ) -> Result<(), EndpointError> {
        let Some(session) = &mut self.session else {
            return Ok(());
        };
        let number = session.terms.first.wrapping_add(sequence as u32);
        if let Some(called) = verdict {
            match called {
                Called::Congestion => self.received.missing_congestion += missing,
                Called::Wireless => self.received.missing_wireless += missing,
            }
            let room = MOST_VERDICTS.saturating_sub(session.missing.len()) as u64;
            let lost = (1..=missing.min(room))
                .rev()
                .map(|back| (number.wrapping_sub(back as u32), called));
            session.missing.extend(lost);
        }
        if again {
            self.received.repeated += 1;
        } else {
            self.received.packets += 1;
            self.received.bytes += payload.len() as u64;
            self.received.late += u64::from(sequence + 1 < session.seen.expected());
            self.received.damaged += u64::from(!damaged.is_empty());
            self.received.wrong += u64::from(wrong);
            let (carrier, packet) = (session.terms.carrier, session.terms.packet);
            let headers = BELOW as usize
                + match carrier {
                    Carrier::Tfrc => DATA_HEADER,
                    Carrier::Iftp => iftp_format(false).data_header(),
                };
            self.sink.write(
                sequence,
                usize::from(packet).saturating_sub(headers),
                payload,
            )?;
        }
        self.arrivals.write(&Line {
            number,
            sequence,
            sent: sent.as_nanos(),
            received: received.as_nanos(),
            size,
            missing,
            verdict,
            damaged,
        })
    }

    fn update(&mut self, now: Time) {
        let Some(session) = &mut self.session else {
            return;
        };
        let headers = match session.terms.carrier {
            Carrier::Tfrc => DATA_HEADER,
            Carrier::Iftp => iftp_format(false).data_header(),
        } as u64
            + u64::from(BELOW);
        let whole = self.received.bytes + self.received.packets * headers;
        let at = (now.min(session.ended.unwrap_or(now)) - session.began).as_secs_f64();
        self.received.kbit_per_s =
            (whole - session.bytes_before) as f64 * 8e-3 / (at - self.received.at).max(1e-3);
        self.received.at = at;
        session.bytes_before = whole;
    }

    /// Verdicts against the log of an emulator.
    fn scores(&self) -> Option<Scores> {
        let (session, directory) = (self.session.as_ref()?, self.options.truth.as_deref()?);
        let short = |number: u32| match session.terms.carrier {
            Carrier::Tfrc => number,
            Carrier::Iftp => u32::from(number as u16),
        };
        let numbers: Vec<u32> = session
            .missing
            .iter()
            .map(|&(number, _)| short(number))
            .collect();
        let fates = Fates::await_all(directory, &numbers, |headers| {
            IpAddr::V4(headers.source) == session.peer.ip()
                && headers.source_port == Some(session.peer.port())
                && headers.destination_port == Some(self.wire.port())
        });
        let mut scores = Scores::default();
        for (number, (_, called)) in numbers.iter().zip(&session.missing) {
            scores.count(fates.cause(*number), *called);
        }
        Some(scores)
    }
}
