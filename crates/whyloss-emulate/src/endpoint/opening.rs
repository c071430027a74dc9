//! The opening of a session: the receiver's cookies, and the meaning of its refusals.

use std::hash::{BuildHasher as _, RandomState};
use std::net::SocketAddr;

use whyloss::{Duration, Time};

use super::EndpointError;
use super::wire::{Refusal, Terms};

/// The shortest time for which a cookie is valid; the longest is twice this.
const COOKIE_LIFE: Duration = Duration::from_secs(10);

/// Returns the meaning of a refusal to the sender.
pub(super) fn refused(refusal: Refusal, peer: SocketAddr) -> EndpointError {
    let peer = peer.to_string();
    match refusal {
        Refusal::Unknown => EndpointError::Unknown(peer),
        Refusal::Busy => EndpointError::Busy(peer),
        Refusal::Carrier => EndpointError::Carrier(peer),
    }
}

/// Creates cookies: keyed hashes (SipHash) of the sender's address and request, valid for a short
/// time. The key lives as long as the process.
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
