//! CoDel: controlled delay (Nichols and Jacobson 2012; RFC 8289, section 5).
//!
//! CoDel decides as a packet leaves the queue, by how long the packet has waited (its *sojourn*):
//!
//! ```text
//! above        sojourn ≥ target, and more bytes stay behind than the largest packet has
//! excused      until `above` has held for an interval without a break
//! dropping     afterwards, until a packet leaves that is not above; the next drop comes interval/√count after the
//!              last one, where count is the number of drops so far
//! again        a new spell of drops within 16 intervals after the last one starts with the count that the last one
//!              added, if that is more than 1; otherwise with 1
//! ```
//!
//! By default, target is 5 ms and interval 100 ms (sections 4.3 and 4.4). Times are in whole
//! nanoseconds; the root is `libm`'s. The largest size is that of the packets seen so far, as in
//! the RFC's pseudocode.

use std::collections::VecDeque;

use whyloss::{Duration, Time};

/// Describes a CoDel queue (RFC 8289).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelSpec {
    /// The sojourn time that is always acceptable.
    pub target: Duration,
    /// The time for which a longer sojourn is excused. Choose about the longest round-trip time.
    pub interval: Duration,
    /// Whether the queue marks an ECN-capable packet instead of dropping it.
    pub ecn: bool,
}

impl Default for CodelSpec {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: false,
        }
    }
}

/// A packet in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// The number that identifies the packet to the owner of the link.
    pub ticket: u32,
    /// The size on the wire, in bytes.
    pub size: u32,
    /// The flow of the packet.
    pub flow: u32,
    /// When the packet arrived.
    pub since: Time,
    /// The offset of the first bit that a channel before the queue damaged.
    pub damaged: Option<u32>,
    /// Whether the packet is ECN-capable.
    pub capable: bool,
    /// Whether this queue marked the packet.
    pub marked: bool,
    /// Whether the packet has a copy or is one.
    pub copied: bool,
}

/// A line of packets in the order of arrival, and their bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    packets: VecDeque<Waiting>,
    bytes: u64,
}

impl Line {
    pub(crate) fn push(&mut self, packet: Waiting) {
        self.bytes += u64::from(packet.size);
        self.packets.push_back(packet);
    }

