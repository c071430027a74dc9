//! Causes of packet losses from captures and logs.
//!
//! [`diagnose`] reads a capture once, follows its connections, and says of each what was lost and why.
#![forbid(unsafe_code)]

pub mod anonymise;
pub mod classifiers;
mod delay;
mod error;
mod flow;
pub mod input;
pub mod loss;
pub mod packet;
pub mod portrait;
pub mod report;
mod tcp;
mod vantage;
pub mod verdict;

pub use delay::Around;
pub use error::Error;
pub use flow::{Flow, Protocol};
pub use vantage::Vantage;

use std::io::Read;

use input::{Capture, Input};
use packet::{Body, Dissector, Skipped};
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
}

/// Reads a capture or log to its end.
///
/// # Errors
/// When it is of no known kind, or cannot be read from the start. What is damaged further in is in
/// [`Diagnosis::partial`].
pub fn diagnose(reader: Box<dyn Read>, options: Options) -> Result<Diagnosis, Error> {
    match input::open(reader)? {
        Input::Capture(capture) => Ok(of_capture(capture, options)),
        Input::Json(_) => Err(Error::Header {
            kind: "a log in JSON",
            problem: "logs are not read yet".to_owned(),
        }),
    }
}

impl Diagnosis {
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
    let mut kept = Kept {
        flows: Vec::new(),
        limit: options.flows.max(1),
        dropped: 0,
    };
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
                Body::Udp(..) => {}
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
    let many = [
        (
            capture.damaged,
            "blocks could not be read and were passed over",
        ),
        (capture.untimed, "packets have no time and tell nothing"),
        (
            kept.dropped,
            "more flows are not kept, those with the fewest losses",
        ),
    ];
    diagnosis.notes.extend(
        many.into_iter()
            .filter(|(many, _)| *many > 0)
            .map(|(many, what)| format!("{many} {what}")),
    );
    diagnosis.flows = kept.flows;
    diagnosis.flows.sort_by_key(|flow| flow.span.0);
    for (index, flow) in diagnosis.flows.iter_mut().enumerate() {
        flow.number = index as u64 + 1;
    }
    diagnosis
}

/// Flows that are over.
struct Kept {
    flows: Vec<Flow>,
    limit: usize,
    dropped: u64,
}

impl Kept {
    fn extend(&mut self, flows: impl Iterator<Item = Flow>) {
        self.flows.extend(flows);
        if self.flows.len() > 2 * self.limit {
            self.flows
                .sort_by_key(|flow| std::cmp::Reverse(flow.losses.len()));
            self.dropped += (self.flows.len() - self.limit) as u64;
            self.flows.truncate(self.limit);
        }
    }
}
