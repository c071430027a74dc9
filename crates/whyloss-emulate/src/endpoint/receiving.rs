//! The receiving end without its socket: datagrams and the time in, datagrams out.
//!
//! A host calls [`advance`](ReceivingEnd::advance) when
//! [`next_timeout`](ReceivingEnd::next_timeout) is due, and [`take`](ReceivingEnd::take) for each
//! datagram. After each of these calls it calls [`poll`](ReceivingEnd::poll) until it returns
//! `None`.
//!
//! Peers choose every byte, the order and the source of datagrams. These bounds limit them:
//!
//! | bound | value |
//! |---|---|
//! | sessions | one at a time; no state before an address has sent a cookie back |
//! | memory | a window of 65,536 numbers, 4,096 damaged bits of a packet, and with `--truth` a million verdicts |
//! | answers | at most one per datagram and not longer than it, only to addresses that a host can have; 100 refusals per second |
//! | files | `out_limit` for the data, and the same for the log of arrivals |
//! | time | silence of `patience` ends the session, and with `once` also the receiver |

mod transports;

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use whyloss::receiver::Classifier;
use whyloss::{Duration, Time, tfrc};

use super::EndpointError;
use super::arrivals::Called;
use super::flow::Carriage;
use super::opening::Cookies;
use super::recv::{ReceiveOptions, Received};
use super::seen::Seen;
use super::sink::{Lines, Sink};
use super::truth::{Fates, Scores};
use super::wire::{BELOW, Carrier, DATA_HEADER, Message, Refusal, Terms, TfrcData, iftp_format};

/// The maximum number of verdicts kept for the truth.
const MOST_VERDICTS: usize = 1_000_000;
/// The time between two lines of statistics.
const EVERY: Duration = Duration::from_secs(1);
/// The time for which the end is repeated to a sender that has not confirmed it.
const LINGER: Duration = Duration::from_millis(500);
/// The silence after which a sender may have been restarted.
const REPLACEABLE: Duration = Duration::from_secs(2);
/// The maximum number of answers to unknown sessions per second.
const MOST_RESETS: u32 = 100;
/// The maximum number of damaged bits of a packet that the log of arrivals names.
const MOST_DAMAGED: usize = 4_096;
/// The maximum number of answers that wait for the host. A host that polls after each datagram
/// never reaches it.
const MOST_ANSWERS: usize = 64;
/// The receiver's clock at its start. A positive value allows clock offsets down to minus one day.
const EPOCH: Duration = Duration::from_secs(86_400);

/// The state machine of a session's transport.
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

/// The faults that make a session fail even if the sender ended it.
#[derive(Clone, Copy, Default)]
struct Faults {
    wrong: u64,
    beyond: u64,
    unlogged: u64,
}

/// The receiving end of sessions, without its socket.
pub struct ReceivingEnd {
    options: ReceiveOptions,
    cookies: Cookies,
    session: Option<Session>,
    received: Received,
    /// The faults of earlier sessions.
    earlier: Faults,
    sink: Sink,
    stats: Lines,
    arrivals: Lines,
    answers: VecDeque<(Vec<u8>, SocketAddr)>,
    /// The sender, number and last message of the previous session, which is kept because the
    /// message may have been lost.
    before: Option<(SocketAddr, u32, Message)>,
    /// The outcome of the session, if the end serves only one (`once`).
    outcome: Option<Result<(), EndpointError>>,
    /// The start of the second in which resets are counted, and their number.
    resets: (Time, u32),
    report: Time,
}

impl ReceivingEnd {
    /// Creates a receiving end that waits for its first session.
    ///
    /// # Errors
    /// Returns an error if a file of the options cannot be created.
    pub fn new(options: &ReceiveOptions) -> Result<Self, EndpointError> {
        Ok(Self {
            cookies: Cookies::default(),
            session: None,
            received: Received::default(),
            earlier: Faults::default(),
            sink: Sink::open(options.out.as_deref(), options.out_limit)?,
            stats: Lines::open("the statistics", options.stats.as_deref(), u64::MAX)?,
            arrivals: Lines::open(
                "the arrivals",
                options.arrivals.as_deref(),
                options.out_limit,
            )?,
            answers: VecDeque::new(),
            before: None,
            outcome: None,
            resets: (Time::ZERO, 0),
            report: Time::MAX,
            options: options.clone(),
        })
    }

