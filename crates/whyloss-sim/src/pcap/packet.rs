//! A simulated packet as the IPv4 packet it stands for.
//!
//! ```text
//! address      10.0.0.1 for the first node of the scenario, 10.0.0.2 for the second, …
//! port         source 49152 + flow mod 16384, sink 49152 + ⌊flow / 16384⌋: no two flows share both
//! TCP data     bytes of a segment = size − 52 (IPv4, TCP, time stamps)
//!              seq = 1 + sequence · bytes, ack = 1, TSval = stamp
//! TCP ack      seq = 1, ack = 1 + next · bytes, SACK edges likewise, TSval = when it was sent, TSecr = echo
//! IFTP         protocol 253, for experiments (RFC 3692): the 12 bytes of `whyloss::iftp::packet`, checksum over everything
//! UDP payload  big-endian: integers of 64 bits, times in nanoseconds, reals IEEE 754 of 64 bits
//!   on/off     sequence, stamp
//!   TFRC data  sequence, stamp, rtt
//!   feedback   echo, hold, X_recv in bytes/s, p
//! ```
//!
//! Sequence numbers and time stamps of TCP wrap at 2³²; a tick of its clock is a microsecond. The rest of a payload is
//! zeros, not stored, but counted in the checksums. What no simulated packet has is not invented: there is no handshake,
//! data segments echo no stamp (TSecr 0), the window is always 65535.
//!
//! An answer of 40 simulated bytes has no room for these options or fields. It is recorded with the length it would
//! have, that of IFTP, which needs only 32, likewise; every other packet with its size.

use std::io;

use etherparse::{IpNumber, PacketBuilder, TcpOptionElement};
use whyloss::Time;
use whyloss::iftp::packet::{Format, Header, Sum};

use crate::host::tcp::Ack;
use crate::packet::{Packet, Payload};
use crate::scenario::Flow;

/// Bytes stored of a packet: IPv4 and TCP with all options, the longest of all.
pub(super) const SNAP_LENGTH: u32 = 80;

/// The first of the ports that nobody registers (RFC 6335, 6), and how many there are.
const PORTS: (usize, usize) = (49_152, 16_384);

const IPV4_AND_UDP: usize = 20 + 8;
/// With time stamps, which take 12 bytes.
const IPV4_AND_TCP: usize = 20 + 20 + 12;
const IPV4: usize = 20;
/// For experimentation and testing (RFC 3692); IFTP has no number of its own.
const IFTP_NUMBER: u8 = 253;
const TIME_TO_LIVE: u8 = 64;
const WINDOW: u16 = u16::MAX;

/// The two ends of a flow as a capture shows them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    source: ([u8; 4], u16),
    sink: ([u8; 4], u16),
    /// TCP data bytes of a segment; 0 before the first, which goes before any acknowledgement.
    segment: usize,
}

impl Ends {
    /// The ends of flow number `index`.
    pub(super) fn new(index: usize, flow: &Flow) -> Self {
        let port = |offset| (PORTS.0 + offset % PORTS.1) as u16;
        Self {
            source: (address(flow.source), port(index)),
            sink: (address(flow.sink), port(index / PORTS.1)),
            segment: 0,
        }
    }
}

/// The address of a node.
pub(super) fn address(node: usize) -> [u8; 4] {
    (0x0A00_0000 | (node + 1) as u32 & 0x00FF_FFFF).to_be_bytes()
}

/// A packet drawn as bytes; kept for the next one, so that drawing allocates nothing once it is warm.
#[derive(Debug, Default)]
pub(super) struct Image {
    bytes: Vec<u8>,
    payload: Vec<u8>,
    /// Bytes on the wire.
    pub(super) original: u32,
}

impl Image {
    /// The bytes to store.
    pub(super) fn stored(&self) -> &[u8] {
        &self.bytes
    }

    /// Draws a packet of a flow with these ends.
    pub(super) fn draw(&mut self, ends: &mut Ends, packet: &Packet) -> io::Result<()> {
        let size = packet.size.min(u32::from(u16::MAX)) as usize;
        let headers = match &packet.payload {
            Payload::Datagram(sequence) => self.datagram(
                ends.source,
                ends.sink,
                size,
                &[*sequence, packet.sent.as_nanos()],
            )?,
            Payload::TfrcData(data) => {
                let fields = [
                    data.sequence,
                    data.stamp.as_nanos(),
                    data.rtt.as_nanos() as u64,
                ];
                self.datagram(ends.source, ends.sink, size, &fields)?
            }
            Payload::TfrcFeedback(feedback) => {
                let rates = [
                    feedback.receive_rate.to_bits(),
                    feedback.loss_event_rate.to_bits(),
                ];
                let fields = [
                    feedback.echo.as_nanos(),
                    feedback.hold.as_nanos() as u64,
                    rates[0],
                    rates[1],
                ];
                self.datagram(ends.sink, ends.source, size, &fields)?
            }
            Payload::IftpData(data) => {
                let length = size.saturating_sub(IPV4).max(Format::IFTP.data_header());
                self.iftp(ends.source, ends.sink, length, data.sequence, data.stamp)?
            }
            Payload::IftpAck(ack) => {
                let length = Format::IFTP.ack_length();
                self.iftp(ends.sink, ends.source, length, ack.sequence, ack.echo)?
            }
            Payload::Segment(segment) => {
                ends.segment = size.saturating_sub(IPV4_AND_TCP).max(1);
                let sequence = sequence_number(segment.sequence, ends.segment);
                let stamps = TcpOptionElement::Timestamp(ticks(segment.stamp), 0);
                let options = [TcpOptionElement::Noop, TcpOptionElement::Noop, stamps];
                self.payload.clear();
                self.payload.resize(ends.segment, 0);
                self.segment(ends.source, ends.sink, (sequence, 1), &options)?
            }
            Payload::Ack(ack) => self.ack(ends, packet.sent, ack)?,
        };
        let length = self.bytes.len() as u32;
        self.original = match packet.payload {
            Payload::IftpAck(_) => length,
            _ => packet.size.max(length),
        };
        self.bytes.truncate(headers);
        Ok(())
    }

