//! TFRC and IFTP on real sockets: the state machines of `whyloss`, over UDP or UDP-Lite.
//!
//! | module | what |
//! |---|---|
//! | [`wire`] | the packets, and who says what to whom |
//! | [`flow`] | what carries a session: the words of scenarios |
//! | [`pattern`] | payloads that the receiver can check |
//! | [`arrivals`] | the log of a receiver, and its replay through a classifier |
//! | [`truth`] | verdicts against the log of an emulator |
//! | `sending`, `receiving` | the two ends, datagrams and time in, datagrams out (Linux) |
//! | `send`, `recv` | the same on sockets (Linux) |

pub mod arrivals;
pub mod flow;
pub mod pattern;
pub mod truth;
pub mod wire;

#[cfg(target_os = "linux")]
mod guard;
#[cfg(all(test, target_os = "linux"))]
mod hostile_tests;
#[cfg(target_os = "linux")]
mod opening;
#[cfg(target_os = "linux")]
pub mod receiving;
#[cfg(target_os = "linux")]
pub mod recv;
#[cfg(target_os = "linux")]
mod seen;
#[cfg(target_os = "linux")]
pub mod send;
#[cfg(target_os = "linux")]
pub mod sending;
#[cfg(target_os = "linux")]
mod sink;
#[cfg(target_os = "linux")]
mod socket;
#[cfg(target_os = "linux")]
mod source;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a session failed.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The socket.
    #[error("cannot use the socket at {at}: {source}")]
    Socket {
        /// Its own address, or the peer's.
        at: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// UDP-Lite is not there.
    #[error(
        "this kernel has no UDP-Lite ({0}); leave out --udp-lite, and the application checks its section itself"
    )]
    NoUdpLite(#[source] io::Error),
    /// No answer comes.
    #[error("no answer from {peer} within {seconds} s; is `whyloss recv` running there?")]
    NoAnswer {
        /// Who was asked.
        peer: String,
        /// How long.
        seconds: f64,
    },
    /// No receiver listens.
    #[error("no receiver listens at {0}")]
    Refused(String),
    /// The peer has fallen silent.
    #[error("{peer} has been silent for {seconds} s")]
    Silent {
        /// Who.
        peer: String,
        /// How long.
        seconds: f64,
    },
    /// The peer knows nothing of the session.
    #[error("{0} knows nothing of this session: it was restarted, or had given this end up")]
    Unknown(String),
    /// The peer has another session.
    #[error("{0} is busy with another session")]
    Busy(String),
    /// The peer expects another transport.
    #[error("{0} expects another transport: both ends need the same --transport")]
    Carrier(String),
    /// The sender was restarted.
    #[error("the sender began another session: it was restarted")]
    Replaced,
    /// The classifier needs the truth.
    #[error(
        "a classifier that is told the truth works in simulations only: on a real path the truth is not known in time"
    )]
    NeedsTruth,
    /// A source.
    #[error("cannot read {}, which is to be sent: {source}", path.display())]
    Source {
        /// The file, `-` for standard input.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Received data, statistics or arrivals.
    #[error("cannot write {what} to {}: {source}", path.display())]
    Write {
        /// Which.
        what: &'static str,
        /// The file, `-` for standard output.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The peer sent more than the file may hold.
    #[error(
        "{packets} packets lie beyond the first {limit} bytes of the data, and are not in the file; --out-limit allows more"
    )]
    TooLong {
        /// How many.
        packets: u64,
        /// The limit.
        limit: u64,
    },
    /// The log of arrivals is longer than it may be.
    #[error(
        "{arrivals} arrivals are not in the log, which ends at {limit} bytes; --out-limit allows more"
    )]
    Unlogged {
        /// How many.
        arrivals: u64,
        /// The limit.
        limit: u64,
    },
    /// A packet has no room for its headers.
    #[error("a packet of {packet} bytes has no room for {headers} bytes of headers and a payload")]
    Small {
        /// The packet.
        packet: u32,
        /// The headers.
        headers: u32,
    },
    /// Something else than was sent.
    #[error("{0} packets arrived with another payload than was sent")]
    Wrong(u64),
    /// From outside.
    #[error("interrupted")]
    Interrupted,
}
