//! Links between hosts, sans-I/O: the fate of each packet, with its time and its cause.
//!
//! The queues, rates, delays and channels are `whyloss-link`'s. A packet is offered to the first
//! link of its route when its host sends it, and to each later link when it arrives there. These
//! times are nominal, so a forwarder that is late with one packet does not delay the next. The
//! caller asks [`Network::next_due`] when to call again, and [`Network::take_due`] for the packets
//! that have arrived by then.
//!
//! A link that cannot decide immediately (CoDel, ARQ, jitter, …) holds the packet, and reports its
//! fate at a later event. [`Network::next_due`] includes these events.
//!
//! Each answer of a link is a [`Hop`], which holds everything that a log and a replay need.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use whyloss::{Cause, Time};
use whyloss_link::{Ecn, EventLink, Fate, Link, LinkSpec, Streams};

/// A link of the network.
#[derive(Clone, Debug)]
pub struct LinkPlan {
    /// The link's name in logs.
    pub name: String,
    /// The queue, rate, delay and channel.
    pub spec: LinkSpec,
}

/// A running link, which takes packets and returns their fates.
#[derive(Clone, Debug)]
pub struct Service(Kind);

/// A link, by when it reports fates.
#[derive(Clone, Debug)]
enum Kind {
    /// A link that reports a packet's fate when it is offered.
    AtOnce(Box<Link>),
    /// A link that reports the fates of packets at later events.
    Later(Box<EventLink>),
}

/// A link's answer about a packet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hop {
    /// The answer's number, counted over all links in order.
    pub offer: u64,
    /// The packet's number, from 0, in the order in which hosts sent packets.
    pub packet: u64,
    /// The index of the link.
    pub link: usize,
    /// When the packet reached the link.
    pub enqueued: Time,
    /// The number of packets that waited at the link when this one arrived.
    pub waiting: usize,
    /// The fate of the packet at the link.
    pub outcome: Outcome,
    /// Whether the packet met the bad state; `None` for a channel without two states.
    pub bad_state: Option<bool>,
    /// Whether the link is the last of the packet's route.
    pub last: bool,
}

/// The outcome of a packet at a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// The packet arrives at the far end at this time.
    Delivered(Time),
    /// The packet arrives at this time with these bits flipped, counted from its first bit.
    Damaged(Time, Vec<u32>),
    /// The packet found no room in the queue.
    Overflow(Time),
    /// The queue's discipline dropped the packet although the queue had room.
    Aqm(Time),
    /// The channel corrupted the packet.
    Channel(Time),
    /// The fate is not known yet; the link holds the packet and [reports it later](Service::poll).
    #[default]
    Held,
}

/// A packet that is offered to a link.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// The caller's number for the packet; [`Service::poll`] returns it with the fate.
    pub ticket: u32,
    /// The flow's number, by which fair queues distinguish flows.
    pub flow: u32,
    /// The size of the IP packet, in bytes.
    pub size: u32,
}

impl Service {
    /// Creates link `index` without packets. `seed` and `index` select its random numbers.
    pub fn new(plan: &LinkPlan, seed: u64, index: usize) -> Self {
        let (streams, index) = (Streams::new(seed), index as u64);
        if !EventLink::is_needed(&plan.spec) {
            return Self(Kind::AtOnce(Box::new(Link::new(
                &plan.spec, streams, index,
            ))));
        }
        let mut link = EventLink::new(&plan.spec, streams, index);
        link.keep_what_packets_meet();
        Self(Kind::Later(Box::new(link)))
    }

