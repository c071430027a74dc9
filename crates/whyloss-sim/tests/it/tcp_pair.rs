//! Runs a sender and a receiver in virtual time over pipes that lose, delay and reorder, and
//! senders with dishonest receivers.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use proptest::prelude::*;
use whyloss::congestion::{
    ControllerKind, ControllerSpec, CopaModes, CubicDialect, Decrease, Growth, ScreamTarget,
    VegasDialect, WirelessPolicy,
};
use whyloss::{Duration, Time};
use whyloss_sim::host::tcp::{
    Ack, Dialect, Echo, Options, Receiver, Recovery, RtoOptions, RttSampling, SackBlocks, Segment,
    Sender,
};

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Data(usize),
    Ack(usize),
    Timers,
}

/// The fate of a packet. The packets of both directions take the fates of a list in order; after
/// its end, all arrive.
#[derive(Clone, Copy, Debug)]
struct Fate {
    lost: bool,
    /// An additional delay in microseconds, which may reorder packets.
    delay: u16,
}

/// Both ends of a connection.
struct Pair {
    sender: Sender,
    receiver: Receiver,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    pushed: u64,
    data: Vec<Segment>,
    acks: Vec<Ack>,
    fates: std::vec::IntoIter<Fate>,
    /// The segments that arrived, as a naive receiver.
    arrived: BTreeSet<u64>,
    segment_size: u64,
}

impl Pair {
    fn new(options: &Options, fates: Vec<Fate>) -> Self {
        Self {
            sender: Sender::new(options),
            receiver: Receiver::new(options),
            events: BinaryHeap::new(),
            pushed: 0,
            data: Vec::new(),
            acks: Vec::new(),
            fates: fates.into_iter(),
            arrived: BTreeSet::new(),
            segment_size: u64::from(options.segment_size),
        }
    }

    /// Runs until all `segments` are acknowledged and checks the contract at every step.
    fn run(&mut self, segments: u64) -> Result<(), TestCaseError> {
        self.transmit(Time::ZERO)?;
        while let Some(Reverse((now, _, event))) = self.events.pop() {
            match event {
                Event::Data(id) => {
                    let segment = self.data[id];
                    let new = self.arrived.insert(segment.sequence);
                    let duplicates = self.receiver.duplicates();
                    let ack = self.receiver.on_segment(now, &segment);
                    prop_assert_eq!(self.receiver.duplicates() - duplicates, u64::from(!new));
                    self.acknowledge(now, ack)?;
                }
                Event::Ack(id) => self.sender.on_ack(now, &self.acks[id], now),
                Event::Timers => {
                    let ack = self.receiver.on_timeout(now);
                    self.acknowledge(now, ack)?;
                    self.sender.on_timeout(now);
                }
            }
            self.transmit(now)?;
            prop_assert!(self.sender.cwnd() >= self.segment_size);
            prop_assert!(self.data.len() < 20_000, "no progress");
        }
        prop_assert_eq!(self.sender.acknowledged(), segments);
        prop_assert_eq!(self.receiver.in_order(), segments);
        prop_assert_eq!(self.receiver.next_timeout(), Time::MAX);
        prop_assert_eq!(self.sender.next_timeout(), Time::MAX);
        prop_assert_eq!(self.sender.sent(), self.data.len() as u64);
        Ok(())
    }

    fn transmit(&mut self, now: Time) -> Result<(), TestCaseError> {
        while let Some(segment) = self.sender.poll_transmit(now) {
            let known = self.data.iter().any(|old| old.sequence == segment.sequence);
            prop_assert_eq!(segment.retransmission, known);
            self.data.push(segment);
            self.carry(now, Event::Data(self.data.len() - 1));
        }
        let deadline = self.sender.next_timeout();
        if self.sender.acknowledged() < self.sender.sent() - self.sender.retransmitted() {
            prop_assert!(deadline < Time::MAX, "outstanding data without a timer");
        }
        for deadline in [deadline, self.receiver.next_timeout()] {
            if deadline < Time::MAX {
                self.push(deadline.max(now), Event::Timers);
            }
        }
        Ok(())
    }

