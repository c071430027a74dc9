//! *Merge*: a link on which answers of several sinks meet decides ahead of time. Gain: the dumbbell
//! takes a third more instructions without it.
//!
//! **Idea.** Behind a bottleneck, answers of many sinks meet again in the order in which their data
//! left the bottleneck.
//!
//! **Licence.** Only answers reach the link, each at the end of a [`Branch`], and all branches are
//! equal:
//!
//! ```text
//!              ╭── links ── sink 0 ── links ──╮
//!   ── root ───┤                              ├─── merge ──
//!              ╰── links ── sink 1 ── links ──╯
//!              │                              │
//!              ╰─── branch: out ──┴── home ───╯
//! ```
//!
//! On a branch, packets never wait (`spacing.rs`), and each link is computed in the step of the one
//! before it. The sinks answer only when packets arrive, or never. The root is the last link on
//! which the data may wait. It is even and not busy, so no two packets leave it at the same time.
//! All branches have the same root, the same size of data and the same length in time.
//!
//! **Proof.** Let two packets leave the root at times t < u, and let them be answered.
//!
//! 1. The engine computes both in this order. A FIFO link gets its packets in the order in which
//!    they leave, and there is no stop on a branch. (The lemma below says why the root gets them in
//!    the order of time.)
//! 2. Packets never wait on a branch, so its answers reach the merge at t + length and u + length,
//!    also in this order. They are never there at the same time, so no order of entities decides.
//! 3. So the merge sees its packets in the order of their times, with or without events between,
//!    and so do the links fused beyond it. Packets that are lost on a branch only leave gaps.
//!
//! **Lemma.** A root gets its packets in the order of time, although it may get them ahead of it:
//!
//! - A root that is a stop gets them by events.
//! - A root that is fused with one link gets them in the order in which they leave that link.
//! - A root that is itself a merge was shown to be one in an earlier round.
//! - The first link of a source that acts ahead of its time or after it gets packets from this
//!   source alone, in its order: the licences of *foresee* and *gate* say so. The link beyond a
//!   gate is a stop.
//!
//! In a dumbbell whose access links are alike, the shared link of the way back is such a merge. A
//! merge may be part of the branches to another one, such as that of several sinks at one host.

use std::collections::BTreeMap;

use whyloss::Duration;

use super::map::{Answers, Feeder, FlowFacts, Map};
use super::spacing::Spacing;

/// The way of a flow's packets from its root to a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Branch {
    root: usize,
    /// The size of the data.
    size: u32,
    /// The time that a packet takes over the branch.
    length: Duration,
}

/// Finds the merges. Returns the smallest distance between packets for each, and whether each link
/// is fused: those already fused, and the merges.
///
/// Merges and spacing define each other, because a merge may be part of the branches to another
/// one. This finds their least fixed point. Each round is sound: it takes the merges of earlier
/// rounds for proved, and so are the distances beyond them. It only adds merges, at most one for
/// each link, so it ends.
pub(super) fn merges(
    map: &Map,
    feeders: &[Feeder],
    mut fused: Vec<bool>,
) -> (Vec<Option<Duration>>, Vec<bool>) {
    let uses = map.uses();
    let mut merges = vec![None; map.links.len()];
    loop {
        let spacing = Spacing::new(map, feeders, &merges);
        let mut reached: BTreeMap<usize, Vec<Branch>> = BTreeMap::new();
        for flow in &map.flows {
            if let Some((merge, branch)) = branch(map, &spacing, &fused, flow) {
                reached.entry(merge).or_default().push(branch);
            }
        }
        reached.retain(|&link, branches| {
            let alike = branches.iter().all(|branch| *branch == branches[0]);
            let alone = branches.len() == uses[link] && feeders[link] == Feeder::Unordered;
            alike && alone && !fused[link] && !map.links[link].busy
        });
        if reached.is_empty() {
            return (merges, fused);
        }
        for (link, branches) in reached {
            merges[link] = spacing.at_far_end(map, branches[0].root, branches[0].size);
            fused[link] = true;
        }
    }
}

/// Returns the branch of a flow and the link that it leads to, the first on the way back where
/// packets may wait.
fn branch(
    map: &Map,
    spacing: &Spacing,
    fused: &[bool],
    flow: &FlowFacts,
) -> Option<(usize, Branch)> {
    let may_wait = |&link: &usize| !spacing.never_waits(link);
    let last = flow.there.iter().rposition(may_wait)?;
    let (root, out) = (flow.there[last], &flow.there[last + 1..]);
    let (home, merge) = flow.back.split_at(flow.back.iter().position(may_wait)?);
    let [data, answer] = flow.sizes?;
    let crossing = |way: &[usize], size| {
        let links = way.iter().map(|&link| map.links[link].crossing(size));
        links.fold(Duration::ZERO, |sum, crossing| sum + crossing)
    };
    let branch = Branch {
        root,
        size: data,
        length: crossing(out, data) + crossing(home, answer),
    };
    // The sink itself enters the first link home.
    let in_one_step = out
        .iter()
        .chain(home.iter().skip(1))
        .all(|&link| fused[link]);
    let even = map.links[root].even && !map.links[root].busy;
    let at_once = flow.answers != Answers::Later;
    (in_one_step && even && at_once).then_some((merge[0], branch))
}

#[cfg(test)]
mod tests {
    use whyloss::Rate;

    use super::*;

    /// Returns the merges of two flows from root 0 to their sinks over links 1 and 2, whose answers
    /// come back over links 3 and 4, and meet at link 5.
    fn found(change: impl Fn(&mut Map)) -> Vec<usize> {
        let mut map = Map::of(6, &[(&[0, 1], &[3, 5]), (&[0, 2], &[4, 5])]);
        map.links[0].rate = Rate::from_bps(100_000_000);
        change(&mut map);
        let feeders = map.feeders(&[false; 6]);
        let (merges, _) = merges(&map, &feeders, super::super::fuse::links(&feeders));
        (0..6).filter(|&link| merges[link].is_some()).collect()
    }

    #[test]
    fn equal_branches_merge() {
        assert_eq!(found(|_| {}), [5]);
        // Both sinks are at one host, whose first link is also a merge.
        assert_eq!(found(|map| map.flows[1].back = vec![3, 5]), [3]);
    }

    #[test]
    fn unequal_branches_do_not() {
        let longer = |map: &mut Map| map.links[4].delay = Duration::from_millis(2);
        assert_eq!(found(longer), []);
        assert_eq!(found(|map| map.flows[1].sizes = Some([200, 40])), []);
        assert_eq!(found(|map| map.flows[1].there = vec![2]), []);
    }

    #[test]
    fn a_branch_on_which_packets_may_wait_is_none() {
        let slow = |map: &mut Map| {
            for link in [1, 2] {
                map.links[link].rate = Rate::from_bps(50_000_000);
            }
        };
        assert_eq!(found(slow), []);
        // Larger packets of a third flow, which answers nothing, on one branch: others wait.
        let crossed = |map: &mut Map| {
            let mut flow = map.flows[0].clone();
            (flow.back, flow.sizes) = (vec![], Some([9_000, 40]));
            map.flows.push(flow);
        };
        assert_eq!(found(crossed), []);
    }

    #[test]
    fn answers_alone_merge() {
        assert_eq!(found(|map| map.flows[0].answers = Answers::Later), []);
        let data = |map: &mut Map| {
            let mut flow = map.flows[0].clone();
            (flow.there, flow.back) = (vec![5], vec![]);
            map.flows.push(flow);
        };
        assert_eq!(found(data), []);
    }
}
