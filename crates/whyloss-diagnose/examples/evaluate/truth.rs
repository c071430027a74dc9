//! What became of every packet of the judged flow, as the network knows.

use std::collections::HashMap;

use whyloss::{Cause, Time};
use whyloss_link::Fate;
use whyloss_sim::packet::Payload;
use whyloss_sim::{Observer, Packet, Scenario};

/// A transmission that the path lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drop {
    pub(crate) sequence: u64,
    /// When it left its source.
    pub(crate) sent: Time,
    pub(crate) retransmission: bool,
    pub(crate) cause: Cause,
}

/// Watches flow 0.
pub(crate) struct Truth {
    near: Vec<usize>,
    pub(crate) drops: Vec<Drop>,
    /// When each transmission left each node.
    pub(crate) passed: HashMap<(usize, u64, Time), Time>,
    /// The next segment expected, by the last acknowledgement that reached the source.
    pub(crate) acknowledged: u64,
}

impl Truth {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let near = scenario.links.iter().map(|link| link.from).collect();
        Self {
            near,
            drops: Vec::new(),
            passed: HashMap::new(),
            acknowledged: 0,
        }
    }
}

impl Observer for Truth {
    fn offered(&mut self, link: usize, at: Time, packet: &Packet, _: usize, fate: Fate) {
        if packet.flow != 0 {
            return;
        }
        match packet.payload {
            Payload::Segment(segment) => {
                self.passed
                    .insert((self.near[link], segment.sequence, packet.sent), at);
                if let Fate::Lost(cause, _) = fate {
                    self.drops.push(Drop {
                        sequence: segment.sequence,
                        sent: packet.sent,
                        retransmission: segment.retransmission,
                        cause,
                    });
                }
            }
            Payload::Ack(ack) if matches!(fate, Fate::Delivered(_)) => {
                self.acknowledged = self.acknowledged.max(ack.next);
            }
            _ => {}
        }
    }
}
