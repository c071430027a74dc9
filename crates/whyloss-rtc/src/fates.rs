//! Determines which packets are lost, from reports in any order.
//!
//! A ring remembers the fate of the latest [`SPAN`] packets by number:
//!
//! ```text
//! arrival above the highest so far   missing = reported losses since the previous arrival, each counted once
//! arrival below it                   late; if its loss is not yet counted, it never is
//! a fate reported twice, or too old  ignored
//! ```
//!
//! A packet without a report is unknown, not lost, because feedback can also be lost. A loss may be
//! reported before or after the arrival that reveals it, because RFC 8888 and TWCC reports overlap
//! and overtake each other.

/// The number of packets that the ring remembers: 3 s at 100 Mbit/s in packets of 1,200 bytes.
pub(crate) const SPAN: u64 = 1 << 15;

use whyloss::Cause;

/// The losses that an arrival reveals, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gap {
    /// The losses whose cause the path does not report.
    pub(crate) missing: u64,
    /// The losses that a full queue caused, as the path reports.
    pub(crate) refused: u64,
    pub(crate) corrupted: u64,
}

impl Gap {
    fn add(&mut self, cause: Option<Cause>) {
        match cause {
            None => self.missing += 1,
            Some(Cause::Congestion) => self.refused += 1,
            Some(Cause::Wireless) => self.corrupted += 1,
        }
    }

    pub(crate) fn all(&self) -> u64 {
        self.missing + self.refused + self.corrupted
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Unknown,
    /// Reported lost; counted at the next arrival with a higher number.
    Missing(Option<Cause>),
    /// Lost and counted.
    Lost,
    Arrived,
}

#[derive(Clone, Debug)]
pub(crate) struct Fates {
    ring: Box<[Fate; SPAN as usize]>,
    /// The highest number seen, plus 1.
    end: u64,
    /// The highest number that arrived, plus 1.
    arrived: u64,
    /// The losses below `arrived` that no arrival has counted yet.
    behind: Gap,
}

impl Fates {
    pub(crate) fn new() -> Self {
        Self {
            ring: vec![Fate::Unknown; SPAN as usize]
                .try_into()
                .expect("a fate for each number"),
            end: 0,
            arrived: 0,
            behind: Gap::default(),
        }
    }

    /// Returns the slot of packet `id`, if the ring still holds it.
    fn slot(&mut self, id: u64) -> Option<&mut Fate> {
        if id == u64::MAX {
            return None;
        }
        let end = id + 1;
        if end > self.end {
            for number in self.end.max(end.saturating_sub(SPAN))..end {
                self.ring[(number % SPAN) as usize] = Fate::Unknown;
            }
            self.end = end;
        }
        (self.end - id <= SPAN).then(|| &mut self.ring[(id % SPAN) as usize])
    }

    /// Records that packet `id` is lost, with the cause if the path reports it.
    pub(crate) fn lost(&mut self, id: u64, cause: Option<Cause>) {
        let behind = id < self.arrived;
        let Some(fate) = self.slot(id).filter(|fate| **fate == Fate::Unknown) else {
            return;
        };
        if behind {
            *fate = Fate::Lost;
            self.behind.add(cause);
        } else {
            *fate = Fate::Missing(cause);
        }
    }

    /// Records that packet `id` arrived. Returns the losses that it reveals, or `None` if the
    /// arrival was reported before.
    pub(crate) fn arrived(&mut self, id: u64) -> Option<Gap> {
        let fate = self.slot(id)?;
        if *fate == Fate::Arrived {
            return None;
        }
        *fate = Fate::Arrived;
        if id < self.arrived {
            return Some(Gap::default());
        }
        let first = self.arrived.max(self.end.saturating_sub(SPAN));
        let mut gap = std::mem::take(&mut self.behind);
        for number in first..id {
            let fate = &mut self.ring[(number % SPAN) as usize];
            if let Fate::Missing(cause) = *fate {
                *fate = Fate::Lost;
                gap.add(cause);
            }
        }
        self.arrived = id + 1;
        Some(gap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(gap: Option<Gap>) -> Option<u64> {
        gap.map(|gap| gap.all())
    }

    #[test]
    fn counts_each_loss_once_in_any_order() {
        let mut fates = Fates::new();
        assert_eq!(all(fates.arrived(10)), Some(0));
        // The loss of 12 is reported before 11 arrives, and the loss of 13 after 14 arrived.
        fates.lost(12, None);
        assert_eq!(all(fates.arrived(11)), Some(0));
        assert_eq!(all(fates.arrived(14)), Some(1));
        for id in [13, 13, 12] {
            fates.lost(id, Some(Cause::Wireless));
        }
        let gap = fates.arrived(15);
        assert_eq!(gap.map(|gap| (gap.missing, gap.corrupted)), Some((0, 1)));
        assert_eq!(fates.arrived(15), None);
        // 16 is unknown, and 17 was only overtaken.
        fates.lost(17, None);
        assert_eq!(all(fates.arrived(17)), Some(0));
        assert_eq!(all(fates.arrived(18)), Some(0));
    }

    #[test]
    fn forgets_what_is_too_old_and_survives_the_last_number() {
        let mut fates = Fates::new();
        fates.lost(0, None);
        assert_eq!(all(fates.arrived(SPAN)), Some(0));
        fates.lost(0, None);
        assert_eq!(all(fates.arrived(SPAN + 1)), Some(0));
        assert_eq!(all(fates.arrived(u64::MAX - 1)), Some(0));
        assert_eq!(fates.arrived(u64::MAX), None);
    }
}
