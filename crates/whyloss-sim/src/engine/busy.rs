//! A link with events of its own, and the packets that it holds, for either engine.

use whyloss::Time;
use whyloss_link::{Ecn, EventLink, Fate, LinkSpec, Streams};

use crate::scenario::Connection;

/// The link at work, with what it holds: `T` is a packet as the engine carries it.
#[derive(Debug)]
pub(crate) struct Busy<T> {
    link: EventLink,
    /// By ticket.
    held: Vec<Option<Held<T>>>,
    free: Vec<u32>,
    /// Whether packets go on as they begin to be sent ([`EventLink::tell_at_turns`]).
    pub(crate) is_prompt: bool,
    /// When its event is due; [`Time::MAX`]: it has none.
    pub(crate) armed: Time,
}

/// A packet that is held: when it came, and how many it found waiting if anybody looked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held<T> {
    pub(crate) packet: T,
    pub(crate) since: Time,
    pub(crate) waiting: usize,
    /// Whether it has been given back, and got through: what is still to come is its copy.
    passed: bool,
}

/// A packet that is given back.
#[derive(Debug)]
pub(crate) struct Given<T> {
    pub(crate) held: Held<T>,
    pub(crate) fate: Fate,
    /// Whether it is the copy of a packet, or a packet that is lost while its copy may get through and be the packet.
    pub(crate) is_copy: bool,
    /// Whether one that is the same is still held.
    pub(crate) comes_again: bool,
}

/// The links that cannot answer at once, in their places; empty if there is none.
pub(super) fn of<T: Copy>(links: &[Connection], streams: Streams) -> Vec<Option<Box<Busy<T>>>> {
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

impl<T: Copy> Busy<T> {
    /// Link number `index`, if its kind needs events.
    pub(crate) fn new(spec: &LinkSpec, streams: Streams, index: u64) -> Option<Self> {
        EventLink::is_needed(spec).then(|| Self {
            link: EventLink::new(spec, streams, index),
            held: Vec::new(),
            free: Vec::new(),
            is_prompt: false,
            armed: Time::MAX,
        })
    }

    /// From now on packets are given back as they begin to be sent.
    pub(crate) fn make_prompt(&mut self) {
        self.is_prompt = true;
        self.link.tell_at_turns();
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
        let ticket = self.keep(Held {
            packet,
            since,
            waiting,
            passed: false,
        });
        self.link.offer(since, ticket, flow, size, ecn);
    }

    /// The fate of a packet of `size` bytes, if that is [known at once](EventLink::pass). The owner
    /// must [take](Self::take) a packet that is [`Fate::Held`].
    #[inline]
    pub(crate) fn pass(&mut self, since: Time, size: u32) -> Option<Fate> {
        self.link.pass(since, self.next_ticket(), size)
    }

    /// Takes a packet that the link holds already.
    pub(crate) fn take(&mut self, since: Time, packet: T) {
        self.keep(Held {
            packet,
            since,
            waiting: 0,
            passed: false,
        });
    }

    fn next_ticket(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.held.len() as u32)
    }

    /// Keeps a packet under the next ticket.
    fn keep(&mut self, held: Held<T>) -> u32 {
        let ticket = self.next_ticket();
        self.free.pop();
        match self.held.get_mut(ticket as usize) {
            Some(place) => *place = Some(held),
            None => self.held.push(Some(held)),
        }
        ticket
    }

    /// Gives back the next packet whose fate has come.
    pub(crate) fn poll(&mut self, now: Time) -> Option<Given<T>> {
        let (ticket, fate) = self.link.poll(now)?;
        let place = self.held.get_mut(ticket as usize)?;
        let held = place.take()?;
        let (lost, again) = (matches!(fate, Fate::Lost(..)), self.link.comes_again());
        if let Some(since) = again {
            *place = Some(Held {
                since,
                passed: !lost,
                ..held
            });
        } else {
            self.free.push(ticket);
        }
        let comes_again = again.is_some();
        Some(Given {
            is_copy: held.passed || (lost && comes_again),
            held,
            fate,
            comes_again,
        })
    }

    /// Whether the link marked the packet given back last, which arrives.
    pub(crate) fn marked(&self, fate: Fate) -> bool {
        self.link.marked() && !matches!(fate, Fate::Lost(..))
    }

    /// Whether the packet given back last took the link's time.
    pub(crate) fn sent(&self) -> bool {
        self.link.sent()
    }

    /// When it must be asked again.
    pub(crate) fn next_event(&self) -> Time {
        self.link.next_event()
    }
}