    fn acknowledge(&mut self, now: Time, ack: Option<Ack>) -> Result<(), TestCaseError> {
        let first_missing = (0..=u64::MAX).find(|s| !self.arrived.contains(s));
        prop_assert_eq!(Some(self.receiver.in_order()), first_missing);
        if let Some(ack) = ack {
            prop_assert_eq!(Some(ack.next), first_missing);
            let twice = ack.duplicate();
            prop_assert!(
                twice
                    .iter()
                    .cloned()
                    .flatten()
                    .all(|s| self.arrived.contains(&s))
            );
            for block in ack.sacked().skip(usize::from(twice.is_some())) {
                prop_assert!(block.start > ack.next && block.end > block.start);
                prop_assert!(block.clone().all(|s| self.arrived.contains(&s)));
                prop_assert!(!self.arrived.contains(&(block.start - 1)));
                prop_assert!(!self.arrived.contains(&block.end));
            }
            self.acks.push(ack);
            self.carry(now, Event::Ack(self.acks.len() - 1));
        }
        Ok(())
    }

    fn carry(&mut self, now: Time, event: Event) {
        let fate = self.fates.next().unwrap_or(Fate {
            lost: false,
            delay: 0,
        });
        if !fate.lost {
            let delay = Duration::from_millis(20) + Duration::from_micros(i64::from(fate.delay));
            self.push(now + delay, event);
        }
    }

    fn push(&mut self, at: Time, event: Event) {
        // One pending entry for the timers is enough.
        if event != Event::Timers || !self.events.iter().any(|e| (e.0.0, &e.0.2) == (at, &event)) {
            self.pushed += 1;
            self.events.push(Reverse((at, self.pushed, event)));
        }
    }
}

fn any_options() -> impl Strategy<Value = Options> {
    let kinds = (
        prop_oneof![
            Just(Recovery::Reno),
            Just(Recovery::NewReno),
            Just(Recovery::Sack),
            Just(Recovery::Vegas),
            Just(Recovery::Rack)
        ],
        prop_oneof![Just(Dialect::Rfc), Just(Dialect::Ns2)],
        prop_oneof![
            Just(ControllerKind::Reno(Decrease::FlightSize)),
            Just(ControllerKind::Reno(Decrease::Window)),
            Just(ControllerKind::Cubic(CubicDialect::Rfc9438)),
            Just(ControllerKind::Bbr),
            Just(ControllerKind::Copa(CopaModes::Both)),
            Just(ControllerKind::Scream(ScreamTarget::Adapts)),
            Just(ControllerKind::Vegas(VegasDialect::Paper)),
            Just(ControllerKind::Vegas(VegasDialect::Ns2))
        ],
        prop_oneof![
            Just(RttSampling::EveryAck),
            Just(RttSampling::OncePerWindow)
        ],
        prop_oneof![Just(RtoOptions::default()), Just(RtoOptions::ns2())],
    );
    let numbers = (1..12u32, 1..40u32, 1..80u64, prop::option::of(1..40u32));
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (kinds, numbers, switches).prop_map(|(kinds, numbers, switches)| {
        let (recovery, dialect, kind, rtt_sampling, rto) = kinds;
        let echo = [Echo::Earliest, Echo::Latest][usize::from(switches.3)];
        let (initial_window, receive_window, segments, initial_ssthresh) = numbers;
        Options {
            ecn: false,
            timestamp_tick: None,
            rtt_tick: Duration::from_nanos(1),
            ack_every: 1 + (initial_window % 5) as u8,
            growth: Growth::PerByte,
            segment_size: 1000,
            recovery,
            dialect,
            controller: ControllerSpec {
                kind,
                wireless: WirelessPolicy::Keep,
            },
            initial_window,
            initial_ssthresh,
            receive_window,
            segments: Some(segments),
            handshake: switches.0,
            limited_transmit: switches.1,
            rtt_sampling,
            echo,
            rto,
            delayed_ack: switches.2.then_some(Duration::from_millis(100)),
        }
    })
}

