//! A link that reports a packet's fate later, because the fate may depend on packets that arrive in
//! the meantime.
//!
//! A FIFO link ([`Link`](crate::Link)) returns a packet's fate when the packet is offered. Some
//! links cannot: their queue drops packets as they leave (CoDel, FQ-CoDel), or they retransmit
//! frames. This link therefore keeps each offered packet under a *ticket*. Its owner calls:
//!
//! ```text
//! offer(now, ticket, …)   offers an arriving packet
//! next_event()            returns the time by which to call `poll`
//! poll(now)               returns the next packet whose fate is due; `None` if there is none
//! ```
//!
//! If a [handover](crate::handover) copied a packet, `poll` returns its ticket twice. After the
//! first time, [`EventLink::comes_again`] returns the arrival time of the copy at the link.
//!
//! Times must not decrease. `poll` returns a packet when it arrives or is lost, unless the owner
//! calls [`EventLink::tell_at_turns`]. If all packets that are sent arrive in order,
//! [`EventLink::next_event`] skips departures from the queue while an earlier packet is in flight.
//! It skips no departure at which the queue may drop a packet.
//!
//! ```text
//! queue → transmission (one or a burst, retries with ARQ) → channel → delay, jitter → arrival
//! ```
//!
//! [`arq`](crate::arq), [`bursts`](crate::bursts), [`markov`](crate::markov),
//! [`jitter`](crate::jitter) and [`handover`](crate::handover) give the formulas.

use std::collections::{BTreeMap, VecDeque};

use whyloss::{Cause, Duration, Time};

use crate::arq::ArqSpec;
use crate::bursts::BurstSpec;
use crate::channel::{Channel, ChannelSpec, Harm};
use crate::ecn::Ecn;
use crate::handover::{Backlog, Handover};
use crate::jitter::Jitter;
use crate::link::{Fate, LinkSpec};
use crate::pace::Pace;
use crate::queue::{Discipline, Early, Limit, QueueSpec, Turns, Verdict, Waiting};
use crate::random::Streams;

/// A link that reports fates when they happen.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, not one state"
)]
pub struct EventLink {
    limit: Limit,
    early: Option<Box<Early>>,
    turns: Turns,
    server: Server,
    channel_before_queue: bool,
    bursts: Option<BurstSpec>,
    /// Whether the access time of the next burst has passed.
    accessed: bool,
    /// The pending handovers, in reverse order of time.
    handovers: Vec<Handover>,
    /// The streams from which the channels of later handovers draw, and the link's index.
    streams: (Streams, u64),
    /// When the packet in transmission has left and the next one may begin; with a trace, the time
    /// of the next opportunity.
    busy_until: Time,
    /// The packets lost without being sent, in the order of their losses, and whether the queue was
    /// full.
    lost: VecDeque<(u32, Fate, bool)>,
    /// The packets in flight, ordered by the time of their fate, then by service. New packets
    /// usually come last.
    under_way: VecDeque<Coming>,
    /// After [`Self::tell_at_turns`]: start time, ticket, fate and kind of a packet that begins
    /// transmission and will arrive. No other transmission begins until `poll` has returned this
    /// packet.
    begun: Option<(Time, u32, Fate, u8)>,
    tells_at_turns: bool,
    /// Whether all packets that are sent arrive, in the order of sending.
    is_orderly: bool,
    served: u64,
    /// The kind of the last packet that `poll` returned, if the link transmitted it.
    told: Option<u8>,
    /// Whether the last packet that `poll` returned was lost because the queue was full.
    overflowed: bool,
    /// The channel's effect on each held packet, by ticket, if [`Self::keep_what_packets_meet`] was
    /// called.
    met: Option<BTreeMap<u32, Met>>,
    /// The copied packets that `poll` has not yet returned, neither original nor copy, with the
    /// copy's arrival time at the link.
    copied: VecDeque<(u32, Time)>,
    /// The arrival time at the link of the copy of the last packet that `poll` returned.
    again: Option<Time>,
}

/// The effect of a channel on one packet, for a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// Whether the channel was in its bad state; `None` for channels without two states.
    pub bad: Option<bool>,
    /// The offsets of the damaged bits, in ascending order. They count only if the packet arrives
    /// damaged.
    pub bits: Vec<u32>,
}

