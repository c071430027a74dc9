//! Encodes a simulated packet as the IPv4 packet that it represents.
//!
//! ```text
//! address      10.0.0.1 for the first node of the scenario, 10.0.0.2 for the second, …
//! port         source 49152 + flow mod 16384, sink 49152 + ⌊flow / 16384⌋: no two flows share both
//! TCP data     bytes of a segment = size − 52 (IPv4, TCP, timestamps)
//!              seq = 1 + sequence · bytes, ack = 1, TSval = stamp, TSecr = TSval of the latest acknowledgement by then
//! TCP ack      seq = 1, ack = 1 + next · bytes, SACK edges likewise, TSval = when it was sent, TSecr = echo
//! IFTP         protocol 253, for experiments (RFC 3692): the 12 bytes of `whyloss::iftp::packet`, checksum over everything
//! IFTP-W       like IFTP, with the coverage in place of the length; an acknowledgement has 10 bytes
//! UDP-Lite     protocol 136 (RFC 3828), for UDP flows with a coverage: the coverage where UDP has the length
//! ECN          the field of IPv4's header: ECT(0), or CE if the packet is marked; TCP's ECE and CWR (RFC 3168)
//! UDP payload  big-endian: integers of 64 bits, times in nanoseconds, reals IEEE 754 of 64 bits
//!   on/off     sequence, stamp
//!   TFRC data  sequence, stamp, rtt
//!   feedback   echo, hold, X_recv in bytes/s, p
//! ```
//!
//! Sequence numbers and timestamps of TCP wrap at 2³²; a tick of its clock is a microsecond. The
//! rest of a payload is zeros, not stored, but counted in the checksums. A coverage counts from the
//! beginning of IPv4's header in a scenario. In a packet, it counts from the end of that header and
//! includes at least the transport's header. The coverage of a TCP flow is not recorded. Fields
//! that no simulated packet has are not invented: there is no handshake, and the window is always
//! 65535.
//!
//! An answer of 40 simulated bytes has no room for these options or fields, so it is recorded with
//! its real length. An IFTP answer, which needs only 32 or 30 bytes, also has its real length.
//! Every other packet has its simulated size.

use std::collections::VecDeque;
use std::io;

use etherparse::{IpNumber, PacketBuilder, TcpOptionElement};
use whyloss::Time;
use whyloss::iftp::packet::{Format, Header, PacketError, Sum};
use whyloss_link::Ecn;

use crate::host::tcp::Ack;
use crate::packet::{Packet, Payload};
use crate::scenario::Flow;

/// The maximum number of stored bytes of a packet: IPv4 and TCP with all options.
pub(super) const SNAP_LENGTH: u32 = 80;

/// The first of the unregistered ports (RFC 6335, 6), and how many there are.
const PORTS: (usize, usize) = (49_152, 16_384);

/// The size of IPv4 and TCP headers with timestamps, in bytes.
const IPV4_AND_TCP: usize = 20 + 20 + 12;
const IPV4: usize = 20;
const IPV4_AND_UDP: usize = IPV4 + UDP;
const UDP: usize = 8;
/// The protocol number for experimentation and testing (RFC 3692); IFTP has no assigned number.
const IFTP_NUMBER: u8 = 253;
/// The protocol number of UDP-Lite (RFC 3828).
const UDP_LITE_NUMBER: u8 = 136;
const TIME_TO_LIVE: u8 = 64;
/// The number of acknowledgements of a flow whose stamps are kept for echoes. As many may arrive
/// while a segment is in flight.
const ECHOES: usize = 4096;
const WINDOW: u16 = u16::MAX;

/// An IPv4 address and a port.
type Address = ([u8; 4], u16);

/// The two ends of a flow as a capture shows them.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    source: Address,
    sink: Address,
    /// The covered bytes of a data packet with its IPv4 header; `None` if the flow has no coverage.
    coverage: Option<u32>,
    /// The TCP data bytes of a segment; 0 before the first segment.
    segment: usize,
    /// When acknowledgements reached the source, and their stamps.
    heard: VecDeque<(Time, u32)>,
}

impl Ends {
    /// Returns the ends of flow number `index`.
    pub(super) fn new(index: usize, flow: &Flow) -> Self {
        let port = |offset| (PORTS.0 + offset % PORTS.1) as u16;
        Self {
            source: (address(flow.source), port(index)),
            sink: (address(flow.sink), port(index / PORTS.1)),
            coverage: flow.coverage,
            segment: 0,
            heard: VecDeque::new(),
        }
    }

    /// Records that an acknowledgement that left at `sent` reaches the source at `at`.
    pub(super) fn hears(&mut self, at: Time, sent: Time) {
        if self.heard.len() == ECHOES {
            self.heard.pop_front();
        }
        self.heard.push_back((at, ticks(sent)));
    }

