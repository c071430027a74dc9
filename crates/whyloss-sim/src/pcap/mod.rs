//! Writes a run as captures: one pcapng file for each link, which Wireshark opens.
//!
//! The point of capture is the link's near end: every packet is recorded when it reaches the link,
//! before the queue. Its time is in nanoseconds since the start of the run (shown as since 1970),
//! and times in a file never decrease. A packet that the link loses carries a comment with the true
//! cause:
//!
//! ```text
//! lost: congestion (queue full, 5 waiting)
//! lost: wireless (corrupted after transmission)
//! lost: wireless (corrupted before the queue)
//! ```
//!
//! A packet that the queue marks carries `marked: CE from here on (queue)`. A packet in which the
//! link damages bits carries the offset of the first one: `damaged: from bit 4711 of the packet`.
//! The recorded bytes are those that were sent.
//!
//! Packets are real IPv4 packets without a link layer (LINKTYPE_RAW). They carry TCP, IFTP, IFTP-W
//! (IFTP with a coverage), UDP (TFRC and flows without congestion control) or UDP-Lite (these with
//! a coverage); `packet.rs` has their layout. Only headers and TFRC fields are stored; the original
//! length is the packet's size on the simulated wire. Each file lists the addresses of the nodes.

mod host;
mod packet;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::io::{self, BufWriter};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time;

use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::blocks::name_resolution::{Ipv4Record, NameResolutionBlock, Record};
use pcap_file::pcapng::blocks::opt_common::CommonOption;
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{PcapNgWriteError, PcapNgWriter};
use pcap_file::{DataLink, Endianness};
use whyloss::{Cause, Rate, Time};
use whyloss_link::Fate;

use crate::observe::{Event, Watch};
use crate::output::{OutputError, Whole, create_directory, create_file, file_stems, note};
use crate::packet::Packet;
use crate::scenario::{Connection, Scenario};

use self::packet::{Ends, Image, SNAP_LENGTH, address};
use crate::packet::Payload;

pub use self::host::NodeCapture;

/// Captures every packet that reaches a link, link by link.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use whyloss_sim::{Capture, CsvFiles, Scenario, Trace, TraceOptions, Simulation};
///
/// let file = r#"
///     duration = "1 s"
///
///     [[link]]
///     from = "a"
///     to = "b"
///     rate = "1 Mbit/s"
///     delay = "10 ms"
///     queue = { packets = 10 }
///
///     [[flow]]
///     from = "a"
///     to = "b"
///     transport = "tcp"
/// "#;
/// let scenario = Scenario::from_toml(file, "example.toml", &[])?;
/// let directory = tempfile::tempdir()?;
/// let tables = CsvFiles::create(directory.path())?;
/// let trace = Trace::new(&scenario, TraceOptions::default(), tables);
/// let mut observers = (trace, Capture::create(&scenario, directory.path())?);
/// Simulation::new(&scenario, 1).watch(&mut observers).run()?;
/// observers.0.finish()?;
/// observers.1.finish()?;
/// # assert!(directory.path().join("a-to-b.pcapng").is_file());
/// # Ok(())
/// # }
/// ```
pub struct Capture {
    links: Vec<Tap>,
    flows: Vec<Ends>,
    /// The source of each flow, and the far end of each link.
    ways: Ways,
    image: Image,
    end: Time,
    error: Option<OutputError>,
}

/// The capture of one link.
struct Tap {
    writer: PcapNgWriter<BufWriter<Whole>>,
    path: PathBuf,
    /// Whether the channel corrupts packets before the queue.
    corrupts_first: bool,
}

impl Capture {
    /// Opens a file `<link>.pcapng` for each link of a scenario in `directory`, which is created if
    /// it is missing. Files of the same names are replaced.
    ///
    /// # Errors
    /// Returns an error if the directory or a file cannot be created.
    pub fn create(scenario: &Scenario, directory: &Path) -> Result<Self, OutputError> {
        create_directory(directory)?;
        let stems = file_stems(scenario.links.iter().map(|link| link.name.as_str()));
        let names: Vec<String> = stems.iter().map(|stem| format!("{stem}.pcapng")).collect();
        note(directory, names.iter().map(String::as_str))?;
        let taps = scenario.links.iter().zip(&names).map(|(link, name)| {
            let path = directory.join(name);
            let file = BufWriter::new(create_file(&path)?);
            let writer =
                open(file, &scenario.nodes, of_link(link)).map_err(|error| refuse(&path, error))?;
            Ok(Tap {
                writer,
                path,
                corrupts_first: link.link.channel_before_queue,
            })
        });
        Ok(Self {
            links: taps.collect::<Result<_, _>>()?,
            flows: ends(scenario),
            ways: Ways::new(scenario),
            image: Image::default(),
            end: scenario.end,
            error: None,
        })
    }

    /// Writes the remaining packets after the run.
    ///
    /// # Errors
    /// Returns the first error of the whole run; nothing was written after it.
    pub fn finish(self) -> Result<(), OutputError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut taps = self.links.into_iter();
        taps.try_for_each(|tap| close(tap.writer, &tap.path))
    }
}

/// Writes the remaining packets and gives the file its final name.
fn close(writer: PcapNgWriter<BufWriter<Whole>>, path: &Path) -> Result<(), OutputError> {
    let file = writer.into_inner().into_inner();
    file.map_err(io::IntoInnerError::into_error)
        .and_then(Whole::finish)
        .map_err(|error| OutputError::new(path, error))
}

