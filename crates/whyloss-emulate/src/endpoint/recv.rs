//! The receiving end on a socket.

use std::net::SocketAddrV4;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use whyloss::{Duration, Time};

use super::EndpointError;
use super::arrivals::Skew;
use super::flow::Flow;
use super::receiving::ReceivingEnd;
use super::socket::Wire;
use super::truth::Scores;
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
    /// The most bytes of that file, and of the log of arrivals.
    pub out_limit: u64,
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

/// The packets that were received.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Received {
    /// Seconds since the session began.
    pub at: f64,
    /// Whether it has ended.
    pub end: bool,
    /// Why it ended, if not as the sender said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
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
    /// Packets beyond the most bytes of the file, which were dropped.
    pub beyond: u64,
    /// Arrivals beyond the most bytes of the log, which it leaves out.
    pub unlogged: u64,
    /// Packets of no session, with a number that cannot be, or no packets at all.
    pub ignored: u64,
    /// Cookies handed out, and openings with a wrong one.
    pub cookies: u64,
    /// See above.
    pub wrong_cookies: u64,
    /// Answers that this host could not send, as to addresses that are no host's.
    pub unanswered: u64,
    /// What the sender says it sent, at the end.
    pub sent: Option<u64>,
    /// Missing packets by verdict and truth, at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truth: Option<Scores>,
}

/// The longest sleep: a signal is looked for so often.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);
/// Datagrams that are taken before timers and signals have their turn.
const BURST: usize = 256;
/// Time between two reports to a live view.
const LIVE: Duration = Duration::from_millis(500);

/// Receives until the session has ended (with `once`), or something goes wrong here.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn receive(options: &ReceiveOptions) -> Result<Received, EndpointError> {
    receive_watched(options, &mut |_, _| ())
}

/// [Receives](receive), and tells `live` twice a second at most what came so far and when, since
/// this end began.
///
/// # Errors
///
/// As [`receive`].
pub fn receive_watched(
    options: &ReceiveOptions,
    live: &mut dyn FnMut(Time, &Received),
) -> Result<Received, EndpointError> {
    let clock = Clock::start();
    // Acknowledgements are covered whole.
    let wire = Wire::bind(options.at, options.lite, None, clock)?;
    let mut end = ReceivingEnd::new(options)?;
    let ran = run(&mut end, &wire, clock, options, live);
    let received = end.finish(clock.now(), ran.is_ok(), wire.port());
    match ran {
        Ok(()) => received,
        // An interruption is how further sessions end: a fault in one of them matters more.
        Err(EndpointError::Interrupted) => received.and(Err(EndpointError::Interrupted)),
        Err(error) => Err(error),
    }
}

fn run(
    end: &mut ReceivingEnd,
    wire: &Wire,
    clock: Clock,
    options: &ReceiveOptions,
    live: &mut dyn FnMut(Time, &Received),
) -> Result<(), EndpointError> {
    let mut buffer = vec![0; 65_536];
    let mut next_live = Time::ZERO;
    loop {
        let now = clock.now();
        if now >= next_live {
            live(now, end.received());
            next_live = now + LIVE;
        }
        if options.stop.load(Ordering::Relaxed) {
            return if end.has_ended() {
                Ok(())
            } else {
                Err(EndpointError::Interrupted)
            };
        }
        if let Some(outcome) = end.advance(now)? {
            return outcome;
        }
        answer(end, wire);
        wire.wait(end.next_timeout(now).min(now + LONGEST_SLEEP))?;
        for _ in 0..BURST {
            let arrived = wire.receive(&mut buffer);
            let Some(datagram) = arrived.map_err(|error| wire.failed(error))? else {
                break;
            };
            let packet = &buffer[..datagram.length];
            end.take(clock.now(), datagram.at, datagram.from, packet)?;
            answer(end, wire);
        }
    }
}

/// Sends what the end has to say. A peer chooses the address that is answered, so an error of the
/// kernel is that peer's alone: what it means shows when the peer stays silent.
fn answer(end: &mut ReceivingEnd, wire: &Wire) {
    while let Some((packet, peer)) = end.poll() {
        if wire.send_to(&packet, peer).is_err() {
            end.unanswered();
        }
    }
}
