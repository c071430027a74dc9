//! A host from outside at one end of a flow, and the datagrams that it sent and that are still
//! under way.

use std::fmt;

use whyloss::{Cause, Time};

use super::{HEADERS, Host, Judge};
use crate::host::judge::Judgement;
use crate::host::rtp::CallResult;
use crate::host::transfers::Backlog;
use crate::observe::SourceState;
use crate::packet::Payload;

/// A datagram under way: its sender keeps the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// How many datagrams had left that end before it.
    pub number: u64,
    /// Bytes on the wire, headers included.
    pub(crate) size: u32,
    /// Where its sender keeps the bytes.
    slot: u32,
    /// Whether it is on its way from sink to source.
    pub answer: bool,
}

/// One end of a flow.
pub(crate) struct End {
    host: Box<dyn Host>,
    /// The truth about what this end sends, and what was said of it, if this is a source.
    judge: Option<Judge>,
    /// Transfers that this source has to send, and how many of them the host was offered; `None`:
    /// it always has something.
    backlog: Option<Backlog>,
    offered: u64,
    sent: u64,
    /// Datagrams under way, and room for others.
    slots: Vec<Vec<u8>>,
    free: Vec<u32>,
    /// Slots of datagrams of which there is a copy: each once more than it is free afterwards.
    copied: Vec<u32>,
    /// Bytes that were counted of what the application was given.
    delivered: u64,
    /// The judge's verdict after the last event, and the datagrams it is about.
    said: Option<Judgement>,
    packets: Vec<(u64, Cause)>,
}

impl End {
    pub(crate) fn source(host: Box<dyn Host>, judge: Judge, backlog: Option<Backlog>) -> Self {
        Self {
            backlog,
            ..Self::new(host, Some(judge))
        }
    }

    pub(crate) fn sink(host: Box<dyn Host>) -> Self {
        Self::new(host, None)
    }

    fn new(host: Box<dyn Host>, judge: Option<Judge>) -> Self {
        Self {
            host,
            judge,
            backlog: None,
            offered: 0,
            sent: 0,
            slots: Vec::new(),
            free: Vec::new(),
            copied: Vec::new(),
            delivered: 0,
            said: None,
            packets: Vec::new(),
        }
    }

    pub(crate) fn next_timeout(&self) -> Time {
        let due = self.backlog.as_ref().map_or(Time::MAX, Backlog::due);
        self.host.next_timeout().min(due)
    }

    /// The flow's transfers, if it has any.
    pub(crate) fn backlog(&mut self) -> Option<&mut Backlog> {
        self.backlog.as_mut()
    }

    /// Measures of the call that this sink receives, if it is one.
    pub(crate) fn call(&self) -> Option<CallResult> {
        self.host.call()
    }

    /// Transfers that this sink has whole.
    pub(crate) fn completed(&self) -> u64 {
        self.host.completed()
    }

    /// Offers the host what has begun.
    fn offer(&mut self, now: Time) {
        if let Some(backlog) = &mut self.backlog {
            while self.offered < backlog.refresh(now, self.host.finished()) {
                self.host.offer(now, backlog.size());
                self.offered += 1;
            }
        }
    }

    pub(crate) fn wake(&mut self, now: Time) {
        self.host.wake(now);
        self.hear();
    }

    /// Takes a datagram that `from` sent.
    pub(crate) fn receive(&mut self, now: Time, from: &mut Self, datagram: Datagram) {
        self.host.receive(now, &from.slots[datagram.slot as usize]);
        from.forget(datagram);
        self.hear();
    }

    /// The next datagram that may leave at `now`.
    pub(crate) fn poll(&mut self, now: Time) -> Option<Payload> {
        self.offer(now);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Vec::new());
            self.slots.len() as u32 - 1
        });
        let bytes = &mut self.slots[slot as usize];
        bytes.clear();
        if let Some(judge) = &self.judge {
            judge.leaves(self.sent);
        }
        if !self.host.poll_transmit(now, bytes) {
            self.free.push(slot);
            return None;
        }
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let datagram = Datagram {
            number: self.sent,
            size: length.saturating_add(HEADERS),
            slot,
            answer: self.judge.is_none(),
        };
        self.sent += 1;
        Some(Payload::Outside(datagram))
    }

    /// A datagram that this end sent is no longer under way.
    pub(crate) fn forget(&mut self, datagram: Datagram) {
        let of = |&slot: &u32| slot == datagram.slot;
        if let Some(place) = self.copied.iter().position(of) {
            self.copied.swap_remove(place);
        } else {
            self.free.push(datagram.slot);
        }
    }

    /// There is a copy of a datagram that this end sent.
    pub(crate) fn copied(&mut self, datagram: Datagram) {
        self.copied.push(datagram.slot);
    }

    /// Bytes that the application has been given since this was asked last.
    pub(crate) fn newly_delivered(&mut self) -> u64 {
        let before = self.delivered;
        self.delivered = self.host.delivered().max(before);
        self.delivered - before
    }

    /// The path lost this datagram, for this reason.
    pub(crate) fn on_lost(&mut self, number: u64, cause: Cause) {
        if let Some(judge) = &self.judge {
            judge.on_lost(number, cause);
        }
    }

    pub(crate) fn state(&self) -> SourceState {
        self.host.state()
    }

    pub(crate) fn judgement(&self) -> Option<(Judgement, &[(u64, Cause)])> {
        Some((self.said?, &self.packets))
    }

    /// Takes what the judge has been asked during an event.
    fn hear(&mut self) {
        if let Some(judge) = &self.judge {
            self.said = judge.said(&mut self.packets);
        }
    }
}

impl fmt::Debug for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("End")
            .field("sent", &self.sent)
            .finish_non_exhaustive()
    }
}
