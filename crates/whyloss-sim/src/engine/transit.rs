//! The packets in transit over a link to a stop, or parked there, in the order of their arrivals.
//!
//! This file alone adds them to a link's [ring](super::ring) and removes them. So it keeps the rule
//! that an event of the link is pending for the first, if there is one. A link to a gate, and one
//! at which truths wait, also has events without packets.

use whyloss::Time;

use super::hops::Hop;
use super::network::Network;
use super::parcel::Parcel;
use super::ring::Ring;

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl Network {
    /// Puts a packet in transit over a link. Sets the link's event if it is the first there.
    #[inline(always)]
    pub(super) fn put(&mut self, link: usize, parcel: Parcel) {
        if self.transits[link].is_empty() {
            self.events.push(link, parcel.due);
        }
        self.put_silently(link, parcel);
    }

    /// Puts a packet like [`Self::put`], but sets no event.
    #[inline(always)]
    fn put_silently(&mut self, link: usize, parcel: Parcel) {
        let ring = &mut self.transits[link];
        if ring.is_full() && !ring.grow(&mut self.room) {
            return self.end_at_limit(link);
        }
        ring.push(parcel);
    }

    /// Parks a packet that is at its gate, at the end of this link, ahead of time. `event` is the
    /// time of the event of its deadline; the packet is not due before.
    ///
    /// If it is due then, that event brings it: catching up removes no event. If another packet is
    /// parked before it, [`Self::take_due`] sets a second event, and the later one has no effect.
    /// If it is due later, it waited in the first queue and needs an event of its own.
    #[inline(always)]
    pub(super) fn park_at_gate(&mut self, link: usize, parcel: Parcel, event: Time) {
        if parcel.due == event {
            self.put_silently(link, parcel);
        } else {
            self.put(link, parcel);
        }
    }

    /// Parks an answer that is [at its source](super::send::Sent::AtSource) ahead of time.
    #[cold]
    #[inline(never)]
    pub(crate) fn park_at_source(&mut self, parcel: Parcel) {
        self.put(self.table.link_before(parcel.hop), parcel);
    }

    /// Removes and returns the packet that is due at the end of a link, with its hop. Sets the
    /// link's event for the next packet, except at a fused source, which then calls
    /// [`Self::take_foreseen`].
    #[inline(always)]
    pub(crate) fn take_due(&mut self, now: Time, link: usize) -> Option<(Parcel, Hop)> {
        let ring = &mut self.transits[link];
        if ring.first()?.due != now {
            return None;
        }
        let (parcel, next) = ring.pop()?;
        let hop = self.table.hops[parcel.hop as usize];
        if hop != Hop::FUSED_SOURCE
            && let Some(due) = next
        {
            self.events.push_next(link, due);
        }
        Some((parcel, hop))
    }

    /// Removes and returns the next answer parked at the end of a link, if its source `foresees`
    /// it. Otherwise sets the link's event for this answer.
    #[inline(always)]
    pub(super) fn take_foreseen(
        &mut self,
        link: usize,
        foresees: impl FnOnce(&Parcel) -> bool,
    ) -> Option<Parcel> {
        let next = *self.transits[link].first()?;
        if foresees(&next) {
            self.transits[link].pop();
            return Some(next);
        }
        self.events.push(link, next.due);
        None
    }

    /// Returns whether all packets due until now have been taken, so that none lacked an event,
    /// unless the run ended at the limit on packets.
    pub(super) fn are_all_taken(&self, now: Time) -> bool {
        let mut first = self.transits.iter().filter_map(Ring::first);
        self.overfull(now).is_some() || first.all(|parcel| parcel.due > now)
    }
}
