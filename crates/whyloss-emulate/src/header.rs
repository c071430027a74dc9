//! What a log says of a packet: addresses, ports, and the numbers in its headers.

use std::net::Ipv4Addr;

use etherparse::{IpNumber, Ipv4HeaderSlice, TcpHeaderSlice, UdpHeaderSlice};
use serde::{Deserialize, Serialize};

use crate::endpoint::wire;

/// Who sent an IPv4 packet to whom, and which one it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Headers {
    /// IP's number of what it carries: 6 is TCP, 17 UDP, 136 UDP-Lite, 1 ICMP.
    pub protocol: u8,
    /// The source address.
    pub source: Ipv4Addr,
    /// The destination address.
    pub destination: Ipv4Addr,
    /// The source port, of TCP, UDP and UDP-Lite.
    pub source_port: Option<u16>,
    /// The destination port, likewise.
    pub destination_port: Option<u16>,
    /// The sequence number: TCP's, or that of a data packet of `whyloss send`.
    pub sequence: Option<u32>,
    /// IP's identification.
    pub ip_id: u16,
}

impl Headers {
    /// Reads an IPv4 packet; `None` if it is none.
    pub fn read(packet: &[u8]) -> Option<Self> {
        let ip = Ipv4HeaderSlice::from_slice(packet).ok()?;
        let mut headers = Self {
            protocol: ip.protocol().0,
            source: ip.source_addr(),
            destination: ip.destination_addr(),
            source_port: None,
            destination_port: None,
            sequence: None,
            ip_id: ip.identification(),
        };
        let rest = &packet[ip.slice().len()..];
        // Only the first fragment has ports.
        if ip.fragments_offset().value() > 0 {
            return Some(headers);
        }
        match ip.protocol() {
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

/// Where an IPv4 packet goes; `None` if it is none.
pub fn destination(packet: &[u8]) -> Option<Ipv4Addr> {
    let bytes: [u8; 4] = packet.get(16..20)?.try_into().ok()?;
    (packet[0] >> 4 == 4).then_some(bytes.into())
}

/// Flips these bits of a packet, counted from its first.
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
        assert_eq!(destination(&[0x60; 40]), None);
        assert_eq!(Headers::read(&packet[..30]).unwrap().sequence, None);
        let before = packet.clone();
        flip(&mut packet, &[0, 15, 100_000]);
        assert_eq!((packet[0], packet[1]), (before[0] ^ 0x80, before[1] ^ 1));
    }
}
