//! *Sink*: a sink takes its packets ahead of time. Gain: the dumbbell takes three fifths more
//! instructions without it.
//!
//! **Idea.** Once a packet has passed its last stop, its arrival at the sink is known, and so is
//! the answer.
//!
//! **Licence.** The last link to it can decide immediately. The first link of its answers gets
//! packets from this sink alone or is a [merge](super::merge), or the sink never answers. If the
//! sink judges losses (TFRC), no link on the way to it reorders packets.
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

use whyloss::Duration;

use super::map::{Answers, Feeder, FlowFacts, Map};

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

#[cfg(test)]
mod tests {
    use super::*;

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