    /// Offers a packet at `now`. Returns the number of packets that waited, the outcome, and
    /// whether the channel was in its bad state. Times must not decrease.
    pub fn offer(&mut self, now: Time, offer: Offer) -> (usize, Outcome, Option<bool>) {
        let Offer { ticket, flow, size } = offer;
        let waiting = self.queue_len(now);
        let link = match &mut self.0 {
            Kind::AtOnce(link) => link,
            Kind::Later(link) => {
                link.offer(now, ticket, flow, size, Ecn::NotCapable);
                return (waiting, Outcome::Held, None);
            }
        };
        let room = link.has_room(now, size);
        let fate = link.offer(now, size);
        let (bits, bad) = (link.damaged_bits(), link.channel_is_bad());
        let outcome = Outcome::of(fate, bits, !room);
        let crossed = outcome.met_the_channel();
        (waiting, outcome, bad.filter(|_| crossed))
    }

    /// Returns when to call [`Self::poll`] again; [`Time::MAX`] if the link holds no packet.
    pub fn next_event(&self) -> Time {
        match &self.0 {
            Kind::AtOnce(_) => Time::MAX,
            Kind::Later(link) => link.next_event(),
        }
    }

    /// Returns the ticket of the next packet whose fate is known by `now`, its outcome, and whether
    /// the channel was in its bad state. Returns `None` if there is no such packet. The state is
    /// `None` for packets that did not meet a channel with two states.
    pub fn poll(&mut self, now: Time) -> Option<(u32, Outcome, Option<bool>)> {
        let Kind::Later(link) = &mut self.0 else {
            return None;
        };
        let (ticket, fate) = link.poll(now)?;
        let met = link.take_met(ticket);
        let outcome = Outcome::of(fate, &met.bits, link.overflowed());
        let crossed = outcome.met_the_channel();
        Some((ticket, outcome, met.bad.filter(|_| crossed)))
    }

    /// Returns the number of packets waiting at `now`.
    pub fn queue_len(&mut self, now: Time) -> usize {
        match &mut self.0 {
            Kind::AtOnce(link) => link.queue_len(now),
            Kind::Later(link) => link.queue_len(now),
        }
    }
}

/// The links, the routes, and the packets in flight. `P` is the payload of a packet.
#[derive(Debug)]
pub struct Network<P> {
    links: Vec<Service>,
    /// The indices of the links that answer later.
    later: Vec<usize>,
    /// The links from each host to each other host; `None` if there is no route.
    routes: Vec<Vec<Option<Vec<usize>>>>,
    /// The packets in flight, by time and order.
    due: BinaryHeap<Reverse<(Time, u64, usize)>>,
    /// The packets in flight, and free slots.
    transits: Vec<Option<Transit<P>>>,
    free: Vec<usize>,
    offers: u64,
    packets: u64,
}

/// A packet in flight.
#[derive(Debug)]
pub struct Transit<P> {
    /// The contents of the packet.
    pub payload: P,
    /// The packet's number, in the order in which hosts sent packets.
    pub packet: u64,
    /// The index of the host that sent the packet.
    pub from: usize,
    /// The index of the destination host.
    pub to: usize,
    /// The answer of the link that the packet is crossing.
    pub hop: Hop,
    /// The number of links of its route that it has crossed.
    position: usize,
    size: u32,
    flow: u32,
}

/// A packet that a host sends.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The index of the host that sends the packet.
    pub from: usize,
    /// The index of the destination host.
    pub to: usize,
    /// The size of the IP packet, in bytes.
    pub size: u32,
    /// The flow's number; see [`Offer::flow`].
    pub flow: u32,
}

/// Receives the answers of links from a [`Network`].
pub trait Watch<P> {
    /// Reports that a link has answered and the packet continues to another link.
    fn passed(&mut self, hop: &Hop, payload: &mut P);
    /// Reports that a link has lost the packet.
    fn lost(&mut self, hop: &Hop, payload: P);
}

