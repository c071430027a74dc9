//! *Gate*: a source that paces its packets is woken when its packet is at its first stop, if that
//! is a link. Such a source is *gated*. Gain: the dumbbell with TFRC flows takes a fifth more
//! instructions without it.
//!
//! **Idea.** A paced source has a deadline for each packet, and the packet an arrival at its
//! *gate*, its first stop. One event at the gate serves both:
//!
//! ```text
//!               deadline ──── crossing ────▶ packet at the gate ───▶ …
//! plain engine  event                        event
//! fast engine                                event: acts as of the deadline, then sends on
//! ```
//!
//! **Licence.** The source sends packets of one size, by timers. Where it also sends as an answer
//! comes, as RACK does, those packets take the same links. Only the flow uses the links to its
//! gate. They are fused with each other, and *bare* (`map.rs`): only a full queue loses packets.
//! None after the first is slower than it, so packets never wait on those, and only the first one's
//! queue loses packets.
//!
//! **Proof.** Nothing of the flow is at the gate sooner than a packet takes to cross these links.
//! Only this flow's packets enter them, and they do so in the order of their deadlines, so sending
//! late finds the links in the state that they had.
//! An acknowledgement or a true cause may reach the source in between. The source then first acts
//! as of the deadlines that have passed (`Ends::catch_up`), so it has the state that it would have
//! with a wake-up at each deadline. It does the same at the end of the run. A packet that the queue
//! of the first link loses is lost at its deadline, and its cause is reported in that step. If a
//! later link lost it, that time could be over when the source acts, and its judge could have
//! decided already.

use whyloss::Duration;

use super::map::{FlowFacts, Map};

/// The first stop of a flow's packets, if only this flow uses the links before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gate {
    /// The link whose far end is the gate.
    pub(crate) link: usize,
    /// The time from the source to the gate of a packet that does not wait, the shortest possible.
    pub(crate) crossing: Duration,
}

/// Returns the gate of each flow, given the fused links.
pub(super) fn gates(map: &Map, fused: &[bool]) -> Vec<Option<Gate>> {
    let uses = map.uses();
    let gate = |flow: &FlowFacts| {
        if !flow.paced {
            return None;
        }
        let ([size, _], beyond) = (flow.sizes?, flow.there.get(1..)?);
        // The packets stop before the first link that is not fused, if there is one.
        let before = 1 + beyond.iter().position(|&link| !fused[link])?;
        let first = map.links[flow.there[0]].transmission(size);
        let mut crossing = Duration::ZERO;
        for &link in &flow.there[..before] {
            let facts = &map.links[link];
            if uses[link] != 1 || !facts.bare || facts.transmission(size) > first {
                return None;
            }
            crossing += facts.crossing(size);
        }
        let link = flow.there[before - 1];
        (crossing < Duration::MAX).then_some(Gate { link, crossing })
    };
    map.flows.iter().map(gate).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Shortcuts;
    use super::*;

    #[test]
    fn a_gate_is_the_end_of_the_links_that_a_flow_has_alone() {
        // Links 0 and 1 lead to link 2, the other flow starts there.
        let mut map = Map::of(3, &[(&[0, 1, 2], &[]), (&[2], &[])]);
        let gates = |map: &Map| Shortcuts::ALL.licences(map).gates;
        let gate = Gate {
            link: 1,
            crossing: Duration::from_micros(2 * (1_000 + 12)),
        };
        assert_eq!(gates(&map), [Some(gate), None]);
        map.links[0].bare = false;
        assert_eq!(gates(&map), [None, None]);
        map.links[0].bare = true;
        map.links[1].rate = whyloss::Rate::from_bps(999_000_000);
        assert_eq!(gates(&map), [None, None]);
    }
}
