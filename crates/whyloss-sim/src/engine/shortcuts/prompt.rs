//! *Prompt*: packets of a CoDel or FQ-CoDel link enter the next link as soon as they leave the
//! queue, before they arrive. Gain: the dumbbell with CoDel takes half as many instructions again
//! without it.
//!
//! **Idea.** Where only the queue keeps a link from deciding at once, the arrival of a
//! packet is known as soon as it leaves the queue. At its turn, it enters the next link and all
//! links that are fused beyond it, as from any other link.
//!
//! **Licence.** Nothing observes links. Only the queue makes the link busy, its channel is behind
//! the queue, and no trace lets several packets leave at once (`EventLink::knows_at_turns`). It
//! feeds only links that have no other feeder.
//!
//! **Proof.** As for fused links: those beyond see their packets in the order of the turns. The
//! link has nothing in transit; its packets are in transit over the links beyond it. Packets that
//! the channel loses stay with the link until their time.

use super::map::{Feeder, Map};

/// Returns whether each link is prompt.
pub(super) fn links(map: &Map) -> Vec<bool> {
    let candidates = map.links.iter();
    let candidates: Vec<bool> = candidates.map(|link| link.may_be_prompt).collect();
    // This treats all candidates as prompt, so that the links beyond them have feeders.
    let feeders = map.feeders(&candidates);
    let mut prompt = candidates;
    for (link, next) in map.steps() {
        prompt[link] &= next.is_some_and(|next| feeders[next] == Feeder::Link(link));
    }
    prompt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_prompt_if_it_alone_feeds_those_behind() {
        let codel = |mut map: Map| {
            (map.links[0].busy, map.links[0].may_be_prompt) = (true, true);
            links(&map)[0]
        };
        assert!(codel(Map::of(3, &[(&[0, 1], &[]), (&[0, 2], &[])])));
        // Link 2 feeds link 1 as well.
        assert!(!codel(Map::of(3, &[(&[0, 1], &[]), (&[2, 1], &[])])));
        // The packets reach a sink beyond it.
        assert!(!codel(Map::of(3, &[(&[0], &[])])));
    }
}
