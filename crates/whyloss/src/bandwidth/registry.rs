//! The registry: every bandwidth estimator by name.

use super::{Arithmetic, DuplicateAcks, EstimatorSpec, TibetFilter, WestwoodSpec};
use crate::macros::registry;
use crate::registry::switch;

registry! {
    /// Every bandwidth estimator.
    EstimatorSpec {
        "westwood", "Westwood", "a sample per acknowledgement through a fixed filter",
        "Milenkoski & Stojcevska 2010, section 3.2", () => EstimatorSpec::Westwood(WestwoodSpec::PER_ACK);

        "westwood-filter", "Westwood (timed filter)", "a sample per acknowledgement through a filter that depends on the time between them",
        "Casetti et al., MobiCom 2001; Le & Hong 2006, section 2", () => EstimatorSpec::Westwood(WestwoodSpec::TIMED);

        "westwood-plus", "Westwood+", "a sample per round trip",
        "Mascolo et al., CCR 34(2), 2004", () => EstimatorSpec::WestwoodPlus(Arithmetic::Exact);

        "abse", "ABSE", "adaptive sampling and filter",
        "Wang et al., GLOBECOM 2002", () => EstimatorSpec::Abse;

        "tibet", "TIBET", "segment sizes and gaps, filtered separately",
        "Capone, Fratta & Martignon, IEEE TMC 3(2), 2004", () => EstimatorSpec::Tibet(TibetFilter::DEFAULT);

        "sarbe", "SARBE", "bandwidth of the forward path, from the receiver's timestamps",
        "Le & Hong, IEICE Trans. E89-B(4), 2006",
        (duplicates = switch(false, "whether each duplicate acknowledgement is a sample"))
        => EstimatorSpec::Sarbe(if duplicates == 0.0 { DuplicateAcks::Wait } else { DuplicateAcks::Sample });
    }
}
