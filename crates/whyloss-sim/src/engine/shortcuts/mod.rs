//! Shortcuts of the fast engine: events that it omits, each under a licence.
//!
//! | shortcut | idea |
//! |---|---|
//! | [`Idle`](Shortcut::Idle) | an idle link without obstacles is asked for a time, not for a fate |
//! | [`Fuse`](Shortcut::Fuse) | a link that one other link feeds needs no event of its own |
//! | [`Sink`](Shortcut::Sink) | a sink takes its packets ahead of time |
//! | [`Merge`](Shortcut::Merge) | answers of many sinks meet in a known order |
//! | [`Foresee`](Shortcut::Foresee) | a source takes acknowledgements ahead of time |
//! | [`Gate`](Shortcut::Gate) | a paced source is woken when its packet is where it must wait |
//! | [`Stretch`](Shortcut::Stretch) | links on which packets never wait are crossed in one step |
//! | [`Prompt`](Shortcut::Prompt) | packets leave a CoDel queue ahead of time |
//!
//! Each file names the idea, the licence (the condition under which results stay the same to the
//! byte) and the proof. [`Simulation::without`](crate::Simulation::without) turns one off, and
//! `whyloss bench --ablate` measures what each saves.
//!
//! All proofs rest on one fact. A packet arrives later than it leaves, if only by a nanosecond
//! ([`whyloss::Rate::transmission_time`]). So a packet that is sent in an event never arrives
//! before another event of the same time.
//!
//! They also rest on one rule: at equal times, links come before ends (`event_queue.rs`). So
//! whatever reaches an end at the time of its deadline comes before the deadline. An end therefore
//! acts first on deadlines *before* `now` (`<`), and foresees an acknowledgement *up to* its
//! deadline (`<=`).
//!
//! The cause of a loss that is worked out ahead of time waits in `truths.rs`.
//!
//! A link that cannot answer at once (`turns.rs`) is worked out at its times. It is not fused, and
//! it feeds no fused link unless it is prompt. No sink or source that sends into it is fused, and
//! it is part of no branch.

mod foresee;
mod fuse;
mod gate;
mod prompt;
mod sinks;
mod stretch;

use super::network::Network;
use crate::host::Source;
use crate::observe::{Observer, Order};
use crate::scenario::Scenario;

/// A shortcut of the fast engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortcut {
    /// Asks an idle link for the arrival time alone ([`whyloss_link::Link::pass`]). The licence is
    /// the link's own: no channel, no discipline and no change of delay.
    Idle,
    /// Computes the answer of a link in the step of its only feeder.
    Fuse,
    /// Computes a sink's reaction ahead of time.
    Sink,
    /// Computes ahead of time the answer of a link on which the acknowledgements of several sinks
    /// meet. Needs [`Sink`](Self::Sink).
    Merge,
    /// Computes a source's reaction ahead of time, for acknowledgements that only move its window.
    Foresee,
    /// Wakes a paced source when its packet reaches the first place where it waits.
    Gate,
    /// Crosses links on which packets never wait in one step.
    Stretch,
    /// Lets packets leave a CoDel queue ahead of time.
    Prompt,
}

impl Shortcut {
    /// All shortcuts.
    pub const ALL: [Self; 8] = [
        Self::Idle,
        Self::Fuse,
        Self::Sink,
        Self::Merge,
        Self::Foresee,
        Self::Gate,
        Self::Stretch,
        Self::Prompt,
    ];

    /// Returns its name, such as `foresee`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Fuse => "fuse",
            Self::Sink => "sink",
            Self::Merge => "merge",
            Self::Foresee => "foresee",
            Self::Gate => "gate",
            Self::Stretch => "stretch",
            Self::Prompt => "prompt",
        }
    }
}

/// A set of shortcuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shortcuts(u8);

impl Shortcuts {
    pub(super) const ALL: Self = Self(u8::MAX);

    pub(super) fn without(self, shortcut: Shortcut) -> Self {
        Self(self.0 & !(1 << shortcut as u8))
    }

    fn has(self, shortcut: Shortcut) -> bool {
        self.0 & (1 << shortcut as u8) != 0
    }

    /// Omits the shortcuts that an observer would notice: those of ends if it needs another order
    /// of events than theirs, and those of links if it observes links.
    pub(super) fn heard_by<O: Observer>(self) -> Self {
        let mut left = self;
        if O::ORDER != Order::Place {
            for shortcut in [Shortcut::Sink, Shortcut::Foresee, Shortcut::Gate] {
                left = left.without(shortcut);
            }
        }
        if O::LINKS {
            for shortcut in [Shortcut::Stretch, Shortcut::Prompt] {
                left = left.without(shortcut);
            }
        }
        left
    }

    /// Finds the places where the scenario licenses each shortcut, and enters them in the network.
    pub(super) fn license(self, network: &mut Network, scenario: &Scenario) {
        // The order matters. Prompt links must be known before busy ones are left out of `feeders`.
        // Sinks, sources and gates read which hops are fused, and sources and gates which sinks
        // are. Stretches come last: they rewrite the table, and `hops[there..back]` is a flow's way
        // no longer.
        if !self.has(Shortcut::Idle) {
            for wire in &mut network.wires {
                wire.link.close_short_cut();
            }
        }
        let mut feeders = fuse::feeders(network);
        if self.has(Shortcut::Prompt) {
            network.make_prompt(scenario, &feeders);
        }
        fuse::leave_out_busy(network, &mut feeders);
        if self.has(Shortcut::Fuse) {
            network.fuse(&feeders);
        }
        let mut merges = vec![None; network.links()];
        if self.has(Shortcut::Sink) {
            let joins = self.has(Shortcut::Merge);
            network.fuse_sinks(scenario, &feeders, joins.then_some(&mut merges));
        }
        let uses = network.uses();
        for flow in 0..scenario.flows.len() {
            if self.has(Shortcut::Foresee) && Source::may_be_foreseen(&scenario.flows[flow]) {
                network.fuse_source(&uses, flow);
            }
            if self.has(Shortcut::Gate)
                && let Some(gate) = network.find_gate(scenario, &uses, flow)
            {
                network.gates.insert(flow, gate);
                network.gated[gate.link] = Some(flow as u32);
            }
        }
        if self.has(Shortcut::Stretch) {
            network.stretch(scenario, &feeders, &merges);
        }
    }
}
