//! *Fuse*: the step that sends a packet over one link also sends it over the next link, if no other
//! link feeds that one.
//!
//! **Idea.** A FIFO link says at once when a packet arrives at its far end. If the packet then
//! enters a link that nothing else feeds, that link can be asked with the future time as "now".
//!
//! **Licence.** All packets of the link come from one other link, which answers at once or is
//! prompt. The link itself answers at once.
//!
//! **Proof.** The link sees its packets in the order in which they leave its feeder, with or
//! without an event between. So its queue, its channel and every draw of its random numbers are the
//! same.

use super::super::hops::Hop;
use super::super::network::Network;

/// The origin of a link's packets.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Feeder {
    None,
    Link(usize),
    /// The sink of this flow.
    Sink(usize),
    /// Several of these, or a source, which may send at any time.
    Several,
}

impl Network {
    /// Fuses links with their feeders in the table of hops.
    pub(super) fn fuse(&mut self, feeders: &[Feeder]) {
        for hop in &mut self.hops {
            if let Some(link) = hop.link()
                && let Feeder::Link(_) = feeders[link]
            {
                *hop = hop.fused();
            }
        }
    }

    /// Returns the number of routes that use each link.
    pub(super) fn uses(&self) -> Vec<u32> {
        let mut uses = vec![0; self.wires.len()];
        for link in self.hops.iter().filter_map(|hop| hop.link()) {
            uses[link] += 1;
        }
        uses
    }
}

/// Returns the feeder of each link.
pub(super) fn feeders(network: &Network) -> Vec<Feeder> {
    let mut feeders = vec![Feeder::None; network.links()];
    let (mut flow, mut before) = (0, Feeder::Several);
    for hop in &network.hops {
        before = if let Some(link) = hop.link() {
            let feeder = &mut feeders[link];
            *feeder = match *feeder {
                Feeder::None => before,
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

/// Treats busy links, and links that a busy link feeds at its turns, as links with several feeders.
pub(super) fn leave_out_busy(network: &Network, feeders: &mut [Feeder]) {
    for (link, feeder) in feeders.iter_mut().enumerate() {
        let waits = |link: usize| network.is_busy(link) && !network.is_prompt(link);
        let fed_by_busy = matches!(feeder, Feeder::Link(before) if waits(*before));
        if fed_by_busy || network.is_busy(link) {
            *feeder = Feeder::Several;
        }
    }
}
