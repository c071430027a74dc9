//! A gated source is woken when its packet is at its gate (`shortcuts/gate.rs`), not at its
//! deadline.
//!
//! A source sends a packet every 10 ms, which is at its gate 5 ms later. An answer reaches it at
//! 12 ms:
//!
//! ```text
//! time    event                    source acts as of    packet at the gate
//!  5 ms   of deadline 0                    0            is there now: sent on
//! 12 ms   answer: catch up                10            parked until 15 ms, without an event
//! 15 ms   of deadline 10                   –            taken: sent on
//! 25 ms   of deadline 20                  20            is there now: sent on
//! ```
//!
//! The event at 15 ms was set with the deadline and finds the parked packet. A packet that waits
//! for an earlier one in the queue of the first link reaches its gate after its event. It is parked
//! with a separate event, unless another is parked before it. A test below asserts these rows.

use whyloss::{Duration, Time};

use super::ends::{Ends, SOURCE, World};
use super::parcel::Parcel;
use super::send::Sent;
use crate::observe::Observer;

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl Ends {
    pub(super) fn is_gated(&self) -> bool {
        self.crossing > Duration::ZERO
    }

    /// Wakes a gated source whose packet may be at the gate. Returns the packet there.
    #[inline(always)]
    pub(super) fn wake_gated<O: Observer>(
        &mut self,
        now: Time,
        world: &mut World<'_, O>,
    ) -> Option<Parcel> {
        let deadline = now - self.crossing;
        if !self.disarm(deadline, SOURCE) {
            return None;
        }
        self.act_as_of(deadline, true, world)
    }

    /// Lets a gated source act as of all its deadlines before now, because something reaches it or
    /// its state is needed. Does nothing for other sources: their events come at their deadlines,
    /// so `armed[SOURCE]` is never before now.
    #[inline(always)]
    pub(super) fn catch_up<O: Observer>(&mut self, now: Time, world: &mut World<'_, O>) {
        if self.armed[SOURCE] < now {
            self.act_before(now, world);
        }
    }

    #[cold]
    #[inline(never)]
    fn act_before<O: Observer>(&mut self, now: Time, world: &mut World<'_, O>) {
        while self.armed[SOURCE] < now {
            let deadline = self.armed[SOURCE];
            self.disarm(deadline, SOURCE);
            self.act_as_of(deadline, false, world);
        }
    }

    /// Lets a gated source act as of its deadline: it sends packets to its gate, where they are
    /// parked. If the source is `woken` by the event of this deadline, returns the packet that is
    /// there at the time of the event instead. There is at most one, because each leaves the first
    /// link later than the one before.
    #[inline(always)]
    fn act_as_of<O: Observer>(
        &mut self,
        deadline: Time,
        woken: bool,
        world: &mut World<'_, O>,
    ) -> Option<Parcel> {
        if !self.flow.wake_source(deadline, &mut world.recorder) {
            if deadline < self.flow.stop {
                self.arm(SOURCE, self.flow.source.next_timeout(), &mut world.network);
            }
            return None;
        }
        if !self.flow.may_send(deadline, &mut world.recorder) {
            return None;
        }
        let (mut there, event) = (None, deadline.later(self.crossing));
        let gate = self.entities[SOURCE] as usize;
        let mut parcel = Parcel::default();
        while self.poll(deadline, &mut parcel, world) {
            let network = &mut world.network;
            match network.send_to_gate(&mut parcel, &mut world.recorder) {
                Sent::AtGate if woken && parcel.due == event => there = Some(parcel),
                Sent::AtGate => network.park_at_gate(gate, parcel, event),
                Sent::Lost(cause, when) => {
                    self.lose(deadline, parcel.copy(), (cause, when), network);
                }
                _ => debug_assert!(false, "short of its gate"),
            }
            // Saves a poll that would return nothing.
            if self.flow.source.rests(deadline) {
                break;
            }
        }
        self.arm(SOURCE, self.flow.source.next_timeout(), &mut world.network);
        self.flow.show_acted(deadline, &mut world.recorder);
        there
    }
}

#[cfg(test)]
mod tests {
    use super::super::fast::Engine;
    use super::super::shortcuts::Shortcuts;
    use super::*;
    use crate::scenario::Scenario;

    /// The rows of the module's documentation. The gate is beyond the first link; another flow
    /// shares the second.
    #[test]
    fn a_gated_source_acts_as_of_its_deadlines() {
        let text = r#"
            duration = "1 s"
            link = [
                { from = "s", to = "r", rate = "8 Mbit/s", delay = "4 ms", queue = "unlimited" },
                { from = "r", to = "t", rate = "8 Mbit/s", delay = "4 ms", queue = "unlimited" },
            ]
            flow = [
                { from = "s", to = "t", packet = "1000 B", transport = { kind = "cbr", rate = "800 kbit/s" } },
                { from = "r", to = "t", packet = "1000 B", start = "0.9 s", transport = { kind = "cbr", rate = "1 Mbit/s" } },
            ]
        "#;
        let scenario = Scenario::from_toml(text, "a scenario", &[]).expect("valid");
        let observer = &mut ();
        let mut engine = Engine::new(&scenario, 1, Shortcuts::ALL, observer);
        let (ends, world) = (&mut engine.ends[0], &mut engine.world);
        let gate = ends.entities[SOURCE] as usize;
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let times = |parcel: Parcel| (parcel.sent, parcel.due);

        assert_eq!(world.network.events.pop(), Some((at(5), gate)));
        let there = ends.wake_gated(at(5), world).map(times);
        assert_eq!(there, Some((at(0), at(5))));

        ends.catch_up(at(12), world);
        let parked = world.network.transits[gate].first().copied().map(times);
        assert_eq!(parked, Some((at(10), at(15))));

        assert_eq!(world.network.events.pop(), Some((at(15), gate)));
        let taken = world.network.take_due(at(15), gate);
        assert_eq!(taken.map(|(parcel, _)| times(parcel)), parked);

        assert_eq!(world.network.events.pop(), Some((at(25), gate)));
        let there = ends.wake_gated(at(25), world).map(times);
        assert_eq!(there, Some((at(20), at(25))));
    }
}
