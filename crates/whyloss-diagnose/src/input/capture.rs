//! pcap and pcapng as a stream of frames.
//!
//! A frame that cannot be read ends a pcap (nothing says where the next one begins) and is passed
//! over in a pcapng (blocks have lengths). If a capture ends early, the packets before its end are
//! a partial result.

use std::io::Read;
use std::time::Duration;

use pcap_file::Endianness;
use pcap_file::pcap::{PcapReadError, PcapReader};
use pcap_file::pcapng::blocks::{
    ENHANCED_PACKET_BLOCK, INTERFACE_DESCRIPTION_BLOCK, SECTION_HEADER_BLOCK,
};
use pcap_file::pcapng::{Block, PcapNgReadError, PcapNgReader, PcapNgState, RawBlock};

use crate::error::Error;

/// The longest block or frame in bytes. A reader keeps only a buffer of this size.
const BUFFER: usize = 1 << 20;
/// The number of bytes read at a time. These and the packets made from them fit into a core's own
/// cache.
const BITE: usize = 1 << 16;
/// The number of interfaces of a section beyond which reading stops, because each costs memory.
const INTERFACES: usize = 10_000;
/// The bytes of all interface descriptions of a section, which are kept with their options.
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

/// An open capture file (pcap or pcapng), read frame by frame.
pub struct Capture<R: Read> {
    reader: Reader<R>,
    /// The number of blocks skipped because they cannot be read.
    pub damaged: u64,
    /// The number of packets without a time (simple packet blocks), which are skipped.
    pub untimed: u64,
    /// The bytes of this section's interface descriptions.
    descriptions: u64,
    /// The number of blocks read of a pcapng.
    blocks: u64,
}

enum Reader<R: Read> {
    Pcap(PcapReader<Bites<R>>),
    PcapNg(Box<PcapNgReader<Bites<R>>>),
}

/// Reads a few bytes at a time.
struct Bites<R>(R);

impl<R: Read> Read for Bites<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let many = buffer.len().min(BITE);
        self.0.read(&mut buffer[..many])
    }
}

impl<R: Read> Capture<R> {
    pub(super) fn pcap(reader: R) -> Result<Self, Error> {
        let reader =
            PcapReader::with_capacity(Bites(reader), BUFFER).map_err(|error| Error::Header {
                kind: "pcap",
                problem: at_start(&error.to_string(), matches!(error, PcapReadError::Io(_))),
            })?;
        Ok(Self::new(Reader::Pcap(reader)))
    }

    pub(super) fn pcapng(reader: R) -> Result<Self, Error> {
        let reader =
            PcapNgReader::with_capacity(Bites(reader), BUFFER).map_err(|error| Error::Header {
                kind: "pcapng",
                problem: match error {
                    PcapNgReadError::Io(_) => at_start("", true),
                    _ => block(1, &error),
                },
            })?;
        Ok(Self::new(Reader::PcapNg(Box::new(reader))))
    }

    fn new(reader: Reader<R>) -> Self {
        Self {
            reader,
            damaged: 0,
            untimed: 0,
            descriptions: 0,
            // Its opening has read the first.
            blocks: 1,
        }
    }

