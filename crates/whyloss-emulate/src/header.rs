//! The headers of a packet in a log: addresses, ports and numbers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use etherparse::{
    IpNumber, Ipv6ExtensionSlice, Ipv6FragmentHeaderSlice, LaxIpSlice, TcpHeaderSlice,
    UdpHeaderSlice,
};
use serde::{Deserialize, Serialize};

use crate::endpoint::wire;

/// The addresses, ports and numbers of an IP packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Headers {
    /// The IP protocol number, after IPv6's extension headers: 6 is TCP, 17 UDP, 136 UDP-Lite, 1
    /// ICMP, 58 ICMPv6.
    pub protocol: u8,
    /// The source address of the IP header.
    pub source: IpAddr,
    /// The destination address of the IP header.
    pub destination: IpAddr,
    /// The source port of TCP, UDP or UDP-Lite; `None` for other protocols, and for fragments after
    /// the first.
    pub source_port: Option<u16>,
    /// The destination port of TCP, UDP or UDP-Lite; `None` for other protocols, and for fragments
    /// after the first.
    pub destination_port: Option<u16>,
    /// The sequence number of TCP, or of a data packet of `whyloss send`; `None` for other packets.
    pub sequence: Option<u32>,
    /// The identification field of the IPv4 header, or of an IPv6 fragment; `None` for other IPv6
    /// packets.
    pub ip_id: Option<u32>,
}

impl Headers {
    /// Returns a hash of addresses, ports and protocol (FNV-1a) that identifies the flow on every
    /// machine.
    pub fn flow(&self) -> u32 {
        let address = |address: IpAddr| match address {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        };
        let ports = [self.source_port, self.destination_port];
        let ports = ports.map(|port| port.unwrap_or(0).to_be_bytes());
        let bytes = address(self.source).into_iter();
        let bytes = bytes.chain(address(self.destination));
        let bytes = bytes.chain(ports.into_iter().flatten());
        bytes
            .chain([self.protocol])
            .fold(0x811c_9dc5, |hash: u32, byte| {
                (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
            })
    }

    /// Reads the headers of an IPv4 or IPv6 packet; `None` if it is neither.
    pub fn read(packet: &[u8]) -> Option<Self> {
        // The parser is lenient, because a capture may have cut the packet short.
        let (ip, _) = LaxIpSlice::from_slice(packet).ok()?;
        // Only the first fragment has ports.
        let (ip_id, is_first) = match &ip {
            LaxIpSlice::Ipv4(ip) => {
                let header = ip.header();
                let offset = header.fragments_offset().value();
                (Some(header.identification().into()), offset == 0)
            }
            LaxIpSlice::Ipv6(ip) => {
                let extensions = ip.extensions().clone().into_iter();
                let fragment = extensions
                    .into_iter()
                    .find_map(|extension| match extension {
                        Ipv6ExtensionSlice::Fragment(fragment) => Some(fragment),
                        _ => None,
                    });
                let offset =
                    |fragment: &Ipv6FragmentHeaderSlice<'_>| fragment.fragment_offset().value();
                let is_first = fragment
                    .as_ref()
                    .is_none_or(|fragment| offset(fragment) == 0);
                (fragment.map(|fragment| fragment.identification()), is_first)
            }
        };
        let (protocol, rest) = (ip.payload().ip_number, ip.payload().payload);
        let mut headers = Self {
            protocol: protocol.0,
            source: ip.source_addr(),
            destination: ip.destination_addr(),
            source_port: None,
            destination_port: None,
            sequence: None,
            ip_id,
        };
        if !is_first {
            return Some(headers);
        }
        match protocol {
            IpNumber::TCP => {
                if let Ok(tcp) = TcpHeaderSlice::from_slice(rest) {
                    headers.source_port = Some(tcp.source_port());
                    headers.destination_port = Some(tcp.destination_port());
                    headers.sequence = Some(tcp.sequence_number());
                }
            }
            // UDP-Lite has its ports in the same place.
            IpNumber::UDP | wire::UDP_LITE => {
                if let Ok(udp) = UdpHeaderSlice::from_slice(rest) {
                    headers.source_port = Some(udp.source_port());
                    headers.destination_port = Some(udp.destination_port());
                    headers.sequence = wire::sequence_of(&rest[udp.slice().len()..]);
                }
            }
            _ => {}
        }
        Some(headers)
    }
}

/// Returns the destination of an IPv4 or IPv6 packet; `None` if it is neither.
pub fn destination(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 => Some(Ipv4Addr::from(*packet.get(16..)?.first_chunk::<4>()?).into()),
        6 => Some(Ipv6Addr::from(*packet.get(24..)?.first_chunk::<16>()?).into()),
        _ => None,
    }
}

/// Flips these bits of a packet, counted from its first bit.
pub fn flip(packet: &mut [u8], bits: &[u32]) {
    for &bit in bits {
        if let Some(byte) = packet.get_mut(bit as usize / 8) {
            *byte ^= 0x80 >> (bit % 8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    #[test]
    fn headers_of_tcp_and_of_nothing() {
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(5, 6, 7, 8);
        let mut packet = Vec::new();
        builder.write(&mut packet, b"payload").unwrap();
        let headers = Headers::read(&packet).unwrap();
        assert_eq!((headers.protocol, headers.sequence), (6, Some(7)));
        assert_eq!(
            (headers.source_port, headers.destination_port),
            (Some(5), Some(6))
        );
        assert_eq!(destination(&packet), Some(headers.destination));
        assert_eq!(Headers::read(&packet[..19]), None);
        assert_eq!(destination(&[0x60; 39]), None);
        assert_eq!(destination(&[0x50; 40]), None);
        assert_eq!(Headers::read(&packet[..30]).unwrap().sequence, None);
        let before = packet.clone();
        flip(&mut packet, &[0, 15, 100_000]);
        assert_eq!((packet[0], packet[1]), (before[0] ^ 0x80, before[1] ^ 1));
    }

    /// A hop-by-hop header, then a fragment header (RFC 8200, section 4.5), then UDP.
    #[test]
    fn fragments_of_ipv6() {
        let fragment = |offset: u16| {
            let mut packet = vec![0x60, 0, 0, 0, 0, 24, 0, 64];
            packet.extend([0xfd; 16]);
            packet.extend([0xfe; 16]);
            packet.extend([44, 0, 1, 4, 0, 0, 0, 0]);
            packet.extend([17, 0]);
            packet.extend((offset << 3 | 1).to_be_bytes());
            packet.extend(0x0102_0304_u32.to_be_bytes());
            packet.extend([0, 5, 0, 6, 0, 8, 0, 0]);
            packet
        };
        let first = Headers::read(&fragment(0)).unwrap();
        assert_eq!((first.protocol, first.ip_id), (17, Some(0x0102_0304)));
        assert_eq!(
            (first.source_port, first.destination_port),
            (Some(5), Some(6))
        );
        assert_eq!(first.destination, IpAddr::from([0xfe; 16]));
        assert_eq!(destination(&fragment(0)), Some(first.destination));
        let later = Headers::read(&fragment(100)).unwrap();
        assert_eq!((later.source_port, later.ip_id), (None, Some(0x0102_0304)));
    }
}
