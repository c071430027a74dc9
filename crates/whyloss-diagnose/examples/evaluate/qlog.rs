//! Writes the log of a QUIC endpoint for the judged flow. The log has each transmission under a
//! separate number, the peer's acknowledgements, and the packets declared lost (by RFC 9002's
//! packet threshold).

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use whyloss::{Cause, Time};
use whyloss_link::Fate;
use whyloss_sim::packet::Payload;
use whyloss_sim::{Scenario, Watch, observe};

/// The packet threshold (RFC 9002, section 6.1.1).
const THRESHOLD: u64 = 3;
/// The maximum number of ranges in an acknowledgement, as in endpoints.
const RANGES: usize = 32;

/// Events, in the order in which simultaneous ones are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrived(u64),
    Sent(u64),
    /// An acknowledgement, by the time when it left the sink.
    Acknowledged(Time),
}

/// Watches flow 0.
pub(crate) struct Qlog {
    ends: Vec<(usize, usize)>,
    source: usize,
    sink: usize,
    numbers: HashMap<(Time, u64), u64>,
    events: Vec<(Time, Event)>,
    /// The causes of the losses, by packet number.
    pub(crate) lost: HashMap<u64, Cause>,
}

impl Qlog {
    pub(crate) fn new(scenario: &Scenario, source: usize, sink: usize) -> Self {
        Self {
            ends: scenario
                .links
                .iter()
                .map(|link| (link.from, link.to))
                .collect(),
            source,
            sink,
            numbers: HashMap::new(),
            events: Vec::new(),
            lost: HashMap::new(),
        }
    }

    /// Returns the log, a record on each line.
    pub(crate) fn write(mut self) -> (String, HashMap<u64, Cause>) {
        self.events.sort_unstable();
        let mut text = "{\"qlog_format\":\"JSON-SEQ\",\"trace\":{}}\n".to_owned();
        let mut arrived: Vec<(Time, u64)> = Vec::new();
        let mut heard = 0;
        let (mut acked, mut open) = (BTreeSet::new(), BTreeSet::new());
        for (at, event) in self.events {
            let ms = at.as_nanos() as f64 / 1e6;
            match event {
                Event::Arrived(number) => arrived.push((at, number)),
                Event::Sent(number) => {
                    open.insert(number);
                    let _ = writeln!(
                        text,
                        "{{\"time\":{ms},\"name\":\"transport:packet_sent\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\
                         \"packet_number\":{number}}},\"raw\":{{\"length\":1500}}}}}}"
                    );
                }
                Event::Acknowledged(left) => {
                    while let Some((_, number)) = arrived.get(heard).filter(|one| one.0 <= left) {
                        acked.insert(*number);
                        open.remove(number);
                        heard += 1;
                    }
                    let Some(largest) = acked.last().copied() else {
                        continue;
                    };
                    let _ = writeln!(
                        text,
                        "{{\"time\":{ms},\"name\":\"transport:packet_received\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\
                         \"packet_number\":1}},\"frames\":[{{\"frame_type\":\"ack\",\"acked_ranges\":{:?}}}]}}}}",
                        ranges(&acked)
                    );
                    let late: Vec<u64> = open
                        .iter()
                        .copied()
                        .take_while(|number| number + THRESHOLD <= largest)
                        .collect();
                    for number in late {
                        open.remove(&number);
                        let _ = writeln!(
                            text,
                            "{{\"time\":{ms},\"name\":\"recovery:packet_lost\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\
                             \"packet_number\":{number}}}}}}}"
                        );
                    }
                    // Numbers far behind are no longer needed.
                    while acked.len() > 4096 {
                        acked.pop_first();
                    }
                }
            }
        }
        (text, self.lost)
    }
}

/// Returns the latest ranges of numbers, both ends included.
fn ranges(acked: &BTreeSet<u64>) -> Vec<[u64; 2]> {
    let mut ranges: Vec<[u64; 2]> = Vec::new();
    for &number in acked.iter().rev() {
        let many = ranges.len();
        match ranges.last_mut() {
            Some(range) if range[0] == number + 1 => range[0] = number,
            _ if many == RANGES => break,
            _ => ranges.push([number, number]),
        }
    }
    ranges
}

impl Watch for Qlog {
    fn on(&mut self, event: &observe::Event<'_>) {
        if let observe::Event::Offered {
            link,
            at,
            packet,
            fate,
            ..
        } = *event
        {
            if packet.flow != 0 {
                return;
            }
            let (from, to) = self.ends[link];
            match packet.payload {
                Payload::Segment(segment) => {
                    let key = (packet.sent, segment.sequence);
                    if from == self.source {
                        let number = self.numbers.len() as u64;
                        self.numbers.insert(key, number);
                        self.events.push((at, Event::Sent(number)));
                    }
                    let Some(&number) = self.numbers.get(&key) else {
                        return;
                    };
                    match fate {
                        Fate::Lost(cause, _) => {
                            self.lost.insert(number, cause);
                        }
                        Fate::Delivered(when) | Fate::Damaged(when, _) if to == self.sink => {
                            self.events.push((when, Event::Arrived(number)));
                        }
                        _ => {}
                    }
                }
                Payload::Ack(_) if to == self.source => {
                    if let Fate::Delivered(when) = fate {
                        self.events.push((when, Event::Acknowledged(packet.sent)));
                    }
                }
                _ => {}
            }
        }
    }
}