impl Watch for Capture {
    fn on(&mut self, event: &Event<'_>) {
        if let Event::Offered {
            link,
            at,
            packet,
            waiting,
            fate,
            marked,
        } = *event
        {
            if self.error.is_some() || at > self.end {
                return;
            }
            let (tap, ends) = (&mut self.links[link], &mut self.flows[packet.flow as usize]);
            self.ways.hear(link, packet, fate, ends);
            let written = match self.image.draw(ends, packet) {
                Ok(()) => tap.record(at, &self.image, waiting, (fate, marked)),
                Err(error) => Err(OutputError::new(&tap.path, error)),
            };
            self.error = written.err();
        }
    }
}

fn ends(scenario: &Scenario) -> Vec<Ends> {
    let flows = scenario.flows.iter().enumerate();
    flows.map(|(index, flow)| Ends::new(index, flow)).collect()
}

/// The ends of flows and of links.
struct Ways {
    sources: Vec<usize>,
    far: Vec<usize>,
}

impl Ways {
    fn new(scenario: &Scenario) -> Self {
        Self {
            sources: scenario.flows.iter().map(|flow| flow.source).collect(),
            far: scenario.links.iter().map(|link| link.to).collect(),
        }
    }

    /// Records an acknowledgement that reaches its flow's source over this link.
    fn hear(&self, link: usize, packet: &Packet, fate: Fate, ends: &mut Ends) {
        if let (Payload::Ack(_), Fate::Delivered(at) | Fate::Damaged(at, _)) =
            (&packet.payload, fate)
            && self.far[link] == self.sources[packet.flow as usize]
        {
            ends.hears(at, packet.sent);
        }
    }
}

impl Tap {
    fn record(
        &mut self,
        at: Time,
        image: &Image,
        waiting: usize,
        (fate, marked): (Fate, bool),
    ) -> Result<(), OutputError> {
        let comment = comment(waiting, fate, marked, self.corrupts_first);
        let written = write_frame(
            &mut self.writer,
            at,
            (image.original, image.stored()),
            comment,
        );
        written.map_err(|error| refuse(&self.path, error))
    }
}

/// Returns the comment on a packet that its link loses, marks or damages.
fn comment(
    waiting: usize,
    fate: Fate,
    marked: bool,
    corrupts_first: bool,
) -> Option<Cow<'static, str>> {
    match fate {
        Fate::Delivered(_) if marked => Some(Cow::Borrowed("marked: CE from here on (queue)")),
        Fate::Delivered(_) | Fate::Held => None,
        Fate::Damaged(_, first) => Some(Cow::Owned(format!(
            "damaged: from bit {first} of the packet"
        ))),
        Fate::Lost(Cause::Congestion, _) => Some(Cow::Owned(format!(
            "lost: congestion (queue full, {waiting} waiting)"
        ))),
        Fate::Lost(Cause::Wireless, _) if corrupts_first => {
            Some(Cow::Borrowed("lost: wireless (corrupted before the queue)"))
        }
        Fate::Lost(Cause::Wireless, _) => Some(Cow::Borrowed(
            "lost: wireless (corrupted after transmission)",
        )),
    }
}

fn write_frame<W: io::Write>(
    writer: &mut PcapNgWriter<W>,
    at: Time,
    (original, stored): (u32, &[u8]),
    comment: Option<Cow<'static, str>>,
) -> Result<(), PcapNgWriteError> {
    let comment = comment.map(|text| EnhancedPacketOption::Common(CommonOption::Comment(text)));
    let block = EnhancedPacketBlock {
        interface_id: 0,
        timestamp: time::Duration::from_nanos(at.as_nanos()),
        original_len: original,
        data: Cow::Borrowed(stored),
        options: comment.into_iter().collect(),
    };
    writer.write_pcapng_block(block).map(|_| ())
}

fn of_link(link: &Connection) -> (&str, &str, Option<Rate>) {
    let description = "packets as they reach the link's near end";
    (&link.name, description, Some(link.link.rate))
}

/// Writes the blocks before the first packet: the section, the link as an interface, and the nodes'
/// names. The section is little-endian, so that files do not depend on the machine.
fn open(
    file: BufWriter<Whole>,
    nodes: &[String],
    (name, description, rate): (&str, &str, Option<Rate>),
) -> Result<PcapNgWriter<BufWriter<Whole>>, PcapNgWriteError> {
    let section = SectionHeaderBlock {
        endianness: Endianness::Little,
        options: vec![SectionHeaderOption::UserApplication(Cow::Borrowed(
            "whyloss",
        ))],
        ..SectionHeaderBlock::default()
    };
    let interface = InterfaceDescriptionBlock {
        linktype: DataLink::RAW,
        snaplen: SNAP_LENGTH,
        options: [
            Some(InterfaceDescriptionOption::IfName(Cow::Borrowed(name))),
            Some(InterfaceDescriptionOption::IfDescription(Cow::Borrowed(
                description,
            ))),
            rate.map(|rate| InterfaceDescriptionOption::IfSpeed(rate.as_bps())),
            Some(InterfaceDescriptionOption::IfTsResol(
                InterfaceTsResolution::NANO,
            )),
        ]
        .into_iter()
        .flatten()
        .collect(),
    };
    let records = nodes.iter().enumerate().map(|(index, name)| {
        Record::Ipv4(Ipv4Record {
            ip_addr: Ipv4Addr::from(address(index)),
            names: vec![Cow::Borrowed(name)],
        })
    });
    let names = NameResolutionBlock {
        records: records.collect(),
        options: Vec::new(),
    };
    let mut writer = PcapNgWriter::with_section_header(file, section)?;
    writer.write_pcapng_block(interface)?;
    writer.write_pcapng_block(names)?;
    Ok(writer)
}

fn refuse(path: &Path, error: PcapNgWriteError) -> OutputError {
    match error {
        PcapNgWriteError::Io(error) => OutputError::new(path, error),
        other => OutputError::new(path, io::Error::other(other)),
    }
}
