//! Reads the log of an emulated link: a record for each packet at each link (`whyloss link --log`,
//! `docs/guides/emulator.md`).
//!
//! A packet that crosses several links has a record at each. It departs when it reaches the first
//! link, and arrives when it leaves the last one. TCP packets of at most [`BARE`] bytes are bare
//! acknowledgements. They belong to no flow of data, but show the shortest delay of the return
//! path.

use std::collections::HashMap;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use whyloss::Cause;

use super::{About, Network, Outcome, Transmission, table};
use crate::error::Error;
use crate::flow::Protocol;
use crate::input::json;
use crate::truth::{BARE, Fate, Passage};
use crate::{Diagnosis, Options};

/// The IP protocol number of TCP.
const TCP: u8 = 6;
/// The IP protocol number of UDP-Lite.
const UDP_LITE: u8 = 136;

/// A record of the log: one packet at one link.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Line {
    packet: u64,
    link: String,
    protocol: u8,
    source: IpAddr,
    destination: IpAddr,
    source_port: Option<u16>,
    destination_port: Option<u16>,
    sequence: Option<u32>,
    bytes: u32,
    enqueued: u64,
    scheduled: u64,
    departed: Option<u64>,
    fate: Word,
}

/// The fate of a packet at a link, as the log writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Delivered,
    Damaged,
    Overflow,
    Aqm,
    Channel,
    Fault,
    Unfinished,
}

impl Line {
    /// Returns whether a record is a line of such a log.
    pub(crate) fn knows(record: &Value) -> bool {
        ["packet", "link", "enqueued", "fate"]
            .iter()
            .all(|key| record.get(key).is_some())
    }

    fn ends(&self) -> [SocketAddr; 2] {
        [
            SocketAddr::new(self.source, self.source_port.unwrap_or(0)),
            SocketAddr::new(self.destination, self.destination_port.unwrap_or(0)),
        ]
    }

    /// Returns the packet in the form of [`Truth`](crate::truth::Truth); `None` unless it is TCP.
    fn passage(&self) -> Option<Passage> {
        if self.protocol != TCP {
            return None;
        }
        self.source_port.and(self.destination_port)?;
        let [source, destination] = self.ends();
        Some(Passage {
            source,
            destination,
            sequence: self.sequence?,
            packet: self.packet,
            bytes: self.bytes,
            time: self.enqueued,
            fate: self.fate(),
        })
    }

    fn fate(&self) -> Fate {
        match self.fate {
            Word::Overflow | Word::Aqm => Fate::Lost(Cause::Congestion),
            // UDP-Lite delivers a packet that is damaged beyond its coverage.
            Word::Damaged if self.protocol == UDP_LITE => Fate::Arrived,
            // The checksums of TCP and UDP cover everything, so a damaged packet is dropped.
            Word::Channel | Word::Damaged => Fate::Lost(Cause::Wireless),
            Word::Fault => Fate::Fault,
            Word::Delivered | Word::Unfinished => Fate::Arrived,
        }
    }

    fn outcome(&self) -> Outcome {
        match self.fate() {
            Fate::Lost(cause) => Outcome::Lost(self.scheduled, cause),
            Fate::Fault => Outcome::Fault,
            Fate::Arrived if self.fate == Word::Unfinished => Outcome::Open,
            Fate::Arrived => Outcome::Arrived(self.departed.unwrap_or(self.scheduled)),
        }
    }
}

/// Passes the TCP packets in the log of a directory to `take`, until it returns false.
///
/// # Errors
/// Returns an error if there is no log, it cannot be read, or `take` has no room.
pub(crate) fn packets(
    directory: &Path,
    take: &mut dyn FnMut(&Passage) -> bool,
) -> Result<(), Error> {
    each(&directory.join("packets.jsonl"), &mut |line| {
        line.passage().is_none_or(|passage| take(&passage))
    })
}

fn each(path: &Path, take: &mut dyn FnMut(&Line) -> bool) -> Result<(), Error> {
    let file = std::fs::File::open(path).map_err(|source| Error::Part {
        path: path.to_owned(),
        problem: source.to_string(),
    })?;
    let wrong = |number: u64, problem: String| Error::Part {
        path: path.to_owned(),
        problem: format!("line {number} is no record of a log: {problem}"),
    };
    let mut number = 0;
    json::read(Box::new(file) as Box<dyn Read>, &mut |record| {
        number += 1;
        let json::Record::Event(value) = record else {
            return Err(wrong(number, "it is a trace of a qlog".to_owned()));
        };
        let line = serde_json::from_value(value);
        if take(&line.map_err(|error| wrong(number, error.to_string()))?) {
            return Ok(());
        }
        Err(Error::Part {
            path: path.to_owned(),
            problem:
                "it needs more than half of the memory limit; set a higher one with `--memory`"
                    .to_owned(),
        })
    })?;
    Ok(())
}

