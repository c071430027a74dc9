//! Stretches: links one behind the other on which nobody ever waits, crossed in one step.
//!
//! Where the packets that come to a link are as far apart as its transmission of one takes, each finds it idle. If they
//! are all of one size, and neither a channel nor a discipline nor a change of delay is in the way, each takes the same
//! time to cross it, and the link need not be asked. How far apart they are at least:
//!
//! ```text
//! behind a link            as far as that needs for one of them, or as they were when they came to it; unless its delay changes
//! behind a sink            as far as its data, if it answers at once and nobody else sends into the link
//! at a merge               as far as the root needs for the data that is answered (`fuse.rs`)
//! behind a source, or where several links meet      not at all
//! ```
//!
//! The table of hops holds one entry for a stretch. What is delivered is counted once for all its links, and link by link
//! near the ends of the measurement window.

use whyloss::{Duration, Time};

use super::fuse::Feeder;
use super::{Hop, Network};
use crate::host::Sink;
use crate::measure::Window;
use crate::run::ANSWER_SIZE;
use crate::scenario::Scenario;

/// Links that a flow's packets cross one after the other, and never wait.
#[derive(Debug)]
pub(super) struct Stretch {
    crossing: Duration,
    /// All arrivals of a packet that enters less than this after the window's beginning belong to the window.
    within: u64,
    /// Packets whose arrivals all did.
    count: u64,
    size: u32,
    /// The last link.
    pub(super) last: u32,
    /// The links, in [`Network::stretched`], and how long each takes.
    begin: u32,
    end: u32,
}

impl Stretch {
    /// Counts a packet that enters at `now`, if that is easy, and says when it leaves.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    pub(super) fn cross(&mut self, now: Time, window: Window) -> (Time, bool) {
        let inside = now.as_nanos().wrapping_sub(window.from.as_nanos()) < self.within;
        self.count += u64::from(inside);
        (now.later(self.crossing), inside)
    }
}

impl Network {
    /// Counts a packet that enters a stretch at `now`, and not all of whose arrivals need belong to the window.
    #[cold]
    #[inline(never)]
    pub(super) fn count_each(&mut self, stretch: usize, now: Time) {
        let stretch = &self.stretches[stretch];
        let mut at = now;
        for &(link, crossing) in &self.stretched[stretch.begin as usize..stretch.end as usize] {
            at = at.later(crossing);
            self.wires[link as usize].count_at(at, stretch.size, self.window);
        }
    }

    /// Counts, at the end, for each link what crossed it in stretches.
    pub(super) fn count_stretches(&mut self) {
        for stretch in &self.stretches {
            for &(link, _) in &self.stretched[stretch.begin as usize..stretch.end as usize] {
                let wire = &mut self.wires[link as usize];
                wire.delivered += stretch.count;
                wire.delivered_bytes += stretch.count * u64::from(stretch.size);
            }
        }
    }

    /// Joins links on which nobody waits, in the table of hops. `merges` are the links known to be merges, and how far
    /// apart packets are there.
    pub(super) fn stretch(
        &mut self,
        scenario: &Scenario,
        feeders: &[Feeder],
        merges: &[Option<Duration>],
    ) {
        let idle = self.idle(scenario, feeders, merges);
        let old = std::mem::take(&mut self.hops);
        let mut hops = Vec::with_capacity(old.len());
        hops.push(old[0]);
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
                let begin = hops.len() as u32;
                self.join(scenario, &idle, way, size, &mut hops);
                begin
            });
            self.routes[flow] = (there, back);
        }
        hops.shrink_to_fit();
        self.hops = hops;
    }

    /// Adds the hops of a way to `hops`, joined.
    fn join(
        &mut self,
        scenario: &Scenario,
        idle: &[Option<Duration>],
        way: &[Hop],
        size: u32,
        hops: &mut Vec<Hop>,
    ) {
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
            let begin = self.stretched.len() as u32;
            let mut whole = Duration::ZERO;
            for hop in &way[at..at + length] {
                let crossing = crossing(scenario, hop.index(), size);
                whole += crossing;
                self.stretched.push((hop.index() as u32, crossing));
            }
            let spare = self.window.length() - whole;
            let stretch = Stretch {
                crossing: whole,
                within: (spare.as_nanos() + 1).max(0) as u64,
                count: 0,
                size,
                last: way[at + length - 1].index() as u32,
                begin,
                end: self.stretched.len() as u32,
            };
            hops.push(Hop::stretch(self.stretches.len(), first.is_fused()));
            self.stretches.push(stretch);
            at += length;
        }
    }

    /// Of each link on which nobody ever waits, how far apart packets come to it at least.
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
                    Feeder::Nobody | Feeder::Several => merges[link],
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

    /// The size of each link's packets, if they are all of one.
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

/// How long a packet of this size takes over an idle link.
fn crossing(scenario: &Scenario, link: usize, size: u32) -> Duration {
    let spec = &scenario.links[link].link;
    spec.rate.transmission_time(size) + spec.delay.max(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use whyloss_link::Streams;

    use super::super::Fuse;
    use super::*;

    const DUMBBELL: &str = include_str!("../../../../scenarios/dumbbell.toml");

    /// How many links each stretch of a network has.
    fn lengths(overrides: &[(&str, &str)]) -> Vec<u32> {
        let own = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
        let overrides: Vec<_> = overrides.iter().map(own).collect();
        let scenario = Scenario::from_toml(DUMBBELL, "dumbbell.toml", &overrides).expect("valid");
        let fuse = Fuse {
            ends: true,
            stretches: true,
        };
        let network = Network::new(&scenario, Streams::new(1), Window::of(&scenario), fuse);
        let stretches = network.stretches.iter();
        stretches
            .map(|stretch| stretch.end - stretch.begin)
            .collect()
    }

    /// Behind the bottleneck nobody waits: one link to each sink, and three home.
    #[test]
    fn a_dumbbell_has_two_for_each_flow() {
        assert_eq!(lengths(&[]), [1, 3].repeat(10));
    }

    /// Of delayed acknowledgements two may come at once: only the last link home sees them apart.
    #[test]
    fn answers_that_wait_may_come_together() {
        let delayed = [("flow.bulk.transport", r#"{ kind = "tcp" }"#)];
        assert_eq!(lengths(&delayed), [1, 1].repeat(10));
    }
}
