//! Links that cannot answer at once: they hold the packets offered to them, and return them at
//! events of their own.
//!
//! Such a link has nothing in transit. So an event of its entity that finds nothing in transit, and
//! no truth, is a turn of the link. The hot path needs no check: the link's shortcut never opens,
//! and without it the link answers [`Fate::Held`].

use whyloss::{Cause, Time};
use whyloss_link::Fate;

use super::busy::Busy;
use super::event_queue::EventQueue;
use super::hops::Hop;
use super::network::{Arrived, Network};
use super::parcel::Parcel;
use crate::observe::{Event, Observer};

/// A packet that such a link returns.
pub(crate) struct Turned {
    pub(crate) parcel: Parcel,
    /// The packet's place at the time at which it is due, or its loss.
    pub(crate) place: Result<Arrived, (Cause, Time)>,
    /// Whether the other one of packet and copy is still held.
    pub(crate) comes_again: bool,
}

impl Network {
    /// Returns whether a link cannot answer at once.
    pub(super) fn is_busy(&self, link: usize) -> bool {
        self.busy.get(link).is_some_and(Option::is_some)
    }

    pub(super) fn busy(&mut self, link: usize) -> Option<&mut Busy<Parcel>> {
        self.busy.get_mut(link)?.as_deref_mut()
    }

    /// Returns the number of packets that a link holds.
    pub(super) fn held_at(&self, link: usize) -> usize {
        let busy = self.busy.get(link).and_then(Option::as_ref);
        busy.map_or(0, |busy| busy.len())
    }

    /// Gives a packet to the link that [holds](super::network::Sent::Held) it. Notes the number of
    /// waiting packets if an observer needs it.
    pub(crate) fn hold(&mut self, parcel: &Parcel, events: &mut EventQueue, note_waiting: bool) {
        let link = self.table.hops[parcel.hop as usize].index();
        if self.room == 0 {
            return self.end_at_limit(link, events);
        }
        self.room -= 1;
        let ecn = parcel.ecn(&self.aside);
        let parcel = Parcel {
            hop: parcel.hop + 1,
            ..parcel.copy()
        };
        if let Some(busy) = self.busy(link) {
            let whose = (parcel.flow, parcel.size, ecn);
            busy.offer(parcel.due, whose, parcel, note_waiting);
        }
        self.arm_turn(link, events);
    }

    /// Does what [`Self::hold`] does, unless the link is prompt and knows the packet's fate at
    /// once. Then returns the packet if it arrives, due at the far end.
    #[inline(never)]
    pub(crate) fn hold_or_pass(
        &mut self,
        parcel: &Parcel,
        events: &mut EventQueue,
        note_waiting: bool,
    ) -> Option<Parcel> {
        let link = self.table.hops[parcel.hop as usize].index();
        let busy = self.busy(link).filter(|busy| busy.is_prompt);
        let Some(fate) = busy.and_then(|busy| busy.pass(parcel.due, parcel.size)) else {
            self.hold(parcel, events, note_waiting);
            return None;
        };
        let onward = Parcel {
            hop: parcel.hop + 1,
            ..parcel.copy()
        };
        if fate != Fate::Held {
            return Some(self.settle_turned(link, onward, fate, false));
        }
        if self.room == 0 {
            self.end_at_limit(link, events);
            return None;
        }
        self.room -= 1;
        if let Some(busy) = self.busy(link) {
            busy.take(onward.due, onward);
        }
        self.arm_turn(link, events);
        None
    }

    /// Returns whether this event of a link is a valid turn.
    #[cold]
    pub(crate) fn begin_turn(&mut self, link: usize, now: Time) -> bool {
        debug_assert!(self.is_busy(link), "an event of a link that has none");
        let busy = self.busy(link).filter(|busy| busy.armed == now);
        busy.map(|busy| busy.armed = Time::MAX).is_some()
    }

    /// Takes the next packet whose fate is known from a link, and counts it.
    pub(crate) fn take_turned<O: Observer>(
        &mut self,
        link: usize,
        now: Time,
        observer: &mut O,
    ) -> Option<Turned> {
        let busy = self.busy(link)?;
        let given = busy.poll(now)?;
        let (held, fate, comes_again) = (given.held, given.fate, given.comes_again);
        let (marked, sent) = (busy.marked(fate), busy.sent());
        let (mut parcel, since) = (held.packet, held.since);
        if given.is_copy || comes_again {
            parcel = parcel.one_of_two(given.is_copy, comes_again, &mut self.aside);
        }
        self.room += u64::from(!comes_again);
        if O::LINKS {
            let packet = parcel.open(&self.aside);
            observer.on(&Event::Offered {
                link,
                at: since,
                packet: &packet,
                waiting: held.waiting,
                fate,
                marked,
            });
        }
        if let Fate::Lost(cause, when) = fate {
            if self.window.contains(when) {
                let count = &mut self.counts[link];
                count.lost.add(cause);
                if cause == Cause::Wireless && sent {
                    count.corrupted_bytes += u64::from(parcel.size);
                }
            }
            return Some(Turned {
                parcel,
                place: Err((cause, when)),
                comes_again,
            });
        }
        let parcel = self.settle_turned(link, parcel, fate, marked);
        let arrived = match self.table.hops[parcel.hop as usize] {
            Hop::SINK => Arrived::AtSink,
            Hop::SOURCE => Arrived::AtSource,
            _ => Arrived::Between,
        };
        Some(Turned {
            parcel,
            place: Ok(arrived),
            comes_again,
        })
    }

    /// Counts a packet that arrives at the end of a link, and returns it with its arrival time.
    /// `fate` is never [`Fate::Lost`].
    fn settle_turned(
        &mut self,
        link: usize,
        mut parcel: Parcel,
        fate: Fate,
        marked: bool,
    ) -> Parcel {
        let counted = self.window.contains(fate.when());
        if counted {
            self.wires[link].count(parcel.size);
        }
        if marked {
            parcel.mark(&mut self.aside);
            self.counts[link].marked += u64::from(counted);
        }
        if let Fate::Damaged(_, first) = fate {
            parcel = parcel.copy().damaged(first, &mut self.aside);
            self.counts[link].damaged += u64::from(counted);
        }
        parcel.due = fate.when();
        parcel
    }

    /// Sets the event of a link's next turn.
    pub(crate) fn arm_turn(&mut self, link: usize, events: &mut EventQueue) {
        if let Some(busy) = self.busy(link) {
            let next = busy.next_event();
            if next < busy.armed {
                busy.armed = next;
                events.push(link, next);
            }
        }
    }
}
