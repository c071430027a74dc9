//! Follows one stream: assigns packets to frames and finds when each frame is complete.

use std::collections::VecDeque;

use whyloss::{Duration, Time};

use super::FrameCounts;
use crate::delay::Origins;
use crate::host::supply::Supply;
use crate::packet::{Packet, Payload};
use crate::scenario::{Flow, Scenario, Stream};

/// The number of incomplete frames that a stream remembers, so that memory has a bound. If there
/// are more, the oldest ones count as never arrived.
pub(super) const KEPT: usize = 1_024;

/// A frame of which some packets have arrived.
#[derive(Clone, Copy, Debug)]
struct Open {
    frame: u64,
    /// The number of packets that have arrived.
    there: u64,
    damaged: bool,
}

/// The frames of one stream.
#[derive(Clone, Debug)]
pub struct StreamResult {
    stream: Stream,
    /// The capture time from which frames count.
    from: Time,
    /// The latest deadline of a frame that counts.
    until: Time,
    /// The capture time of the first frame, which is when the first packet left; `None` before.
    start: Option<Time>,
    /// A copy of the source's supply, which shows the packets that the source discarded.
    supply: Supply,
    /// The sequence number of the next packet to leave.
    next: u64,
    /// The offsets from the transport's packet numbers to the application's, each with the number
    /// from which it holds. Only those that packets in flight need are kept, and [`KEPT`] more.
    ahead: VecDeque<(u64, u64)>,
    /// The frames of which some packets have arrived and others have not, oldest first; at most
    /// [`KEPT`]. Packets may overtake each other, so all of them may still arrive. TCP needs none.
    open: VecDeque<Open>,
    /// The arrived part of a TCP stream, the number of segments before its data, and the first
    /// incomplete frame.
    segments: Origins,
    opening: u64,
    frame: u64,
    /// The damaged frames of a TCP stream with a number of at least `frame`, each as often as it
    /// has damaged packets.
    damaged: Vec<u64>,
    /// The counts for each playout delay. The number of frames is computed at the end.
    counts: Vec<FrameCounts>,
}

impl StreamResult {
    pub(super) fn new(scenario: &Scenario, flow: &Flow) -> Option<Self> {
        let stream = flow.application.stream()?;
        let count = |&playout: &Duration| FrameCounts {
            playout,
            ..FrameCounts::default()
        };
        Some(Self {
            from: scenario.measure_from,
            until: flow
                .stop
                .map_or(scenario.end, |(earliest, _)| scenario.end.min(earliest)),
            start: None,
            supply: Supply::new(stream, Time::ZERO),
            next: 0,
            ahead: VecDeque::new(),
            open: VecDeque::new(),
            segments: Origins::default(),
            opening: flow.transport.opening(),
            frame: 0,
            damaged: Vec::new(),
            counts: stream.playout.iter().map(count).collect(),
            stream: stream.clone(),
        })
    }

    /// Returns the counts of frames, for each playout delay of the stream.
    pub fn counts(&self) -> Vec<FrameCounts> {
        let with_frames = |counts: &FrameCounts| FrameCounts {
            frames: self.frames(counts.playout),
            ..*counts
        };
        self.counts.iter().map(with_frames).collect()
    }

    /// Returns the number of incomplete frames and of offsets in memory.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> (usize, usize) {
        (self.open.len(), self.ahead.len())
    }

    /// Returns the number of frames that count at this playout delay.
    fn frames(&self, playout: Duration) -> u64 {
        let Some(start) = self.start else {
            return 0;
        };
        let interval = self.stream.interval.as_nanos();
        // Frames captured before the window, and frames captured in time for their deadline.
        let before = ((self.from - start).as_nanos().max(0) as u64).div_ceil(interval as u64);
        let last = (self.until - start - playout).as_nanos();
        let up_to = if last < 0 {
            0
        } else {
            (last / interval + 1) as u64
        };
        up_to.saturating_sub(before)
    }

    /// Records that a packet left. Only its first departure counts.
    #[inline(never)]
    pub(super) fn left(&mut self, packet: &Packet) {
        let Some(sequence) = packet.payload.sequence() else {
            return;
        };
        if sequence != self.next {
            return;
        }
        self.next += 1;
        if self.start.is_none() {
            self.start = Some(packet.sent);
            self.supply = Supply::new(&self.stream, packet.sent);
        }
        if let Payload::Segment(segment) = packet.payload {
            self.segments.left(&segment, packet.sent);
        } else if let Some(number) = self.supply.take(packet.sent) {
            let ahead = number - sequence;
            if self.ahead.back().is_none_or(|last| last.1 != ahead) {
                self.ahead.push_back((sequence, ahead));
            }
        }
    }

    /// Records that a packet arrived at its sink.
    #[inline(never)]
    pub(super) fn arrived(&mut self, at: Time, packet: &Packet) {
        let packets = u64::from(self.stream.packets);
        if let Payload::Segment(segment) = packet.payload {
            let first_copy = self.segments.arrived(&segment, packet.sent).is_some();
            if first_copy
                && packet.is_damaged()
                && let Some(number) = segment.sequence.checked_sub(self.opening)
            {
                self.damaged.push(number / packets);
            }
            while self.opening + (self.frame + 1) * packets <= self.segments.next() {
                let damaged = self.damaged.contains(&self.frame);
                self.complete(at, self.frame, damaged);
                self.frame += 1;
                self.damaged.retain(|&damaged| damaged >= self.frame);
            }
        } else if let Some(sequence) = packet.payload.sequence().filter(|_| !packet.copy)
            && let Some(number) = self.number(sequence)
            && let Some(whole) = self.add(number / packets, packet.is_damaged())
        {
            self.complete(at, whole.frame, whole.damaged);
        }
    }

    /// Returns the application's number of the transport's packet `sequence`; `None` if the packet
    /// is too old.
    fn number(&mut self, sequence: u64) -> Option<u64> {
        let later = self.ahead.partition_point(|from| from.0 <= sequence);
        if later > KEPT {
            self.ahead.drain(..later - KEPT);
        }
        match later.min(KEPT).checked_sub(1) {
            Some(place) => Some(sequence + self.ahead[place].1),
            None => self.ahead.is_empty().then_some(sequence),
        }
    }

    /// Counts an arrived packet of a frame. Returns the frame if it is complete.
    fn add(&mut self, frame: u64, damaged: bool) -> Option<Open> {
        let place = self.open.partition_point(|open| open.frame < frame);
        if self.open.get(place).is_none_or(|open| open.frame > frame) {
            let open = Open {
                frame,
                there: 0,
                damaged: false,
            };
            self.open.insert(place, open);
        }
        let open = &mut self.open[place];
        open.there += 1;
        open.damaged |= damaged;
        if open.there == u64::from(self.stream.packets) {
            return self.open.remove(place);
        }
        if self.open.len() > KEPT {
            self.open.pop_front();
        }
        None
    }

    /// Records that the last packet of a frame has arrived.
    fn complete(&mut self, at: Time, frame: u64, damaged: bool) {
        let Some(start) = self.start else {
            return;
        };
        let captured = start + self.stream.interval * frame as i64;
        if captured < self.from {
            return;
        }
        for counts in &mut self.counts {
            let deadline = captured + counts.playout;
            if deadline > self.until {
                continue;
            }
            if at > deadline {
                counts.late += 1;
            } else if damaged {
                counts.damaged += 1;
            } else {
                counts.whole += 1;
            }
        }
    }
}
