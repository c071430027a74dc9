//! FQ-CoDel: serves a queue per flow in turn, each with CoDel (RFC 8290, section 4).
//!
//! ```text
//! arrival     a flow without waiting packets becomes new, with a credit of one quantum in bytes.
//!             Beyond the limit, the flow with the most bytes loses the packet at its head
//! departure   takes the first of the new flows, or else the first of the old ones:
//!               no credit left       the flow gets another quantum, and joins the end of the old ones
//!               no packet in CoDel   a new flow joins the end of the old ones, if there are any;
//!                                    otherwise it is forgotten
//!               otherwise            the packet leaves and costs its bytes of credit
//! ```
//!
//! By default, a quantum is 1514 bytes and the limit 10240 packets (sections 4.1, 5.2). A flow's
//! queue is its number modulo 1024, so up to 1024 flows have separate queues; hashes would
//! sometimes collide.

use std::collections::VecDeque;

use whyloss::Time;

use super::codel::{Codel, CodelSpec, Line, Waiting};

/// The number of queues that flows are spread over.
pub const QUEUES: u32 = 1_024;

/// Describes an FQ-CoDel queue (RFC 8290), except for its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCodelSpec {
    /// The CoDel parameters of each queue.
    pub codel: CodelSpec,
    /// The number of bytes that a flow may send before the next flow has its turn.
    pub quantum: u32,
}

impl Default for FqCodelSpec {
    fn default() -> Self {
        Self {
            codel: CodelSpec::default(),
            quantum: 1_514,
        }
    }
}

/// The state of FQ-CoDel.
#[derive(Clone, Debug)]
pub(crate) struct FqCodel {
    spec: FqCodelSpec,
    /// The queues by number. A queue is made when its first packet arrives.
    queues: Vec<FlowQueue>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: usize,
    bytes: u64,
}

#[derive(Clone, Debug)]
struct FlowQueue {
    line: Line,
    codel: Codel,
    credit: i64,
    listed: bool,
}

impl FqCodel {
    pub(crate) fn new(spec: FqCodelSpec) -> Self {
        Self {
            spec,
            queues: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.packets
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn push(&mut self, packet: Waiting) {
        let number = packet.flow % QUEUES;
        while self.queues.len() <= number as usize {
            self.queues.push(FlowQueue {
                line: Line::default(),
                codel: Codel::new(self.spec.codel),
                credit: 0,
                listed: false,
            });
        }
        let queue = &mut self.queues[number as usize];
        queue.codel.saw(packet.size);
        queue.line.push(packet);
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        if !queue.listed {
            queue.listed = true;
            queue.credit = i64::from(self.spec.quantum);
            self.new.push_back(number);
        }
    }

    /// Removes and returns the first packet of the flow that holds the most bytes. A tie goes to
    /// the lowest queue.
    pub(crate) fn pop_from_fattest(&mut self) -> Option<Waiting> {
        let fattest = self.queues.iter().enumerate().rev();
        let (at, _) = fattest.max_by_key(|(_, queue)| queue.line.bytes())?;
        let packet = self.queues[at].line.pop()?;
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
        Some(packet)
    }

    pub(crate) fn copy(&mut self, now: Time, mut copied: impl FnMut(u32)) {
        for queue in &mut self.queues {
            let (packets, bytes) = (queue.line.len(), queue.line.bytes());
            queue.line.copy(now, &mut copied);
            self.packets += queue.line.len() - packets;
            self.bytes += queue.line.bytes() - bytes;
        }
    }

    pub(crate) fn leave(&mut self, now: Time, mut dropped: impl FnMut(Waiting)) -> Option<Waiting> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let queue = &mut self.queues[number as usize];
            if queue.credit <= 0 {
                queue.credit += i64::from(self.spec.quantum);
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            let (packets, bytes) = (queue.line.len(), queue.line.bytes());
            let packet = queue.codel.leave(now, &mut queue.line, &mut dropped);
            self.packets -= packets - queue.line.len();
            self.bytes -= bytes - queue.line.bytes();
            if let Some(packet) = packet {
                queue.credit -= i64::from(packet.size);
                return Some(packet);
            }
            list.pop_front();
            if is_new && !self.old.is_empty() {
                self.old.push_back(number);
            } else {
                queue.listed = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(flow: u32, ticket: u32, size: u32) -> Waiting {
        Waiting {
            ticket,
            size,
            flow,
            since: Time::ZERO,
            damaged: None,
            capable: false,
            marked: false,
            copied: false,
        }
    }

    fn leave(queue: &mut FqCodel) -> Option<(u32, u32)> {
        let left = queue.leave(Time::ZERO, |_| panic!("dropped"));
        left.map(|packet| (packet.flow, packet.ticket))
    }

    /// Two flows of full packets take turns, in any order of arrival. A third flow with one small
    /// packet goes first.
    #[test]
    fn turns_by_hand() {
        let mut queue = FqCodel::new(FqCodelSpec::default());
        for ticket in 0..3 {
            queue.push(packet(0, ticket, 1_514));
        }
        for ticket in 3..6 {
            queue.push(packet(1, ticket, 1_514));
        }
        assert_eq!(leave(&mut queue), Some((0, 0)));
        assert_eq!(leave(&mut queue), Some((1, 3)));
        queue.push(packet(2, 6, 100));
        assert_eq!(leave(&mut queue), Some((2, 6)));
        // This flow's queue is now empty. It becomes old once before it is forgotten.
        assert_eq!(leave(&mut queue), Some((0, 1)));
        assert_eq!(leave(&mut queue), Some((1, 4)));
        assert_eq!(leave(&mut queue), Some((0, 2)));
        assert_eq!(leave(&mut queue), Some((1, 5)));
        assert_eq!(leave(&mut queue), None);
        assert_eq!((queue.len(), queue.bytes()), (0, 0));
        assert!(queue.queues.iter().all(|queue| !queue.listed));
    }

    /// Over a long time, flows get equal bytes, not equal packets.
    #[test]
    fn bytes_are_shared() {
        let mut queue = FqCodel::new(FqCodelSpec::default());
        for ticket in 0..4_000 {
            queue.push(packet(0, ticket, 1_500));
            queue.push(packet(1, ticket, 300));
        }
        let mut bytes = [0; 2];
        for _ in 0..3_000 {
            let left = queue.leave(Time::ZERO, |_| {}).expect("waits");
            bytes[left.flow as usize] += left.size;
        }
        let share = f64::from(bytes[0]) / f64::from(bytes[0] + bytes[1]);
        assert!((share - 0.5).abs() < 0.005, "{share}");
    }

    #[test]
    fn the_fattest_pays() {
        let mut queue = FqCodel::new(FqCodelSpec::default());
        for ticket in 0..3 {
            queue.push(packet(5, ticket, 1_000));
        }
        queue.push(packet(1, 3, 1_500));
        let paid = queue.pop_from_fattest().expect("somebody");
        assert_eq!((paid.flow, paid.ticket), (5, 0));
        // Flow 5 has 2000 bytes and flow 1 has 1500; then 1000 and 1500.
        assert_eq!(queue.pop_from_fattest().expect("somebody").flow, 5);
        assert_eq!(queue.pop_from_fattest().expect("somebody").flow, 1);
        assert_eq!((queue.len(), queue.bytes()), (1, 1_000));
    }
}
