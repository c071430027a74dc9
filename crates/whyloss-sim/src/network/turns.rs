//! Links that cannot answer at once: what they are offered is held, and comes back at events of their own.
//!
//! Such a link has nothing in transit, so an event of its entity that finds nothing there is a turn of the link. The hot path
//! knows nothing of it: the link's short cut never opens, and its long way answers [`Fate::HELD`].

use whyloss::Time;
use whyloss_link::{Fate, Streams};

use super::{Arrived, Hop, Network};
use crate::busy::Busy;
use crate::event_queue::EventQueue;
use crate::observe::Observer;
use crate::parcel::Parcel;
use crate::scenario::Connection;

/// The links that cannot answer at once, in their places; empty if there is none.
pub(super) fn busy(links: &[Connection], streams: Streams) -> Vec<Option<Box<Busy<Parcel>>>> {
    let links = links.iter().enumerate();
    let busy: Vec<_> = links
        .map(|(index, link)| Busy::new(&link.link, streams, index as u64).map(Box::new))
        .collect();
    if busy.iter().any(Option::is_some) {
        busy
    } else {
        Vec::new()
    }
}

impl Network {
    /// Whether a link cannot answer at once.
    pub(super) fn is_busy(&self, link: usize) -> bool {
        self.busy.get(link).is_some_and(Option::is_some)
    }

    fn busy(&mut self, link: usize) -> Option<&mut Busy<Parcel>> {
        self.busy.get_mut(link)?.as_deref_mut()
    }

    /// Packets that a link holds.
    pub(super) fn held_at(&self, link: usize) -> usize {
        let busy = self.busy.get(link).and_then(Option::as_ref);
        busy.map_or(0, |busy| busy.len())
    }

    /// Takes a packet that was [sent](Self::send) at `now` into the link that holds it; somebody may look at how many wait.
    #[cold]
    pub(crate) fn hold(
        &mut self,
        now: Time,
        parcel: &Parcel,
        events: &mut EventQueue,
        looks: bool,
    ) {
        let link = self.hops[parcel.hop as usize].index();
        if self.room == 0 {
            return self.end(link, events);
        }
        self.room -= 1;
        let ecn = parcel.ecn(&self.aside);
        let parcel = Parcel {
            hop: parcel.hop + 1,
            ..parcel.copy()
        };
        if let Some(busy) = self.busy(link) {
            let whose = (parcel.flow, parcel.size, ecn);
            busy.offer(now, whose, parcel, looks);
        }
        self.arm_turn(link, events);
    }

    /// Whether this event of a link is a turn that counts.
    #[cold]
    pub(crate) fn begin_turn(&mut self, link: usize, now: Time) -> bool {
        let busy = self.busy(link).filter(|busy| busy.armed == now);
        busy.map(|busy| busy.armed = Time::MAX).is_some()
    }

    /// The next packet that a link gives back, counted, and where it is, or its loss.
    pub(crate) fn turn<O: Observer>(
        &mut self,
        link: usize,
        now: Time,
        observer: &mut O,
    ) -> Option<(Parcel, Result<Arrived, Fate>)> {
        let busy = self.busy(link)?;
        let (held, fate) = busy.poll(now)?;
        let marked = busy.marked(fate);
        let (mut parcel, since) = (held.packet, held.since);
        self.room += 1;
        if O::LINKS {
            let packet = parcel.open(&self.aside);
            if marked {
                observer.marked(link);
            }
            observer.offered(link, since, &packet, held.waiting, fate);
        }
        let counted = self.window.contains(fate.when());
        if let Fate::Lost(cause, _) = fate {
            if counted {
                let count = &mut self.counts[link];
                count.lost.add(cause);
                if cause == whyloss::Cause::Wireless && now > since {
                    count.corrupted_bytes += u64::from(parcel.size);
                }
            }
            return Some((parcel, Err(fate)));
        }
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
        let arrived = match self.hops[parcel.hop as usize] {
            Hop::SINK => Arrived::AtSink,
            Hop::SOURCE => Arrived::AtSource,
            _ => Arrived::Between,
        };
        Some((parcel, Ok(arrived)))
    }

    /// Notes when a link's next turn is.
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