    /// Passes the next frame to `take`. Returns false at the end.
    ///
    /// # Errors
    /// Returns an error if the rest cannot be read.
    pub fn next(&mut self, take: impl FnOnce(Frame<'_>)) -> Result<bool, Stop> {
        match &mut self.reader {
            Reader::Pcap(reader) => next_of_pcap(reader, take),
            Reader::PcapNg(reader) => loop {
                if reader.interfaces().len() > INTERFACES {
                    return Err(Stop(format!("it has more than {INTERFACES} interfaces")));
                }
                let begin = reader.bytes_parsed();
                self.blocks += 1;
                let (raw, state) = match reader.next_raw_block() {
                    None => return Ok(false),
                    Some(Ok(read)) => read,
                    Some(Err(error)) => {
                        self.damaged += u64::from(matches!(error, PcapNgReadError::StateUpdate(_)));
                        return Err(Stop(block(self.blocks, &error)));
                    }
                };
                match raw.type_ {
                    ENHANCED_PACKET_BLOCK => {
                        if let Some(frame) = plain(&raw, state) {
                            take(frame);
                            return Ok(true);
                        }
                    }
                    SECTION_HEADER_BLOCK => {
                        self.descriptions = 0;
                        continue;
                    }
                    INTERFACE_DESCRIPTION_BLOCK => {
                        self.descriptions += reader.bytes_parsed() - begin;
                        if self.descriptions > DESCRIPTIONS {
                            return Err(Stop(format!(
                                "block {}: the descriptions of its interfaces have more than {} MiB, options included",
                                self.blocks,
                                DESCRIPTIONS >> 20
                            )));
                        }
                        continue;
                    }
                    _ => {}
                }
                match raw.try_into_block(state) {
                    Ok(Block::EnhancedPacket(block)) => {
                        let interface = state.interfaces().get(block.interface_id as usize);
                        take(Frame {
                            time: nanos(block.timestamp),
                            link: interface.map_or(u32::MAX, |i| u32::from(i.linktype)),
                            length: block.original_len,
                            bytes: &block.data,
                        });
                        return Ok(true);
                    }
                    Ok(Block::SimplePacket(_) | Block::Packet(_)) => self.untimed += 1,
                    Ok(_) => {}
                    // Its length is known, its content is not what it should be.
                    Err(_) => self.damaged += 1,
                }
            },
        }
    }
}

/// Reads an enhanced packet block without options, the most common one, in place. Returns `None`
/// for all other and for damaged blocks, which the library reads.
fn plain<'a>(raw: &'a RawBlock<'_>, state: &PcapNgState) -> Option<Frame<'a>> {
    let (head, rest) = raw.body.split_first_chunk::<20>()?;
    let little = state.endianness() == Endianness::Little;
    let word = |at: usize| {
        let bytes = [head[at], head[at + 1], head[at + 2], head[at + 3]];
        if little {
            u32::from_le_bytes(bytes)
        } else {
            u32::from_be_bytes(bytes)
        }
    };
    let (captured, length) = (word(12), word(16));
    let bytes = rest.get(..captured as usize)?;
    if captured > length || rest.len() - bytes.len() > 3 {
        return None;
    }
    let interface = word(0);
    let time = state.decode_timestamp(interface, word(4), word(8)).ok()?;
    Some(Frame {
        time: nanos(time),
        link: u32::from(state.interfaces().get(interface as usize)?.linktype),
        length,
        bytes,
    })
}

fn nanos(since: Duration) -> u64 {
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Describes the fault of block `number`, and its cause.
fn block(number: u64, error: &PcapNgReadError) -> String {
    if matches!(error, PcapNgReadError::Io(_)) {
        return ended("", true);
    }
    let mut text = format!("block {number}: {error}");
    let mut cause = std::error::Error::source(error);
    while let Some(deeper) = cause {
        text += ": ";
        text += &deeper.to_string();
        cause = deeper.source();
    }
    text
}

fn next_of_pcap<R: Read>(
    reader: &mut PcapReader<Bites<R>>,
    take: impl FnOnce(Frame<'_>),
) -> Result<bool, Stop> {
    let header = reader.header();
    let nanos = header.ts_resolution == pcap_file::pcap::PcapTsResolution::NanoSecond;
    match reader.next_raw_packet() {
        None => Ok(false),
        // Not `next_packet`: that refuses stamps and lengths that real captures have.
        Some(Ok(raw)) => {
            let unit = if nanos { 1 } else { 1000 };
            take(Frame {
                time: u64::from(raw.ts_sec) * 1_000_000_000 + u64::from(raw.ts_frac) * unit,
                link: u32::from(header.datalink) & 0xffff,
                length: raw.orig_len.max(raw.data.len() as u32),
                bytes: &raw.data,
            });
            Ok(true)
        }
        Some(Err(error)) => Err(Stop(ended(
            &error.to_string(),
            matches!(error, PcapReadError::Io(_)),
        ))),
    }
}

/// Returns the fault of an input that cannot be read from the start.
fn at_start(problem: &str, io: bool) -> String {
    if io {
        "it ends within that header".to_owned()
    } else {
        problem.to_owned()
    }
}

/// Returns a sentence about an input that ends within a packet, or is damaged there.
fn ended(problem: &str, io: bool) -> String {
    if io {
        format!("it ends within a packet, or has one of more than {BUFFER} bytes")
    } else {
        problem.to_owned()
    }
}
