//! A link with events of its own: what becomes of a packet may depend on packets that come later.
//!
//! A FIFO link ([`Link`](crate::Link)) answers when a packet is offered. Where the queue decides as packets leave it (CoDel,
//! FQ-CoDel), or where frames are sent again, nobody can. So this link keeps what it is offered under a *ticket*, and its owner
//! asks:
//!
//! ```text
//! offer(now, ticket, …)   a packet has come
//! next_event()            when to ask again, at the latest
//! poll(now)               the next packet whose fate has come, until there is none
//! ```
//!
//! Times never decrease. A fate's time is never later than `now`: a packet is given back when it arrives, or is lost.
//!
//! ```text
//! queue → one at a time: transmission, and again with ARQ → channel → delay → handed over
//! ```

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use whyloss::{Cause, Duration, Rate, Time};

use crate::arq::ArqSpec;
use crate::channel::{Channel, ChannelSpec, Harm};
use crate::ecn::Ecn;
use crate::link::{Fate, LinkSpec};
use crate::queue::{Discipline, Early, Limit, Turns, Verdict, Waiting};
use crate::random::Streams;

/// A link at work.
#[derive(Clone, Debug)]
pub struct EventLink {
    limit: Limit,
    early: Option<Box<Early>>,
    turns: Turns,
    server: Server,
    channel_before_queue: bool,
    /// When the packet in transmission has left, and the next may begin.
    busy_until: Time,
    /// Lost without having been sent, in the order of their losses.
    lost: VecDeque<(u32, Fate)>,
    /// Under way, by the time of the fate, then in the order of service.
    under_way: BinaryHeap<Reverse<Coming>>,
    served: u64,
    /// Whether the packet last given back was marked here.
    marked: bool,
}

/// A packet under way: when its fate comes, its number in the order of service, its ticket, the kind of its fate and the
/// first bit damaged.
type Coming = (Time, u64, u32, u8, u32);

/// What sends packets once their turn has come.
#[derive(Clone, Debug)]
struct Server {
    rate: Rate,
    delay: Duration,
    /// Changes of it still to come, the last one first.
    delay_changes: Vec<(Time, Duration)>,
    arq: ArqSpec,
    channel: Channel,
    /// Nobody arrives earlier than this, unless order does not matter.
    last_arrival: Time,
}

impl EventLink {
    /// Whether a link of this kind needs events.
    pub fn is_needed(spec: &LinkSpec) -> bool {
        spec.arq.is_some()
            || matches!(
                spec.queue.discipline,
                Discipline::Codel(_) | Discipline::FqCodel(_)
            )
    }

    /// The idle link number `index`, whose channel and queue each draw from their own stream.
    pub fn new(spec: &LinkSpec, streams: Streams, index: u64) -> Self {
        let random = streams.stream("queue", index);
        let no_channel = spec.channel == ChannelSpec::None;
        Self {
            limit: spec.queue.limit,
            early: Early::new(&spec.queue.discipline, spec.rate, spec.delay, random),
            turns: Turns::new(&spec.queue.discipline),
            server: Server {
                rate: spec.rate,
                delay: spec.delay.max(Duration::ZERO),
                delay_changes: spec.delay_changes.iter().rev().copied().collect(),
                arq: spec.arq.unwrap_or(ArqSpec {
                    tries: 1,
                    ..ArqSpec::default()
                }),
                channel: spec.channel.build(streams.stream("channel", index)),
                last_arrival: Time::ZERO,
            },
            channel_before_queue: spec.channel_before_queue && !no_channel,
            busy_until: Time::ZERO,
            lost: VecDeque::new(),
            under_way: BinaryHeap::new(),
            served: 0,
            marked: false,
        }
    }

