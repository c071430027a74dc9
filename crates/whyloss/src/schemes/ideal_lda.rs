//! The ideal LDA of Milenkoski & Stojcevska 2010, section 4 (MIL-2, MIL-4, MIL-7): a window-based
//! scheme that uses the true cause of each loss.
//!
//! ```text
//! 3 duplicates   the first lost packet was corrupted once, at any time    nothing changes: cwnd, ssthresh, estimate
//!                else                                                     as without the LDA
//! timeout        not classified                                           as without the LDA
//! ```
//!
//! NewRenoLDA uses NewReno's recovery, WestwoodLDA only fast retransmit, as in UCLA's module for
//! ns-2. VegasLDA is in [`vegas`](super::vegas). The paper looks up a record of corrupted packets
//! that is never pruned, so a packet corrupted once always counts as corrupted.

use super::Scheme;
use crate::policy::WirelessPolicy;

/// How an oracle looks up the cause of a loss event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lookup {
    /// The packets whose cause is looked up.
    pub of: LookupOf,
    /// Whether a packet that was corrupted once always counts as corrupted, even if a queue drops
    /// its retransmission (MIL-7 (b)). Otherwise its latest loss counts.
    pub remembers: bool,
    /// Whether timeouts are classified; otherwise they count as congestion (MIL-7 (c)).
    pub timeouts: bool,
}

impl Lookup {
    /// The lookup of the paper (MIL-7).
    pub const MIL: Self = Self {
        of: LookupOf::First,
        remembers: true,
        timeouts: false,
    };
}

impl Default for Lookup {
    /// Returns the lookup of NewReno-Ideal-LP (MAR-4): any packet of the window, at its latest
    /// loss, also at timeouts.
    fn default() -> Self {
        Self {
            of: LookupOf::Window,
            remembers: false,
            timeouts: true,
        }
    }
}

/// The packets that an oracle looks up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LookupOf {
    /// All packets known to be lost in the window. The cause is congestion if any of them was lost
    /// to congestion (MAR-4).
    #[default]
    Window,
    /// Only the first lost packet (MIL-7).
    First,
    /// The packet before the first lost one, which is the last one acknowledged. This is the
    /// paper's literal text (MIL-7 (a)).
    Acknowledged,
}

/// Adds the ideal LDA to `scheme`.
pub fn ideal<J>(scheme: Scheme<J>) -> Scheme<Lookup> {
    let mut ideal = scheme.classified(Lookup::MIL);
    ideal.controller.wireless = WirelessPolicy::Keep;
    ideal
}

#[cfg(test)]
mod tests {
    use super::super::tests::{BEGUN, loss};
    use super::*;
    use crate::Cause::{Congestion, Wireless};
    use crate::event::Detection;

    /// 20 of 30 segments are in flight. Half of these remain, or all 30.
    #[test]
    fn the_window_stays_or_is_halved() {
        let scheme = ideal(super::super::newreno());
        for (cause, window, ssthresh) in [(Wireless, 30_000, 15_000), (Congestion, 10_000, 10_000)]
        {
            let mut control = scheme.controller.build(&BEGUN);
            control.on_loss(&loss(Detection::Duplicates), cause);
            assert_eq!((control.window(), control.ssthresh()), (window, ssthresh));
        }
        let asked = Lookup::MIL;
        assert!(asked.remembers && !asked.timeouts && asked.of == LookupOf::First);
    }
}
