//! Properties of a receiver classifier, over any legal order of events.

use super::{Raw, STAMP_LIMIT, later};
use crate::Time;
use crate::receiver::{Arrival, ReceiverClassifier};

/// Asserts the properties of a receiver classifier over many fixed sequences of events. It must
/// answer exactly if there is a gap, decide the same under a constant clock offset, and not panic
/// on extreme numbers.
///
/// # Panics
/// Panics if a property does not hold; with the feature `std`, the message names the sequence.
pub fn properties(classifier: &(impl ReceiverClassifier + Clone)) {
    super::sequences(|draws| {
        let (operations, length) = draws.operations();
        let offset = (draws.next(), draws.next());
        check(classifier, &operations[..length], offset);
        let mut stamps = [(0, 0, 0); 64];
        for stamp in &mut stamps {
            *stamp = (draws.extreme(), draws.extreme(), draws.extreme());
        }
        check_extremes(classifier, &stamps);
    });
}

/// One event at the receiver. Times are in ns.
#[derive(Clone, Copy, Debug)]
enum Operation {
    /// A packet with `missing` packets between it and the highest sequence number so far,
    /// `interval` after the previous arrival.
    Next {
        missing: u64,
        interval: u64,
        delay: u64,
    },
    /// A packet that fills an old gap, or arrives twice.
    Late { interval: u64, delay: u64 },
    /// The previous arrival again, at the same nanosecond.
    Repeat,
    /// The receiver's clock is set back, and a packet arrives.
    SetBack { by: u64, delay: u64 },
    /// A packet with arbitrary stamps.
    Stamps { sent: u64, received: u64 },
}

impl Operation {
    fn new((kind, a, b): Raw) -> Self {
        // Most events are realistic (gaps of a few packets, delays under a minute); some could only
        // come from an attacker.
        let delay = b % 60_000_000_000;
        match kind % 16 {
            0..=6 => Self::Next {
                missing: 0,
                interval: a % 100_000_000,
                delay,
            },
            7..=9 => Self::Next {
                missing: 1 + a % 6,
                interval: (a >> 8) % 100_000_000,
                delay,
            },
            // A multiple of one slot, to meet Biaz's lower bound with equality.
            10 => Self::Next {
                missing: a % 6,
                interval: (1 + (a >> 8) % 8) * 7_620_000,
                delay,
            },
            11 => Self::Next {
                missing: a,
                interval: b,
                delay,
            },
            12 => Self::Late {
                interval: a % 100_000_000,
                delay,
            },
            13 => Self::Repeat,
            14 => Self::SetBack { by: a, delay },
            _ => Self::Stamps {
                sent: a,
                received: b,
            },
        }
    }
}

/// Turns `operations` into arrivals, each with the number of missing packets that it reveals.
///
/// Sequence numbers start just below the end of their range, so they wrap.
pub fn arrivals(operations: &[Raw]) -> impl Iterator<Item = (Arrival, u64)> {
    let mut highest = u64::MAX - 20;
    let mut now = STAMP_LIMIT / 2;
    let mut last = Arrival::new(highest, Time::from_nanos(now), Time::from_nanos(now), 762);
    operations.iter().map(move |&raw| {
        let mut missing = 0;
        let mut sent = None;
        let delay = match Operation::new(raw) {
            Operation::Next {
                missing: n,
                interval,
                delay,
            } => {
                missing = n;
                highest = highest.wrapping_add(n).wrapping_add(1);
                now = now.saturating_add(interval);
                delay
            }
            Operation::Late { interval, delay } => {
                now = now.saturating_add(interval);
                delay
            }
            Operation::Repeat => return (last, 0),
            Operation::SetBack { by, delay } => {
                now = now.saturating_sub(by);
                delay
            }
            Operation::Stamps { sent: s, received } => {
                highest = highest.wrapping_add(1);
                sent = Some(s % STAMP_LIMIT);
                now = received;
                0
            }
        };
        now %= STAMP_LIMIT;
        last = Arrival {
            sequence: highest,
            sent: Time::from_nanos(sent.unwrap_or(now.saturating_sub(delay))),
            received: Time::from_nanos(now),
            size: 762,
        };
        (last, missing)
    })
}

/// Runs a classifier over `operations`. Asserts that it answers exactly if there is a gap, and
/// answers the same if the constants `(sender, receiver)` are added to the two clocks.
///
/// # Panics
/// Panics if an assertion fails.
pub fn check(
    classifier: &(impl ReceiverClassifier + Clone),
    operations: &[Raw],
    offset: (u64, u64),
) {
    let (mut plain, mut shifted) = (classifier.clone(), classifier.clone());
    for (arrival, missing) in arrivals(operations) {
        let verdict = plain.on_arrival(&arrival, missing);
        assert_eq!(verdict.is_some(), missing > 0, "an answer exactly to a gap");
        let other = shifted.on_arrival(
            &Arrival {
                sent: later(arrival.sent, offset.0),
                received: later(arrival.received, offset.1),
                ..arrival
            },
            missing,
        );
        assert_eq!(verdict, other, "a clock offset changed a decision");
    }
}

/// Runs a classifier over stamps and gaps (sent, received, missing) from the whole range of their
/// type. Asserts that it answers exactly if there is a gap.
///
/// # Panics
/// Panics if an assertion fails.
pub fn check_extremes(classifier: &(impl ReceiverClassifier + Clone), stamps: &[(u64, u64, u64)]) {
    let mut classifier = classifier.clone();
    for &(sent, received, missing) in stamps {
        let arrival = Arrival {
            sequence: missing,
            sent: Time::from_nanos(sent),
            received: Time::from_nanos(received),
            size: 0,
        };
        let verdict = classifier.on_arrival(&arrival, missing);
        assert_eq!(verdict.is_some(), missing > 0, "an answer exactly to a gap");
    }
}
