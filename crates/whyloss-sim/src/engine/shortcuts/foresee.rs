//! *Foresee*: a source takes an acknowledgement ahead of time.
//!
//! **Idea.** When a packet passes the last place where it waits, the time at which its
//! acknowledgement reaches the source follows. If the source then only lets new segments leave, it
//! does so at once, as of that future time.
//!
//! **Licence.** The source never stops. The acknowledgement only moves the window: it reports no
//! loss, repeats nothing, and no timer expires before it comes (`Sender::foresees`, asked for
//! each). Nothing is in transit before it over the link that it comes from. Only the source sends
//! into its first link, and its data waits somewhere behind. (Otherwise a segment would reach its
//! sink in this step, its answer would be foreseen, and so on without end.)
//!
//! **Proof.** Three kinds of events reach a source: answers, true causes and its own timer. No
//! answer comes before this one, the timer expires later, and a true cause changes only the judge,
//! which this acknowledgement does not ask. So the source does nothing in the meantime. Its
//! segments become visible to others only where they wait, by an event, in their order.

use super::Licences;
use super::map::Map;

/// Returns whether each flow's source is fused, given the fused links and sinks.
pub(super) fn sources(map: &Map, licences: &Licences) -> Vec<bool> {
    let uses = map.uses();
    let flows = map.flows.iter().zip(&licences.fused_sinks);
    let fused = flows.map(|(flow, &sink)| {
        let (Some((&first, behind)), Some(&last)) = (flow.there.split_first(), flow.back.last())
        else {
            return false;
        };
        let waits = !sink || behind.iter().any(|&link| !licences.fused[link]);
        let answer_at_once = |link: usize| !map.links[link].busy;
        flow.may_foresee
            && waits
            && uses[first] == 1
            && answer_at_once(first)
            && answer_at_once(last)
    });
    fused.collect()
}

#[cfg(test)]
mod tests {
    use super::super::Shortcuts;
    use super::*;

    #[test]
    fn data_must_leave_alone_and_wait_somewhere() {
        let fused = |flows: &[(&[usize], &[usize])]| {
            let map = Map::of(4, flows);
            Shortcuts::ALL.licences(&map).fused_sources
        };
        // Links 0 and 1 lead to link 2, where both wait; the answers come over link 3.
        assert_eq!(fused(&[(&[0, 2], &[3]), (&[1, 2], &[3])]), [true, true]);
        assert_eq!(fused(&[(&[0, 2], &[3]), (&[0, 2], &[3])]), [false, false]);
        // Alone, a segment would reach its sink in the step in which it leaves.
        assert_eq!(fused(&[(&[0, 2], &[3])]), [false]);
    }
}
