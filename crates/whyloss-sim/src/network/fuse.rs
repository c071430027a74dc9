//! Which links and sinks need no event of their own.
//!
//! A link or sink may be worked out ahead of time if it sees its packets in the order in which plain events would have
//! brought them, and nothing else changes it. Three rules prove that; all of them rest on this, that a packet arrives
//! later than it leaves, if by a nanosecond ([`whyloss::Rate::transmission_time`]), so that what is sent in an event never comes
//! before another event of the same time:
//!
//! ```text
//! link    all its packets come from one other link
//! sink    nobody but it sends into the first link of its answers' way. A deadline of its own that lies before a packet
//!           comes is met first: no packet is on its way to the sink that comes before this one. One that lies behind the
//!           last packet is an event; all packets that come before it have left the last place where they wait by then
//! merge   a link that only answers of sinks without deadlines reach, each over a branch: from one link, the root, over
//!         links that fan out behind it to a sink, and from there over links of its own. Every packet is on its branch
//!         for the same time, since
//!           all data is of one size and no link on a branch takes longer for a packet than the root does, so that
//!             nobody waits there,
//!           no delay changes,
//!           only the answered data uses the branches.
//!         So answers come in the order in which the data left the root, and never two at once.
//! ```
//!
//! In a dumbbell whose access links are alike, the shared link of the way back is such a merge. A merge may be part of the
//! branches to another one: that of several sinks at one host, say.
//!
//! A source may be worked out ahead of time, too, when an answer is on its way to it and the rest of that way is fused (its
//! last link at least), if
//!
//! ```text
//! source  it never stops,
//!         the answer only moves the window on: it finds no loss, nothing is sent again, and no timer expires before it
//!           comes, so that what happens elsewhere meanwhile cannot matter (`Sender::foresees`, for each answer),
//!         nothing is in transit over the link that it comes from, its answers or others',
//!         nobody but it sends into its first link, and its data waits for its arrival somewhere behind, so that others'
//!           packets come between in their order.
//! ```
//!
//! A source that paces its packets is woken late, when what it sends is at the first place where it waits, its *gate*, if
//!
//! ```text
//! gate    nobody but it uses the links to that place, which have neither a channel nor a discipline nor a change of delay:
//!           nothing of it is there sooner than a packet takes to cross them,
//!         what reaches the source meanwhile, an answer or a truth, finds it as if it had been woken at its deadlines: it acts
//!           as of these first (`Ends::catch_up`), and so it does at the end.
//! ```
//!
//! A link that cannot answer at once (`turns.rs`) is worked out at its times: it is not fused, nor is what it feeds unless it is prompt;
//! nobody sends into it ahead of time, so no sink or source is fused that does, and it is part of no branch.
//!
//! An answer for which one of these does not hold waits for its time in transit over the link it came from.
//!
//! What is lost ahead of time is told to a source's judge only when the packet has come as far as where it is lost, by an
//! event of the link that brings it there ([`Network::tell_later`]): a verdict may be asked for before. A sink's judge hears
//! of it at once, since it is asked by a later packet.

use whyloss::Duration;

use super::{Fuse, Gate, Hop, Network};
use crate::host::{Sink, Source};
use crate::run::ANSWER_SIZE;
use crate::scenario::Scenario;

/// Where a link's packets come from.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Feeder {
    Nobody,
    Link(usize),
    /// The sink of this flow.
    Sink(usize),
    /// Several of these, or a source, which sends at any time.
    Several,
}

/// A flow's packets on their way from its root to a merge, if it has one.
struct Branch {
    flow: usize,
    root: usize,
    /// Where in the table of hops the answers reach the merge.
    merge: Option<usize>,
    /// Whether nobody but the sink sends into its answers' first link.
    alone: bool,
    /// How long a packet is under way on it.
    length: Duration,
    /// The longest transmission on it.
    slowest: Duration,
}

impl Branch {
    /// Adds a link to it.
    fn add(&mut self, scenario: &Scenario, link: usize, size: u32) {
        let spec = &scenario.links[link].link;
        let transmission = spec.rate.transmission_time(size);
        self.length = self.length + transmission + spec.delay;
        self.slowest = self.slowest.max(transmission);
    }
}