    /// Takes a packet of `size` bytes of this flow, which its owner calls `ticket`.
    pub fn offer(&mut self, now: Time, ticket: u32, flow: u32, size: u32, ecn: Ecn) {
        self.advance(now);
        let mut damaged = None;
        if self.channel_before_queue {
            match self.server.channel.harms(now, size) {
                Harm::None => {}
                Harm::Damaged(first) => damaged = Some(first),
                Harm::Lost => {
                    let fate = Fate::Lost(Cause::Wireless, now);
                    self.lost.push_back((ticket, fate));
                    return;
                }
            }
        }
        let idle = self.busy_until <= now;
        let room = idle || self.has_room(size);
        let (packets, bytes) = (self.turns.len() as u64, self.turns.bytes());
        let free = self.busy_until;
        let verdict = self.early.as_mut().map_or(Verdict::Admit, |early| {
            early.judges(now, free, (packets, bytes), size, room)
        });
        let marked = verdict == Verdict::Mark && ecn.is_capable();
        let refused = verdict != Verdict::Admit && !marked;
        let congestion = Fate::Lost(Cause::Congestion, now);
        if idle {
            self.busy_until = now;
        }
        if refused || (!room && !self.turns.makes_room()) {
            self.lost.push_back((ticket, congestion));
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
        });
        while !idle && !self.fits() {
            let Some(paid) = self.turns.make_room() else {
                break;
            };
            self.lost.push_back((paid.ticket, congestion));
        }
        self.advance(now);
    }

    /// When [`Self::poll`] has something to tell, or the link something to do; [`Time::MAX`] if nothing is there.
    pub fn next_event(&self) -> Time {
        if let Some((_, fate)) = self.lost.front() {
            return fate.when();
        }
        let arrival = self.under_way.peek().map_or(Time::MAX, |first| first.0.0);
        if self.turns.len() > 0 {
            arrival.min(self.busy_until)
        } else {
            arrival
        }
    }

    /// The next packet whose fate has come by `now`, and its fate.
    pub fn poll(&mut self, now: Time) -> Option<(u32, Fate)> {
        self.advance(now);
        self.marked = false;
        if let Some(lost) = self.lost.pop_front() {
            return Some(lost);
        }
        let due = self.under_way.peek().is_some_and(|first| first.0.0 <= now);
        if !due {
            return None;
        }
        let Reverse((when, _, ticket, kind, bit)) = self.under_way.pop()?;
        self.marked = kind & MARKED != 0;
        let fate = match kind & !MARKED {
            DELIVERED => Fate::Delivered(when),
            DAMAGED => Fate::Damaged(when, bit),
            _ => Fate::Lost(Cause::Wireless, when),
        };
        Some((ticket, fate))
    }

    /// Whether this link marked the packet that [`Self::poll`] gave last; never one that was lost in its queue.
    pub fn marked(&self) -> bool {
        self.marked
    }

    /// Packets waiting, not counting the one in transmission.
    pub fn queue_len(&mut self, now: Time) -> usize {
        self.advance(now);
        self.turns.len()
    }

    /// Starts every transmission whose turn has come by `now`.
    fn advance(&mut self, now: Time) {
        while self.busy_until <= now && self.turns.len() > 0 {
            // Somebody waits, so the link has not been idle since.
            let (turn, lost) = (self.busy_until, &mut self.lost);
            let Some(packet) = self.turns.leave(turn, |dropped| {
                lost.push_back((dropped.ticket, Fate::Lost(Cause::Congestion, turn)));
            }) else {
                return;
            };
            let (free, fate) = if self.channel_before_queue {
                let (free, arrival) = self.server.pass(turn, packet.size);
                let damaged = packet.damaged.map(|bit| Fate::Damaged(arrival, bit));
                (free, damaged.unwrap_or(Fate::Delivered(arrival)))
            } else {
                self.server.serve(turn, packet.size)
            };
            self.busy_until = free;
            self.served += 1;
            let (kind, bit) = match fate {
                Fate::Delivered(_) => (DELIVERED, 0),
                Fate::Damaged(_, bit) => (DAMAGED, bit),
                Fate::Lost(..) => (LOST, 0),
            };
            let kind = kind | if packet.marked { MARKED } else { 0 };
            let entry = (fate.when(), self.served, packet.ticket, kind, bit);
            self.under_way.push(Reverse(entry));
        }
    }

    fn has_room(&self, size: u32) -> bool {
        match self.limit {
            Limit::Unlimited => true,
            Limit::Packets(limit) => self.turns.len() < limit as usize,
            Limit::Bytes(limit) => self.turns.bytes() + u64::from(size) <= limit,
        }
    }

    /// Whether what waits is within the limit.
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
/// Beside one of these.
const MARKED: u8 = 4;

