//! Reads pcap and pcapng as a stream of frames.
//!
//! An unreadable frame ends a pcap, because the beginning of the next one is unknown. A pcapng
//! skips the frame, because blocks have lengths. If a capture ends early, the packets before its
//! end are a partial result.

use std::io::Read;
use std::time::Duration;

use pcap_file::Endianness;
use pcap_file::pcap::{PcapHeader, PcapParseError, PcapParser, PcapTsResolution};
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionBlock;
use pcap_file::pcapng::blocks::{
    ENHANCED_PACKET_BLOCK, INTERFACE_DESCRIPTION_BLOCK, SECTION_HEADER_BLOCK,
};
use pcap_file::pcapng::{Block, PcapNgParseError, PcapNgParser, PcapNgReadError};

use super::bytes::{BUFFER, Bytes};
use crate::error::Error;

/// The maximum number of interfaces of a section, because each costs memory.
const INTERFACES: usize = 10_000;
/// The maximum number of bytes of all interface descriptions of a section, which stay in memory.
const DESCRIPTIONS: u64 = 4 << 20;

/// A frame of a capture, with its time and link type.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The time of capture, in ns since 1970.
    pub time: u64,
    /// The link type, a number of <https://www.tcpdump.org/linktypes.html>.
    pub link: u32,
    /// The length on the wire, in bytes.
    pub length: u32,
    /// The stored bytes, possibly fewer than `length`.
    pub bytes: &'a [u8],
}

/// Explains why a capture cannot be read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop(pub String);

/// The size in bytes of the file header of a pcap.
const FILE_HEADER: usize = 24;
/// The fault of an input that cannot be read from the start.
const WITHIN_HEADER: &str = "it ends within that header";

/// An open capture file (pcap or pcapng), read frame by frame.
pub struct Capture<R: Read> {
    bytes: Bytes<R>,
    format: Format,
    /// The number of blocks skipped because they cannot be read.
    pub damaged: u64,
    /// The number of packets without a time (simple packet blocks), which are skipped.
    pub untimed: u64,
}

enum Format {
    Pcap(PcapHeader),
    PcapNg(Box<Section>),
}

/// The current section of a pcapng.
struct Section {
    parser: PcapNgParser,
    interfaces: Vec<Interface>,
    /// The bytes of the interface descriptions.
    descriptions: u64,
    /// The number of blocks read, in all sections.
    blocks: u64,
}

/// The link type of an interface, and the length of its clock's tick in ns, if that is a whole
/// number.
struct Interface {
    link: u32,
    tick: Option<u64>,
}

impl Interface {
    fn new(block: &InterfaceDescriptionBlock<'_>) -> Self {
        // The value 9 means 10⁻⁹ s. Values of 128 and above are powers of two.
        let resolution = u32::from(block.ts_resolution().to_u8());
        let tick = 9_u32.checked_sub(resolution).map(|zeros| 10_u64.pow(zeros));
        Self {
            link: u32::from(block.linktype),
            tick: tick.filter(|_| block.ts_offset() == 0),
        }
    }
}

impl<R: Read> Capture<R> {
    pub(super) fn pcap(reader: R) -> Result<Self, Error> {
        let mut bytes = Bytes::new(reader);
        let wrong = |problem| Error::Header {
            kind: "pcap",
            problem,
        };
        let header = loop {
            match PcapParser::new(bytes.rest()) {
                Ok((_, parser)) => break parser.header(),
                Err(PcapParseError::IncompleteBuffer(..)) => {}
                Err(error) => return Err(wrong(error.to_string())),
            }
            if !matches!(bytes.fill(), Ok(true)) {
                return Err(wrong(WITHIN_HEADER.to_owned()));
            }
        };
        bytes.pass(FILE_HEADER);
        Ok(Self::new(bytes, Format::Pcap(header)))
    }

    pub(super) fn pcapng(reader: R) -> Result<Self, Error> {
        let mut bytes = Bytes::new(reader);
        let wrong = |problem| Error::Header {
            kind: "pcapng",
            problem,
        };
        let (length, parser) = loop {
            match PcapNgParser::new(bytes.rest()) {
                Ok((left, parser)) => break (bytes.rest().len() - left.len(), parser),
                Err(PcapNgParseError::IncompleteBuffer(..)) => {}
                Err(error) => return Err(wrong(block(1, error))),
            }
            if !matches!(bytes.fill(), Ok(true)) {
                return Err(wrong(WITHIN_HEADER.to_owned()));
            }
        };
        bytes.pass(length);
        let section = Section {
            parser,
            interfaces: Vec::new(),
            descriptions: 0,
            // Opening the file has read the first block.
            blocks: 1,
        };
        Ok(Self::new(bytes, Format::PcapNg(Box::new(section))))
    }

    fn new(bytes: Bytes<R>, format: Format) -> Self {
        Self {
            bytes,
            format,
            damaged: 0,
            untimed: 0,
        }
    }

