//! The packets in transit over a link to a stop, or parked there, in the order of their arrivals.

use whyloss::Time;

use super::hops::Hop;
use super::network::Network;
use super::parcel::Parcel;

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
    pub(super) fn put_silently(&mut self, link: usize, parcel: Parcel) {
        let ring = &mut self.transits[link];
        if ring.is_full() && !ring.grow(&mut self.room) {
            return self.end_at_limit(link);
        }
        ring.push(parcel);
    }

    /// Parks a packet that is [at its source](super::send::Sent::AtSource) ahead of time until it
    /// is due.
    #[cold]
    #[inline(never)]
    pub(crate) fn park(&mut self, parcel: Parcel) {
        self.put(self.table.link_before(parcel.hop), parcel);
    }

    /// Removes and returns the packet that is due at the end of a link, with its hop.
    ///
    /// Sets the link's event for the next packet. At a fused source, `Ends::hear_parked` does so
    /// instead, because the source may foresee the next packets, and then they leave the ring
    /// without an event.
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
}
