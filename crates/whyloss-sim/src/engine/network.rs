//! Links, the routes over them, and the packets in flight.
//!
//! A FIFO link knows at once when a packet will arrive ([`whyloss_link::Link::offer`]). However
//! many packets are in transit over it, it needs one pending event, that of the first. A link whose
//! packets all come from one other link needs no event: no other packet can come between, so
//! [`Network::send`] computes its answer in the same step. Such a link is *fused* with its feeder.
//! Some sinks, links behind them and sources are fused too; `shortcuts` has the rules. Results are
//! those of the plain engine.
//!
//! If later packets can change the fate of a packet, the link cannot answer at once, and has events
//! of its own (`turns.rs`).

use whyloss::{Cause, Time};
use whyloss_link::{Fate, Link, Streams};

use super::busy::{self, Busy};
use super::event_queue::EventQueue;
use super::hops::{Hop, Table};
use super::parcel::{Aside, Kind, Parcel};
use super::shortcuts::{Gate, Map, Shortcuts};
use super::stop::RunError;
use super::transit::Transit;
use super::truths::Truths;
use crate::measure::{LinkResult, Window};
use crate::observe::{Event, Observer};
use crate::scenario::{Connection, Scenario};

/// The outcome of [sending](Network::send) a packet. Its parcel has moved: `hop` is the place that
/// the packet has reached, and `due` the time at which it is there.
///
/// | outcome | `hop` | what is left to do |
/// |---|---|---|
/// | `InTransit` | its next stop | nothing: an event takes the packet there |
/// | `AtSink` | its fused sink | deliver it |
/// | `AtSource` | its fused source | let the source foresee it, or [park](Network::park) it |
/// | `AtGate` | behind its [gate](Gate) | send it on, or [park](Network::park_at_gate) it |
/// | `Lost` | the link that loses it | report the [loss](super::truths::Loss) |
/// | `Held` | a link that cannot answer at once | [give](Network::hold) it to the link |
pub(crate) enum Sent {
    InTransit,
    AtSink,
    /// No packet is parked there before it.
    AtSource,
    /// Only if it was sent no further than that.
    AtGate,
    /// The packet is or will be lost at this time, for this cause.
    Lost(Cause, Time),
    Held,
}

/// The next place of a packet that left a link.
#[derive(Clone, Copy)]
pub(crate) enum Arrived {
    Between,
    AtSource,
    /// At a source that did not foresee the packet, or could not because others were parked before
    /// it.
    AtFusedSource,
    AtSink,
}

/// A link and the counts of its deliveries.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) link: Link,
    delivered: u64,
    delivered_bytes: u64,
}

impl Wire {
    /// Counts a packet of this size.
    #[inline]
    pub(super) fn count(&mut self, size: u32) {
        self.delivered += 1;
        self.delivered_bytes += u64::from(size);
    }

    /// Counts a packet of this size that arrives at `arrival`, if that is in the window.
    #[inline]
    fn count_at(&mut self, arrival: Time, size: u32, window: Window) {
        if window.contains(arrival) {
            self.count(size);
        }
    }
}

/// The network at work.
#[derive(Debug)]
pub(crate) struct Network {
    pub(super) wires: Vec<Wire>,
    pub(super) table: Table,
    /// The packets in transit over each link to a stop, or parked there. If there are any, an event
    /// of the link is pending for the first.
    pub(super) transits: Vec<Transit>,
    /// The links that cannot answer at once, by index; empty if there is none.
    pub(super) busy: Vec<Option<Box<Busy<Parcel>>>>,
    /// The causes of losses that wait until they may be reported.
    pub(super) truths: Truths,
    /// Maximum number of packets in all of these together.
    pub(super) most_packets: u64,
    /// The number of places for packets that may still be added.
    pub(super) room: u64,
    /// The link whose packet found no room.
    pub(super) overfull: Option<usize>,
    /// The counts of each link, except for deliveries.
    pub(super) counts: Vec<LinkResult>,
    /// The gate of each flow that has one.
    pub(super) gates: Vec<Option<Gate>>,
    /// The flow whose gate is at the end of each link, if there is one.
    pub(super) gate_of: Vec<Option<u32>>,
    pub(super) window: Window,
    /// The payloads that do not fit into a parcel.
    pub(crate) aside: Aside,
}

