//! Segments of several packets, which a host sends and receives as one (TSO, USO, GRO).
//!
//! Each read from a TUN device, and each write, begins with a description of the segment (`struct
//! virtio_net_hdr`; Virtio 1.2, section 5.1.6). [`Segments`] splits a segment into the packets of
//! the wire, as a network card does. [`Joined`] does the reverse, for packets that leave at the
//! same time.

use std::iter::Peekable;
use std::slice::Chunks;

use etherparse::checksum::Sum16BitWords;

/// The size of the description, in bytes.
pub(crate) const DESCRIPTION: usize = 10;
/// The size of the largest segment with its description, in bytes.
pub(crate) const LARGEST: usize = DESCRIPTION + IPV6 + u16::MAX as usize;

/// The flag of a segment whose checksum field has the sum of the pseudo-header only.
const NEEDS_CHECKSUM: u8 = 1;
// The kinds of segments; 0 is a single packet.
const TCP_OVER_IPV4: u8 = 1;
const TCP_OVER_IPV6: u8 = 4;
const UDP: u8 = 5;

// The sizes of headers without options, in bytes.
const IPV4: usize = 20;
const IPV6: usize = 40;
const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
/// The maximum size of the headers of a packet that can be joined: IPv6 and TCP with all options.
const MOST_HEADERS: usize = 100;

// TCP flags: FIN and PSH, which only the last packet of a segment may have, ACK for all, and CWR
// for the first.
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const CWR: u8 = 0x80;

/// The packets of a segment, in order.
#[derive(Debug)]
pub(crate) struct Segments<'a> {
    kind: u8,
    /// The headers of each packet; empty for a single packet, which is all payload.
    headers: &'a [u8],
    payloads: Peekable<Chunks<'a, u8>>,
    /// The positions of the header of TCP or UDP and of its checksum, if the checksum is missing.
    checksum: Option<(usize, usize)>,
    /// The size of the complete segment, in bytes.
    whole: usize,
    /// The number of packets and of payload bytes before the next packet.
    before: (u16, u32),
}

impl<'a> Segments<'a> {
    /// Reads a segment with its description; `None` if it is incomplete.
    pub(crate) fn read(segment: &'a [u8]) -> Option<Self> {
        let (description, packet) = segment.split_at_checked(DESCRIPTION)?;
        let field = |at: usize| u16::from_ne_bytes([description[at], description[at + 1]]).into();
        let (flags, kind) = (description[0], description[1]);
        let (size, start, offset): (usize, usize, usize) = (field(4), field(6), field(8));
        let checksum = (flags & NEEDS_CHECKSUM != 0).then_some((start, start + offset));
        let (length, size) = match kind {
            0 => (0, packet.len()),
            _ => (headers(packet, start, kind)?, size),
        };
        let (headers, payload) = packet.split_at_checked(length)?;
        let with_field = if kind == 0 { packet } else { headers };
        with_field.get(checksum.map_or(0, |(_, field)| field + 1))?;
        Some(Self {
            kind,
            headers,
            payloads: payload.chunks(size.max(1)).peekable(),
            checksum,
            whole: packet.len(),
            before: (0, 0),
        })
    }

    /// Returns where the header of TCP or UDP begins in each packet; 0 if the host computed the
    /// checksum itself, which may be wrong.
    pub(crate) fn start(&self) -> usize {
        self.checksum.map_or(0, |(start, _)| start)
    }

    /// Writes the next packet into `packet`. Returns false if there is none.
    pub(crate) fn next_into(&mut self, packet: &mut Vec<u8>) -> bool {
        packet.clear();
        let Some(payload) = self.payloads.next() else {
            return false;
        };
        packet.extend_from_slice(self.headers);
        packet.extend_from_slice(payload);
        let Some((start, field)) = self.checksum else {
            return true;
        };
        let mut sum = Sum16BitWords::new();
        if self.kind != 0 {
            self.number(packet, start);
            // The sum of the pseudo-header has the length of the whole segment.
            sum = sum.add_2bytes((!((self.whole - start) as u16)).to_be_bytes());
            sum = sum.add_2bytes(((packet.len() - start) as u16).to_be_bytes());
            self.before.0 += 1;
            self.before.1 += payload.len() as u32;
        }
        let sum = sum.add_slice(&packet[start..]);
        put(
            packet,
            field,
            sum.to_ones_complement_with_no_zero().to_ne_bytes(),
        );
        true
    }