    pub(crate) fn pop(&mut self) -> Option<Waiting> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.size);
        Some(packet)
    }

    /// Adds a copy of each packet that has none, with the arrival time `now`. Passes each ticket to
    /// `copied`.
    pub(crate) fn copy(&mut self, now: Time, mut copied: impl FnMut(u32)) {
        for index in 0..self.packets.len() {
            let packet = &mut self.packets[index];
            if packet.copied {
                continue;
            }
            packet.copied = true;
            let copy = Waiting {
                since: now,
                ..*packet
            };
            copied(copy.ticket);
            self.push(copy);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The state of CoDel on one line.
#[derive(Clone, Debug)]
pub(crate) struct Codel {
    spec: CodelSpec,
    /// When the excuse ends; `None` unless the last packet was above.
    excused_until: Option<Time>,
    dropping: bool,
    next_drop: Time,
    count: u32,
    /// The value of `count` when the spell began.
    began_with: u32,
    largest: u32,
}

impl Codel {
    pub(crate) fn new(spec: CodelSpec) -> Self {
        Self {
            spec,
            excused_until: None,
            dropping: false,
            next_drop: Time::ZERO,
            count: 0,
            began_with: 0,
            largest: 0,
        }
    }

    /// Records the size of an arriving packet, in bytes.
    pub(crate) fn saw(&mut self, size: u32) {
        self.largest = self.largest.max(size);
    }

    /// Returns the earliest time of a drop, if the next packet leaves at `turn`.
    pub(crate) fn drops_from(&self, turn: Time) -> Time {
        let earliest = if self.dropping {
            self.next_drop
        } else {
            self.excused_until.unwrap_or(turn + self.spec.interval)
        };
        turn.max(earliest)
    }

    /// Records a packet of `size` bytes that finds an empty queue and leaves immediately.
    #[inline]
    pub(crate) fn pass(&mut self, size: u32) {
        self.saw(size);
        self.excused_until = None;
        self.dropping = false;
    }

    /// Returns the packet that leaves the line at `now`. Passes dropped packets to `dropped`.
    pub(crate) fn leave(
        &mut self,
        now: Time,
        line: &mut Line,
        mut dropped: impl FnMut(Waiting),
    ) -> Option<Waiting> {
        let (mut packet, mut may_drop) = self.first(now, line);
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && now >= self.next_drop {
                if self.marks(&mut packet) {
                    self.count = self.count.saturating_add(1);
                    self.next_drop = self.after(self.next_drop);
                    break;
                }
                packet.map(&mut dropped);
                self.count = self.count.saturating_add(1);
                (packet, may_drop) = self.first(now, line);
                self.dropping = may_drop;
                if may_drop {
                    self.next_drop = self.after(self.next_drop);
                }
            }
        } else if may_drop {
            if !self.marks(&mut packet) {
                packet.map(&mut dropped);
                (packet, _) = self.first(now, line);
            }
            self.dropping = true;
            let before = self.count - self.began_with;
            let recent = now - self.next_drop < self.spec.interval * 16;
            self.count = if before > 1 && recent { before } else { 1 };
            self.next_drop = self.after(now);
            self.began_with = self.count;
        }
        packet
    }

    /// Marks the packet that would be dropped, if the queue has `ecn` and the packet is
    /// ECN-capable. The packet then leaves, and the spell continues as after a drop.
    fn marks(&self, packet: &mut Option<Waiting>) -> bool {
        match packet {
            Some(packet) if self.spec.ecn && packet.capable => {
                packet.marked = true;
                true
            }
            _ => false,
        }
    }

    /// Removes the first packet of the line. Returns it and whether it may be dropped.
    fn first(&mut self, now: Time, line: &mut Line) -> (Option<Waiting>, bool) {
        let Some(packet) = line.pop() else {
            self.excused_until = None;
            return (None, false);
        };
        let above =
            now - packet.since >= self.spec.target && line.bytes() > u64::from(self.largest);
        let may_drop = match self.excused_until {
            _ if !above => {
                self.excused_until = None;
                false
            }
            None => {
                self.excused_until = Some(now + self.spec.interval);
                false
            }
            Some(end) => now >= end,
        };
        (Some(packet), may_drop)
    }

    /// Returns when the drop after the one at `last` is due, by the RFC's control law.
    fn after(&self, last: Time) -> Time {
        let interval = self.spec.interval.as_nanos() as f64;
        let nanos = libm::round(interval / libm::sqrt(f64::from(self.count.max(1))));
        last + Duration::from_nanos(nanos as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// Returns a line of packets of 1000 bytes that arrived at this time.
    fn standing(packets: u32, since: Time, capable: bool) -> Line {
        let mut line = Line::default();
        for ticket in 0..packets {
            line.push(Waiting {
                ticket,
                size: 1_000,
                flow: 0,
                since,
                damaged: None,
                capable,
                marked: false,
                copied: false,
            });
        }
        line
    }

    /// Returns the times of drops if a packet leaves every millisecond, has waited for `sojourn`
    /// ms, and has many behind it.
    fn drops(codel: &mut Codel, from: u64, to: u64, sojourn: u64) -> Vec<u64> {
        hits(codel, from, to, sojourn, false).0
    }

    /// Returns the times of drops and of marks, like `drops`.
    fn hits(
        codel: &mut Codel,
        from: u64,
        to: u64,
        sojourn: u64,
        capable: bool,
    ) -> (Vec<u64>, Vec<u64>) {
        let (mut found, mut marks) = (Vec::new(), Vec::new());
        for now in from..to {
            codel.saw(1_000);
            let mut line = standing(20, millis(now - sojourn), capable);
            let left = codel.leave(millis(now), &mut line, |_| found.push(now));
            if left.is_some_and(|packet| packet.marked) {
                marks.push(now);
            }
        }
        (found, marks)
    }

    /// The first drop comes 100 ms after the queue began to stand; the next ones follow 100,
    /// 100/√2, 100/√3, … ms apart.
    #[test]
    fn the_control_law_by_hand() {
        let mut codel = Codel::new(CodelSpec::default());
        let found = drops(&mut codel, 1_000, 1_500, 20);
        // 1100 + 100 + 70.71 + 57.74 + 50 + 44.72 + 40.82, each at the first departure that is not
        // earlier.
        assert_eq!(found, [1_100, 1_200, 1_271, 1_329, 1_379, 1_424, 1_464]);
    }

    /// ECN-capable packets are marked at the times of drops and never dropped. Other packets are
    /// dropped. Without `ecn`, all are dropped.
    #[test]
    fn marks_by_hand() {
        let spec = CodelSpec {
            ecn: true,
            ..CodelSpec::default()
        };
        let due = vec![1_100, 1_200, 1_271, 1_329, 1_379, 1_424, 1_464];
        let of = |spec, capable| hits(&mut Codel::new(spec), 1_000, 1_500, 20, capable);
        assert_eq!(of(spec, true), (vec![], due.clone()));
        assert_eq!(of(spec, false), (due.clone(), vec![]));
        assert_eq!(of(CodelSpec::default(), true), (due, vec![]));
    }

    #[test]
    fn a_short_sojourn_is_never_dropped_and_ends_a_spell() {
        let mut codel = Codel::new(CodelSpec::default());
        assert!(drops(&mut codel, 1_000, 2_000, 4).is_empty());
        assert_eq!(drops(&mut codel, 2_000, 2_110, 5), [2_100]);
        assert!(drops(&mut codel, 2_110, 2_300, 4).is_empty());
        // The sojourn is excused again, and one drop is not enough to continue the count of the
        // last spell.
        assert_eq!(drops(&mut codel, 2_300, 2_510, 5), [2_400, 2_500]);
    }

    /// After seven drops, count is 7. A spell soon after starts with 7 − 1 = 6, so its next drop
    /// comes after 100/√6 = 40.8 ms.
    #[test]
    fn a_spell_soon_after_begins_where_the_last_ended() {
        let mut codel = Codel::new(CodelSpec::default());
        drops(&mut codel, 1_000, 1_480, 20);
        drops(&mut codel, 1_480, 1_500, 0);
        assert_eq!(drops(&mut codel, 1_500, 1_650, 20), [1_600, 1_641]);
        // A drop state long after the last one starts with count 1.
        drops(&mut codel, 1_650, 1_660, 0);
        assert_eq!(drops(&mut codel, 9_000, 9_201, 20), [9_100, 9_200]);
    }

    #[test]
    fn the_last_packets_are_spared() {
        let mut codel = Codel::new(CodelSpec::default());
        codel.saw(1_000);
        for now in 0..500 {
            let mut line = standing(2, Time::ZERO, false);
            // One packet stays behind, with no more bytes than the largest.
            let left = codel.leave(millis(now), &mut line, |_| panic!("dropped"));
            assert_eq!(left.map(|packet| packet.ticket), Some(0));
        }
    }
}