impl Network {
    /// Marks what is fused in the table of hops.
    pub(super) fn fuse(&mut self, scenario: &Scenario, fuse: Fuse) {
        let mut feeders = feeders(&self.hops, self.wires.len());
        if fuse.stretches {
            self.make_prompt(scenario, &feeders);
        }
        for (link, feeder) in feeders.iter_mut().enumerate() {
            let waits = |link: usize| self.is_busy(link) && !self.is_prompt(link);
            let fed_by_busy = matches!(feeder, Feeder::Link(before) if waits(*before));
            if fed_by_busy || self.is_busy(link) {
                *feeder = Feeder::Several;
            }
        }
        for hop in &mut self.hops {
            if let Some(link) = hop.link()
                && let Feeder::Link(_) = feeders[link]
            {
                *hop = hop.fused();
            }
        }
        let mut merges = vec![None; self.wires.len()];
        if fuse.ends {
            self.fuse_sinks(scenario, &feeders, &mut merges);
            let uses = self.uses();
            for flow in 0..self.routes.len() {
                if Source::may_be_foreseen(&scenario.flows[flow]) {
                    self.fuse_source(&uses, flow);
                }
                self.gates[flow] = self.find_gate(scenario, &uses, flow);
                if let Some(gate) = self.gates[flow] {
                    self.gated[gate.link] = Some(flow as u32);
                }
            }
        }
        if fuse.stretches {
            self.stretch(scenario, &feeders, &merges);
        }
    }

    /// Fuses sinks, and the merges behind them. Notes how far apart packets come to a merge at least.
    fn fuse_sinks(
        &mut self,
        scenario: &Scenario,
        feeders: &[Feeder],
        apart: &mut [Option<Duration>],
    ) {
        let mut branches: Vec<Branch> = (0..scenario.flows.len())
            .map(|flow| self.branch(scenario, feeders, flow))
            .collect();
        for branch in &branches {
            let silent = Sink::is_silent(&scenario.flows[branch.flow].transport);
            let last = self.hops[self.routes[branch.flow].1 as usize - 2];
            if (branch.alone || silent) && !self.is_busy(last.index()) {
                self.fuse_sink(branch.flow);
            }
        }
        branches.retain(|branch| Sink::answers_at_once(&scenario.flows[branch.flow].transport));
        loop {
            let merged = self.merges(scenario, &branches);
            if !merged.contains(&true) {
                return;
            }
            for branch in &mut branches {
                if let Some(at) = branch.merge
                    && merged[self.hops[at].index()]
                {
                    self.hops[at] = self.hops[at].fused();
                    self.fuse_sink(branch.flow);
                    let root = &scenario.links[branch.root].link;
                    let data = scenario.flows[branch.flow].wire_size();
                    apart[self.hops[at].index()] = Some(root.rate.transmission_time(data));
                    branch.add(scenario, self.hops[at].index(), ANSWER_SIZE);
                    self.go_home(branch, scenario, feeders, at + 1);
                }
            }
        }
    }

    fn fuse_sink(&mut self, flow: usize) {
        let end = self.routes[flow].1 as usize - 1;
        self.hops[end] = Hop::FUSED_SINK;
    }

    /// Fuses a flow's source, if nothing else is in the way of its data.
    fn fuse_source(&mut self, uses: &[u32], flow: usize) {
        let (there, back) = self.routes[flow];
        let (there, back) = (there as usize, back as usize);
        let first = self.hops[there].index();
        let alone = uses[first] == 1;
        let waits = self.hops[there + 1..back].iter().any(|hop| !hop.is_fused());
        let home = self.hops[back..].iter().position(|hop| *hop == Hop::SOURCE);
        if alone
            && waits
            && !self.is_busy(first)
            && let Some(steps) = home
            && !self.is_busy(self.hops[back + steps - 1].index())
        {
            self.hops[back + steps] = Hop::FUSED_SOURCE;
        }
    }

    /// The gate of a flow.
    fn find_gate(&self, scenario: &Scenario, uses: &[u32], flow: usize) -> Option<Gate> {
        let (there, back) = self.routes[flow];
        let way = &self.hops[there as usize..back as usize];
        let length = 1 + way[1..].iter().position(|hop| !hop.is_fused())?;
        let size = scenario.flows[flow].wire_size();
        let mut crossing = Duration::ZERO;
        for link in way[..length].iter().map(|hop| hop.index()) {
            if uses[link] != 1 || self.is_busy(link) || !self.wires[link].link.is_steady() {
                return None;
            }
            let spec = &scenario.links[link].link;
            crossing = crossing + spec.rate.transmission_time(size) + spec.delay;
        }
        let goes_on = way[length].link().is_some() && crossing < Duration::MAX;
        let link = way[length - 1].index();
        goes_on.then_some(Gate { link, crossing })
    }

    /// How often each link is part of a route.
    fn uses(&self) -> Vec<u32> {
        let mut uses = vec![0; self.wires.len()];
        for link in self.hops.iter().filter_map(|hop| hop.link()) {
            uses[link] += 1;
        }
        uses
    }

