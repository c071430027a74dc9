//! The two ends of a call on UDP sockets, one thread each.
//!
//! ```text
//! send      socket connected to the receiver; ends after `time`, or once no report came for `patience`
//! receive   answers the first peer that sends a packet of a call; ends once this peer is silent for `patience`
//! ```
//!
//! Without reports, a sender could flood a receiver that requested no data. It therefore sends at
//! most its initial target for `patience` (a circuit breaker as in RFC 8083).

use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time;

use whyloss::{Duration, Time};

use super::packet::{Packet, is_rtcp};
use super::{Feedback, HEADERS, Receiver, Sender, Settings};
use crate::bandwidth::Bandwidth;

/// The longest wait before `stop` is checked.
const LOOK: Duration = Duration::from_millis(100);
/// The lateness of socket wake-ups: a tick of the kernel, 4 or 10 ms.
const SLACK: Duration = Duration::from_millis(10);
/// The largest datagram that is read, in bytes.
const LARGEST: usize = 2_048;

/// The counts of a call at its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sent {
    /// The number of packets sent, repairs included.
    pub packets: u64,
    /// The bytes sent on the wire, repairs and headers included.
    pub bytes: u64,
    /// The number of RTCP packets received.
    pub reports: u64,
    /// The estimator's target at the end of the call, in bit/s on the wire.
    pub target: f64,
}

/// The counts of a call at its receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The number of packets received.
    pub packets: u64,
    /// The bytes received on the wire, headers included.
    pub bytes: u64,
    /// The number of frames shown.
    pub shown: u64,
    /// The number of frames shown late.
    pub late: u64,
    /// The number of freezes of the picture.
    pub freezes: u64,
    /// The total time of the freezes.
    pub frozen: Duration,
}

/// Measures the time since its start.
struct Clock(time::Instant);

impl Clock {
    fn start() -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "sockets are an edge: here time is made"
        )]
        Self(time::Instant::now())
    }

    fn now(&self) -> Time {
        // Start at one second, because zero means no time.
        let since = Duration::from(self.0.elapsed()) + Duration::from_secs(1);
        Time::ZERO + since
    }
}

/// Waits for a datagram until `due`. Returns its length and sender, if one arrived.
fn wait(
    socket: &UdpSocket,
    now: Time,
    due: Time,
    buffer: &mut [u8],
) -> io::Result<Option<(usize, std::net::SocketAddr)>> {
    let wait = (due.min(now + LOOK) - now).max(Duration::from_micros(50));
    let nanos = wait.as_nanos().unsigned_abs();
    socket.set_read_timeout(Some(time::Duration::from_nanos(nanos)))?;
    match socket.recv_from(buffer) {
        Ok(got) => Ok(Some(got)),
        // A peer that has not started, or has ended, rejects earlier datagrams.
        Err(error) => match error.kind() {
            ErrorKind::WouldBlock
            | ErrorKind::TimedOut
            | ErrorKind::Interrupted
            | ErrorKind::ConnectionRefused => Ok(None),
            _ => Err(error),
        },
    }
}

/// Sends a datagram. If the buffer is full or the peer is missing, the datagram is lost, as on a
/// path.
fn push(sent: io::Result<usize>) -> io::Result<()> {
    match sent {
        Err(error)
            if !matches!(
                error.kind(),
                ErrorKind::WouldBlock | ErrorKind::ConnectionRefused | ErrorKind::Interrupted
            ) =>
        {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// Sends a call over a connected socket for `time`, or until `stop` is set.
///
/// # Errors
/// Returns the errors of the socket, and [`ErrorKind::TimedOut`] if no report came for `patience`.
pub fn send(
    socket: &UdpSocket,
    settings: Settings,
    estimator: Box<dyn Bandwidth>,
    time: Duration,
    patience: Duration,
    stop: &AtomicBool,
) -> io::Result<Sent> {
    let clock = Clock::start();
    let start = clock.now();
    let mut sender = Sender::new(settings, estimator, [1, 2, 3, 4], start).with_slack(SLACK);
    let (mut sent, mut heard) = (Sent::default(), start);
    let (mut buffer, mut datagram) = ([0; LARGEST], Vec::new());
    loop {
        let now = clock.now();
        if now - start >= time || stop.load(Ordering::Relaxed) {
            sent.target = sender.target();
            return Ok(sent);
        }
        if now - heard > patience {
            return Err(ErrorKind::TimedOut.into());
        }
        if sender.next_timeout() <= now {
            sender.wake(now);
        }
        while sender.poll_transmit(now, &mut datagram) {
            sent.packets += 1;
            sent.bytes += datagram.len() as u64 + u64::from(HEADERS);
            push(socket.send(&datagram))?;
            datagram.clear();
        }
        let due = sender.next_timeout().min(start + time);
        if let Some((length, _)) = wait(socket, now, due, &mut buffer)?
            && is_rtcp(&buffer[..length])
        {
            let now = clock.now();
            (heard, sent.reports) = (now, sent.reports + 1);
            sender.receive(now, &buffer[..length]);
        }
    }
}

/// Receives one call until its sender is silent for `patience`, or until `stop` is set. The format
/// of the reports depends on whether packets carry a transport-wide number.
///
/// # Errors
/// Returns the errors of the socket.
pub fn receive(
    socket: &UdpSocket,
    settings: &Settings,
    patience: Duration,
    stop: &AtomicBool,
) -> io::Result<Received> {
    let clock = Clock::start();
    let mut call = None;
    let mut received = Received::default();
    let (mut buffer, mut datagram) = ([0; LARGEST], Vec::new());
    let mut heard = clock.now();
    loop {
        let now = clock.now();
        let silent = call.is_some() && now - heard > patience;
        if silent || stop.load(Ordering::Relaxed) {
            return Ok(received);
        }
        let mut due = now + LOOK;
        if let Some((peer, receiver)) = &mut call {
            let receiver: &mut Receiver = receiver;
            if receiver.next_timeout() <= now {
                receiver.wake(now);
            }
            while receiver.poll_transmit(now, &mut datagram) {
                push(socket.send_to(&datagram, *peer))?;
                datagram.clear();
            }
            due = receiver.next_timeout();
        }
        let Some((length, from)) = wait(socket, now, due, &mut buffer)? else {
            continue;
        };
        let Some(packet) = Packet::read(&buffer[..length]) else {
            continue;
        };
        let (peer, receiver) = call.get_or_insert_with(|| {
            let feedback = match packet.transport {
                Some(_) => Feedback::Twcc,
                None => Feedback::Rfc8888,
            };
            let settings = Settings {
                feedback,
                ..settings.clone()
            };
            (from, Receiver::new(settings))
        });
        if *peer != from {
            continue;
        }
        heard = clock.now();
        received.packets += 1;
        received.bytes += length as u64 + u64::from(HEADERS);
        receiver.receive(heard, &buffer[..length]);
        while let Some(shown) = receiver.poll_shown() {
            received.shown += 1;
            received.late += u64::from(shown.late);
            received.freezes += u64::from(shown.frozen > Duration::ZERO);
            received.frozen += shown.frozen;
        }
    }
}
