//! *Sink* and *merge*: a sink, and the links on which sinks' answers meet, are worked out ahead of
//! time.
//!
//! **Idea.** Once a packet has passed the last place where it waits, its arrival at the sink is
//! known, and so is the answer. Behind a bottleneck, answers of many sinks meet again in the order
//! in which their data left the bottleneck.
//!
//! **Licence of a sink.** The last link to it can answer at once. Only this sink sends into the
//! first link of its answers' way, or it never answers.
//!
//! **Proof.** Nothing else changes the sink. It meets a deadline that lies before a packet's
//! arrival first: no other packet on its way comes before that one. A deadline behind the last
//! packet is an event, and by then all packets that come before it have left the last place where
//! they wait.
//!
//! **Licence of a merge.** Only answers of sinks without deadlines reach the link, each over a
//! branch: from one link, the root, over links that fan out behind it to a sink, and from there
//! over links of its own. All data is of one size, no link on a branch takes longer for a packet
//! than the root does, no delay changes, and only the answered data uses the branches.
//!
//! **Proof.** Packets never wait on a branch, so each is on it for the same time. Answers come in
//! the order in which the data left the root, and never two at once.
//!
//! In a dumbbell whose access links are alike, the shared link of the way back is such a merge. A
//! merge may be part of the branches to another one, such as that of several sinks at one host.

use whyloss::Duration;

use super::super::hops::Hop;
use super::super::network::Network;
use super::fuse::Feeder;
use crate::host::Sink;
use crate::packet::ANSWER_SIZE;
use crate::scenario::{Scenario, Transport};

/// The way of a flow's packets from its root to a merge, if it has one.
struct Branch {
    flow: usize,
    root: usize,
    /// The hop at which the answers reach the merge.
    merge: Option<usize>,
    /// Whether only this sink sends into the first link of its answers.
    alone: bool,
    /// The time that a packet takes over the branch.
    length: Duration,
    /// The longest transmission time on the branch.
    slowest: Duration,
}

impl Branch {
    /// Adds a link to the branch.
    fn add(&mut self, scenario: &Scenario, link: usize, size: u32) {
        let spec = &scenario.links[link].link;
        let transmission = spec.rate.transmission_time(size);
        self.length = self.length + transmission + spec.delay;
        self.slowest = self.slowest.max(transmission);
    }
}

impl Network {
    /// Fuses sinks. If `joins` is given, fuses the merges behind them too, and notes there the
    /// smallest distance between packets at each merge.
    pub(super) fn fuse_sinks(
        &mut self,
        scenario: &Scenario,
        feeders: &[Feeder],
        joins: Option<&mut Vec<Option<Duration>>>,
    ) {
        let mut branches: Vec<Branch> = (0..scenario.flows.len())
            .map(|flow| self.branch(scenario, feeders, flow))
            .collect();
        for branch in &branches {
            let transport = &scenario.flows[branch.flow].transport;
            let silent = matches!(transport, Transport::Datagrams { .. });
            let last = self.hops[self.routes[branch.flow].1 as usize - 2];
            if (branch.alone || silent) && !self.is_busy(last.index()) {
                self.fuse_sink(branch.flow);
            }
        }
        let Some(apart) = joins else {
            return;
        };
        branches.retain(|branch| Sink::answers_at_once(&scenario.flows[branch.flow].transport));
        // Each round moves at least one branch past its merge, so the rounds end.
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

    /// Returns the branch of a flow.
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

    /// Follows a branch from this hop on the way back to the next link that other flows use as
    /// well.
    fn go_home(&self, branch: &mut Branch, scenario: &Scenario, feeders: &[Feeder], from: usize) {
        branch.merge = None;
        for (at, hop) in self.hops.iter().enumerate().skip(from) {
            match hop.link().map(|link| feeders[link]) {
                None => break,
                Some(Feeder::Sink(_) | Feeder::Link(_)) => {
                    branch.add(scenario, hop.index(), ANSWER_SIZE);
                }
                Some(Feeder::None | Feeder::Several) => {
                    branch.merge = Some(at);
                    break;
                }
            }
        }
    }

    /// Returns whether each link is a merge that gets the answers in the order of their data.
    fn merges(&self, scenario: &Scenario, branches: &[Branch]) -> Vec<bool> {
        let uses = self.uses();
        // The branches that reach each link as their merge.
        let mut reached: Vec<Vec<&Branch>> = vec![Vec::new(); self.wires.len()];
        for branch in branches {
            if let Some(at) = branch.merge {
                reached[self.hops[at].index()].push(branch);
            }
        }
        let settled =
            |link: usize| scenario.links[link].link.delay_changes.is_empty() && !self.is_busy(link);
        // The number of branches to the merges so far that use each link.
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
            let undisturbed = links.all(|link| own[link] == uses[link] && settled(link));
            undisturbed && settled(first.root) && !self.is_busy(link)
        };
        reached.into_iter().enumerate().map(merge).collect()
    }

    /// Returns the links of a branch.
    fn links_of(&self, branch: &Branch) -> impl Iterator<Item = usize> + '_ {
        let (there, back) = self.routes[branch.flow];
        let (there, back) = (there as usize, back as usize);
        let fan = self.hops[there..back - 1].iter().rev();
        let fan = fan.take_while(|hop| hop.is_fused());
        let home = self.hops[back..branch.merge.unwrap_or(back)].iter();
        fan.chain(home).map(|hop| hop.index())
    }
}
