//! Properties of a sender classifier, over any order of events.

use super::{Raw, STAMP_LIMIT, later};
use crate::event::{AckEvent, Detection, LossEvent};
use crate::sender::SenderClassifier;
use crate::{Cause, Duration, Time};

/// Asserts the properties of a sender classifier over many fixed sequences of events. Equal events
/// must get equal answers, even with a constant added to either clock, and extreme numbers must not
/// cause a panic.
///
/// # Panics
/// Panics if a property does not hold; with the feature `std`, the message names the sequence.
pub fn properties(classifier: &(impl SenderClassifier + Clone)) {
    super::sequences(|draws| {
        let (operations, length) = draws.operations();
        let offset = (draws.next(), draws.next());
        check(classifier, &operations[..length], offset);
        let mut numbers = [(0, 0, 0); 64];
        for number in &mut numbers {
            *number = (draws.extreme(), draws.extreme(), draws.extreme());
        }
        check_extremes(classifier, &numbers);
    });
}

const SEGMENT: u64 = 1000;
const MS: u64 = 1_000_000;

/// An event for a classifier.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// An acknowledgement.
    Ack(AckEvent),
    /// A loss event.
    Loss(LossEvent),
}

impl Event {
    /// Passes the event to a classifier and returns its cause if the event is a loss.
    pub fn tell(&self, classifier: &mut impl SenderClassifier) -> Option<Cause> {
        match self {
            Self::Ack(ack) => {
                classifier.on_ack(ack);
                None
            }
            Self::Loss(loss) => Some(classifier.on_loss(loss)),
        }
    }

    /// Returns the event on clocks that are this far ahead.
    fn later(self, sender: u64, receiver: u64) -> Self {
        match self {
            Self::Ack(ack) => Self::Ack(AckEvent {
                now: later(ack.now, sender),
                receiver_stamp: ack.receiver_stamp.map(|stamp| later(stamp, receiver)),
                ..ack
            }),
            Self::Loss(loss) => Self::Loss(LossEvent {
                now: later(loss.now, sender),
                sent: loss.sent.map(|sent| later(sent, sender)),
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
    /// The offset at which the current recovery ends.
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

    /// Returns the event for an operation: usually a realistic one, sometimes one that only a
    /// broken transport reports.
    fn event(&mut self, (kind, a, b): Raw) -> Event {
        self.now = (self.now + a % (50 * MS)) % STAMP_LIMIT;
        // Use millisecond steps, so that delays repeat, most often near the smallest.
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
            12 if b % 4 == 0 => self.loss(Detection::PersistentCongestion, false),
            12 => self.loss(Detection::Timeout, a % 2 == 0),
            13 => {
                // The clock is set back by a minute or by years.
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

/// Returns the events of a sender that carries out these operations.
pub fn events(operations: &[Raw]) -> impl Iterator<Item = Event> {
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

/// Runs a classifier over `operations` twice. Asserts that it answers the same if the constants
/// `(sender, receiver)` are added to the two clocks.
///
/// # Panics
/// Panics if an assertion fails.
pub fn check(classifier: &(impl SenderClassifier + Clone), operations: &[Raw], offset: (u64, u64)) {
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
}

/// Checks that a classifier does not panic on events with arbitrary numbers.
pub fn check_extremes(classifier: &(impl SenderClassifier + Clone), numbers: &[(u64, u64, u64)]) {
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