impl Network {
    /// Creates the network of a scenario that passed its checks, with the shortcuts that it
    /// licenses.
    pub(crate) fn new(
        scenario: &Scenario,
        streams: Streams,
        window: Window,
        shortcuts: Shortcuts,
    ) -> Self {
        let links = &scenario.links;
        let wire = |(index, connection): (usize, &Connection)| Wire {
            link: Link::new(&connection.link, streams, index as u64),
            delivered: 0,
            delivered_bytes: 0,
        };
        let wires: Vec<_> = links.iter().enumerate().map(wire).collect();
        let mut busy = busy::of(links, streams);
        let map = Map::new(scenario);
        let licences = shortcuts.licences(&map);
        for (link, busy) in busy.iter_mut().enumerate() {
            if let Some(busy) = busy
                && licences.prompt[link]
            {
                busy.make_prompt();
            }
        }
        let mut gate_of = vec![None; links.len()];
        for (flow, gate) in licences.gates.iter().enumerate() {
            if let Some(gate) = gate {
                gate_of[gate.link] = Some(flow as u32);
            }
        }
        let count = |connection: &Connection| LinkResult {
            name: connection.name.clone(),
            rate: connection.link.rate,
            ..LinkResult::default()
        };
        Self {
            wires,
            table: Table::new(&map, &licences, window),
            transits: links.iter().map(|_| Transit::default()).collect(),
            busy,
            truths: Truths::default(),
            most_packets: scenario.packet_limit(),
            room: scenario.packet_limit(),
            overfull: None,
            counts: links.iter().map(count).collect(),
            gates: licences.gates,
            gate_of,
            window,
            aside: Aside::default(),
        }
    }

    /// Returns the number of links: the entities `0..links()` of the event queue.
    pub(crate) fn links(&self) -> usize {
        self.wires.len()
    }

