//! Diagnoses a capture packet by packet, in order of time.

use std::io::Read;
use std::net::SocketAddr;

use crate::flow::{Flow, packets};
use crate::input::Capture;
use crate::memory::Memory;
use crate::order::Order;
use crate::packet::{Body, Dissector, Packet, Segment};
use crate::rtp::{Seen, Streams};
use crate::tcp::Connections;
use crate::{DROPPED, Diagnosis, FORGOTTEN, Kept, Options, notes, shortages};

/// Reads a capture to its end.
pub(crate) fn diagnose<R: Read>(mut capture: Capture<R>, options: Options) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    let mut dissector = Dissector::default();
    let memory = Memory::new(options.free());
    let mut followed = Followed {
        connections: Connections::new(options.connections, memory.clone()),
        streams: Streams::new(options.connections, memory.clone()),
        kept: Kept::new(options.flows, memory.clone()),
        memory,
    };
    let mut cut = 0;
    let mut order = Order::new(usize::try_from(options.free() / 8).unwrap_or(usize::MAX));
    loop {
        let frame = diagnosis.frames + 1;
        let read = capture.next(|raw| {
            let packet = dissector.packet(raw.link, raw.length, raw.bytes);
            let Some(packet) = &packet else {
                return;
            };
            cut += u64::from(matches!(&packet.body, Body::Tcp(segment) if segment.cut));
            let seen = Seen {
                now: raw.time,
                frame,
            };
            if order.passes(raw.time) {
                followed.on_packet(seen, packet);
                return;
            }
            let waiting = Waiting::new(seen, packet);
            order.push(raw.time, waiting.memory(), waiting);
            while let Some(waiting) = order.due() {
                followed.on_waiting(&waiting);
            }
        });
        match read {
            Ok(true) => diagnosis.frames = frame,
            Ok(false) => break,
            Err(stop) => {
                diagnosis.partial = Some(stop.0);
                break;
            }
        }
    }
    while let Some(waiting) = order.last() {
        followed.on_waiting(&waiting);
    }
    let Followed {
        connections,
        streams,
        mut kept,
        ..
    } = followed;
    if connections.evicted > 0 {
        diagnosis.notes.push(format!(
            "{} connections were closed early: more than {} were alive at a time",
            connections.evicted, options.connections
        ));
    }
    diagnosis.skipped = dissector.skipped();
    diagnosis.notes.extend(dissector.unread());
    if cut > 0 {
        diagnosis.notes.push(format!(
            "{} captured with TCP options cut off, so losses may be missed and causes be wrong: \
             capture at least 96 bytes of each packet (`tcpdump -s 96`)",
            were(cut)
        ));
    }
    if order.late > 0 {
        diagnosis.notes.push(format!(
            "{} up to {:.1} ms behind later ones in the capture, and put in the order of their \
             times: usual with `whyloss link` or several interfaces, and harmless",
            were(order.late),
            order.lag as f64 / 1e6
        ));
    }
    let (early, unread) = (streams.evicted, streams.unread);
    let short = connections.short + streams.short;
    connections.finish(|connection| kept.extend(Flow::of_connection(connection)));
    let others = streams.finish(&mut |flow| kept.extend(std::iter::once(flow)));
    diagnosis.skipped.other += others;
    diagnosis.notes.extend(said(
        [early, unread, short],
        &order,
        &capture,
        &kept,
        options,
    ));
    diagnosis.number(kept.flows);
    diagnosis
}

/// Returns notes on the whole capture: streams that were closed early, unreadable RTCP, and lists
/// that the memory limit cut short.
fn said<R: Read>(
    [early, unread, short]: [u64; 3],
    order: &Order<Waiting>,
    capture: &Capture<R>,
    kept: &Kept,
    options: Options,
) -> Vec<String> {
    let mut said = notes([
        (
            order.set_back,
            "packets lie more than 2 s behind earlier ones in the capture: its clock was set back, or it is out of order \
             (`reordercap` mends that); what is said of connections across such places may be wrong",
        ),
        (
            capture.damaged,
            "blocks could not be read and were passed over",
        ),
        (
            early,
            "RTP streams were closed early: too many were alive at a time",
        ),
        (
            unread,
            "datagrams of RTCP could not be read: cut short, encrypted or damaged",
        ),
        (capture.untimed, "packets have no time and tell nothing"),
        (kept.dropped, DROPPED),
    ]);
    said.extend(shortages(
        options,
        [
            (
                short,
                "connections and streams, those that were quiet for longest, were closed early",
            ),
            (
                order.early,
                "packets could not wait for those that belong before them",
            ),
            (kept.forgotten, FORGOTTEN),
        ],
    ));
    said
}

/// Formats "1 packet was" or "2 packets were".
fn were(many: u64) -> String {
    let were = if many == 1 { "was" } else { "were" };
    format!("{} {were}", packets(many))
}

/// The followers of a capture's connections and streams.
struct Followed {
    connections: Connections,
    streams: Streams,
    kept: Kept,
    memory: Memory,
}

impl Followed {
    fn on_packet(&mut self, seen: Seen, packet: &Packet<'_>) {
        let Self {
            connections,
            streams,
            kept,
            memory,
        } = self;
        match &packet.body {
            Body::Tcp(segment) => connections.on_segment(
                (packet.source, packet.destination),
                (seen.now, seen.frame, packet.ip_id),
                segment,
                |connection| kept.extend(Flow::of_connection(connection)),
            ),
            Body::Udp(bytes, length) => streams.on_datagram(
                [packet.source, packet.destination],
                seen,
                (bytes, *length),
                &mut |flow| kept.extend(std::iter::once(flow)),
            ),
        }
        if memory.is_short() {
            if connections.held >= streams.held {
                connections
                    .make_room(&mut |connection| kept.extend(Flow::of_connection(connection)));
            } else {
                streams.make_room(&mut |flow| kept.extend(std::iter::once(flow)));
            }
        }
    }

    fn on_waiting(&mut self, waiting: &Waiting) {
        let body = match &waiting.body {
            Kind::Tcp(segment) => Body::Tcp(*segment),
            Kind::Udp(bytes, length) => Body::Udp(bytes, *length),
        };
        let Waiting {
            seen,
            ends: [source, destination],
            ip_id,
            ..
        } = *waiting;
        let packet = Packet {
            source,
            destination,
            ip_id,
            body,
        };
        self.on_packet(seen, &packet);
    }
}

/// A packet that is held back until earlier ones have arrived.
struct Waiting {
    seen: Seen,
    ends: [SocketAddr; 2],
    ip_id: Option<u16>,
    body: Kind,
}

enum Kind {
    Tcp(Segment),
    Udp(Box<[u8]>, u32),
}

impl Waiting {
    /// Returns the memory in use, in bytes.
    fn memory(&self) -> usize {
        let more = match &self.body {
            Kind::Tcp(_) => 0,
            Kind::Udp(bytes, _) => bytes.len(),
        };
        2 * size_of::<Self>() + more
    }

    /// The maximum number of bytes of a datagram that are read.
    const LOOKED_AT: usize = 1500;

    fn new(seen: Seen, packet: &Packet<'_>) -> Self {
        let body = match packet.body {
            Body::Tcp(segment) => Kind::Tcp(segment),
            Body::Udp(bytes, length) => {
                Kind::Udp(bytes[..bytes.len().min(Self::LOOKED_AT)].into(), length)
            }
        };
        Self {
            seen,
            ends: [packet.source, packet.destination],
            ip_id: packet.ip_id,
            body,
        }
    }
}
