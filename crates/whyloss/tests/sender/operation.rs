//! Any order of events for a sender classifier, and what must hold along it.
//!
//! Shared, by path, between the property tests and the fuzz target: plain numbers in, so that either can draw them.

use whyloss::event::{AckEvent, Detection, LossEvent};
use whyloss::sender::{Classifier, SenderClassifier, Verdict};
use whyloss::{Duration, Time};

/// What a fuzzer or a property test draws for one operation.
pub(crate) type Raw = (u8, u64, u64);

/// Stamps stay below 2^61 ns (73 years), so that a clock offset of as much again meets no end of the number range.
const STAMP_LIMIT: u64 = 1 << 61;
const SEGMENT: u64 = 1000;
const MS: u64 = 1_000_000;

/// What a classifier is told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Ack(AckEvent),
    Loss(LossEvent),
}

impl Event {
    /// Tells it; the verdict on a loss.
    pub(crate) fn tell(&self, classifier: &mut impl SenderClassifier) -> Option<Verdict> {
        match self {
            Self::Ack(ack) => {
                classifier.on_ack(ack);
                None
            }
            Self::Loss(loss) => Some(classifier.on_loss(loss)),
        }
    }

    /// The same on clocks that are this far ahead.
    fn later(self, sender: u64, receiver: u64) -> Self {
        let shift = |time: Time, by: u64| Time::from_nanos(time.as_nanos() + by % STAMP_LIMIT);
        match self {
            Self::Ack(ack) => Self::Ack(AckEvent {
                now: shift(ack.now, sender),
                receiver_stamp: ack.receiver_stamp.map(|stamp| shift(stamp, receiver)),
                ..ack
            }),
            Self::Loss(loss) => Self::Loss(LossEvent {
                now: shift(loss.now, sender),
                sent: loss.sent.map(|sent| shift(sent, sender)),
                ..loss
            }),
        }
    }
}

/// A sender of segments of 1000 bytes.
struct Sender {
    now: u64,
    acknowledged: u64,
    in_flight: u64,
    window: u64,
    /// The recovery going on is over when all before this is acknowledged.
    recover: Option<u64>,
    rtt: Option<Duration>,
    min_rtt: Option<Duration>,
}

impl Sender {
    fn ack(&mut self, acked: u64, rtt: Option<u64>) -> Event {
        self.acknowledged += acked;
        let in_recovery = self.recover.is_some();
        self.recover = self.recover.filter(|&recover| self.acknowledged < recover);
        let rtt = rtt.map(|rtt| Duration::from_nanos(rtt as i64));
        self.rtt = rtt.or(self.rtt);
        self.min_rtt = self.min_rtt.into_iter().chain(rtt).min();
        self.in_flight = self.window;
        Event::Ack(AckEvent {
            now: Time::from_nanos(self.now),
            acked,
            sacked: if acked == 0 { SEGMENT } else { 0 },
            acknowledged: self.acknowledged,
            in_flight: self.in_flight,
            window: self.window,
            segment_size: SEGMENT as u32,
            rtt,
            receiver_stamp: Some(Time::from_nanos((self.now ^ 0xFFF) % STAMP_LIMIT)),
            app_limited: false,
            in_recovery,
        })
    }

    fn loss(&mut self, detection: Detection, repeated: bool) -> Event {
        let window = self.window;
        self.recover = Some(self.acknowledged + self.in_flight);
        self.window = (window / 2).max(SEGMENT);
        Event::Loss(LossEvent {
            now: Time::from_nanos(self.now),
            detection,
            first: self.acknowledged,
            sent: Some(Time::from_nanos(self.now / 2)),
            transmissions: 1,
            in_flight: self.in_flight,
            window,
            segment_size: SEGMENT as u32,
            rtt: self.rtt,
            min_rtt: self.min_rtt,
            repeated,
        })
    }

    /// The event that an operation stands for: most of the time what a network does, at times what only a broken
    /// transport would.
    fn event(&mut self, (kind, a, b): Raw) -> Event {
        self.now = (self.now + a % (50 * MS)) % STAMP_LIMIT;
        // Millisecond steps, so that delays meet again, and more so near the smallest.
        let rtt = (20 + b % 64 * (b >> 8) % 64) * MS;
        match kind % 16 {
            0..=5 => {
                let segments = 1 + a % 2;
                self.window += SEGMENT * (b % 3);
                self.ack(segments * SEGMENT, Some(rtt))
            }
            6 => self.ack(0, None),
            7 => self.ack(0, Some(rtt)),
            8 => self.ack(SEGMENT, None),
            9 | 10 => self.loss(Detection::Duplicates, false),
            11 => self.loss(Detection::TimeThreshold, false),
            12 => self.loss(Detection::Timeout, a % 2 == 0),
            13 => {
                // The clock is set back, a minute or years.
                self.now = self
                    .now
                    .saturating_sub(if a % 2 == 0 { b } else { 60_000 * MS });
                self.ack(SEGMENT, Some(rtt))
            }
            14 => {
                self.window = b % 1_000_000_000;
                self.ack(a % 1_000_000_000, Some(b % STAMP_LIMIT))
            }
            _ => {
                self.acknowledged = a % (1 << 60);
                self.ack(b % SEGMENT, Some(rtt))
            }
        }
    }
}

/// The events of `operations`.
pub(crate) fn events(operations: &[Raw]) -> impl Iterator<Item = Event> {
    let mut sender = Sender {
        now: STAMP_LIMIT / 2,
        acknowledged: 0,
        in_flight: 0,
        window: 2 * SEGMENT,
        recover: None,
        rtt: None,
        min_rtt: None,
    };
    operations.iter().map(move |&raw| sender.event(raw))
}

/// Runs `classifier` over `operations`: no panic, and the same answers again, also when a constant `(sender, receiver)`
/// is added to the two clocks.
pub(crate) fn check(classifier: &Classifier, operations: &[Raw], offset: (u64, u64)) {
    let (mut plain, mut again) = (classifier.clone(), classifier.clone());
    let (mut receiver, mut both) = (classifier.clone(), classifier.clone());
    for event in events(operations) {
        let verdict = event.tell(&mut plain);
        assert_eq!(verdict, event.tell(&mut again), "the same events");
        assert_eq!(
            verdict,
            event.later(0, offset.1).tell(&mut receiver),
            "an offset of the receiver's clock changed a decision"
        );
        assert_eq!(
            verdict,
            event.later(offset.0, offset.1).tell(&mut both),
            "a shift of time changed a decision"
        );
    }
    assert_eq!(plain, again);
}

/// Runs `classifier` over events of any numbers at all: no panic.
pub(crate) fn check_extremes(classifier: &Classifier, numbers: &[(u64, u64, u64)]) {
    let mut classifier = classifier.clone();
    for &(a, b, c) in numbers {
        let (now, rtt) = (Time::from_nanos(a), Some(Duration::from_nanos(c as i64)));
        let ack = Event::Ack(AckEvent {
            now,
            acked: b,
            sacked: c,
            acknowledged: a,
            in_flight: b,
            window: b,
            segment_size: c as u32,
            rtt,
            receiver_stamp: Some(now),
            app_limited: c % 2 == 0,
            in_recovery: b % 2 == 0,
        });
        let loss = Event::Loss(LossEvent {
            now: Time::from_nanos(c),
            detection: Detection::Duplicates,
            first: a,
            sent: None,
            transmissions: b as u32,
            in_flight: c,
            window: a,
            segment_size: b as u32,
            rtt,
            min_rtt: None,
            repeated: false,
        });
        ack.tell(&mut classifier);
        loss.tell(&mut classifier);
    }
}
