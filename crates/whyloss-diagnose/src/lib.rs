//! Causes of packet losses from captures and logs.
//!
//! [`diagnose`] reads a capture once, follows its connections, and says of each what was lost and why.
#![forbid(unsafe_code)]

pub mod anonymise;
mod arrivals;
pub mod classifiers;
mod delay;
mod error;
pub mod flow;
pub mod input;
mod ledger;
pub mod loss;
pub mod packet;
pub mod portrait;
mod quic;
mod rates;
pub mod report;
mod rtp;
mod tcp;
pub mod track;
pub mod truth;
mod vantage;
pub mod verdict;

pub use delay::Around;
pub use error::Error;
pub use flow::{Flow, Protocol};
pub use vantage::Vantage;

use std::cmp::Reverse;
use std::io::Read;

use input::json::Record;
use input::{Capture, Input};
use packet::{Body, Dissector, Skipped};
use rtp::{Seen, Streams};
use tcp::Connections;

/// What bounds a diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Connections followed at a time. Beyond it those that were quiet for longest are closed.
    pub connections: usize,
    /// Flows that are kept, those with the most losses.
    pub flows: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connections: 10_000,
            flows: 10_000,
        }
    }
}

/// What a capture or log tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnosis {
    /// Flows, in the order of their beginning.
    pub flows: Vec<Flow>,
    /// Frames or records read.
    pub frames: u64,
    /// Frames that tell nothing.
    pub skipped: Skipped,
    /// What is to be known about the whole, a sentence each.
    pub notes: Vec<String>,
    /// Why the input ended early, if it did: then this is what came before.
    pub partial: Option<String>,
    /// How it did, if a network told its truth.
    pub score: Option<truth::Score>,
}

/// Reads a capture or log to its end.
///
/// # Errors
/// When it is of no known kind, or cannot be read from the start. What is damaged further in is in
/// [`Diagnosis::partial`].
pub fn diagnose(reader: Box<dyn Read>, options: Options) -> Result<Diagnosis, Error> {
    match input::open(reader)? {
        Input::Capture(capture) => Ok(of_capture(capture, options)),
        Input::Json(log) => of_log(log, options),
    }
}

impl Diagnosis {
    /// Takes the flows, in the order of their beginning.
    fn number(&mut self, mut flows: Vec<Flow>) {
        flows.sort_by_key(|flow| flow.span.0);
        for (number, flow) in (1..).zip(&mut flows) {
            flow.number = number;
        }
        self.flows = flows;
    }

    /// The flows that lost the most, so many of them, in the order of their numbers; with `one`, that flow alone.
    pub fn worst(&self, one: Option<u64>, most: usize) -> Vec<&Flow> {
        let chosen = |flow: &&Flow| one.is_none_or(|one| flow.number == one);
        let mut worst: Vec<&Flow> = self.flows.iter().filter(chosen).collect();
        worst.sort_by_key(|flow| Reverse((flow.portrait.by_cause.total(), Reverse(flow.number))));
        worst.truncate(most);
        worst.sort_by_key(|flow| flow.number);
        worst
    }

    /// Replaces all addresses.
    pub fn anonymise(&mut self, anonymiser: &anonymise::Anonymiser) {
        for flow in &mut self.flows {
            flow.source = anonymiser.socket(flow.source);
            flow.destination = anonymiser.socket(flow.destination);
        }
    }
}

fn of_capture<R: Read>(mut capture: Capture<R>, options: Options) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    let mut dissector = Dissector::default();
    let mut connections = Connections::new(options.connections);
    let mut streams = Streams::new(options.connections);
    let mut kept = Kept::new(options.flows);
    loop {
        let frame = diagnosis.frames + 1;
        let read = capture.next(|raw| {
            let Some(packet) = dissector.packet(raw.link, raw.length, raw.bytes) else {
                return;
            };
            match packet.body {
                Body::Tcp(segment) => connections.on_segment(
                    (packet.source, packet.destination),
                    (raw.time, frame, packet.ip_id),
                    &segment,
                    |connection| kept.extend(Flow::of_connection(connection)),
                ),
                Body::Udp(bytes, length) => streams.on_datagram(
                    [packet.source, packet.destination],
                    Seen {
                        now: raw.time,
                        frame,
                    },
                    (bytes, length),
                    &mut |flow| kept.extend(std::iter::once(flow)),
                ),
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
    if connections.evicted > 0 {
        diagnosis.notes.push(format!(
            "{} connections were closed early: more than {} were alive at a time",
            connections.evicted, options.connections
        ));
    }
    for connection in connections.finish() {
        kept.extend(Flow::of_connection(connection));
    }
    diagnosis.skipped = dissector.skipped();
    let (early, unread) = (streams.evicted, streams.unread);
    let (flows, others) = streams.finish();
    kept.extend(flows.into_iter());
    diagnosis.skipped.other += others;
    diagnosis.notes.extend(notes([
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
    ]));
    diagnosis.number(kept.flows);
    diagnosis
}

fn of_log(log: Box<dyn Read>, options: Options) -> Result<Diagnosis, Error> {
    let mut quic = quic::Log::new(options.connections);
    let mut kept = Kept::new(options.flows);
    let mut traces = 0;
    let partial = input::json::read(log, &mut |record| {
        let mut done = |flows: Vec<Flow>| kept.extend(flows.into_iter());
        match record {
            Record::Trace(about) => {
                traces += 1;
                quic.on_trace(&about, &mut done);
            }
            Record::Event(event) if traces > 0 || quic::Log::knows(&event) => {
                traces += 1;
                quic.on_event(event, &mut done);
            }
            Record::Event(_) => {
                return Err(Error::Header {
                    kind: "JSON",
                    problem: "its first record is no event of a qlog".to_owned(),
                });
            }
        }
        Ok(())
    })?;
    quic.flush(&mut |flows| kept.extend(flows.into_iter()));
    let mut diagnosis = Diagnosis {
        frames: quic.records,
        partial,
        ..Diagnosis::default()
    };
    diagnosis.notes = notes([
        (
            quic.evicted,
            "connections were closed early: too many were alive at a time",
        ),
        (
            quic.malformed,
            "events lack a time or the number of their packet and were passed over",
        ),
        (kept.dropped, DROPPED),
    ]);
    diagnosis.number(kept.flows);
    Ok(diagnosis)
}

const DROPPED: &str = "more flows are not kept, those with the fewest losses";

/// What is to be said of what happened at all.
fn notes<const N: usize>(many: [(u64, &str); N]) -> Vec<String> {
    let happened = many.into_iter().filter(|(many, _)| *many > 0);
    happened
        .map(|(many, what)| format!("{many} {what}"))
        .collect()
}

/// Flows that are over.
struct Kept {
    flows: Vec<Flow>,
    limit: usize,
    dropped: u64,
}

impl Kept {
    fn new(limit: usize) -> Self {
        Self {
            flows: Vec::new(),
            limit: limit.max(1),
            dropped: 0,
        }
    }

    fn extend(&mut self, flows: impl Iterator<Item = Flow>) {
        self.flows.extend(flows);
        if self.flows.len() > 2 * self.limit {
            self.flows.sort_by_key(|flow| Reverse(flow.losses.len()));
            self.dropped += (self.flows.len() - self.limit) as u64;
            self.flows.truncate(self.limit);
        }
    }
}