impl Server {
    /// Sends a packet from `start` on. Gives when the next may begin, and the packet's fate.
    fn serve(&mut self, start: Time, size: u32) -> (Time, Fate) {
        let transmission = self.rate.transmission_time(size);
        let (mut begin, mut late) = (start, Duration::ZERO);
        let mut tries = 1;
        loop {
            let departure = begin.later(transmission);
            let harm = self.channel.harms(departure, size);
            if harm == Harm::Lost && tries < self.arq.tries {
                tries += 1;
                begin = departure;
                if self.arq.parallel {
                    late += self.arq.turnaround;
                } else {
                    begin += self.arq.turnaround;
                }
                continue;
            }
            let fate = match harm {
                Harm::None => Fate::Delivered(self.arrival(departure, late)),
                Harm::Damaged(bit) => Fate::Damaged(self.arrival(departure, late), bit),
                // What is given up delays nobody behind it.
                Harm::Lost => Fate::Lost(Cause::Wireless, departure + late),
            };
            return (departure, fate);
        }
    }

    /// The same where no channel is in the way: when the next may begin, and when the packet arrives.
    fn pass(&mut self, start: Time, size: u32) -> (Time, Time) {
        let departure = start.later(self.rate.transmission_time(size));
        (departure, self.arrival(departure, Duration::ZERO))
    }

    /// When a packet arrives whose first try has left, and whose last one comes so much later.
    fn arrival(&mut self, departure: Time, late: Duration) -> Time {
        self.change_delay(departure);
        let mut arrival = departure + late + self.delay;
        if self.arq.in_order {
            arrival = arrival.max(self.last_arrival);
        }
        self.last_arrival = self.last_arrival.max(arrival);
        arrival
    }

