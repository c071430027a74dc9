//! The log of a receiver, with each arrival and verdict as a line of JSON, and its replay through a
//! classifier.
//!
//! | key | value |
//! |---|---|
//! | `number` | the packet's number as sent |
//! | `sequence` | the packet's number, counted from 0 without wrapping |
//! | `sent`, `received` | times of sending and arrival in nanoseconds, each by its end's clock |
//! | `size` | bytes of the packet |
//! | `missing` | the number of packets missing between this one and the highest earlier number |
//! | `verdict` | `congestion` or `wireless`: the classifier's verdict on the missing packets |
//! | `damaged` | damaged bits that the payload reveals, counted from the IP header's first bit |

use std::io::{self, BufRead};

use serde::{Deserialize, Serialize};
use whyloss::receiver::{Arrival, Classifier, ReceiverClassifier};
use whyloss::{Cause, Duration, Time};

/// One arrival, as a line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The packet's sequence number as sent, which wraps at 2³² (IFTP: 2¹⁶).
    pub number: u32,
    /// The packet's sequence number, counted from 0 without wrapping.
    pub sequence: u64,
    /// The time of sending, in nanoseconds of the sender's clock.
    pub sent: u64,
    /// The time of arrival, in nanoseconds of the receiver's clock.
    pub received: u64,
    /// The size of the packet, in bytes.
    pub size: u32,
    /// The number of packets missing between this one and the highest earlier number.
    pub missing: u64,
    /// The classifier's verdict on the missing packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Called>,
    /// The damaged bits of the packet, counted from the first bit of its IP header.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<u32>,
}

/// A cause, as written in logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Called {
    /// A full queue lost the packet.
    Congestion,
    /// A channel lost the packet.
    Wireless,
}

impl From<Cause> for Called {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::Congestion => Self::Congestion,
            Cause::Wireless => Self::Wireless,
        }
    }
}

/// Reads a log of arrivals. Omits an incomplete last line.
///
/// # Errors
/// Returns an error if the log cannot be read, or a line is not an arrival.
pub fn read(log: impl BufRead) -> io::Result<Vec<Line>> {
    let mut lines = log.split(b'\n').peekable();
    let mut read = Vec::new();
    while let Some(line) = lines.next() {
        let line = line?;
        match serde_json::from_slice(&line) {
            Ok(line) => read.push(line),
            Err(error) if lines.peek().is_none() && (line.is_empty() || error.is_eof()) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(read)
}

/// The offset and drift of one clock against another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Skew {
    /// The time by which the clock is ahead.
    pub offset: Duration,
    /// The relative error of the clock's speed, positive if it is fast: 1e-4 is 100 ppm.
    pub drift: f64,
}

impl Skew {
    /// Returns the time that the clock shows when the other clock shows `at`.
    pub fn apply(self, at: Time) -> Time {
        at + self.offset + Duration::from_nanos((at.as_nanos() as f64 * self.drift) as i64)
    }
}

/// The outcome of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// The number of gaps that were judged.
    pub verdicts: u64,
    /// The number of verdicts that differ from the log.
    pub differ: u64,
}

/// Feeds the arrivals to `classifier`, with the receiver's clock changed by `skew`, and compares
/// the verdicts with those in the log.
pub fn replay(lines: &[Line], mut classifier: Classifier, skew: Skew) -> Compared {
    let mut compared = Compared::default();
    for line in lines {
        let sent = Time::from_nanos(line.sent);
        let received = skew.apply(Time::from_nanos(line.received));
        let arrival = Arrival::new(line.sequence, sent, received, line.size);
        let cause = classifier.on_arrival(&arrival, line.missing);
        let verdict = cause.map(Called::from);
        compared.verdicts += u64::from(line.verdict.is_some() || verdict.is_some());
        compared.differ += u64::from(verdict != line.verdict);
    }
    compared
}
