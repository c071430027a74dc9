//! Links between hosts, sans-I/O: what becomes of a packet, when, and why.
//!
//! The queues, rates, delays and channels are `whyloss-link`'s. A packet that a host sends at a
//! time is offered to the first link of its route at that time, to the next one at the time at
//! which it arrives there, and so on: the times between are nominal, so a forwarder that is late at
//! one packet is not late at the next. The caller asks [`Network::next_due`] when to come again,
//! and [`Network::take_due`] what has arrived by then.
//!
//! Each time a link answers, [`Hop`] says what it answered: what a log needs, and all that is
//! needed to ask again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use whyloss::{Cause, Time};
use whyloss_link::{AnsweringLink, EventLink, Fate, Link, LinkSpec, Streams};

/// What a link of the network is.
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

#[derive(Clone, Debug)]
enum Kind {
    Plain(Link),
    /// A link whose rate is drawn, or that has ARQ or jitter.
    Drawn(AnsweringLink),
}

/// What a link said about a packet.
#[derive(Clone, Debug, PartialEq)]
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

/// What becomes of a packet at a link.
#[derive(Clone, Debug, PartialEq, Eq)]
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
}

impl Service {
    /// The idle link number `index`, whose channel and queue draw from their own streams.
    pub fn new(plan: &LinkPlan, seed: u64, index: usize) -> Self {
        let (spec, streams, index) = (&plan.spec, Streams::new(seed), index as u64);
        Self(if EventLink::is_needed(spec) {
            Kind::Drawn(AnsweringLink::new(spec, streams, index))
        } else {
            Kind::Plain(Link::new(spec, streams, index))
        })
    }

    /// Offers a packet of `size` bytes at `now`: how many waited, what becomes of it, the channel's
    /// state. Times never decrease.
    pub fn offer(&mut self, now: Time, size: u32) -> (usize, Outcome, Option<bool>) {
        macro_rules! ask {
            ($link:expr) => {{
                let link = $link;
                let (waiting, room) = (link.queue_len(now), link.has_room(now, size));
                let fate = link.offer(now, size);
                (
                    waiting,
                    room,
                    fate,
                    link.damaged_bits(),
                    link.channel_is_bad(),
                )
            }};
        }
        let (waiting, room, fate, bits, bad) = match &mut self.0 {
            Kind::Plain(link) => ask!(link),
            Kind::Drawn(link) => ask!(link),
        };
        let outcome = match fate {
            Fate::Delivered(at) => Outcome::Delivered(at),
            Fate::Damaged(at, _) => Outcome::Damaged(at, bits.to_vec()),
            Fate::Lost(Cause::Wireless, at) => Outcome::Channel(at),
            Fate::Lost(Cause::Congestion, at) if room => Outcome::Aqm(at),
            Fate::Lost(Cause::Congestion, at) => Outcome::Overflow(at),
        };
        let crossed = !matches!(outcome, Outcome::Overflow(_) | Outcome::Aqm(_));
        (waiting, outcome, bad.filter(|_| crossed))
    }

    /// Packets waiting at `now`.
    pub fn queue_len(&mut self, now: Time) -> usize {
        match &mut self.0 {
            Kind::Plain(link) => link.queue_len(now),
            Kind::Drawn(link) => link.queue_len(now),
        }
    }
}

/// The links, the routes, and the packets under way. `P` is what a packet carries.
#[derive(Debug)]
pub struct Network<P> {
    links: Vec<Service>,
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
    /// What it carries.
    pub payload: P,
    /// Its number.
    pub packet: u64,
    /// The host that sent it.
    pub from: usize,
    /// The host that it is for.
    pub to: usize,
    /// What the link that it crosses now said.
    pub hop: Hop,
    /// How many links of its route are behind it.
    position: usize,
    size: u32,
}

