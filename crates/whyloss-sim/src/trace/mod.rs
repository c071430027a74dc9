//! Writes a run as tables: windows and rates, arrivals, losses with their causes and verdicts,
//! queues, transfers.
//!
//! [`Trace`] watches a run and passes rows, batch by batch, to a [`Sink`]: [`CsvFiles`],
//! `ParquetFiles` (feature `parquet`) or a `Vec<Batch>`. Feature `arrow` makes record batches from
//! batches. [`tables`] alone defines the names of tables and the meaning of columns;
//! `docs/reference/traces.md` has the same words.
//!
//! Rows of one flow or link come in the order of their times. Losses are the exception: they are
//! written when no later verdict on them can follow. Rows of different flows or links come in the
//! order in which the engine computes them, which is not always by time.
//!
//! Memory does not grow with simulated time. A loss waits for its verdict until its packet is
//! behind the window (TCP, IFTP) or a later packet arrives (TFRC). Of all other rows, one batch is
//! kept.

#[cfg(feature = "arrow")]
pub mod arrow;
mod batch;
mod csv;
#[cfg(feature = "parquet")]
mod parquet;
mod sink;
pub mod tables;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use whyloss::{Cause, Duration, Time};
use whyloss_link::{Ecn, Fate};

pub use self::batch::{Batch, Cell, Words};
pub use self::csv::CsvFiles;
#[cfg(feature = "parquet")]
pub use self::parquet::ParquetFiles;
pub use self::sink::Sink;

use crate::observe::{Event, SourceState, Watch};
use crate::output::OutputError;
use crate::packet::Packet;
use crate::scenario::{Scenario, Transport};

use self::tables::{ARRIVALS, LINKS, LOSSES, SOURCES, TRANSFERS};

/// The number of rows of a batch, which Parquet compresses together.
const ROWS: usize = 65_536;

/// Selects the rows of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// The time of the first row.
    pub from: Time,
    /// The time of the last row, if the run does not end earlier.
    pub to: Time,
    /// The shortest time between two rows of one flow or link in `sources`, `arrivals` and `links`;
    /// zero by default. Transfers, losses, and packets that a link loses always have a row.
    pub thin: Duration,
}

impl Default for TraceOptions {
    /// Selects every row.
    fn default() -> Self {
        Self {
            from: Time::ZERO,
            to: Time::MAX,
            thin: Duration::ZERO,
        }
    }
}

/// Turns the events of a run into tables and passes them to a sink.
#[derive(Debug)]
pub struct Trace<S> {
    options: TraceOptions,
    flows: Vec<Flow>,
    links: Vec<Pace>,
    sources: Batch,
    arrivals: Batch,
    losses: Batch,
    hops: Batch,
    transfers: Batch,
    sink: S,
    error: Option<OutputError>,
}

#[derive(Debug)]
struct Flow {
    judge: Judge,
    /// The word for the sink's node in column `where`.
    node: u32,
    sources: Pace,
    arrivals: Pace,
    /// The state in the last row about the source.
    last: Option<SourceState>,
    /// Losses that may still be judged, in the order of their sequence numbers.
    pending: VecDeque<Loss>,
}

/// The end that gives verdicts on the losses of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judge {
    Nobody,
    Sender,
    Receiver,
}

#[derive(Clone, Copy, Debug)]
struct Loss {
    time: Time,
    sent: Time,
    sequence: u64,
    /// The word for the location of the loss.
    place: u32,
    truth: Cause,
    verdict: Option<(Cause, Time)>,
}

/// When the next row is due.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    next: Time,
}

impl Pace {
    /// Returns whether a row is due at `at`. If so, the next one is due `thin` later. With a `thin`
    /// of zero, every row is due, because a link that reorders packets reports some of them late.
    fn due(&mut self, at: Time, thin: Duration) -> bool {
        let due = self.next <= at || thin == Duration::ZERO;
        if due {
            self.next = at + thin;
        }
        due
    }
}

const CAUSES: [&str; 2] = ["congestion", "wireless"];
const FATES: [&str; 5] = ["congestion", "wireless", "delivered", "damaged", "marked"];
const DELIVERED: Cell = Cell::Word(2);
const DAMAGED: Cell = Cell::Word(3);
const MARKED: Cell = Cell::Word(4);

fn cause(cause: Cause) -> Cell {
    Cell::Word(match cause {
        Cause::Congestion => 0,
        Cause::Wireless => 1,
    })
}

