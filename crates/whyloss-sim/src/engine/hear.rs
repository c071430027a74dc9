//! The source of a flow hears answers, some ahead of time (`shortcuts/foresee.rs` says which).

use whyloss::Time;

use super::ends::{Ends, World};
use super::parcel::{Kind, Parcel};
use crate::host::Source;
use crate::observe::Observer;

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
            self.flow.show_judged(now, &mut world.recorder);
        } else if let (Source::Iftp(source), Kind::IftpAck) = (&mut self.flow.source, parcel.kind) {
            source.on_ack(now, &parcel.iftp_ack());
            self.flow.show_judged(now, &mut world.recorder);
        } else {
            let packet = parcel.copy().unpack(&mut world.network.aside);
            if !self.flow.hear(now, &packet, &mut world.recorder) {
                return;
            }
        }
        self.transmit(now, world);
    }

    /// Handles an answer that is at its fused source ahead of time. The source takes it now if it
    /// foresees the answer; otherwise, the answer is parked.
    #[inline(always)]
    pub(super) fn hear_early<O: Observer>(&mut self, parcel: &Parcel, world: &mut World<'_, O>) {
        if self.foresees(parcel) {
            self.hear_foreseen(parcel, world);
        } else {
            world.network.park_at_source(parcel.copy());
        }
    }

    /// Handles an answer that was parked at the end of a link and is due now, and those after it
    /// that the source then foresees.
    #[inline(never)]
    pub(super) fn hear_parked<O: Observer>(
        &mut self,
        now: Time,
        parcel: &Parcel,
        world: &mut World<'_, O>,
    ) {
        let link = world.network.table.link_before(parcel.hop);
        self.hear(now, parcel, world);
        // No packet has entered the link meanwhile: the source's data stops before it.
        while let Some(next) = (world.network).take_foreseen(link, |next| {
            next.flow == self.flow.index && self.foresees(next)
        }) {
            self.hear_foreseen(&next, world);
        }
    }

    /// Returns whether the source foresees its reaction to an answer. Only an acknowledgement
    /// without SACK blocks or damage is an `Ack`.
    #[inline]
    fn foresees(&self, answer: &Parcel) -> bool {
        match &self.flow.source {
            Source::Tcp(sender) if answer.kind == Kind::Ack => {
                sender.foresees(answer.due, answer.number)
            }
            _ => false,
        }
    }

    /// Handles an acknowledgement that the source foresees, as of its arrival time. Such a source
    /// is never gated: a TCP that foresees has no pacer.
    #[inline(always)]
    fn hear_foreseen<O: Observer>(&mut self, answer: &Parcel, world: &mut World<'_, O>) {
        if let Source::Tcp(sender) = &mut self.flow.source {
            sender.on_foreseen_ack(answer.due, &answer.ack(), answer.sent);
        }
        self.flow.show_reacted(answer.due, &mut world.recorder);
        self.transmit(answer.due, world);
    }
}
