//! *Foresee*: a source takes an acknowledgement ahead of time.
//!
//! **Idea.** When a packet passes the last place where it waits, the time at which its acknowledgement
//! reaches the source follows. If the source then only lets new segments leave, it does so at once,
//! as of that future time.
//!
//! **Licence.** The source never stops. The acknowledgement only moves the window: it reports no loss,
//! repeats nothing, and no timer expires before it comes (`Sender::foresees`, asked for each).
//! Nothing is in transit over the link that it comes from. Only the source sends into its first
//! link, and its data waits somewhere behind.
//!
//! **Proof.** Events elsewhere cannot change what the source does in the meantime. Its segments
//! become visible to others only where they wait, by an event, in their order.

use whyloss::Time;

use super::super::ends::{Ends, Foreseen, Path};
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
        path: &mut Path,
        observer: &mut O,
    ) {
        if parcel.kind == Kind::Ack && self.foresees(at, parcel.number) {
            let answer = Foreseen {
                at,
                sent: parcel.sent,
                next: parcel.number,
                echo: parcel.echo,
            };
            self.foreseen(&answer, path, observer);
        } else {
            path.network.wait(at, parcel, &mut path.events);
        }
    }

    /// Handles an answer that the source foresaw: nothing happens to the source before it comes.
    #[inline(always)]
    pub(in super::super) fn foreseen<O: Observer>(
        &mut self,
        answer: &Foreseen,
        path: &mut Path,
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
        self.flow.reacted(answer.at, path.window, observer);
        self.transmit(answer.at, path, observer);
    }

    /// Takes the answers that wait behind a link, as long as the source foresees them.
    pub(in super::super) fn look_ahead<O: Observer>(
        &mut self,
        link: usize,
        path: &mut Path,
        observer: &mut O,
    ) {
        while let Some(answer) = path.network.first_for_source(link)
            && answer.flow == self.flow.index
            && self.foresees(answer.due, answer.number)
        {
            let foreseen = Foreseen {
                at: answer.due,
                sent: answer.sent,
                next: answer.number,
                echo: answer.echo,
            };
            path.network.transits[link].pop();
            self.foreseen(&foreseen, path, observer);
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