    /// Returns whether the sender has ended the session.
    pub fn has_ended(&self) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| session.ended.is_some())
    }

    /// Returns the packets received so far.
    pub fn received(&self) -> &Received {
        &self.received
    }

    /// Handles timers that are due at `now`. With the option `once`, returns the outcome after the
    /// session has ended.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub fn advance(
        &mut self,
        now: Time,
    ) -> Result<Option<Result<(), EndpointError>>, EndpointError> {
        if let Some(session) = &self.session {
            match session.ended {
                Some(ended) if now - ended > LINGER => {
                    if self.options.once {
                        return Ok(Some(Ok(())));
                    }
                    self.end_session(now)?;
                }
                None if now - session.heard >= self.options.patience => {
                    let silent = EndpointError::Silent {
                        peer: session.peer.to_string(),
                        seconds: self.options.patience.as_secs_f64(),
                    };
                    self.fail(silent, now)?;
                }
                _ => {}
            }
        }
        if self.outcome.is_some() {
            return Ok(self.outcome.take());
        }
        let own = self.own(now);
        if let Some(session) = &mut self.session
            && let Engine::Tfrc(end) = &mut session.engine
            && session.ended.is_none()
            && let Some(feedback) = end.0.on_timeout(own)
        {
            self.feed_back(&feedback);
        }
        if now >= self.report {
            self.update(now);
            self.stats.write(&self.received)?;
            self.stats.flush()?;
            self.arrivals.flush()?;
            self.report += EVERY;
        }
        Ok(None)
    }

    /// Returns the latest time for the next call of [`advance`](Self::advance).
    pub fn next_timeout(&self, now: Time) -> Time {
        let Some(session) = &self.session else {
            return Time::MAX;
        };
        let over = match session.ended {
            Some(ended) => ended + LINGER + Duration::from_nanos(1),
            None => session.heard + self.options.patience,
        };
        let timer = match &session.engine {
            Engine::Tfrc(end) if session.ended.is_none() => self.machine(end.0.next_timeout(), now),
            _ => Time::MAX,
        };
        over.min(timer).min(self.report)
    }

    /// Handles a datagram that arrived from a peer at `at`, a little before now.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written. Nothing that a peer sends is an error.
    pub fn take(
        &mut self,
        now: Time,
        at: Time,
        from: SocketAddr,
        datagram: &[u8],
    ) -> Result<(), EndpointError> {
        let useful = is_host(from) && self.taken(now, at, from, datagram)?.is_some();
        self.received.ignored += u64::from(!useful);
        Ok(())
    }

    /// Returns the next datagram to send and its destination; `None` if there is none to send.
    pub fn poll(&mut self) -> Option<(Vec<u8>, SocketAddr)> {
        self.answers.pop_front()
    }

    /// Counts an answer that the host could not send.
    pub fn unanswered(&mut self) {
        self.received.unanswered += 1;
    }

    /// Ends the session, if there is one, and scores its verdicts if it succeeded. `port` is the
    /// port at which this end listened.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written, or any session had faults.
    pub(super) fn finish(
        &mut self,
        now: Time,
        well: bool,
        port: u16,
    ) -> Result<Received, EndpointError> {
        if well {
            self.received.truth = self.scores(port);
        }
        self.end_session(now)?;
        let (faults, limit) = (self.faults(), self.options.out_limit);
        if faults.wrong > 0 {
            Err(EndpointError::Wrong(faults.wrong))
        } else if faults.beyond > 0 {
            let packets = faults.beyond;
            Err(EndpointError::TooLong { packets, limit })
        } else if faults.unlogged > 0 {
            let arrivals = faults.unlogged;
            Err(EndpointError::Unlogged { arrivals, limit })
        } else {
            Ok(self.received.clone())
        }
    }

    /// Sums the faults of all sessions so far.
    fn faults(&self) -> Faults {
        Faults {
            wrong: self.earlier.wrong + self.received.wrong,
            beyond: self.earlier.beyond + self.received.beyond,
            unlogged: self.earlier.unlogged + self.received.unlogged,
        }
    }

    /// Ends the session with this error, and with `once` also the receiver.
    fn fail(&mut self, error: EndpointError, now: Time) -> Result<(), EndpointError> {
        if self.options.once {
            self.outcome = Some(Err(error));
            return Ok(());
        }
        self.received.failed = Some(error.to_string());
        self.end_session(now)
    }

    /// Ends the session, if there is one, with a last line of statistics.
    fn end_session(&mut self, now: Time) -> Result<(), EndpointError> {
        if let Some(session) = &self.session {
            let (packets, wrong) = (self.received.packets, self.received.wrong);
            self.before = session.ended.map(|_| {
                let told = Message::Ended { packets, wrong };
                (session.peer, session.terms.session, told)
            });
            self.received.end = true;
            self.update(now);
            self.stats.write(&self.received)?;
            self.stats.flush()?;
            self.arrivals.flush()?;
            self.session = None;
            self.report = Time::MAX;
        }
        Ok(())
    }

    /// Returns the time `at` on this end's clock.
    fn own(&self, at: Time) -> Time {
        self.options.skew.apply(at + EPOCH)
    }

    /// Returns the machine's time when this end's clock shows `own`. The result is rather too early
    /// than too late.
    fn machine(&self, own: Time, now: Time) -> Time {
        if own == Time::MAX {
            return Time::MAX;
        }
        now + (own - self.own(now)).max(Duration::ZERO)
    }

    /// Queues a packet that may be lost.
    fn say(&mut self, packet: Vec<u8>, peer: SocketAddr) {
        if self.answers.len() < MOST_ANSWERS {
            self.answers.push_back((packet, peer));
        }
    }

    /// Handles a datagram; returns `None` if it was ignored.
    fn taken(
        &mut self,
        now: Time,
        at: Time,
        from: SocketAddr,
        packet: &[u8],
    ) -> Result<Option<()>, EndpointError> {
        if let Some((session, message)) = Message::decode(packet) {
            return self.message(session, message, from, now);
        }
        let ours = self
            .session
            .as_ref()
            .filter(|session| session.peer == from && session.ended.is_none());
        let Some(session) = ours else {
            if let Some((session, ..)) = TfrcData::decode(packet) {
                self.reset(session, Refusal::Unknown, from, now);
            } else if packet.len() >= 16 && self.session.is_none() {
                // The packet may be IFTP's.
                let number = u32::from_be_bytes([packet[0], packet[1], packet[2], packet[3]]);
                self.reset(number, Refusal::Unknown, from, now);
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
        now: Time,
    ) -> Result<Option<()>, EndpointError> {
        let current = self
            .session
            .as_ref()
            .is_some_and(|session| session.terms.session == number && session.peer == from);
        match message {
            Message::Hello(terms) => {
                self.received.cookies += 1;
                let cookie = self.cookies.give(now, from, terms);
                self.say(Message::Cookie(cookie).encode(number), from);
            }
            Message::Start(_, _) if current => self.say(Message::Accept.encode(number), from),
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
                    self.reset(number, Refusal::Carrier, from, now);
                    return Ok(None);
                }
                if let Some(session) = self
                    .session
                    .as_ref()
                    .filter(|session| session.ended.is_none() || self.options.once)
                {
                    // The same host opens a session after a silence, so it was restarted.
                    let silent = session.ended.is_none() && now - session.heard > REPLACEABLE;
                    if silent && session.peer.ip() == from.ip() {
                        self.fail(EndpointError::Replaced, now)?;
                        if self.outcome.is_some() {
                            return Ok(None);
                        }
                    } else {
                        self.reset(number, Refusal::Busy, from, now);
                        return Ok(None);
                    }
                }
                self.end_session(now)?;
                self.begin(terms, from, now)?;
                self.say(Message::Accept.encode(number), from);
            }
            Message::End { packets, .. } if current => {
                if let Some(session) = &mut self.session {
                    session.ended.get_or_insert(now);
                    session.heard = now;
                }
                self.received.sent = Some(packets);
                let (packets, wrong) = (self.received.packets, self.received.wrong);
                self.say(Message::Ended { packets, wrong }.encode(number), from);
            }
            Message::End { .. } => {
                if let Some((_, _, told)) = self
                    .before
                    .filter(|&(peer, session, _)| (peer, session) == (from, number))
                {
                    self.say(told.encode(number), from);
                    return Ok(Some(()));
                }
                self.reset(number, Refusal::Unknown, from, now);
                return Ok(None);
            }
            _ => return Ok(None),
        }
        Ok(Some(()))
    }

    fn begin(&mut self, terms: Terms, peer: SocketAddr, now: Time) -> Result<(), EndpointError> {
        self.sink.restart()?;
        let engine = match &self.options.flow.carriage {
            Carriage::Tfrc(options, classifier) => {
                let receiver = tfrc::Receiver::new(options, u32::from(terms.packet));
                Engine::Tfrc(Box::new((receiver, classifier.as_ref().clone())))
            }
            Carriage::Iftp(..) => Engine::Iftp,
        };
        self.earlier = self.faults();
        self.received = Received {
            ignored: self.received.ignored,
            cookies: self.received.cookies,
            wrong_cookies: self.received.wrong_cookies,
            unanswered: self.received.unanswered,
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
        Ok(())
    }

    /// Queues the refusal of an unknown session, at a limited rate and with fewer bytes than were
    /// received.
    fn reset(&mut self, session: u32, refusal: Refusal, to: SocketAddr, now: Time) {
        if now - self.resets.0 > Duration::from_secs(1) {
            self.resets = (now, 0);
        }
        self.resets.1 = self.resets.1.saturating_add(1);
        if self.resets.1 <= MOST_RESETS {
            self.say(Message::Reset(refusal).encode(session), to);
        }
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

    /// Scores the verdicts against the log of an emulator.
    fn scores(&self, port: u16) -> Option<Scores> {
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
            headers.source == session.peer.ip()
                && headers.source_port == Some(session.peer.port())
                && headers.destination_port == Some(port)
        });
        let mut scores = Scores::default();
        for (number, (_, called)) in numbers.iter().zip(&session.missing) {
            scores.count(fates.cause(*number), *called);
        }
        Some(scores)
    }
}

/// Returns whether a datagram can come from a host that receives an answer; a forged source address
/// may not.
fn is_host(from: SocketAddr) -> bool {
    let ip = match from.ip() {
        IpAddr::V4(ip) => ip,
        IpAddr::V6(_) => return true,
    };
    from.port() != 0 && !ip.is_unspecified() && !ip.is_multicast() && !ip.is_broadcast()
}
