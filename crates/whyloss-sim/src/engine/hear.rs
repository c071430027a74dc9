//! The source of a flow hears answers, some ahead of time (`shortcuts/foresee.rs` says which).

use whyloss::Time;

use super::ends::{Ends, World};
use super::parcel::{Kind, Parcel};
use crate::host::Source;
use crate::host::tcp::{Ack, SackBlocks};
use crate::observe::Observer;

/// An acknowledgement that the source may [foresee](crate::host::tcp::Sender::foresees). (Smaller
/// than a parcel, so that it stays in registers.)
pub(super) struct Foreseen {
    /// The time at which it reaches the source.
    pub(super) at: Time,
    /// The time at which it left the sink.
    pub(super) sent: Time,
    pub(super) next: u64,
    pub(super) echo: Time,
}

impl Foreseen {
    /// Returns the fields of a parcel that matter if it is an acknowledgement.
    #[inline]
    pub(super) fn of(parcel: &Parcel) -> Self {
        Self {
            at: parcel.due,
            sent: parcel.sent,
            next: parcel.number,
            echo: parcel.echo,
        }
    }
}

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl Ends {
    /// Handles an answer that reaches the source.
    #[inline(always)]
    pub(super) fn hear<O: Observer>(
        &mut self,
        now: Time,
        parcel: &Parcel,
        world: &mut World<'_, O>,
    ) {
        self.catch_up(now, world);
        if let (Source::Tcp(sender), Kind::Ack) = (&mut self.flow.source, parcel.kind) {
            sender.on_ack(now, &parcel.ack(), parcel.sent);
            self.flow.judged(now, &mut world.recorder);
        } else if let (Source::Iftp(source), Kind::IftpAck) = (&mut self.flow.source, parcel.kind) {
            source.on_ack(now, &parcel.iftp_ack());
            self.flow.judged(now, &mut world.recorder);
        } else {
            let packet = parcel.copy().unpack(&mut world.network.aside);
            if !self.flow.hear(now, &packet, &mut world.recorder) {
                return;
            }
        }
        self.transmit(now, world);
    }

    /// Handles an answer that is at the source ahead of time: now, if the source foresees it.
    /// Otherwise parks it.
    #[inline(never)]
    pub(super) fn hear_early<O: Observer>(&mut self, parcel: Parcel, world: &mut World<'_, O>) {
        let answer = Foreseen::of(&parcel);
        if parcel.kind == Kind::Ack && self.foresees(&answer) {
            self.hear_foreseen(&answer, world);
        } else {
            world.network.park(parcel);
        }
    }

    /// Handles an answer that the source foresees, as of the time at which it will come. Such a
    /// source is never woken late: a TCP that foresees has no pacer, and so no gate.
    #[inline(always)]
    pub(super) fn hear_foreseen<O: Observer>(
        &mut self,
        answer: &Foreseen,
        world: &mut World<'_, O>,
    ) {
        if let Source::Tcp(sender) = &mut self.flow.source {
            let ack = Ack {
                next: answer.next,
                echo: answer.echo,
                sack: SackBlocks::NONE,
            };
            sender.on_foreseen_ack(answer.at, &ack, answer.sent);
        }
        self.flow.reacted(answer.at, &mut world.recorder);
        self.transmit(answer.at, world);
    }

    /// Takes the answers that are parked behind a link, as long as the source foresees them.
    pub(super) fn hear_parked<O: Observer>(&mut self, link: usize, world: &mut World<'_, O>) {
        while let Some(parcel) = world.network.first_for_source(link)
            && parcel.flow == self.flow.index
            && let answer = Foreseen::of(parcel)
            && self.foresees(&answer)
        {
            world.network.transits[link].pop();
            self.hear_foreseen(&answer, world);
        }
    }

    /// Returns whether the source foresees its reaction to an acknowledgement.
    #[inline]
    pub(super) fn foresees(&self, answer: &Foreseen) -> bool {
        match &self.flow.source {
            Source::Tcp(sender) => sender.foresees(answer.at, answer.next),
            _ => false,
        }
    }
}
