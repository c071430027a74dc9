//! Follows one stream: assigns packets to frames and finds when each frame is complete.

use std::collections::VecDeque;

use whyloss::{Duration, Time};

use super::FrameCounts;
use crate::delay::Origins;
use crate::host::supply::Supply;
use crate::packet::{Packet, Payload};
use crate::scenario::{Flow, Scenario, Stream};

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
    /// from which it holds. Only those that packets in flight need are kept.
    ahead: VecDeque<(u64, u64)>,
    /// The arrived part of a TCP stream.
    segments: Origins,
    /// The frame that is arriving (TCP: the first incomplete one), and how many of its packets have
    /// arrived.
    frame: u64,
    there: u64,
    /// The damaged frames with a number of at least `frame`, each as often as it has damaged
    /// packets.
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
            segments: Origins::default(),
            frame: 0,
            there: 0,
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
            if first_copy && packet.is_damaged() {
                self.damaged.push(segment.sequence / packets);
            }
            while (self.frame + 1) * packets <= self.segments.next() {
                self.complete(at);
                self.begin(self.frame + 1);
            }
        } else if let Some(sequence) = packet.payload.sequence().filter(|_| !packet.copy) {
            let frame = self.number(sequence) / packets;
            // Packets keep their order on a route, so missing parts of an earlier frame will not
            // arrive.
            if frame != self.frame {
                self.begin(frame);
            }
            self.there += 1;
            self.damaged.extend(packet.is_damaged().then_some(frame));
            if self.there == packets {
                self.complete(at);
            }
        }
    }

    /// Returns the application's number of the transport's packet `sequence`.
    fn number(&mut self, sequence: u64) -> u64 {
        while self.ahead.get(1).is_some_and(|next| next.0 <= sequence) {
            self.ahead.pop_front();
        }
        sequence + self.ahead.front().map_or(0, |&(_, ahead)| ahead)
    }

    /// Makes `frame` or a later one the next frame to be complete.
    fn begin(&mut self, frame: u64) {
        self.frame = frame;
        self.there = 0;
        self.damaged.retain(|&damaged| damaged >= frame);
    }

    /// Records that the last packet of the frame has arrived.
    fn complete(&mut self, at: Time) {
        let Some(start) = self.start else {
            return;
        };
        let captured = start + self.stream.interval * self.frame as i64;
        if captured < self.from {
            return;
        }
        let damaged = self.damaged.contains(&self.frame);
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
