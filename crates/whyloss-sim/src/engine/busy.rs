//! A link with its own events, and the packets that it holds. Both engines use it.

use whyloss::Time;
use whyloss_link::{Ecn, EventLink, Fate, LinkSpec, Streams};

use super::wire::Decision;

/// The link at work, with the packets that it holds. `T` is a packet as the engine carries it.
#[derive(Debug)]
pub(crate) struct Busy<T> {
    link: EventLink,
    /// The held packets, by ticket.
    held: Vec<Option<Held<T>>>,
    free: Vec<u32>,
    /// The time of the pending event that counts; [`Time::MAX`] if there is none. Events that it
    /// overtook may also be pending.
    pub(crate) armed: Time,
}

/// A held packet: its arrival time, and the number of packets that waited then, if an observer
/// needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held<T> {
    pub(crate) packet: T,
    pub(crate) since: Time,
    pub(crate) waiting: usize,
    /// Whether the packet itself has arrived, so that this is its copy.
    is_copy: bool,
}

/// A packet that the link returns.
#[derive(Debug)]
pub(super) struct Given<T> {
    pub(crate) held: Held<T>,
    pub(crate) decision: Decision,
    /// Whether the packet is a copy, or is lost while its copy may still arrive instead.
    pub(crate) is_copy: bool,
    /// Whether the packet's copy, or the packet of this copy, is still held.
    pub(crate) comes_again: bool,
}

impl<T: Copy> Busy<T> {
    /// Returns link number `index` if its kind needs events.
    pub(crate) fn new(spec: &LinkSpec, streams: Streams, index: u64) -> Option<Self> {
        EventLink::is_needed(spec).then(|| Self {
            link: EventLink::new(spec, streams, index),
            held: Vec::new(),
            free: Vec::new(),
            armed: Time::MAX,
        })
    }

    /// Makes the link return packets when their transmission begins.
    pub(crate) fn make_prompt(&mut self) {
        self.link.tell_at_turns();
    }

    /// Returns the number of packets held.
    pub(crate) fn len(&self) -> usize {
        self.held.len() - self.free.len()
    }

    /// Takes a packet. Records the number of waiting packets if an observer needs it.
    pub(crate) fn offer(
        &mut self,
        since: Time,
        (flow, size, ecn): (u32, u32, Ecn),
        packet: T,
        note_waiting: bool,
    ) {
        let waiting = if note_waiting {
            self.link.queue_len(since)
        } else {
            0
        };
        let ticket = self.keep(since, waiting, packet);
        self.link.offer(since, ticket, flow, size, ecn);
    }

    /// Takes a packet of `size` bytes if a prompt link [sends it immediately](EventLink::pass).
    /// Returns its arrival, or [`Fate::Held`] if the channel loses it: the link then holds it.
    #[inline]
    pub(crate) fn pass(
        &mut self,
        since: Time,
        size: u32,
        packet: impl FnOnce() -> T,
    ) -> Option<Fate> {
        if !self.link.tells_at_turns() {
            return None;
        }
        let fate = self.link.pass(since, self.next_ticket(), size)?;
        if fate == Fate::Held {
            self.keep(since, 0, packet());
        }
        Some(fate)
    }

    fn next_ticket(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.held.len() as u32)
    }

    /// Keeps a packet under the next ticket.
    fn keep(&mut self, since: Time, waiting: usize, packet: T) -> u32 {
        let held = Held {
            packet,
            since,
            waiting,
            is_copy: false,
        };
        let ticket = self.next_ticket();
        self.free.pop();
        match self.held.get_mut(ticket as usize) {
            Some(slot) => *slot = Some(held),
            None => self.held.push(Some(held)),
        }
        ticket
    }

    /// Returns the next packet whose fate is known by `now`.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "a packet need not pass through memory"
    )]
    pub(super) fn poll(&mut self, now: Time) -> Option<Given<T>> {
        let (ticket, fate) = self.link.poll(now)?;
        let slot = self.held.get_mut(ticket as usize)?;
        let held = slot.take()?;
        let (lost, again) = (matches!(fate, Fate::Lost(..)), self.link.comes_again());
        if let Some(since) = again {
            *slot = Some(Held {
                since,
                is_copy: !lost,
                ..held
            });
        } else {
            self.free.push(ticket);
        }
        let comes_again = again.is_some();
        Some(Given {
            is_copy: held.is_copy || (lost && comes_again),
            held,
            decision: Decision {
                fate,
                marked: self.link.marked() && !lost,
                used_link: self.link.sent(),
            },
            comes_again,
        })
    }

    /// Returns when the link must be polled again.
    pub(crate) fn next_event(&self) -> Time {
        self.link.next_event()
    }
}
