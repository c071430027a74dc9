//! Writes a capture with the verdicts as packet comments, for Wireshark.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read, Write};
use std::time::Duration;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::blocks::opt_common::CommonOption;
use pcap_file::{DataLink, Endianness};

use super::{cause, sure, votes};
use crate::anonymise::Anonymiser;
use crate::input::{self, Frame, Input};
use crate::loss::Side;
use crate::packet::{Dissector, bare};
use crate::{Diagnosis, Error};

/// Returns the comments on lost packets, by frame number.
fn comments(diagnosis: &Diagnosis) -> HashMap<u64, String> {
    let mut comments: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for flow in &diagnosis.flows {
        for loss in &flow.losses {
            let sure = sure(loss).map_or(String::new(), |sure| format!(", {sure} % sure"));
            let event = loss.event.and_then(|event| flow.events.get(event as usize));
            let wireless: Vec<&str> = event.map_or_else(Vec::new, |event| {
                let said = votes(event).filter(|(_, cause)| *cause == "wireless");
                said.map(|(id, _)| id).collect()
            });
            let what = match loss.side {
                Side::Beyond => "lost".to_owned(),
                Side::Before => format!(
                    "{} B at offset {} were lost before this",
                    loss.bytes, loss.offset
                ),
            };
            let mut text = format!(
                "whyloss: {what}; cause: {}{sure}; known by: {}",
                cause(loss),
                loss.evidence.name()
            );
            if !wireless.is_empty() {
                text.push_str("; wireless say: ");
                text.push_str(&wireless.join(", "));
            }
            if let Some(truth) = loss.truth {
                text.push_str("; truth: ");
                text.push_str(truth.name());
            }
            comments.entry(loss.frame).or_default().push(text);
        }
    }
    let joined = comments.into_iter();
    joined
        .map(|(frame, texts)| (frame, texts.join("\n")))
        .collect()
}

/// The link type of packets that begin with an IP header.
const RAW: u32 = 101;

/// Copies a capture as pcapng and adds a comment to each lost packet. Returns the number of
/// comments written.
///
/// `reader` must be the diagnosed capture, from its beginning. With an anonymiser, packets are
/// rebuilt from their headers with other addresses and without payload. Unreadable frames then have
/// no bytes. Each frame keeps its number.
///
/// # Errors
/// Returns an error if `reader` is not a capture, or if `writer` fails.
pub fn write(
    diagnosis: &Diagnosis,
    reader: Box<dyn Read>,
    writer: impl Write,
    anonymiser: Option<&Anonymiser>,
) -> Result<u64, Error> {
    let Input::Capture(mut capture) = input::open(reader)? else {
        return Err(Error::Header {
            kind: "JSON",
            problem: "comments are for the packets of captures".to_owned(),
        });
    };
    let refused = |error| {
        Error::Io(match error {
            pcap_file::pcapng::PcapNgWriteError::Io(error) => error,
            other => io::Error::other(other),
        })
    };
    let comments = comments(diagnosis);
    let mut writer = PcapNgWriter::with_endianness(writer, Endianness::Little).map_err(refused)?;
    let mut interfaces: HashMap<u32, u32> = HashMap::new();
    let (mut written, mut problem) = (0, None);
    let mut dissector = Dissector::default();
    for frame in 1..=diagnosis.frames {
        let read = capture.next(|raw| {
            let bytes;
            let raw = if let Some(anonymiser) = anonymiser {
                let (bare, length) = bare(&mut dissector, anonymiser, raw);
                bytes = bare;
                Frame {
                    link: RAW,
                    length,
                    bytes: &bytes,
                    ..raw
                }
            } else {
                raw
            };
            let known = interfaces.get(&raw.link).copied();
            let mut write = || {
                let interface = if let Some(known) = known {
                    known
                } else {
                    let new = interfaces.len() as u32;
                    interfaces.insert(raw.link, new);
                    writer.write_pcapng_block(InterfaceDescriptionBlock {
                        linktype: DataLink::from(raw.link),
                        snaplen: 0,
                        options: vec![InterfaceDescriptionOption::IfTsResol(
                            InterfaceTsResolution::NANO,
                        )],
                    })?;
                    new
                };
                let comment = comments.get(&frame).map(|text| {
                    EnhancedPacketOption::Common(CommonOption::Comment(Cow::Borrowed(text)))
                });
                written += u64::from(comment.is_some());
                writer.write_pcapng_block(EnhancedPacketBlock {
                    interface_id: interface,
                    timestamp: Duration::from_nanos(raw.time),
                    original_len: raw.length,
                    data: Cow::Borrowed(raw.bytes),
                    options: comment.into_iter().collect(),
                })
            };
            problem = write().err();
        });
        if let Some(problem) = problem.take() {
            return Err(refused(problem));
        }
        if !matches!(read, Ok(true)) {
            break;
        }
    }
    writer.into_inner().flush().map_err(Error::Io)?;
    Ok(written)
}

/// Returns the bytes of an anonymised frame, and its original length.
fn bare(dissector: &mut Dissector, anonymiser: &Anonymiser, raw: Frame<'_>) -> (Vec<u8>, u32) {
    let packet = dissector.packet(raw.link, raw.length, raw.bytes);
    let bare = packet.and_then(|packet| {
        let [source, destination] =
            [packet.source, packet.destination].map(|end| anonymiser.socket(end));
        bare::headers(&packet, source, destination).ok()
    });
    bare.unwrap_or((Vec::new(), raw.length))
}
