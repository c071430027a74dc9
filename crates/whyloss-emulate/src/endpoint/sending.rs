//! The sending end without its socket: datagrams and the time in, datagrams out.
//!
//! As long as [`SendingEnd::outcome`] is `None`, a host repeats these calls in order. It calls
//! [`poll`](SendingEnd::poll) until it returns nothing or a burst has left. It calls
//! [`next_timeout`](SendingEnd::next_timeout) for the time to wait, and [`take`](SendingEnd::take)
//! for each datagram that arrived. [`stop`](SendingEnd::stop) ends a session early.
//!
//! ```text
//! asking ── accepted ──→ sending ── source or time at its end ──→ closing ─ answer ─→ ended
//! 10 s at most           silence of `patience` ends it            `patience` at most, 60 ms
//!                                                                 after a stop
//! ```

use std::collections::BTreeMap;
use std::net::SocketAddr;

use whyloss::event::{AckEvent, LossEvent};
use whyloss::iftp::packet::{Header, Sum};
use whyloss::iftp::{self, Ack, Advice, Reaction};
use whyloss::sender::{Classifier, SenderClassifier};
use whyloss::{Duration, Time, tfrc};

use super::EndpointError;
use super::arrivals::Called;
use super::flow::{Carriage, Flow};
use super::guard::{Guard, Report};
use super::opening::refused;
use super::pattern::short_digest;
use super::send::{SendOptions, Sent};
use super::source::Source;
use super::wire::{self, BELOW, Carrier, Message, Terms, TfrcData, TfrcFeedback, iftp_format};

/// The time to wait for the first answer before the request is repeated. It doubles each time, up
/// to a second.
const FIRST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// The total time to wait for an answer to the opening.
const OPENING: Duration = Duration::from_secs(10);
/// The interval at which the end is announced.
const SAY_END: Duration = Duration::from_millis(200);
/// The interval at which the end is announced after a stop.
const SAY_STOP: Duration = Duration::from_millis(20);
/// The time to wait for an answer after a stop.
pub(super) const STOP: Duration = Duration::from_millis(60);
/// The number of packets whose stamps are remembered. Answers to older packets are ignored.
const REMEMBERED: usize = 1 << 16;
/// The maximum number of verdicts kept for the truth.
const MOST_VERDICTS: usize = 1_000_000;

/// The sending end of a session.
pub struct SendingEnd {
    flow: Flow,
    terms: Terms,
    peer: SocketAddr,
    patience: Duration,
    time: Option<Duration>,
    max_rate: f64,
    stage: Stage,
    engine: Engine,
    guard: Guard,
    source: Source,
    /// The number and send time of each recent packet; the index is the number modulo the length.
    stamps: Vec<Option<(u64, Time)>>,
    next: u64,
    began: Time,
    heard: Time,
    sent: Sent,
}

/// A datagram to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The bytes of the datagram.
    pub bytes: Vec<u8>,
    /// Whether the checksum covers only the section.
    pub partial: bool,
}

#[derive(Debug)]
enum Stage {
    Asking {
        message: Message,
        ask: Time,
        wait: Duration,
    },
    Sending,
    Closing {
        say: Time,
        until: Time,
        stopped: bool,
    },
    Ended(Option<Result<(), EndpointError>>),
}

/// The state machine of the session's transport.
enum Engine {
    Tfrc(tfrc::Sender),
    Iftp(iftp::Sender, Asked),
}

/// Passes the classifier's verdicts to the IFTP sender.
struct Asked {
    classifier: Box<Classifier>,
    /// The packet and the verdict of each loss event.
    said: Vec<(u64, Called)>,
    counts: BTreeMap<&'static str, u64>,
}

