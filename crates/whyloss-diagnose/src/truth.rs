//! The losses that a network reports, beside those that a diagnosis found.
//!
//! A network that keeps a log (`whyloss link --log`) knows of every packet whether it arrived, and
//! why not. [`Truth`] takes that log packet by packet; [`Diagnosis::compare`] finds the packet of
//! each loss by addresses, sequence number and time, and counts.
//!
//! Clocks need not agree. Sequence numbers that were lost once, and found once, tell how far they
//! are apart (the median); of a number that was lost several times each loss found takes the one
//! whose time is nearest by that.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;

use whyloss::{Cause, Confusion};

use crate::classifiers::{receivers, senders};
use crate::flow::Flow;
use crate::loss::{Loss, Side};
use crate::{Diagnosis, Error, Options};

/// IP packets of at most so many bytes may be bare acknowledgements: IPv4's and TCP's headers with
/// all of TCP's options.
pub(crate) const BARE: u32 = 80;

/// One packet at one link, as a network's log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Who sent it.
    pub source: SocketAddr,
    /// Who should have received it.
    pub destination: SocketAddr,
    /// TCP's sequence number.
    pub sequence: u32,
    /// The packet among all packets, the same at each link, in the order in which they were sent.
    pub packet: u64,
    /// Bytes of the IP packet.
    pub bytes: u32,
    /// When it reached the link, ns, on any clock.
    pub time: u64,
    /// Its fate.
    pub fate: Fate,
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The network lost it.
    Lost(Cause),
    /// The emulator lost it, which tells nothing of the network.
    Fault,
    /// It left the link whole.
    Arrived,
}

impl Fate {
    /// A word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lost(cause) => crate::report::name(cause),
            Self::Fault => "fault",
            Self::Arrived => "arrived",
        }
    }
}

/// A packet that never arrived.
#[derive(Clone, Copy, Debug)]
struct Lost {
    sequence: u32,
    time: u64,
    fate: Fate,
    again: bool,
    /// Whether it certainly had data.
    data: bool,
    found: bool,
}

/// The losses of a network.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    connections: HashMap<[SocketAddr; 2], Packets>,
    /// Bytes that it takes.
    bytes: u64,
}

/// Bytes of a connection, of a number that had data, and of a packet that was lost.
const CONNECTION: u64 = 512;
const NUMBER: u64 = 40;
const LOSS: u64 = 2 * size_of::<Lost>() as u64;

#[derive(Clone, Debug, Default)]
struct Packets {
    /// Of each number the packet that had it first.
    first: HashMap<u32, u64>,
    lost: Vec<Lost>,
}

impl Truth {
    /// Takes the log that `whyloss link --log` wrote into this directory.
    ///
    /// # Errors
    /// If there is none, it cannot be read, or it takes more than half of [`Options::memory`].
    pub fn read(directory: &Path, options: Options) -> Result<Self, Error> {
        let mut truth = Self::default();
        crate::network::packets(directory, &mut |passage| {
            truth.add(passage);
            truth.bytes <= options.memory / 2
        })?;
        Ok(truth)
    }

    /// Returns the bytes that it takes, for [`Options::taken`].
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes the next line of the log.
    pub fn add(&mut self, passage: &Passage) {
        let ends = [passage.source, passage.destination];
        let packets = self.connections.entry(ends).or_insert_with(|| {
            self.bytes += CONNECTION;
            Packets::default()
        });
        let data = passage.bytes > BARE;
        let mut again = false;
        if data {
            let first = packets.first.entry(passage.sequence);
            let first = *first.or_insert_with(|| {
                self.bytes += NUMBER;
                passage.packet
            });
            again = first != passage.packet;
        }
        if passage.fate != Fate::Arrived {
            self.bytes += LOSS;
            packets.lost.push(Lost {
                sequence: passage.sequence,
                time: passage.time,
                fate: passage.fate,
                again,
                data,
                found: false,
            });
        }
    }
}

/// How a diagnosis did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// Packets with data that the network lost while the flows were captured, and that were made up
    /// for before the end: first transmissions and repeated ones.
    pub lost: [u64; 2],
    /// Those of them that were found.
    pub found: [u64; 2],
    /// Losses found that the network does not know of.
    pub unfounded: u64,
    /// Packets that were lost by what measured: they count for nothing.
    pub faults: u64,
    /// Losses found of which no verdict was given.
    pub silent: u64,
    /// Combined verdicts.
    pub combined: Confusion,
    /// Verdicts of classifiers, those of senders first, in the order of their registries.
    pub classifiers: Vec<(&'static str, Confusion)>,
}

impl Score {
    fn new() -> Self {
        let ids = senders().map(|entry| entry.id);
        let ids = ids.chain(receivers().map(|entry| entry.id));
        Self {
            classifiers: ids.map(|id| (id, Confusion::default())).collect(),
            ..Self::default()
        }
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        if self.classifiers.is_empty() {
            self.classifiers = Self::new().classifiers;
        }
        for index in 0..2 {
            self.lost[index] += other.lost[index];
            self.found[index] += other.found[index];
        }
        self.unfounded += other.unfounded;
        self.faults += other.faults;
        self.silent += other.silent;
        self.combined.merge(&other.combined);
        for (mine, theirs) in self.classifiers.iter_mut().zip(&other.classifiers) {
            mine.1.merge(&theirs.1);
        }
    }

    /// Counts a loss that was found, and that the network knows of.
    fn count(&mut self, flow: &Flow, loss: &Loss, truth: Cause) {
        match loss.verdict {
            Some(verdict) => self.combined.record(truth, verdict.cause),
            None => self.silent += 1,
        }
        self.ask(flow, loss, truth);
    }