/// A packet in flight: time of its fate, position in the order of service, ticket, kind of fate,
/// first damaged bit.
type Coming = (Time, u64, u32, u8, u32);

/// The part of a link that sends packets at their turn.
#[derive(Clone, Debug)]
struct Server {
    pace: Pace,
    delay: Duration,
    /// The pending changes of the delay, in reverse order of time.
    delay_changes: Vec<(Time, Duration)>,
    arq: ArqSpec,
    jitter: Option<Jitter>,
    channel: Channel,
    /// When the last packet had all delays that keep the order of packets. No packet sent later has
    /// them earlier.
    last_in_order: Time,
}

impl EventLink {
    /// Returns whether a link of this kind needs an [`EventLink`] instead of a
    /// [`Link`](crate::Link).
    pub fn is_needed(spec: &LinkSpec) -> bool {
        spec.arq.is_some()
            || spec.rates.is_some()
            || (spec.trace.is_some() && !spec.delay_changes.is_empty())
            || spec.jitter.is_some()
            || spec.bursts.is_some()
            || !spec.handovers.is_empty()
            || matches!(
                spec.queue.discipline,
                Discipline::Codel(_) | Discipline::FqCodel(_)
            )
    }

    /// Creates an idle link. Its queue and its channel draw from separate random streams, which
    /// `streams` and the link's `index` determine.
    pub fn new(spec: &LinkSpec, streams: Streams, index: u64) -> Self {
        let random = streams.stream("queue", index);
        let no_channel = spec.channel == ChannelSpec::None
            && spec
                .handovers
                .iter()
                .all(|handover| handover.channel.is_none());
        let in_order = spec.arq.is_none_or(|arq| arq.in_order)
            && spec.jitter.is_none_or(|jitter| jitter.in_order);
        let pace = Pace::new(spec, streams, index);
        Self {
            limit: spec.queue.limit,
            early: Early::new(&spec.queue.discipline, pace.rate(), spec.delay, random),
            turns: Turns::new(&spec.queue.discipline),
            server: Server {
                pace,
                delay: spec.delay.max(Duration::ZERO),
                delay_changes: spec.delay_changes.iter().rev().copied().collect(),
                arq: spec.arq.unwrap_or(ArqSpec {
                    tries: 1,
                    ..ArqSpec::default()
                }),
                jitter: spec
                    .jitter
                    .map(|jitter| Jitter::new(jitter, streams.stream("jitter", index))),
                channel: spec.channel.build(streams.stream("channel", index)),
                last_in_order: Time::ZERO,
            },
            channel_before_queue: spec.channel_before_queue && !no_channel,
            bursts: spec.bursts,
            accessed: false,
            handovers: spec.handovers.iter().rev().cloned().collect(),
            streams: (streams, index),
            busy_until: Time::ZERO,
            lost: VecDeque::new(),
            under_way: VecDeque::new(),
            begun: None,
            tells_at_turns: false,
            is_orderly: no_channel && in_order && spec.handovers.is_empty(),
            served: 0,
            told: None,
            overflowed: false,
            met: None,
            copied: VecDeque::new(),
            again: None,
        }
    }

    /// Returns whether a link of this kind can compute a packet's arrival time when its
    /// transmission begins, and delivers packets in the order of transmission. With a trace it
    /// cannot, because several packets may begin at one opportunity. Its owner may then call
    /// [`Self::tell_at_turns`].
    pub fn knows_at_turns(spec: &LinkSpec) -> bool {
        let only_its_queue = LinkSpec {
            queue: QueueSpec::default(),
            ..spec.clone()
        };
        spec.trace.is_none() && !Self::is_needed(&only_its_queue) && !spec.channel_before_queue
    }

    /// Makes [`Self::poll`] report arrivals early: it returns a packet when its transmission
    /// begins, with an arrival time later than `now`. Losses are still reported when they happen.
    /// Call this only for links for which [`Self::knows_at_turns`] is true.
    pub fn tell_at_turns(&mut self) {
        // A handover or a burst would begin a packet while another is not yet reported.
        debug_assert!(self.handovers.is_empty() && self.bursts.is_none());
        self.tells_at_turns = true;
    }

