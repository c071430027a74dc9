//! A source takes acknowledgements ahead of time (`shortcuts/foresee.rs` says when it may).

use whyloss::Time;

use super::ends::{Ends, Foreseen, World};
use super::parcel::{Kind, Parcel};
use crate::host::Source;
use crate::host::tcp::{Ack, SackBlocks};
use crate::observe::Observer;

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl Ends {
    /// Handles an answer that is at the source ahead of time: now, if the source foresees it.
    /// Otherwise it waits.
    #[inline(never)]
    pub(super) fn answered_ahead<O: Observer>(
        &mut self,
        parcel: Parcel,
        world: &mut World,
        observer: &mut O,
    ) {
        if parcel.kind == Kind::Ack && self.foresees(parcel.due, parcel.number) {
            let answer = Foreseen {
                at: parcel.due,
                sent: parcel.sent,
                next: parcel.number,
                echo: parcel.echo,
            };
            self.foreseen(&answer, world, observer);
        } else {
            world.network.wait(parcel, &mut world.events);
        }
    }

    /// Handles an answer that the source foresees, as of the time at which it will come.
    #[inline(always)]
    pub(super) fn foreseen<O: Observer>(
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
    pub(super) fn foresee_waiting<O: Observer>(
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
    pub(super) fn foresees(&self, at: Time, next: u64) -> bool {
        match &self.flow.source {
            Source::Tcp(sender) => sender.foresees(at, next),
            _ => false,
        }
    }
}
