//! TCP Vegas (Brakmo & Peterson, IEEE JSAC 13(8), 1995), and VegasLDA (Milenkoski & Stojcevska
//! 2010, section 4.3; MIL-5, MIL-6).
//!
//! ```text
//! Diff       cwnd − sent·BaseRTT/RTT; below 1 segment cwnd grows by one a round trip, above 3 it shrinks by one
//! loss       of W segments ⌈3W/4⌉ remain, ⌊W/2⌋ if the packet had been sent more than once
//! VegasLDA   a loss that the truth calls wireless changes neither the window nor the fine-grained timeout
//! ```
//!
//! Both use Vegas's recovery, which reads the controller's fine-grained timeout.

use super::{Scheme, unaware};
use crate::congestion::{ControllerKind, VegasDialect};

/// Returns TCP Vegas, without a classifier.
pub fn scheme() -> Scheme {
    unaware(ControllerKind::Vegas(VegasDialect::Paper))
}

#[cfg(test)]
mod tests {
    use super::super::ideal_lda;
    use super::super::tests::{BEGUN, begun, loss};
    use super::*;
    use crate::Cause;
    use crate::event::Detection;

    /// ⌈3·30/4⌉ = 23 segments remain.
    #[test]
    fn three_quarters_or_all() {
        let duplicates = loss(Detection::Duplicates);
        let mut control = begun(&scheme());
        control.on_loss(&duplicates);
        assert_eq!(control.window(), 23_000);
        let mut told = ideal_lda::ideal(scheme()).controller.build(&BEGUN);
        told.on_loss(&duplicates, Cause::Wireless);
        assert_eq!(told.window(), 30_000);
    }
}
