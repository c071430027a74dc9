//! From a frame's bytes to what transports are made of: link layers, IP, fragments, TCP and UDP.
//!
//! Captures are cut short more often than not ("snapped"), so each layer takes what is there, and
//! lengths come from headers, not from how much was stored.

pub mod bare;
mod fragments;
mod ip;
mod link;
mod segment;

pub use segment::{Flags, Segment};

use std::net::SocketAddr;

use fragments::Fragments;

/// Layers of one packet that are looked through: tunnels in tunnels.
const DEPTH: usize = 8;

/// A packet of a transport.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Where it comes from.
    pub source: SocketAddr,
    /// Where it goes.
    pub destination: SocketAddr,
    /// IPv4's identification.
    pub ip_id: Option<u16>,
    /// Its contents.
    pub body: Body<'a>,
}

/// The contents of a packet.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// A TCP segment.
    Tcp(Segment),
    /// A UDP datagram: as much of its payload as was stored, and the payload's length on the wire.
    Udp(&'a [u8], u32),
}

/// The frames that were passed over, with their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Frames of a link layer, network layer or transport that is not read here.
    pub other: u64,
    /// Packets cut so short that their transport header is not there.
    pub short: u64,
    /// Packets whose headers contradict themselves.
    pub malformed: u64,
    /// Fragments whose rest was not in the capture, or came when too many others were waiting.
    pub fragments: u64,
}

/// Reads packets out of frames.
#[derive(Debug, Default)]
pub struct Dissector {
    fragments: Fragments,
    skipped: Skipped,
    /// The first link type that is not read here.
    unread: Option<u32>,
}

/// Why a frame holds no packet of a transport that is read here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    Other,
    /// The link layer is not read here.
    Link,
    Short,
    Malformed,
    /// A fragment that waits for the others.
    Waits,
}

impl Dissector {
    /// The transport's packet in a frame of this link type, `length` bytes on the wire, if it has
    /// one.
    pub fn packet<'a>(&mut self, link: u32, length: u32, bytes: &'a [u8]) -> Option<Packet<'a>> {
        let found = link::network(link, bytes).and_then(|ip| {
            let before = (bytes.len() - ip.len()) as u32;
            ip::transport(
                &mut self.fragments,
                ip,
                length.saturating_sub(before),
                DEPTH,
            )
        });
        match found {
            Ok(packet) => return Some(packet),
            Err(Pass::Other) => self.skipped.other += 1,
            Err(Pass::Link) => {
                self.unread.get_or_insert(link);
                self.skipped.other += 1;
            }
            Err(Pass::Short) => self.skipped.short += 1,
            Err(Pass::Malformed) => self.skipped.malformed += 1,
            Err(Pass::Waits) => {}
        }
        None
    }

    /// A sentence about frames whose link layer is not read here, if there were some.
    pub fn unread(&self) -> Option<String> {
        let link = self.unread?;
        let hint = match link {
            105 | 119 | 127 | 163 | 192 => {
                " (Wi-Fi as it is on the air, most often encrypted; capture on the interface that has the address instead)"
            }
            u32::MAX => " (the capture does not describe the interface)",
            _ => " (its number at https://www.tcpdump.org/linktypes.html)",
        };
        Some(format!("frames of link type {link} are not read{hint}"))
    }

    /// Returns the counts of packets passed over so far.
    pub fn skipped(&self) -> Skipped {
        Skipped {
            fragments: self.fragments.lost(),
            ..self.skipped
        }
    }
}