impl SendingEnd {
    /// Returns an end that requests a session with this number.
    ///
    /// # Errors
    /// Returns an error if the file of the options cannot be opened, or its application is
    /// transfers.
    pub fn new(options: &SendOptions, session: u32, now: Time) -> Result<Self, EndpointError> {
        let flow = options.flow.clone();
        let source = match &options.file {
            Some(path) => Source::file(path, flow.payload(), session)?,
            None => Source::application(&flow.application, flow.payload(), session, now)?,
        }
        .up_to(options.packets.unwrap_or(u64::MAX));
        let terms = Terms {
            session,
            carrier: match flow.carriage {
                Carriage::Tfrc(..) => Carrier::Tfrc,
                Carriage::Iftp(..) => Carrier::Iftp,
            },
            packet: flow.packet as u16,
            coverage: flow.coverage.unwrap_or(flow.packet).min(flow.packet) as u16,
            first: options.first,
            pattern: source.is_pattern(),
        };
        Ok(Self {
            engine: Engine::new(&flow, now),
            guard: Guard::new(flow.packet, options.max_rate, now),
            terms,
            peer: SocketAddr::V4(options.peer),
            patience: options.patience,
            time: options.time,
            max_rate: options.max_rate,
            stage: Stage::Asking {
                message: Message::Hello(terms),
                ask: now,
                wait: FIRST_WAIT,
            },
            source,
            stamps: vec![None; REMEMBERED],
            next: 0,
            began: now,
            heard: now,
            sent: Sent::default(),
            flow,
        })
    }

    /// Returns the outcome of the session once; `None` before its end, and in later calls.
    pub fn outcome(&mut self) -> Option<Result<(), EndpointError>> {
        match &mut self.stage {
            Stage::Ended(outcome) => outcome.take(),
            _ => None,
        }
    }

    /// Returns the time since the session was first requested; `None` once it is accepted.
    pub fn asking(&self, now: Time) -> Option<Duration> {
        matches!(self.stage, Stage::Asking { .. }).then(|| now - self.began)
    }

    /// Returns the number of bytes of each payload that a checksum covers; `None` for the whole
    /// payload.
    pub fn section(&self) -> Option<u16> {
        let partial = self.terms.coverage < self.terms.packet;
        partial.then(|| self.terms.coverage.saturating_sub(BELOW as u16))
    }

    /// Returns the verdicts of the classifier at this end, each with the packet's number as sent.
    /// Returns `None` unless the transport is IFTP.
    pub fn verdicts(&self) -> Option<Vec<(u32, Called)>> {
        let Engine::Iftp(_, asked) = &self.engine else {
            return None;
        };
        let number =
            |sequence: u64| u32::from(self.terms.first.wrapping_add(sequence as u32) as u16);
        let said = asked.said.iter();
        Some(
            said.map(|&(sequence, called)| (number(sequence), called))
                .collect(),
        )
    }

    /// Ends the session early. Informs the receiver, and waits a short time for its answer.
    pub fn stop(&mut self, now: Time) {
        match &mut self.stage {
            Stage::Asking { .. } => self.end(Err(EndpointError::Interrupted)),
            Stage::Sending => {
                self.stage = Stage::Closing {
                    say: now,
                    until: now + STOP,
                    stopped: true,
                };
            }
            Stage::Closing {
                say,
                until,
                stopped,
            } => {
                if !*stopped {
                    (*say, *until, *stopped) = (now, now + STOP, true);
                }
            }
            Stage::Ended(_) => {}
        }
    }

    /// Returns the latest time for the next call of [`poll`](Self::poll).
    pub fn next_timeout(&self, now: Time) -> Time {
        match &self.stage {
            Stage::Asking { ask, .. } => *ask,
            Stage::Closing { say, until, .. } => *say.min(until),
            Stage::Ended(_) => Time::MAX,
            Stage::Sending => {
                let engine = match &self.engine {
                    Engine::Tfrc(sender) => sender.next_timeout(),
                    Engine::Iftp(sender, _) => sender.next_timeout(),
                };
                let end = self.time.map_or(Time::MAX, |time| self.began + time);
                engine
                    .max(self.guard.due())
                    .min(self.source.next(now))
                    .min(end)
                    .min(self.heard + self.patience)
            }
        }
    }

