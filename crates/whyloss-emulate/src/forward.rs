//! Moves packets through links in real time: the code that TUN devices and sockets share.

use whyloss::{Duration, Time};

use crate::clock::Clock;
use crate::header::{Headers, flip};
use crate::log::{Ended, Entry, Log, WriteError};
use crate::network::{Hop, Network, Outcome, Sent, Transit, Watch};
use crate::record::{Fate, Fault};
use crate::rests::Rests;
use crate::spacing::Spacing;
use crate::summary::Counter;

/// A packet between two hosts.
#[derive(Debug)]
pub(crate) struct Packet {
    pub(crate) data: Vec<u8>,
    /// When the packet was taken from its host.
    read: Time,
    /// The packet's headers as sent, for the log.
    headers: Option<Headers>,
    from: usize,
    to: usize,
    /// A number for the caller's own use.
    pub(crate) tag: u32,
    /// The packet as sent, if a link has flipped bits since.
    intact: Option<Vec<u8>>,
}

impl Packet {
    fn damage(&mut self, bits: &[u32]) {
        self.intact.get_or_insert_with(|| self.data.clone());
        flip(&mut self.data, bits);
    }

    /// Returns whether a link has flipped bits of the packet.
    pub(crate) fn is_damaged(&self) -> bool {
        self.intact.is_some()
    }
}

/// A packet that must leave now.
#[derive(Debug)]
pub(crate) struct Due {
    scheduled: Time,
    pub(crate) transit: Transit<Packet>,
    /// Whether the kernel accepted the packet.
    pub(crate) taken: bool,
}

#[cfg(target_os = "linux")]
impl Due {
    /// Returns the IP packet.
    pub(crate) fn data(&self) -> &[u8] {
        &self.transit.payload.data
    }
}

/// Carries packets between hosts over the links, and records their fates.
pub(crate) struct Forwarder {
    pub(crate) clock: Clock,
    pub(crate) network: Network<Packet>,
    pub(crate) recorder: Recorder,
    pub(crate) late_bound: Duration,
    pub(crate) buffers: Vec<Vec<u8>>,
    /// The packets that are about to leave; empty between calls.
    pub(crate) due: Vec<Due>,
    pub(crate) rests: Rests,
    /// For each link, the distances between the packets that leave it.
    spacings: Vec<Spacing<Transit<Packet>>>,
}

/// Counts and logs the fates of packets.
pub(crate) struct Recorder {
    pub(crate) counter: Counter,
    pub(crate) log: Option<Log>,
}

impl Forwarder {
    pub(crate) fn new(
        clock: Clock,
        network: Network<Packet>,
        recorder: Recorder,
        late_bound: Duration,
    ) -> Self {
        let spacings = recorder.counter.links.iter();
        Self {
            spacings: spacings.map(|_| Spacing::new(late_bound / 2)).collect(),
            clock,
            network,
            recorder,
            late_bound,
            buffers: Vec::new(),
            due: Vec::new(),
            rests: Rests::default(),
        }
    }

    /// Returns when a packet leaves or a link has an event.
    pub(crate) fn next_due(&self) -> Time {
        let spaced = self.spacings.iter().map(Spacing::next);
        spaced.fold(self.network.next_due(), Time::min)
    }

    /// Returns a packet that leaves now.
    fn take_due(&mut self, now: Time) -> Option<Due> {
        let mut spaced = self.spacings.iter_mut();
        let mut found = spaced.find_map(|spacing| spacing.take(now));
        while found.is_none() {
            let (scheduled, transit) =
                self.network
                    .take_due(now, Packet::damage, &mut self.recorder)?;
            found = self.spacings[transit.hop.link].offer(now, scheduled, transit);
        }
        found.map(|(scheduled, transit)| {
            self.spacings[transit.hop.link].left(scheduled, now);
            Due {
                scheduled,
                transit,
                taken: false,
            }
        })
    }

    /// Offers a whole IP packet from host `from` to the first link of its route to host `to`.
    /// Deliver all packets due by `now` first.
    pub(crate) fn offer(&mut self, now: Time, ends: (usize, usize), data: Vec<u8>, tag: u32) {
        let headers = Headers::read(&data);
        let (from, to) = ends;
        let sent = Sent {
            from,
            to,
            size: data.len() as u32,
            flow: headers.as_ref().map_or(0, Headers::flow),
        };
        let packet = Packet {
            data,
            read: now,
            headers,
            from,
            to,
            tag,
            intact: None,
        };
        let recorder = &mut self.recorder;
        if let Err(packet) = self
            .network
            .send(now, sent, packet, Packet::damage, recorder)
        {
            self.recorder.counter.strays += 1;
            self.buffers.push(packet.data);
        }
    }