    /// Returns whether [`Self::tell_at_turns`] was called.
    #[inline]
    pub fn tells_at_turns(&self) -> bool {
        self.tells_at_turns
    }

    /// Offers a packet of `size` bytes of flow `flow` at `now`. [`Self::poll`] later returns its
    /// `ticket` and fate.
    pub fn offer(&mut self, now: Time, ticket: u32, flow: u32, size: u32, ecn: Ecn) {
        self.advance(now);
        let mut damaged = None;
        if self.channel_before_queue {
            let harm = self.server.channel.harms(now, size);
            self.note(ticket);
            match harm {
                Harm::None => {}
                Harm::Damaged(first) => damaged = Some(first),
                Harm::Lost => {
                    let fate = Fate::Lost(Cause::Wireless, now);
                    self.lost.push_back((ticket, fate, false));
                    return;
                }
            }
        }
        if self.busy_until <= now {
            self.busy_until = self.server.pace.ready(now);
        }
        let idle = self.busy_until <= now;
        // A packet that finds the link idle does not wait, except for an opportunity.
        let room = (idle && !self.server.pace.is_traced()) || self.has_room(size);
        let (packets, bytes) = (self.turns.len() as u64, self.turns.bytes());
        let verdict = self.early.as_mut().map_or(Verdict::Admit, |early| {
            // Retries and access times are not included, because their number is unknown.
            let free = self.busy_until.later(self.server.pace.span(bytes));
            early.judges(now, free, (packets, bytes), size, room)
        });
        let marked = verdict == Verdict::Mark && ecn.is_capable();
        let refused = verdict != Verdict::Admit && !marked;
        let congestion = Fate::Lost(Cause::Congestion, now);
        if refused || (!room && !self.turns.makes_room()) {
            self.lost.push_back((ticket, congestion, !room));
            return;
        }
        self.turns.push(Waiting {
            ticket,
            size,
            flow,
            since: now,
            damaged,
            capable: ecn.is_capable(),
            marked,
            copied: false,
        });
        while !room && !self.fits() {
            let Some(paid) = self.turns.make_room() else {
                break;
            };
            self.lost.push_back((paid.ticket, congestion, true));
        }
        if idle {
            self.advance(now);
        }
    }

    /// Sends a packet immediately if the link is idle and [`Self::tell_at_turns`] was called.
    /// Returns its fate, or [`Fate::Held`] if the channel loses it; [`Self::poll`] then reports the
    /// loss at its time. Returns `None` if the packet must be [offered](Self::offer).
    #[inline]
    pub fn pass(&mut self, now: Time, ticket: u32, size: u32) -> Option<Fate> {
        let sends_now = self.tells_at_turns
            && self.busy_until <= now
            && self.turns.len() == 0
            && self.lost.is_empty()
            && self.begun.is_none()
            && self.under_way.front().is_none_or(|first| first.0 > now);
        if !sends_now || !self.turns.pass(size) {
            return None;
        }
        let sent = self.server.serve(now, size);
        self.busy_until = sent.departure;
        if sent.harm == Harm::Lost {
            self.track(ticket, false, &sent);
            return Some(Fate::Held);
        }
        Some(self.server.fate(&sent))
    }

    /// Returns the time by which to call [`Self::poll`]; [`Time::MAX`] if the link is empty.
    #[inline]
    pub fn next_event(&self) -> Time {
        if let Some((_, fate, _)) = self.lost.front() {
            return fate.when();
        }
        if let Some((turn, ..)) = self.begun {
            return turn;
        }
        let arrival = self.under_way.front().map_or(Time::MAX, |first| first.0);
        if self.turns.len() == 0 {
            return arrival;
        }
        if self.is_orderly && !self.under_way.is_empty() {
            let loss = self.turns.drops_from(self.busy_until);
            return arrival.min(loss);
        }
        let handover = self.handovers.last().map_or(Time::MAX, |next| next.at);
        arrival.min(self.busy_until).min(handover)
    }