type Key = (u8, [SocketAddr; 2]);

/// The packets of one direction.
#[derive(Default)]
struct Packets {
    sent: Vec<Transmission>,
    /// The index of each packet, by its number.
    by_number: HashMap<u64, usize>,
    first_sequence: Option<u32>,
    /// The latest offset, from which later sequence numbers are extended.
    offset: u64,
    /// The bare acknowledgements that arrived: departure and arrival in ns, and the number of links
    /// crossed.
    bare: HashMap<u64, (u64, u64, u32)>,
}

/// A log while it is read.
pub(crate) struct Emulated {
    network: Network,
    flows: HashMap<Key, Packets>,
    /// The number of records read.
    pub(crate) records: u64,
    /// The number of malformed records.
    pub(crate) malformed: u64,
}

impl Emulated {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            network: Network::new(options),
            flows: HashMap::new(),
            records: 0,
            malformed: 0,
        }
    }

    /// Returns whether this record comes from the log of an emulated link.
    pub(crate) fn knows(record: &Value) -> bool {
        Line::knows(record)
    }

    /// Handles the next record.
    pub(crate) fn on_record(&mut self, record: Value) {
        self.records += 1;
        match serde_json::from_value(record) {
            Ok(line) => self.on_line(&line),
            Err(_) => self.malformed += 1,
        }
    }

    fn on_line(&mut self, line: &Line) {
        let outcome = line.outcome();
        if let Outcome::Lost(_, cause) = outcome
            && let Some(place) = self.network.place(&line.link)
        {
            self.network.count(place, cause);
        }
        let room = &mut self.network.room;
        if room.full.is_some() {
            return;
        }
        let key = (line.protocol, line.ends());
        if !self.flows.contains_key(&key) && !room.takes_flow(0) {
            return;
        }
        let flow = self.flows.entry(key).or_default();
        if line.protocol == TCP && line.bytes <= BARE {
            if flow.bare.contains_key(&line.packet) || room.takes_packet() {
                flow.on_bare(line, outcome);
            }
            return;
        }
        if let Some(&index) = flow.by_number.get(&line.packet) {
            flow.sent[index].goes_on(line.enqueued, outcome);
            return;
        }
        if !room.takes_packet() {
            return;
        }
        let offset = flow.offset_of(line);
        flow.by_number.insert(line.packet, flow.sent.len());
        flow.sent.push(Transmission {
            sent: line.enqueued,
            tie: line.packet,
            offset,
            bytes: line.bytes,
            frame: self.records,
            hops: 1,
            outcome,
        });
    }

    /// Ends the log and returns the diagnosis.
    pub(crate) fn finish(mut self) -> Diagnosis {
        let bare = self.flows.values().map(|packets| packets.bare.len()).sum();
        for packets in self.flows.values_mut() {
            packets.leave_open();
        }
        let least = |packets: &Packets| {
            let of_data = packets.sent.iter().filter_map(|one| match one.outcome {
                Outcome::Arrived(at) => Some(at.saturating_sub(one.sent)),
                _ => None,
            });
            let bare = packets.bare.values();
            let bare = bare.map(|(left, arrived, _)| arrived.saturating_sub(*left));
            of_data.chain(bare).min()
        };
        let ways: HashMap<Key, u64> = self
            .flows
            .iter()
            .filter_map(|(key, packets)| Some((*key, least(packets)?)))
            .collect();
        let mut flows: Vec<(Key, Packets)> = self.flows.drain().collect();
        flows.retain(|(_, packets)| !packets.sent.is_empty());
        for (_, packets) in &mut flows {
            packets.bare = HashMap::new();
            packets.by_number = HashMap::new();
        }
        self.network.room.gives(bare, None);
        flows.sort_by_key(|(key, packets)| (packets.sent[0].sent, *key));
        for ((protocol, ends), packets) in flows {
            let there = ways.get(&(protocol, ends));
            let back = ways.get(&(protocol, [ends[1], ends[0]]));
            let base = there.zip(back).map(|(there, back)| there + back);
            let about = About {
                protocol: if protocol == TCP {
                    Protocol::Tcp
                } else {
                    Protocol::Udp
                },
                ends,
                name: None,
                base_rtt_ms: base.map(|ns| ns as f64 / 1e6),
                first_sequence: packets.first_sequence.unwrap_or(0),
            };
            self.network.flow(about, packets.sent);
        }
        let mut diagnosis = self.network.finish();
        diagnosis.frames = self.records;
        if self.malformed > 0 {
            let wrong = self.malformed;
            let note = format!("{wrong} records are none of such a log and were passed over");
            diagnosis.notes.push(note);
        }
        diagnosis
    }
}