    /// Delivers all due packets, `at_once` at a time, and returns the present time. `write` passes
    /// packets to the kernel, and sets `taken` of each.
    pub(crate) fn deliver(&mut self, at_once: usize, write: &mut dyn FnMut(&mut [Due])) -> Time {
        loop {
            let now = self.clock.now();
            while self.due.len() < at_once
                && let Some(due) = self.take_due(now)
            {
                self.due.push(due);
            }
            if self.due.is_empty() {
                if let Some(log) = &mut self.recorder.log {
                    log.turn(now);
                }
                return now;
            }
            write(&mut self.due);
            let departed = self.clock.now();
            self.rests.left += self.due.len();
            let buffers = &mut self.buffers;
            for due in self.due.drain(..) {
                self.spacings[due.transit.hop.link].left(due.scheduled, departed);
                buffers.push(self.recorder.left(due, departed, self.late_bound));
            }
        }
    }

    pub(crate) fn waiting(&mut self, now: Time, links: usize) -> Vec<usize> {
        (0..links)
            .map(|link| self.network.queue_len(now, link))
            .collect()
    }

    /// Counts all packets that are still in flight, and closes the log.
    pub(crate) fn finish(mut self) -> Result<Counter, WriteError> {
        let left = self.network.drain(Packet::damage, &mut self.recorder);
        let spaced = self.spacings.iter_mut().flat_map(Spacing::drain);
        for Transit { hop, payload, .. } in spaced.chain(left) {
            self.recorder
                .ended(hop, payload, None, Fate::Unfinished, None);
        }
        if let Some(log) = self.recorder.log {
            log.finish()?;
        }
        Ok(self.recorder.counter)
    }
}

impl Recorder {
    /// Records that a packet has left its last link. Returns the packet's buffer.
    fn left(&mut self, due: Due, departed: Time, late_bound: Duration) -> Vec<u8> {
        let Due {
            scheduled,
            transit,
            taken,
        } = due;
        let late = departed - scheduled;
        self.counter.late(late);
        let fault = match (taken, late > late_bound) {
            (false, _) => Some(Fault::Device),
            (true, true) => Some(Fault::Late),
            (true, false) => None,
        };
        let fate = match (&fault, &transit.hop.outcome) {
            (Some(_), _) => Fate::Fault,
            (None, Outcome::Damaged(..)) => Fate::Damaged,
            (None, _) => Fate::Delivered,
        };
        let departed = taken.then_some(departed);
        self.ended(transit.hop, transit.payload, departed, fate, fault)
    }

    /// Records the end of a packet's journey, and returns the packet's buffer for reuse.
    fn ended(
        &mut self,
        hop: Hop,
        packet: Packet,
        departed: Option<Time>,
        fate: Fate,
        fault: Option<Fault>,
    ) -> Vec<u8> {
        let bytes = packet.data.len() as u32;
        self.counter
            .count(hop.link, bytes, hop.waiting, fate, fault);
        if let (Some(log), Some(headers)) = (&mut self.log, packet.headers) {
            let end = Ended {
                read: packet.read,
                sent: packet.intact.as_ref().unwrap_or(&packet.data).as_slice(),
                received: departed.map(|_| packet.data.as_slice()),
            };
            let entry = Entry {
                hop,
                headers,
                from: packet.from,
                to: packet.to,
                bytes,
                departed,
                fate,
                fault,
            };
            log.write(entry, Some(end));
        }
        packet.data
    }
}

impl Watch<Packet> for Recorder {
    fn passed(&mut self, hop: &Hop, packet: &mut Packet) {
        let bytes = packet.data.len() as u32;
        let fate = match hop.outcome {
            Outcome::Damaged(..) => Fate::Damaged,
            _ => Fate::Delivered,
        };
        self.counter.count(hop.link, bytes, hop.waiting, fate, None);
        if let (Some(log), Some(headers)) = (&mut self.log, &packet.headers) {
            let entry = Entry {
                departed: Some(hop.outcome.at()),
                hop: hop.clone(),
                headers: headers.clone(),
                from: packet.from,
                to: packet.to,
                bytes,
                fate,
                fault: None,
            };
            log.write(entry, None);
        }
    }

    fn lost(&mut self, hop: &Hop, packet: Packet) {
        let fate = match hop.outcome {
            Outcome::Overflow(_) => Fate::Overflow,
            Outcome::Aqm(_) => Fate::Aqm,
            _ => Fate::Channel,
        };
        self.ended(hop.clone(), packet, None, fate, None);
    }
}