    /// The branch of a flow.
    fn branch(&self, scenario: &Scenario, feeders: &[Feeder], flow: usize) -> Branch {
        let (there, back) = self.routes[flow];
        let (there, back) = (there as usize, back as usize);
        let mut branch = Branch {
            flow,
            root: self.hops[there].index(),
            merge: None,
            alone: false,
            length: Duration::ZERO,
            slowest: Duration::ZERO,
        };
        let size = scenario.flows[flow].wire_size();
        for hop in &self.hops[there..back - 1] {
            if hop.is_fused() {
                branch.add(scenario, hop.index(), size);
            } else {
                branch.root = hop.index();
                (branch.length, branch.slowest) = (Duration::ZERO, Duration::ZERO);
            }
        }
        branch.alone = self.hops[back]
            .link()
            .is_some_and(|link| feeders[link] == Feeder::Sink(flow));
        self.go_home(&mut branch, scenario, feeders, back);
        branch
    }

    /// Follows a branch from this hop on the way home to the next link that others use as well.
    fn go_home(&self, branch: &mut Branch, scenario: &Scenario, feeders: &[Feeder], from: usize) {
        branch.merge = None;
        for (at, hop) in self.hops.iter().enumerate().skip(from) {
            match hop.link().map(|link| feeders[link]) {
                None => break,
                Some(Feeder::Sink(_) | Feeder::Link(_)) => {
                    branch.add(scenario, hop.index(), ANSWER_SIZE);
                }
                Some(Feeder::Nobody | Feeder::Several) => {
                    branch.merge = Some(at);
                    break;
                }
            }
        }
    }

    /// Whether each link is a merge that sees answers in the order of their data.
    fn merges(&self, scenario: &Scenario, branches: &[Branch]) -> Vec<bool> {
        let uses = self.uses();
        // Of each link, the branches that reach it as their merge, and that use it on their way there.
        let mut reached: Vec<Vec<&Branch>> = vec![Vec::new(); self.wires.len()];
        for branch in branches {
            if let Some(at) = branch.merge {
                reached[self.hops[at].index()].push(branch);
            }
        }
        let steady =
            |link: usize| scenario.links[link].link.delay_changes.is_empty() && !self.is_busy(link);
        let mut own = vec![0; self.wires.len()];
        let merge = |(link, reached): (usize, Vec<&Branch>)| {
            let Some(first) = reached.first() else {
                return false;
            };
            let size = scenario.flows[first.flow].wire_size();
            let root = &scenario.links[first.root].link;
            let gap = root.rate.transmission_time(size);
            let alike = reached.iter().all(|branch| {
                scenario.flows[branch.flow].wire_size() == size
                    && (branch.root, branch.length) == (first.root, first.length)
                    && branch.slowest <= gap
            });
            if uses[link] as usize != reached.len() || !alike {
                return false;
            }
            for on_branch in reached.iter().flat_map(|branch| self.links_of(branch)) {
                own[on_branch] += 1;
            }
            let mut links = reached.iter().flat_map(|branch| self.links_of(branch));
            let undisturbed = links.all(|link| own[link] == uses[link] && steady(link));
            undisturbed && steady(first.root) && !self.is_busy(link)
        };
        reached.into_iter().enumerate().map(merge).collect()
    }

    /// The links on a branch.
    fn links_of(&self, branch: &Branch) -> impl Iterator<Item = usize> + '_ {
        let (there, back) = self.routes[branch.flow];
        let (there, back) = (there as usize, back as usize);
        let fan = self.hops[there..back - 1].iter().rev();
        let fan = fan.take_while(|hop| hop.is_fused());
        let home = self.hops[back..branch.merge.unwrap_or(back)].iter();
        fan.chain(home).map(|hop| hop.index())
    }
}

/// The feeder of each link, from the table of hops.
fn feeders(hops: &[Hop], links: usize) -> Vec<Feeder> {
    let mut feeders = vec![Feeder::Nobody; links];
    let (mut flow, mut before) = (0, Feeder::Several);
    for hop in hops {
        before = if let Some(link) = hop.link() {
            let feeder = &mut feeders[link];
            *feeder = match *feeder {
                Feeder::Nobody => before,
                same if same == before => same,
                _ => Feeder::Several,
            };
            Feeder::Link(link)
        } else if *hop == Hop::SINK {
            flow += 1;
            Feeder::Sink(flow - 1)
        } else {
            Feeder::Several
        };
    }
    feeders
}
