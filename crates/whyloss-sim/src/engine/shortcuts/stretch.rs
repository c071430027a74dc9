//! *Stretch*: consecutive links on which packets never wait are one entry of the table. Gain: the
//! dumbbell takes a tenth more instructions without it.
//!
//! **Idea.** Where packets come at least one transmission time apart, each finds the link idle and
//! takes the same time to cross it. The link need not decide.
//!
//! **Licence.** Packets never wait on the link (`spacing.rs`). The link is *bare* (`map.rs`): only
//! a full queue loses packets. Nothing observes links.
//!
//! **Proof.** By the claim of `spacing.rs`, the packet would arrive one crossing time after it
//! enters the link. The link itself does not see the packet, so its own decisions would be wrong
//! from then on. But it makes none: the licence is the link's, so every way over it crosses it as
//! part of a stretch.
//!
//! The [table](super::super::hops::Table) holds one entry for a stretch. Deliveries are counted
//! once for all its links. Before the measurement window and near its end, they are counted link by
//! link.

use super::map::Map;
use super::spacing::Spacing;

/// Returns whether each link may be part of a stretch.
pub(super) fn links(map: &Map, spacing: &Spacing) -> Vec<bool> {
    let links = map.links.iter().enumerate();
    links
        .map(|(link, facts)| facts.bare && spacing.never_waits(link))
        .collect()
}
