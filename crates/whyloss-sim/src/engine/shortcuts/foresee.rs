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

use whyloss::Time;

use super::super::ends::{Ends, Foreseen, World};
use super::super::hops::Hop;
use super::super::network::Network;
use super::super::parcel::{Kind, Parcel};
use crate::host::Source;
use crate::host::tcp::{Ack, SackBlocks};
use crate::observe::Observer;

impl Network {
    /// Fuses a flow's source, if nothing else is in the way of its data.
    pub(super) fn fuse_source(&mut self, uses: &[u32], flow: usize) {
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
}

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl Ends {
    /// Handles an answer that reaches the source at `at` without obstacles: now, if the source
    /// foresees it.
    #[inline(never)]
    pub(in super::super) fn nears<O: Observer>(
        &mut self,
        at: Time,
        parcel: Parcel,
        world: &mut World,
        observer: &mut O,
    ) {
        if parcel.kind == Kind::Ack && self.foresees(at, parcel.number) {
            let answer = Foreseen {
                at,
                sent: parcel.sent,
                next: parcel.number,
                echo: parcel.echo,
            };
            self.foreseen(&answer, world, observer);
        } else {
            world.network.wait(at, parcel, &mut world.events);
        }
    }

    /// Handles an answer that the source foresees, as of the time at which it will come.
    #[inline(always)]
    pub(in super::super) fn foreseen<O: Observer>(
        &mut self,
        answer: &Foreseen,
        world: &mut World,
        observer: &mut O,
    ) {
        if let Source::Tcp(sender) = &mut self.flow.source {
            let ack = Ack {
                next: answer.next,
                echo: answer.echo,
                sack: SackBlocks::NONE,
            };
            sender.on_foreseen_ack(answer.at, &ack, answer.sent);
        }
        self.flow.reacted(answer.at, world.window, observer);
        self.transmit(answer.at, world, observer);
    }

    /// Takes the answers that wait behind a link, as long as the source foresees them.
    pub(in super::super) fn foresee_waiting<O: Observer>(
        &mut self,
        link: usize,
        world: &mut World,
        observer: &mut O,
    ) {
        while let Some(answer) = world.network.first_for_source(link)
            && answer.flow == self.flow.index
            && self.foresees(answer.due, answer.number)
        {
            let foreseen = Foreseen {
                at: answer.due,
                sent: answer.sent,
                next: answer.number,
                echo: answer.echo,
            };
            world.network.transits[link].pop();
            self.foreseen(&foreseen, world, observer);
        }
    }

    /// Returns whether the source foresees its reaction to an acknowledgement of all before `next`
    /// that comes at `at`.
    #[inline]
    pub(in super::super) fn foresees(&self, at: Time, next: u64) -> bool {
        match &self.flow.source {
            Source::Tcp(sender) => sender.foresees(at, next),
            _ => false,
        }
    }
}
