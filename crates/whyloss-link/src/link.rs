//! A FIFO link: queue, transmission at a rate, channel, then propagation delay.

use whyloss::{Cause, Duration, Rate, Time};

use crate::arq::ArqSpec;
use crate::bursts::BurstSpec;
use crate::channel::{Channel, ChannelSpec, Harm};
use crate::event_link::EventLink;
use crate::handover::Handover;
use crate::jitter::JitterSpec;
use crate::markov::MarkovRates;
use crate::pace::Pace;
use crate::queue::{DropTail, Early, QueueSpec, Verdict};
use crate::random::Streams;
use crate::traced::Opportunities;

/// Describes a link in one direction: its rate, delay, queue and channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkSpec {
    /// The rate at which bits leave; for a link with a trace, the mean rate of the trace.
    pub rate: Rate,
    /// The recorded opportunities at which packets leave; they override the rate. `None` if the
    /// link has a rate. A link with a trace has no changes of delay, and its queue discipline
    /// decides as packets arrive.
    pub trace: Option<Opportunities>,
    /// The propagation delay, from a bit's departure to its arrival.
    pub delay: Duration,
    /// The changes of the delay, as time and new value, in ascending order of time. A packet that
    /// departs after a change has the new delay, but never overtakes earlier packets.
    pub delay_changes: Vec<(Time, Duration)>,
    /// The queue in which packets wait.
    pub queue: QueueSpec,
    /// The channel that corrupts packets.
    pub channel: ChannelSpec,
    /// Whether packets are corrupted before the queue and then use none of the link's time. ns-2
    /// scripts use both orders. The default is after transmission, as on a radio.
    pub channel_before_queue: bool,
    /// The retransmission of frames that the channel lost; `None` if it retransmits none. This and
    /// the following fields need an [`EventLink`](crate::EventLink).
    pub arq: Option<ArqSpec>,
    /// The Markov chain that the rate follows, with mean `rate`; `None` for a constant rate.
    pub rates: Option<MarkovRates>,
    /// The distribution of the extra delay per packet; `None` if there is none.
    pub jitter: Option<JitterSpec>,
    /// The aggregation of several packets into one channel access; `None` if there is none.
    pub bursts: Option<BurstSpec>,
    /// The handovers of the link, in ascending order of time. Cannot be combined with
    /// `delay_changes`, nor can a handover with a new rate be combined with `rates`.
    pub handovers: Vec<Handover>,
}

/// The fate of a packet that was offered to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet arrives undamaged at the far end at this time.
    Delivered(Time),
    /// The packet arrives at the far end at this time with damaged bits. The first damaged bit has
    /// this offset from the packet's start. The receiver decides whether the packet is of use.
    Damaged(Time, u32),
    /// The packet is lost for this cause at this time: when it arrives at a full queue, or when its
    /// last bit leaves.
    Lost(Cause, Time),
    /// The fate is not known yet. An [`EventLink`](crate::EventLink) holds the packet and reports
    /// its fate later.
    Held,
}

impl Fate {
    /// Returns when the packet arrives or is lost; [`Time::MAX`] while the time is unknown.
    pub fn when(self) -> Time {
        match self {
            Self::Delivered(when) | Self::Damaged(when, _) | Self::Lost(_, when) => when,
            Self::Held => Time::MAX,
        }
    }
}

