//! IFTP, IFTP-W, IFTPV and IFTPV-W: rate-based streaming as friendly as TCP Reno.
//!
//! ElAarag, Moedinger & Hogg, "TCP friendly protocols for media streams over heterogeneous
//! wired–wireless networks", Computer Communications 31, 2008. Section 4 has IFTP, section 7
//! IFTP-W, and section 10.2 IFTPV. Section 11 suggests IFTPV-W, but does not try it.
//!
//! A sender spaces its packets by a gap that emulates Reno's window. The receiver acknowledges each
//! packet by its number, and the sender retransmits none. Two choices make four protocols:
//!
//! | | checksum over everything | checksum over a section |
//! |---|---|---|
//! | every loss is congestion | IFTP | IFTP-W |
//! | a classifier finds the causes | IFTPV | IFTPV-W |
//!
//! The section affects only the wire format and the host that drops damaged packets. The classifier
//! receives the sender's events and returns a [`Reaction`]. All four protocols therefore share
//! their state machines.
//!
//! | item | contents |
//! |---|---|
//! | [`Sender`] | n, gap, window, loss, timeout (equations 1–3) |
//! | [`Receiver`] | one acknowledgement for each packet |
//! | [`packet`] | Figs. 6 and 7 as bytes, with their checksum |
//! | [`Options`] | constants of section 5.2, and choices that the paper leaves open |
//! | [`Advice`], [`Reaction`] | the use of any sender classifier in IFTPV's place |
//!
//! # Contract
//!
//! Both ends are sans-I/O. After every [`Sender::on_ack`] and [`Sender::on_timeout`], and once at
//! the start, call [`Sender::poll_transmit`] until it returns `None`. [`Sender::next_timeout`]
//! returns when to call `on_timeout` and poll again; [`Time::MAX`] means to wait for an
//! acknowledgement. Early calls do nothing. The sender has data unless its host reports otherwise
//! ([`Sender::set_has_data`]). No input from a peer can cause a panic or unbounded work.

mod advice;
mod checksum;
mod options;
pub mod packet;
mod sender;

pub use advice::{Advice, Judge, Reaction};
pub use options::{MOST_PACKETS, Options, WindowMode};
pub use sender::{Phase, Sender};

use crate::Time;

/// The fields of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// The packet number, which increases by one with each packet.
    pub sequence: u64,
    /// The time of sending, on the sender's clock.
    pub stamp: Time,
}

/// The fields of an acknowledgement, both copied from the packet that it answers (section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The sequence number of the acknowledged packet.
    pub sequence: u64,
    /// The timestamp of the acknowledged packet.
    pub echo: Time,
}

/// The receiving end: one acknowledgement for each packet whose covered part arrives undamaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receiver;

impl Receiver {
    /// Returns the acknowledgement to send immediately.
    #[inline]
    pub fn on_data(self, data: &Data) -> Ack {
        Ack {
            sequence: data.sequence,
            echo: data.stamp,
        }
    }
}

#[cfg(test)]
mod tests;
