//! Compares the losses that a diagnosis found with those in a network's own log.
//!
//! The log of a network (`whyloss link --log`) has the fate of each packet and the cause of each
//! loss. [`Truth`] reads this log packet by packet. [`Diagnosis::compare`] finds the packet of each
//! loss by addresses, sequence number and time, and counts matches.
//!
//! The clocks need not agree. Sequence numbers that were lost once and found once give the median
//! offset between them. If a number was lost several times, each loss found takes the packet that
//! is nearest in time after this correction.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;

use whyloss::{Cause, Confusion};

use crate::classifiers::{receivers, senders};
use crate::flow::Flow;
use crate::loss::{Loss, Side};
use crate::{Diagnosis, Error, Options};

/// The largest IP packet, in bytes, that may be a bare acknowledgement: IPv4 and TCP headers with
/// all options.
pub(crate) const BARE: u32 = 80;

/// One packet at one link, from a network's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The address and port of the sender.
    pub source: SocketAddr,
    /// The address and port of the receiver.
    pub destination: SocketAddr,
    /// The sequence number of TCP.
    pub sequence: u32,
    /// The packet's number in the order of sending, equal at each link that it crosses.
    pub packet: u64,
    /// The size of the IP packet in bytes.
    pub bytes: u32,
    /// The time of the packet's arrival at the link, in ns on any clock.
    pub time: u64,
    /// The fate of the packet.
    pub fate: Fate,
}

/// The fate of a packet in a network's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The network lost the packet for this cause.
    Lost(Cause),
    /// The emulator itself lost the packet, which says nothing about the network.
    Fault,
    /// The packet left the link undamaged.
    Arrived,
}

impl Fate {
    /// Returns the fate's name as reports show it.
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
    /// Whether the packet certainly had data.
    data: bool,
    found: bool,
}

/// The losses in a network's log.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    connections: HashMap<[SocketAddr; 2], Packets>,
    /// The memory in use, in bytes.
    bytes: u64,
}

/// The bytes of memory per connection, per sequence number with data, and per lost packet.
const CONNECTION: u64 = 512;
const NUMBER: u64 = 40;
const LOSS: u64 = 2 * size_of::<Lost>() as u64;

#[derive(Clone, Debug, Default)]
struct Packets {
    /// The first packet with each sequence number.
    first: HashMap<u32, u64>,
    lost: Vec<Lost>,
}

impl Truth {
    /// Reads the log that `whyloss link --log` wrote to this directory.
    ///
    /// # Errors
    /// Returns an error if there is no log, it cannot be read, or it takes more than half of
    /// [`Options::memory`].
    pub fn read(directory: &Path, options: Options) -> Result<Self, Error> {
        let mut truth = Self::default();
        crate::network::packets(directory, &mut |passage| {
            truth.add(passage);
            truth.bytes <= options.memory / 2
        })?;
        Ok(truth)
    }

    /// Returns the memory in use, in bytes, for [`Options::taken`].
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a record of the log. Records come in the order of the log.
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

/// The score of a diagnosis against a network's log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// The number of packets with data that the network lost while the flows were captured and that
    /// were repaired before the end. Index 0 counts first transmissions, index 1 retransmissions.
    pub lost: [u64; 2],
    /// The number of packets of [`Self::lost`] that the diagnosis found, with the same
    /// indices.
    pub found: [u64; 2],
    /// The number of reported losses that are absent from the network's log.
    pub unfounded: u64,
    /// The number of packets lost by the emulator itself, which count neither as lost nor as found.
    pub faults: u64,
    /// The number of reported losses without a verdict.
    pub silent: u64,
    /// The combined verdicts by true cause.
    pub combined: Confusion,
    /// The verdicts of each classifier by true cause, with its id: senders first, in the order of
    /// their registries.
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

    /// Counts a loss found by the diagnosis that the network's log has.
    fn count(&mut self, flow: &Flow, loss: &Loss, truth: Cause) {
        match loss.verdict {
            Some(verdict) => self.combined.record(truth, verdict.cause),
            None => self.silent += 1,
        }
        self.ask(flow, loss, truth);
    }

    /// Counts the classifiers' verdicts on a flow whose causes are known.
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
    /// Compares each loss with the network's log, and sets [`Loss::truth`] and
    /// [`Diagnosis::score`].
    ///
    /// The same `truth` can serve several diagnoses.
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
        // A gap shows later than a packet passes, so each side has a separate offset.
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
            // If a piece has several packets, a loss in a queue takes precedence.
            if loss.truth != Some(Fate::Lost(Cause::Congestion)) {
                loss.truth = Some(lost[other].fate);
            }
        }
        // Without a clock offset, all losses of the network count.
        let within = |lost: &&Lost| {
            clocks[1].or(clocks[0]).is_none_or(|clock| {
                let time = i128::from(lost.time) + clock;
                i128::from(self.span.0) <= time && time <= i128::from(self.span.1)
            })
        };
        // Unacknowledged data at the end may still be in flight.
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

/// Returns the indices of the packets that `loss` may refer to. `lost` is sorted by sequence
/// number.
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
