//! Links between hosts, sans-I/O: what becomes of a packet, when, and why.
//!
//! The queues, rates, delays and channels are `whyloss-link`'s. A packet that a host sends at a
//! time is offered to the first link of its route at that time, to the next one at the time at
//! which it arrives there, and so on: the times between are nominal, so a forwarder that is late at
//! one packet is not late at the next. The caller asks [`Network::next_due`] when to come again,
//! and [`Network::take_due`] what has arrived by then.
//!
//! A link that cannot answer at once (CoDel, ARQ, jitter, …) holds the packet, and tells its fate
//! at an event of its own. [`Network::next_due`] counts these events, too.
//!
//! Each time a link answers, [`Hop`] says what it answered: what a log needs, and all that is
//! needed to ask again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use whyloss::{Cause, Time};
use whyloss_link::{Ecn, EventLink, Fate, Link, LinkSpec, Streams};

/// A link of the network.
#[derive(Clone, Debug)]
pub struct LinkPlan {
    /// Its name in logs.
    pub name: String,
    /// Queue, rate, delay, channel.
    pub spec: LinkSpec,
}

/// One link at work.
#[derive(Clone, Debug)]
pub struct Service(Kind);

/// When a link answers.
#[derive(Clone, Debug)]
enum Kind {
    /// As a packet is offered.
    AtOnce(Box<Link>),
    /// At events of its own.
    Later(Box<EventLink>),
}

/// A link's answer about a packet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hop {
    /// Counts the answers of all links, in order.
    pub offer: u64,
    /// The packet, counted from 0 in the order in which hosts sent them.
    pub packet: u64,
    /// The link, by index.
    pub link: usize,
    /// When the packet reached the link.
    pub enqueued: Time,
    /// Packets that waited there.
    pub waiting: usize,
    /// What becomes of it.
    pub outcome: Outcome,
    /// Whether the packet met the bad state of a channel with two.
    pub bad_state: Option<bool>,
    /// Whether this is the last link of its route.
    pub last: bool,
}

/// The outcome of a packet at a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// It arrives at the far end.
    Delivered(Time),
    /// It arrives at the far end with these bits flipped, counted from its first.
    Damaged(Time, Vec<u32>),
    /// It found no room.
    Overflow(Time),
    /// It found room, but the discipline dropped it.
    Aqm(Time),
    /// The channel corrupted it.
    Channel(Time),
    /// Not known yet: the link holds it, and [tells later](Service::poll).
    #[default]
    Held,
}

/// A packet as a link takes it.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// The caller's name for it, which a link that answers later gives back.
    pub ticket: u32,
    /// A number for its flow, by which fair queues tell flows apart.
    pub flow: u32,
    /// Bytes of the IP packet.
    pub size: u32,
}

impl Service {
    /// The idle link number `index`, whose channel and queue draw from their own streams.
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

    /// Offers a packet at `now`: how many waited, what becomes of it, the channel's state. Times
    /// never decrease.
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

    /// When [`Self::poll`] has something to tell; [`Time::MAX`] if it has not.
    pub fn next_event(&self) -> Time {
        match &self.0 {
            Kind::AtOnce(_) => Time::MAX,
            Kind::Later(link) => link.next_event(),
        }
    }

    /// The ticket of the next packet whose fate has come by `now`, that, and the channel's state.
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

    /// Packets waiting at `now`.
    pub fn queue_len(&mut self, now: Time) -> usize {
        match &mut self.0 {
            Kind::AtOnce(link) => link.queue_len(now),
            Kind::Later(link) => link.queue_len(now),
        }
    }
}

/// The links, the routes, and the packets under way. `P` is what a packet carries.
#[derive(Debug)]
pub struct Network<P> {
    links: Vec<Service>,
    /// Those that answer later.
    later: Vec<usize>,
    /// The links from each host to each other; `None` where there is no way.
    routes: Vec<Vec<Option<Vec<usize>>>>,
    /// Packets under way, by when and in which order.
    due: BinaryHeap<Reverse<(Time, u64, usize)>>,
    /// Those packets, and free places.
    transits: Vec<Option<Transit<P>>>,
    free: Vec<usize>,
    offers: u64,
    packets: u64,
}

