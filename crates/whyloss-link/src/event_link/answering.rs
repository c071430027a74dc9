//! A link that answers as a packet is offered, whatever draws its rate, repeats frames or varies its delay.
//!
//! ```text
//! answers at once   drop-tail, RED, PIE × steady or drawn rates, ARQ, jitter, changes of delay, all channels
//! needs events      CoDel, FQ-CoDel, aggregation, handovers: packets that come later decide
//! ```
//!
//! A first-in-first-out queue serves packets in the order of their offers. So the server can be asked as a packet
//! is offered, and draws the same numbers in the same order as an [`EventLink`] does. An emulator needs this: it
//! must know the fate of each packet as it comes, and a replay of its log must find the same.

use std::collections::VecDeque;

use whyloss::{Cause, Time};

use super::{EventLink, Server};
use crate::channel::Harm;
use crate::link::{Fate, LinkSpec};
use crate::queue::{Discipline, Early, Limit, Verdict, Waiting};
use crate::random::Streams;

/// A first-in-first-out link with drawn rates, ARQ or jitter, without ECN.
///
/// Fates are those of an [`EventLink`] with drop-tail or RED. PIE judges by the whole backlog here, where an
/// `EventLink` knows only when the packet in transmission leaves.
#[derive(Clone, Debug)]
pub struct AnsweringLink {
    limit: Limit,
    early: Option<Box<Early>>,
    server: Server,
    channel_before_queue: bool,
    /// When each waiting packet's first bit leaves, and its size.
    waiting: VecDeque<(Time, u32)>,
    bytes: u64,
    /// When the last bit of the last packet has left.
    busy_until: Time,
}

impl AnsweringLink {
    /// Whether a link as `spec` has it can answer at once.
    pub fn can_answer(spec: &LinkSpec) -> bool {
        spec.trace.is_none()
            && spec.bursts.is_none()
            && spec.handovers.is_empty()
            && !matches!(
                spec.queue.discipline,
                Discipline::Codel(_) | Discipline::FqCodel(_)
            )
    }

    /// The idle link number `index`. Of `spec` a trace, bursts and handovers do not count.
    pub fn new(spec: &LinkSpec, streams: Streams, index: u64) -> Self {
        let EventLink {
            limit,
            early,
            server,
            channel_before_queue,
            ..
        } = EventLink::new(spec, streams, index);
        Self {
            limit,
            early,
            server,
            channel_before_queue,
            waiting: VecDeque::new(),
            bytes: 0,
            busy_until: Time::ZERO,
        }
    }

    /// Offers a packet of `size` bytes at `now` and says what becomes of it. Times never decrease.
    pub fn offer(&mut self, now: Time, size: u32) -> Fate {
        let mut packet = Waiting {
            ticket: 0,
            size,
            flow: 0,
            since: now,
            damaged: None,
            capable: false,
            marked: false,
            copied: false,
        };
        if self.channel_before_queue {
            match self.server.channel.harms(now, size) {
                Harm::None => {}
                Harm::Damaged(first) => packet.damaged = Some(first),
                Harm::Lost => return Fate::Lost(Cause::Wireless, now),
            }
        }
        let room = self.has_room(now, size);
        let (packets, bytes, free) = (self.waiting.len() as u64, self.bytes, self.busy_until);
        let verdict = self.early.as_mut().map_or(Verdict::Admit, |early| {
            early.judges(now, free, (packets, bytes), size, room)
        });
        if verdict != Verdict::Admit || !room {
            return Fate::Lost(Cause::Congestion, now);
        }
        let start = self.busy_until.max(now);
        if start > now {
            self.waiting.push_back((start, size));
            self.bytes += u64::from(size);
        }
        let sent = if self.channel_before_queue {
            self.server.pass(start, &packet)
        } else {
            self.server.serve(start, size)
        };
        self.busy_until = sent.departure;
        self.server.fate(&sent)
    }

    /// Whether a packet of `size` bytes finds room at `now`.
    pub fn has_room(&mut self, now: Time, size: u32) -> bool {
        let waiting = self.queue_len(now);
        self.busy_until <= now
            || match self.limit {
                Limit::Unlimited => true,
                Limit::Packets(limit) => waiting < limit as usize,
                Limit::Bytes(limit) => self.bytes + u64::from(size) <= limit,
            }
    }

