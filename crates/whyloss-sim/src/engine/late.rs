//! A source that is woken late: at the time at which its packet is at its gate
//! (`shortcuts/gate.rs`), not at its deadline.

use whyloss::{Duration, Time};

use super::ends::{Ends, SOURCE, World};
use super::network::Sent;
use super::parcel::Parcel;
use crate::host::{Source, tfrc};
use crate::observe::Observer;
use crate::packet::Payload;

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl Ends {
    /// Returns whether the source is woken late.
    pub(super) fn is_late(&self) -> bool {
        self.late > Duration::ZERO
    }

    /// Wakes a late source whose packet may be at the gate, and returns the packet there.
    #[inline(always)]
    pub(super) fn wake_late<O: Observer>(
        &mut self,
        now: Time,
        world: &mut World,
        observer: &mut O,
    ) -> Option<Parcel> {
        let deadline = now - self.late;
        if !self.disarm(deadline, SOURCE) {
            return None;
        }
        self.act_late(deadline, Some(now), world, observer)
    }

    /// Lets a late source act as of all its deadlines before now, because something reaches it or
    /// its state is needed. Does nothing for other sources: their events come at their deadlines,
    /// so `armed[SOURCE]` is never before now.
    #[inline(always)]
    pub(super) fn catch_up<O: Observer>(&mut self, now: Time, world: &mut World, observer: &mut O) {
        if self.armed[SOURCE] < now {
            self.act_before(now, world, observer);
        }
    }

    #[cold]
    #[inline(never)]
    fn act_before<O: Observer>(&mut self, now: Time, world: &mut World, observer: &mut O) {
        while self.armed[SOURCE] < now {
            let deadline = self.armed[SOURCE];
            self.disarm(deadline, SOURCE);
            self.act_late(deadline, None, world, observer);
        }
    }

    /// Lets a late source act as of its deadline d: it sends packets to its gate. One packet may be
    /// there at d + late, when the deadline's event comes, as each leaves the first link later than
    /// the one before:
    ///
    /// ```text
    /// case             acts at           packet is due    packet is
    /// woken in time    d + late = now    d + late         returned: it is there now
    /// caught up early  before d + late   d + late         parked: the deadline's event takes it
    /// delayed          either            after d + late   parked, with an event if it is the first
    /// ```
    ///
    /// Earlier packets delay it in the queue of the first link. `now` is set if the current event
    /// is that of the deadline.
    #[inline(always)]
    fn act_late<O: Observer>(
        &mut self,
        deadline: Time,
        now: Option<Time>,
        world: &mut World,
        observer: &mut O,
    ) -> Option<Parcel> {
        if !self.flow.wake_source(deadline, world.window, observer) {
            if deadline < self.flow.stop {
                self.arm(SOURCE, self.flow.source.next_timeout(), world);
            }
            return None;
        }
        if !self.flow.may_send(deadline, world.window, observer) {
            return None;
        }
        let (mut there_now, event) = (None, deadline.later(self.late));
        let mut parcel = Parcel::default();
        while self.poll_late(deadline, &mut parcel, world, observer) {
            let (network, events) = (&mut world.network, &mut world.events);
            match network.send::<O, true>(&mut parcel, events, observer) {
                Sent::AtGate if Some(parcel.due) == now => there_now = Some(parcel),
                Sent::AtGate => {
                    let (link, is_awaited) = (self.entities[SOURCE], parcel.due == event);
                    network.park_at_gate(link as usize, parcel, is_awaited, events);
                }
                Sent::Lost(cause, when) => {
                    self.lose(deadline, parcel.copy(), (cause, when), world);
                }
                _ => debug_assert!(false, "short of its gate"),
            }
            // (Spares a poll that would return nothing.)
            if self.flow.source.rests(deadline) {
                break;
            }
        }
        self.arm(SOURCE, self.flow.source.next_timeout(), world);
        self.flow.acted(deadline, world.window, observer);
        there_now
    }

    /// Does what [`Self::poll`] does, for a source that is woken late. (Each kind of source is
    /// asked directly and its packet packed, without a [`Payload`] in memory.)
    #[inline(always)]
    fn poll_late<O: Observer>(
        &mut self,
        now: Time,
        parcel: &mut Parcel,
        world: &mut World,
        observer: &mut O,
    ) -> bool {
        match &mut self.flow.source {
            Source::Tfrc(sender) => {
                let Some(data) = tfrc::poll(sender, now) else {
                    return false;
                };
                *parcel = self.pack_next(now, Payload::TfrcData(data), world, observer);
            }
            Source::Iftp(source) => {
                let Some(data) = source.poll(now) else {
                    return false;
                };
                *parcel = self.pack_next(now, Payload::IftpData(data), world, observer);
            }
            _ => return self.poll(now, parcel, world, observer),
        }
        true
    }
}