/// A packet under way.
#[derive(Debug)]
pub struct Transit<P> {
    /// Its contents.
    pub payload: P,
    /// Its number.
    pub packet: u64,
    /// The host that sent it.
    pub from: usize,
    /// The host that it is for.
    pub to: usize,
    /// The answer of the link that it crosses now.
    pub hop: Hop,
    /// How many links of its route are behind it.
    position: usize,
    size: u32,
    flow: u32,
}

/// A packet that a host sends.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The host that sends it.
    pub from: usize,
    /// The host that it is for.
    pub to: usize,
    /// Bytes of the IP packet.
    pub size: u32,
    /// See [`Offer::flow`].
    pub flow: u32,
}

/// An answer to a caller of [`Network`].
pub trait Watch<P> {
    /// A link answered, and the packet goes on to another link.
    fn passed(&mut self, hop: &Hop, payload: &mut P);
    /// A link lost the packet.
    fn lost(&mut self, hop: &Hop, payload: P);
}

impl<P> Network<P> {
    /// Links without a packet. `routes[a][b]` has the links from host a to host b.
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

    /// Takes a packet of a host; hands it back if there is no way. All that is due by `now` must
    /// have been taken.
    ///
    /// # Errors
    /// The payload, if there is no route.
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

    /// When something is due; [`Time::MAX`] if nothing is under way.
    pub fn next_due(&self) -> Time {
        let arrival = self.due.peek().map_or(Time::MAX, |Reverse((at, ..))| *at);
        let events = self.later.iter().map(|&link| self.links[link].next_event());
        events.fold(arrival, Time::min)
    }

    /// The next packet that has arrived at its host by `now`, with the time at which it should have
    /// left here.
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
            // At their own times, whenever the caller comes: what is offered then is still ahead.
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

    /// Asks every link that answers later what it has to tell at `at`.
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

    /// Packets under way.
    pub fn under_way(&self) -> usize {
        self.transits.len() - self.free.len()
    }

    /// Takes the packets that are still under way. Their links first tell what becomes of those
    /// that they hold.
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

    /// Packets waiting at link `index` at `now`, or when the first of the packets is due that have
    /// not been taken yet: looking further ahead than they are would let packets leave that they
    /// must still find waiting.
    pub fn queue_len(&mut self, now: Time, index: usize) -> usize {
        let now = now.min(self.next_due());
        self.links[index].queue_len(now)
    }

    fn is_last(&self, (from, to): (usize, usize), position: usize) -> bool {
        let route = self.routes[from][to].as_deref();
        route.is_some_and(|route| position + 1 == route.len())
    }

    /// Lets a packet enter the next link of its way.
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

    /// Lets a packet wait until it has crossed its link or the link knows its fate, or drops it.
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
    /// Translates a fate for a log. These bits were damaged if any were, and a packet that was lost
    /// for congestion found no room or was dropped early.
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

    /// Whether the packet came as far as the channel.
    fn met_the_channel(&self) -> bool {
        matches!(
            self,
            Self::Delivered(_) | Self::Damaged(..) | Self::Channel(_)
        )
    }

    /// When the packet arrives at the far end; `None` if it does not.
    pub fn arrival(&self) -> Option<Time> {
        match self {
            Self::Delivered(at) | Self::Damaged(at, _) => Some(*at),
            _ => None,
        }
    }

    /// When it arrives at the far end, or is lost; [`Time::MAX`] as long as that is not known.
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

    /// What was heard: (packet, link, outcome), …
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

    /// A packet of 1000 bytes.
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

    /// 8 Mbit/s: 1000 bytes take 1 ms; 4 Mbit/s: 2 ms, where one may wait.
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
        // They reach the second link at 11, 12, 13, 14 ms and leave it at 13, 15, … : the fourth
        // finds the third waiting until 15 and is refused.
        assert_eq!(
            arrivals,
            [(millis(18), 0), (millis(20), 1), (millis(22), 2)]
        );
        assert_eq!(heard.0.last(), Some(&(3, 1, Outcome::Overflow(millis(14)))));
        assert_eq!(network.under_way(), 0);
    }

    /// The same, looked at long after all is over but before a packet was taken: the fourth is
    /// refused all the same.
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
