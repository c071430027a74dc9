//! *Stretch*: links one behind the other on which packets never wait are crossed in one step.
//!
//! **Idea.** Where packets come at least one transmission time apart, each finds the link idle and
//! takes the same time to cross it. The link need not be asked.
//!
//! **Licence.** All packets of the link are of one size, and neither a channel nor a discipline nor a
//! change of delay is in the way. Nothing observes links. The least distance between packets is at
//! least the transmission time:
//!
//! ```text
//! behind a link   the distance before that link if no packet waits there, otherwise its transmission
//!                 time; unknown if its delay changes
//! behind a sink   the same, of its data behind the last link, if it answers at once
//! at a merge      the root's transmission time of the data that is answered (`sinks.rs`)
//! behind a source, or where several links meet   unknown
//! ```
//!
//! **Proof.** By induction along the way: what comes to an idle link so far apart leaves it as far
//! apart.
//!
//! The table of hops holds one entry for a stretch, and flows with the same hops share them.
//! Deliveries are counted once for all its links, except near the ends of the measurement window,
//! where they are counted link by link.

use std::collections::BTreeMap;

use whyloss::Duration;

use super::super::hops::{Hop, Stretch};
use super::super::network::Network;
use super::fuse::Feeder;
use crate::host::Sink;
use crate::packet::ANSWER_SIZE;
use crate::scenario::Scenario;

/// The stretches so far, by their links and the size of their packets.
type Known = BTreeMap<(Vec<usize>, u32), usize>;

impl Network {
    /// Joins links on which packets never wait, in the table of hops. `merges` has the known
    /// merges, each with the smallest distance between its packets.
    pub(super) fn stretch(
        &mut self,
        scenario: &Scenario,
        feeders: &[Feeder],
        merges: &[Option<Duration>],
    ) {
        let idle = self.idle(scenario, feeders, merges);
        let old = std::mem::take(&mut self.hops);
        let mut hops = vec![old[0]];
        let (mut known, mut begins) = (Known::new(), BTreeMap::new());
        for flow in 0..self.routes.len() {
            let (there, back) = self.routes[flow];
            let beyond = old[back as usize..]
                .iter()
                .position(|hop| hop.link().is_none());
            let beyond = back as usize + beyond.unwrap_or(0) + 1;
            let size = scenario.flows[flow].wire_size();
            let ways = [
                (&old[there as usize..back as usize], size),
                (&old[back as usize..beyond], ANSWER_SIZE),
            ];
            let [there, back] = ways.map(|(way, size)| {
                let way = self.join(scenario, &idle, way, size, &mut known);
                *begins.entry(way).or_insert_with_key(|way| {
                    hops.extend(way);
                    (hops.len() - way.len()) as u32
                })
            });
            self.routes[flow] = (there, back);
        }
        self.hops = hops;
    }

    /// Returns the hops of a route, joined. Flows with the same links share a stretch.
    fn join(
        &mut self,
        scenario: &Scenario,
        idle: &[Option<Duration>],
        way: &[Hop],
        size: u32,
        known: &mut Known,
    ) -> Vec<Hop> {
        let mut hops = Vec::new();
        let can = |hop: &Hop| hop.link().is_some_and(|link| idle[link].is_some());
        let mut at = 0;
        while let Some(&first) = way.get(at) {
            if !can(&first) {
                hops.push(first);
                at += 1;
                continue;
            }
            let behind = &way[at + 1..];
            let more = behind.iter().take_while(|hop| hop.is_fused() && can(hop));
            let length = 1 + more.count();
            let links: Vec<usize> = way[at..at + length].iter().map(|hop| hop.index()).collect();
            let stretch = *known
                .entry((links, size))
                .or_insert_with_key(|(links, _)| self.add_stretch(scenario, links, size));
            hops.push(Hop::stretch(stretch, first.is_fused()));
            at += length;
        }
        hops
    }

    /// Adds the stretch of these links for packets of this size.
    fn add_stretch(&mut self, scenario: &Scenario, links: &[usize], size: u32) -> usize {
        let begin = self.stretched.len() as u32;
        let mut whole = Duration::ZERO;
        for &link in links {
            let crossing = crossing(scenario, link, size);
            whole += crossing;
            self.stretched.push((link as u32, crossing));
        }
        let spare = self.window.length() - whole;
        self.stretches.push(Stretch {
            crossing: whole,
            within: (spare.as_nanos() + 1).max(0) as u64,
            count: 0,
            size,
            last: links[links.len() - 1] as u32,
            begin,
            end: self.stretched.len() as u32,
        });
        self.stretches.len() - 1
    }

