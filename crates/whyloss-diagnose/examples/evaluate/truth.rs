//! Records the true fate of every packet of the judged flow.

use std::collections::HashMap;

use whyloss::{Cause, Time};
use whyloss_link::Fate;
use whyloss_sim::packet::Payload;
use whyloss_sim::{Event, Scenario, Watch};

/// A transmission that the path lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drop {
    pub(crate) sequence: u64,
    /// The departure time from the source.
    pub(crate) sent: Time,
    pub(crate) retransmission: bool,
    pub(crate) cause: Cause,
}

/// Watches flow 0.
pub(crate) struct Truth {
    near: Vec<usize>,
    far: Vec<usize>,
    pub(crate) drops: Vec<Drop>,
    /// When each transmission passed each node.
    pub(crate) passed: HashMap<(usize, u64, Time), Time>,
    /// The next expected segment, by the last acknowledgement that reached the source.
    pub(crate) acknowledged: u64,
}

impl Truth {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        Self {
            near: scenario.links.iter().map(|link| link.from).collect(),
            far: scenario.links.iter().map(|link| link.to).collect(),
            drops: Vec::new(),
            passed: HashMap::new(),
            acknowledged: 0,
        }
    }
}

/// Packets that passed a node.
pub(crate) struct Passed {
    /// The time of each transmission, its segment, and the largest segment so far.
    in_order: Vec<(Time, u64, u64)>,
}

impl Truth {
    /// Returns the packets that passed a node.
    pub(crate) fn at(&self, node: usize) -> Passed {
        let mine = self.passed.iter().filter(|((at, ..), _)| *at == node);
        let mut passed: Vec<_> = mine
            .map(|(&(_, sequence, _), &at)| (at, sequence))
            .collect();
        passed.sort_unstable();
        let in_order = passed.into_iter().scan(0, |largest, (at, sequence)| {
            *largest = sequence.max(*largest);
            Some((at, sequence, *largest))
        });
        Passed {
            in_order: in_order.collect(),
        }
    }
}

impl Passed {
    /// Returns whether a later segment passed before the first copy of this one, which makes a gap
    /// visible.
    pub(crate) fn shows_hole(&self, segment: u64) -> bool {
        let first = self.in_order.iter().find(|passed| passed.1 == segment);
        first.is_none_or(|&(_, _, largest)| largest > segment)
    }
}

impl Watch for Truth {
    fn on(&mut self, event: &Event<'_>) {
        if let Event::Offered {
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
            match packet.payload {
                Payload::Segment(segment) => {
                    self.passed
                        .insert((self.near[link], segment.sequence, packet.sent), at);
                    match fate {
                        Fate::Delivered(at) => {
                            let far = (self.far[link], segment.sequence, packet.sent);
                            self.passed.insert(far, at);
                        }
                        Fate::Lost(cause, _) => self.drops.push(Drop {
                            sequence: segment.sequence,
                            sent: packet.sent,
                            retransmission: segment.retransmission,
                            cause,
                        }),
                        Fate::Damaged(..) | Fate::Held => {}
                    }
                }
                Payload::Ack(ack) if matches!(fate, Fate::Delivered(_)) => {
                    self.acknowledged = self.acknowledged.max(ack.next);
                }
                _ => {}
            }
        }
    }
}
