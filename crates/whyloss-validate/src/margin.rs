//! How far apart two means may lie and still be called equivalent: fixed before the first
//! comparison was run, and not widened since.
//!
//! | margin | what for | why |
//! |---|---|---|
//! | 1 % | closed forms that hold exactly | only our own noise is between; an error in a formula shows as more |
//! | 2 % | RED's drop rate, RFC 5348's equation under constant loss | exact but for the averages they are fed with, which fluctuate |
//! | 10 % | Mathis et al. under periodic loss | its authors leave out what a round trip adds to the period |
//! | 20 % | PFTK under independent losses | its model loses the rest of a round after the first loss; its authors report errors of this order |
//! | 5 % | goodput beside ns-2's own agents | below what the papers read off their figures, and what ns-2 itself moves by when its clock starts at another phase |
//! | 10 % | goodput beside Linux's modules in ns-2, and beside ns-3 | other implementations: what the RFCs leave open (rate halving, counting bytes, proportional rate reduction) is theirs to choose |
//! | 10 %, at least 0.1 points | share of packets dropped, or marked, at the queue | drops go with the square of the throughput: twice its margin; and one packet in a thousand matters to nobody |
//! | 10 % | goodput of one flow among others | what one loses the others gain, so twice the margin of all |
//! | 0.03 | Jain's index | less than ns-2's Vegas deviates between seeds |
//! | 10 %, at least 1 ms | how long packets wait on average under a queue that controls its delay | the margin of the drops that bring it about; and 1 ms is less than a packet takes over the links compared |

/// How far apart two means may lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Margin {
    /// A share of theirs.
    Relative(f64),
    /// A number of the metric's unit.
    Absolute(f64),
    /// The larger of a number and a share of theirs.
    Larger(f64, f64),
}

impl Margin {
    /// A closed form that holds exactly.
    pub const EXACT: Self = Self::Relative(0.01);
    /// A closed form fed with averages.
    pub const AVERAGED: Self = Self::Relative(0.02);
    /// Mathis et al.
    pub const MATHIS: Self = Self::Relative(0.10);
    /// Padhye et al.
    pub const PFTK: Self = Self::Relative(0.20);
    /// Goodput beside an implementation that ours follows.
    pub const SAME: Self = Self::Relative(0.05);
    /// Goodput beside one that it does not.
    pub const OTHER: Self = Self::Relative(0.10);
    /// Drops at a queue, in per cent of what it is offered.
    pub const DROPS: Self = Self::Larger(0.1, 0.10);
    /// Goodput of one flow among others.
    pub const ONE_OF_SEVERAL: Self = Self::Relative(0.10);
    /// How long packets wait, in ms.
    pub const WAIT: Self = Self::Larger(1.0, 0.10);
    /// Jain's index.
    pub const JAIN: Self = Self::Absolute(0.03);

    /// In the metric's unit, beside this value of theirs.
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
