//! The log of a run: one line of JSON for each packet at each link (`packets.jsonl`).
//!
//! | key | |
//! |---|---|
//! | `offer` | counts the lines of all links in the order in which their links were asked |
//! | `packet` | counts packets in the order in which hosts sent them |
//! | `link`, `from`, `to` | the link; the hosts at the ends of the packet's way |
//! | `protocol`, `source`, `destination`, `source_port`, `destination_port`, `sequence`, `ip_id` | what its headers say, as sent |
//! | `bytes` | the IP packet |
//! | `enqueued` | when it reached the link, in nanoseconds since the run began, as all times |
//! | `waiting` | packets that waited there |
//! | `scheduled` | when it should leave the link's far end, or is lost |
//! | `departed` | when it did: at the last link, when the kernel took it; else as scheduled |
//! | `fate` | `delivered`, `damaged`, `overflow`, `aqm`, `channel`, `fault`, `unfinished` |
//! | `bits` | which bits were damaged, counted from the packet's first |
//! | `state` | `good` or `bad`: what it met of a channel with two states |
//! | `fault` | what the emulator did wrong: `late` (it left later than the bound), `device` (the kernel did not take it) |

use std::io::{self, BufRead};

use serde::{Deserialize, Serialize};

use crate::header::Headers;

/// One packet at one link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Counts answers of links.
    pub offer: u64,
    /// Counts packets.
    pub packet: u64,
    /// The link's name.
    pub link: String,
    /// The host that sent the packet.
    pub from: String,
    /// The host that it is for.
    pub to: String,
    /// The fields of its headers.
    #[serde(flatten)]
    pub headers: Headers,
    /// Bytes of the IP packet.
    pub bytes: u32,
    /// When it reached the link, in nanoseconds since the run began.
    pub enqueued: u64,
    /// Packets that waited there.
    pub waiting: u32,
    /// When it should leave the far end, or is lost.
    pub scheduled: u64,
    /// When it left the far end.
    pub departed: Option<u64>,
    /// Its fate.
    pub fate: Fate,
    /// Damaged bits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bits: Vec<u32>,
    /// The state of a channel with two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// The emulator's fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

impl Record {
    /// Whether the packet left the far end, on time or late.
    pub fn arrived(&self) -> bool {
        self.departed.is_some() && !self.fate.is_loss()
    }
}

/// The fate of a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// It left the far end whole.
    Delivered,
    /// It left the far end with flipped bits.
    Damaged,
    /// The queue was full.
    Overflow,
    /// The queue's discipline dropped it.
    Aqm,
    /// The channel corrupted it.
    Channel,
    /// The link had let it through, but the emulator was late, or the kernel did not take it.
    Fault,
    /// The run ended before it arrived.
    Unfinished,
}

/// The state of a channel with two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The one that loses fewer packets.
    Good,
    /// The one that loses more.
    Bad,
}

/// The emulator's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The packet left later than the bound allows.
    Late,
    /// The kernel did not take it.
    Device,
}

impl Fate {
    /// The fate as the log writes it.
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

    /// Whether the packet never left the link.
    pub fn is_loss(self) -> bool {
        matches!(self, Self::Overflow | Self::Aqm | Self::Channel)
    }
}

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file cannot be read.
    #[error("cannot read the log: {0}")]
    Unreadable(#[from] io::Error),
    /// A line is none of a log.
    #[error("line {line} of the log is no record: {source}")]
    Line {
        /// Which line, from 1.
        line: usize,
        /// The mistake in it.
        source: serde_json::Error,
    },
}

/// Reads a log. A last line without an end, which an emulator that was killed may leave, is left
/// out.
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
            // Cut short: nothing follows, and the text is not wrong but incomplete.
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