/// A FIFO link at work.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, not one state"
)]
pub struct Link {
    /// When the last bit of the last admitted packet leaves.
    busy_until: Time,
    pace: Pace,
    /// The delay of the last packet; longer than `settled` while a packet would overtake others.
    delay: Duration,
    /// The delay after the last change.
    settled: Duration,
    /// The pending changes of the delay, in reverse order of time.
    delay_changes: Vec<(Time, Duration)>,
    /// `delay` holds for all departures before this time.
    delay_until: Time,
    /// The packets that wait.
    line: DropTail,
    /// The discipline, if it decides on every arriving packet (RED, PIE).
    early: Option<Box<Early>>,
    channel: Channel,
    channel_before_queue: bool,
    /// Whether packets leave at opportunities.
    traced: bool,
    /// Whether an offer takes [`Self::offer_gated`].
    gated: bool,
    /// Whether some fates are unknown when packets arrive.
    held: bool,
    /// Whether packets meet a channel after their transmission.
    noisy: bool,
    /// The last offered packet, if [`Self::mark_instead`] can still admit it.
    pardonable: Option<Pardonable>,
}

/// A packet that a queue dropped, but would have marked if it were ECN-capable.
#[derive(Clone, Copy, Debug)]
struct Pardonable {
    /// The offset of the first bit damaged before the queue, from the packet's start; `None` for an
    /// undamaged packet.
    damaged: Option<u32>,
}

impl Link {
    /// Returns the idle link number `index`, whose channel and queue each draw from their own
    /// stream.
    pub fn new(spec: &LinkSpec, streams: Streams, index: u64) -> Self {
        let random = streams.stream("queue", index);
        let pace = Pace::new(spec, streams, index);
        let early = Early::new(&spec.queue.discipline, pace.rate(), spec.delay, random);
        let traced = pace.is_traced();
        let held = EventLink::is_needed(spec);
        let gated = held || traced || spec.channel_before_queue || early.is_some();
        let noisy = spec.channel != ChannelSpec::None && !spec.channel_before_queue;
        let delay = spec.delay.max(Duration::ZERO);
        let first_change = spec.delay_changes.first();
        Self {
            busy_until: Time::ZERO,
            pace,
            delay,
            settled: delay,
            delay_changes: spec.delay_changes.iter().rev().copied().collect(),
            delay_until: first_change.map_or(Time::MAX, |first| first.0),
            line: DropTail::new(spec.queue.limit),
            early,
            channel: spec.channel.build(streams.stream("channel", index)),
            channel_before_queue: spec.channel_before_queue,
            traced,
            gated,
            held,
            noisy,
            pardonable: None,
        }
    }

    /// Offers a packet of `size` bytes at `now` and returns its fate. Times must not decrease.
    #[inline]
    pub fn offer(&mut self, now: Time, size: u32) -> Fate {
        if self.gated {
            self.offer_gated(now, size)
        } else {
            self.transmit::<false>(now, size)
        }
    }

    /// Offers a packet like [`Self::offer`], on a link with a trace, a discipline, a channel before
    /// the queue or unknown fates. This is one function up to the arrival, because RED is slower
    /// with several.
    #[inline(never)]
    fn offer_gated(&mut self, now: Time, size: u32) -> Fate {
        if self.held {
            return Fate::Held;
        }
        match self.admits(now, size) {
            Ok(first) => self.admit(now, size, first),
            Err(cause) => Fate::Lost(cause, now),
        }
    }

