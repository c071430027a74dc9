//! Reads a network's own record of every packet: the log of an emulated link, or the tables of a
//! simulated run.
//!
//! A network's own record holds the departure of each packet, its arrival, or the time and cause of
//! its loss. Losses and causes are therefore exact ([`Evidence::Log`], a confidence of 1). Receiver
//! classifiers still judge each gap, as if they were at the far end, and are scored against the
//! truth.
//!
//! ```text
//! number     the transmission's position among those of its flow, in the order in which they left,
//!            retransmissions included
//! delay      from its source to its sink, or over all links of the log
//! ```

mod emulated;
pub(crate) mod simulated;
pub(crate) mod table;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

use whyloss::{Cause, Time};

use crate::arrivals::{Arrivals, Arrived};
use crate::delay::Delays;
use crate::flow::{Direction, Flow, Protocol};
use crate::loss::{Evidence, Loss, Side, Sure};
use crate::memory::{self, Memory};
use crate::steps::step;
use crate::truth::{Fate, Score};
use crate::vantage::Vantage;
use crate::{DROPPED, Diagnosis, FORGOTTEN, Kept, Options, notes, shortages};

pub(crate) use emulated::{Emulated, of_table, packets};

/// The maximum number of packets in a log. Each is kept until the end, because a log is in the
/// order in which fates became known.
const PACKETS: usize = 1 << 22;
/// The epoch of the clock that classifiers see, so that no time is negative.
const EPOCH: u64 = 1 << 61;

/// The bytes of memory of a packet until the end, of a flow, and of a location of losses. Names are
/// extra.
const PACKET: usize = 240;
const FLOW: usize = 1024;
const PLACE: usize = 256;

/// The limits on a log: a number of packets, and memory.
struct Room {
    options: Options,
    memory: Memory,
    packets: usize,
    full: Option<String>,
}

impl Room {
    fn new(options: Options, memory: Memory) -> Self {
        Self {
            options,
            memory,
            packets: 0,
            full: None,
        }
    }

    /// Returns whether `bytes` more bytes fit, and counts them if they do.
    fn takes(&mut self, bytes: usize) -> bool {
        if self.full.is_none() && !self.memory.has_room(bytes) {
            let budget = memory::name(self.options.memory);
            self.full = Some(format!(
                "it does not fit into the memory limit of {budget} (`--memory`)"
            ));
        }
        if self.full.is_none() {
            self.memory.alive(0, bytes);
        }
        self.full.is_none()
    }

    /// Releases the memory of `packets` packets, and of the flow whose name has this length, if
    /// given.
    fn gives(&self, packets: usize, name: Option<usize>) {
        let flow = name.map_or(0, |name| FLOW + 2 * name);
        self.memory.alive(packets * PACKET + flow, 0);
    }

    /// Returns whether another packet fits, and counts it if it does.
    fn takes_packet(&mut self) -> bool {
        if self.full.is_none() && self.packets >= PACKETS {
            self.full = Some(format!("it has more than {PACKETS} packets"));
        }
        let fits = self.takes(PACKET);
        self.packets += usize::from(fits);
        fits
    }

    /// Returns whether another flow with a name of this length fits, and counts it if it does.
    fn takes_flow(&mut self, name: usize) -> bool {
        self.takes(FLOW + 2 * name)
    }
}

/// One packet on its path through a network.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    /// The departure from the source, in ns.
    sent: u64,
    /// A number that distinguishes packets that left at the same time.
    tie: u64,
    /// The offset of TCP's first byte, or the packet's number.
    offset: u64,
    bytes: u32,
    /// The line or row of the packet.
    frame: u64,
    /// The number of links that the packet reached.
    hops: u32,
    outcome: Outcome,
}

/// The fate of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The packet arrived at this time, in ns.
    Arrived(u64),
    /// The network lost the packet at this time, in ns, for this cause.
    Lost(u64, Cause),
    /// The emulator lost the packet.
    Fault,
    /// The record ends before the fate is known.
    Open,
}

/// The packets of a network by flow, and the links that lost some.
struct Network {
    places: Vec<String>,
    by_name: HashMap<String, u32>,
    lost: BTreeMap<u32, [u64; 2]>,
    faults: u64,
    room: Room,
    kept: Kept,
    score: Score,
}

/// The facts about a flow besides its packets.
struct About {
    protocol: Protocol,
    ends: [SocketAddr; 2],
    name: Option<String>,
    /// The shortest round trip, in ms.
    base_rtt_ms: Option<f64>,
    first_sequence: u32,
}

impl Network {
    fn new(options: Options) -> Self {
        let memory = Memory::new(options.free());
        Self {
            places: Vec::new(),
            by_name: HashMap::new(),
            lost: BTreeMap::new(),
            faults: 0,
            room: Room::new(options, memory.clone()),
            kept: Kept::new(options.flows, memory),
            score: Score::default(),
        }
    }

    /// Returns the number of the link with this name; `None` if the memory limit is reached.
    fn place(&mut self, name: &str) -> Option<u32> {
        step(1);
        if let Some(&known) = self.by_name.get(name) {
            return Some(known);
        }
        if !self.room.takes(PLACE + 3 * name.len()) {
            return None;
        }
        let new = self.places.len() as u32;
        self.places.push(name.to_owned());
        self.by_name.insert(name.to_owned(), new);
        Some(new)
    }

