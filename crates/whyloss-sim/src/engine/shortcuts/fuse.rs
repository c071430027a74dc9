//! *Fuse*: the step that sends a packet over one link also sends it over the next link, if nothing
//! else feeds that one. Gain: the dumbbell takes four fifths more instructions without it.
//!
//! **Idea.** A FIFO link computes on arrival when a packet reaches its far end. If the packet then
//! enters a link that nothing else feeds, that link can decide with the future time as "now".
//!
//! **Licence.** All packets of the link come from one other link, which decides immediately or is
//! prompt. The link itself decides immediately.
//!
//! **Proof.** The link sees its packets in the order in which they leave its feeder, with or
//! without an event between. So its queue, its channel and every draw of its random numbers are the
//! same.

use super::map::Feeder;

/// Returns whether each link is fused with its feeder.
pub(super) fn links(feeders: &[Feeder]) -> Vec<bool> {
    let fed_by_one = |feeder: &Feeder| matches!(feeder, Feeder::Link(_));
    feeders.iter().map(fed_by_one).collect()
}

#[cfg(test)]
mod tests {
    use super::super::map::Map;
    use super::*;

    /// Returns whether link 2 is fused, if two flows reach it over these links.
    fn last_is_fused(first: usize, second: usize) -> bool {
        let map = Map::of(3, &[(&[first, 2], &[]), (&[second, 2], &[])]);
        links(&map.feeders(&[false; 3]))[2]
    }

    #[test]
    fn a_link_that_one_other_feeds_is_fused() {
        assert!(last_is_fused(0, 0));
        assert!(!last_is_fused(0, 1));
    }

    #[test]
    fn a_link_behind_a_busy_one_is_fused_only_if_that_is_prompt() {
        let mut map = Map::of(2, &[(&[0, 1], &[])]);
        map.links[0].busy = true;
        assert_eq!(links(&map.feeders(&[false, false])), [false, false]);
        assert_eq!(links(&map.feeders(&[true, false])), [false, true]);
    }
}