impl<S: Sink> Trace<S> {
    /// Creates a trace of a run of `scenario` into `sink`.
    pub fn new(scenario: &Scenario, options: TraceOptions, sink: S) -> Self {
        let words = |names: &[&str]| -> Words { names.iter().map(ToString::to_string).collect() };
        let flows: Words = scenario
            .flows
            .iter()
            .map(|flow| flow.name.clone())
            .collect();
        let links: Words = scenario
            .links
            .iter()
            .map(|link| link.name.clone())
            .collect();
        let places = links.iter().chain(&scenario.nodes).cloned().collect();
        // A file of a run without ECN has no word for marks.
        let known = if scenario.uses_ecn() { 5 } else { 4 };
        let (causes, fates) = (words(&CAUSES), words(&FATES[..known]));
        Self {
            options: TraceOptions {
                to: options.to.min(scenario.end),
                ..options
            },
            flows: scenario
                .flows
                .iter()
                .map(|flow| Flow {
                    judge: match flow.transport {
                        Transport::Datagrams { .. }
                        | Transport::Rtp { .. }
                        | Transport::Web { .. } => Judge::Nobody,
                        Transport::Tcp { .. }
                        | Transport::Iftp { .. }
                        | Transport::Outside { .. }
                        | Transport::Quic { .. } => Judge::Sender,
                        Transport::Tfrc { .. } => Judge::Receiver,
                    },
                    node: (links.len() + flow.sink) as u32,
                    sources: Pace::default(),
                    arrivals: Pace::default(),
                    last: None,
                    pending: VecDeque::new(),
                })
                .collect(),
            links: vec![Pace::default(); links.len()],
            sources: Batch::new(&SOURCES, [Arc::clone(&flows)]),
            arrivals: Batch::new(&ARRIVALS, [Arc::clone(&flows)]),
            losses: Batch::new(
                &LOSSES,
                [Arc::clone(&flows), places, Arc::clone(&causes), causes],
            ),
            hops: Batch::new(&LINKS, [links, Arc::clone(&flows), fates]),
            transfers: Batch::new(&TRANSFERS, [flows]),
            sink,
            error: None,
        }
    }

    /// Passes the remaining rows to the sink after the run and returns the sink.
    ///
    /// # Errors
    /// Returns the first error of the whole run. Nothing was passed on after it, and the sink was
    /// not finished.
    pub fn finish(mut self) -> Result<S, OutputError> {
        for flow in 0..self.flows.len() {
            self.settle(flow, u64::MAX);
        }
        let packets = [&self.sources, &self.arrivals, &self.losses, &self.hops];
        let batches = packets.into_iter().chain([&self.transfers]);
        for batch in batches.filter(|batch| !batch.is_empty()) {
            if self.error.is_none() {
                self.error = self.sink.write(batch).err();
            }
        }
        // After an error, the sink is dropped unfinished. A table with missing rows would look
        // complete.
        match self.error {
            Some(error) => Err(error),
            None => self.sink.finish().map(|()| self.sink),
        }
    }

    /// Returns whether rows of this time are wanted and can be written.
    fn wants(&self, at: Time) -> bool {
        self.options.from <= at && at <= self.options.to && self.error.is_none()
    }

    /// Passes on the losses of packets before `sequence`, which can get no more verdicts.
    fn settle(&mut self, flow: usize, sequence: u64) {
        while let Some(loss) = self.flows[flow]
            .pending
            .pop_front_if(|loss| loss.sequence < sequence)
        {
            self.write_loss(flow, &loss);
        }
    }

    fn write_loss(&mut self, flow: usize, loss: &Loss) {
        if !self.wants(loss.time) {
            return;
        }
        let (verdict, when) = loss.verdict.unzip();
        self.losses.push([
            time(loss.time),
            word(flow),
            Cell::Whole(loss.sequence),
            Cell::Word(loss.place),
            cause(loss.truth),
            verdict.map_or(Cell::None, cause),
            when.map_or(Cell::None, time),
            time(loss.sent),
        ]);
        hand_on(&mut self.losses, &mut self.sink, &mut self.error);
    }

    /// Records the loss of a data packet.
    fn lost(&mut self, packet: &Packet, time: Time, place: u32, truth: Cause) {
        let Some(sequence) = packet.payload.sequence().filter(|_| !packet.copy) else {
            return;
        };
        let flow = packet.flow as usize;
        let loss = Loss {
            time,
            sent: packet.sent,
            sequence,
            place,
            truth,
            verdict: None,
        };
        if self.flows[flow].judge == Judge::Nobody {
            self.write_loss(flow, &loss);
            return;
        }
        let pending = &mut self.flows[flow].pending;
        match pending.binary_search_by_key(&sequence, |loss| loss.sequence) {
            Ok(index) => {
                // The packet is a retransmission, so later verdicts refer to it.
                let before = std::mem::replace(&mut pending[index], loss);
                self.write_loss(flow, &before);
            }
            Err(index) => pending.insert(index, loss),
        }
    }
}