    /// Decides the fate of a packet that reached the queue. `damaged` is its first bit damaged
    /// before.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    fn admit(&mut self, now: Time, size: u32, damaged: Option<u32>) -> Fate {
        let fate = if self.traced {
            self.transmit_traced(now, size)
        } else {
            self.transmit::<false>(now, size)
        };
        match (fate, damaged) {
            (Fate::Delivered(arrival), Some(first)) => Fate::Damaged(arrival, first),
            (fate, _) => fate,
        }
    }

    /// Reverses the congestion loss of an ECN-capable packet of `size` bytes that was offered at
    /// `now`. If the queue has `ecn` and dropped the packet early, the link marks and admits it and
    /// returns its new fate. Returns `None` if the packet stays lost.
    ///
    /// Call this immediately after the offer, and only for an ECN-capable packet.
    #[cold]
    pub fn mark_instead(&mut self, now: Time, size: u32) -> Option<Fate> {
        let packet = self.pardonable.take()?;
        Some(self.admit(now, size, packet.damaged))
    }

    /// Transmits a packet like [`Self::transmit`], at the opportunities of a trace.
    #[inline(never)]
    fn transmit_traced(&mut self, now: Time, size: u32) -> Fate {
        self.transmit::<true>(now, size)
    }

    /// Sends an admitted packet through the queue, the transmission, the channel and the delay, and
    /// returns its fate.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    fn transmit<const TRACED: bool>(&mut self, now: Time, size: u32) -> Fate {
        if !TRACED && !self.pace.knows(size) {
            self.pace.look_up(size);
        }
        let departure = if TRACED {
            if !self.has_room(now, size) {
                return Fate::Lost(Cause::Congestion, now);
            }
            let (start, departure) = self.pace.send(now.max(self.busy_until), size);
            self.line.enter_at(start, size);
            departure
        } else {
            let transmission = self.pace.transmission();
            let start = self.line.enter(now, self.busy_until, size, transmission);
            let Some(start) = start else {
                return Fate::Lost(Cause::Congestion, now);
            };
            let departure = start.later(transmission);
            if departure >= self.delay_until {
                self.change_delay(departure, self.busy_until);
            }
            departure
        };
        self.busy_until = departure;
        if self.noisy {
            match self.channel.harms(departure, size) {
                Harm::None => {}
                Harm::Damaged(first) => return Fate::Damaged(departure + self.delay, first),
                Harm::Lost => return Fate::Lost(Cause::Wireless, departure),
            }
        }
        Fate::Delivered(departure.later(self.delay))
    }

    /// Returns the damaged bits of the last packet that reached the channel, as offsets in bits, in
    /// ascending order. The list is empty if the channel damages no bits.
    pub fn damaged_bits(&self) -> &[u32] {
        self.channel.damaged_bits()
    }

    /// Returns whether the last packet that reached the channel met its bad state; `None` for
    /// channels without two states.
    pub fn channel_is_bad(&self) -> Option<bool> {
        self.channel.is_bad()
    }

    /// Returns whether a packet of `size` bytes finds room at `now`. If the link then drops such a
    /// packet, its discipline decided so.
    #[inline]
    pub fn has_room(&mut self, now: Time, size: u32) -> bool {
        self.line.start_due(now);
        // A packet that finds the link idle does not wait, except for an opportunity.
        (self.busy_until <= now && !self.traced) || self.line.has_room(size)
    }

    /// Returns the number of packets waiting at `now`, not counting the one in transmission.
    pub fn queue_len(&mut self, now: Time) -> usize {
        self.line.start_due(now);
        self.line.packets() as usize
    }

    /// Decides whether a packet reaches the queue. Returns its first damaged bit, or the cause of
    /// its loss.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    fn admits(&mut self, now: Time, size: u32) -> Result<Option<u32>, Cause> {
        let mut damaged = None;
        self.pardonable = None;
        if self.channel_before_queue {
            match self.channel.harms(now, size) {
                Harm::None => {}
                Harm::Damaged(first) => damaged = Some(first),
                Harm::Lost => return Err(Cause::Wireless),
            }
        }
        let room = self.has_room(now, size);
        let waiting = (u64::from(self.line.packets()), self.line.bytes());
        let verdict = self.early.as_mut().map_or(Verdict::Admit, |early| {
            early.judges(now, self.busy_until, waiting, size, room)
        });
        if verdict == Verdict::Mark {
            self.pardonable = Some(Pardonable { damaged });
        }
        match verdict {
            Verdict::Admit => Ok(damaged),
            Verdict::Drop | Verdict::Mark => Err(Cause::Congestion),
        }
    }

    /// Updates the delay for a packet that departs at `departure`, after one that departed at
    /// `last`.
    #[cold]
    fn change_delay(&mut self, departure: Time, last: Time) {
        let last_arrival = if last > Time::ZERO {
            last + self.delay
        } else {
            Time::ZERO
        };
        let due = |change: &mut (Time, Duration)| change.0 <= departure;
        while let Some((_, delay)) = self.delay_changes.pop_if(due) {
            self.settled = delay.max(Duration::ZERO);
        }
        self.delay = self.settled.max(last_arrival - departure);
        self.delay_until = if self.delay > self.settled {
            Time::ZERO
        } else {
            self.delay_changes.last().map_or(Time::MAX, |next| next.0)
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::queue::{Discipline, Limit, RedSpec};

    fn millis(millis: i64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// Returns a link on which a packet of 1000 bytes takes 1 ms, with a delay of 10 ms and these
    /// changes.
    fn link(delay_changes: &[(i64, i64)]) -> Link {
        let change = |&(at, delay)| (millis(at), Duration::from_millis(delay));
        let spec = LinkSpec {
            rate: Rate::from_mbps(8),
            delay: Duration::from_millis(10),
            delay_changes: delay_changes.iter().map(change).collect(),
            ..LinkSpec::default()
        };
        Link::new(&spec, Streams::new(0), 0)
    }

    /// Returns the arrival times of packets of 1000 bytes that are offered at these times.
    fn arrivals(link: &mut Link, offers: &[i64]) -> Vec<Time> {
        let arrival = |&at: &i64| match link.offer(millis(at), 1_000) {
            Fate::Delivered(at) => at,
            other => panic!("{other:?}"),
        };
        offers.iter().map(arrival).collect()
    }

    #[test]
    fn a_longer_path_by_hand() {
        // The last bit of the third packet leaves at 20 ms, exactly when the delay changes.
        let mut link = link(&[(20, 30)]);
        let times = arrivals(&mut link, &[0, 0, 19, 30]);
        assert_eq!(times, [11, 12, 50, 61].map(millis));
    }

    #[test]
    fn packets_stay_in_order_on_a_shorter_path() {
        let mut link = link(&[(20, 2), (40, 1)]);
        // The packets leave at 19, 20, 21, 31 and 101 ms. Without waiting, the second and third
        // would arrive at 22 and 23 ms.
        let times = arrivals(&mut link, &[18, 19, 20, 30, 100]);
        assert_eq!(times, [29, 29, 29, 33, 102].map(millis));
    }

    #[test]
    fn changes_in_a_pause_and_before_the_first_packet() {
        let mut link = link(&[(0, 5), (20, 50), (30, 3)]);
        let times = arrivals(&mut link, &[4, 40]);
        assert_eq!(times, [10, 44].map(millis));
    }

    /// RED with thresholds of 1.5 and 3.5 packets and a mean equal to the queue. At a rate, the
    /// first packet does not wait, and the fifth is the first to find 3 waiting; with a trace, it
    /// is the fourth. Then p_b = 0.75 and count = 2, so p_a = 1. If marked, this packet enters, and
    /// the next one finds 4, above max. Otherwise the next one finds 3 again, with p_a = 0.75/0.25.
    /// Without `ecn`, RED marks nothing.
    #[test]
    fn a_mark_instead_of_a_drop_by_hand() {
        let trace = Opportunities::parse("1\n2\n3\n4\n5\n6\n7\n8\n9\n").unwrap();
        let offer = |link: &mut Link| link.offer(Time::ZERO, 1_500);
        let mark_instead = |link: &mut Link| link.mark_instead(Time::ZERO, 1_500);
        let lost = Fate::Lost(Cause::Congestion, Time::ZERO);
        for (trace, entering) in [(None, 4), (Some(trace), 3)] {
            for (ecn, capable) in [(true, false), (true, true), (false, true)] {
                let red = RedSpec {
                    min: Some(1.5),
                    max: Some(3.5),
                    max_p: 1.0,
                    weight: Some(1.0),
                    gentle: trace.is_none(),
                    wait: false,
                    ecn,
                    ..RedSpec::default()
                };
                let spec = LinkSpec {
                    rate: Rate::from_mbps(12),
                    delay: Duration::from_millis(10),
                    trace: trace.clone(),
                    queue: QueueSpec {
                        limit: Limit::Packets(100),
                        discipline: Discipline::Red(red),
                    },
                    ..LinkSpec::default()
                };
                let mut link = Link::new(&spec, Streams::new(0), 0);
                let delivered = |at: i64| Fate::Delivered(millis(at + 10));
                for at in 1..=entering {
                    assert_eq!(offer(&mut link), delivered(at));
                    assert_eq!(mark_instead(&mut link), None);
                }
                assert_eq!(offer(&mut link), lost);
                if capable {
                    let marked = mark_instead(&mut link);
                    assert_eq!(marked, ecn.then(|| delivered(entering + 1)));
                    assert_eq!(mark_instead(&mut link), None);
                }
                assert_eq!(link.queue_len(Time::ZERO), 3 + usize::from(ecn && capable));
                assert_eq!(offer(&mut link), lost);
                assert_eq!(mark_instead(&mut link).is_some(), ecn && !capable);
            }
        }
    }

    /// Whether the channel is before the queue or after transmission, the same bits are damaged,
    /// and no packet is lost.
    #[test]
    fn damage_is_told_not_acted_on() {
        let link = |channel_before_queue| {
            let spec = LinkSpec {
                rate: Rate::from_mbps(8),
                delay: Duration::from_millis(10),
                channel: ChannelSpec::BitErrors { rate: 1e-4 },
                channel_before_queue,
                ..LinkSpec::default()
            };
            Link::new(&spec, Streams::new(1), 0)
        };
        let (mut first, mut last) = (link(true), link(false));
        let mut hit = 0;
        for packet in 0..1_000 {
            let fate = last.offer(millis(packet), 1_000);
            assert_eq!(fate, first.offer(millis(packet), 1_000));
            assert_eq!(first.damaged_bits(), last.damaged_bits());
            let arrival = millis(packet + 11);
            match last.damaged_bits().first() {
                None => assert_eq!(fate, Fate::Delivered(arrival)),
                Some(&bit) => assert_eq!(fate, Fate::Damaged(arrival, bit)),
            }
            hit += i64::from(fate != Fate::Delivered(arrival));
        }
        // 1 − e^−0.8 = 0.551; σ of 1000 packets is 16.
        assert!((hit - 551).abs() < 64, "{hit}");
    }

    proptest! {
        /// With any queue and any changes of the delay, a FIFO link's arrivals never decrease.
        #[test]
        fn packets_stay_in_order(
            gaps in prop::collection::vec(0i64..3_000_000, 1..200),
            changes in prop::collection::vec((0i64..100_000_000, 0i64..50_000_000), 0..6),
            red: bool,
        ) {
            let mut changes: Vec<_> = changes
                .into_iter()
                .map(|(at, delay)| (Time::from_nanos(at as u64), Duration::from_nanos(delay)))
                .collect();
            changes.sort();
            let discipline = Discipline::Red(RedSpec::default());
            let spec = LinkSpec {
                rate: Rate::from_mbps(8),
                delay: Duration::from_millis(10),
                delay_changes: changes,
                queue: QueueSpec {
                    limit: Limit::Packets(20),
                    discipline: if red { discipline } else { Discipline::DropTail },
                },
                ..LinkSpec::default()
            };
            let mut link = Link::new(&spec, Streams::new(1), 0);
            let (mut now, mut last) = (Time::ZERO, Time::ZERO);
            for gap in gaps {
                now += Duration::from_nanos(gap);
                if let Fate::Delivered(arrival) = link.offer(now, 1_000) {
                    prop_assert!(arrival >= last && arrival >= now);
                    last = arrival;
                }
            }
        }
    }
}
