//! Finds the causes of packet losses in captures and logs, and fits channels to recordings
//! ([`fit`]).
//!
//! [`diagnose`] reads a capture once, follows its connections, and finds the lost packets of each
//! with their causes.
//!
//! ```
//! use whyloss_diagnose::{Options, diagnose, report};
//!
//! # let mut log = String::from("{\"qlog_format\":\"JSON-SEQ\",\"trace\":{}}\n");
//! # for number in 0..10 {
//! #     log += &format!(
//! #         "{{\"time\":{number},\"name\":\"transport:packet_sent\",\"data\":{{\"header\":\
//! #          {{\"packet_type\":\"1RTT\",\"packet_number\":{number}}},\"raw\":{{\"length\":1200}}}}}}\n"
//! #     );
//! # }
//! # log += "{\"time\":30,\"name\":\"transport:packet_received\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\
//! #         \"packet_number\":1},\"frames\":[{\"frame_type\":\"ack\",\"acked_ranges\":[[0,3],[5,9]]}]}}\n";
//! # log += "{\"time\":31,\"name\":\"recovery:packet_lost\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\
//! #         \"packet_number\":4}}}\n";
//! // `log` is a QUIC server's: of ten packets it declared number 4 lost.
//! let diagnosis = diagnose(Box::new(std::io::Cursor::new(log)), Options::default())?;
//! let text = report::text::render(&diagnosis, None);
//! assert!(text.contains("flow 1: 1 packet of 10 lost. "), "{text}");
//! // One loss is too few for shares of causes, and the report says so.
//! assert!(text.contains("cannot tell       shares of causes with any certainty"), "{text}");
//! # Ok::<(), whyloss_diagnose::Error>(())
//! ```
#![forbid(unsafe_code)]

pub mod anonymise;
mod arrivals;
mod captured;
pub mod classifiers;
mod delay;
mod error;
pub mod fit;
pub mod flow;
pub mod input;
mod ledger;
pub mod loss;
pub mod memory;
mod missing;
mod network;
mod order;
pub mod packet;
pub mod portrait;
mod quic;
mod rates;
pub mod report;
mod rtp;
mod stamps;
mod steps;
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
use std::fs::File;
use std::io::Read;
use std::path::Path;

use input::Input;
use input::json::Record;
use memory::Memory;
use packet::Skipped;

/// The limits of a diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The maximum number of connections followed at a time; 10,000 by default. If more are
    /// open at a time, those idle the longest count as closed.
    pub connections: usize,
    /// The number of flows kept, those with the most losses; 10,000 by default.
    pub flows: usize,
    /// The number of bytes of memory that a diagnosis may take, without decompression; 1 GiB by
    /// default. At the limit, the longest-idle connections are closed, and the flows with the
    /// fewest losses are dropped. [`Diagnosis::notes`] report this.
    pub memory: u64,
    /// The number of bytes of [`Self::memory`] that the caller uses for something else, such as a
    /// [`Truth`](truth::Truth).
    pub taken: u64,
}

impl Options {
    /// Returns the bytes of memory left for a diagnosis.
    fn free(&self) -> u64 {
        self.memory.saturating_sub(self.taken)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connections: 10_000,
            flows: 10_000,
            memory: memory::DEFAULT,
            taken: 0,
        }
    }
}

/// The diagnosis of a capture or log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnosis {
    /// The flows, in the order of their first packets.
    pub flows: Vec<Flow>,
    /// The number of frames or records read.
    pub frames: u64,
    /// The number of frames without a readable packet, by reason.
    pub skipped: Skipped,
    /// Notes about the whole input, one sentence each.
    pub notes: Vec<String>,
    /// The reason why the input ended early, in which case the result covers the part before;
    /// `None` if it did not.
    pub partial: Option<String>,
    /// The score against a network's own log; `None` before [`Self::compare`].
    pub score: Option<truth::Score>,
}

/// Reads a capture or log to its end.
///
/// # Errors
/// Returns an error if the input is of no known kind, or cannot be read from the start. Later
/// damage ends the reading and is reported in [`Diagnosis::partial`].
pub fn diagnose(reader: Box<dyn Read>, options: Options) -> Result<Diagnosis, Error> {
    match input::open(reader)? {
        Input::Capture(capture) => Ok(captured::diagnose(capture, options)),
        Input::Json(log) => of_log(log, options),
    }
}

/// Reads a file, or a directory that `whyloss link --log` or `whyloss run --trace` wrote.
///
/// # Errors
/// Returns the errors of [`diagnose`], and an error for any other directory.
pub fn diagnose_path(path: &Path, options: Options) -> Result<Diagnosis, Error> {
    if path.is_dir() {
        let log = path.join("packets.jsonl");
        if log.is_file() {
            return diagnose(Box::new(File::open(log)?), options);
        }
        let table = path.join("packets.parquet");
        if table.is_file() {
            return network::of_table(&table, options);
        }
        if network::simulated::is_here(path) {
            return network::simulated::read(path, options);
        }
        return Err(Error::Directory);
    }
    let read = diagnose(Box::new(File::open(path)?), options);
    if let Err(Error::Piped) = read {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if network::simulated::is_table(&name) {
            return Err(Error::OneTable);
        }
        return network::of_table(path, options);
    }
    read
}

impl Diagnosis {
    /// Stores the flows in the order of their first packets, and numbers them.
    fn number(&mut self, mut flows: Vec<Flow>) {
        flows.sort_by_key(|flow| flow.span.0);
        for (number, flow) in (1..).zip(&mut flows) {
            flow.number = number;
        }
        self.flows = flows;
    }

