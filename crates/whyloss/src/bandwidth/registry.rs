//! The registry: every bandwidth estimator by name.

use super::{Arithmetic, DuplicateAcks, EstimatorSpec, TibetFilter, WestwoodSpec};
use crate::registry::{self, switch};

/// One line of the registry.
pub type Entry = registry::Entry<EstimatorSpec>;

/// Every estimator.
pub static REGISTRY: &[Entry] = &[
    Entry::new(
        ("westwood", "Westwood"),
        "a sample per acknowledgement through a fixed filter",
        "Milenkoski & Stojcevska 2010, section 3.2",
        &[],
        |_| Ok(EstimatorSpec::Westwood(WestwoodSpec::PER_ACK)),
    ),
    Entry::new(
        ("westwood-filter", "Westwood (timed filter)"),
        "a sample per acknowledgement through a filter that knows the time between them",
        "Casetti et al., MobiCom 2001; Le & Hong 2006, section 2",
        &[],
        |_| Ok(EstimatorSpec::Westwood(WestwoodSpec::TIMED)),
    ),
    Entry::new(
        ("westwood-plus", "Westwood+"),
        "a sample per round trip",
        "Mascolo et al., CCR 34(2), 2004",
        &[],
        |_| Ok(EstimatorSpec::WestwoodPlus(Arithmetic::Exact)),
    ),
    Entry::new(
        ("abse", "ABSE"),
        "adaptive sampling and filter",
        "Wang et al., GLOBECOM 2002",
        &[],
        |_| Ok(EstimatorSpec::Abse),
    ),
    Entry::new(
        ("tibet", "TIBET"),
        "segment sizes and gaps filtered apart",
        "Capone, Fratta & Martignon, IEEE TMC 3(2), 2004",
        &[],
        |_| Ok(EstimatorSpec::Tibet(TibetFilter::DEFAULT)),
    ),
    Entry::new(
        ("sarbe", "SARBE"),
        "what the receiver's stamps say about the way there",
        "Le & Hong, IEICE Trans. E89-B(4), 2006",
        &[switch(false, "whether each duplicate acknowledgement is a sample").named("duplicates")],
        |values| {
            Ok(EstimatorSpec::Sarbe(if values.value("duplicates") == 0.0 {
                DuplicateAcks::Wait
            } else {
                DuplicateAcks::Sample
            }))
        },
    ),
];

/// Finds the estimator of that id.
pub fn find(id: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.id == id)
}