    /// Returns the ticket and the fate of the next packet whose fate is known by `now`; `None` if
    /// there is none.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<(u32, Fate)> {
        self.advance(now);
        let given = self.give_back(now)?;
        self.again = None;
        if !self.copied.is_empty() {
            self.again = self.take_copied(given.0);
        }
        Some(given)
    }

    #[inline]
    fn give_back(&mut self, now: Time) -> Option<(u32, Fate)> {
        self.told = None;
        self.overflowed = false;
        if let Some((ticket, fate, overflowed)) = self.lost.pop_front() {
            self.overflowed = overflowed;
            return Some((ticket, fate));
        }
        let due = |first: &mut Coming| first.0 <= now;
        if let Some((when, _, ticket, kind, bit)) = self.under_way.pop_front_if(due) {
            self.told = Some(kind);
            return Some((ticket, fate_of(when, kind, bit)));
        }
        let (_, ticket, fate, kind) = self.begun.take()?;
        self.told = Some(kind);
        Some((ticket, fate))
    }

    /// Returns whether this link marked the packet that [`Self::poll`] returned last. A packet lost
    /// in the queue never counts as marked.
    pub fn marked(&self) -> bool {
        self.told.is_some_and(|kind| kind & MARKED != 0)
    }

    /// Returns whether the packet that [`Self::poll`] returned last was transmitted, and so used
    /// the link's time.
    pub fn sent(&self) -> bool {
        self.told.is_some()
    }

    /// Returns whether the packet that [`Self::poll`] returned last was lost because the queue was
    /// full.
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Starts to record the channel's effect on each packet, for [`Self::take_met`]. Call this only
    /// for links without handovers that copy packets.
    pub fn keep_what_packets_meet(&mut self) {
        self.met = Some(BTreeMap::new());
    }

    /// Removes and returns the record of a packet that [`Self::poll`] returned. Returns the default
    /// if nothing was recorded or the packet did not reach the channel.
    pub fn take_met(&mut self, ticket: u32) -> Met {
        let met = self.met.as_mut().and_then(|met| met.remove(&ticket));
        met.unwrap_or_default()
    }

    /// Returns when the copy of the packet last returned by [`Self::poll`] reached the link; `None`
    /// unless `poll` will return its ticket again.
    pub fn comes_again(&self) -> Option<Time> {
        self.again
    }

    /// Removes and returns the arrival time of this packet's copy; `None` if the packet has no copy
    /// or was returned before.
    #[cold]
    fn take_copied(&mut self, ticket: u32) -> Option<Time> {
        // The packet is usually the first, because fates come in the order of the queue.
        let of = |&(copied, _): &(u32, Time)| copied == ticket;
        let place = self.copied.iter().position(of)?;
        self.copied.remove(place).map(|(_, since)| since)
    }

    /// Returns the number of packets waiting at `now`, not counting the one in transmission.
    pub fn queue_len(&mut self, now: Time) -> usize {
        self.advance(now);
        self.turns.len()
    }

    /// Starts every transmission that is due by `now`.
    #[inline]
    fn advance(&mut self, now: Time) {
        let somebody_may_go =
            self.busy_until <= now && self.turns.len() > 0 && self.begun.is_none();
        if somebody_may_go || !self.handovers.is_empty() {
            self.start_all(now);
        }
    }

    /// Starts transmissions up to `now`: the part of [`Self::advance`] for a queue that may hold
    /// packets.
    fn start_all(&mut self, now: Time) {
        loop {
            let somebody = self.turns.len() > 0;
            let turn = if somebody { self.busy_until } else { Time::MAX };
            let due = |next: &mut Handover| next.at <= now.min(turn);
            if let Some(handover) = self.handovers.pop_if(due) {
                self.hand_over(&handover);
            } else if turn > now {
                return;
            } else if self.bursts.is_some() && !self.accessed {
                self.accessed = true;
                let access = self.bursts.map_or(Duration::ZERO, |bursts| bursts.access);
                self.busy_until = self.server.pace.ready(turn.later(access));
            } else if let Some(bursts) = self.bursts {
                self.send_burst(turn, &bursts);
            } else if let Some((packet, sent)) = self.send(turn, turn) {
                self.busy_until = self.server.pace.ready(sent.departure);
                if self.tells_at_turns && sent.harm != Harm::Lost {
                    let fate = self.server.fate(&sent);
                    let marked = if packet.marked { MARKED } else { 0 };
                    self.begun = Some((turn, packet.ticket, fate, marked));
                    return;
                }
                self.track(packet.ticket, packet.marked, &sent);
            }
        }
    }

    /// Sends the next packet, whose turn is at `turn`, starting at `free`. Returns `None` if all
    /// waiting packets are dropped.
    #[inline]
    fn send(&mut self, turn: Time, free: Time) -> Option<(Waiting, Sent)> {
        let lost = &mut self.lost;
        let packet = self.turns.leave(turn, |dropped| {
            lost.push_back((dropped.ticket, Fate::Lost(Cause::Congestion, turn), false));
        })?;
        let sent = if self.channel_before_queue {
            self.server.transmit(free, &packet)
        } else {
            let sent = self.server.serve(free, packet.size);
            self.note(packet.ticket);
            sent
        };
        Some((packet, sent))
    }

    /// Records the channel's effect on this packet if [`Self::keep_what_packets_meet`] was called.
    #[inline]
    fn note(&mut self, ticket: u32) {
        if let Some(met) = &mut self.met {
            let channel = &self.server.channel;
            let bits = channel.damaged_bits().to_vec();
            met.insert(
                ticket,
                Met {
                    bad: channel.is_bad(),
                    bits,
                },
            );
        }
    }

    /// Sends a burst of waiting packets, starting at `turn`.
    fn send_burst(&mut self, turn: Time, bursts: &BurstSpec) {
        let mut burst = Vec::new();
        let mut free = turn;
        while self.turns.len() > 0
            && (burst.is_empty()
                || (burst.len() < bursts.packets as usize && free - turn < bursts.airtime))
        {
            let Some((packet, sent)) = self.send(turn, free) else {
                break;
            };
            free = sent.departure;
            burst.push((packet, sent));
        }
        self.accessed = false;
        self.busy_until = self.server.pace.ready(free);
        for (packet, mut sent) in burst {
            // All packets of a burst are delivered at its end.
            if sent.harm != Harm::Lost {
                sent.departure = free;
            }
            self.track(packet.ticket, packet.marked, &sent);
        }
    }

    /// Stores the fate of a packet that was sent.
    fn track(&mut self, ticket: u32, marked: bool, sent: &Sent) {
        self.served += 1;
        let fate = self.server.fate(sent);
        let (kind, bit) = match fate {
            Fate::Delivered(_) => (DELIVERED, 0),
            Fate::Damaged(_, bit) => (DAMAGED, bit),
            Fate::Lost(..) | Fate::Held => (LOST, 0),
        };
        let kind = kind | if marked { MARKED } else { 0 };
        let entry = (fate.when(), self.served, ticket, kind, bit);
        if self.under_way.back().is_none_or(|last| *last < entry) {
            self.under_way.push_back(entry);
        } else {
            let place = self.under_way.partition_point(|other| *other < entry);
            self.under_way.insert(place, entry);
        }
    }

    /// Applies a handover: changes rate, delay, channel and limit, and handles the waiting packets.
    fn hand_over(&mut self, handover: &Handover) {
        match handover.waiting {
            Backlog::Kept => {}
            Backlog::Lost => {
                while let Some(packet) = self.turns.give_up() {
                    let fate = Fate::Lost(Cause::Wireless, handover.at);
                    self.lost.push_back((packet.ticket, fate, false));
                }
            }
            Backlog::Copied => {
                let copied = &mut self.copied;
                let at = handover.at;
                self.turns.copy(at, |ticket| copied.push_back((ticket, at)));
            }
        }
        if let Some(rate) = handover.rate {
            self.server.pace = Pace::fixed(rate);
        }
        if let Some(delay) = handover.delay {
            self.server.delay = delay.max(Duration::ZERO);
        }
        if let Some(channel) = &handover.channel {
            // The name counts the remaining handovers, so that each handover gets a separate
            // stream.
            let (streams, index) = &self.streams;
            let name = format!("channel, {} to come", self.handovers.len());
            self.server.channel = channel.build(streams.stream(&name, *index));
        }
        if let Some(limit) = handover.limit {
            self.limit = limit;
        }
        if !handover.in_order {
            self.server.last_in_order = Time::ZERO;
        }
        let free = self.busy_until.max(handover.at + handover.pause);
        self.busy_until = self.server.pace.ready(free);
        self.accessed = false;
    }

    fn has_room(&self, size: u32) -> bool {
        match self.limit {
            Limit::Unlimited => true,
            Limit::Packets(limit) => self.turns.len() < limit as usize,
            Limit::Bytes(limit) => self.turns.bytes() + u64::from(size) <= limit,
        }
    }

    /// Returns whether the waiting packets are within the limit.
    fn fits(&self) -> bool {
        match self.limit {
            Limit::Unlimited => true,
            Limit::Packets(limit) => self.turns.len() <= limit as usize,
            Limit::Bytes(limit) => self.turns.bytes() <= limit,
        }
    }
}