    /// Counts what classifiers said of a flow whose causes are known from the start.
    pub(crate) fn hear(&mut self, flow: &Flow) {
        if self.classifiers.is_empty() {
            self.classifiers = Self::new().classifiers;
        }
        for loss in &flow.losses {
            if let Some(Fate::Lost(cause)) = loss.truth {
                self.ask(flow, loss, cause);
            }
        }
    }

    fn ask(&mut self, flow: &Flow, loss: &Loss, truth: Cause) {
        let Some(event) = loss.event.and_then(|event| flow.events.get(event as usize)) else {
            return;
        };
        let (from, many) = match event.detection {
            Some(_) => (0, senders().count()),
            None => (senders().count(), receivers().count()),
        };
        for index in 0..many {
            if let Some(cause) = event.votes.of(index) {
                self.classifiers[from + index].1.record(truth, cause);
            }
        }
    }
}

impl Diagnosis {
    /// Sets each loss beside what the network says: [`Loss::truth`] and [`Diagnosis::score`].
    ///
    /// One truth serves any number of diagnoses.
    pub fn compare(&mut self, truth: &mut Truth) {
        let mut score = Score::new();
        for packets in truth.connections.values_mut() {
            for lost in &mut packets.lost {
                lost.found = false;
            }
        }
        for flow in &mut self.flows {
            if let Some(packets) = truth.connections.get_mut(&[flow.source, flow.destination]) {
                packets.lost.sort_by_key(|lost| lost.sequence);
                flow.compare(&mut packets.lost, &mut score);
            }
        }
        self.score = Some(score);
    }
}

impl Flow {
    fn compare(&mut self, lost: &mut [Lost], score: &mut Score) {
        let offset = |loss: &Loss, lost: &Lost| i128::from(loss.time) - i128::from(lost.time);
        let pairs: Vec<Vec<usize>> = self
            .losses
            .iter()
            .map(|loss| candidates(self.first_sequence, loss, lost))
            .collect();
        // Gaps show later than what passes: the two sides have clocks of their own, so to speak.
        let clocks = [Side::Before, Side::Beyond].map(|side| {
            let mine = self.losses.iter().zip(&pairs);
            let mine = mine.filter(|(loss, pair)| loss.side == side && pair.len() == 1);
            median(
                mine.map(|(loss, pair)| offset(loss, &lost[pair[0]]))
                    .collect(),
            )
        });
        let clock = |side: Side| clocks[usize::from(side == Side::Beyond)];
        let mut distances: Vec<(u128, usize, usize)> = Vec::new();
        for (index, (loss, pair)) in self.losses.iter().zip(&pairs).enumerate() {
            let clock = clock(loss.side).or(clocks[0]).or(clocks[1]);
            distances.extend(pair.iter().map(|&other| {
                let apart = offset(loss, &lost[other]);
                (
                    (apart - clock.unwrap_or(apart)).unsigned_abs(),
                    index,
                    other,
                )
            }));
        }
        distances.sort_unstable();
        let mut taken = vec![0; self.losses.len()];
        for (_, index, other) in distances {
            let loss = &mut self.losses[index];
            if lost[other].found || taken[index] >= loss.packets {
                continue;
            }
            taken[index] += 1;
            lost[other].found = true;
            // Of a piece of several packets: a queue that lost one of them is what matters.
            if loss.truth != Some(Fate::Lost(Cause::Congestion)) {
                loss.truth = Some(lost[other].fate);
            }
        }
        // With nothing to set the clocks by, all that the network lost counts.
        let within = |lost: &&Lost| {
            clocks[1].or(clocks[0]).is_none_or(|clock| {
                let time = i128::from(lost.time) + clock;
                i128::from(self.span.0) <= time && time <= i128::from(self.span.1)
            })
        };
        // Unacknowledged data at the end may still be under way.
        let (first, acknowledged) = (self.first_sequence, self.acknowledged);
        let over = |lost: &&Lost| {
            let offset = u64::from(lost.sequence.wrapping_sub(first));
            lost.found || acknowledged == 0 || offset < acknowledged
        };
        for lost in lost.iter().filter(within).filter(over) {
            if lost.fate == Fate::Fault {
                score.faults += 1;
            } else if lost.data || lost.found {
                score.lost[usize::from(lost.again)] += 1;
                score.found[usize::from(lost.again)] += u64::from(lost.found);
            }
        }
        self.count(score);
    }

    fn count(&mut self, score: &mut Score) {
        for loss in &mut self.losses {
            loss.truth.get_or_insert(Fate::Arrived);
        }
        for loss in &self.losses {
            match loss.truth {
                Some(Fate::Lost(cause)) => score.count(self, loss, cause),
                Some(Fate::Arrived) => score.unfounded += 1,
                _ => {}
            }
        }
    }
}

/// Indices of the packets that may be that loss; `lost` is in the order of sequence numbers.
fn candidates(first: u32, loss: &Loss, lost: &[Lost]) -> Vec<usize> {
    let start = first.wrapping_add(loss.offset as u32);
    let end = start.wrapping_add(loss.bytes.max(1));
    let (ranges, many): ([(u32, u32); 2], usize) = if start < end {
        ([(start, end), (0, 0)], 1)
    } else {
        ([(start, u32::MAX), (0, end)], 2)
    };
    let mut found = Vec::new();
    for (from, to) in &ranges[..many] {
        let at = lost.partition_point(|lost| lost.sequence < *from);
        let to = at + lost[at..].partition_point(|lost| lost.sequence < *to);
        found.extend(at..to);
    }
    found
}

fn median(mut offsets: Vec<i128>) -> Option<i128> {
    offsets.sort_unstable_by_key(|&offset| Reverse(offset));
    offsets.get(offsets.len() / 2).copied()
}
