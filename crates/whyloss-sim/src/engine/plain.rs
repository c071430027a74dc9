//! The plain engine: one event per arrival, per deadline and per turn, in the order of their times.
//!
//! ```text
//! start       every flow's source has a deadline when it starts
//! deadline    the end acts; a source then sends all that it may, a sink the answer that it owes
//! send        a packet enters the first link of its way
//! enter       the link decides whether the packet is lost, or when it arrives: an event
//! arrival     the packet enters the next link of its way; after the last, an end takes it
//! turn        a busy link (`busy.rs`) returns packets whose fate is due: arrivals and losses
//! ```
//!
//! Events of the same time come in the [order of their entities](super).
//!
//! The fast engine (`fast.rs`) must give the same bytes as this one, on any network that stays
//! below its limit on packets (`tests/twins.rs`). `whyloss run --plain` runs it. Both engines share
//! the behaviour of links, sources and sinks, and the counts of a flow (`flow.rs`). They differ in
//! how, and in which event, a packet goes from one to the next.

use std::collections::BTreeMap;

use whyloss::{Cause, Time};
use whyloss_link::{Ecn, Fate, Streams};

use super::flow::{Delivered, Flow, measurement};
use super::outcome::{ASK_EVERY, RunError};
use super::recorder::Recorder;
use super::wire::{Decision, Offer, Wire};
use crate::measure::Measurement;
use crate::observe::Watch;
use crate::packet::{ANSWER_SIZE, Packet, Payload};
use crate::scenario::{Router, Scenario};

/// A run of the plain engine.
pub(super) struct Plain<'a> {
    recorder: Recorder<'a, &'a mut dyn Watch>,
    links: Vec<Wire<Packet>>,
    flows: Vec<Routed>,
    /// The pending events by time, entity, and packet number (0 for a deadline or a turn).
    events: BTreeMap<(Time, usize, u64), Event>,
    /// The number of packets that have entered a link so far.
    entered: u64,
    /// The number of packets in flight or held, for each link and in all, and the limit.
    under_way: Vec<u64>,
    all_under_way: u64,
    most_packets: u64,
    /// The number of events handled so far.
    handled: u64,
}

/// An event of an entity.
enum Event {
    /// A packet arrives at the far end of this link.
    Arrival(Packet),
    /// The deadline of this end of a flow has expired.
    Deadline,
    /// A turn: this link has packets whose fates are known.
    Turn,
}

/// A flow, its routes, and the pending deadlines of its ends.
struct Routed {
    flow: Flow,
    /// The links from source to sink.
    there: Vec<usize>,
    /// The links from sink to source.
    back: Vec<usize>,
    deadlines: [Time; 2],
}

/// The indices of a flow's ends.
const SOURCE: usize = 0;
const SINK: usize = 1;

impl<'a> Plain<'a> {
    pub(super) fn new(
        scenario: &Scenario,
        seed: u64,
        recorder: Recorder<'a, &'a mut dyn Watch>,
    ) -> Self {
        let streams = Streams::new(seed);
        let router = Router::new(scenario);
        let window = recorder.window;
        let mut plain = Self {
            recorder,
            links: scenario
                .links
                .iter()
                .enumerate()
                .map(|(index, connection)| Wire::new(connection, streams, index, window))
                .collect(),
            flows: Vec::new(),
            events: BTreeMap::new(),
            entered: 0,
            under_way: vec![0; scenario.links.len()],
            all_under_way: 0,
            most_packets: scenario.packet_limit(),
            handled: 0,
        };
        for index in 0..scenario.flows.len() {
            let (there, back) = router.routes_of(&scenario.flows[index]).unwrap_or_default();
            let (flow, start) = Flow::new(scenario, index, streams);
            plain.flows.push(Routed {
                flow,
                there,
                back,
                deadlines: [Time::MAX; 2],
            });
            plain.set_deadline(index, SOURCE, start);
        }
        plain
    }