const DELIVERED: u8 = 0;
const DAMAGED: u8 = 1;
const LOST: u8 = 2;
/// The flag of an ECN mark, added to one of the kinds above.
const MARKED: u8 = 4;

/// Returns the fate of this kind at `when`.
fn fate_of(when: Time, kind: u8, bit: u32) -> Fate {
    match kind & !MARKED {
        DELIVERED => Fate::Delivered(when),
        DAMAGED => Fate::Damaged(when, bit),
        _ => Fate::Lost(Cause::Wireless, when),
    }
}

/// A packet that has been sent: the departure time of its last bit, the extra delay of parallel
/// retries, and the channel's effect.
struct Sent {
    departure: Time,
    retry_delay: Duration,
    harm: Harm,
}

impl Server {
    /// Sends a packet of `size` bytes, starting at `start`, with retries.
    #[inline]
    fn serve(&mut self, start: Time, size: u32) -> Sent {
        let (mut begin, mut retry_delay) = (start, Duration::ZERO);
        let mut tries = 1;
        loop {
            let departure = self.pace.send(begin, size).1;
            let harm = self.channel.harms(departure, size);
            if harm == Harm::Lost && tries < self.arq.tries {
                tries += 1;
                begin = departure;
                if self.arq.parallel {
                    retry_delay += self.arq.turnaround;
                } else {
                    begin += self.arq.turnaround;
                }
                continue;
            }
            return Sent {
                departure,
                retry_delay,
                harm,
            };
        }
    }

