//! Builds packets anew from the parsed fields: headers of IP, TCP and UDP, without any copied byte.
//!
//! Link layers, tunnels, most options and payloads are omitted, so an anonymised capture cannot
//! leak them.

use std::io;
use std::net::{IpAddr, SocketAddr};

use etherparse::{
    IpNumber, Ipv4Header, Ipv6Header, TcpHeader, TcpOptionElement, UdpHeader, ip_number,
};

use super::{Body, Packet, Segment};

/// The TTL or hop limit of all rebuilt packets.
const HOPS: u8 = 64;

/// Returns the headers of a packet between these ends, and its length on the wire with the omitted
/// payload.
///
/// # Errors
/// Returns an error if the two addresses are not of one family.
pub fn headers(
    packet: &Packet<'_>,
    source: SocketAddr,
    destination: SocketAddr,
) -> io::Result<(Vec<u8>, u32)> {
    let mut transport = Vec::new();
    let (protocol, payload) = match packet.body {
        Body::Tcp(segment) => {
            tcp(&segment, source, destination)?.write(&mut transport)?;
            (ip_number::TCP, segment.length)
        }
        Body::Udp(_, length) => {
            let header = UdpHeader {
                source_port: source.port(),
                destination_port: destination.port(),
                length: u16::try_from(length.saturating_add(8)).unwrap_or(0),
                checksum: 0,
            };
            header.write(&mut transport)?;
            (ip_number::UDP, length)
        }
    };
    let above = payload.saturating_add(transport.len() as u32);
    let mut bytes = Vec::new();
    ip(
        packet,
        [source.ip(), destination.ip()],
        protocol,
        above,
        &mut bytes,
    )?;
    let length = above.saturating_add(bytes.len() as u32);
    bytes.append(&mut transport);
    Ok((bytes, length))
}

fn ip(
    packet: &Packet<'_>,
    ends: [IpAddr; 2],
    protocol: IpNumber,
    above: u32,
    bytes: &mut Vec<u8>,
) -> io::Result<()> {
    match ends {
        [IpAddr::V4(source), IpAddr::V4(destination)] => {
            // Offloading merged a packet that is longer than IP's length field can tell, so the
            // field is 0.
            let length = u16::try_from(above.saturating_add(20)).unwrap_or(0);
            let mut header = Ipv4Header {
                total_len: length,
                identification: packet.ip_id.unwrap_or(0),
                time_to_live: HOPS,
                protocol,
                source: source.octets(),
                destination: destination.octets(),
                ..Ipv4Header::default()
            };
            header.header_checksum = header.calc_header_checksum();
            header.write_raw(bytes)
        }
        [IpAddr::V6(source), IpAddr::V6(destination)] => Ipv6Header {
            payload_length: u16::try_from(above).unwrap_or(0),
            next_header: protocol,
            hop_limit: HOPS,
            source: source.octets(),
            destination: destination.octets(),
            ..Ipv6Header::default()
        }
        .write(bytes),
        _ => Err(io::Error::other("its ends are of two families")),
    }
}

fn tcp(segment: &Segment, source: SocketAddr, destination: SocketAddr) -> io::Result<TcpHeader> {
    let mut header = TcpHeader::new(
        source.port(),
        destination.port(),
        segment.sequence,
        segment.window,
    );
    header.acknowledgment_number = segment.acknowledgement;
    let flags = segment.flags;
    (header.syn, header.ack, header.fin, header.rst) = (flags.syn, flags.ack, flags.fin, flags.rst);
    let mut options = Vec::new();
    options.extend(segment.mss.map(TcpOptionElement::MaximumSegmentSize));
    options.extend(segment.scale.map(TcpOptionElement::WindowScale));
    if segment.sack_permitted {
        options.push(TcpOptionElement::SelectiveAcknowledgementPermitted);
    }
    if let Some((value, echo)) = segment.stamps {
        options.push(TcpOptionElement::Timestamp(value, echo));
    }
    if let [first, rest @ ..] = segment.sacked() {
        let mut others = [None; 3];
        for (other, &block) in others.iter_mut().zip(rest) {
            *other = Some(block);
        }
        options.push(TcpOptionElement::SelectiveAcknowledgement(*first, others));
    }
    header.set_options(&options).map_err(io::Error::other)?;
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Dissector, Flags};

    #[test]
    fn what_tells_of_losses_is_read_again_as_it_was() {
        let segment = Segment {
            sequence: 7,
            acknowledgement: 8,
            length: 1448,
            flags: Flags {
                ack: true,
                ..Flags::default()
            },
            window: 99,
            stamps: Some((5, 6)),
            sack: [(20, 30), (40, 50), (0, 0), (0, 0)],
            blocks: 2,
            ..Segment::default()
        };
        for (source, destination) in [
            ("192.0.2.1:80", "198.51.100.2:4000"),
            ("[2001:db8::1]:80", "[2001:db8::2]:4000"),
        ] {
            let [source, destination] =
                [source, destination].map(|text| text.parse::<SocketAddr>().expect("an address"));
            let packet = Packet {
                source,
                destination,
                ip_id: source.is_ipv4().then_some(77),
                body: Body::Tcp(segment),
            };
            let (bytes, length) = headers(&packet, source, destination).expect("headers");
            assert_eq!(length as usize, bytes.len() + 1448);
            let mut dissector = Dissector::default();
            let again = dissector.packet(101, length, &bytes).expect("a packet");
            let Body::Tcp(read) = again.body else {
                panic!("{again:?}")
            };
            assert_eq!((again.source, again.ip_id), (source, packet.ip_id));
            assert_eq!(read, segment);
        }
    }
}