impl<P> Network<P> {
    /// Creates a network without packets. `routes[a][b]` lists the indices in `plans` of the links
    /// from host a to host b; `None` if they are not connected.
    pub fn new(plans: &[LinkPlan], routes: Vec<Vec<Option<Vec<usize>>>>, seed: u64) -> Self {
        let links = plans.iter().enumerate();
        let links: Vec<_> = links
            .map(|(index, plan)| Service::new(plan, seed, index))
            .collect();
        let is_later = |index: &usize| matches!(links[*index].0, Kind::Later(_));
        Self {
            later: (0..links.len()).filter(is_later).collect(),
            links,
            routes,
            due: BinaryHeap::new(),
            transits: Vec::new(),
            free: Vec::new(),
            offers: 0,
            packets: 0,
        }
    }

    /// Sends a packet from a host. Take all packets that are due by `now` first.
    ///
    /// # Errors
    /// Returns the payload if there is no route.
    pub fn send(
        &mut self,
        now: Time,
        sent: Sent,
        payload: P,
        bits: impl FnOnce(&mut P, &[u32]),
        watch: &mut impl Watch<P>,
    ) -> Result<(), P> {
        let Sent {
            from,
            to,
            size,
            flow,
        } = sent;
        if self.routes[from][to].as_deref().is_none_or(<[_]>::is_empty) {
            return Err(payload);
        }
        let packet = self.packets;
        self.packets += 1;
        let transit = Transit {
            payload,
            packet,
            from,
            to,
            hop: Hop::default(),
            position: 0,
            size,
            flow,
        };
        self.enter(now, transit, bits, watch);
        Ok(())
    }

    /// Returns when to call [`Self::take_due`] again; [`Time::MAX`] if no packet is in flight.
    pub fn next_due(&self) -> Time {
        let arrival = self.due.peek().map_or(Time::MAX, |Reverse((at, ..))| *at);
        let events = self.later.iter().map(|&link| self.links[link].next_event());
        events.fold(arrival, Time::min)
    }

    /// Returns the next packet that has arrived at its host by `now`, with its nominal time of
    /// arrival; `None` if there is no such packet.
    pub fn take_due(
        &mut self,
        now: Time,
        mut bits: impl FnMut(&mut P, &[u32]),
        watch: &mut impl Watch<P>,
    ) -> Option<(Time, Transit<P>)> {
        loop {
            let at = self.next_due();
            if at > now || at == Time::MAX {
                return None;
            }
            // Handles events at their own times, even if the caller is late.
            self.ask_links(at, &mut bits, watch);
            let Some(&Reverse((due, _, place))) = self.due.peek() else {
                continue;
            };
            if due > at {
                continue;
            }
            self.due.pop();
            let mut transit = self.transits[place].take()?;
            self.free.push(place);
            if transit.hop.last {
                return Some((at, transit));
            }
            watch.passed(&transit.hop, &mut transit.payload);
            transit.position += 1;
            self.enter(at, transit, &mut bits, watch);
        }
    }

    /// Collects the fates that links with later answers report by `at`.
    fn ask_links(
        &mut self,
        at: Time,
        bits: &mut impl FnMut(&mut P, &[u32]),
        watch: &mut impl Watch<P>,
    ) {
        for index in 0..self.later.len() {
            let link = self.later[index];
            if self.links[link].next_event() > at {
                continue;
            }
            while let Some((ticket, outcome, bad_state)) = self.links[link].poll(at) {
                let place = ticket as usize;
                let Some(mut transit) = self.transits.get_mut(place).and_then(Option::take) else {
                    continue;
                };
                self.free.push(place);
                (transit.hop.outcome, transit.hop.bad_state) = (outcome, bad_state);
                self.settle(transit, &mut *bits, watch);
            }
        }
    }

    /// Returns the number of packets in flight.
    pub fn under_way(&self) -> usize {
        self.transits.len() - self.free.len()
    }

    /// Lets links report the fates of the packets that they hold. Then removes and returns all
    /// packets that are still in flight.
    pub fn drain(
        &mut self,
        mut bits: impl FnMut(&mut P, &[u32]),
        watch: &mut impl Watch<P>,
    ) -> Vec<Transit<P>> {
        let next = |links: &[Service]| links.iter().map(Service::next_event).min();
        while let Some(at) = next(&self.links).filter(|at| *at < Time::MAX) {
            self.ask_links(at, &mut bits, watch);
        }
        self.due.clear();
        self.free.clear();
        let left = std::mem::take(&mut self.transits);
        left.into_iter().flatten().collect()
    }

