//! How a session begins: the sender's questions, and the receiver's cookies.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use whyloss::{Duration, Time};

use super::EndpointError;
use super::socket::Wire;
use super::wire::{Message, Refusal, Terms};
use crate::clock::Clock;

/// How long an answer is awaited before asking again, at first; doubled each time up to a second.
const FIRST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// How long answers are awaited at all.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long nobody need listen.
const LATE: Duration = Duration::from_secs(5);
/// How long a cookie holds, twice that at most.
const COOKIE_LIFE: Duration = Duration::from_secs(10);

/// Asks until there is a session.
pub(super) fn open(
    wire: &Wire,
    clock: Clock,
    terms: Terms,
    peer: SocketAddr,
    stop: &AtomicBool,
) -> Result<(), EndpointError> {
    let began = clock.now();
    let mut message = Message::Hello(terms);
    let mut wait = FIRST_WAIT;
    let mut ask = began;
    let mut buffer = [0; 2048];
    loop {
        let now = clock.now();
        if stop.load(Ordering::Relaxed) {
            return Err(EndpointError::Interrupted);
        }
        if now - began > PATIENCE {
            return Err(EndpointError::NoAnswer {
                peer: peer.to_string(),
                seconds: PATIENCE.as_secs_f64(),
            });
        }
        if now >= ask {
            bear(wire.send(&message.encode(terms.session)), now - began, peer)?;
            ask = now + wait;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
        wire.wait(ask.min(now + Duration::from_millis(100)))
            .map_err(EndpointError::Socket)?;
        while let Some(datagram) = bear(wire.receive(&mut buffer), now - began, peer)?.flatten() {
            match Message::decode(&buffer[..datagram.length]) {
                Some((session, answer)) if session == terms.session => match answer {
                    Message::Cookie(cookie) => {
                        if let Message::Hello(_) = message {
                            message = Message::Start(terms, cookie);
                            (ask, wait) = (clock.now(), FIRST_WAIT);
                        }
                    }
                    Message::Accept => return Ok(()),
                    Message::Reset(refusal) => return Err(refused(refusal, peer)),
                    _ => {}
                },
                _ => {}
            }
        }
    }
}

/// Bears at first that nobody listens: a receiver that is started at the same time may be later.
fn bear<T>(
    done: io::Result<T>,
    waited: Duration,
    peer: SocketAddr,
) -> Result<Option<T>, EndpointError> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused && waited < LATE => Ok(None),
        Err(error) => Err(gone(error, peer)),
    }
}

/// What a refusal means to the sender.
pub(super) fn refused(refusal: Refusal, peer: SocketAddr) -> EndpointError {
    let peer = peer.to_string();
    match refusal {
        Refusal::Unknown => EndpointError::Unknown(peer),
        Refusal::Busy => EndpointError::Busy(peer),
        Refusal::Carrier => EndpointError::Carrier(peer),
    }
}

/// What an error of a connected socket means.
pub(super) fn gone(error: io::Error, peer: SocketAddr) -> EndpointError {
    if error.kind() == io::ErrorKind::ConnectionRefused {
        EndpointError::Refused(peer.to_string())
    } else {
        EndpointError::Socket(error)
    }
}

/// Cookies: keyed hashes (SipHash) of who asks and for what, which hold for a while. The key lives as long as the process.
#[derive(Debug, Default)]
pub(super) struct Cookies(RandomState);

impl Cookies {
    pub(super) fn give(&self, now: Time, peer: SocketAddr, terms: Terms) -> u64 {
        self.hash(now, 0, peer, terms)
    }

    pub(super) fn accept(&self, now: Time, peer: SocketAddr, terms: Terms, cookie: u64) -> bool {
        [0, 1]
            .iter()
            .any(|&ago| self.hash(now, ago, peer, terms) == cookie)
    }

    fn hash(&self, now: Time, ago: u64, peer: SocketAddr, terms: Terms) -> u64 {
        let period = now.as_nanos() / COOKIE_LIFE.as_nanos() as u64;
        self.0.hash_one((period.wrapping_sub(ago), peer, terms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::wire::Carrier;

    #[test]
    fn cookies_are_for_one_asker_and_a_while() {
        let cookies = Cookies::default();
        let terms = Terms {
            session: 1,
            carrier: Carrier::Tfrc,
            packet: 1_500,
            coverage: 1_500,
            first: 0,
            pattern: true,
        };
        let (one, other): (SocketAddr, SocketAddr) =
            ("10.0.0.1:5".parse().unwrap(), "10.0.0.1:6".parse().unwrap());
        let seconds = |seconds: u64| Time::from_nanos(seconds * 1_000_000_000);
        let cookie = cookies.give(seconds(9), one, terms);
        assert!(cookies.accept(seconds(9), one, terms, cookie));
        assert!(cookies.accept(seconds(19), one, terms, cookie));
        assert!(!cookies.accept(seconds(20), one, terms, cookie));
        assert!(!cookies.accept(seconds(9), other, terms, cookie));
        assert!(!cookies.accept(
            seconds(9),
            one,
            Terms {
                session: 2,
                ..terms
            },
            cookie
        ));
        assert!(!Cookies::default().accept(seconds(9), one, terms, cookie));
    }
}