    /// Sends a packet into the link of its `hop`, at the time at which it is `due` there, and on
    /// through all links fused to that one: as far as its gate, if it comes from a late source.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    pub(crate) fn send<O: Observer, const TO_GATE: bool>(
        &mut self,
        parcel: &mut Parcel,
        events: &mut EventQueue,
        observer: &mut O,
    ) -> Sent {
        let mut at = parcel.due;
        let mut place = parcel.hop as usize;
        let mut hop = self.table.hops[place];
        loop {
            let mut link = hop.index();
            if !O::LINKS && hop.is_stretch() {
                let entered = at;
                let stretch = &mut self.table.stretches[link];
                let (left, counted) = stretch.cross(entered, self.window);
                at = left;
                let last = stretch.last as usize;
                if !counted {
                    self.count_each(link, entered);
                }
                link = last;
            } else {
                match self.offer(at, link, parcel, observer) {
                    Ok(arrival) => at = arrival,
                    Err(sent) => {
                        (parcel.hop, parcel.due) = (place as u32, at);
                        return sent;
                    }
                }
            }
            place += 1;
            hop = self.table.hops[place];
            if !hop.is_fused() {
                (parcel.hop, parcel.due) = (place as u32, at);
                if TO_GATE {
                    return Sent::AtGate;
                }
                self.put(link, *parcel, events);
                return Sent::InTransit;
            }
            if hop.is_end() {
                (parcel.hop, parcel.due) = (place as u32, at);
                if hop == Hop::FUSED_SINK {
                    return Sent::AtSink;
                }
                if self.transits[link].is_empty() {
                    return Sent::AtSource;
                }
                self.park(parcel.copy(), events);
                return Sent::InTransit;
            }
        }
    }

    /// Offers a packet to a link. Returns its arrival time, or the cause of its loss.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    fn offer<O: Observer>(
        &mut self,
        now: Time,
        index: usize,
        parcel: &mut Parcel,
        observer: &mut O,
    ) -> Result<Time, Sent> {
        let (wire, size) = (&mut self.wires[index], parcel.size);
        let fate = if O::LINKS {
            let waiting = if O::QUEUE_LENGTH {
                wire.link.queue_len(now)
            } else {
                0
            };
            let mut fate = wire.link.offer(now, size);
            let packet = parcel.open(&self.aside);
            let mut marked = false;
            if let Fate::Lost(..) = fate
                && let Some(instead) = self.mark_instead(now, index, parcel)
            {
                fate = instead;
                marked = !matches!(fate, Fate::Lost(..));
            }
            if now <= self.window.end && fate != Fate::Held {
                observer.on(&Event::Offered {
                    link: index,
                    at: now,
                    packet: &packet,
                    waiting,
                    fate,
                    marked,
                });
            }
            fate
        } else {
            let fate = wire.link.offer(now, size);
            if let Fate::Delivered(arrival) = fate {
                wire.count_at(arrival, size, self.window);
                return Ok(arrival);
            }
            if let Fate::Lost(cause, when) = fate {
                if parcel.kind == Kind::Aside {
                    return self.mark_or_lose(now, index, parcel, fate);
                }
                self.count_lost(now, index, parcel.size, (cause, when));
                return Err(Sent::Lost(cause, when));
            }
            fate
        };
        self.settle(now, index, parcel, fate)
    }

    /// Counts the fate of a packet at a link. Returns its arrival time, or the cause of its loss.
    #[inline(never)]
    fn settle(
        &mut self,
        now: Time,
        index: usize,
        parcel: &mut Parcel,
        fate: Fate,
    ) -> Result<Time, Sent> {
        let size = parcel.size;
        let arrival = match fate {
            Fate::Delivered(arrival) => arrival,
            Fate::Damaged(arrival, first) => {
                *parcel = parcel.copy().damaged(first, &mut self.aside);
                if self.window.contains(arrival) {
                    self.counts[index].damaged += 1;
                }
                arrival
            }
            Fate::Lost(cause, when) => {
                self.count_lost(now, index, size, (cause, when));
                return Err(Sent::Lost(cause, when));
            }
            Fate::Held => return Err(Sent::Held),
        };
        self.wires[index].count_at(arrival, size, self.window);
        Ok(arrival)
    }

    /// Counts a packet lost at a link.
    #[inline]
    fn count_lost(&mut self, now: Time, index: usize, size: u32, (cause, when): (Cause, Time)) {
        if self.window.contains(when) {
            let count = &mut self.counts[index];
            count.lost.add(cause);
            // A full queue loses a packet as it arrives, a channel after its transmission.
            if when > now {
                count.corrupted_bytes += u64::from(size);
            }
        }
    }

    /// Returns the fate of a packet that link `index` would lose. If the packet is ECN-capable, the
    /// link may mark it instead.
    #[cold]
    #[inline(never)]
    fn mark_instead(&mut self, now: Time, index: usize, parcel: &Parcel) -> Option<Fate> {
        if !parcel.ecn(&self.aside).is_capable() {
            return None;
        }
        let fate = self.wires[index].link.mark_instead(now, parcel.size)?;
        if let Fate::Delivered(arrival) | Fate::Damaged(arrival, _) = fate {
            parcel.mark(&mut self.aside);
            if self.window.contains(arrival) {
                self.counts[index].marked += 1;
            }
        }
        Some(fate)
    }

    /// Does what [`Self::settle`] does, for a packet that may be marked instead of lost.
    #[cold]
    #[inline(never)]
    fn mark_or_lose(
        &mut self,
        now: Time,
        index: usize,
        parcel: &mut Parcel,
        lost: Fate,
    ) -> Result<Time, Sent> {
        let fate = self.mark_instead(now, index, parcel).unwrap_or(lost);
        self.settle(now, index, parcel, fate)
    }

    /// Puts a packet in transit over a link, and sets the link's event if it is the first there.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    fn put(&mut self, link: usize, parcel: Parcel, events: &mut EventQueue) {
        if self.transits[link].is_empty() {
            events.push(link, parcel.due);
        }
        self.put_silently(link, parcel, events);
    }

    /// Does what [`Self::put`] does, but sets no event.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    fn put_silently(&mut self, link: usize, parcel: Parcel, events: &mut EventQueue) {
        let transit = &mut self.transits[link];
        if transit.is_full() && !transit.grow(&mut self.room) {
            return self.end_at_limit(link, events);
        }
        transit.push(parcel);
    }

    /// Ends the run at the limit on packets, which one over link `index` would exceed.
    #[cold]
    #[inline(never)]
    pub(super) fn end_at_limit(&mut self, index: usize, events: &mut EventQueue) {
        self.overfull = Some(index);
        events.close();
    }

    /// Returns the error of a run that ended early at `at`, at the limit on packets.
    pub(crate) fn overfull(&self, at: Time) -> Option<RunError> {
        let index = self.overfull?;
        // Names the link that holds most packets. The packet too many may be at another link.
        let holds = |link: &usize| {
            self.transits[*link].len() + self.held_at(*link) + self.truths.len(*link)
        };
        let fullest = (0..self.transits.len()).max_by_key(holds);
        Some(RunError::TooManyPackets {
            link: self.counts[fullest.unwrap_or(index)].name.clone(),
            at,
            most: self.most_packets,
        })
    }

    /// Parks a packet that is [at its source](Sent::AtSource) ahead of time until it is due.
    #[cold]
    #[inline(never)]
    pub(crate) fn park(&mut self, parcel: Parcel, events: &mut EventQueue) {
        self.put(self.table.link_before(parcel.hop), parcel, events);
    }

    /// Parks a packet that is [at its gate](Sent::AtGate), the end of a link, until it is due. If
    /// it `is_awaited`, the link has an event at that time: that of the source's deadline.
    pub(crate) fn park_at_gate(
        &mut self,
        link: usize,
        parcel: Parcel,
        is_awaited: bool,
        events: &mut EventQueue,
    ) {
        if is_awaited {
            self.put_silently(link, parcel, events);
        } else {
            self.put(link, parcel, events);
        }
    }

    /// Removes and returns the packet at the end of link `index`, with its next place, if one is
    /// due. Sets the link's event for the next packet, except at a fused source: that may take
    /// several, so the caller must then [arm](Network::arm) the link, if packets [were parked
    /// there](Network::some_are_parked) before the source acted.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    pub(crate) fn take(
        &mut self,
        now: Time,
        index: usize,
        events: &mut EventQueue,
    ) -> Option<(Parcel, Arrived)> {
        let (parcel, next) = self.transits[index].pop_due(now)?;
        let arrived = match self.table.hops[parcel.hop as usize] {
            hop if !hop.is_end() => Arrived::Between,
            Hop::SINK => Arrived::AtSink,
            Hop::SOURCE => Arrived::AtSource,
            _ => return Some((parcel, Arrived::AtFusedSource)),
        };
        if let Some(due) = next {
            events.push_next(index, due);
        }
        Some((parcel, arrived))
    }

    /// Counts a packet that enters a stretch at `now`, if some of its arrivals may lie outside the
    /// window.
    #[cold]
    #[inline(never)]
    fn count_each(&mut self, stretch: usize, now: Time) {
        let stretch = &self.table.stretches[stretch];
        let mut at = now;
        for &(link, crossing) in &stretch.links {
            at = at.later(crossing);
            self.wires[link].count_at(at, stretch.size, self.window);
        }
    }

    /// Adds the packets of stretches to the counts of their links, at the end of the run.
    fn count_stretches(&mut self) {
        for stretch in &self.table.stretches {
            for &(link, _) in &stretch.links {
                let wire = &mut self.wires[link];
                wire.delivered += stretch.count;
                wire.delivered_bytes += stretch.count * u64::from(stretch.size);
            }
        }
    }

    /// Returns whether packets are in transit over link `index`, or parked at its end.
    pub(crate) fn some_are_parked(&self, index: usize) -> bool {
        !self.transits[index].is_empty()
    }

    /// Returns the first packet in transit over link `index`, if it is an acknowledgement on its
    /// way to a fused source.
    #[inline]
    pub(crate) fn first_for_source(&self, index: usize) -> Option<&Parcel> {
        let first = self.transits[index].first()?;
        let foreseeable =
            first.kind == Kind::Ack && self.table.hops[first.hop as usize] == Hop::FUSED_SOURCE;
        foreseeable.then_some(first)
    }

    /// Sets the event of link `index` for the first packet in transit over it.
    #[inline]
    pub(crate) fn arm(&mut self, index: usize, events: &mut EventQueue) {
        if let Some(first) = self.transits[index].first() {
            events.push(index, first.due);
        }
    }

    /// Returns the number of packets in flight or waiting, over all structures that can grow.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        let transits = self.transits.iter().map(Transit::capacity);
        let busy = (0..self.busy.len()).map(|link| self.held_at(link));
        transits.sum::<usize>() + busy.sum::<usize>() + self.aside.capacity()
    }

    /// Returns the counts of every link.
    pub(crate) fn into_counts(mut self) -> Vec<LinkResult> {
        self.count_stretches();
        let mut counts = self.counts;
        for (count, wire) in counts.iter_mut().zip(&self.wires) {
            count.delivered = wire.delivered;
            count.delivered_bytes = wire.delivered_bytes;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use whyloss::Duration;

    use super::super::event_queue::entities;
    use super::*;

    /// Two sources share a link to a sink: their packets stop before it, and nowhere else.
    #[test]
    fn a_sent_packet_says_where_and_when_it_is() {
        let text = r#"
            duration = "1 s"
            link = [
                { from = "a", to = "r", rate = "8 Mbit/s", delay = "1 ms", queue = "unlimited" },
                { from = "b", to = "r", rate = "8 Mbit/s", delay = "1 ms", queue = "unlimited" },
                { from = "r", to = "t", rate = "4 Mbit/s", delay = "1 ms", queue = { packets = 1 } },
            ]
            flow = [
                { from = "a", to = "t", transport = { kind = "cbr", rate = "1 Mbit/s" } },
                { from = "b", to = "t", transport = { kind = "cbr", rate = "1 Mbit/s" } },
            ]
        "#;
        let scenario = Scenario::from_toml(text, "a scenario", &[]).expect("valid");
        let window = Window::of(&scenario);
        let mut network = Network::new(&scenario, Streams::new(1), window, Shortcuts::ALL);
        let mut events = EventQueue::new(entities(&scenario), scenario.end);
        let first = network.table.routes[0].0;
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let mut parcel = Parcel {
            size: 1_000,
            hop: first,
            ..Parcel::default()
        };
        // 1 ms of transmission and 1 ms of delay.
        let sent = network.send::<(), false>(&mut parcel, &mut events, &mut ());
        assert!(matches!(sent, Sent::InTransit));
        assert_eq!((parcel.hop, parcel.due), (first + 1, at(2)));
        let (now, link) = events.pop().expect("its arrival");
        let (parcel, _) = network.take(now, link, &mut events).expect("the packet");
        assert_eq!((parcel.hop, parcel.due, now), (first + 1, at(2), at(2)));
        // 2 ms of transmission and 1 ms of delay. The second waits; there is no room for a third.
        let [one, two, three] = [(); 3].map(|()| {
            let mut parcel = parcel;
            let sent = network.send::<(), false>(&mut parcel, &mut events, &mut ());
            (sent, parcel.hop, parcel.due)
        });
        assert!(matches!(one, (Sent::AtSink, hop, due) if hop == first + 2 && due == at(5)));
        assert!(matches!(two, (Sent::AtSink, hop, due) if hop == first + 2 && due == at(7)));
        let (Sent::Lost(Cause::Congestion, when), hop, due) = three else {
            panic!("a full queue");
        };
        assert_eq!((when, hop, due), (at(2), first + 1, at(2)));
    }
}
