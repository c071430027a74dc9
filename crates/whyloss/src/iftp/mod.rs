//! IFTP, IFTP-W, IFTPV and IFTPV-W: rate-based streaming as friendly as TCP Reno.
//!
//! ElAarag, Moedinger & Hogg, "TCP friendly protocols for media streams over heterogeneous
//! wired–wireless networks", Computer Communications 31, 2008: section 4 (IFTP), 7 (IFTP-W), 10.2
//! (IFTPV), 11 (both together, which it suggests and does not try).
//!
//! A sender spaces its packets by a gap that emulates Reno's window; every packet is acknowledged
//! by its number, none is retransmitted. The protocols are combinations of two choices:
//!
//! | | checksum over everything | checksum over a section |
//! |---|---|---|
//! | every loss is congestion | IFTP | IFTP-W |
//! | a classifier tells losses apart | IFTPV | IFTPV-W |
//!
//! The section is the business of the wire format and of whoever drops damaged packets; the
//! classifier is told of events by the sender, and answers with a [`Reaction`]. So the state
//! machines are the same four times.
//!
//! | file | what |
//! |---|---|
//! | [`Sender`] | n, gap, window, loss, timeout (equations 1–3) |
//! | [`Receiver`] | one acknowledgement for each packet |
//! | [`packet`] | Figs. 6 and 7 as bytes, with their checksum |
//! | [`Options`] | constants of section 5.2, and what the paper leaves open |
//! | [`Advice`], [`Reaction`] | any sender classifier as IFTPV's |
//!
//! # Contract
//!
//! Both ends are sans-I/O. After every [`Sender::on_ack`] and [`Sender::on_timeout`], and once at
//! the start, call [`Sender::poll_transmit`] until it answers `None`; [`Sender::next_timeout`] says
//! when to call `on_timeout` and poll again, [`Time::MAX`] that only an acknowledgement can help.
//! Calls that come too early do nothing. The sender has data until its host says otherwise
//! ([`Sender::set_has_data`]). Nothing a peer sends can panic or take unbounded time.

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
    /// Packet number: one more with each packet.
    pub sequence: u64,
    /// When it was sent, on the sender's clock.
    pub stamp: Time,
}

/// The fields of an acknowledgement, both copied from the packet that it answers (section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The packet's number.
    pub sequence: u64,
    /// The packet's time stamp.
    pub echo: Time,
}

/// The receiving end: one acknowledgement for each packet that arrives undamaged where it is
/// sensitive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receiver;

impl Receiver {
    /// The acknowledgement to send at once.
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