    /// Sets the fields in which packets differ.
    fn number(&mut self, packet: &mut [u8], start: usize) {
        let (packets, bytes) = self.before;
        if self.kind != UDP {
            add(packet, start + 4, bytes);
            let only_last = if self.payloads.peek().is_some() {
                FIN | PSH
            } else {
                0
            };
            let only_first = if packets > 0 { CWR } else { 0 };
            packet[start + 13] &= !(only_last | only_first);
        }
        if packet[0] >> 4 == 4 {
            let id = u16::from_be_bytes([packet[4], packet[5]]).wrapping_add(packets);
            put(packet, 4, id.to_be_bytes());
        }
        set_lengths(packet, start, self.kind, packet.len());
    }
}

/// Packets that leave as one segment.
#[derive(Debug)]
pub(crate) struct Joined {
    /// The number of packets.
    pub(crate) packets: usize,
    /// The description and the headers of the segment; the payloads of the packets follow.
    pub(crate) head: Vec<u8>,
    /// The size of the headers of each packet, in bytes.
    pub(crate) headers: usize,
}

impl Joined {
    /// Joins as many of the first packets as one segment of their sender could have. In each
    /// packet, the header of TCP or UDP begins at `start`, and its checksum is right.
    pub(crate) fn of<'a>(
        packets: impl IntoIterator<Item = &'a [u8]>,
        start: usize,
    ) -> Option<Self> {
        let mut packets = packets.into_iter();
        let first = packets.next()?;
        let kind = match (start, first.get(if start == IPV4 { 9 } else { 6 })?) {
            (IPV4, 6) => TCP_OVER_IPV4,
            (IPV6, 6) => TCP_OVER_IPV6,
            (IPV4 | IPV6, 17) => UDP,
            _ => return None,
        };
        let headers = headers(first, start, kind)?;
        let mut expected = shared(first, start, kind)?;
        let size = first.len().checked_sub(headers)?;
        let (mut count, mut whole, mut last) = (1, first.len(), first);
        for next in packets {
            let payload = next.len().saturating_sub(headers);
            // Only the last packet may be shorter, or have PSH.
            let is_full = last.len() == first.len() && (kind == UDP || last[start + 13] == ACK);
            if kind != UDP {
                add(&mut expected, start + 4, size as u32);
            }
            if !is_full
                || !(1..=size).contains(&payload)
                || whole + payload > u16::MAX.into()
                || shared(next, start, kind) != Some(expected)
            {
                break;
            }
            (count, whole, last) = (count + 1, whole + payload, next);
        }
        if count == 1 {
            return None;
        }
        let offset = if kind == UDP { 6 } else { 16 };
        let mut head = vec![NEEDS_CHECKSUM, kind];
        for field in [headers, size, start, offset] {
            head.extend_from_slice(&(field as u16).to_ne_bytes());
        }
        head.extend_from_slice(&first[..headers]);
        let segment = &mut head[DESCRIPTION..];
        if kind != UDP {
            segment[start + 13] |= last[start + 13];
        }
        set_lengths(segment, start, kind, whole);
        let addresses = if start == IPV4 { 12..20 } else { 8..40 };
        let protocol = if kind == UDP { 17 } else { 6 };
        let sum = Sum16BitWords::new()
            .add_slice(&segment[addresses])
            .add_2bytes([0, protocol])
            .add_2bytes(((whole - start) as u16).to_be_bytes());
        put(
            segment,
            start + offset,
            (!sum.ones_complement()).to_ne_bytes(),
        );
        Some(Self {
            packets: count,
            head,
            headers,
        })
    }

    /// Returns whether the packets are of UDP.
    pub(crate) fn is_udp(&self) -> bool {
        self.head[1] == UDP
    }
}

