//! The counts of a flow at work, which thousands of flows have: 80 bytes, half those of the result.

use whyloss::{Cause, Confusion};

use crate::measure::{ByCause, FlowCounts};

/// The counts of a flow so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) received_bytes: u64,
    pub(super) delivered: u64,
    pub(super) application_bytes: u64,
    /// The counts of rare things, modulo 2¹⁶.
    rare: [u16; RARE],
    /// The number of times that each of these has overflowed, if any has.
    overflows: Option<Box<[u64; RARE]>>,
}

/// The number of values of [`Rare`].
const RARE: usize = 15;

/// An event that most packets do not cause. Causes are true ones, then verdicts.
#[derive(Clone, Copy)]
pub(super) enum Rare {
    Damaged,
    Marked,
    Timeout,
    Lost(Cause),
    Recovery(Cause),
    Packet(Cause, Cause),
    Gap(Cause, Cause),
}

impl Rare {
    fn index(self) -> usize {
        match self {
            Self::Damaged => 0,
            Self::Marked => 1,
            Self::Timeout => 2,
            Self::Lost(cause) => 3 + cause as usize,
            Self::Recovery(verdict) => 5 + verdict as usize,
            Self::Packet(truth, verdict) => 7 + 2 * truth as usize + verdict as usize,
            Self::Gap(truth, verdict) => 11 + 2 * truth as usize + verdict as usize,
        }
    }
}

impl Tally {
    /// Counts a rare thing.
    #[cold]
    #[inline(never)]
    pub(super) fn add(&mut self, rare: Rare) {
        let index = rare.index();
        self.rare[index] = self.rare[index].wrapping_add(1);
        if self.rare[index] == 0 {
            self.overflows.get_or_insert_default()[index] += 1;
        }
    }

    /// Returns the counts as in a result.
    pub(super) fn counts(&self) -> FlowCounts {
        let of = |rare: Rare| {
            let overflows = self.overflows.as_ref().map_or(0, |all| all[rare.index()]);
            (overflows << 16) + u64::from(self.rare[rare.index()])
        };
        let causes = [Cause::Congestion, Cause::Wireless];
        let by_cause = |rare: fn(Cause) -> Rare| {
            let [congestion, wireless] = causes.map(|cause| of(rare(cause)));
            ByCause {
                congestion,
                wireless,
            }
        };
        let confusion = |rare: fn(Cause, Cause) -> Rare| {
            let row = |truth| causes.map(|verdict| of(rare(truth, verdict)));
            Confusion::of(causes.map(row))
        };
        FlowCounts {
            sent: self.sent,
            received: self.received,
            damaged: of(Rare::Damaged),
            marked: of(Rare::Marked),
            received_bytes: self.received_bytes,
            delivered: self.delivered,
            application_bytes: self.application_bytes,
            lost: by_cause(Rare::Lost),
            packets: confusion(Rare::Packet),
            gaps: confusion(Rare::Gap),
            recoveries: by_cause(Rare::Recovery),
            timeouts: of(Rare::Timeout),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Cause::{Congestion, Wireless};

    #[test]
    fn each_thing_has_a_count_of_its_own_without_a_limit() {
        let mut tally = Tally::default();
        let mut add = |rare, times| (0..times).for_each(|_| tally.add(rare));
        add(Rare::Damaged, 1);
        add(Rare::Marked, 70_000);
        add(Rare::Timeout, 3);
        add(Rare::Lost(Wireless), 200_000);
        add(Rare::Recovery(Congestion), 5);
        add(Rare::Packet(Wireless, Congestion), 6);
        add(Rare::Gap(Congestion, Wireless), 65_536);
        let expected = FlowCounts {
            damaged: 1,
            marked: 70_000,
            timeouts: 3,
            lost: ByCause {
                congestion: 0,
                wireless: 200_000,
            },
            recoveries: ByCause {
                congestion: 5,
                wireless: 0,
            },
            packets: Confusion::of([[0, 0], [6, 0]]),
            gaps: Confusion::of([[0, 65_536], [0, 0]]),
            ..FlowCounts::default()
        };
        assert_eq!(tally.counts(), expected);
        assert_eq!(size_of::<Tally>(), 80);
    }
}