    /// Returns, for each link on which packets never wait, the shortest time between two packets.
    fn idle(
        &self,
        scenario: &Scenario,
        feeders: &[Feeder],
        merges: &[Option<Duration>],
    ) -> Vec<Option<Duration>> {
        let sizes = self.sizes(scenario);
        let mut idle: Vec<Option<Duration>> = vec![None; self.wires.len()];
        // How far apart packets of one size arrive at the end of a link.
        let behind = |idle: &[Option<Duration>], link: usize, size: u32| {
            let spec = &scenario.links[link].link;
            let kept = spec.delay_changes.is_empty();
            kept.then(|| idle[link].unwrap_or_else(|| spec.rate.transmission_time(size)))
        };
        loop {
            let mut more = false;
            for link in 0..idle.len() {
                let Some(size) = sizes[link].filter(|_| idle[link].is_none()) else {
                    continue;
                };
                let apart = match feeders[link] {
                    Feeder::Link(before) => behind(&idle, before, size),
                    Feeder::Sink(flow) => {
                        let data = &scenario.flows[flow];
                        let last = self.hops[self.routes[flow].1 as usize - 2].link();
                        let last = last.filter(|_| Sink::answers_at_once(&data.transport));
                        last.and_then(|last| behind(&idle, last, data.wire_size()))
                    }
                    Feeder::None | Feeder::Several => merges[link],
                };
                let spec = &scenario.links[link].link;
                let transmission = spec.rate.transmission_time(size);
                let lasts = crossing(scenario, link, size) < Duration::MAX;
                if let Some(apart) = apart
                    && transmission <= apart
                    && self.wires[link].link.is_steady()
                    && lasts
                {
                    idle[link] = Some(apart);
                    more = true;
                }
            }
            if !more {
                return idle;
            }
        }
    }

    /// Returns the size of each link's packets, if all have one size.
    fn sizes(&self, scenario: &Scenario) -> Vec<Option<u32>> {
        let mut sizes = vec![0; self.wires.len()];
        let mut note = |hop: &Hop, size| {
            if let Some(link) = hop.link() {
                let known = &mut sizes[link];
                *known = if *known == 0 || *known == size {
                    size
                } else {
                    u32::MAX
                };
            }
        };
        for (flow, &(there, back)) in scenario.flows.iter().zip(&self.routes) {
            let (size, answer) = if flow.is_from_outside() {
                (u32::MAX, u32::MAX)
            } else {
                (flow.wire_size(), ANSWER_SIZE)
            };
            let there = &self.hops[there as usize..back as usize];
            let back = self.hops[back as usize..].iter();
            let back = back.take_while(|hop| hop.link().is_some());
            for hop in there {
                note(hop, size);
            }
            for hop in back {
                note(hop, answer);
            }
        }
        let known = |size| (size != 0 && size != u32::MAX).then_some(size);
        sizes.into_iter().map(known).collect()
    }
}

/// Returns the time that a packet of this size takes over an idle link.
fn crossing(scenario: &Scenario, link: usize, size: u32) -> Duration {
    let spec = &scenario.links[link].link;
    spec.rate.transmission_time(size) + spec.delay.max(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use whyloss_link::Streams;

    use super::super::Shortcuts;
    use super::*;
    use crate::measure::Window;

    const DUMBBELL: &str = include_str!("../../../../../scenarios/dumbbell.toml");

    /// Returns the number of links in each stretch of a network.
    fn lengths(overrides: &[(&str, &str)]) -> Vec<u32> {
        let own = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
        let overrides: Vec<_> = overrides.iter().map(own).collect();
        let scenario = Scenario::from_toml(DUMBBELL, "dumbbell.toml", &overrides).expect("valid");
        let mut network = Network::new(&scenario, Streams::new(1), Window::of(&scenario));
        Shortcuts::ALL.license(&mut network, &scenario);
        let stretches = network.stretches.iter();
        stretches
            .map(|stretch| stretch.end - stretch.begin)
            .collect()
    }

    /// Behind the bottleneck packets never wait: one link to each sink, and three back to the
    /// sources.
    #[test]
    fn a_dumbbell_has_two_for_each_flow() {
        assert_eq!(lengths(&[]), [1, 3].repeat(10));
    }

    /// Two delayed acknowledgements may arrive at once: only the last link to the source separates
    /// them.
    #[test]
    fn answers_that_wait_may_come_together() {
        let delayed = [("flow.bulk.transport", r#"{ kind = "tcp" }"#)];
        assert_eq!(lengths(&delayed), [1, 1].repeat(10));
    }
}
