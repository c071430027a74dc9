//! *Prompt*: packets of a CoDel link enter the next link as soon as they leave the queue, before
//! they arrive.
//!
//! **Idea.** Where only the queue keeps a link from answering at once (CoDel), the arrival of a packet
//! is known as soon as it leaves the queue. At its turn, it enters the next link and all links that
//! are fused behind, as from any other link.
//!
//! **Licence.** Nothing observes links, and the link feeds only links that have no other feeder.
//!
//! **Proof.** As for fused links: those behind see their packets in the order of the turns. The link
//! has nothing in transit; its packets are in transit over the links behind it. Packets that the
//! channel loses stay with the link until their time.

use whyloss_link::EventLink;

use super::super::network::Network;
use super::fuse::Feeder;
use crate::scenario::Scenario;

impl Network {
    /// Makes links prompt where the licence allows it. `feeders` has the only feeder of each link,
    /// if it has one.
    pub(super) fn make_prompt(&mut self, scenario: &Scenario, feeders: &[Feeder]) {
        for link in 0..self.busy.len() {
            let follows = self
                .hops
                .windows(2)
                .filter(|pair| pair[0].link() == Some(link));
            let mut next = follows.map(|pair| pair[1].link());
            let alone = next.all(|next| {
                next.is_some_and(|next| feeders[next] == Feeder::Link(link) && !self.is_busy(next))
            });
            let knows = EventLink::knows_at_turns(&scenario.links[link].link);
            if alone
                && knows
                && let Some(busy) = self.busy(link)
            {
                busy.make_prompt();
            }
        }
    }
}
