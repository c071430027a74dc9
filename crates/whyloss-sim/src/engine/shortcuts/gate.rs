//! *Gate*: a source that paces its packets is woken late, when what it sends is at the first place
//! where it waits.
//!
//! **Idea.** A paced source has a deadline for each packet, and the packet an arrival at its
//! *gate*, the first place where it waits. One event at the gate serves both.
//!
//! **Licence.** The source sends packets of one size by timers. Only the flow uses the links to its
//! gate. They are fused with each other, can answer at once, and have neither a channel nor a
//! discipline nor a change of delay.
//!
//! **Proof.** Nothing of the flow is at the gate sooner than a packet takes to cross these links.
//! An acknowledgement or a true cause that reaches the source in the meantime finds it in the state
//! that it would have with a wake-up at each deadline: the source first acts as of the deadlines
//! that have passed (`Ends::catch_up`). It does the same at the end of the run.

use whyloss::{Duration, Time};

use super::super::ends::{Ends, SOURCE, World};
use super::super::hops::Gate;
use super::super::network::{Network, Sent};
use super::super::parcel::Parcel;
use crate::host::{Source, tfrc};
use crate::observe::Observer;
use crate::packet::Payload;
use crate::scenario::Scenario;

impl Network {
    /// Returns the gate of a flow.
    pub(super) fn find_gate(&self, scenario: &Scenario, uses: &[u32], flow: usize) -> Option<Gate> {
        let (there, back) = self.routes[flow];
        let way = &self.hops[there as usize..back as usize];
        let length = 1 + way[1..].iter().position(|hop| !hop.is_fused())?;
        let size = scenario.flows[flow].wire_size();
        let mut crossing = Duration::ZERO;
        for link in way[..length].iter().map(|hop| hop.index()) {
            if uses[link] != 1 || self.is_busy(link) || !self.wires[link].link.is_steady() {
                return None;
            }
            let spec = &scenario.links[link].link;
            crossing = crossing + spec.rate.transmission_time(size) + spec.delay;
        }
        let goes_on = way[length].link().is_some() && crossing < Duration::MAX;
        let link = way[length - 1].index();
        goes_on.then_some(Gate { link, crossing })
    }
}

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl Ends {
    /// Returns whether the source is woken late.
    pub(in super::super) fn is_late(&self) -> bool {
        self.late > Duration::ZERO
    }

    /// Wakes a late source whose packet may be at the gate, and returns the packet there.
    #[inline(always)]
    pub(in super::super) fn wake_late<O: Observer>(
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
    pub(in super::super) fn catch_up<O: Observer>(
        &mut self,
        now: Time,
        world: &mut World,
        observer: &mut O,
    ) {
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

    /// Lets a late source act as of its deadline. Returns the packet that is at the gate now, if
    /// the current event is that of the deadline.
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
        let (mut first, event) = (None, deadline.later(self.late));
        let mut parcel = Parcel::default();
        while self.poll_late(deadline, &mut parcel, world, observer) {
            let (network, events) = (&mut world.network, &mut world.events);
            match network.send::<O, true>(deadline, &mut parcel, events, observer) {
                // At most one packet: each leaves the first link later than the one before.
                Sent::AtGate(at) if Some(at) == now => first = Some(parcel),
                Sent::AtGate(at) => {
                    network.wait_at_gate(
                        self.entities[SOURCE] as usize,
                        at,
                        parcel,
                        at == event,
                        events,
                    );
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
        first
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