    /// Returns the number of packets waiting at link `index` at `now`. If a packet that was not
    /// taken yet is due earlier, counts the packets at that time. A later time would let packets
    /// leave that this packet must still find waiting.
    pub fn queue_len(&mut self, now: Time, index: usize) -> usize {
        let now = now.min(self.next_due());
        self.links[index].queue_len(now)
    }

    fn is_last(&self, (from, to): (usize, usize), position: usize) -> bool {
        let route = self.routes[from][to].as_deref();
        route.is_some_and(|route| position + 1 == route.len())
    }

    /// Offers a packet to the next link of its route.
    fn enter(
        &mut self,
        now: Time,
        mut transit: Transit<P>,
        bits: impl FnOnce(&mut P, &[u32]),
        watch: &mut impl Watch<P>,
    ) {
        let (ends, position) = ((transit.from, transit.to), transit.position);
        let route = self.routes[ends.0][ends.1].as_deref();
        let Some(&link) = route.and_then(|route| route.get(position)) else {
            return;
        };
        let place = self.free.last().copied().unwrap_or(self.transits.len());
        let (waiting, outcome, bad_state) = self.links[link].offer(
            now,
            Offer {
                ticket: place as u32,
                flow: transit.flow,
                size: transit.size,
            },
        );
        transit.hop = Hop {
            offer: self.offers,
            packet: transit.packet,
            link,
            enqueued: now,
            waiting,
            outcome,
            bad_state,
            last: self.is_last(ends, position),
        };
        self.offers += 1;
        self.settle(transit, bits, watch);
    }

    /// Stores a packet until it has crossed its link, or until the link reports its fate. Removes a
    /// lost packet.
    fn settle(
        &mut self,
        mut transit: Transit<P>,
        bits: impl FnOnce(&mut P, &[u32]),
        watch: &mut impl Watch<P>,
    ) {
        if let Outcome::Damaged(_, damaged) = &transit.hop.outcome {
            bits(&mut transit.payload, damaged);
        }
        let (offer, arrival) = (transit.hop.offer, transit.hop.outcome.arrival());
        if arrival.is_none() && transit.hop.outcome != Outcome::Held {
            return watch.lost(&transit.hop, transit.payload);
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.transits.push(None);
            self.transits.len() - 1
        });
        self.transits[place] = Some(transit);
        if let Some(at) = arrival {
            self.due.push(Reverse((at, offer, place)));
        }
    }
}

impl Outcome {
    /// Converts a fate for the log. `bits` are the damaged bits. `overflowed` distinguishes a full
    /// queue from an early drop.
    fn of(fate: Fate, bits: &[u32], overflowed: bool) -> Self {
        match fate {
            Fate::Delivered(at) => Self::Delivered(at),
            Fate::Damaged(at, _) => Self::Damaged(at, bits.to_vec()),
            Fate::Lost(Cause::Wireless, at) => Self::Channel(at),
            Fate::Lost(Cause::Congestion, at) if overflowed => Self::Overflow(at),
            Fate::Lost(Cause::Congestion, at) => Self::Aqm(at),
            Fate::Held => Self::Held,
        }
    }

    /// Returns whether the packet reached the channel.
    fn met_the_channel(&self) -> bool {
        matches!(
            self,
            Self::Delivered(_) | Self::Damaged(..) | Self::Channel(_)
        )
    }

    /// Returns the packet's arrival time at the far end; `None` if it is lost or held.
    pub fn arrival(&self) -> Option<Time> {
        match self {
            Self::Delivered(at) | Self::Damaged(at, _) => Some(*at),
            _ => None,
        }
    }

