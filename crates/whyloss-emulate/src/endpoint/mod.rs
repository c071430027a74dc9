//! TFRC and IFTP on real sockets: the state machines of `whyloss`, over UDP or UDP-Lite.
//!
//! | module | contents |
//! |---|---|
//! | [`wire`] | the packets and the protocol |
//! | [`flow`] | transport, classifier and application of a session, in scenario syntax |
//! | [`pattern`] | payloads that the receiver can check |
//! | [`arrivals`] | the log of a receiver, and its replay through a classifier |
//! | [`truth`] | scores verdicts against the log of an emulator |
//! | `sending`, `receiving` | the two ends, with datagrams and time in, datagrams out (Linux) |
//! | `send`, `recv` | the two ends on sockets (Linux) |

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

/// Explains why a session failed.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// A socket failed.
    #[error("cannot use the socket at {at}: {source}")]
    Socket {
        /// The socket's own address, or the peer's address.
        at: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The kernel has no UDP-Lite.
    #[error(
        "this kernel has no UDP-Lite ({0}); leave out --udp-lite, and the application checks its section itself"
    )]
    NoUdpLite(#[source] io::Error),
    /// The peer does not answer.
    #[error("no answer from {peer} within {seconds} s; is `whyloss recv` running there?")]
    NoAnswer {
        /// The address of the peer.
        peer: String,
        /// The time without an answer, in seconds.
        seconds: f64,
    },
    /// No receiver listens at this address.
    #[error("no receiver listens at {0}")]
    Refused(String),
    /// The peer has sent nothing for too long.
    #[error("{peer} has been silent for {seconds} s")]
    Silent {
        /// The address of the peer.
        peer: String,
        /// The time without an answer, in seconds.
        seconds: f64,
    },
    /// The peer does not know the session.
    #[error("{0} does not know this session: it was restarted, or has given up this end")]
    Unknown(String),
    /// The peer is busy with another session.
    #[error("{0} is busy with another session")]
    Busy(String),
    /// The peer expects another transport.
    #[error("{0} expects another transport: both ends need the same --transport")]
    Carrier(String),
    /// The sender was restarted and began another session.
    #[error("the sender began another session: it was restarted")]
    Replaced,
    /// The classifier needs the truth.
    #[error(
        "classifiers that need the truth work only in simulations: on a real path the truth is not known in time"
    )]
    NeedsTruth,
    /// The application is transfers.
    #[error("transfers need a transport that delivers everything, unlike TFRC and IFTP")]
    Transfers,
    /// The source of the data cannot be read.
    #[error("cannot read {}, which is to be sent: {source}", path.display())]
    Source {
        /// The file, `-` for standard input.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Received data, statistics or arrivals cannot be written.
    #[error("cannot write {what} to {}: {source}", path.display())]
    Write {
        /// The kind of output that failed.
        what: &'static str,
        /// The file, `-` for standard output.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The peer sent more than fits in the file.
    #[error(
        "{packets} packets lie beyond the first {limit} bytes of the data, and are not in the file; --out-limit allows more"
    )]
    TooLong {
        /// The number of packets that are missing from the file.
        packets: u64,
        /// The limit on the size of the file, in bytes.
        limit: u64,
    },
    /// The log of arrivals exceeds its size limit.
    #[error(
        "{arrivals} arrivals are not in the log, which ends at {limit} bytes; --out-limit allows more"
    )]
    Unlogged {
        /// The number of arrivals that are missing from the log.
        arrivals: u64,
        /// The limit on the size of the log, in bytes.
        limit: u64,
    },
    /// A packet has no room for its headers.
    #[error("a packet of {packet} bytes has no room for {headers} bytes of headers and a payload")]
    Small {
        /// The size of a packet, in bytes.
        packet: u32,
        /// The size of the headers of a packet, in bytes.
        headers: u32,
    },
    /// This many packets arrived with a payload that differs from what was sent.
    #[error("{0} packets arrived with another payload than was sent")]
    Wrong(u64),
    /// A signal, or the caller, ended the session.
    #[error("interrupted")]
    Interrupted,
}