impl Packets {
    /// Marks packets as still in flight if they crossed fewer links than others by the end of the
    /// log.
    fn leave_open(&mut self) {
        let bare = self.bare.values().map(|(.., hops)| *hops);
        let whole = self.sent.iter().map(|one| one.hops).chain(bare).max();
        let whole = whole.unwrap_or(0);
        for one in &mut self.sent {
            if one.hops < whole && matches!(one.outcome, Outcome::Arrived(_)) {
                one.outcome = Outcome::Open;
            }
        }
        self.bare.retain(|_, (.., hops)| *hops == whole);
    }

    /// Returns the offset of a packet: TCP's first byte, counted from the first one seen, or else
    /// the packet's index.
    fn offset_of(&mut self, line: &Line) -> u64 {
        let Some(sequence) = line.sequence.filter(|_| line.protocol == TCP) else {
            return self.sent.len() as u64;
        };
        let first = *self.first_sequence.get_or_insert(sequence);
        let last = first.wrapping_add(self.offset as u32);
        let step = i64::from(sequence.wrapping_sub(last) as i32);
        let offset = self.offset.saturating_add_signed(step);
        if step > 0 {
            self.offset = offset;
        }
        offset
    }

    fn on_bare(&mut self, line: &Line, outcome: Outcome) {
        let Outcome::Arrived(at) = outcome else {
            // The packet was lost at a link, so its delay is incomplete.
            self.bare.remove(&line.packet);
            return;
        };
        let known = self.bare.entry(line.packet);
        let known = known.or_insert((line.enqueued, at, 0));
        *known = (known.0.min(line.enqueued), known.1.max(at), known.2 + 1);
    }
}

impl Transmission {
    /// Records that the packet reaches another link.
    fn goes_on(&mut self, enqueued: u64, outcome: Outcome) {
        self.sent = self.sent.min(enqueued);
        self.hops += 1;
        let further = match (self.outcome, outcome) {
            (Outcome::Arrived(before), Outcome::Arrived(now)) => now > before,
            (Outcome::Arrived(_), _) => true,
            _ => false,
        };
        if further {
            self.outcome = outcome;
        }
    }
}

/// Reads the log from a table (`packets.parquet`).
///
/// # Errors
/// Returns an error if the file cannot be read, or is another table.
pub(crate) fn of_table(path: &Path, options: Options) -> Result<Diagnosis, Error> {
    let mut log = Emulated::new(options);
    table::read(path, &mut |row| {
        log.records += 1;
        let line = (|| {
            Some(Line {
                packet: row.whole("packet")?,
                link: row.text("link")?.to_owned(),
                protocol: row.whole("protocol")?.try_into().ok()?,
                source: row.text("source")?.parse().ok()?,
                destination: row.text("destination")?.parse().ok()?,
                source_port: row.whole("source_port").and_then(|n| n.try_into().ok()),
                destination_port: row
                    .whole("destination_port")
                    .and_then(|n| n.try_into().ok()),
                sequence: row.whole("sequence").and_then(|n| n.try_into().ok()),
                bytes: row.whole("size_bytes")?.try_into().ok()?,
                enqueued: row.nanos("enqueued_s")?,
                scheduled: row.nanos("scheduled_s")?,
                departed: row.nanos("departed_s"),
                fate: serde_json::from_value(row.text("fate")?.into()).ok()?,
            })
        })();
        match line {
            Some(line) => log.on_line(&line),
            None => log.malformed += 1,
        }
    })?;
    if log.malformed == log.records {
        return Err(Error::Part {
            path: path.to_owned(),
            problem: "none of its rows is of an emulated link's log".to_owned(),
        });
    }
    Ok(log.finish())
}