    /// Returns when the packet arrives at the far end or is lost; [`Time::MAX`] while it is held.
    pub fn at(&self) -> Time {
        match self {
            Self::Delivered(at)
            | Self::Damaged(at, _)
            | Self::Overflow(at)
            | Self::Aqm(at)
            | Self::Channel(at) => *at,
            Self::Held => Time::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whyloss::{Duration, Rate};
    use whyloss_link::queue::{Limit, QueueSpec};

    /// The answers: (packet, link, outcome), …
    #[derive(Default)]
    struct Heard(Vec<(u64, usize, Outcome)>);

    impl Watch<()> for Heard {
        fn passed(&mut self, hop: &Hop, (): &mut ()) {
            self.0.push((hop.packet, hop.link, hop.outcome.clone()));
        }

        fn lost(&mut self, hop: &Hop, (): ()) {
            self.0.push((hop.packet, hop.link, hop.outcome.clone()));
        }
    }

    fn plan(rate: u64, delay: i64, packets: u32) -> LinkPlan {
        LinkPlan {
            name: String::new(),
            spec: LinkSpec {
                rate: Rate::from_mbps(rate),
                delay: Duration::from_millis(delay),
                queue: QueueSpec::drop_tail(Limit::Packets(packets)),
                ..LinkSpec::default()
            },
        }
    }

    /// Returns a packet of 1000 bytes.
    fn sent(from: usize, to: usize) -> Sent {
        Sent {
            from,
            to,
            size: 1_000,
            flow: 0,
        }
    }

    fn millis(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// Links of 8 and 4 Mbit/s: 1000 bytes take 1 ms and 2 ms. One packet may wait at the second.
    #[test]
    fn two_links_by_hand() {
        let plans = [plan(8, 10, 10), plan(4, 5, 1)];
        let routes = vec![vec![None, Some(vec![0, 1])], vec![None, None]];
        let mut network = Network::new(&plans, routes, 1);
        let mut heard = Heard::default();
        for _ in 0..4 {
            network
                .send(Time::ZERO, sent(0, 1), (), |(), _| {}, &mut heard)
                .unwrap();
        }
        assert!(
            network
                .send(Time::ZERO, sent(1, 0), (), |(), _| {}, &mut heard)
                .is_err()
        );
        assert_eq!(network.next_due(), millis(11));
        let mut arrivals = Vec::new();
        while let Some((at, transit)) = network.take_due(Time::MAX, |(), _| {}, &mut heard) {
            arrivals.push((at, transit.packet));
        }
        // The packets reach the second link at 11, 12, 13, 14 ms and leave it at 13, 15, … ms. The
        // fourth finds the third, which waits until 15 ms, and is dropped.
        assert_eq!(
            arrivals,
            [(millis(18), 0), (millis(20), 1), (millis(22), 2)]
        );
        assert_eq!(heard.0.last(), Some(&(3, 1, Outcome::Overflow(millis(14)))));
        assert_eq!(network.under_way(), 0);
    }

    /// As above, but the network is polled only after the end: the fourth packet is still dropped.
    #[test]
    fn a_late_look_changes_nothing() {
        let plans = [plan(8, 10, 10), plan(4, 5, 1)];
        let routes = vec![vec![None, Some(vec![0, 1])], vec![None, None]];
        let mut network = Network::new(&plans, routes, 1);
        let mut heard = Heard::default();
        for _ in 0..4 {
            network
                .send(Time::ZERO, sent(0, 1), (), |(), _| {}, &mut heard)
                .unwrap();
        }
        for at in 11..15 {
            // Each packet that leaves the first link enters the second.
            assert!(
                network
                    .take_due(millis(at), |(), _| {}, &mut heard)
                    .is_none()
            );
            let waiting = network.queue_len(Time::MAX, 1);
            assert!(at != 13 || waiting == 1);
        }
        assert_eq!(heard.0.last(), Some(&(3, 1, Outcome::Overflow(millis(14)))));
    }
}
