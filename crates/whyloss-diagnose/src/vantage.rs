//! Where a capture was taken, by the shortest round trips on both sides of it.
//!
//! ```text
//! beyond   from data to its acknowledgement, before   from an acknowledgement to the data that echoes it; both the smallest
//! at the sender    before < 10 % of their sum;   at the receiver   beyond < 10 %;   else between
//! ```

/// A side whose share of the round trip is below this is where the capture was taken.
const SHARE: f64 = 0.1;
/// Round trips below this, ns, are those of one machine or rack: their shares say little.
const SHORTEST: u64 = 100_000;

/// Where a capture was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Vantage {
    /// At the sender of the data.
    Sender,
    /// At its receiver.
    Receiver,
    /// Between them, with this share of the round trip before it.
    Between(f64),
    /// Everywhere: the network's own record.
    Log,
    /// The capture does not tell, and why.
    Unknown(&'static str),
}

impl Vantage {
    pub(crate) fn of(before: Option<u64>, beyond: Option<u64>) -> Self {
        let (before, beyond) = match (before, beyond) {
            (Some(before), Some(beyond)) => (before, beyond),
            (None, Some(_)) => {
                return Self::Unknown(
                    "no time stamps are echoed by the sender, and there is no handshake",
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

    /// By the round trips that RTCP's reports tell of.
    pub(crate) fn of_reports(before: Option<u64>, beyond: Option<u64>) -> Self {
        match (before, beyond) {
            (Some(_), Some(_)) => Self::of(before, beyond),
            (None, Some(_)) => Self::Unknown("no reports about a stream the other way"),
            (_, None) => Self::Unknown("no reports that answer others"),
        }
    }

    /// A word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Between(_) => "between",
            Self::Log => "log",
            Self::Unknown(_) => "unknown",
        }
    }
    /// Words for a table: "at the sender", "between, at 40 %", "cannot tell".
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