    /// Sends a packet, without retries, that passed the channel before the queue.
    fn transmit(&mut self, start: Time, packet: &Waiting) -> Sent {
        Sent {
            departure: self.pace.send(start, packet.size).1,
            retry_delay: Duration::ZERO,
            harm: packet.damaged.map_or(Harm::None, Harm::Damaged),
        }
    }

    /// Decides the fate of a packet that was sent.
    #[inline]
    fn fate(&mut self, sent: &Sent) -> Fate {
        match sent.harm {
            Harm::None => Fate::Delivered(self.arrival(sent)),
            Harm::Damaged(bit) => Fate::Damaged(self.arrival(sent), bit),
            // A lost packet does not delay later ones.
            Harm::Lost => Fate::Lost(Cause::Wireless, sent.departure.later(sent.retry_delay)),
        }
    }

    /// Returns the arrival time of a packet that was sent. Delays that let packets overtake come
    /// last, so that no other part of the delay reorders packets.
    #[inline]
    fn arrival(&mut self, sent: &Sent) -> Time {
        self.change_delay(sent.departure);
        let (mut in_order, mut overtaking) = (self.delay, Duration::ZERO);
        let mut add = |extra, waits| {
            if waits {
                in_order += extra;
            } else {
                overtaking += extra;
            }
        };
        add(sent.retry_delay, self.arq.in_order);
        if let Some(jitter) = &mut self.jitter {
            add(jitter.draw(), jitter.spec.in_order);
        }
        let arrival = sent.departure.later(in_order);
        self.last_in_order = self.last_in_order.max(arrival);
        self.last_in_order.later(overtaking)
    }

    #[inline]
    fn change_delay(&mut self, departure: Time) {
        let due = |change: &mut (Time, Duration)| change.0 <= departure;
        while let Some((_, delay)) = self.delay_changes.pop_if(due) {
            self.delay = delay.max(Duration::ZERO);
        }
    }
}

#[cfg(test)]
mod tests;