    /// Packets waiting at `now`, not counting the one in transmission.
    pub fn queue_len(&mut self, now: Time) -> usize {
        while let Some(&(start, size)) = self.waiting.front()
            && start <= now
        {
            self.waiting.pop_front();
            self.bytes -= u64::from(size);
        }
        self.waiting.len()
    }

    /// Which bits of the packet last offered were damaged; see [`Link::damaged_bits`](crate::Link::damaged_bits).
    pub fn damaged_bits(&self) -> &[u32] {
        self.server.channel.damaged_bits()
    }

    /// Whether the last packet met the bad state of a channel with two, if it came as far as that.
    pub fn channel_is_bad(&self) -> Option<bool> {
        self.server.channel.is_bad()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use whyloss::{Duration, Rate};

    use super::super::tests::fates;
    use super::*;
    use crate::arq::ArqSpec;
    use crate::channel::ChannelSpec;
    use crate::jitter::{JitterLaw, JitterSpec};
    use crate::markov::MarkovRates;
    use crate::queue::{CodelSpec, QueueSpec, RedSpec};

    fn chain() -> MarkovRates {
        let state = |kbps, millis| (Rate::from_kbps(kbps), Duration::from_millis(millis));
        MarkovRates::new(vec![state(8_000, 30), state(500, 20), state(0, 5)]).unwrap()
    }

    #[test]
    fn only_later_packets_keep_a_link_from_answering() {
        let spec = LinkSpec {
            rates: Some(chain()),
            ..LinkSpec::default()
        };
        assert!(EventLink::is_needed(&spec) && AnsweringLink::can_answer(&spec));
        let codel = QueueSpec {
            discipline: Discipline::Codel(CodelSpec::default()),
            ..QueueSpec::default()
        };
        assert!(!AnsweringLink::can_answer(&LinkSpec {
            queue: codel,
            ..spec
        }));
    }

    proptest! {
        /// An answer at once is what events tell later, for each pace and delay.
        #[test]
        fn the_same_as_with_events(
            offers in prop::collection::vec((0u64..4_000, 40u32..1_600), 1..200),
            (red, limit) in (any::<bool>(), prop_oneof![
                Just(Limit::Unlimited), (1u32..30).prop_map(Limit::Packets), (2_000u64..40_000).prop_map(Limit::Bytes),
            ]),
            (drawn, tries, parallel) in (any::<bool>(), 1u32..4, any::<bool>()),
            jitter in prop::option::of((0usize..3, any::<bool>())),
            (loss, before) in (0.0..0.4, any::<bool>()),
            seed in 0u64..1_000,
        ) {
            let discipline = if red { Discipline::Red(RedSpec::default()) } else { Discipline::DropTail };
            let jitter = jitter.map(|(law, in_order)| JitterSpec {
                law: [JitterLaw::Uniform, JitterLaw::Exponential, JitterLaw::Pareto(2.0)][law],
                mean: Duration::from_millis(3),
                in_order,
            });
            let spec = LinkSpec {
                rate: Rate::from_kbps(4_000),
                delay: Duration::from_millis(10),
                queue: QueueSpec { limit, discipline },
                channel: ChannelSpec::Bernoulli { loss },
                channel_before_queue: before && tries == 1,
                arq: (tries > 1).then(|| ArqSpec { tries, parallel, ..ArqSpec::default() }),
                rates: drawn.then(chain),
                jitter,
                ..LinkSpec::default()
            };
            prop_assert!(AnsweringLink::can_answer(&spec));
            let mut at = 0;
            let offers: Vec<(u64, u32)> = offers.iter().map(|&(gap, size)| { at += gap; (at, size) }).collect();
            let told = fates(&mut EventLink::new(&spec, Streams::new(seed), 3), &offers);
            let mut link = AnsweringLink::new(&spec, Streams::new(seed), 3);
            for (&(at, size), told) in offers.iter().zip(told) {
                prop_assert_eq!(link.offer(Time::from_nanos(at * 1_000), size), told);
            }
        }
    }
}
