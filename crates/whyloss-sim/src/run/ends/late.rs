//! Sources that are woken late: when what they send is at its gate (`network/fuse.rs`).

use whyloss::{Duration, Time};

use super::{Ends, SOURCE};
use crate::host::{Source, tfrc};
use crate::network::Sent;
use crate::observe::Observer;
use crate::packet::Payload;
use crate::parcel::Parcel;
use crate::run::fast::Path;

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl Ends {
    /// Whether the source is woken late.
    pub(in crate::run) fn is_late(&self) -> bool {
        self.late > Duration::ZERO
    }

    /// What the gate of a source that is woken late waits for may be there. Gives it.
    #[inline(always)]
    pub(in crate::run) fn wake_late<O: Observer>(
        &mut self,
        now: Time,
        path: &mut Path,
        observer: &mut O,
    ) -> Option<Parcel> {
        let deadline = now - self.late;
        if !self.disarm(deadline, SOURCE) {
            return None;
        }
        self.act_late(deadline, Some(now), path, observer)
    }

    /// Lets a source that is woken late act as of all its deadlines before now: something reaches it, or asks what it is like.
    #[inline(always)]
    pub(in crate::run) fn catch_up<O: Observer>(
        &mut self,
        now: Time,
        path: &mut Path,
        observer: &mut O,
    ) {
        if self.armed[SOURCE] < now {
            self.act_before(now, path, observer);
        }
    }

    #[cold]
    #[inline(never)]
    fn act_before<O: Observer>(&mut self, now: Time, path: &mut Path, observer: &mut O) {
        while self.armed[SOURCE] < now {
            let deadline = self.armed[SOURCE];
            self.disarm(deadline, SOURCE);
            self.act_late(deadline, None, path, observer);
        }
    }

    /// Lets a source that is woken late act as of its deadline. Gives the packet that is at the gate now, if the deadline's event is
    /// what happens now.
    #[inline(always)]
    fn act_late<O: Observer>(
        &mut self,
        deadline: Time,
        now: Option<Time>,
        path: &mut Path,
        observer: &mut O,
    ) -> Option<Parcel> {
        if !self.flow.wake_source(deadline, path.window, observer) {
            if deadline < self.flow.stop {
                self.arm(SOURCE, self.flow.source.next_timeout(), path);
            }
            return None;
        }
        if !self.flow.may_send(deadline, path.window, observer) {
            return None;
        }
        let (mut first, event) = (None, deadline.later(self.late));
        let mut parcel = Parcel::default();
        while self.poll_late(deadline, &mut parcel, path, observer) {
            let (network, events) = (&mut path.network, &mut path.events);
            match network.send_to_gate(deadline, &mut parcel, events, observer) {
                Sent::AtGate(at) if Some(at) == now => first = Some(parcel),
                Sent::AtGate(at) => {
                    network.wait_at_gate(self.entities[SOURCE], at, parcel, at == event, events);
                }
                Sent::Lost(cause, when) => {
                    let looks = O::QUEUE_LENGTH;
                    self.lose(deadline, parcel.copy(), (cause, when), path, looks);
                }
                _ => debug_assert!(false, "beyond its gate"),
            }
            if self.flow.source.rests(deadline) {
                break;
            }
        }
        self.arm(SOURCE, self.flow.source.next_timeout(), path);
        self.flow.acted(deadline, path.window, observer);
        first
    }

    /// [`Self::poll`] of a source that is woken late. (What each kind is asked for itself is packed without having been a
    /// [`Payload`] in memory.)
    #[inline(always)]
    fn poll_late<O: Observer>(
        &mut self,
        now: Time,
        parcel: &mut Parcel,
        path: &mut Path,
        observer: &mut O,
    ) -> bool {
        match &mut self.flow.source {
            Source::Tfrc(sender) => {
                let Some(data) = tfrc::poll(sender, now) else {
                    return false;
                };
                *parcel = self.pack_next(now, Payload::TfrcData(data), path, observer);
            }
            Source::Iftp(source) => {
                let Some(data) = source.poll(now) else {
                    return false;
                };
                *parcel = self.pack_next(now, Payload::IftpData(data), path, observer);
            }
            _ => return self.poll(now, parcel, path, observer),
        }
        true
    }
}