    /// Passes the next frame to `take`. Returns false at the end.
    ///
    /// # Errors
    /// Returns an error if the rest cannot be read.
    pub fn next(&mut self, take: impl FnOnce(Frame<'_>)) -> Result<bool, Stop> {
        let section = match &mut self.format {
            Format::Pcap(header) => return next_of_pcap(&mut self.bytes, header, take),
            Format::PcapNg(section) => section,
        };
        loop {
            let (rest, interfaces) = (self.bytes.rest(), &section.interfaces);
            let read = match section.parser.section().endianness {
                Endianness::Little => plain(rest, interfaces, u32::from_le_bytes),
                Endianness::Big => plain(rest, interfaces, u32::from_be_bytes),
            };
            if let Some((frame, length)) = read {
                section.blocks += 1;
                take(frame);
                self.bytes.pass(length);
                return Ok(true);
            }
            if !self.bytes.are_left().map_err(|_| within_packet())? {
                return Ok(false);
            }
            let all = self.bytes.rest();
            let (left, raw) = match section.parser.next_raw_block(all) {
                Ok(read) => read,
                Err(PcapNgParseError::IncompleteBuffer(..)) => {
                    if !matches!(self.bytes.fill(), Ok(true)) {
                        return Err(within_packet());
                    }
                    continue;
                }
                Err(error) => {
                    self.damaged += u64::from(matches!(error, PcapNgParseError::StateUpdate(_)));
                    return Err(Stop(block(section.blocks + 1, error)));
                }
            };
            let length = all.len() - left.len();
            section.blocks += 1;
            let state = section.parser.state();
            match raw.type_ {
                SECTION_HEADER_BLOCK => {
                    section.descriptions = 0;
                    section.interfaces.clear();
                }
                INTERFACE_DESCRIPTION_BLOCK => {
                    section.descriptions += length as u64;
                    section
                        .interfaces
                        .extend(state.interfaces().last().map(Interface::new));
                    section.check()?;
                }
                _ => match raw.try_into_block(state) {
                    Ok(Block::EnhancedPacket(block)) => {
                        let interface = section.interfaces.get(block.interface_id as usize);
                        take(Frame {
                            time: nanos(block.timestamp),
                            link: interface.map_or(u32::MAX, |interface| interface.link),
                            length: block.original_len,
                            bytes: &block.data,
                        });
                        self.bytes.pass(length);
                        return Ok(true);
                    }
                    Ok(Block::SimplePacket(_) | Block::Packet(_)) => self.untimed += 1,
                    Ok(_) => {}
                    // The length of the block is known, but its content is invalid.
                    Err(_) => self.damaged += 1,
                },
            }
            self.bytes.pass(length);
        }
    }
}

impl Section {
    /// Returns an error if the interfaces of this section take too much memory.
    fn check(&self) -> Result<(), Stop> {
        let problem = if self.descriptions > DESCRIPTIONS {
            format!(
                "block {}: the descriptions of its interfaces have more than {} MiB, options included",
                self.blocks,
                DESCRIPTIONS >> 20
            )
        } else if self.interfaces.len() > INTERFACES {
            format!("it has more than {INTERFACES} interfaces")
        } else {
            return Ok(());
        };
        Err(Stop(problem))
    }
}

/// Reads an enhanced packet block without options, the most common one, in place. Also returns the
/// length of the block. Returns `None` for all other, incomplete and damaged blocks, which the
/// library reads.
#[inline]
fn plain<'a>(
    bytes: &'a [u8],
    interfaces: &[Interface],
    double: impl Fn([u8; 4]) -> u32,
) -> Option<(Frame<'a>, usize)> {
    let head = bytes.first_chunk::<28>()?;
    let word = |at: usize| double([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (block, captured, length) = (word(4) as usize, word(20), word(24));
    let without_options = 32 + (captured as usize).checked_next_multiple_of(4)?;
    if word(0) != ENHANCED_PACKET_BLOCK || block != without_options || captured > length {
        return None;
    }
    // The end of a block repeats its length.
    if bytes.get(block - 4..block)? != &head[4..8] {
        return None;
    }
    let interface = interfaces.get(word(8) as usize)?;
    let ticks = u64::from(word(12)) << 32 | u64::from(word(16));
    let frame = Frame {
        time: ticks.checked_mul(interface.tick?)?,
        link: interface.link,
        length,
        bytes: &bytes[28..28 + captured as usize],
    };
    Some((frame, block))
}

fn nanos(since: Duration) -> u64 {
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Describes the fault of block `number`, and its cause.
fn block(number: u64, error: PcapNgParseError) -> String {
    let error = PcapNgReadError::from(error);
    let mut text = format!("block {number}: {error}");
    let mut cause = std::error::Error::source(&error);
    while let Some(deeper) = cause {
        text += ": ";
        text += &deeper.to_string();
        cause = deeper.source();
    }
    text
}

#[inline]
fn next_of_pcap<R: Read>(
    bytes: &mut Bytes<R>,
    header: &PcapHeader,
    take: impl FnOnce(Frame<'_>),
) -> Result<bool, Stop> {
    if !bytes.are_left().map_err(|_| within_packet())? {
        return Ok(false);
    }
    let (frame, length) = loop {
        if let Some(read) = frame(bytes.rest(), header) {
            break read;
        }
        if !matches!(bytes.fill(), Ok(true)) {
            return Err(within_packet());
        }
    };
    take(frame);
    bytes.pass(length);
    Ok(true)
}

/// Reads a frame of a pcap in place. Also returns its length with its header. Returns `None` if the
/// frame is incomplete.
#[inline]
fn frame<'a>(bytes: &'a [u8], header: &PcapHeader) -> Option<(Frame<'a>, usize)> {
    let (head, rest) = bytes.split_first_chunk::<16>()?;
    let word = |at: usize| {
        let bytes = [head[at], head[at + 1], head[at + 2], head[at + 3]];
        match header.endianness {
            Endianness::Little => u32::from_le_bytes(bytes),
            Endianness::Big => u32::from_be_bytes(bytes),
        }
    };
    let bytes = rest.get(..word(8) as usize)?;
    let unit = match header.ts_resolution {
        PcapTsResolution::NanoSecond => 1,
        PcapTsResolution::MicroSecond => 1000,
    };
    // Some real captures have more than a second of such units, or a length that is too short.
    let frame = Frame {
        time: u64::from(word(0)) * 1_000_000_000 + u64::from(word(4)) * unit,
        link: u32::from(header.datalink) & 0xffff,
        length: word(12).max(bytes.len() as u32),
        bytes,
    };
    Some((frame, 16 + bytes.len()))
}

/// Returns the error of an input that ends within a packet.
fn within_packet() -> Stop {
    Stop(format!(
        "it ends within a packet, or has one of more than {BUFFER} bytes"
    ))
}

#[cfg(test)]
mod tests {
    use pcap_file::DataLink;
    use pcap_file::pcapng::PcapNgWriter;
    use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
    use pcap_file::pcapng::blocks::interface_description::{
        InterfaceDescriptionOption, InterfaceTsResolution,
    };

    use super::*;

    /// Returns a capture of ten packets, one per second, of 0 to 9 bytes, each 100 bytes long on
    /// the wire.
    fn capture(
        endianness: Endianness,
        interface: Vec<InterfaceDescriptionOption<'static>>,
        packet: &[EnhancedPacketOption<'static>],
    ) -> Vec<u8> {
        let mut writer = PcapNgWriter::with_endianness(Vec::new(), endianness).expect("memory");
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: 0,
            options: interface,
        };
        writer.write_pcapng_block(interface).expect("memory");
        for number in 0..10_u8 {
            let block = EnhancedPacketBlock {
                interface_id: 0,
                timestamp: Duration::from_secs(1_000 + u64::from(number)),
                original_len: 100,
                data: vec![number; usize::from(number)].into(),
                options: packet.to_vec(),
            };
            writer.write_pcapng_block(block).expect("memory");
        }
        writer.into_inner()
    }

    fn frames(bytes: &[u8]) -> Vec<(u64, u32, u32, Vec<u8>)> {
        let mut capture = Capture::pcapng(bytes).expect("a capture");
        let mut frames = Vec::new();
        while capture
            .next(|frame| {
                frames.push((frame.time, frame.link, frame.length, frame.bytes.to_vec()));
            })
            .expect("no fault")
        {}
        assert_eq!(capture.damaged, 0);
        frames
    }

    /// Blocks without options are read in place if a tick is a whole number of ns, and other blocks
    /// by the library.
    #[test]
    fn blocks_read_in_place_and_by_the_library_are_the_same() {
        let resolution = |is_binary, exponent| {
            let resolution = InterfaceTsResolution::new(is_binary, exponent);
            InterfaceDescriptionOption::IfTsResol(resolution.expect("in range"))
        };
        let expected: Vec<_> = (0..10_u8)
            .map(|number| {
                let time = (1_000 + u64::from(number)) * 1_000_000_000;
                (time, 101, 100, vec![number; usize::from(number)])
            })
            .collect();
        for endianness in [Endianness::Big, Endianness::Little] {
            for packet in [vec![], vec![EnhancedPacketOption::Flags(1)]] {
                for interface in [
                    vec![],
                    vec![resolution(false, 0)],
                    vec![resolution(false, 9)],
                    vec![resolution(true, 20)],
                    vec![InterfaceDescriptionOption::IfTsOffset(7)],
                ] {
                    let bytes = capture(endianness, interface.clone(), &packet);
                    assert_eq!(frames(&bytes), expected, "{endianness:?} {interface:?}");
                }
            }
        }
    }
}
