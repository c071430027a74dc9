//! Busy links: they cannot decide immediately, so they hold the packets offered to them and return
//! them at *turns*, which are their own events.
//!
//! Packets A and B reach a CoDel link at 0 ms. Each takes 1 ms of transmission and 4 ms of delay. A
//! prompt link (`shortcuts/prompt.rs`) returns a packet when its transmission begins:
//!
//! ```text
//! time    busy link            prompt link
//! 0 ms    holds A and B        passes A on, due at 5 ms; holds B
//! 1 ms                         turn: returns B, due at 6 ms
//! 5 ms    turn: returns A
//! 6 ms    turn: returns B
//! ```
//!
//! A test below asserts these rows. A busy link has nothing in transit, so an event of its entity
//! that finds no truth is a turn, or an old one. The hot path needs no check for busy links: the
//! plain link of such a [`Wire`](super::wire::Wire) gives every packet [`Fate::Held`].
//!
//! Only a packet that comes from another link is [passed on](Network::hold_or_pass) immediately. A
//! packet that an end sends is [held](Network::hold), and leaves at a turn at the same time: only
//! the engine can forward a packet, and an end sees no more than the network.

use whyloss::Time;
use whyloss_link::Fate;

use super::busy::{Busy, Given};
use super::network::Network;
use super::parcel::Parcel;
use super::recorder::Recorder;
use super::wire::{Decision, Offer};
use crate::observe::Observer;

/// A packet that a busy link returns, due at the time of its fate.
pub(crate) struct Turned {
    pub(crate) parcel: Parcel,
    pub(crate) fate: Fate,
    /// Whether the packet's copy, or the packet of this copy, is still held.
    pub(crate) comes_again: bool,
}

impl Network {
    pub(super) fn busy(&mut self, link: usize) -> Option<&mut Busy<Parcel>> {
        self.wires[link].busy.as_deref_mut()
    }

    /// Returns the number of packets that a link holds.
    pub(super) fn held_by(&self, link: usize) -> usize {
        self.wires[link].busy.as_ref().map_or(0, |busy| busy.len())
    }

    /// Gives a packet, as it will be at the far end, to the link that
    /// [holds](super::send::Sent::Held) it, if there is room. Records the number of waiting packets
    /// if an observer needs it.
    pub(crate) fn hold(&mut self, parcel: &Parcel, note_waiting: bool) {
        let link = self.table.hops[parcel.hop as usize].index();
        let whose = (parcel.flow, parcel.size, parcel.ecn(&self.aside));
        if self.take_room(link)
            && let Some(busy) = self.busy(link)
        {
            busy.offer(parcel.due, whose, parcel.onward(), note_waiting);
            self.arm_turn(link);
        }
    }

    /// Holds a packet like [`Self::hold`], unless the link is prompt and computes the packet's fate
    /// immediately. Then returns the packet if it arrives, due at the far end.
    #[inline(never)]
    pub(crate) fn hold_or_pass(&mut self, parcel: &Parcel, note_waiting: bool) -> Option<Parcel> {
        let link = self.table.hops[parcel.hop as usize].index();
        let busy = self.busy(link);
        match busy.and_then(|busy| busy.pass(parcel.due, parcel.size, || parcel.onward())) {
            None => self.hold(parcel, note_waiting),
            // The channel loses the packet.
            Some(Fate::Held) => {
                self.take_room(link);
                self.arm_turn(link);
            }
            Some(fate) => {
                let mut onward = parcel.onward();
                self.apply(link, &mut onward, Decision::sent(fate));
                onward.due = fate.when();
                return Some(onward);
            }
        }
        None
    }

    /// Returns whether this event of a link is a valid turn.
    #[cold]
    pub(crate) fn begin_turn(&mut self, link: usize, now: Time) -> bool {
        let busy = self.busy(link).filter(|busy| busy.armed == now);
        busy.map(|busy| busy.armed = Time::MAX).is_some()
    }

    /// Takes the next packet whose fate is known from a link, and counts it.
    pub(crate) fn take_turned<O: Observer>(
        &mut self,
        link: usize,
        now: Time,
        recorder: &mut Recorder<'_, O>,
    ) -> Option<Turned> {
        let Given {
            held,
            decision,
            is_copy,
            comes_again,
        } = self.busy(link)?.poll(now)?;
        let mut parcel = held.packet;
        if is_copy || comes_again {
            parcel = parcel.one_of_two(is_copy, comes_again, &mut self.aside);
        }
        self.room += u64::from(!comes_again);
        let offer = Offer {
            link,
            at: held.since,
            waiting: held.waiting,
        };
        self.settle(offer, &mut parcel, decision, recorder);
        let fate = decision.fate;
        parcel.due = fate.when();
        Some(Turned {
            parcel,
            fate,
            comes_again,
        })
    }

    /// Sets the event of a link's next turn.
    pub(crate) fn arm_turn(&mut self, link: usize) {
        if let Some(busy) = self.busy(link) {
            let next = busy.next_event();
            if next < busy.armed {
                busy.armed = next;
                self.events.push(link, next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use whyloss::Duration;
    use whyloss_link::Streams;

    use super::super::ends::World;
    use super::super::send::Sent;
    use super::super::shortcuts::{Shortcut, Shortcuts};
    use super::*;
    use crate::scenario::Scenario;

    /// Returns when the link of the module's documentation passes on or returns a packet, and when
    /// that packet is due.
    fn returned(shortcuts: Shortcuts) -> Vec<(Duration, Duration)> {
        let text = r#"
            duration = "1 s"
            link = [
                { from = "s", to = "r", rate = "8 Mbit/s", delay = "4 ms", queue = { packets = 9, aqm = "codel" } },
                { from = "r", to = "t", rate = "8 Mbit/s", delay = "4 ms", queue = "unlimited" },
            ]
            flow = [{ from = "s", to = "t", transport = { kind = "cbr", rate = "1 Mbit/s" } }]
        "#;
        let observer = &mut ();
        let scenario = Scenario::from_toml(text, "a scenario", &[]).expect("valid");
        let (mut world, _) = World::new(&scenario, Streams::new(1), shortcuts, observer);
        let World { recorder, network } = &mut world;
        let mut returned = Vec::new();
        let mut note = |now: Time, due: Time| returned.push((now - Time::ZERO, due - Time::ZERO));
        for _ in ["A", "B"] {
            let mut parcel = Parcel {
                size: 1_000,
                ..Parcel::default()
            };
            let sent = network.send::<()>(&mut parcel, recorder);
            assert!(matches!(sent, Sent::Held));
            if let Some(passed) = network.hold_or_pass(&parcel, false) {
                note(Time::ZERO, passed.due);
            }
        }
        while let Some((now, link)) = network.events.pop() {
            assert!(network.begin_turn(link, now));
            while let Some(turned) = network.take_turned(link, now, recorder) {
                note(now, turned.parcel.due);
            }
            network.arm_turn(link);
        }
        returned
    }

    #[test]
    fn a_busy_link_returns_packets_at_turns() {
        let millis = |(now, due)| (Duration::from_millis(now), Duration::from_millis(due));
        let busy = Shortcuts::ALL.without(Shortcut::Prompt);
        assert_eq!(returned(busy), [(5, 5), (6, 6)].map(millis));
        assert_eq!(returned(Shortcuts::ALL), [(0, 5), (1, 6)].map(millis));
    }
}
