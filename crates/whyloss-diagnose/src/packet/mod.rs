//! Parses frames into packets of a transport: link layers, IP, fragments, TCP and UDP.
//!
//! Most captures store only the beginning of each packet ("snapped"). Each layer therefore parses
//! the stored bytes, and takes lengths from headers, not from the number of stored bytes.

pub mod bare;
mod fragments;
mod ip;
mod link;
mod segment;

pub(crate) use segment::BLOCKS;
pub use segment::{Flags, Segment};

use std::net::SocketAddr;

use fragments::Fragments;

/// The maximum number of nested layers: tunnels in tunnels.
const DEPTH: usize = 8;

/// A TCP or UDP packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The source address and port.
    pub source: SocketAddr,
    /// The destination address and port.
    pub destination: SocketAddr,
    /// The identification field of IPv4; `None` for IPv6.
    pub ip_id: Option<u16>,
    /// The TCP segment or UDP datagram in the packet.
    pub body: Body<'a>,
}

/// The TCP segment or UDP datagram in a packet.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// A TCP segment.
    Tcp(Segment),
    /// A UDP datagram: the stored part of its payload, and the payload's length on the wire in
    /// bytes.
    Udp(&'a [u8], u32),
}

/// Counts the frames that hold no readable packet, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// The number of frames of an unsupported link layer, network layer or transport.
    pub other: u64,
    /// The number of packets cut so short that their transport header is missing.
    pub short: u64,
    /// The number of packets whose headers contradict themselves.
    pub malformed: u64,
    /// The number of fragments that could not be joined: others are missing from the capture, or
    /// too many others were waiting.
    pub fragments: u64,
}

/// Parses frames and counts those without a readable packet.
#[derive(Debug, Default)]
pub struct Dissector {
    fragments: Fragments,
    skipped: Skipped,
    /// The first unsupported link type.
    unread: Option<u32>,
}

/// Explains why a frame has no readable packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    Other,
    /// The link layer is not supported.
    Link,
    Short,
    Malformed,
    /// A fragment that waits for other fragments.
    Waits,
}

impl Dissector {
    /// Returns the packet in a frame of link type `link` that has `length` bytes on the wire;
    /// `None` if the frame holds no readable packet.
    pub fn packet<'a>(&mut self, link: u32, length: u32, bytes: &'a [u8]) -> Option<Packet<'a>> {
        let ip = link::network(link, bytes);
        if let Ok(ip) = ip
            && let Some(packet) = ip::plain(ip)
        {
            return Some(packet);
        }
        let found = ip.and_then(|ip| {
            let before = (bytes.len() - ip.len()) as u32;
            let length = length.saturating_sub(before);
            ip::transport(&mut self.fragments, ip, length, DEPTH)
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

    /// Returns a note about frames of an unsupported link layer, in one sentence; `None` if there
    /// were none.
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

    /// Returns the counts of frames without a readable packet so far.
    pub fn skipped(&self) -> Skipped {
        Skipped {
            fragments: self.fragments.lost(),
            ..self.skipped
        }
    }
}
