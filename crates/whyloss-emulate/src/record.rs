//! The log of a run: one line of JSON for each packet at each link (`packets.jsonl`).
//!
//! | key | meaning |
//! |---|---|
//! | `offer` | the line's number, in the order in which packets were offered to links |
//! | `packet` | the packet's number, in the order in which hosts sent packets |
//! | `link`, `from`, `to` | the link; the hosts at the ends of the packet's route |
//! | `protocol`, `source`, `destination`, `source_port`, `destination_port`, `sequence`, `ip_id` | fields of the packet's headers, as sent |
//! | `bytes` | the size of the IP packet in bytes |
//! | `enqueued` | when the packet reached the link, in nanoseconds since the run began, like all times |
//! | `waiting` | the number of packets that waited at the link then |
//! | `scheduled` | when the packet should leave the link's far end, or is lost |
//! | `departed` | when the packet left; at the last link, when the kernel took it |
//! | `fate` | `delivered`, `damaged`, `overflow`, `aqm`, `channel`, `fault`, `unfinished` |
//! | `bits` | the positions of damaged bits, counted from the packet's first bit |
//! | `state` | `good` or `bad`: the state of a channel with two states that the packet met |
//! | `fault` | the emulator's fault: `late` (the packet left later than the bound), `device` (the kernel did not take it) |

use std::io::{self, BufRead};

use serde::{Deserialize, Serialize};

use crate::header::Headers;

/// One packet at one link, as a line of the log, with names of type `N`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record<N = String> {
    /// The line's number, in the order in which packets were offered to links.
    pub offer: u64,
    /// The packet's number, in the order in which hosts sent packets.
    pub packet: u64,
    /// The name of the link.
    pub link: N,
    /// The name of the host that sent the packet.
    pub from: N,
    /// The name of the destination host.
    pub to: N,
    /// The fields of the packet's headers.
    #[serde(flatten)]
    pub headers: Headers,
    /// The size of the IP packet, in bytes.
    pub bytes: u32,
    /// When the packet reached the link, in nanoseconds since the run began.
    pub enqueued: u64,
    /// The number of packets that waited at the link when this one arrived.
    pub waiting: u32,
    /// When the packet should leave the far end or is lost, in nanoseconds since the run began.
    pub scheduled: u64,
    /// When the packet left the far end, in nanoseconds since the run began; `None` if it did not.
    pub departed: Option<u64>,
    /// The fate of the packet: delivered, or lost for a certain reason.
    pub fate: Fate,
    /// The positions of the damaged bits, counted from the packet's first bit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bits: Vec<u32>,
    /// The state of the channel; `None` for channels without two states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// The emulator's fault, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

impl Record {
    /// Returns whether the packet left the far end, on time or late.
    pub fn arrived(&self) -> bool {
        self.departed.is_some() && !self.fate.is_loss()
    }
}

/// The fate of a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// The packet left the far end undamaged.
    Delivered,
    /// The packet left the far end with flipped bits.
    Damaged,
    /// The queue was full.
    Overflow,
    /// The queue's discipline dropped the packet.
    Aqm,
    /// The channel corrupted the packet.
    Channel,
    /// The link let the packet through, but the emulator was late or the kernel did not take it.
    Fault,
    /// The run ended before the packet arrived.
    Unfinished,
}

/// The state of a channel with two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The state that loses fewer packets.
    Good,
    /// The state that loses more packets.
    Bad,
}

/// A fault of the emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The packet left later than the bound allows.
    Late,
    /// The kernel did not take the packet.
    Device,
}

impl Fate {
    /// Returns the name of the fate in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Damaged => "damaged",
            Self::Overflow => "overflow",
            Self::Aqm => "aqm",
            Self::Channel => "channel",
            Self::Fault => "fault",
            Self::Unfinished => "unfinished",
        }
    }

    /// Returns whether the packet never left the link.
    pub fn is_loss(self) -> bool {
        matches!(self, Self::Overflow | Self::Aqm | Self::Channel)
    }
}

/// Explains why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file cannot be read.
    #[error("cannot read the log: {0}")]
    Unreadable(#[from] io::Error),
    /// A line is not a record.
    #[error("line {line} of the log is no record: {source}")]
    Line {
        /// The line, counted from 1.
        line: usize,
        /// The fault in the line.
        source: serde_json::Error,
    },
}

/// Reads a log record by record. Omits an incomplete last line, which a killed emulator may leave.
pub fn read(log: impl BufRead) -> impl Iterator<Item = Result<Record, LogError>> {
    let mut lines = log.split(b'\n').enumerate().peekable();
    std::iter::from_fn(move || {
        let (index, line) = lines.next()?;
        let line = match line {
            Ok(line) => line,
            Err(error) => return Some(Err(error.into())),
        };
        if line.is_empty() && lines.peek().is_none() {
            return None;
        }
        match serde_json::from_slice(&line) {
            Ok(record) => Some(Ok(record)),
            // The last line is incomplete rather than wrong.
            Err(error) if lines.peek().is_none() && error.is_eof() => None,
            Err(source) => Some(Err(LogError::Line {
                line: index + 1,
                source,
            })),
        }
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn record() -> Record {
        Record {
            offer: 1,
            packet: 1,
            link: "down".into(),
            from: "outside".into(),
            to: "inside".into(),
            headers: Headers {
                protocol: 17,
                source: [100, 64, 0, 1].into(),
                destination: [100, 64, 16, 1].into(),
                source_port: Some(5000),
                destination_port: Some(6000),
                sequence: None,
                ip_id: Some(7),
            },
            bytes: 1500,
            enqueued: 10,
            waiting: 0,
            scheduled: 20,
            departed: None,
            fate: Fate::Channel,
            bits: Vec::new(),
            state: Some(State::Bad),
            fault: None,
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let line = serde_json::to_string(&record()).unwrap();
        assert!(line.contains(r#""fate":"channel","state":"bad""#), "{line}");
        let text = format!("{line}\n{line}\n{}", &line[..40]);
        let read: Vec<_> = read(text.as_bytes()).map(Result::unwrap).collect();
        assert_eq!(read, [record(), record()]);
        let wrong = super::read(&b"{}\n{}\n"[..]).next().unwrap().unwrap_err();
        assert!(
            wrong
                .to_string()
                .starts_with("line 1 of the log is no record"),
            "{wrong}"
        );
    }
}