    /// Returns the flows that lost the most packets, at most `most`, in the order of their numbers.
    /// Of two that lost as many, a slow path precedes. With `one`, returns only the flow with this
    /// number.
    pub fn worst(&self, one: Option<u64>, most: usize) -> Vec<&Flow> {
        let chosen = |flow: &&Flow| one.is_none_or(|one| flow.number == one);
        let mut worst: Vec<&Flow> = self.flows.iter().filter(chosen).collect();
        worst.sort_by_key(|flow| {
            let lost = flow.portrait.by_cause.total();
            Reverse((lost, report::summary::is_slow(flow), Reverse(flow.number)))
        });
        worst.truncate(most);
        worst.sort_by_key(|flow| flow.number);
        worst
    }

    /// Replaces all addresses by those of `anonymiser`.
    pub fn anonymise(&mut self, anonymiser: &anonymise::Anonymiser) {
        for flow in &mut self.flows {
            flow.source = anonymiser.socket(flow.source);
            flow.destination = anonymiser.socket(flow.destination);
        }
    }
}

fn of_log(log: Box<dyn Read>, options: Options) -> Result<Diagnosis, Error> {
    let memory = Memory::new(options.free());
    let mut quic = quic::Log::new(options.connections, memory.clone());
    let mut kept = Kept::new(options.flows, memory);
    let mut emulated: Option<network::Emulated> = None;
    let mut traces = 0;
    let partial = input::json::read(log, &mut |record| {
        let mut done = |flows: Vec<Flow>| kept.extend(flows.into_iter());
        match (record, &mut emulated) {
            (Record::Event(record), Some(emulated)) => emulated.on_record(record),
            (Record::Event(record), none) if traces == 0 && network::Emulated::knows(&record) => {
                none.get_or_insert_with(|| network::Emulated::new(options))
                    .on_record(record);
            }
            (Record::Trace(about), _) => {
                traces += 1;
                quic.on_trace(&about, &mut done);
            }
            (Record::Event(event), _) if traces > 0 || quic::Log::knows(&event) => {
                traces += 1;
                quic.on_event(event, &mut done);
            }
            (Record::Event(_), _) => {
                return Err(Error::Header {
                    kind: "JSON",
                    problem: "its first record is neither an event of a qlog nor a packet of an emulated link's log".to_owned(),
                });
            }
        }
        Ok(())
    })?;
    if let Some(emulated) = emulated {
        let mut diagnosis = emulated.finish();
        diagnosis.partial = partial.or(diagnosis.partial);
        return Ok(diagnosis);
    }
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
        (
            quic.unnamed,
            "events are about a connection whose id is too long, and were passed over",
        ),
        (kept.dropped, DROPPED),
    ]);
    diagnosis.notes.extend(shortages(
        options,
        [
            (
                quic.short,
                "connections, those that were quiet for longest, were closed early",
            ),
            (kept.forgotten, FORGOTTEN),
        ],
    ));
    diagnosis.number(kept.flows);
    Ok(diagnosis)
}

const DROPPED: &str = "more flows are not kept, those with the fewest losses";
const FORGOTTEN: &str = "flows, those with the fewest losses, were dropped";

/// Returns a note for each part that the memory limit cut short.
fn shortages<const N: usize>(options: Options, many: [(u64, &str); N]) -> Vec<String> {
    let budget = memory::name(options.memory);
    let said = notes(many).into_iter();
    said.map(|what| format!("{what}: the memory limit of {budget} (`--memory`) was reached"))
        .collect()
}

/// Returns a note for each event that happened.
fn notes<const N: usize>(many: [(u64, &str); N]) -> Vec<String> {
    let happened = many.into_iter().filter(|(many, _)| *many > 0);
    happened
        .map(|(many, what)| format!("{many} {what}"))
        .collect()
}

/// The finished flows.
struct Kept {
    flows: Vec<Flow>,
    limit: usize,
    memory: Memory,
    bytes: usize,
    /// The number of flows dropped, because of their limit or of the memory limit.
    dropped: u64,
    forgotten: u64,
}

impl Kept {
    fn new(limit: usize, memory: Memory) -> Self {
        Self {
            flows: Vec::new(),
            limit: limit.max(1),
            memory,
            bytes: 0,
            dropped: 0,
            forgotten: 0,
        }
    }

    fn extend(&mut self, flows: impl Iterator<Item = Flow>) {
        for flow in flows {
            self.bytes += flow.memory();
            self.flows.push(flow);
            self.memory.keep(self.bytes);
        }
        let limit = self.limit;
        if self.flows.len() > 2 * limit {
            self.dropped += self.truncate(|many, _| many > limit);
        }
        let most = self.memory.kept_limit();
        if self.bytes > most && self.memory.is_short() {
            // Drops a few more flows than necessary, so that drops are rare.
            self.forgotten += self.truncate(|_, bytes| bytes > most - most / 8);
        }
    }

    /// Drops the flows with the fewest losses while `too_many` holds for their number and bytes.
    /// Returns the number of dropped flows.
    fn truncate(&mut self, too_many: impl Fn(usize, usize) -> bool) -> u64 {
        let before = self.flows.len();
        self.flows.sort_by_key(|flow| Reverse(flow.losses.len()));
        while too_many(self.flows.len(), self.bytes)
            && let Some(flow) = self.flows.pop()
        {
            self.bytes -= flow.memory();
        }
        self.memory.keep(self.bytes);
        (before - self.flows.len()) as u64
    }
}
