//! ECN: how much the share of marked packets lowers the target.
//!
//! ```text
//! marked    = CE marks of a round / its arrivals
//! alpha     ← alpha + (marked − alpha)/16                     RFC 8257, section 3.3
//! L4S       target ← target·(1 − alpha/2)                     a sender of ECT(1); RFC 9331, section 4.3
//! classic   target ← 0.85·target                              any mark in a round; RFC 8511, section 3.1
//! ```
//!
//! RFC 8888 reports the codepoint that arrived. Unmarked packets show which kind the sender uses:
//! ECT(1) is L4S. TWCC carries no ECN, so marks have no effect with TWCC.

use crate::Ecn;

#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    l4s: bool,
    arrived: u32,
    marked: u32,
    alpha: f64,
}

impl Marks {
    pub(crate) fn add(&mut self, ecn: Ecn) {
        self.arrived = self.arrived.saturating_add(1);
        match ecn {
            Ecn::Ce => self.marked = self.marked.saturating_add(1),
            Ecn::Ect1 => self.l4s = true,
            Ecn::Ect0 => self.l4s = false,
            Ecn::NotEct => {}
        }
    }

    /// Ends a round. Returns the share of the target that remains; `None` if no packet was marked.
    pub(crate) fn end(&mut self) -> Option<f64> {
        let marked = f64::from(self.marked) / f64::from(self.arrived.max(1));
        self.alpha += (marked - self.alpha) / 16.0;
        let any = self.marked > 0;
        (self.arrived, self.marked) = (0, 0);
        any.then(|| {
            if self.l4s {
                1.0 - self.alpha / 2.0
            } else {
                0.85
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalable_by_share_and_classic_by_one_step() {
        let mut marks = Marks::default();
        marks.add(Ecn::Ect1);
        marks.add(Ecn::Ce);
        // alpha is (1/2)/16, and the target falls by half of it.
        assert_eq!(marks.end(), Some(1.0 - 1.0 / 64.0));
        marks.add(Ecn::Ect0);
        assert_eq!(marks.end(), None);
        marks.add(Ecn::Ce);
        assert_eq!(marks.end(), Some(0.85));
    }
}
