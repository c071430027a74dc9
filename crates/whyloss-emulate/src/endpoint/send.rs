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

/// The settings of a sender.
#[derive(Clone, Debug)]
pub struct SendOptions {
    /// The address of the receiver.
    pub peer: SocketAddrV4,
    /// The transport, its classifier and the application.
    pub flow: Flow,
    /// The file to send instead of the flow's application, or `-` for standard input; `None` to
    /// send the application's data.
    pub file: Option<PathBuf>,
    /// The maximum number of packets; `None` for as many as the source has.
    pub packets: Option<u64>,
    /// The longest time to send; `None` to send until the source ends or `stop` is set.
    pub time: Option<Duration>,
    /// The limit on the sending rate in bytes per second, headers included.
    pub max_rate: f64,
    /// Whether to use UDP-Lite instead of UDP.
    pub lite: bool,
    /// The file for statistics, or `-` for standard output; `None` to write none.
    pub stats: Option<PathBuf>,
    /// The longest time that the peer may be silent before the session fails.
    pub patience: Duration,
    /// The sequence number of the first packet.
    pub first: u32,
    /// The directory of an emulator's log, against which verdicts of a sender classifier are scored
    /// at the end; `None` to score none.
    pub truth: Option<PathBuf>,
    /// The flag that ends the session from outside.
    pub stop: Arc<AtomicBool>,
}

/// The statistics of a sender.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sent {
    /// The time since the session began, in seconds.
    pub at: f64,
    /// Whether the session has ended.
    pub end: bool,
    /// The number of data packets sent.
    pub packets: u64,
    /// The number of payload bytes of these data packets.
    pub bytes: u64,
    /// The rate that the transport allows, in kbit/s: TFRC's allowed rate, or IFTP's packets per
    /// round trip.
    pub allowed_kbit_per_s: f64,
    /// The smoothed round-trip time, in ms; `None` before the first sample.
    pub rtt_ms: Option<f64>,
    /// The loss event rate that a TFRC receiver reports, in [0, 1]; `None` for other transports.
    pub loss_event_rate: Option<f64>,
    /// The number of feedback packets or acknowledgements taken.
    pub answers: u64,
    /// The number of ignored datagrams: of another session, about a packet that was never sent,
    /// with an impossible stamp, or invalid.
    pub ignored: u64,
    /// The number of ignored feedback packets that came less than half a round trip after the last
    /// one.
    pub surplus: u64,
    /// The number of expiries of IFTP's timer.
    pub timeouts: u64,
    /// The number of loss events by verdict, with a classifier at the sender.
    pub verdicts: BTreeMap<&'static str, u64>,
    /// The number of packets that arrived, which the receiver reports at the end of the session;
    /// `None` before that.
    pub arrived: Option<u64>,
    /// The number of packets with a wrong payload, which the receiver reports at the end of the
    /// session; `None` before that.
    pub wrong: Option<u64>,
    /// The verdicts scored against the emulator's log at the end of the session; `None` if there is
    /// no log, and before that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truth: Option<Scores>,
}

/// The time between two lines of statistics.
const EVERY: Duration = Duration::from_secs(1);
/// The longest sleep between two checks for signals.
const LONGEST_SLEEP: Duration = Duration::from_millis(30);
// A signal that arrives just before a sleep still ends the session within 100 ms.
const _: () = assert!(LONGEST_SLEEP.as_nanos() + STOP.as_nanos() < 100_000_000);
/// The number of packets that leave before answers, time and signals are checked.
const BURST: usize = 64;
/// The time for which a missing receiver is tolerated at the start.
const LATE: Duration = Duration::from_secs(5);

/// Sends until the source has ended, the time is over, or an error occurs.
///
/// # Errors
/// Returns an error if a socket, a file or the session fails.
pub fn send(options: &SendOptions) -> Result<Sent, EndpointError> {
    let clock = Clock::start();
    let mut lines = Lines::open("the statistics", options.stats.as_deref(), u64::MAX)?;
    let mut end = SendingEnd::new(options, session_number(), clock.now())?;
    let any = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
    let mut wire = Wire::bind(any, options.lite, end.section(), clock)?;
    wire.connect(SocketAddr::V4(options.peer))?;
    // A fine timer slack ends sleeps on time.
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

/// Returns a random session number, which others do not know.
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

/// Ignores errors of a missing receiver at first, because a receiver that starts at the same time
/// may be slower.
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

/// Scores the verdicts of a classifier at this end against the log of an emulator.
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