    /// Draws a datagram of `size` bytes, or as many as the fields take, and answers how many are stored.
    fn datagram(
        &mut self,
        from: ([u8; 4], u16),
        to: ([u8; 4], u16),
        size: usize,
        fields: &[u64],
    ) -> io::Result<usize> {
        self.payload.clear();
        for field in fields {
            self.payload.extend_from_slice(&field.to_be_bytes());
        }
        let stored = IPV4_AND_UDP + self.payload.len();
        self.payload.resize(size.max(stored) - IPV4_AND_UDP, 0);
        self.bytes.clear();
        let builder = PacketBuilder::ipv4(from.0, to.0, TIME_TO_LIVE).udp(from.1, to.1);
        builder
            .write(&mut self.bytes, &self.payload)
            .map_err(io::Error::other)?;
        Ok(stored)
    }

    /// Draws an IFTP packet of `length` bytes behind IPv4's header, and answers how many are stored.
    fn iftp(
        &mut self,
        from: ([u8; 4], u16),
        to: ([u8; 4], u16),
        length: usize,
        sequence: u64,
        stamp: Time,
    ) -> io::Result<usize> {
        let header = Header {
            source_port: from.1,
            destination_port: to.1,
            number: sequence as u16,
            stamp: Format::IFTP.stamp(stamp),
        };
        self.payload.clear();
        self.payload.resize(length, 0);
        let pseudo = Sum::ipv4(from.0, to.0, IFTP_NUMBER, length as u16);
        Format::IFTP
            .encode_data(&header, 0, &mut self.payload, pseudo)
            .map_err(io::Error::other)?;
        self.bytes.clear();
        PacketBuilder::ipv4(from.0, to.0, TIME_TO_LIVE)
            .write(&mut self.bytes, IpNumber(IFTP_NUMBER), &self.payload)
            .map_err(io::Error::other)?;
        Ok(IPV4 + Format::IFTP.data_header())
    }

    /// Draws an acknowledgement; all of it is stored.
    fn ack(&mut self, ends: &Ends, sent: Time, ack: &Ack) -> io::Result<usize> {
        use TcpOptionElement::{Noop, SelectiveAcknowledgement, Timestamp};
        let edge = |segment| sequence_number(segment, ends.segment);
        let stamps = Timestamp(ticks(sent), ticks(ack.echo));
        let mut blocks = ack
            .sacked()
            .map(|range| (edge(range.start), edge(range.end)));
        let sack = blocks
            .next()
            .map(|first| SelectiveAcknowledgement(first, [blocks.next(), blocks.next(), None]));
        let options = [Noop, Noop, stamps, Noop, Noop, sack.clone().unwrap_or(Noop)];
        let options = if sack.is_some() {
            &options[..]
        } else {
            &options[..3]
        };
        self.payload.clear();
        self.segment(ends.sink, ends.source, (1, edge(ack.next)), options)
    }

    /// Draws a segment with the payload that is ready, and answers how many bytes of it are headers.
    fn segment(
        &mut self,
        from: ([u8; 4], u16),
        to: ([u8; 4], u16),
        (sequence, ack): (u32, u32),
        options: &[TcpOptionElement],
    ) -> io::Result<usize> {
        self.bytes.clear();
        let builder = PacketBuilder::ipv4(from.0, to.0, TIME_TO_LIVE)
            .tcp(from.1, to.1, sequence, WINDOW)
            .ack(ack)
            .options(options)
            .map_err(io::Error::other)?;
        builder
            .write(&mut self.bytes, &self.payload)
            .map_err(io::Error::other)?;
        Ok(self.bytes.len() - self.payload.len())
    }
}

/// The number of the first byte of a segment, modulo 2³²; the handshake that is not shown took number 0.
fn sequence_number(segment: u64, bytes: usize) -> u32 {
    segment.wrapping_mul(bytes as u64).wrapping_add(1) as u32
}

/// Microseconds, modulo 2³².
fn ticks(stamp: Time) -> u32 {
    (stamp.as_nanos() / 1000) as u32
}
