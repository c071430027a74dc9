//! Describes losses with their evidence and verdicts, and counts events that only look like losses.

use whyloss::Cause;
use whyloss::event::Detection;

use crate::delay::Around;
use crate::truth::Fate;

/// A lost packet, or several that share one record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// When the packet passed the point of capture, in ns since 1970. For a packet lost before that
    /// point, when the gap showed.
    pub time: u64,
    /// The number of the lost frame in the capture, from 1. For a packet lost before the point of
    /// capture, the frame that showed the gap.
    pub frame: u64,
    /// The offset of the first lost byte from the first byte seen. For QUIC and RTP, the packet
    /// number from the first one seen.
    pub offset: u64,
    /// The number of bytes of data lost.
    pub bytes: u32,
    /// The number of lost packets. It exceeds one for a piece longer than a segment (segmentation
    /// offload), and for the middle of a long gap.
    pub packets: u32,
    /// The side of the point of capture on which the packet was lost.
    pub side: Side,
    /// Whether the lost packet was a retransmission.
    pub retransmission: bool,
    /// The evidence for the loss.
    pub evidence: Evidence,
    /// The index of the loss event in [`Flow::events`](crate::Flow::events); `None` if no reaction
    /// of the sender was seen.
    pub event: Option<u32>,
    /// The position of the transmission in the flow, from 1, retransmissions included.
    pub order: u64,
    /// The delays of packets near the lost one.
    pub around: Around,
    /// The number of packets in the run of losses to which this loss belongs.
    pub run: u32,
    /// The cause and its probability; `None` if the data does not show it.
    pub verdict: Option<Sure>,
    /// The fate in the network's own log; `None` if
    /// [`Diagnosis::compare`](crate::Diagnosis::compare) did not set it.
    pub truth: Option<Fate>,
}

impl Loss {
    /// Returns whether `next`, the next loss in order, belongs to the same run.
    pub(crate) fn runs_into(&self, next: &Self) -> bool {
        self.side == next.side
            && (next.order == self.order
                || (self.side == Side::Beyond && next.order == self.order + 1))
    }
}

/// A cause and the probability that it is right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sure {
    /// The cause that is more likely than the other.
    pub cause: Cause,
    /// The probability that the cause is right, from 0.5 to 1.
    pub confidence: f64,
}

/// The side of the point of capture on which a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Between the sender and the point of capture.
    Before,
    /// Between the point of capture and the receiver.
    Beyond,
}

/// The evidence for a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Evidence {
    /// The acknowledgement echoes the timestamp of a later copy.
    TimeStamp,
    /// A later packet was acknowledged selectively, and the lost packet was not.
    Sack,
    /// The packet was sent again and acknowledged only after that.
    Retransmission,
    /// The packet was missing at the point of capture. It came later, with a later timestamp or
    /// after more than a round trip.
    Gap,
    /// A number that is used once is missing (QUIC, RTP), or an endpoint's log declares the loss.
    Number,
    /// The receiver reports the packet missing (RTCP).
    Feedback,
    /// The network's own log records the loss and its cause.
    Log,
}

impl Evidence {
    /// Returns the evidence's name as reports show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::TimeStamp => "timestamp",
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
    /// The time of the event, in ns since 1970.
    pub time: u64,
    /// How the sender detected the loss; `None` for a gap before the point of capture.
    pub detection: Option<Detection>,
    /// The verdicts of the classifiers.
    pub votes: Votes,
}

/// The verdicts of classifiers, as bit masks. Bit i belongs to classifier number i, from 0, of
/// [`senders`](crate::classifiers::senders), or of [`receivers`](crate::classifiers::receivers) for
/// a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Votes {
    /// A bit for each classifier that gave a verdict.
    pub asked: u32,
    /// A bit for each classifier whose verdict is wireless.
    pub wireless: u32,
}

impl Votes {
    /// Records `cause` as the verdict of classifier number `index`.
    pub(crate) fn add(&mut self, index: usize, cause: Cause) {
        self.asked |= 1 << index;
        if cause == Cause::Wireless {
            self.wireless |= 1 << index;
        }
    }

    /// Returns the verdict of classifier number `index`; `None` if the classifier gave none.
    pub fn of(self, index: usize) -> Option<Cause> {
        let bit = 1 << index;
        (self.asked & bit != 0).then_some(Cause::wireless_if(self.wireless & bit != 0))
    }
}

/// Counts of packets and bytes, and of events that only look like losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of packets with data.
    pub data_packets: u64,
    /// The number of bytes of data, retransmissions included.
    pub data_bytes: u64,
    /// The number of retransmitted segments: pieces that the capture shows more than once.
    pub retransmissions: u64,
    /// The number of retransmissions of data that had arrived.
    pub spurious: u64,
    /// The number of packets that came late without having been lost.
    pub reordered: u64,
    /// The number of bytes that were acknowledged but are not in the capture: the capture dropped
    /// them, or they took another path.
    pub uncaptured_bytes: u64,
    /// The number of duplicates in the capture: packets that it shows twice, or that the network
    /// copied.
    pub copies: u64,
    /// The number of keep-alives and window probes.
    pub keep_alives: u64,
    /// The number of pieces sent more than once for which the capture does not show whether they
    /// arrived.
    pub unresolved: u64,
    /// The number of times that sequence numbers became implausible and counting restarted.
    pub restarts: u64,
    /// The number of losses that are counted but not listed, because the list is at its limit.
    pub losses_not_kept: u64,
}
