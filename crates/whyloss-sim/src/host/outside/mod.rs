//! Hosts from outside: run your own transport at the two ends of a flow.
//!
//! # Contract
//!
//! A [`Host`] is sans-I/O: it has no clock and no socket. The engine calls it in virtual time,
//! which never runs backwards. After each call, the engine polls the host:
//!
//! ```text
//! at the flow's start (the source), and after every call of receive or wake
//!     poll_transmit until it returns false          each datagram leaves at that time
//!     next_timeout                                  the time to call wake, unless a datagram arrives before
//! ```
//!
//! Two calls may have the same time. [`Host::poll_transmit`] must eventually return `false`, and a
//! deadline must advance after [`Host::wake`]; otherwise the clock of the whole run stops. The two
//! hosts of a flow may share only their datagrams, because the engine may simulate one end ahead of
//! the other. A datagram is sent with 28 bytes of IPv4 and UDP headers and arrives whole or not at
//! all.
//!
//! The source does not see the truth. Its [`Judge`], a sender classifier, returns the verdicts of
//! the flow's `classifier` and scores them. A reference algorithm may read the [`Truth`].
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
//! // Ten datagrams per round trip of 48.5 ms; the queue never has more than ten.
//! assert!((1.1e6..1.3e6).contains(&(run.flows[0].application_bytes as f64)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod end;
mod judge;

use std::fmt;
use std::sync::Arc;

use whyloss::{Rate, Time};

use crate::host::rtp::CallResult;
use crate::measure::Closed;
use crate::observe::SourceState;

pub(crate) use end::{Datagram, End};
pub use judge::{Judge, Truth};

/// The size of the IPv4 and UDP headers that carry a datagram, in bytes.
pub const HEADERS: u32 = 28;

/// One end of a flow. See the [module](self) for the contract.
pub trait Host {
    /// Handles a datagram from the other end.
    fn receive(&mut self, now: Time, datagram: &[u8]);

    /// Handles the deadline of [`Host::next_timeout`], which has expired.
    fn wake(&mut self, now: Time);

    /// Returns when to wake the host; [`Time::MAX`] means never.
    fn next_timeout(&self) -> Time;

    /// Writes the next datagram that may leave at `now` into `datagram`, which is empty, and
    /// returns `true`. Returns `false` if there is none.
    fn poll_transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> bool;

    /// Offers one more transfer of `bytes` bytes, to be sent after all earlier ones. Called on
    /// sources, and only if [`Beginning::endless`] is false.
    fn offer(&mut self, now: Time, bytes: u64) {
        let _ = (now, bytes);
    }

    /// Returns the number of transfers that the source knows to have arrived completely.
    fn finished(&self) -> u64 {
        0
    }

    /// Returns the number of transfers that the sink has received completely, in order.
    fn completed(&self) -> u64 {
        0
    }

    /// Returns the number of bytes given to the application at this end so far. Called on sinks,
    /// for the flow's goodput.
    fn delivered(&self) -> u64 {
        0
    }

    /// Returns the measures of a call. Called on sinks at the end of a run.
    fn call(&self) -> Option<CallResult> {
        None
    }

    /// Returns how this end's connection closed; `None` while it is open. Called on both ends at
    /// the end of a run.
    fn closed(&self) -> Option<Closed> {
        None
    }

    /// Returns the state of congestion control, for traces and figures. Called on sources.
    fn state(&self) -> SourceState {
        SourceState::default()
    }
}

/// The two ends of a flow.
pub struct Hosts {
    /// The end whose datagrams are the flow's data. Their losses are counted and may be judged.
    pub source: Box<dyn Host>,
    /// The end whose datagrams are the answers.
    pub sink: Box<dyn Host>,
}

/// The parameters of the hosts of one flow in one run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Beginning {
    /// When the source starts.
    pub start: Time,
    /// The size of the largest datagram in bytes: the flow's `packet` less the [headers](HEADERS).
    pub datagram: u32,
    /// The seed for random numbers, derived from the run's seed and the flow's number.
    pub seed: [u64; 4],
    /// The judge of the source's losses.
    pub judge: Judge,
    /// Whether the source always has data. If not, it sends only the data [offered](Host::offer) to
    /// it.
    pub endless: bool,
    /// The start and end of the measurement window, cut where the flow stops.
    pub measured: (Time, Time),
    /// The lowest `rate` of the links on the route of the flow's data.
    pub capacity: Option<Rate>,
}

/// Creates the hosts of a flow at the start of each run.
#[derive(Clone)]
pub struct Outside(Arc<dyn Fn(Beginning) -> Hosts + Send + Sync>);

impl Outside {
    /// Wraps `make`, which creates the hosts of one run.
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

/// Two values are equal if they share the function that creates the hosts.
impl PartialEq for Outside {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[cfg(test)]
mod tests;
