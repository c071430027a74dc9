//! The sending end on a socket.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use whyloss::Duration;

use super::EndpointError;
use super::arrivals::Called;
use super::flow::Flow;
use super::sending::{STOP, SendingEnd};
use super::sink::Lines;
use super::socket::Wire;
use super::truth::{Fates, Scores};
use super::wire::is_session;
use crate::clock::Clock;

/// How to send.
#[derive(Clone, Debug)]
pub struct SendOptions {
    /// To whom.
    pub peer: SocketAddrV4,
    /// The transport that carries it.
    pub flow: Flow,
    /// A file, or standard input for `-`, instead of what the flow's application says.
    pub file: Option<PathBuf>,
    /// How many packets at most; `None`: as many as the source has.
    pub packets: Option<u64>,
    /// For how long; `None`: until the source ends, or from outside.
    pub time: Option<Duration>,
    /// The most bytes a second, of whole packets, whatever the receiver reports.
    pub max_rate: f64,
    /// Over UDP-Lite.
    pub lite: bool,
    /// Where statistics go, `-` for standard output.
    pub stats: Option<PathBuf>,
    /// How long the peer may be silent.
    pub patience: Duration,
    /// The number of the first packet.
    pub first: u32,
    /// The directory of an emulator's log, to score verdicts with at the end (of a classifier at
    /// the sender).
    pub truth: Option<PathBuf>,
    /// Set from outside to end.
    pub stop: Arc<AtomicBool>,
}

/// The packets that were sent.
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
    /// Of a session that is not this one, of a packet never sent, with a stamp that cannot be, or
    /// no packet at all.
    pub ignored: u64,
    /// Of those, feedback that came sooner than half a round trip after the last, and changed
    /// nothing.
    pub surplus: u64,
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

/// How often statistics are written.
const EVERY: Duration = Duration::from_secs(1);
/// The longest sleep: a signal is looked for so often.
const LONGEST_SLEEP: Duration = Duration::from_millis(30);
// A signal that arrives just before a sleep ends the session within 100 ms all the same.
const _: () = assert!(LONGEST_SLEEP.as_nanos() + STOP.as_nanos() < 100_000_000);
/// Packets that leave before answers, time and signals have their turn.
const BURST: usize = 64;
/// How long nobody need listen.
const LATE: Duration = Duration::from_secs(5);

/// Sends until the source has ended, the time is over, or something goes wrong.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn send(options: &SendOptions) -> Result<Sent, EndpointError> {
    let clock = Clock::start();
    let mut lines = Lines::open("the statistics", options.stats.as_deref(), u64::MAX)?;
    let mut end = SendingEnd::new(options, session_number(), clock.now())?;
    let any = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
    let mut wire = Wire::bind(any, options.lite, end.section(), clock)?;
    wire.connect(SocketAddr::V4(options.peer))?;
    // Stamps are of a clock that nobody has to agree with.
    let _ = nix::sys::prctl::set_timerslack(1);
    let ran = run(&mut end, &mut wire, clock, options, &mut lines);
    let verdicts = end.verdicts();
    let sent = end.sent(clock.now());
    if ran.is_ok() {
        sent.truth = scores(options, verdicts);
    }
    sent.end = true;
    lines.write(sent)?;
    lines.flush()?;
    ran.map(|()| sent.clone())
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

fn run(
    end: &mut SendingEnd,
    wire: &mut Wire,
    clock: Clock,
    options: &SendOptions,
    lines: &mut Lines,
) -> Result<(), EndpointError> {
    let mut report = None;
    let mut buffer = [0; 2048];
    loop {
        let now = clock.now();
        if options.stop.load(Ordering::Relaxed) {
            end.stop(now);
        }
        for _ in 0..BURST {
            let Some(outgoing) = end.poll(now)? else {
                break;
            };
            wire.set_partial(outgoing.partial)?;
            bear(wire.send(&outgoing.bytes), end, clock, wire)?;
        }
        if let Some(outcome) = end.outcome() {
            return outcome;
        }
        if end.asking(now).is_none() && now >= *report.get_or_insert(now + EVERY) {
            lines.write(end.sent(now))?;
            lines.flush()?;
            report = report.map(|report| report + EVERY);
        }
        let until = end
            .next_timeout(now)
            .min(report.unwrap_or(now + EVERY))
            .min(now + LONGEST_SLEEP);
        wire.wait(until)?;
        for _ in 0..4 * BURST {
            let arrived = bear(wire.receive(&mut buffer), end, clock, wire)?;
            let Some(datagram) = arrived.flatten() else {
                break;
            };
            end.take(clock.now(), datagram.at, &buffer[..datagram.length]);
        }
    }
}

/// Bears at first that nobody listens: a receiver that is started at the same time may be later.
fn bear<T>(
    done: io::Result<T>,
    end: &SendingEnd,
    clock: Clock,
    wire: &Wire,
) -> Result<Option<T>, EndpointError> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            match end.asking(clock.now()) {
                Some(waited) if waited < LATE => Ok(None),
                _ => Err(EndpointError::Refused(wire.at().to_string())),
            }
        }
        Err(error) => Err(wire.failed(error)),
    }
}

/// Verdicts of a classifier here against the log of an emulator.
fn scores(options: &SendOptions, verdicts: Option<Vec<(u32, Called)>>) -> Option<Scores> {
    let (verdicts, directory) = (verdicts?, options.truth.as_deref()?);
    let numbers: Vec<u32> = verdicts.iter().map(|&(number, _)| number).collect();
    let fates = Fates::await_all(directory, &numbers, |headers| {
        headers.destination == *options.peer.ip()
            && headers.destination_port == Some(options.peer.port())
    });
    let mut scores = Scores::default();
    for (number, called) in verdicts {
        scores.count(fates.cause(number), called);
    }
    Some(scores)
}
