//! Connects a host from outside to one end of a flow and keeps the bytes of its datagrams in
//! flight.

use std::fmt;

use whyloss::{Cause, Time};

use super::{HEADERS, Host, Judge};
use crate::host::judge::Judgement;
use crate::host::rtp::CallResult;
use crate::host::transfers::Backlog;
use crate::measure::Closed;
use crate::observe::SourceState;
use crate::packet::Payload;

/// A datagram in flight: its sender keeps the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The number of datagrams that left this end before it.
    pub number: u64,
    /// The size on the wire in bytes, headers included.
    pub(crate) size: u32,
    /// The slot in which its sender keeps the bytes.
    slot: u32,
    /// Whether the datagram travels from sink to source.
    pub answer: bool,
}

/// One end of a flow.
pub(crate) struct End {
    host: Box<dyn Host>,
    /// The truth about the losses of this end and the verdicts on them, if this end is a source.
    judge: Option<Judge>,
    /// The transfers that this source has to send, and how many of them the host was offered.
    /// `None` if the source always has data.
    backlog: Option<Backlog>,
    offered: u64,
    sent: u64,
    /// The bytes of datagrams in flight, and free slots for others.
    slots: Vec<Vec<u8>>,
    free: Vec<u32>,
    /// The slots of datagrams with a copy. Each is listed once for every extra arrival before the
    /// slot is free.
    copied: Vec<u32>,
    /// The bytes given to the application that have been counted.
    delivered: u64,
    /// The judge's verdict after the last event, and the datagrams that it covers.
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

    /// Returns the flow's transfers, if it has any.
    pub(crate) fn backlog(&mut self) -> Option<&mut Backlog> {
        self.backlog.as_mut()
    }

    /// Returns the measures of the call that this sink receives, if it receives one.
    pub(crate) fn call(&self) -> Option<CallResult> {
        self.host.call()
    }

    /// Returns how this end's connection closed; `None` if it is open.
    pub(crate) fn closed(&self) -> Option<Closed> {
        self.host.closed()
    }

    /// Returns the number of transfers that this sink has received completely.
    pub(crate) fn completed(&self) -> u64 {
        self.host.completed()
    }

    /// Offers the host the transfers that have begun.
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

    /// Passes the host a datagram that `from` sent.
    pub(crate) fn receive(&mut self, now: Time, from: &mut Self, datagram: Datagram) {
        self.host.receive(now, &from.slots[datagram.slot as usize]);
        from.forget(datagram);
        self.hear();
    }

    /// Returns the next datagram that may leave at `now`.
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

    /// Records that a datagram of this end is no longer in flight.
    pub(crate) fn forget(&mut self, datagram: Datagram) {
        let of = |&slot: &u32| slot == datagram.slot;
        if let Some(place) = self.copied.iter().position(of) {
            self.copied.swap_remove(place);
        } else {
            self.free.push(datagram.slot);
        }
    }

    /// Records that a link made a copy of a datagram that this end sent.
    pub(crate) fn copied(&mut self, datagram: Datagram) {
        self.copied.push(datagram.slot);
    }

    /// Returns the bytes given to the application since the last call.
    pub(crate) fn newly_delivered(&mut self) -> u64 {
        let before = self.delivered;
        self.delivered = self.host.delivered().max(before);
        self.delivered - before
    }

    /// Records that the path lost this datagram for this cause.
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

    /// Collects the verdicts of the judge during an event.
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
