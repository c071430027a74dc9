//! Links, the routes over them, and the packets under way.
//!
//! A FIFO link tells at once when a packet will arrive ([`whyloss_link::Link::offer`]), so each link needs one pending
//! event, that of the packet at the head of its pipe, however many it holds. And a link whose packets all come from one
//! other link needs none of its own: nothing can come between, so its answer is worked out in the same step
//! ([`Network::send`]). Such a link is *fused* with its feeder; the results are those of the plain pair of events.

use std::collections::VecDeque;

use whyloss::Time;
use whyloss_link::{Fate, Link, Streams};

use crate::event_queue::EventQueue;
use crate::measure::{LinkResult, Window};
use crate::observe::Observer;
use crate::packet::Packet;
use crate::scenario::{Router, Scenario};

/// A route's table entry that ends at the flow's source; any other entry is a link.
const SOURCE: u32 = u32::MAX;
/// A route's table entry that ends at the flow's sink.
const SINK: u32 = u32::MAX - 1;

/// Where a packet that left a link is next.
pub(crate) enum Arrived {
    AtSource,
    AtSink,
}

#[derive(Debug)]
struct Wire {
    link: Link,
    /// Whether every packet comes from one other link.
    fused: bool,
    /// Packets on their way to a place that must wait for their arrival, in the order of arrival.
    pipe: VecDeque<(Time, Packet)>,
    count: LinkResult,
}

/// The network at work.
#[derive(Debug)]
pub(crate) struct Network {
    wires: Vec<Wire>,
    /// Every route's links, one after the other, each ended by [`SOURCE`] or [`SINK`].
    hops: Vec<u32>,
    /// Where each flow's route and return route begin in `hops`.
    routes: Vec<(u32, u32)>,
    window: Window,
}

impl Network {
    /// The network of a scenario that passed its checks. `fuse` is off only to compare with the plain pair of events.
    pub(crate) fn new(scenario: &Scenario, streams: Streams, window: Window, fuse: bool) -> Self {
        let mut hops = Vec::new();
        let mut routes = Vec::with_capacity(scenario.flows.len());
        let router = Router::new(scenario);
        for flow in &scenario.flows {
            let (forward, back) = router.routes_of(flow).unwrap_or_default();
            let begin = |hops: &Vec<u32>| hops.len() as u32;
            let there = begin(&hops);
            hops.extend(forward.iter().map(|&link| link as u32));
            hops.push(SINK);
            let home = begin(&hops);
            hops.extend(back.iter().map(|&link| link as u32));
            hops.push(SOURCE);
            routes.push((there, home));
        }
        let feeders = feeders(&hops, scenario.links.len());
        let wires =
            scenario
                .links
                .iter()
                .zip(feeders)
                .enumerate()
                .map(|(index, (connection, feeder))| Wire {
                    link: Link::new(&connection.link, streams, index as u64),
                    fused: fuse && matches!(feeder, Feeder::Link(_)),
                    pipe: VecDeque::new(),
                    count: LinkResult {
                        name: connection.name.clone(),
                        rate: connection.link.rate,
                        ..LinkResult::default()
                    },
                });
        Self {
            wires: wires.collect(),
            hops,
            routes,
            window,
        }
    }

    /// Links: the entities `0..links()` of the event queue.
    pub(crate) fn links(&self) -> usize {
        self.wires.len()
    }

    /// Where the route from source to sink begins.
    pub(crate) fn forward(&self, flow: usize) -> u32 {
        self.routes[flow].0
    }

    /// Where the route from sink to source begins.
    pub(crate) fn back(&self, flow: usize) -> u32 {
        self.routes[flow].1
    }

    /// Sends a packet into the link its `hop` points at, and on through every link fused to that one. Answers with its
    /// fate if it was lost.
    #[inline]
    pub(crate) fn send<O: Observer>(
        &mut self,
        now: Time,
        mut packet: Packet,
        events: &mut EventQueue,
        observer: &mut O,
    ) -> Option<Fate> {
        let mut at = now;
        loop {
            let index = self.hops[packet.hop as usize] as usize;
            let wire = &mut self.wires[index];
            let waiting = if O::QUEUE_LENGTH {
                wire.link.queue_len(at)
            } else {
                0
            };
            let fate = wire.link.offer(at, packet.size);
            observer.offered(index, at, &packet, waiting, fate);
            match fate {
                Fate::Delivered(arrival) | Fate::Damaged(arrival, _) => {
                    let mut damaged = false;
                    if let Fate::Damaged(_, first) = fate {
                        packet.first_damaged = packet.first_damaged.min(first);
                        damaged = true;
                    }
                    if self.window.contains(arrival) {
                        wire.count.delivered += 1;
                        wire.count.damaged += u64::from(damaged);
                        wire.count.delivered_bytes += u64::from(packet.size);
                    }
                    packet.hop += 1;
                    at = arrival;
                }
                Fate::Lost(cause, when) => {
                    if self.window.contains(when) {
                        wire.count.lost.add(cause);
                        if when > at {
                            wire.count.corrupted_bytes += u64::from(packet.size);
                        }
                    }
                    return Some(fate);
                }
            }
            let next = self.hops[packet.hop as usize];
            if next >= SINK || !self.wires[next as usize].fused {
                let pipe = &mut self.wires[index].pipe;
                if pipe.is_empty() {
                    events.set(index, at);
                }
                pipe.push_back((at, packet));
                return None;
            }
        }
    }

    /// Takes the packet that is due from the pipe of link `index`, and arms the pipe for the next.
    #[inline]
    pub(crate) fn take(&mut self, index: usize, events: &mut EventQueue) -> Option<Packet> {
        let pipe = &mut self.wires[index].pipe;
        let (_, packet) = pipe.pop_front()?;
        events.set(index, pipe.front().map_or(Time::MAX, |&(due, _)| due));
        Some(packet)
    }

    /// Whether the packet has come to an end host, and which.
    #[inline]
    pub(crate) fn arrived(&self, packet: &Packet) -> Option<Arrived> {
        match self.hops[packet.hop as usize] {
            SOURCE => Some(Arrived::AtSource),
            SINK => Some(Arrived::AtSink),
            _ => None,
        }
    }

    /// Packets under way or waiting, in all structures that could grow.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.wires.iter().map(|wire| wire.pipe.capacity()).sum()
    }

    /// The counts of every link.
    pub(crate) fn into_counts(self) -> Vec<LinkResult> {
        self.wires.into_iter().map(|wire| wire.count).collect()
    }
}

/// Where a link's packets come from.
#[derive(Clone, Copy, PartialEq)]
enum Feeder {
    Nobody,
    Link(u32),
    Several,
}

/// The feeder of each link, from the table of hops. Hosts count as several: they send at any time.
fn feeders(hops: &[u32], links: usize) -> Vec<Feeder> {
    let mut feeders = vec![Feeder::Nobody; links];
    let mut before = SOURCE;
    for &hop in hops {
        if hop < SINK {
            let feeder = &mut feeders[hop as usize];
            *feeder = match *feeder {
                _ if before >= SINK => Feeder::Several,
                Feeder::Nobody => Feeder::Link(before),
                Feeder::Link(link) if link == before => *feeder,
                _ => Feeder::Several,
            };
        }
        before = hop;
    }
    feeders
}
