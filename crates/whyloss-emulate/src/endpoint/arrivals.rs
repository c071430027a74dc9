//! The log of a receiver: every arrival and every verdict, one line of JSON each; and its replay
//! through a classifier.
//!
//! | key | |
//! |---|---|
//! | `number` | the packet's number as sent |
//! | `sequence` | the same, counted from 0 without wrapping |
//! | `sent`, `received` | the sender's stamp, and the kernel's on arrival, in nanoseconds on the clock of each |
//! | `size` | bytes of the packet |
//! | `missing` | packets between it and the highest number that arrived before |
//! | `verdict` | `congestion` or `wireless`: what the classifier called the missing ones |
//! | `damaged` | damaged bits of the packet, where its payload tells, counted from the first of its IP header |

use std::io::{self, BufRead};

use serde::{Deserialize, Serialize};
use whyloss::receiver::{Arrival, Classifier, ReceiverClassifier};
use whyloss::{Cause, Duration, Time};

/// One arrival.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The packet's number as sent.
    pub number: u32,
    /// The same from 0, without wrapping.
    pub sequence: u64,
    /// The sender's stamp.
    pub sent: u64,
    /// The receiver's.
    pub received: u64,
    /// Bytes.
    pub size: u32,
    /// Packets missing before it.
    pub missing: u64,
    /// The verdicts on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Called>,
    /// Damaged bits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<u32>,
}

/// A cause, as logs write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Called {
    /// A queue.
    Congestion,
    /// A channel.
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

/// Reads a log of arrivals; a last line that was cut short is left out.
///
/// # Errors
/// If it cannot be read, or a line is none.
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

/// A clock against another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Skew {
    /// How much it is ahead.
    pub offset: Duration,
    /// By how much it is fast: 1e-4 is 100 ppm.
    pub drift: f64,
}

impl Skew {
    /// What it shows when the other shows `at`.
    pub fn apply(self, at: Time) -> Time {
        at + self.offset + Duration::from_nanos((at.as_nanos() as f64 * self.drift) as i64)
    }
}

/// The outcome of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Gaps judged.
    pub verdicts: u64,
    /// Verdicts that differ from the log's.
    pub differ: u64,
}

/// Feeds the arrivals to a classifier as it was at the start, with another clock at the receiver,
/// and compares verdicts.
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