/// Passes on a full batch.
fn hand_on(batch: &mut Batch, sink: &mut impl Sink, error: &mut Option<OutputError>) {
    if batch.len() >= ROWS {
        *error = sink.write(batch).err();
        batch.clear();
    }
}

fn time(at: Time) -> Cell {
    // Runs are four orders of magnitude shorter than the limit.
    Cell::Nanos(at.as_nanos().cast_signed())
}

fn span(span: Duration) -> Cell {
    Cell::Nanos(span.as_nanos())
}

fn word(index: usize) -> Cell {
    Cell::Word(index as u32)
}

impl<S: Sink> Watch for Trace<S> {
    fn on(&mut self, event: &Event<'_>) {
        match *event {
            Event::Offered {
                link,
                at,
                packet,
                waiting,
                fate,
                marked,
            } => {
                let (word_of_fate, done) = match fate {
                    Fate::Delivered(arrival) if marked => (MARKED, arrival),
                    Fate::Delivered(arrival) => (DELIVERED, arrival),
                    Fate::Damaged(arrival, _) => (DAMAGED, arrival),
                    Fate::Lost(truth, when) => (cause(truth), when),
                    // An offer is reported once its fate is known.
                    Fate::Held => return,
                };
                let lost = matches!(fate, Fate::Lost(..));
                if self.wants(at) && (self.links[link].due(at, self.options.thin) || lost) {
                    self.hops.push([
                        time(at),
                        word(link),
                        Cell::Word(packet.flow),
                        Cell::Whole(u64::from(packet.size)),
                        Cell::Whole(waiting as u64),
                        word_of_fate,
                        time(done),
                    ]);
                    hand_on(&mut self.hops, &mut self.sink, &mut self.error);
                }
                if let Fate::Lost(truth, when) = fate {
                    self.lost(packet, when, link as u32, truth);
                }
            }
            Event::Dropped { flow, at, packet } => {
                self.lost(packet, at, self.flows[flow].node, Cause::Wireless);
            }
            Event::Arrived {
                flow, at, packet, ..
            } => {
                let Some(sequence) = packet.payload.sequence() else {
                    return;
                };
                if self.flows[flow].judge == Judge::Receiver {
                    self.settle(flow, sequence);
                }
                if self.wants(at) && self.flows[flow].arrivals.due(at, self.options.thin) {
                    let damage = packet.is_damaged().then_some(packet.first_damaged);
                    self.arrivals.push([
                        time(at),
                        word(flow),
                        Cell::Whole(sequence),
                        span(at - packet.sent),
                        Cell::Whole(u64::from(packet.size)),
                        damage.map_or(Cell::None, |bit| Cell::Whole(u64::from(bit))),
                        if packet.ecn == Ecn::Marked {
                            Cell::Whole(1)
                        } else {
                            Cell::None
                        },
                    ]);
                    hand_on(&mut self.arrivals, &mut self.sink, &mut self.error);
                }
            }
            Event::Judged {
                flow,
                at,
                sequence,
                verdict,
                ..
            } => {
                let pending = &mut self.flows[flow].pending;
                if let Ok(index) = pending.binary_search_by_key(&sequence, |loss| loss.sequence) {
                    pending[index].verdict = Some((verdict, at));
                }
            }
            Event::Acted { flow, at, state } => self.acted(flow, at, state),
            Event::Transfer {
                flow,
                began,
                done,
                size,
            } if self.wants(began) => {
                self.transfers.push([
                    time(began),
                    word(flow),
                    Cell::Whole(size),
                    done.map_or(Cell::None, time),
                ]);
                hand_on(&mut self.transfers, &mut self.sink, &mut self.error);
            }
            _ => {}
        }
    }
}

impl<S: Sink> Trace<S> {
    /// Writes a source's state, if it changed and is due.
    fn acted(&mut self, flow: usize, at: Time, state: &SourceState) {
        if self.flows[flow].judge == Judge::Sender {
            self.settle(flow, state.una);
        }
        if !self.wants(at) {
            return;
        }
        let of = &mut self.flows[flow];
        // The left edge has no column, so it must not cause rows.
        let state = SourceState { una: 0, ..*state };
        if of.last != Some(state) && of.sources.due(at, self.options.thin) {
            of.last = Some(state);
            let whole = |value: Option<u64>| value.map_or(Cell::None, Cell::Whole);
            let seconds = |value: Option<Duration>| value.map_or(Cell::None, span);
            self.sources.push([
                time(at),
                word(flow),
                whole(state.cwnd),
                whole(state.ssthresh),
                whole(state.in_flight),
                state.rate.map_or(Cell::None, Cell::Real),
                seconds(state.rtt),
                seconds(state.srtt),
                seconds(state.rto),
            ]);
            hand_on(&mut self.sources, &mut self.sink, &mut self.error);
        }
    }
}
