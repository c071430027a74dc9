//! Links on which packets never wait, and the smallest distance between their packets. Shortcuts
//! [merge](super::merge) and [stretch](super::stretch) rest on it.
//!
//! **Claim.** If all packets of a link have one size, and arrive at least a distance *d* apart that
//! is no less than their transmission time, none waits. If the link is also *even* (`map.rs`), they
//! leave it at least *d* apart.
//!
//! **Proof.** By induction over the packets. The first finds the link idle. Each later one comes
//! when the transmission of the one before is over, so it also finds the link idle. It leaves after
//! its transmission time and the delay, which are those of all others. A lost packet only makes a
//! distance longer. A larger packet in between would take longer, so there must not be any: the
//! claim is about links whose packets all have one size.
//!
//! The smallest distance:
//!
//! ```text
//! beyond a link       the distance before the link if packets never wait on it, otherwise their
//!                     transmission time there; unknown if the link is not even
//! beyond a sink       the distance of its data beyond the last link, if it answers immediately
//! at a merge          the distance of the data beyond the root (`merge.rs`)
//! beyond a source, or where several links meet    unknown
//! ```

use whyloss::Duration;

use super::map::{Answers, Feeder, Map};

/// For each link on which packets never wait, the smallest distance between the starts of two
/// packets.
#[derive(Debug)]
pub(super) struct Spacing(Vec<Option<Duration>>);

impl Spacing {
    /// Finds these links by induction along the ways, until a round finds no further link.
    pub(super) fn new(map: &Map, feeders: &[Feeder], merges: &[Option<Duration>]) -> Self {
        let sizes = map.sizes();
        let mut spacing = Self(vec![None; map.links.len()]);
        loop {
            let mut more = false;
            for (link, facts) in map.links.iter().enumerate() {
                let Some(size) = sizes[link].filter(|_| !spacing.never_waits(link)) else {
                    continue;
                };
                let distance = match feeders[link] {
                    Feeder::Link(before) => spacing.at_far_end(map, before, size),
                    Feeder::Sink(flow) => spacing.of_answers(map, flow),
                    Feeder::None | Feeder::Unordered => merges[link],
                };
                spacing.0[link] = distance.filter(|&distance| {
                    facts.even
                        && facts.transmission(size) <= distance
                        && facts.crossing(size) < Duration::MAX
                });
                more |= spacing.never_waits(link);
            }
            if !more {
                return spacing;
            }
        }
    }

    pub(super) fn never_waits(&self, link: usize) -> bool {
        self.0[link].is_some()
    }

    /// Returns the smallest distance at which packets of `size` bytes arrive at the far end of a
    /// link.
    pub(super) fn at_far_end(&self, map: &Map, link: usize, size: u32) -> Option<Duration> {
        let facts = &map.links[link];
        let kept = self.0[link].unwrap_or_else(|| facts.transmission(size));
        facts.even.then_some(kept)
    }

    fn of_answers(&self, map: &Map, flow: usize) -> Option<Duration> {
        let flow = &map.flows[flow];
        let ([data, _], last) = (flow.sizes?, *flow.there.last()?);
        let at_once = flow.answers != Answers::Later;
        self.at_far_end(map, last, data).filter(|_| at_once)
    }
}

#[cfg(test)]
mod tests {
    use whyloss::Rate;

    use super::*;

    /// Returns the links on which packets never wait, among links 0 to 2 that a flow crosses one
    /// after the other, with its answers over link 3.
    fn never_wait(change: impl Fn(&mut Map)) -> Vec<usize> {
        let mut map = Map::of(4, &[(&[0, 1, 2], &[3])]);
        change(&mut map);
        let spacing = Spacing::new(&map, &map.feeders(&[false; 4]), &[None; 4]);
        (0..4).filter(|&link| spacing.never_waits(link)).collect()
    }

    #[test]
    fn packets_wait_at_most_behind_their_source() {
        assert_eq!(never_wait(|_| {}), [1, 2, 3]);
    }

    #[test]
    fn packets_wait_before_a_slower_link() {
        let slow = |map: &mut Map| map.links[1].rate = Rate::from_bps(1_000_000);
        assert_eq!(never_wait(slow), [2, 3]);
    }

    /// Tests an uneven link, such as one with a trace: packets leave it together.
    #[test]
    fn packets_may_wait_behind_a_link_that_is_not_even() {
        assert_eq!(never_wait(|map| map.links[0].even = false), [2, 3]);
        assert_eq!(never_wait(|map| map.links[2].even = false), [1]);
    }

    #[test]
    fn packets_of_two_sizes_may_wait() {
        assert_eq!(never_wait(|map| map.flows[0].sizes = None), []);
        let other = |map: &mut Map| {
            let mut flow = map.flows[0].clone();
            (flow.there, flow.back, flow.sizes) = (vec![0, 1], vec![], Some([200, 40]));
            map.flows.push(flow);
        };
        assert_eq!(never_wait(other), [2, 3]);
    }

    #[test]
    fn delayed_answers_may_wait() {
        assert_eq!(
            never_wait(|map| map.flows[0].answers = Answers::Later),
            [1, 2]
        );
    }
}