    fn change_delay(&mut self, departure: Time) {
        let due = |change: &mut (Time, Duration)| change.0 <= departure;
        while let Some((_, delay)) = self.delay_changes.pop_if(due) {
            self.delay = delay.max(Duration::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::link::Link;
    use crate::queue::{CodelSpec, QueueSpec};

    fn micros(micros: u64) -> Time {
        Time::from_nanos(micros * 1_000)
    }

    /// The fate of every packet, by ticket: offered at these times in microseconds, with these sizes.
    fn fates(link: &mut EventLink, offers: &[(u64, u32)]) -> Vec<Fate> {
        let mut fates = vec![Fate::HELD; offers.len()];
        let mut drain = |link: &mut EventLink, until: Time| {
            while link.next_event() <= until {
                let now = link.next_event();
                while let Some((ticket, fate)) = link.poll(now) {
                    assert_eq!(fate.when(), now);
                    fates[ticket as usize] = fate;
                }
                if now == Time::MAX {
                    break;
                }
            }
        };
        for (ticket, &(at, size)) in (0..).zip(offers) {
            drain(link, micros(at));
            link.offer(micros(at), ticket, 0, size, Ecn::NotCapable);
        }
        drain(link, Time::from_nanos(u64::MAX - 1));
        fates
    }

    proptest! {
        /// A link that needs no events says the same with them.
        #[test]
        fn agrees_with_a_link_that_answers_at_once(
            gaps in prop::collection::vec((0u64..3_000, prop::sample::select(vec![40u32, 1_000])), 1..120),
            limit in prop::sample::select(vec![Limit::Unlimited, Limit::Packets(4), Limit::Bytes(3_500)]),
            loss in prop::sample::select(vec![0.0, 0.2]),
            before: bool,
        ) {
            let channel = if loss > 0.0 { ChannelSpec::Bernoulli { loss } } else { ChannelSpec::None };
            let spec = LinkSpec {
                rate: Rate::from_mbps(8),
                delay: Duration::from_millis(3),
                queue: QueueSpec::drop_tail(limit),
                channel,
                channel_before_queue: before,
                ..LinkSpec::default()
            };
            let mut at = 0;
            let offers: Vec<_> = gaps.iter().map(|&(gap, size)| { at += gap; (at, size) }).collect();
            let mut plain = Link::new(&spec, Streams::new(1), 0);
            let expected: Vec<_> = offers.iter().map(|&(at, size)| plain.offer(micros(at), size)).collect();
            let found = fates(&mut EventLink::new(&spec, Streams::new(1), 0), &offers);
            prop_assert_eq!(found, expected);
        }
    }

    /// A link with ARQ over independent losses of 10 %.
    /// Twice the rate for two seconds: CoDel with `ecn` marks the capable half of what it would have dropped and loses only the
    /// other half, and a full queue drops both.
    #[test]
    fn capable_packets_are_marked_not_dropped() {
        let link = |limit, ecn| {
            let codel = CodelSpec {
                ecn,
                ..CodelSpec::default()
            };
            let spec = LinkSpec {
                rate: Rate::from_mbps(8),
                queue: QueueSpec {
                    limit,
                    discipline: Discipline::Codel(codel),
                },
                ..LinkSpec::default()
            };
            EventLink::new(&spec, Streams::new(1), 0)
        };
        // Of 4000 packets: lost, and marked; those with odd tickets are capable.
        let run = |mut link: EventLink| {
            let (mut lost, mut marked) = ([0; 2], [0; 2]);
            let mut drain = |link: &mut EventLink, until: Time| {
                while link.next_event() <= until {
                    let at = link.next_event();
                    while let Some((ticket, fate)) = link.poll(at) {
                        let odd = ticket as usize % 2;
                        lost[odd] += i32::from(matches!(fate, Fate::Lost(..)));
                        marked[odd] += i32::from(link.marked());
                    }
                }
            };
            for ticket in 0..4_000 {
                let at = micros(500 * u64::from(ticket));
                drain(&mut link, at);
                let ecn = [Ecn::NotCapable, Ecn::Capable][ticket as usize % 2];
                link.offer(at, ticket, 0, 1_000, ecn);
            }
            drain(&mut link, micros(60_000_000));
            (lost, marked)
        };
        let (lost, marked) = run(link(Limit::Unlimited, false));
        assert!(lost[0] > 20 && lost[1] > 20 && marked == [0, 0], "{lost:?}");
        let (lost, marked) = run(link(Limit::Unlimited, true));
        assert!(lost[0] > 20 && marked[1] > 20, "{lost:?} {marked:?}");
        assert_eq!((lost[1], marked[0]), (0, 0));
        let (lost, _) = run(link(Limit::Packets(50), true));
        assert!(lost[1] > 500, "{lost:?}");
    }

    fn retransmitting(arq: ArqSpec) -> EventLink {
        let spec = LinkSpec {
            rate: Rate::from_mbps(8),
            delay: Duration::from_millis(10),
            channel: ChannelSpec::Bernoulli { loss: 0.1 },
            arq: Some(arq),
            ..LinkSpec::default()
        };
        EventLink::new(&spec, Streams::new(7), 0)
    }

    /// Losses, and the delays of those delivered beyond one transmission and the way, in seconds; packets 100 ms apart.
    fn apart(arq: ArqSpec, packets: u64) -> (f64, Vec<f64>) {
        let offers: Vec<_> = (0..packets).map(|i| (i * 100_000, 1_000)).collect();
        let fates = fates(&mut retransmitting(arq), &offers);
        let mut extra = Vec::new();
        for (fate, &(at, _)) in fates.iter().zip(&offers) {
            if let Fate::Delivered(when) = fate {
                extra.push((*when - micros(at)).as_secs_f64() - 0.011);
            }
        }
        (1.0 - extra.len() as f64 / packets as f64, extra)
    }

    /// p^n, and the mean and deviation of (K − 1)·(s + t) over the delivered ones.
    #[test]
    fn arq_by_the_closed_form() {
        for (tries, turnaround, parallel) in [(2, 4, false), (3, 0, false), (3, 8, true)] {
            let arq = ArqSpec {
                tries,
                turnaround: Duration::from_millis(turnaround),
                parallel,
                ..ArqSpec::default()
            };
            let packets = 200_000;
            let (loss, extra) = apart(arq, packets);
            let expected = arq.residual_loss(0.1);
            let sigma = libm::sqrt(expected / packets as f64);
            assert!((loss - expected).abs() < 4.0 * sigma, "{loss} {expected}");
            // Each further try takes a transmission of 1 ms, too.
            let per_try = ArqSpec {
                turnaround: Duration::from_millis(turnaround + 1),
                ..arq
            };
            let (mean, deviation) = per_try.extra_delay(0.1);
            let n = extra.len() as f64;
            let found = extra.iter().sum::<f64>() / n;
            assert!(
                (found - mean).abs() < 4.0 * deviation / libm::sqrt(n),
                "{found} {mean}"
            );
            let square = extra.iter().map(|x| (x - found) * (x - found)).sum::<f64>() / n;
            assert!((libm::sqrt(square) / deviation - 1.0).abs() < 0.02);
        }
    }

    /// A saturated link carries one packet per E[K]·s + (E[K] − 1)·t; in parallel, per E[K]·s.
    #[test]
    fn a_saturated_arq_link_by_the_closed_form() {
        for parallel in [false, true] {
            let arq = ArqSpec {
                tries: 7,
                turnaround: Duration::from_millis(4),
                parallel,
                in_order: true,
            };
            let offers = vec![(0, 1_000); 40_000];
            let fates = fates(&mut retransmitting(arq), &offers);
            let last = fates.iter().map(|fate| fate.when()).max().expect("some");
            let tries = arq.mean_tries(0.1);
            let wait = if parallel { 0.0 } else { (tries - 1.0) * 4.0 };
            let expected = 40.0 * (tries + wait);
            let found = last.as_secs_f64();
            // Geometric: the further tries of all have the variance n·p/(1 − p)², and each costs 5 ms or 1 ms.
            let sigma = libm::sqrt(40_000.0 * 0.1) / 0.9 * if parallel { 0.001 } else { 0.005 };
            assert!(
                (found - expected - 0.01).abs() < 4.0 * sigma,
                "{found} {expected}"
            );
            let whens = fates.iter().filter_map(|fate| match fate {
                Fate::Delivered(when) => Some(*when),
                _ => None,
            });
            assert!(whens.is_sorted(), "in order");
        }
    }

    /// Out of order, a packet that is sent again comes behind those that follow.
    #[test]
    fn without_order_nobody_waits() {
        let arq = ArqSpec {
            turnaround: Duration::from_millis(20),
            parallel: true,
            in_order: false,
            ..ArqSpec::default()
        };
        let offers: Vec<_> = (0..2_000).map(|i| (i * 2_000, 1_000)).collect();
        let fates = fates(&mut retransmitting(arq), &offers);
        let overtaken = fates
            .windows(2)
            .filter(|pair| pair[0].when() > pair[1].when());
        // One in ten is, unless the next is sent again as well.
        let overtaken = overtaken.count();
        assert!((140..220).contains(&overtaken), "{overtaken}");
    }

    /// Twice the rate of the link, for ten seconds: CoDel lets what leaves wait for no more than some times its target in
    /// the end, and DropTail for the whole of its buffer.
    #[test]
    fn a_standing_queue_goes() {
        let link = |discipline| {
            let spec = LinkSpec {
                rate: Rate::from_mbps(8),
                queue: QueueSpec {
                    limit: Limit::Packets(1_000),
                    discipline,
                },
                ..LinkSpec::default()
            };
            EventLink::new(&spec, Streams::new(1), 0)
        };
        // Bursts of 30 packets of 1 ms each every 40 ms, after a second that left 200 behind.
        let mut offers = vec![(0, 1_000); 200];
        offers.extend((1..500).flat_map(|burst| vec![(burst * 40_000, 1_000); 30]));
        let longest_late = |discipline| {
            let fates = fates(&mut link(discipline), &offers);
            let late = fates
                .iter()
                .zip(&offers)
                .filter(|(_, (at, _))| *at > 15_000_000);
            let waits = late.filter_map(|(fate, &(at, _))| match fate {
                Fate::Delivered(when) => Some((*when - micros(at)).as_nanos() / 1_000_000),
                _ => None,
            });
            waits.max()
        };
        // Its own burst, and nothing of those before.
        assert_eq!(
            longest_late(Discipline::Codel(CodelSpec::default())),
            Some(30)
        );
    }
}