    /// Returns the echo of a segment that left at `sent` (RFC 7323 §4.3); 0 before the first
    /// acknowledgement.
    fn echo(&self, sent: Time) -> u32 {
        let heard = self.heard.partition_point(|&(at, _)| at <= sent);
        heard.checked_sub(1).map_or(0, |last| self.heard[last].1)
    }

    /// Returns the covered bytes of a packet of `length` bytes behind IPv4's header. The first
    /// `header` bytes are always covered.
    fn covered(&self, header: usize, length: usize) -> Option<u16> {
        let covered = (self.coverage? as usize).saturating_sub(IPV4);
        Some(covered.max(header).min(length) as u16)
    }

    /// Returns the layout of an IFTP flow's packets.
    fn format(&self) -> Format {
        Format {
            partial: self.coverage.is_some(),
            ..Format::IFTP
        }
    }
}

/// Returns the address of a node.
pub(super) fn address(node: usize) -> [u8; 4] {
    (0x0A00_0000 | (node + 1) as u32 & 0x00FF_FFFF).to_be_bytes()
}

/// The bytes of a packet. The buffer is reused, so that encoding rarely allocates.
#[derive(Debug, Default)]
pub(super) struct Image {
    bytes: Vec<u8>,
    payload: Vec<u8>,
    /// The size of the packet on the wire, in bytes.
    pub(super) original: u32,
}

impl Image {
    /// Returns the bytes to store.
    pub(super) fn stored(&self) -> &[u8] {
        &self.bytes
    }

    /// Encodes a packet of a flow with these ends.
    pub(super) fn draw(&mut self, ends: &mut Ends, packet: &Packet) -> io::Result<()> {
        let size = packet.size.min(u32::from(u16::MAX)) as usize;
        let headers = match &packet.payload {
            Payload::Datagram(sequence) => {
                self.datagram(ends, true, size, &[*sequence, packet.sent.as_nanos()])?
            }
            Payload::Outside(datagram) => {
                let fields = [datagram.number, packet.sent.as_nanos()];
                self.datagram(ends, !datagram.answer, size, &fields)?
            }
            Payload::TfrcData(data) => {
                let fields = [
                    data.sequence,
                    data.stamp.as_nanos(),
                    data.rtt.as_nanos() as u64,
                ];
                self.datagram(ends, true, size, &fields)?
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
                self.datagram(ends, false, size, &fields)?
            }
            Payload::IftpData(data) => {
                let format = ends.format();
                let length = size.saturating_sub(IPV4).max(format.data_header());
                let coverage = ends.covered(format.data_header(), length).unwrap_or(0);
                let header = iftp_header(ends.source, ends.sink, data.sequence, data.stamp);
                self.iftp(ends.source, ends.sink, length, |packet, pseudo| {
                    format.encode_data(&header, coverage, packet, pseudo)
                })?;
                IPV4 + format.data_header()
            }
            Payload::IftpAck(ack) => {
                let format = ends.format();
                let header = iftp_header(ends.sink, ends.source, ack.sequence, ack.echo);
                self.iftp(
                    ends.sink,
                    ends.source,
                    format.ack_length(),
                    |packet, pseudo| format.encode_ack(&header, packet, pseudo).map(|_| ()),
                )?;
                IPV4 + format.ack_length()
            }
            Payload::Segment(segment) => {
                ends.segment = size.saturating_sub(IPV4_AND_TCP).max(1);
                let sequence = sequence_number(segment.sequence, ends.segment);
                let stamps =
                    TcpOptionElement::Timestamp(ticks(segment.stamp), ends.echo(packet.sent));
                let options = [TcpOptionElement::Noop, TcpOptionElement::Noop, stamps];
                self.payload.clear();
                self.payload.resize(ends.segment, 0);
                let flags = [packet.ecn_flag, false];
                self.segment(ends.source, ends.sink, (sequence, 1), flags, &options)?
            }
            Payload::Ack(ack) => self.ack(ends, packet, ack)?,
        };
        self.set_ecn(packet.ecn);
        let length = self.bytes.len() as u32;
        self.original = match packet.payload {
            Payload::IftpAck(_) => length,
            _ => packet.size.max(length),
        };
        self.bytes.truncate(headers);
        Ok(())
    }

