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

/// The settings of a receiver.
#[derive(Clone, Debug)]
pub struct ReceiveOptions {
    /// The address to listen at.
    pub at: SocketAddrV4,
    /// The transport and its classifier; the other parts of the flow are ignored.
    pub flow: Flow,
    /// The file for the data, or `-` for standard output; `None` discards the data.
    pub out: Option<PathBuf>,
    /// The largest size of the file and of the log of arrivals, in bytes.
    pub out_limit: u64,
    /// Whether to use UDP-Lite instead of UDP.
    pub lite: bool,
    /// Whether the receiver ends with the first session.
    pub once: bool,
    /// The file for statistics, or `-` for standard output; `None` to write none.
    pub stats: Option<PathBuf>,
    /// The file for the log of arrivals; `None` to write none.
    pub arrivals: Option<PathBuf>,
    /// The longest silence of the peer before the session times out.
    pub patience: Duration,
    /// The offset and drift of this end's clock against the machine's clock.
    pub skew: Skew,
    /// The directory of an emulator's log, against which verdicts are scored at the end; `None` to
    /// score none.
    pub truth: Option<PathBuf>,
    /// The flag that ends the session from outside.
    pub stop: Arc<AtomicBool>,
}

/// The statistics of a receiver.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Received {
    /// The time since the session began, in seconds.
    pub at: f64,
    /// Whether the session has ended.
    pub end: bool,
    /// The reason why the session ended, if the sender did not end it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// The number of data packets, each counted once.
    pub packets: u64,
    /// The number of payload bytes of these data packets.
    pub bytes: u64,
    /// The rate since the last statistics in kbit/s, headers included.
    pub kbit_per_s: f64,
    /// The loss event rate of TFRC, in [0, 1]; `None` for other transports.
    pub loss_event_rate: Option<f64>,
    /// The number of missing packets that were called congestion; without a classifier at this end,
    /// all missing packets.
    pub missing_congestion: u64,
    /// The number of missing packets that were called wireless.
    pub missing_wireless: u64,
    /// The number of packets that came after a packet with a higher number.
    pub late: u64,
    /// The number of duplicates of packets that had arrived.
    pub repeated: u64,
    /// The number of packets that were taken with damaged bits outside the coverage.
    pub damaged: u64,
    /// The number of packets that were dropped because their application checksum failed.
    pub refused: u64,
    /// The number of packets whose payload differs from what was sent.
    pub wrong: u64,
    /// The number of packets that were dropped because the output file was at its size limit.
    pub beyond: u64,
    /// The number of arrivals that the log leaves out because of its size limit.
    pub unlogged: u64,
    /// The number of ignored datagrams: outside a session, invalid, or with an impossible number.
    pub ignored: u64,
    /// The number of cookies sent.
    pub cookies: u64,
    /// The number of session openings with a wrong cookie.
    pub wrong_cookies: u64,
    /// The number of answers that could not be sent, for example to an unreachable address.
    pub unanswered: u64,
    /// The number of packets sent, which the sender reports at the end of the session; `None`
    /// before that.
    pub sent: Option<u64>,
    /// The verdicts on missing packets, scored against the emulator's log at the end of the
    /// session; `None` if there is no log, and before that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truth: Option<Scores>,
}

/// The longest sleep between two checks for signals.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);
/// The number of datagrams taken before timers and signals are checked.
const BURST: usize = 256;
/// The time between two reports to a live view.
const LIVE: Duration = Duration::from_millis(500);

/// Receives until the session has ended (with `once`) or an error occurs at this end.
///
/// # Errors
/// Returns an error if a socket or a file fails, or the session ends with a fault.
pub fn receive(options: &ReceiveOptions) -> Result<Received, EndpointError> {
    receive_watched(options, &mut |_, _| ())
}

/// Receives like [`receive`], and passes the statistics so far and the time since the start to
/// `live`, at most twice a second.
///
/// # Errors
///
/// Returns the errors of [`receive`].
pub fn receive_watched(
    options: &ReceiveOptions,
    live: &mut dyn FnMut(Time, &Received),
) -> Result<Received, EndpointError> {
    let clock = Clock::start();
    // Acknowledgements are completely covered.
    let wire = Wire::bind(options.at, options.lite, None, clock)?;
    let mut end = ReceivingEnd::new(options)?;
    let ran = run(&mut end, &wire, clock, options, live);
    let received = end.finish(clock.now(), ran.is_ok(), wire.port());
    match ran {
        Ok(()) => received,
        // A receiver normally ends by an interrupt, so a fault in a session takes precedence.
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

/// Sends the queued answers. A peer chooses the address of its answers, so an error of the kernel
/// concerns that peer alone. If the peer stays silent, the session times out.
fn answer(end: &mut ReceivingEnd, wire: &Wire) {
    while let Some((packet, peer)) = end.poll() {
        if wire.send_to(&packet, peer).is_err() {
            end.unanswered();
        }
    }
}
