//! The data that an application gives its transport: frames of a media stream, one every interval.
//!
//! ```text
//! frame k    captured at start + k·interval;  its packets are numbers k·n … k·n + n − 1
//! ```
//!
//! Frames wait for the transport in order and without limit. With a *patience*, a frame older than
//! this is discarded if its first packet has not left. Later frames then do not wait behind one
//! that is too old to play. A frame that has begun to leave is finished. TCP delivers everything
//! and therefore allows no patience.

use whyloss::{Duration, Time};

use super::tcp;
use crate::scenario::{Flow, Transport};

/// Describes the application of a flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Application {
    /// Always has something to send.
    #[default]
    Greedy,
    /// A media stream.
    Stream(Stream),
    /// Transfers of a finite size.
    Transfers(SizedTransfers),
}

/// Describes transfers of one size over one connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizedTransfers {
    /// The payload of each transfer, in bytes.
    pub size: u64,
    /// When transfers begin.
    pub arrivals: Arrivals,
}

impl SizedTransfers {
    /// Returns the number of segments of a transfer over TCP. For other transports, returns the
    /// number of datagrams of 1 B.
    pub(crate) fn segments(&self, flow: &Flow) -> u64 {
        self.size.div_ceil(Self::payload(flow)).max(1)
    }

    /// Returns the bytes of data in a segment; 1 for transports without segments.
    pub(crate) fn payload(flow: &Flow) -> u64 {
        match flow.transport {
            Transport::Tcp { .. } | Transport::Web { .. } => tcp::payload(flow.packet_size).into(),
            _ => 1,
        }
    }
}

/// Selects when transfers begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// One transfer begins, at the flow's start.
    Once,
    /// Each transfer begins when the source learns that the previous one has arrived.
    InTurn,
    /// Transfers begin as a Poisson process.
    Poisson {
        /// The mean number of transfers that begin in a second.
        per_second: f64,
    },
}

/// Describes a media stream: frames at regular times, each of whole packets.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// The time between two frames.
    pub interval: Duration,
    /// The number of packets per frame.
    pub packets: u32,
    /// The age at which a frame is discarded if its first packet has not left. `None` keeps all
    /// frames.
    pub patience: Option<Duration>,
    /// The playout delays, from a frame's capture to its playing; each gives one result.
    pub playout: Vec<Duration>,
}

impl Application {
    /// Returns the stream; `None` for other applications.
    pub fn stream(&self) -> Option<&Stream> {
        match self {
            Self::Greedy | Self::Transfers(_) => None,
            Self::Stream(stream) => Some(stream),
        }
    }

    /// Returns the transfers; `None` for other applications.
    pub fn transfers(&self) -> Option<&SizedTransfers> {
        match self {
            Self::Greedy | Self::Stream(_) => None,
            Self::Transfers(transfers) => Some(transfers),
        }
    }
}

/// The packets of a stream that have been produced and not sent.
#[derive(Clone, Debug)]
pub(crate) struct Supply {
    interval: Duration,
    packets: u64,
    /// The patience of the stream; [`Duration::MAX`] keeps all frames.
    patience: Duration,
    /// The sequence number of the packet to be sent next.
    next: u64,
    /// The capture time of packet `next`'s frame.
    captured: Time,
    /// The number of packets produced so far.
    produced: u64,
    /// When the next frame is captured.
    due: Time,
}

impl Supply {
    /// Returns the supply of a stream whose first frame is captured at `start`.
    pub(crate) fn new(stream: &Stream, start: Time) -> Self {
        Self {
            interval: stream.interval,
            packets: u64::from(stream.packets),
            patience: stream.patience.unwrap_or(Duration::MAX),
            next: 0,
            captured: start,
            produced: 0,
            due: start,
        }
    }

    /// Produces the frames that are due and discards those that are too old. Returns whether there
    /// is a packet to send.
    pub(crate) fn refresh(&mut self, now: Time) -> bool {
        while self.due <= now {
            self.produced += self.packets;
            self.due += self.interval;
        }
        while self.is_waiting()
            && self.next.is_multiple_of(self.packets)
            && now - self.captured > self.patience
        {
            self.begin(self.next / self.packets + 1);
        }
        self.is_waiting()
    }

    /// Removes the next packet to send and returns its number; `None` if there is none.
    pub(crate) fn take(&mut self, now: Time) -> Option<u64> {
        if !self.refresh(now) {
            return None;
        }
        let packet = self.next;
        if (packet + 1).is_multiple_of(self.packets) {
            self.begin((packet + 1) / self.packets);
        } else {
            self.next += 1;
        }
        Some(packet)
    }

    /// Returns whether there was a packet to send at the last [`Self::refresh`].
    pub(crate) fn is_waiting(&self) -> bool {
        self.next < self.produced
    }

    /// Returns the number of packets produced up to the last [`Self::refresh`].
    pub(crate) fn produced(&self) -> u64 {
        self.produced
    }

    /// Returns when the first frame after the last [`Self::refresh`] is captured.
    pub(crate) fn due(&self) -> Time {
        self.due
    }

    /// Advances to the first packet of `frame`, the frame after the current one.
    fn begin(&mut self, frame: u64) {
        self.next = frame * self.packets;
        self.captured += self.interval;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// Returns a supply with frames of two packets at 5, 45, 85, … ms.
    fn supply(patience: Option<i64>) -> Supply {
        let stream = Stream {
            interval: Duration::from_millis(40),
            packets: 2,
            patience: patience.map(Duration::from_millis),
            playout: Vec::new(),
        };
        Supply::new(&stream, ms(5))
    }

    #[test]
    fn packets_wait_in_order() {
        let mut supply = supply(None);
        assert!(!supply.refresh(ms(4)));
        assert_eq!((supply.take(ms(4)), supply.due()), (None, ms(5)));
        assert_eq!((supply.take(ms(5)), supply.due()), (Some(0), ms(45)));
        assert_eq!(supply.take(ms(6)), Some(1));
        assert_eq!(supply.take(ms(7)), None);
        assert!(supply.refresh(ms(90)));
        assert_eq!((supply.produced(), supply.due()), (6, ms(125)));
        for packet in 2..6 {
            assert_eq!(supply.take(ms(90)), Some(packet));
        }
        assert_eq!(supply.take(ms(90)), None);
    }

    #[test]
    fn the_impatient_throws_away_old_frames_that_have_not_begun() {
        let mut supply = supply(Some(60));
        assert_eq!(supply.take(ms(5)), Some(0));
        // A frame that has begun is finished.
        assert_eq!(supply.take(ms(190)), Some(1));
        // At 190 ms, the three frames from 45 to 125 ms are discarded. The frame of 165 ms is next.
        assert_eq!(supply.take(ms(190)), Some(8));
        assert_eq!(supply.take(ms(190)), Some(9));
        // At 265 ms, the frame of 205 ms has the maximum age; at 266 ms, it is discarded.
        assert_eq!(supply.clone().take(ms(265)), Some(10));
        assert_eq!(supply.take(ms(266)), Some(12));
    }
}