    /// Writes a datagram of `size` bytes, or larger if its fields need more. Returns the number of
    /// stored bytes. With a coverage, datagrams to the sink are UDP-Lite.
    fn datagram(
        &mut self,
        ends: &Ends,
        to_sink: bool,
        size: usize,
        fields: &[u64],
    ) -> io::Result<usize> {
        let (from, to) = if to_sink {
            (ends.source, ends.sink)
        } else {
            (ends.sink, ends.source)
        };
        let stored = IPV4_AND_UDP + 8 * fields.len();
        let length = size.max(stored) - IPV4;
        let coverage = ends.covered(UDP, length).filter(|_| to_sink);
        self.payload.clear();
        if let Some(coverage) = coverage {
            for field in [from.1, to.1, coverage, 0] {
                self.payload.extend_from_slice(&field.to_be_bytes());
            }
        }
        for field in fields {
            self.payload.extend_from_slice(&field.to_be_bytes());
        }
        let builder = PacketBuilder::ipv4(from.0, to.0, TIME_TO_LIVE);
        self.bytes.clear();
        if let Some(coverage) = coverage {
            self.payload.resize(length, 0);
            let sum = Sum::ipv4(from.0, to.0, UDP_LITE_NUMBER, length as u16)
                .with(&self.payload[..usize::from(coverage)]);
            self.payload[6..UDP].copy_from_slice(&sum.checksum().to_be_bytes());
            builder.write(&mut self.bytes, IpNumber(UDP_LITE_NUMBER), &self.payload)
        } else {
            self.payload.resize(length - UDP, 0);
            let builder = builder.udp(from.1, to.1);
            builder.write(&mut self.bytes, &self.payload)
        }
        .map_err(io::Error::other)?;
        Ok(stored)
    }

    /// Encodes an IFTP packet of `length` bytes behind IPv4's header; `encode` writes its header.
    fn iftp(
        &mut self,
        from: Address,
        to: Address,
        length: usize,
        encode: impl FnOnce(&mut [u8], Sum) -> Result<(), PacketError>,
    ) -> io::Result<()> {
        self.payload.clear();
        self.payload.resize(length, 0);
        let pseudo = Sum::ipv4(from.0, to.0, IFTP_NUMBER, length as u16);
        encode(&mut self.payload, pseudo).map_err(io::Error::other)?;
        self.bytes.clear();
        PacketBuilder::ipv4(from.0, to.0, TIME_TO_LIVE)
            .write(&mut self.bytes, IpNumber(IFTP_NUMBER), &self.payload)
            .map_err(io::Error::other)
    }

    /// Encodes an acknowledgement; all of it is stored.
    fn ack(&mut self, ends: &Ends, packet: &Packet, ack: &Ack) -> io::Result<usize> {
        use TcpOptionElement::{Noop, SelectiveAcknowledgement, Timestamp};
        let edge = |segment| sequence_number(segment, ends.segment);
        let stamps = Timestamp(ticks(packet.sent), ticks(ack.echo));
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
        let flags = [false, packet.ecn_flag];
        let numbers = (1, edge(ack.next));
        self.segment(ends.sink, ends.source, numbers, flags, options)
    }

    /// Writes the ECN field of the IPv4 header and updates the checksum (RFC 1624, equation 3).
    fn set_ecn(&mut self, ecn: Ecn) {
        let field = match ecn {
            Ecn::NotCapable => return,
            Ecn::Capable => 0b10,
            Ecn::Marked => 0b11,
        };
        self.bytes[1] |= field;
        let old = !u16::from_be_bytes([self.bytes[10], self.bytes[11]]);
        let (sum, carry) = old.overflowing_add(u16::from(field));
        let checksum = !(sum + u16::from(carry));
        self.bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    }

    /// Writes a segment with the prepared payload. Returns the number of header bytes.
    fn segment(
        &mut self,
        from: Address,
        to: Address,
        (sequence, ack): (u32, u32),
        [cwr, ece]: [bool; 2],
        options: &[TcpOptionElement],
    ) -> io::Result<usize> {
        self.bytes.clear();
        let mut builder = PacketBuilder::ipv4(from.0, to.0, TIME_TO_LIVE)
            .tcp(from.1, to.1, sequence, WINDOW)
            .ack(ack);
        if cwr {
            builder = builder.cwr();
        }
        if ece {
            builder = builder.ece();
        }
        let builder = builder.options(options).map_err(io::Error::other)?;
        builder
            .write(&mut self.bytes, &self.payload)
            .map_err(io::Error::other)?;
        Ok(self.bytes.len() - self.payload.len())
    }
}

fn iftp_header(from: Address, to: Address, sequence: u64, stamp: Time) -> Header {
    Header {
        source_port: from.1,
        destination_port: to.1,
        number: sequence as u16,
        stamp: Format::IFTP.stamp(stamp),
    }
}

/// Returns the number of the first byte of a segment, modulo 2³². Number 0 belongs to the
/// handshake, which is not recorded.
fn sequence_number(segment: u64, bytes: usize) -> u32 {
    segment.wrapping_mul(bytes as u64).wrapping_add(1) as u32
}

/// Returns a timestamp of TCP: microseconds, modulo 2³².
fn ticks(stamp: Time) -> u32 {
    (stamp.as_nanos() / 1000) as u32
}
