//! The data that an application gives its transport: frames of a media stream, one every interval.
//!
//! ```text
//! frame k    captured at start + k·interval;  its packets are numbers k·n … k·n + n − 1
//! ```
//!
//! Frames wait for the transport in order, without end. With a *patience*, a frame that gets older
//! than that before its first packet leaves is thrown away, so that later ones do not wait behind
//! what nobody would play; what has begun to leave is finished. A transport that delivers
//! everything (TCP) cannot do so.

use whyloss::{Duration, Time};

use crate::scenario::Transport;

/// The application of a flow.
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

/// Transfers of one size, one connection for all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizedTransfers {
    /// Bytes of payload of each.
    pub size: u64,
    /// When they begin.
    pub arrivals: Arrivals,
}

impl SizedTransfers {
    /// Segments of a transfer over TCP; datagrams of one of 1 B otherwise.
    pub(crate) fn segments(&self, transport: &Transport) -> u64 {
        let size = match transport {
            Transport::Tcp { options, .. } => options.segment_size,
            _ => 1,
        };
        self.size.div_ceil(u64::from(size.max(1))).max(1)
    }
}

/// When transfers begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// One, at the flow's start.
    Once,
    /// Each when the source knows that the one before has arrived.
    InTurn,
    /// At random, so many a second on average.
    Poisson {
        /// The mean number of transfers that begin in a second.
        per_second: f64,
    },
}

/// Frames at regular times, each of whole packets.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// From one frame to the next.
    pub interval: Duration,
    /// Packets of a frame.
    pub packets: u32,
    /// How old a frame may get before its first packet leaves; an older one is thrown away. `None`:
    /// none is.
    pub patience: Option<Duration>,
    /// How long after its capture a frame is played; one result for each.
    pub playout: Vec<Duration>,
}

impl Application {
    /// The stream, if it is one.
    pub fn stream(&self) -> Option<&Stream> {
        match self {
            Self::Greedy | Self::Transfers(_) => None,
            Self::Stream(stream) => Some(stream),
        }
    }

    /// The transfers, if it has any.
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
    /// [`Duration::MAX`]: without end.
    patience: Duration,
    /// The packet to be sent next, and when its frame was captured.
    next: u64,
    captured: Time,
    /// Packets produced so far, and when the next frame is.
    produced: u64,
    due: Time,
}

impl Supply {
    /// The supply of a stream whose first frame is captured at `start`.
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

    /// Produces what is due, throws away what is too old, and answers whether there is a packet to
    /// send.
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

    /// Takes the packet that is to be sent next: its number.
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

    /// Whether there is a packet to send, as of the last [`Self::refresh`].
    pub(crate) fn is_waiting(&self) -> bool {
        self.next < self.produced
    }

    /// Packets produced, as of the last [`Self::refresh`].
    pub(crate) fn produced(&self) -> u64 {
        self.produced
    }

    /// When the next frame is captured, as of the last [`Self::refresh`].
    pub(crate) fn due(&self) -> Time {
        self.due
    }

    /// The next packet is the first of `frame`, the one after the current.
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

    /// Frames of two packets at 5, 45, 85, … ms.
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
        // At 190 ms the frames before 130 ms are gone, which are three more; that of 165 ms is
        // next.
        assert_eq!(supply.take(ms(190)), Some(8));
        assert_eq!(supply.take(ms(190)), Some(9));
        // At 265 ms that of 205 ms is as old as it may be, at 266 ms it is gone.
        assert_eq!(supply.clone().take(ms(265)), Some(10));
        assert_eq!(supply.take(ms(266)), Some(12));
    }
}