    pub(super) fn run(
        mut self,
        goes_on: &mut dyn FnMut(Time) -> bool,
    ) -> Result<(Measurement, Time), RunError> {
        while let Some(((now, entity, _), event)) = self.events.pop_first() {
            if now > self.recorder.window.end {
                break;
            }
            self.handled += 1;
            if self.handled.is_multiple_of(ASK_EVERY) && !goes_on(now) {
                return Ok((self.measured(), now));
            }
            match event {
                Event::Arrival(packet) => {
                    self.remove(entity);
                    self.arrival(now, packet)?;
                }
                Event::Deadline => {
                    let ends = entity - self.links.len();
                    let (flow, end) = (ends / 2, ends % 2);
                    self.flows[flow].deadlines[end] = Time::MAX;
                    self.deadline(now, flow, end)?;
                }
                Event::Turn => self.turn(now, entity)?,
            }
        }
        let end = self.recorder.window.end;
        goes_on(end);
        Ok((self.measured(), end))
    }

    fn measured(mut self) -> Measurement {
        let flows = self.flows.into_iter().map(|ends| ends.flow);
        let links = self.links.into_iter().map(|wire| wire.count).collect();
        measurement(&mut self.recorder, flows, links, self.handled)
    }

    fn deadline(&mut self, now: Time, index: usize, end: usize) -> Result<(), RunError> {
        let flow = &mut self.flows[index].flow;
        if end == SINK {
            let answer = flow.wake_sink(now);
            self.reply(now, index, answer)
        } else if flow.wake_source(now, &mut self.recorder) {
            self.transmit(now, index)
        } else {
            Ok(())
        }
    }

    /// Handles a packet at the far end of the link that it entered last.
    fn arrival(&mut self, now: Time, mut packet: Packet) -> Result<(), RunError> {
        let index = packet.flow as usize;
        packet.hop += 1;
        if self.next_link(&packet).is_some() {
            return self.enter(now, packet);
        }
        let flow = &mut self.flows[index].flow;
        if packet.payload.is_answer() {
            if flow.hear(now, &packet, &mut self.recorder) {
                self.transmit(now, index)?;
            }
            return Ok(());
        }
        match flow.deliver(now, &packet, &mut self.recorder) {
            Delivered::Taken(answer) => self.reply(now, index, answer),
            Delivered::Dropped => {
                self.lose(&packet, Cause::Wireless, now);
                Ok(())
            }
        }
    }

    /// Sends all that the source may send now.
    fn transmit(&mut self, now: Time, index: usize) -> Result<(), RunError> {
        let flow = &mut self.flows[index].flow;
        if !flow.may_send(now, &mut self.recorder) {
            return Ok(());
        }
        loop {
            let flow = &mut self.flows[index].flow;
            let Some(payload) = flow.source.poll(now) else {
                break;
            };
            let packet = flow.packet(now, 0, flow.wire_size, payload);
            flow.count_sent(now, &packet, &mut self.recorder);
            self.enter(now, packet)?;
        }
        let flow = &self.flows[index].flow;
        flow.show_acted(now, &mut self.recorder);
        let deadline = flow.source.next_timeout();
        self.set_deadline(index, SOURCE, deadline);
        Ok(())
    }

    /// Sends `answer`, and then the remaining answers of the sink.
    fn reply(
        &mut self,
        now: Time,
        index: usize,
        mut answer: Option<Payload>,
    ) -> Result<(), RunError> {
        loop {
            let flow = &mut self.flows[index].flow;
            let Some(payload) = answer.take().or_else(|| flow.sink.poll(now)) else {
                break;
            };
            let packet = flow.packet(now, 0, ANSWER_SIZE, payload);
            self.enter(now, packet)?;
        }
        let deadline = self.flows[index].flow.sink.next_timeout();
        self.set_deadline(index, SINK, deadline);
        Ok(())
    }

    /// Lets a packet enter the next link of its route.
    fn enter(&mut self, now: Time, packet: Packet) -> Result<(), RunError> {
        let Some(entity) = self.next_link(&packet) else {
            return Ok(());
        };
        let wire = &mut self.links[entity];
        if wire.busy.is_some() {
            return self.hold(now, entity, packet);
        }
        let offer = Offer {
            link: entity,
            at: now,
            waiting: wire.link.queue_len(now),
        };
        let fate = wire.link.offer(now, packet.size);
        let decision = wire.decision(now, packet.size, packet.ecn, fate);
        if let Some(packet) = self.settle(offer, packet, decision) {
            self.add(now, entity)?;
            self.entered += 1;
            let event = (decision.fate.when(), entity, self.entered);
            self.events.insert(event, Event::Arrival(packet));
        }
        Ok(())
    }