/// What a caller of [`Network`] hears.
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
        Self {
            links: links
                .map(|(index, plan)| Service::new(plan, seed, index))
                .collect(),
            routes,
            due: BinaryHeap::new(),
            transits: Vec::new(),
            free: Vec::new(),
            offers: 0,
            packets: 0,
        }
    }

    /// Takes a packet of `size` bytes that host `from` sends to host `to`; hands it back if there
    /// is no way. All that is due by `now` must have been taken.
    ///
    /// # Errors
    /// The payload, if there is no route.
    pub fn send(
        &mut self,
        now: Time,
        (from, to): (usize, usize),
        size: u32,
        mut payload: P,
        bits: impl FnOnce(&mut P, &[u32]),
        watch: &mut impl Watch<P>,
    ) -> Result<(), P> {
        let first = self.routes[from][to].as_deref().and_then(<[usize]>::first);
        let Some(&link) = first else {
            return Err(payload);
        };
        let packet = self.packets;
        self.packets += 1;
        let hop = self.offer(now, packet, link, size, self.is_last((from, to), 0));
        if let Outcome::Damaged(_, damaged) = &hop.outcome {
            bits(&mut payload, damaged);
        }
        let transit = Transit {
            payload,
            packet,
            from,
            to,
            hop,
            position: 0,
            size,
        };
        self.keep(transit, watch);
        Ok(())
    }

    /// When something is due; [`Time::MAX`] if nothing is under way.
    pub fn next_due(&self) -> Time {
        self.due.peek().map_or(Time::MAX, |Reverse((at, ..))| *at)
    }

    /// The next packet that has arrived at its host by `now`, with the time at which it should have
    /// left here.
    pub fn take_due(
        &mut self,
        now: Time,
        mut bits: impl FnMut(&mut P, &[u32]),
        watch: &mut impl Watch<P>,
    ) -> Option<(Time, Transit<P>)> {
        while let Some(&Reverse((at, _, place))) = self.due.peek()
            && at <= now
        {
            self.due.pop();
            let mut transit = self.transits[place].take()?;
            self.free.push(place);
            if transit.hop.last {
                return Some((at, transit));
            }
            watch.passed(&transit.hop, &mut transit.payload);
            let (position, ends) = (transit.position + 1, (transit.from, transit.to));
            let route = self.routes[ends.0][ends.1].as_deref();
            let link = *route.and_then(|route| route.get(position))?;
            let last = self.is_last(ends, position);
            let hop = self.offer(at, transit.packet, link, transit.size, last);
            if let Outcome::Damaged(_, damaged) = &hop.outcome {
                bits(&mut transit.payload, damaged);
            }
            self.keep(
                Transit {
                    hop,
                    position,
                    ..transit
                },
                watch,
            );
        }
        None
    }

    /// Packets under way.
    pub fn under_way(&self) -> usize {
        self.due.len()
    }

    /// Takes the packets that are still under way.
    pub fn drain(&mut self) -> impl Iterator<Item = Transit<P>> {
        self.due.clear();
        self.free.clear();
        std::mem::take(&mut self.transits).into_iter().flatten()
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

    fn offer(&mut self, now: Time, packet: u64, link: usize, size: u32, last: bool) -> Hop {
        let (waiting, outcome, bad_state) = self.links[link].offer(now, size);
        let offer = self.offers;
        self.offers += 1;
        Hop {
            offer,
            packet,
            link,
            enqueued: now,
            waiting,
            outcome,
            bad_state,
            last,
        }
    }

    /// Lets a packet wait until it has crossed its link, or drops it.
    fn keep(&mut self, transit: Transit<P>, watch: &mut impl Watch<P>) {
        let Some(at) = transit.hop.outcome.arrival() else {
            return watch.lost(&transit.hop, transit.payload);
        };
        let offer = transit.hop.offer;
        let place = self.free.pop().unwrap_or_else(|| {
            self.transits.push(None);
            self.transits.len() - 1
        });
        self.transits[place] = Some(transit);
        self.due.push(Reverse((at, offer, place)));
    }
}

impl Outcome {
    /// When the packet arrives at the far end; `None` if it does not.
    pub fn arrival(&self) -> Option<Time> {
        match self {
            Self::Delivered(at) | Self::Damaged(at, _) => Some(*at),
            _ => None,
        }
    }

    /// When it arrives at the far end, or is lost.
    pub fn at(&self) -> Time {
        match self {
            Self::Delivered(at)
            | Self::Damaged(at, _)
            | Self::Overflow(at)
            | Self::Aqm(at)
            | Self::Channel(at) => *at,
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
                .send(Time::ZERO, (0, 1), 1_000, (), |(), _| {}, &mut heard)
                .unwrap();
        }
        assert!(
            network
                .send(Time::ZERO, (1, 0), 1, (), |(), _| {}, &mut heard)
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
                .send(Time::ZERO, (0, 1), 1_000, (), |(), _| {}, &mut heard)
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
