//! Determines the place where a capture was taken, from the shortest round trips on both sides.
//!
//! ```text
//! beyond            from data to its acknowledgement, the shortest
//! before            from an acknowledgement to the data that echoes it, the shortest
//! at the sender     before < 10 % of their sum
//! at the receiver   beyond < 10 % of their sum; else between
//! ```

/// The share of the round trip below which the capture was taken at that end.
const SHARE: f64 = 0.1;
/// The round trip in ns below which the ends share a machine or rack, so that shares are
/// unreliable.
const SHORTEST: u64 = 100_000;

/// The place where a capture was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Vantage {
    /// At the sender of the data.
    Sender,
    /// At the receiver of the data.
    Receiver,
    /// Between both, with this share of the round trip between the sender and the capture.
    Between(f64),
    /// Everywhere: the input is the network's own log.
    Log,
    /// Unknown, with the reason in words.
    Unknown(&'static str),
}

impl Vantage {
    pub(crate) fn of(before: Option<u64>, beyond: Option<u64>) -> Self {
        let (before, beyond) = match (before, beyond) {
            (Some(before), Some(beyond)) => (before, beyond),
            (None, Some(_)) => {
                return Self::Unknown(
                    "no timestamps are echoed by the sender, and there is no handshake",
                );
            }
            (Some(_), None) => return Self::Unknown("no acknowledgements"),
            (None, None) => return Self::Unknown("no packets that answer each other"),
        };
        if before + beyond < SHORTEST {
            return Self::Unknown("the round trip is below 0.1 ms");
        }
        let share = before as f64 / (before + beyond) as f64;
        if share < SHARE {
            Self::Sender
        } else if share > 1.0 - SHARE {
            Self::Receiver
        } else {
            Self::Between(share)
        }
    }

    /// Determines the place from the round trips that RTCP reports show.
    pub(crate) fn of_reports(before: Option<u64>, beyond: Option<u64>) -> Self {
        match (before, beyond) {
            (Some(_), Some(_)) => Self::of(before, beyond),
            (None, Some(_)) => Self::Unknown("no reports about a stream the other way"),
            (_, None) => Self::Unknown("no reports that answer others"),
        }
    }

    /// Returns a word for the place.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Between(_) => "between",
            Self::Log => "log",
            Self::Unknown(_) => "unknown",
        }
    }
    /// Returns the place as text for a table: "at the sender", "between, at 40 %", "cannot tell".
    pub fn place(self) -> String {
        match self {
            Self::Sender => "at the sender".to_owned(),
            Self::Receiver => "at the receiver".to_owned(),
            Self::Between(share) => format!("between, at {:.0} %", share * 100.0),
            Self::Log => "by the network".to_owned(),
            Self::Unknown(_) => "cannot tell".to_owned(),
        }
    }
}