/// Returns the size of a packet's headers, if the header of TCP or UDP can begin at `start`; `None`
/// if it cannot.
fn headers(packet: &[u8], start: usize, kind: u8) -> Option<usize> {
    let ip = match packet.first()? >> 4 {
        4 => usize::from(packet[0] & 15) * 4,
        _ => IPV6,
    };
    let size = match kind {
        UDP => UDP_HEADER,
        _ => usize::from(packet.get(start + 12)? >> 4) * 4,
    };
    let is_possible = (IPV4..=start).contains(&ip) && (kind == UDP || size >= TCP_HEADER);
    is_possible.then_some(start + size)
}

/// Returns the headers of a packet, without fields that may differ in a segment; `None` if the
/// packet cannot be part of a segment.
fn shared(packet: &[u8], start: usize, kind: u8) -> Option<[u8; MOST_HEADERS]> {
    let mut shared = [0; MOST_HEADERS];
    let headers = packet.get(..headers(packet, start, kind)?)?;
    shared.get_mut(..headers.len())?.copy_from_slice(headers);
    if start == IPV4 {
        // Without DF, the identification of each packet matters.
        if packet[0] != 0x45 || packet[6..8] != [0x40, 0] {
            return None;
        }
        shared[2..6].fill(0);
        shared[10..12].fill(0);
    } else {
        shared[4..6].fill(0);
    }
    if kind == UDP {
        shared[start + 4..start + 8].fill(0);
    } else {
        shared[start + 13] &= !PSH;
        shared[start + 16..start + 18].fill(0);
        if shared[start + 13] != ACK {
            return None;
        }
    }
    Some(shared)
}

/// Sets the lengths in the headers of a packet of this size, and IPv4's checksum.
fn set_lengths(headers: &mut [u8], start: usize, kind: u8, size: usize) {
    let length = |before: usize| ((size - before) as u16).to_be_bytes();
    if headers[0] >> 4 == 4 {
        put(headers, 2, length(0));
        put(headers, 10, [0; 2]);
        let options = usize::from(headers[0] & 15) * 4;
        let sum = Sum16BitWords::new().add_slice(&headers[..options]);
        put(headers, 10, sum.ones_complement().to_ne_bytes());
    } else {
        put(headers, 4, length(IPV6));
    }
    if kind == UDP {
        put(headers, start + 4, length(start));
    }
}

fn put<const N: usize>(packet: &mut [u8], at: usize, field: [u8; N]) {
    packet[at..at + N].copy_from_slice(&field);
}

