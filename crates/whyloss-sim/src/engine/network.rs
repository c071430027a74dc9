//! The network: its links, the table of hops, all packets in flight, and the pending events.
//!
//! | file | what happens to a packet |
//! |---|---|
//! | `send.rs` | it enters a link, and all links that are fused beyond it |
//! | `transit.rs` | it is in transit over a link to a stop, or parked there |
//! | `turns.rs` | a busy link holds it |
//! | `truths.rs` | it is lost, and the cause waits until it may be reported |
//!
//! A FIFO link computes on arrival when a packet will reach its far end
//! ([`whyloss_link::Link::offer`]). For any number of packets in transit over it, it needs one
//! pending event, that of the first.

use whyloss::Time;
use whyloss_link::{Fate, Streams};

use super::event_queue::{EventQueue, entities};
use super::hops::Table;
use super::outcome::RunError;
use super::parcel::{Aside, Parcel};
use super::ring::Ring;
use super::shortcuts::{Gate, Map, Shortcuts};
use super::truths::{Truth, Truths};
use super::wire::{Decision, Wire};
use crate::measure::{LinkResult, Window};
use crate::scenario::Scenario;

/// The network at work.
#[derive(Debug)]
pub(crate) struct Network {
    pub(super) wires: Vec<Wire<Parcel>>,
    pub(super) table: Table,
    /// The packets in transit over each link to a stop, or parked there (`transit.rs`).
    pub(super) transits: Vec<Ring>,
    /// The pending events, those of sources and sinks included.
    pub(super) events: EventQueue,
    /// The causes of losses that wait until they may be reported.
    pub(super) truths: Truths,
    /// The maximum number of places: those of the rings of packets in transit, which only grow, and
    /// one for each held packet and each waiting cause.
    most_packets: u64,
    /// The number of places for packets that may still be added.
    pub(super) room: u64,
    /// The link whose packet found no room.
    overfull: Option<usize>,
    /// The flow whose gate is at the end of each link, if there is one.
    pub(super) gate_of: Vec<Option<u32>>,
    pub(super) window: Window,
    /// The packets that do not fit into a parcel.
    pub(crate) aside: Aside,
}

/// The ways of a flow's packets.
pub(super) struct Route {
    /// The first hops of the ways there and back, in the table of hops.
    pub(super) there: u32,
    pub(super) back: u32,
    pub(super) gate: Option<Gate>,
}

impl Network {
    /// Creates the network of a scenario that passed its checks, with the shortcuts that it
    /// licenses. Returns it with the route of each flow.
    pub(crate) fn new(
        scenario: &Scenario,
        streams: Streams,
        shortcuts: Shortcuts,
    ) -> (Self, Vec<Route>) {
        let links = &scenario.links;
        let map = Map::new(scenario);
        let licences = shortcuts.licences(&map);
        let window = Window::of(scenario);
        let wire = |(index, connection)| {
            let mut wire = Wire::new(connection, streams, index, window);
            if let Some(busy) = &mut wire.busy
                && licences.prompt[index]
            {
                busy.make_prompt();
            }
            wire
        };
        let mut gate_of = vec![None; links.len()];
        for (flow, gate) in licences.gates.iter().enumerate() {
            if let Some(gate) = gate {
                gate_of[gate.link] = Some(flow as u32);
            }
        }
        let (table, ways) = Table::new(&map, &licences, window);
        let routes = ways.into_iter().zip(licences.gates);
        let routes = routes.map(|((there, back), gate)| Route { there, back, gate });
        let network = Self {
            wires: links.iter().enumerate().map(wire).collect(),
            table,
            transits: links.iter().map(|_| Ring::default()).collect(),
            events: EventQueue::new(entities(scenario), scenario.end),
            truths: Truths::default(),
            most_packets: scenario.packet_limit(),
            room: scenario.packet_limit(),
            overfull: None,
            gate_of,
            window,
            aside: Aside::default(),
        };
        (network, routes.collect())
    }

    /// Returns the number of links: the entities `0..links()` of the event queue.
    pub(crate) fn links(&self) -> usize {
        self.wires.len()
    }

    /// Holds the cause of a loss back until `at`, when the packet reaches this hop, and sets an
    /// event of the link before it.
    pub(crate) fn tell_later(&mut self, hop: u32, at: Time, truth: Truth) {
        let link = self.table.link_before(hop);
        if self.take_room(link) {
            self.truths.add(at, link, truth);
            self.events.push(link, at);
        }
    }

    /// Takes a cause that may be reported at the end of a link now.
    #[inline]
    pub(crate) fn take_truth(&mut self, link: usize, now: Time) -> Option<Truth> {
        let truth = self.truths.pop(now, link)?;
        self.room += 1;
        Some(truth)
    }

    /// Takes room for a packet or a truth at a link. Returns false at the limit on packets, where
    /// the run ends.
    pub(super) fn take_room(&mut self, link: usize) -> bool {
        match self.room.checked_sub(1) {
            Some(left) => self.room = left,
            None => self.end_at_limit(link),
        }
        self.overfull.is_none()
    }

    /// Ends the run at the limit on packets, which one more packet at this link would exceed.
    #[cold]
    #[inline(never)]
    pub(super) fn end_at_limit(&mut self, link: usize) {
        self.overfull = Some(link);
        self.events.close();
    }

    /// Returns the error of a run that ended early at `at`, at the limit on packets.
    pub(crate) fn overfull(&self, at: Time) -> Option<RunError> {
        let last = self.overfull?;
        // Names the link that holds most packets. The packet too many may be at another link.
        let holds = |link: &usize| {
            self.transits[*link].len() + self.held_by(*link) + self.truths.len(*link)
        };
        let fullest = (0..self.links()).max_by_key(holds);
        Some(RunError::TooManyPackets {
            link: self.wires[fullest.unwrap_or(last)].count.name.clone(),
            at,
            most: self.most_packets,
        })
    }

    /// Counts a packet that enters a stretch at `now`, if some of its arrivals may be outside the
    /// window.
    #[cold]
    #[inline(never)]
    pub(super) fn count_each(&mut self, stretch: usize, now: Time) {
        let stretch = &self.table.stretches[stretch];
        let mut at = now;
        for &(link, crossing) in &stretch.links {
            at = at.later(crossing);
            let sent = Decision::sent(Fate::Delivered(at));
            self.wires[link].record(stretch.size, sent, self.window);
        }
    }

    /// Returns the counts of every link.
    pub(crate) fn into_counts(self) -> Vec<LinkResult> {
        let mut counts: Vec<_> = self.wires.into_iter().map(|wire| wire.count).collect();
        for stretch in &self.table.stretches {
            for &(link, _) in &stretch.links {
                counts[link].delivered += stretch.count;
                counts[link].delivered_bytes += stretch.count * u64::from(stretch.size);
            }
        }
        counts
    }

    /// Returns the number of packets in flight or waiting, over all structures that can grow.
    #[cfg(test)]
    pub(crate) fn in_memory(&self) -> usize {
        let links =
            (0..self.links()).map(|link| self.transits[link].capacity() + self.held_by(link));
        links.sum::<usize>() + self.aside.capacity()
    }
}
