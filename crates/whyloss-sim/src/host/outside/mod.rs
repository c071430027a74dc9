//! Hosts from outside: a transport of one's own at the two ends of a flow.
//!
//! # Contract
//!
//! A [`Host`] is sans-I/O: it has no clock and no socket. The engine calls it, in virtual time that
//! never runs backwards, and after each call does what the host then wants:
//!
//! ```text
//! at the flow's start (the source), and after every call of receive or wake
//!     poll_transmit until it has nothing more to send          each datagram leaves at that time
//!     next_timeout                                             when wake is to be called, unless a datagram comes before
//! ```
//!
//! A call may come at the very time of the one before. [`Host::poll_transmit`] must come to an end,
//! and a deadline that [`Host::wake`] was called for must move on: a host that always has something
//! to do now stops the clock of everybody. The two hosts of a flow share nothing but their
//! datagrams: the engine may work out what happens at one end ahead of the other's time. A datagram
//! is carried with 28 bytes of IPv4 and UDP headers on top, and arrives whole or not at all.
//!
//! The source hears nothing of the truth. For causes it may ask the [`Judge`] it was given, a
//! sender classifier like any other. It answers as the flow's `classifier` does (an oracle too),
//! and every answer is scored.
//!
//! # Example
//!
//! A sender with a window of ten datagrams, and a sink that answers each with its number:
//!
//! ```
//! use whyloss::{Duration, Time};
//! use whyloss_sim::host::outside::{Host, Hosts, Outside};
//! use whyloss_sim::scenario::{Scenario, Transport};
//!
//! struct Sender { sent: u64, answered: u64 }
//!
//! impl Host for Sender {
//!     fn receive(&mut self, _now: Time, _datagram: &[u8]) { self.answered += 1; }
//!     fn wake(&mut self, _now: Time) {}
//!     fn next_timeout(&self) -> Time { Time::MAX }
//!     fn poll_transmit(&mut self, _now: Time, datagram: &mut Vec<u8>) -> bool {
//!         let may = self.sent - self.answered < 10;
//!         if may {
//!             self.sent += 1;
//!             datagram.resize(1000, 0);
//!         }
//!         may
//!     }
//! }
//!
//! struct Receiver { owed: u64, bytes: u64 }
//!
//! impl Host for Receiver {
//!     fn receive(&mut self, _now: Time, datagram: &[u8]) {
//!         self.owed += 1;
//!         self.bytes += datagram.len() as u64;
//!     }
//!     fn wake(&mut self, _now: Time) {}
//!     fn next_timeout(&self) -> Time { Time::MAX }
//!     fn poll_transmit(&mut self, _now: Time, datagram: &mut Vec<u8>) -> bool {
//!         let owes = self.owed > 0;
//!         self.owed -= u64::from(owes);
//!         datagram.resize(12, 0);
//!         owes
//!     }
//!     fn delivered(&self) -> u64 { self.bytes }
//! }
//!
//! let mut scenario = Scenario::from_toml(r#"
//!     duration = "10 s"
//!     link = [{ from = "a", to = "b", rate = "1 Mbit/s", delay = "20 ms", queue = { packets = 20 } }]
//!     flow = [{ from = "a", to = "b", transport = "tcp" }]
//! "#, "example.toml", &[])?;
//! let hosts = Outside::new(|_| Hosts {
//!     source: Box::new(Sender { sent: 0, answered: 0 }),
//!     sink: Box::new(Receiver { owed: 0, bytes: 0 }),
//! });
//! scenario.flows[0].transport = Transport::Outside { hosts, classifier: whyloss_sim::decider::Decider::unaware() };
//! let run = whyloss_sim::Simulation::new(&scenario, 1).run()?;
//! // Ten datagrams a round trip of 48.5 ms; their queue never is longer than ten.
//! assert!((1.1e6..1.3e6).contains(&(run.flows[0].application_bytes as f64)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod end;
mod judge;

use std::fmt;
use std::sync::Arc;

use whyloss::{Rate, Time};

use crate::host::rtp::CallResult;
use crate::observe::SourceState;

pub(crate) use end::{Datagram, End};
pub use judge::Judge;

/// Bytes of the IPv4 and UDP headers that carry a datagram.
pub const HEADERS: u32 = 28;

/// One end of a flow. See the [module](self) for the contract.
pub trait Host {
    /// Takes a datagram of the other end.
    fn receive(&mut self, now: Time, datagram: &[u8]);

    /// Acts on the deadline, which has come.
    fn wake(&mut self, now: Time);

    /// When it must be woken; [`Time::MAX`]: never.
    fn next_timeout(&self) -> Time;

    /// Writes the next datagram that may leave at `now` into `datagram`, which is empty. Answers
    /// whether there is one.
    fn poll_transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> bool;

    /// The application at the source has one more transfer, of so many bytes, to send after those
    /// before it. Only called if [`Beginning::endless`] is false.
    fn offer(&mut self, now: Time, bytes: u64) {
        let _ = (now, bytes);
    }

    /// How many transfers the source knows to have arrived whole.
    fn finished(&self) -> u64 {
        0
    }

    /// How many transfers the sink has whole, with all before them.
    fn completed(&self) -> u64 {
        0
    }

    /// Bytes that the application at this end has been given so far; asked of sinks, for the flow's
    /// goodput.
    fn delivered(&self) -> u64 {
        0
    }

    /// Returns the measures of a call; asked of sinks, at the end of a run.
    fn call(&self) -> Option<CallResult> {
        None
    }

    /// Returns the state of congestion control for traces and pictures; asked of sources.
    fn state(&self) -> SourceState {
        SourceState::default()
    }
}

/// The two ends of a flow.
pub struct Hosts {
    /// The end whose datagrams are the flow's data: losses of these are counted, and may be judged.
    pub source: Box<dyn Host>,
    /// The end whose datagrams are the answers.
    pub sink: Box<dyn Host>,
}

/// The parameters of a host, for each run of each flow.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Beginning {
    /// When the source starts.
    pub start: Time,
    /// Bytes of the largest datagram, without the [headers](HEADERS) below it: what the flow's
    /// `packet` leaves.
    pub datagram: u32,
    /// The seed for random numbers: it follows from the run's seed and the flow's number.
    pub seed: [u64; 4],
    /// The judge of the source's losses.
    pub judge: Judge,
    /// Whether the source always has something to send. If not, it sends what it is
    /// [offered](Host::offer).
    pub endless: bool,
    /// The measurement window, until the flow stops at most.
    pub measured: (Time, Time),
    /// Least rate of the links on the way of the flow's data, as their `rate` says.
    pub capacity: Option<Rate>,
}

/// Makes the hosts of a flow, anew for each run.
#[derive(Clone)]
pub struct Outside(Arc<dyn Fn(Beginning) -> Hosts + Send + Sync>);

impl Outside {
    /// Wraps `make`, which makes the hosts.
    pub fn new(make: impl Fn(Beginning) -> Hosts + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    pub(crate) fn make(&self, beginning: Beginning) -> Hosts {
        (self.0)(beginning)
    }
}

impl fmt::Debug for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outside").finish_non_exhaustive()
    }
}

/// Two are the same if they are made by the same.
impl PartialEq for Outside {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[cfg(test)]
mod tests;