    /// Counts a packet lost at this link.
    fn count(&mut self, place: u32, cause: Cause) {
        self.lost.entry(place).or_default()[usize::from(cause == Cause::Wireless)] += 1;
    }

    /// Adds a flow with all its packets.
    fn flow(&mut self, about: About, mut sent: Vec<Transmission>) {
        sent.sort_by_key(|one| (one.sent, one.tie));
        let mut arrivals = replay(&sent);
        let mut known: HashMap<u64, Loss> = HashMap::new();
        for loss in arrivals.ledger.losses.drain(..) {
            known.insert(loss.offset, loss);
        }
        let mut highest = None;
        let mut losses = Vec::new();
        for (number, one) in (0_u64..).zip(&sent) {
            let again = highest.is_some_and(|highest| one.offset <= highest);
            highest = highest.max(Some(one.offset));
            arrivals.ledger.counts.retransmissions += u64::from(again);
            self.faults += u64::from(one.outcome == Outcome::Fault);
            arrivals.ledger.counts.unresolved += u64::from(one.outcome == Outcome::Open);
            let Outcome::Lost(at, cause) = one.outcome else {
                continue;
            };
            let gap = known.remove(&number);
            losses.push(Loss {
                time: at,
                frame: one.frame,
                offset: one.offset,
                bytes: one.bytes,
                packets: 1,
                side: Side::Before,
                retransmission: again,
                evidence: Evidence::Log,
                // A gap at the end, without a later packet, reached no classifier.
                event: gap.and_then(|gap| gap.event),
                order: number,
                around: gap.map_or_else(|| arrivals.one_way.around(number), |gap| gap.around),
                run: 1,
                verdict: Some(Sure {
                    cause,
                    confidence: 1.0,
                }),
                truth: Some(Fate::Lost(cause)),
            });
        }
        runs(&mut losses);
        for loss in losses {
            arrivals.ledger.keep(loss);
        }
        let first = sent.first().map_or(0, |one| one.sent);
        let last = sent.last().map_or(first, |one| one.sent);
        let end = arrivals.span.map_or(last, |span| span.1.max(last));
        let mut flow = Flow::of_record(Direction {
            protocol: about.protocol,
            ends: about.ends,
            span: (first, end),
            vantage: Vantage::Log,
            delivered: arrivals.received,
            largest: arrivals.largest,
            ledger: arrivals.ledger,
            delays: Delays::default(),
            one_way: arrivals.one_way,
            rates: arrivals.rates,
        });
        flow.name = about.name;
        flow.first_sequence = about.first_sequence;
        flow.portrait.base_rtt_ms = about.base_rtt_ms;
        self.score.hear(&flow);
        let name = flow.name.as_ref().map_or(0, String::len);
        self.room.gives(sent.len(), Some(name));
        drop(sent);
        self.kept.extend(std::iter::once(flow));
    }

    /// Ends the input and returns the diagnosis.
    fn finish(self) -> Diagnosis {
        let kept = self.kept;
        let mut diagnosis = Diagnosis {
            score: Some(self.score),
            ..Diagnosis::default()
        };
        for (place, [congestion, wireless]) in &self.lost {
            let name = self.places.get(*place as usize);
            let name = name.map_or("?", String::as_str);
            diagnosis.notes.push(format!(
                "lost at `{name}`: {congestion} by its queue, {wireless} by its channel"
            ));
        }
        diagnosis.notes.extend(notes([
            (
                self.faults,
                "packets were lost by what measured, and count for nothing",
            ),
            (kept.dropped, DROPPED),
        ]));
        let options = self.room.options;
        diagnosis
            .notes
            .extend(shortages(options, [(kept.forgotten, FORGOTTEN)]));
        diagnosis.partial = self.room.full;
        diagnosis.number(kept.flows);
        diagnosis
    }
}

/// Replays the arrivals in order of time.
fn replay(sent: &[Transmission]) -> Arrivals {
    let mut order: Vec<(u64, u64)> = (0_u64..)
        .zip(sent)
        .filter_map(|(number, one)| match one.outcome {
            Outcome::Arrived(at) => Some((at, number)),
            _ => None,
        })
        .collect();
    order.sort_unstable();
    let mut arrivals = Arrivals::singly();
    // Numbers missing before the first arrival count as a gap.
    arrivals.expect(0);
    for (at, number) in order {
        let one = &sent[number as usize];
        let delay = at.saturating_sub(one.sent) / 1000;
        let left = Time::from_nanos(EPOCH.saturating_add(one.sent));
        arrivals.on_packet(Arrived {
            now: at,
            frame: one.frame,
            number,
            bytes: one.bytes,
            sent: Some((left, delay.min(u64::from(u32::MAX)) as u32)),
        });
    }
    arrivals.finish();
    arrivals
}

/// Sets in each loss the length of its run of consecutive losses.
fn runs(losses: &mut [Loss]) {
    for row in losses.chunk_by_mut(|one, next| next.order == one.order + 1) {
        let many = row.len() as u32;
        for loss in row {
            loss.run = many;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_take_steps_in_proportion() {
        crate::steps::assert_linear(1000, 2, |many| {
            let mut network = Network::new(Options::default());
            for place in 0..many {
                assert_eq!(network.place(&place.to_string()), Some(place as u32));
                assert_eq!(network.place("0"), Some(0));
            }
        });
    }
}
