//! Losses, and what became of what looked like one.

use whyloss::Cause;
use whyloss::event::Detection;

use crate::delay::Around;
use crate::truth::Fate;

/// A transmission that never arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// When it passed the point of capture, or, lost before that, when the gap showed: ns since
    /// 1970.
    pub time: u64,
    /// Number of the frame in the capture (from 1) that was lost, or, lost before it, that showed
    /// the gap.
    pub frame: u64,
    /// Its first byte (QUIC, RTP: its packet number), counted from the first that was seen.
    pub offset: u64,
    /// Bytes of data.
    pub bytes: u32,
    /// Packets it stands for: more than one for a piece that left as one and is longer than a
    /// segment.
    pub packets: u32,
    /// Where it was lost.
    pub side: Side,
    /// Whether it was a retransmission.
    pub retransmission: bool,
    /// How it is known.
    pub evidence: Evidence,
    /// The loss event it belongs to, an index; `None` if its sender was not seen to react.
    pub event: Option<u32>,
    /// The number of the transmission, retransmissions included, from 1.
    pub order: u64,
    /// Delays around it.
    pub around: Around,
    /// The length of the run that it belongs to.
    pub run: u32,
    /// Its cause, and how sure that is; `None` if the data cannot tell.
    pub verdict: Option<Sure>,
    /// The network's own record of its fate; `None` if it was not asked.
    pub truth: Option<Fate>,
}

impl Loss {
    /// Whether `next`, the loss behind it in order, belongs to the same run.
    pub(crate) fn runs_into(&self, next: &Self) -> bool {
        self.side == next.side
            && (next.order == self.order
                || (self.side == Side::Beyond && next.order == self.order + 1))
    }
}

/// A cause, and the probability that it is the right one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sure {
    /// The likelier cause.
    pub cause: Cause,
    /// Between 0.5 and 1.
    pub confidence: f64,
}

/// On which side of the point of capture something was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Between the sender and the point of capture.
    Before,
    /// Between the point of capture and the receiver.
    Beyond,
}

/// How a loss is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Evidence {
    /// The acknowledgement echoes the time stamp of the retransmission.
    TimeStamp,
    /// A later packet was acknowledged selectively, and it was not.
    Sack,
    /// It was sent again, and acknowledged only after that.
    Retransmission,
    /// It was missing at the point of capture, and came later with a later time stamp, or after
    /// more than a round trip.
    Gap,
    /// A number is missing that is used once (QUIC, RTP), or a log says so.
    Number,
    /// Its receiver says that it lacks it (RTCP).
    Feedback,
    /// The network says so, and why.
    Log,
}

impl Evidence {
    /// A word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::TimeStamp => "time stamp",
            Self::Sack => "sack",
            Self::Retransmission => "retransmission",
            Self::Gap => "gap",
            Self::Number => "number",
            Self::Feedback => "feedback",
            Self::Log => "log",
        }
    }
}

/// A loss event: a recovery begins, a timer expires, or a gap shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When, ns since 1970.
    pub time: u64,
    /// How the sender found it; `None` for a gap before the point of capture.
    pub detection: Option<Detection>,
    /// The classifiers' answers.
    pub votes: Votes,
}

/// Answers of classifiers, one bit each, in the order of their registry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Votes {
    /// Who answered.
    pub asked: u32,
    /// Who said wireless.
    pub wireless: u32,
}

impl Votes {
    /// Classifier number `index` says `cause`.
    pub(crate) fn add(&mut self, index: usize, cause: Cause) {
        self.asked |= 1 << index;
        if cause == Cause::Wireless {
            self.wireless |= 1 << index;
        }
    }

    /// The answer of classifier number `index`, if it gave one.
    pub fn of(self, index: usize) -> Option<Cause> {
        let bit = 1 << index;
        (self.asked & bit != 0).then_some(Cause::wireless_if(self.wireless & bit != 0))
    }
}

/// Events that look like losses and are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets with data.
    pub data_packets: u64,
    /// Bytes of data, retransmissions included.
    pub data_bytes: u64,
    /// Segments that were sent again, pieces that the capture shows twice.
    pub retransmissions: u64,
    /// Retransmissions of what had arrived.
    pub spurious: u64,
    /// Packets that came late without having been lost.
    pub reordered: u64,
    /// Bytes that were acknowledged and are not in the capture: what the capture dropped, or what
    /// went another way.
    pub uncaptured_bytes: u64,
    /// Packets that the capture shows another time: the capture's doing, or a copy made on the way.
    pub copies: u64,
    /// Keep-alives and probes of a closed window.
    pub keep_alives: u64,
    /// Pieces sent more than once of which the capture does not show whether they arrived.
    pub unresolved: u64,
    /// Times that the sequence numbers made no sense and counting began anew.
    pub restarts: u64,
    /// Losses beyond the limit, counted but not kept.
    pub losses_not_kept: u64,
}
