//! pcap and pcapng as a stream of frames.
//!
//! A frame that cannot be read ends a pcap (nothing says where the next one begins) and is passed
//! over in a pcapng (blocks have lengths). If a capture ends early, the packets before its end are
//! a partial result.

use std::io::Read;

use pcap_file::pcap::{PcapReadError, PcapReader};
use pcap_file::pcapng::blocks::block_common::Block;
use pcap_file::pcapng::{PcapNgReadError, PcapNgReader};

use crate::error::Error;

/// The longest block or frame in bytes. A reader keeps only a buffer of this size.
const BUFFER: usize = 1 << 20;
/// Interfaces of a section beyond which the rest is not read: each costs memory.
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
    Pcap(PcapReader<R>),
    PcapNg(Box<PcapNgReader<R>>),
}

impl<R: Read> Capture<R> {
    pub(super) fn pcap(reader: R) -> Result<Self, Error> {
        let reader = PcapReader::with_capacity(reader, BUFFER).map_err(|error| Error::Header {
            kind: "pcap",
            problem: at_start(&error.to_string(), matches!(error, PcapReadError::Io(_))),
        })?;
        Ok(Self::new(Reader::Pcap(reader)))
    }

    pub(super) fn pcapng(reader: R) -> Result<Self, Error> {
        let reader =
            PcapNgReader::with_capacity(reader, BUFFER).map_err(|error| Error::Header {
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
                let described = match reader.next_block() {
                    None => return Ok(false),
                    Some(Ok((Block::EnhancedPacket(block), state))) => {
                        let interface = state.interfaces().get(block.interface_id as usize);
                        take(Frame {
                            time: u64::try_from(block.timestamp.as_nanos()).unwrap_or(u64::MAX),
                            link: interface.map_or(u32::MAX, |i| u32::from(i.linktype)),
                            length: block.original_len,
                            bytes: &block.data,
                        });
                        return Ok(true);
                    }
                    Some(Ok((Block::SimplePacket(_) | Block::Packet(_), _))) => {
                        self.untimed += 1;
                        continue;
                    }
                    Some(Ok((Block::SectionHeader(_), _))) => {
                        self.descriptions = 0;
                        continue;
                    }
                    Some(Ok((Block::InterfaceDescription(_), _))) => Ok(()),
                    Some(Ok(_)) => continue,
                    Some(Err(error)) => Err(error),
                };
                let Err(error) = described else {
                    self.descriptions += reader.bytes_parsed() - begin;
                    if self.descriptions > DESCRIPTIONS {
                        return Err(Stop(format!(
                            "block {}: the descriptions of its interfaces have more than {} MiB, options included",
                            self.blocks,
                            DESCRIPTIONS >> 20
                        )));
                    }
                    continue;
                };
                let PcapNgReadError::BlockConversion(_) = error else {
                    return Err(Stop(block(self.blocks, &error)));
                };
                // Its length is known, its content is not what it should be.
                self.damaged += 1;
                match reader.next_raw_block() {
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Err(Stop(block(self.blocks, &error))),
                    None => return Ok(false),
                }
            },
        }
    }
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
    reader: &mut PcapReader<R>,
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
