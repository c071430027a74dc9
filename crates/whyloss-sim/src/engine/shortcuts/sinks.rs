//! *Sink* and *merge*: a sink, and the links on which sinks' answers meet, are computed ahead of
//! time.
//!
//! **Idea.** Once a packet has passed its last stop, its arrival at the sink is known, and so is
//! the answer. Behind a bottleneck, answers of many sinks meet again in the order in which their
//! data left the bottleneck.
//!
//! **Licence of a sink.** The last link to it can decide immediately. The first link of its answers
//! gets packets from this sink alone or is a merge, or the sink never answers. If the sink judges
//! losses (TFRC), no link on the way to it reorders packets.
//!
//! **Proof.** Only packets of its flow, its own deadlines and, if it judges, the true causes of
//! losses change a sink.
//!
//! 1. Packets reach it in the order in which they leave their last stop, and the engine delivers
//!    them in this order.
//! 2. Before it takes a packet, the sink acts on its deadlines before that packet's arrival, as of
//!    their times.
//! 3. A deadline that no packet follows yet is an event. When it comes, all packets that arrive
//!    before it have left their last stop, so the sink has them.
//! 4. The first link of its answers sees them in order, as nothing else comes between.
//! 5. At an arrival, a judge reads only the causes of losses of earlier packets. Without
//!    reordering, these reached the link that lost them before the arriving packet did. So both
//!    engines have reported them, and causes that one engine reports earlier change nothing.
//!
//! A delivery also touches two things that are kept with the source. Neither shows the source the
//! future:
//!
//! - *The book of transfers* (`host/transfers.rs`, `host/web.rs`). The source adds a transfer
//!   before its first packet leaves, and a delivery strikes out the oldest one that is complete. So
//!   a transfer is never struck out before it is added. The source reads how many it has added, not
//!   which are left. Nothing that arrives after the end of the run is struck out.
//! - *The bytes of a datagram* (`host/outside/end.rs`). They are written when it leaves, and read
//!   once, at its arrival; a copy keeps them for the second arrival. Its slot is free earlier than
//!   in the plain engine, so a later datagram may get another slot. The number of a slot means
//!   nothing.
//!
//! **Licence of a merge.** Only answers reach the link, each at the end of a [`Branch`], and all
//! branches are equal:
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
//!   source alone, in its order: the licences of *foresee* and *gate* say so. The link beyond
//!   a gate is a stop.
//!
//! In a dumbbell whose access links are alike, the shared link of the way back is such a merge. A
//! merge may be part of the branches to another one, such as that of several sinks at one host.

use std::collections::BTreeMap;

use whyloss::Duration;

use super::map::{Answers, Feeder, FlowFacts, Map};
use super::spacing::Spacing;

/// Returns whether each flow's sink is computed ahead of time.
pub(super) fn sinks(map: &Map, feeders: &[Feeder], merges: &[Option<Duration>]) -> Vec<bool> {
    let fused = |(index, flow): (usize, &FlowFacts)| {
        let first = flow.back.first();
        let alone = first
            .is_some_and(|&first| feeders[first] == Feeder::Sink(index) || merges[first].is_some());
        let last = flow.there.last();
        let in_order = !flow.there.iter().any(|&link| map.links[link].reorders);
        (alone || flow.answers == Answers::Never)
            && last.is_some_and(|&last| !map.links[last].busy)
            && (in_order || !flow.sink_judges)
    };
    map.flows.iter().enumerate().map(fused).collect()
}

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

    #[test]
    fn a_sink_that_judges_needs_its_packets_in_order() {
        let fused = |judges, reorders| {
            let mut map = Map::of(3, &[(&[0, 1], &[2])]);
            map.flows[0].sink_judges = judges;
            (map.links[0].busy, map.links[0].reorders) = (reorders, reorders);
            sinks(&map, &map.feeders(&[false; 3]), &[None; 3])[0]
        };
        assert!(fused(true, false) && fused(false, true));
        assert!(!fused(true, true));
    }

    #[test]
    fn a_sink_needs_a_first_link_of_its_own() {
        let fused = |flows: &[(&[usize], &[usize])]| {
            let map = Map::of(4, flows);
            sinks(&map, &map.feeders(&[false; 4]), &[None; 4])
        };
        assert_eq!(fused(&[(&[0], &[2]), (&[1], &[3])]), [true, true]);
        assert_eq!(fused(&[(&[0], &[2]), (&[1], &[2])]), [false, false]);
    }
}