    /// Returns the next datagram that may leave at `now`, if there is one.
    ///
    /// # Errors
    /// Returns an error if the source cannot be read.
    pub fn poll(&mut self, now: Time) -> Result<Option<Outgoing>, EndpointError> {
        if let Stage::Sending = self.stage {
            let is_over = |time| now - self.began >= time;
            if self.source.has_ended() || self.time.is_some_and(is_over) {
                self.stage = Stage::Closing {
                    say: now,
                    until: now + self.patience,
                    stopped: false,
                };
            } else if now - self.heard >= self.patience {
                self.fall_silent();
            }
        }
        let whole = |bytes| {
            Some(Outgoing {
                bytes,
                partial: false,
            })
        };
        match &mut self.stage {
            Stage::Asking { message, ask, wait } => {
                if now - self.began >= OPENING {
                    let peer = self.peer.to_string();
                    let seconds = OPENING.as_secs_f64();
                    self.end(Err(EndpointError::NoAnswer { peer, seconds }));
                } else if now >= *ask {
                    *ask = now + *wait;
                    *wait = (*wait * 2).min(LONGEST_WAIT);
                    return Ok(whole(message.encode(self.terms.session)));
                }
                Ok(None)
            }
            Stage::Sending => self.next_packet(now),
            Stage::Closing {
                say,
                until,
                stopped,
            } => {
                if now >= *until {
                    if *stopped {
                        self.end(Err(EndpointError::Interrupted));
                    } else {
                        self.fall_silent();
                    }
                } else if now >= *say {
                    *say = now + if *stopped { SAY_STOP } else { SAY_END };
                    let end = Message::End {
                        packets: self.next,
                        bytes: self.source.bytes,
                        digest: self.source.digest,
                    };
                    return Ok(whole(end.encode(self.terms.session)));
                }
                Ok(None)
            }
            Stage::Ended(_) => Ok(None),
        }
    }

    /// Processes a datagram from the peer, which arrived at `at`, a little before `now`.
    pub fn take(&mut self, now: Time, at: Time, datagram: &[u8]) {
        let message = Message::decode(datagram)
            .filter(|(session, _)| *session == self.terms.session)
            .map(|(_, message)| message);
        if let Some(Message::Reset(refusal)) = message {
            match self.stage {
                Stage::Ended(_) => {}
                Stage::Closing { stopped: true, .. } => self.end(Err(EndpointError::Interrupted)),
                _ => self.end(Err(refused(refusal, self.peer))),
            }
            return;
        }
        match (&mut self.stage, message) {
            (Stage::Asking { message, ask, wait }, Some(Message::Cookie(cookie))) => {
                if let Message::Hello(_) = message {
                    *message = Message::Start(self.terms, cookie);
                    (*ask, *wait) = (now, FIRST_WAIT);
                }
            }
            (
                Stage::Asking {
                    message: Message::Start(..),
                    ..
                },
                Some(Message::Accept),
            ) => self.begin(now),
            (Stage::Sending, _) => {
                if self.answer(at, datagram).is_some() {
                    self.sent.answers += 1;
                    self.heard = now;
                } else {
                    self.sent.ignored += 1;
                }
            }
            (Stage::Closing { stopped, .. }, Some(Message::Ended { packets, wrong })) => {
                let outcome = if *stopped {
                    Err(EndpointError::Interrupted)
                } else {
                    Ok(())
                };
                self.sent.arrived = Some(packets);
                self.sent.wrong = Some(wrong);
                self.end(outcome);
            }
            _ => {}
        }
    }

    /// Returns the statistics so far.
    pub fn sent(&mut self, now: Time) -> &mut Sent {
        let sent = &mut self.sent;
        sent.at = (now - self.began).as_secs_f64();
        sent.bytes = self.source.bytes;
        let millis = |span: Duration| span.as_secs_f64() * 1e3;
        let most = self.guard.rate() * 8e-3;
        match &self.engine {
            Engine::Tfrc(sender) => {
                sent.allowed_kbit_per_s = (sender.rate() * 8e-3).min(most);
                sent.rtt_ms = sender.rtt().map(millis);
                sent.loss_event_rate = Some(sender.loss_event_rate());
            }
            Engine::Iftp(sender, asked) => {
                sent.rtt_ms = sender.rtt().map(millis);
                let bits = sender.n() * f64::from(self.terms.packet) * 8.0;
                sent.allowed_kbit_per_s = sent.rtt_ms.map_or(0.0, |rtt| bits / rtt).min(most);
                sent.timeouts = sender.timeouts();
                sent.verdicts.clone_from(&asked.counts);
            }
        }
        sent
    }

    fn begin(&mut self, now: Time) {
        self.engine = Engine::new(&self.flow, now);
        self.guard = Guard::new(self.flow.packet, self.max_rate, now);
        (self.began, self.heard) = (now, now);
        self.stage = Stage::Sending;
    }

    fn end(&mut self, outcome: Result<(), EndpointError>) {
        self.stage = Stage::Ended(Some(outcome));
    }