    /// Reports and applies the decision of a link about a packet. Returns the packet as it leaves
    /// the link, unless it is lost.
    fn settle(&mut self, offer: Offer, mut packet: Packet, decision: Decision) -> Option<Packet> {
        self.recorder.offered(offer, &packet, decision);
        self.links[offer.link].record(packet.size, decision, self.recorder.window);
        if decision.marked {
            packet.ecn = Ecn::Marked;
        }
        match decision.fate {
            Fate::Lost(cause, at) => {
                self.lose(&packet, cause, at);
                return None;
            }
            Fate::Damaged(_, first) => packet.first_damaged = packet.first_damaged.min(first),
            Fate::Delivered(_) | Fate::Held => {}
        }
        Some(packet)
    }

    /// Counts a packet that a link lost or its sink dropped, and reports its cause.
    fn lose(&mut self, packet: &Packet, cause: Cause, at: Time) {
        let flow = &mut self.flows[packet.flow as usize].flow;
        if let Some(sequence) = packet.payload.sequence().filter(|_| !packet.copy) {
            flow.count_lost(at, cause, self.recorder.window);
            flow.tell(sequence, cause);
        }
        flow.forget(&packet.payload);
    }

    /// Passes a packet to a busy link, which holds it.
    fn hold(&mut self, now: Time, entity: usize, packet: Packet) -> Result<(), RunError> {
        let wire = &mut self.links[entity];
        if let Some(busy) = &mut wire.busy {
            let whose = (packet.flow, packet.size, packet.ecn);
            busy.offer(now, whose, packet, true);
        }
        self.add(now, entity)?;
        self.set_turn(entity);
        Ok(())
    }

    /// Handles the packets that a link returns because their fates are known.
    fn turn(&mut self, now: Time, entity: usize) -> Result<(), RunError> {
        if let Some(busy) = &mut self.links[entity].busy {
            busy.armed = Time::MAX;
        }
        while let Some(given) = (self.links[entity].busy.as_mut()).and_then(|busy| busy.poll(now)) {
            let held = given.held;
            let mut packet = held.packet;
            packet.copy |= given.is_copy;
            if given.comes_again {
                let flow = &mut self.flows[packet.flow as usize].flow;
                flow.copied(&packet.payload);
            } else {
                self.remove(entity);
            }
            let offer = Offer {
                link: entity,
                at: held.since,
                waiting: held.waiting,
            };
            if let Some(packet) = self.settle(offer, packet, given.decision) {
                self.arrival(now, packet)?;
            }
        }
        self.set_turn(entity);
        Ok(())
    }

    /// Sets the event at which a link must be polled again.
    fn set_turn(&mut self, entity: usize) {
        let Some(busy) = &mut self.links[entity].busy else {
            return;
        };
        let next = busy.next_event();
        let before = std::mem::replace(&mut busy.armed, next);
        self.events.remove(&(before, entity, 0));
        if next < Time::MAX {
            self.events.insert((next, entity, 0), Event::Turn);
        }
    }

    /// Returns the link that a packet enters next; `None` at the end of its route.
    fn next_link(&self, packet: &Packet) -> Option<usize> {
        let ends = &self.flows[packet.flow as usize];
        let way = if packet.payload.is_answer() {
            &ends.back
        } else {
            &ends.there
        };
        way.get(packet.hop as usize).copied()
    }

    /// Sets the event that wakes an end at `deadline`, instead of its pending one.
    fn set_deadline(&mut self, index: usize, end: usize, deadline: Time) {
        let entity = self.links.len() + 2 * index + end;
        let before = std::mem::replace(&mut self.flows[index].deadlines[end], deadline);
        self.events.remove(&(before, entity, 0));
        if deadline < Time::MAX {
            self.events.insert((deadline, entity, 0), Event::Deadline);
        }
    }

    /// Counts one more packet in flight at a link. Returns an error above the limit on all packets.
    fn add(&mut self, at: Time, link: usize) -> Result<(), RunError> {
        self.under_way[link] += 1;
        self.all_under_way += 1;
        if self.all_under_way <= self.most_packets {
            return Ok(());
        }
        let fullest = (0..self.links.len()).max_by_key(|&link| self.under_way[link]);
        Err(RunError::TooManyPackets {
            link: self.links[fullest.unwrap_or(link)].count.name.clone(),
            at,
            most: self.most_packets,
        })
    }

    fn remove(&mut self, link: usize) {
        self.under_way[link] -= 1;
        self.all_under_way -= 1;
    }
}
