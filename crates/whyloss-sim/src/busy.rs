//! A link with events of its own, and the packets that it holds, for either engine.

use whyloss::Time;
use whyloss_link::{Ecn, EventLink, Fate, LinkSpec, Streams};

/// The link at work, with what it holds: `T` is a packet as the engine carries it.
#[derive(Debug)]
pub(crate) struct Busy<T> {
    link: EventLink,
    /// By ticket.
    held: Vec<Option<Held<T>>>,
    free: Vec<u32>,
    /// When its event is due; [`Time::MAX`]: it has none.
    pub(crate) armed: Time,
}

/// A packet that is held: when it came, and how many it found waiting if anybody looked.
#[derive(Debug)]
pub(crate) struct Held<T> {
    pub(crate) packet: T,
    pub(crate) since: Time,
    pub(crate) waiting: usize,
}

impl<T> Busy<T> {
    /// Link number `index`, if its kind needs events.
    pub(crate) fn new(spec: &LinkSpec, streams: Streams, index: u64) -> Option<Self> {
        EventLink::is_needed(spec).then(|| Self {
            link: EventLink::new(spec, streams, index),
            held: Vec::new(),
            free: Vec::new(),
            armed: Time::MAX,
        })
    }

    /// Packets that it holds.
    pub(crate) fn len(&self) -> usize {
        self.held.len() - self.free.len()
    }

    /// Takes a packet, and notes how many wait if somebody `looks`.
    pub(crate) fn offer(
        &mut self,
        since: Time,
        (flow, size, ecn): (u32, u32, Ecn),
        packet: T,
        looks: bool,
    ) {
        let waiting = if looks { self.link.queue_len(since) } else { 0 };
        let held = Held {
            packet,
            since,
            waiting,
        };
        let ticket = self.free.pop().unwrap_or(self.held.len() as u32);
        match self.held.get_mut(ticket as usize) {
            Some(place) => *place = Some(held),
            None => self.held.push(Some(held)),
        }
        self.link.offer(since, ticket, flow, size, ecn);
    }

    /// Gives back the next packet whose fate has come.
    pub(crate) fn poll(&mut self, now: Time) -> Option<(Held<T>, Fate)> {
        let (ticket, fate) = self.link.poll(now)?;
        let packet = self.held.get_mut(ticket as usize)?.take()?;
        self.free.push(ticket);
        Some((packet, fate))
    }

    /// Whether the link marked the packet given back last, which arrives.
    pub(crate) fn marked(&self, fate: Fate) -> bool {
        self.link.marked() && !matches!(fate, Fate::Lost(..))
    }

    /// When it must be asked again.
    pub(crate) fn next_event(&self) -> Time {
        self.link.next_event()
    }
}