fn fates(loss: f64, delay: u16) -> impl Strategy<Value = Vec<Fate>> {
    let fate = (prop::bool::weighted(loss), 0..=delay);
    prop::collection::vec(fate.prop_map(|(lost, delay)| Fate { lost, delay }), 0..150)
}

fn any_ack() -> impl Strategy<Value = Ack> {
    let number = prop_oneof![8 => 0..64u64, 1 => any::<u64>()];
    let block = (number.clone(), number.clone()).prop_map(|(start, end)| start..end);
    let blocks = prop::collection::vec(block, 0..4);
    (
        number,
        any::<u64>(),
        blocks,
        prop_oneof![0..100u64, any::<u64>()],
    )
        .prop_map(|(next, echo, blocks, base)| Ack {
            next,
            echo: Time::from_nanos(echo),
            // These blocks are made for one number and sent with another.
            sack: SackBlocks::new(base, blocks),
        })
}

proptest! {
    #[test]
    fn everything_arrives_in_order_over_a_lossy_pipe(
        options in any_options(),
        fates in prop_oneof![fates(0.02, 0), fates(0.3, 0), fates(0.7, 0)],
    ) {
        Pair::new(&options, fates).run(options.segments.unwrap_or(0))?;
    }

    #[test]
    fn everything_arrives_in_order_over_a_reordering_pipe(
        options in any_options(),
        fates in prop_oneof![fates(0.0, 2000), fates(0.1, 60_000)],
    ) {
        Pair::new(&options, fates).run(options.segments.unwrap_or(0))?;
    }

    /// With any hostile receiver and any wrong timers, nothing panics, the window keeps a segment,
    /// and a poll ends.
    #[test]
    fn lies_do_no_harm(
        options in any_options(),
        steps in prop::collection::vec((any::<bool>(), any_ack(), 0..5_000u64), 0..200),
    ) {
        let mut sender = Sender::new(&options);
        let mut now = Time::ZERO;
        for (timer, ack, millis) in steps {
            now += Duration::from_millis(millis as i64);
            if timer {
                sender.on_timeout(now);
            } else {
                sender.on_ack(now, &ack, now);
            }
            let polled = std::iter::from_fn(|| sender.poll_transmit(now)).take(1000).count();
            prop_assert!(polled <= 3 * options.receive_window as usize + 3);
            prop_assert!(sender.cwnd() >= 1000);
            let outstanding = sender.acknowledged() < sender.sent() - sender.retransmitted();
            let pacing = matches!(options.controller.kind, ControllerKind::Bbr | ControllerKind::Copa(_) | ControllerKind::Scream(_));
            let waiting = sender.next_timeout() < Time::MAX;
            prop_assert!(waiting == outstanding || waiting && pacing);
        }
    }

    /// A receiver does not panic for any segments.
    #[test]
    fn any_segments_do_no_harm(
        options in any_options(),
        segments in prop::collection::vec((prop_oneof![0..40u64, any::<u64>()], any::<u64>()), 0..200),
    ) {
        let mut receiver = Receiver::new(&options);
        for (i, (sequence, stamp)) in segments.into_iter().enumerate() {
            let segment = Segment { sequence, stamp: Time::from_nanos(stamp), retransmission: false };
            let before = receiver.in_order();
            let ack = receiver.on_segment(Time::from_nanos(i as u64), &segment);
            prop_assert!(receiver.in_order() >= before);
            prop_assert!(ack.is_some() || receiver.next_timeout() < Time::MAX);
        }
    }
}
