//! Parses IPv4 and IPv6 with extension headers, fragments and tunnels, down to TCP and UDP.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use etherparse::{IpNumber, Ipv6ExtensionSlice, LaxIpSlice, ip_number};

use super::fragments::{Fragment, Fragments, Key};
use super::link::{ether_type, word};
use super::{Body, Packet, Pass, Segment};

/// Returns the transport packet in `bytes`, which begin with the IP header of a packet of `wire`
/// bytes.
pub(super) fn transport<'a>(
    fragments: &mut Fragments,
    bytes: &'a [u8],
    wire: u32,
    depth: usize,
) -> Result<Packet<'a>, Pass> {
    let (slice, _) = LaxIpSlice::from_slice(bytes).map_err(|error| match error {
        etherparse::err::ip::LaxHeaderSliceError::Len(_) => Pass::Short,
        etherparse::err::ip::LaxHeaderSliceError::Content(_) => Pass::Malformed,
    })?;
    // Offloading sets the length after the point of capture, so the length of the frame applies.
    let (length, ip_id) = match &slice {
        LaxIpSlice::Ipv4(ip) => {
            let header = ip.header();
            let total = u32::from(header.total_len());
            (
                if total < 20 { wire } else { total },
                Some(header.identification()),
            )
        }
        LaxIpSlice::Ipv6(ip) => match ip.header().payload_length() {
            0 => (wire, None),
            length => (40 + u32::from(length), None),
        },
    };
    let payload = slice.payload();
    let headers = payload.payload.as_ptr() as usize - bytes.as_ptr() as usize;
    let length = length.checked_sub(headers as u32).ok_or(Pass::Malformed)?;
    let ends = (slice.source_addr(), slice.destination_addr());
    let protocol = payload.ip_number;
    let packet = |fragments: &mut Fragments| {
        let bytes = payload.payload;
        upper(protocol.0, bytes, length, ends, ip_id, depth, fragments)
    };
    if !payload.fragmented {
        return packet(fragments);
    }
    let (id, fragment) = fragment(&slice, length).ok_or(Pass::Malformed)?;
    let key = Key {
        ends,
        protocol: protocol.0,
        id,
    };
    let whole = if fragment.offset == 0 {
        let packet = packet(fragments)?;
        match packet.body {
            // The ports are in the first fragment, which waits until the length of the whole is
            // known.
            Body::Tcp(segment) if protocol == ip_number::TCP => {
                let head = length - segment.length;
                let first = (segment, head, packet.source, packet.destination, ip_id);
                fragments.first(key, fragment, first)
            }
            // The first fragment of a datagram represents the datagram, and a tunnelled packet has
            // a separate length.
            _ => return Ok(packet),
        }
    } else if protocol == ip_number::TCP {
        fragments.later(key, fragment)
    } else {
        None
    };
    let (segment, source, destination, ip_id) = whole.ok_or(Pass::Waits)?;
    Ok(Packet {
        source,
        destination,
        ip_id,
        body: Body::Tcp(segment),
    })
}

/// Reads TCP over IPv4 without options or fragments, the most common packet, with the same result
/// as [`transport`]. Returns `None` for all other, truncated or damaged packets.
#[inline]
pub(super) fn plain(bytes: &[u8]) -> Option<Packet<'_>> {
    let header = bytes.first_chunk::<20>()?;
    let double = |at: usize| {
        u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let offset = u16::from_be_bytes([header[6], header[7]]) & 0x3fff;
    if header[0] != 0x45 || header[9] != ip_number::TCP.0 || offset != 0 || total < 40 {
        return None;
    }
    let above = &bytes[20..total.min(bytes.len())];
    let ends = above.first_chunk::<4>()?;
    Some(Packet {
        source: end(double(12), [ends[0], ends[1]]),
        destination: end(double(16), [ends[2], ends[3]]),
        ip_id: Some(u16::from_be_bytes([header[4], header[5]])),
        body: Body::Tcp(Segment::read(above, total as u32 - 20).ok()?),
    })
}

fn end(address: u32, port: [u8; 2]) -> SocketAddr {
    let address = Ipv4Addr::from_bits(address);
    SocketAddr::new(IpAddr::V4(address), u16::from_be_bytes(port))
}

/// Reads the layer above IP, which has `length` bytes on the wire.
fn upper<'a>(
    protocol: u8,
    bytes: &'a [u8],
    length: u32,
    ends: (IpAddr, IpAddr),
    ip_id: Option<u16>,
    depth: usize,
    fragments: &mut Fragments,
) -> Result<Packet<'a>, Pass> {
    let packet = |body| {
        Ok(Packet {
            source: SocketAddr::new(ends.0, word(bytes, 0)?),
            destination: SocketAddr::new(ends.1, word(bytes, 2)?),
            ip_id,
            body,
        })
    };
    let deeper = depth.checked_sub(1).ok_or(Pass::Malformed);
    match IpNumber(protocol) {
        ip_number::TCP => packet(Body::Tcp(Segment::read(bytes, length)?)),
        ip_number::UDP | ip_number::UDP_LITE => {
            let payload = bytes.get(8..).ok_or(Pass::Short)?;
            let length = length.checked_sub(8).ok_or(Pass::Malformed)?;
            packet(Body::Udp(
                &payload[..payload.len().min(length as usize)],
                length,
            ))
        }
        ip_number::IPV4 | ip_number::IPV6 => transport(fragments, bytes, length, deeper?),
        ip_number::GRE => {
            let inner = gre(bytes)?;
            let before = (bytes.len() - inner.len()) as u32;
            let length = length.checked_sub(before).ok_or(Pass::Malformed)?;
            transport(fragments, inner, length, deeper?)
        }
        _ => Err(Pass::Other),
    }
}

/// Returns the payload of GRE (RFC 2784, 2890), if it is IP or an Ethernet frame with IP.
fn gre(bytes: &[u8]) -> Result<&[u8], Pass> {
    let flags = word(bytes, 0)?;
    if flags & 7 != 0 {
        return Err(Pass::Other);
    }
    // The optional fields are the checksum (with a reserved word), the key and the sequence number.
    let optional = 4
        * (usize::from(flags >> 15) + usize::from(flags >> 13 & 1) + usize::from(flags >> 12 & 1));
    let rest = bytes.get(4 + optional..).ok_or(Pass::Short)?;
    match word(bytes, 2)? {
        // Transparent Ethernet bridging.
        0x6558 => super::link::ether(rest, 12),
        kind => ether_type(kind, rest),
    }
}

/// Returns the identification of a fragment, and its range in the whole packet.
fn fragment(slice: &LaxIpSlice<'_>, length: u32) -> Option<(u32, Fragment)> {
    let (id, offset, more) = match slice {
        LaxIpSlice::Ipv4(ip) => {
            let header = ip.header();
            (
                u32::from(header.identification()),
                header.fragments_offset().byte_offset(),
                header.more_fragments(),
            )
        }
        LaxIpSlice::Ipv6(ip) => {
            ip.extensions()
                .clone()
                .into_iter()
                .find_map(|extension| match extension {
                    Ipv6ExtensionSlice::Fragment(header) => Some((
                        header.identification(),
                        header.fragment_offset().byte_offset(),
                        header.more_fragments(),
                    )),
                    _ => None,
                })?
        }
    };
    Some((
        id,
        Fragment {
            offset: u32::from(offset),
            length,
            more,
        },
    ))
}