    fn fall_silent(&mut self) {
        let peer = self.peer.to_string();
        let seconds = self.patience.as_secs_f64();
        self.end(Err(EndpointError::Silent { peer, seconds }));
    }

    /// Returns the data packet that is due, if one is and may leave.
    fn next_packet(&mut self, now: Time) -> Result<Option<Outgoing>, EndpointError> {
        let has_data = self.source.has_data(now)?;
        if let Engine::Iftp(sender, asked) = &mut self.engine {
            sender.on_timeout(now, asked);
        }
        if !self.guard.is_open(now) {
            return Ok(None);
        }
        let due = match &mut self.engine {
            Engine::Tfrc(sender) => {
                sender.set_has_data(now, has_data);
                sender
                    .on_timeout(now)
                    .map(|data| (data.sequence, data.stamp, Some(data)))
            }
            Engine::Iftp(sender, _) => {
                sender.set_has_data(now, has_data);
                sender
                    .poll_transmit(now)
                    .map(|data| (data.sequence, data.stamp, None))
            }
        };
        let Some((sequence, stamp, data)) = due else {
            return Ok(None);
        };
        let number = self.terms.first.wrapping_add(sequence as u32);
        let payload = self.source.take(number);
        self.stamps[sequence as usize % REMEMBERED] = Some((sequence, stamp));
        self.next = sequence + 1;
        self.sent.packets += 1;
        let outgoing = match data {
            Some(data) => {
                let check = short_digest(&payload);
                let packet = TfrcData {
                    number,
                    data,
                    check,
                };
                Outgoing {
                    bytes: packet.encode(self.terms.session, &payload),
                    partial: false,
                }
            }
            None => self.iftp(number, stamp, &payload)?,
        };
        self.guard.on_sent(outgoing.bytes.len() as u32 + BELOW);
        Ok(Some(outgoing))
    }

    fn iftp(&self, number: u32, stamp: Time, payload: &[u8]) -> Result<Outgoing, EndpointError> {
        let partial = self.terms.coverage < self.terms.packet;
        let format = iftp_format(partial);
        let mut bytes = vec![0; format.data_header()];
        bytes.extend(payload);
        let header = Header {
            source_port: (self.terms.session >> 16) as u16,
            destination_port: self.terms.session as u16,
            number: number as u16,
            stamp: format.stamp(stamp),
        };
        // The last payload of a file may be shorter than the section.
        let section = usize::from(self.terms.coverage).saturating_sub(BELOW as usize);
        let coverage = if partial {
            section.clamp(format.data_header(), bytes.len()) as u16
        } else {
            0
        };
        format
            .encode_data(&header, coverage, &mut bytes, Sum::default())
            .map_err(|error| EndpointError::Socket {
                at: self.peer,
                source: std::io::Error::other(error),
            })?;
        Ok(Outgoing { bytes, partial })
    }

    /// Handles an answer; `None` if it belongs to another session, is impossible, or comes
    /// too soon.
    fn answer(&mut self, at: Time, packet: &[u8]) -> Option<()> {
        // The kernel's stamp may be a little earlier than the packet's departure.
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
                let now = at.max(stamp);
                if session != self.terms.session {
                    return None;
                }
                let (rtt, p) = (sender.rtt(), sender.loss_event_rate());
                let report = self
                    .guard
                    .judge(now, (sequence, stamp), &answer.feedback, rtt, p);
                match report {
                    Report::Impossible => None,
                    Report::Surplus => {
                        self.sent.surplus += 1;
                        Some(())
                    }
                    Report::Useful(feedback) => {
                        sender.on_feedback(now, &feedback);
                        self.guard.on_used(sender.rtt());
                        Some(())
                    }
                }
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
                let ack = Ack {
                    sequence,
                    echo: stamp,
                };
                sender.on_ack(at.max(stamp), &ack, asked);
                Some(())
            }
        }
    }
}

impl Engine {
    fn new(flow: &Flow, now: Time) -> Self {
        match &flow.carriage {
            Carriage::Tfrc(options, _) => Self::Tfrc(tfrc::Sender::new(options, flow.packet, now)),
            Carriage::Iftp(options, classifier) => {
                let asked = Asked {
                    classifier: classifier.clone(),
                    said: Vec::new(),
                    counts: BTreeMap::new(),
                };
                Self::Iftp(iftp::Sender::new(options, flow.packet), asked)
            }
        }
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