/// Adds to a field of 32 bits.
fn add(packet: &mut [u8], at: usize, bytes: u32) {
    let field = [packet[at], packet[at + 1], packet[at + 2], packet[at + 3]];
    put(
        packet,
        at,
        u32::from_be_bytes(field).wrapping_add(bytes).to_be_bytes(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{IpHeaders, Ipv4Extensions, Ipv4Header, PacketBuilder};

    const SIZE: usize = 1_000;

    /// Returns the packets into which a segment is split.
    fn split(segment: &[u8]) -> Vec<Vec<u8>> {
        let mut segments = Segments::read(segment).expect("a whole segment");
        let next = || {
            let mut packet = Vec::new();
            segments.next_into(&mut packet).then_some(packet)
        };
        std::iter::from_fn(next).collect()
    }

    /// Returns packet `index` of a segment with the payload 0, 1, 2, … of `total` bytes.
    fn packet(kind: u8, index: usize, total: usize) -> Vec<u8> {
        let payload: Vec<u8> = (0..total).map(|at| (at / 7) as u8).collect();
        let from = index * SIZE;
        let to = (from + SIZE).min(total);
        let mut packet = Vec::new();
        let ip = match kind {
            TCP_OVER_IPV6 => PacketBuilder::ipv6([0xfd; 16], [0xfe; 16], 64),
            _ => PacketBuilder::ip(IpHeaders::Ipv4(
                Ipv4Header {
                    identification: 0xffff_u16.wrapping_add(index as u16),
                    dont_fragment: true,
                    time_to_live: 64,
                    source: [10, 0, 0, 1],
                    destination: [10, 0, 0, 2],
                    ..Default::default()
                },
                Ipv4Extensions::default(),
            )),
        };
        if kind == UDP {
            ip.udp(5, 6).write(&mut packet, &payload[from..to]).unwrap();
        } else {
            let mut tcp = ip.tcp(5, 6, u32::MAX.wrapping_add(from as u32), 7).ack(8);
            if to == total {
                tcp = tcp.psh();
            }
            tcp.write(&mut packet, &payload[from..to]).unwrap();
        }
        packet
    }

    /// A host's segment becomes the packets that the host would send without offloads, and these
    /// become the segment again.
    #[test]
    fn split_and_joined() {
        for (kind, start) in [(TCP_OVER_IPV4, 20), (TCP_OVER_IPV6, 40), (UDP, 20)] {
            for total in [2_500_usize, 3_000, 60_000] {
                let count = total.div_ceil(SIZE);
                let packets: Vec<_> = (0..count).map(|index| packet(kind, index, total)).collect();
                let slices = || packets.iter().map(Vec::as_slice);
                let joined = Joined::of(slices(), start).expect("a segment");
                assert_eq!((joined.packets, joined.is_udp()), (count, kind == UDP));
                let mut segment = joined.head.clone();
                slices().for_each(|packet| segment.extend(&packet[joined.headers..]));
                assert_eq!(Segments::read(&segment).unwrap().start(), start);
                assert!(split(&segment) == packets, "{kind} {total}");
            }
        }
    }

    #[test]
    fn packets_that_no_segment_has() {
        let total = 5 * SIZE;
        let joins = |change: &dyn Fn(&mut [Vec<u8>])| {
            let mut packets: Vec<_> = (0..5)
                .map(|index| packet(TCP_OVER_IPV4, index, total))
                .collect();
            change(&mut packets);
            Joined::of(packets.iter().map(Vec::as_slice), 20).map_or(1, |joined| joined.packets)
        };
        assert_eq!(joins(&|_| ()), 5);
        // A packet is missing, pushes, ends the flow, or has another size.
        assert_eq!(joins(&|packets| packets.swap(2, 3)), 2);
        assert_eq!(joins(&|packets| packets[1][33] |= PSH), 2);
        assert_eq!(joins(&|packets| packets[1][33] |= FIN), 1);
        assert_eq!(joins(&|packets| packets[3][32] += 0x10), 3);
        assert_eq!(joins(&|packets| packets[0].truncate(30)), 1);
        assert_eq!(joins(&|packets| packets[1].truncate(900)), 2);
        assert_eq!(joins(&|packets| packets[1].truncate(40)), 1);
        assert_eq!(joins(&|packets| packets[0][6] = 0), 1);
        let packets = [packet(UDP, 0, total), packet(TCP_OVER_IPV4, 1, total)];
        assert!(Joined::of(packets.iter().map(Vec::as_slice), 20).is_none());
        assert!(Joined::of(packets.iter().map(Vec::as_slice), 0).is_none());
    }

    /// Truncated or damaged segments cause no panic.
    #[test]
    fn hostile_segments() {
        let packets: Vec<_> = (0..3)
            .map(|index| packet(TCP_OVER_IPV4, index, 3_000))
            .collect();
        let joined = Joined::of(packets.iter().map(Vec::as_slice), 20).unwrap();
        let segment = [&joined.head[..], &packets[0][40..], &packets[1][40..]].concat();
        for length in 0..segment.len() {
            if let Some(mut segments) = Segments::read(&segment[..length]) {
                while segments.next_into(&mut Vec::new()) {}
            }
        }
        for at in 0..60 {
            for value in 0..=u8::MAX {
                let mut segment = segment.clone();
                segment[at] = value;
                if let Some(mut segments) = Segments::read(&segment) {
                    while segments.next_into(&mut Vec::new()) {}
                }
            }
        }
    }
}
