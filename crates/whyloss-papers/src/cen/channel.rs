//! The wireless loss of Cen et al., Section 5.2: three levels, and the process that stands in for the lost traces.

use whyloss_link::ChannelSpec;
use whyloss_link::channel::BurstRenewal;

/// How much the radio loses (Table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Level {
    /// 7.8 %.
    High,
    /// 3.1 %.
    Medium,
    /// 1.0 %.
    Low,
}

impl Level {
    pub(crate) const ALL: [Self; 3] = [Self::High, Self::Medium, Self::Low];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }

    /// The packet loss rate of Table 1.
    pub(crate) fn loss(self) -> f64 {
        match self {
            Self::High => 0.078,
            Self::Medium => 0.031,
            Self::Low => 0.010,
        }
    }

    /// The stand-in of CEN-27: a quarter of the bursts lose two packets, the others one. The text does not speak of good
    /// runs; those of our radio (`cen-fig-8`) vary as a geometric law's, so they are geometric.
    pub(crate) fn channel(self) -> ChannelSpec {
        ChannelSpec::BurstRenewal(BurstRenewal::cen(self.loss()))
    }
}
