//! *Foresee*: a source takes an acknowledgement ahead of time. Gain: the dumbbell takes a quarter
//! more instructions without it.
//!
//! **Idea.** When a packet passes its last stop, the arrival time of its acknowledgement at the
//! source follows. If the source then only lets new segments leave, it does so immediately, as of
//! that future time.
//!
//! **Licence.** One part depends on the scenario, the other on each acknowledgement:
//!
//! | clause | tested in |
//! |---|---|
//! | the source is a greedy TCP that never ends and reacts simply | `Source::facts` |
//! | only the source sends into its first link; neither this nor the last one back is busy | here |
//! | its data has a stop beyond the first link | here |
//! | the acknowledgement only moves the window, and no timer expires before | `Sender::foresees` |
//! | nothing is parked before it over the link that it comes from | `Network::send` |
//!
//! Without a stop, a segment would reach its sink in this step, its answer would be foreseen, and
//! so on endlessly.
//!
//! **Proof.** Three kinds of events reach a source: answers, true causes and its own timer.
//!
//! - No answer comes before this one, because the last link back keeps the order of its packets.
//!   Earlier answers have been taken; a parked answer forbids foreseeing this one.
//! - The timer expires later.
//! - A true cause changes only the judge, and this acknowledgement needs no verdict.
//!
//! So the source does nothing in between. Its segments become visible to others only at their stop,
//! by an event, in their order.

use super::map::Map;

/// Returns whether each flow's source is fused, given the fused links and sinks.
pub(super) fn sources(map: &Map, fused: &[bool], sinks: &[bool]) -> Vec<bool> {
    let uses = map.uses();
    let flows = map.flows.iter().zip(sinks);
    let sources = flows.map(|(flow, &sink)| {
        let (Some((&first, beyond)), Some(&last)) = (flow.there.split_first(), flow.back.last())
        else {
            return false;
        };
        let stops = !sink || beyond.iter().any(|&link| !fused[link]);
        let busy = |link: usize| map.links[link].busy;
        flow.may_foresee && stops && uses[first] == 1 && !busy(first) && !busy(last)
    });
    sources.collect()
}

#[cfg(test)]
mod tests {
    use super::super::Shortcuts;
    use super::*;

    #[test]
    fn data_must_leave_alone_and_stop_somewhere() {
        let fused = |flows: &[(&[usize], &[usize])]| {
            let map = Map::of(4, flows);
            Shortcuts::ALL.licences(&map).fused_sources
        };
        // Links 0 and 1 lead to link 2, where both stop; the answers come over link 3.
        assert_eq!(fused(&[(&[0, 2], &[3]), (&[1, 2], &[3])]), [true, true]);
        assert_eq!(fused(&[(&[0, 2], &[3]), (&[0, 2], &[3])]), [false, false]);
        // Alone, a segment would reach its sink in the step in which it leaves.
        assert_eq!(fused(&[(&[0, 2], &[3])]), [false]);
    }
}
