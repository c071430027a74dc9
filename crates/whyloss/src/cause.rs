//! Causes of packet loss and counts of right and wrong verdicts.

/// The cause of a packet loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Cause {
    /// A queue dropped the packet, because it had no room.
    Congestion,
    /// The channel corrupted the packet.
    Wireless,
}

impl Cause {
    /// Returns congestion if `congested`, else wireless.
    #[inline]
    pub const fn congestion_if(congested: bool) -> Self {
        if congested {
            Self::Congestion
        } else {
            Self::Wireless
        }
    }

    /// Returns wireless if `wireless`, else congestion.
    #[inline]
    pub const fn wireless_if(wireless: bool) -> Self {
        Self::congestion_if(!wireless)
    }
}

/// Counts of verdicts by true cause. The caller chooses the unit: packets or loss events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Confusion {
    counts: [[u64; 2]; 2],
}

impl Confusion {
    /// Creates a confusion matrix from counts by true cause, then by verdict, congestion first.
    pub const fn of(counts: [[u64; 2]; 2]) -> Self {
        Self { counts }
    }

    /// Counts a loss by its true cause and its verdict.
    pub fn record(&mut self, truth: Cause, verdict: Cause) {
        self.counts[truth as usize][verdict as usize] += 1;
    }

    /// Returns the number of losses of cause `truth` that got `verdict`.
    pub fn count(&self, truth: Cause, verdict: Cause) -> u64 {
        self.counts[truth as usize][verdict as usize]
    }

    /// Returns the number of losses whose true cause was `truth`.
    pub fn total(&self, truth: Cause) -> u64 {
        self.counts[truth as usize].iter().sum()
    }

    /// Returns Mc, the share of congestion losses called wireless, in [0, 1]. Returns `None`
    /// without congestion losses (CEN-29).
    pub fn mc(&self) -> Option<f64> {
        share(
            self.count(Cause::Congestion, Cause::Wireless),
            self.total(Cause::Congestion),
        )
    }

    /// Returns Mw, the share of wireless losses called congestion, in [0, 1]. Returns `None`
    /// without wireless losses (CEN-29).
    pub fn mw(&self) -> Option<f64> {
        share(
            self.count(Cause::Wireless, Cause::Congestion),
            self.total(Cause::Wireless),
        )
    }

    /// Returns the share of right verdicts, in [0, 1]; `None` if there are no verdicts.
    pub fn accuracy(&self) -> Option<f64> {
        let right = self.counts[0][0] + self.counts[1][1];
        share(right, self.counts.iter().flatten().sum())
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self
            .counts
            .iter_mut()
            .flatten()
            .zip(other.counts.iter().flatten())
        {
            *mine += theirs;
        }
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Cause::{Congestion, Wireless};

    #[test]
    fn shares_by_hand() {
        let mut c = Confusion::default();
        for (truth, verdict) in [
            (Congestion, Wireless),
            (Congestion, Congestion),
            (Congestion, Congestion),
            (Wireless, Wireless),
        ] {
            c.record(truth, verdict);
        }
        assert_eq!(c.mc(), Some(1.0 / 3.0));
        assert_eq!(c.mw(), Some(0.0));
        assert_eq!(c.accuracy(), Some(0.75));
        assert_eq!(Confusion::default().mc(), None);
    }
}
