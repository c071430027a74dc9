//! The margins within which two means are equivalent. They were fixed before the first comparison
//! and have not been widened since.
//!
//! | margin | metric | reason |
//! |---|---|---|
//! | 1 % | closed forms that hold exactly | only noise on our side differs; a wrong formula would differ by more |
//! | 2 % | RED's drop rate, RFC 5348's equation under constant loss | they are exact, but use averages that fluctuate |
//! | 10 % | Mathis et al. under periodic loss | it omits the time that a round trip adds to the period |
//! | 20 % | PFTK under independent losses | it assumes that the rest of a round is lost after the first loss; its authors report errors of this order |
//! | 5 % | goodput against ns-2's own agents | less than the precision of figures in papers, and less than the effect of another phase of ns-2's clock |
//! | 10 % | goodput against Linux's modules in ns-2, and against ns-3 | they choose differently where RFCs leave a choice (rate halving, byte counting, proportional rate reduction) |
//! | 10 %, at least 0.1 points | share of packets dropped, or marked, at the queue | drops depend on the square of the throughput, so twice its margin; one packet in a thousand is negligible |
//! | 10 % | goodput of one flow among others | one flow's loss is the others' gain, so twice the margin for all flows |
//! | 0.03 | Jain's index | less than the deviation of ns-2's Vegas between seeds |
//! | 10 %, at least 1 ms | mean waiting time in a queue that controls its delay | drops cause the delay, so their margin applies; 1 ms is less than a packet takes on the compared links |

/// The largest difference between two means that counts as equivalent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Margin {
    /// A share of the peer's value, such as 0.1 for 10 %.
    Relative(f64),
    /// A value in the metric's unit.
    Absolute(f64),
    /// The larger of a value in the metric's unit and a share of the peer's value.
    Larger(f64, f64),
}

impl Margin {
    /// The margin for a closed form that holds exactly.
    pub const EXACT: Self = Self::Relative(0.01);
    /// The margin for a closed form that is evaluated with averages.
    pub const AVERAGED: Self = Self::Relative(0.02);
    /// The margin for the throughput formula by Mathis et al. (1997).
    pub const MATHIS: Self = Self::Relative(0.10);
    /// The margin for the throughput formula by Padhye et al. (1998).
    pub const PFTK: Self = Self::Relative(0.20);
    /// The margin for goodput compared with an implementation that ours follows.
    pub const SAME: Self = Self::Relative(0.05);
    /// The margin for goodput compared with an implementation that ours does not follow.
    pub const OTHER: Self = Self::Relative(0.10);
    /// The margin for drops at a queue, in percent of the offered packets.
    pub const DROPS: Self = Self::Larger(0.1, 0.10);
    /// The margin for the goodput of one flow among others.
    pub const ONE_OF_SEVERAL: Self = Self::Relative(0.10);
    /// The margin for the mean waiting time, in ms.
    pub const WAIT: Self = Self::Larger(1.0, 0.10);
    /// The margin for Jain's index.
    pub const JAIN: Self = Self::Absolute(0.03);

    /// Returns the margin in the metric's unit, given the peer's value.
    pub fn beside(self, theirs: f64) -> f64 {
        match self {
            Self::Relative(share) => share * theirs.abs(),
            Self::Absolute(value) => value,
            Self::Larger(value, share) => value.max(share * theirs.abs()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_by_hand() {
        assert!((Margin::SAME.beside(-40.0) - 2.0).abs() < 1e-12);
        assert!((Margin::JAIN.beside(0.9) - 0.03).abs() < 1e-12);
        assert!((Margin::DROPS.beside(0.2) - 0.1).abs() < 1e-12);
        assert!((Margin::DROPS.beside(3.0) - 0.3).abs() < 1e-12);
    }
}
