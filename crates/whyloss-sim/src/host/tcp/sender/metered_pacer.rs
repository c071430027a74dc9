//! The part of a sender that measures delivery rates and paces; only BBR, Copa and SCReAM have one.
//!
//! It stores a snapshot of each segment of the window as the segment left, and reports deliveries
//! and losses to the controller. It holds back segments that the pacing rate does not allow yet. A
//! sender with a meter always does more than moving the edge, so other senders pay nothing for it.
//!
//! A segment counts as lost in three cases: by RFC 6675's IsLost in a recovery, when it is
//! retransmitted although neither acknowledged nor lost, and when the retransmission timer expires.
//! With RACK-TLP, RACK decides. A retransmission counts as lost when a segment that left three or
//! more after it has arrived (RFC 9002's packet threshold); it is then repeated immediately. RFC
//! 6675 waits for the timer instead, which is too slow for a controller that tolerates losses. The
//! controller is not notified of losses that the verdict on the current loss event spares
//! ([`UnderPolicy::spares_losses`](whyloss::congestion::UnderPolicy::spares_losses)).

use std::collections::VecDeque;
use std::ops::Range;

use super::Sender;
use super::held::Held;
use super::scoreboard::DUP_THRESH;
use crate::host::tcp::Ack;
use whyloss::bandwidth::delivery_rate::{DeliveryRate, Snapshot};
use whyloss::congestion::{UnderPolicy, send_quantum};
use whyloss::{Rate, Time};

/// The window as it left, and the pacer.
#[derive(Clone, Debug)]
pub(super) struct MeteredPacer {
    path: DeliveryRate,
    /// The snapshots of the segments, starting with `first`.
    segments: VecDeque<Snapshot>,
    first: u64,
    /// The segment up to which [`MeteredPacer::lose`] has searched.
    settled: u64,
    /// Retransmissions that are not yet known to have arrived, oldest first:
    /// `(transmission order, segment number)`.
    retransmissions: VecDeque<(u64, u64)>,
    /// The segments whose retransmission was lost.
    again: VecDeque<u64>,
    /// C.next_send_time, at which the next group of segments may leave.
    next_send: Time,
    /// The bytes of the current group that have not left yet.
    group: u64,
    /// Whether the pacer held back a segment.
    held_back: bool,
}

impl MeteredPacer {
    /// Returns a meter, if the controller wants one.
    pub(super) fn new(control: &UnderPolicy<Held>) -> Option<Box<Self>> {
        control.wants_rate_samples().then(|| {
            Box::new(Self {
                path: DeliveryRate::default(),
                segments: VecDeque::new(),
                first: 0,
                settled: 0,
                retransmissions: VecDeque::new(),
                again: VecDeque::new(),
                next_send: Time::ZERO,
                group: 0,
                held_back: false,
            })
        })
    }

    /// Returns when the next segment that the pacer held back may leave.
    pub(super) fn next_timeout(&self) -> Time {
        if self.held_back {
            self.next_send
        } else {
            Time::MAX
        }
    }

    /// Returns whether the pacer allows no departure at `now`, even if there is a segment.
    #[inline]
    pub(super) fn holds_back(&self, now: Time) -> bool {
        self.held_back && now < self.next_send
    }

    /// Returns whether the pacer allows a departure now.
    fn lets_leave(&mut self, now: Time, rate: Option<Rate>, segment_size: u32) -> bool {
        let Some(rate) = rate else {
            return true;
        };
        if self.group == 0 && now >= self.next_send {
            self.group = send_quantum(rate, segment_size);
        }
        self.held_back = self.group == 0;
        !self.held_back
    }

    /// Returns whether a segment has left and its snapshot is still stored.
    fn has_left(&self, sequence: u64) -> bool {
        sequence.wrapping_sub(self.first) < self.segments.len() as u64
    }

    fn on_sent(&mut self, now: Time, sequence: u64, rate: Option<Rate>, segment_size: u32) {
        let index = sequence.wrapping_sub(self.first) as usize;
        let retransmission = self.has_left(sequence);
        let snapshot = self.path.on_sent(now, segment_size, retransmission);
        match self.segments.get_mut(index) {
            Some(old) => {
                *old = snapshot;
                // Most recoveries never look for lost retransmissions, so the arrived ones go here.
                while let Some(&(_, sequence)) = self.retransmissions.front()
                    && sequence < self.first
                {
                    self.retransmissions.pop_front();
                }
                self.retransmissions.push_back((snapshot.order(), sequence));
            }
            None => self.segments.push_back(snapshot),
        }
        if let Some(rate) = rate {
            self.next_send = self.next_send.max(now) + rate.transmission_time(segment_size);
            self.group = self.group.saturating_sub(u64::from(segment_size));
            self.held_back = self.group == 0;
        }
    }

    /// Records that all segments before `next` have arrived.
    fn on_acked_below(&mut self, now: Time, next: u64) {
        while self.first < next
            && let Some(segment) = self.segments.front_mut()
        {
            self.path.on_acked(now, segment);
            self.segments.pop_front();
            self.first += 1;
        }
    }

    fn on_acked(&mut self, now: Time, range: Range<u64>) {
        let (path, segments) = (&mut self.path, &mut self.segments);
        for segment in within(self.first, segments, range) {
            path.on_acked(now, segment);
        }
    }

    /// Marks as lost the segments below `end` that are in flight and have not been examined yet.
    fn lose(&mut self, now: Time, end: u64, control: &mut UnderPolicy<Held>) {
        let range = self.settled..end;
        self.settled = self.settled.max(end);
        self.lose_range(now, range, control);
    }

    /// Marks as lost the retransmissions that three later segments have overtaken. Returns whether
    /// there are any.
    fn lose_retransmissions(&mut self, now: Time, control: &mut UnderPolicy<Held>) -> bool {
        let overtaken = self
            .path
            .newest_acked()
            .saturating_sub(u64::from(DUP_THRESH));
        let before = self.again.len();
        while let Some(&(order, sequence)) = self.retransmissions.front()
            && order <= overtaken
        {
            self.retransmissions.pop_front();
            let Some(segment) =
                within(self.first, &mut self.segments, sequence..sequence + 1).next()
            else {
                continue;
            };
            if segment.order() == order && segment.is_under_way() {
                self.lose_range(now, sequence..sequence + 1, control);
                self.again.push_back(sequence);
            }
        }
        self.again.len() > before
    }

    /// Removes and returns the first segment whose retransmission was lost and that has not arrived
    /// since.
    fn next_again(&mut self) -> Option<u64> {
        while let Some(sequence) = self.again.pop_front() {
            let mut segment = within(self.first, &mut self.segments, sequence..sequence + 1);
            if sequence >= self.first && segment.next().is_some_and(|s| !s.is_acknowledged()) {
                return Some(sequence);
            }
        }
        None
    }

    fn lose_range(&mut self, now: Time, range: Range<u64>, control: &mut UnderPolicy<Held>) {
        let (path, segments) = (&mut self.path, &mut self.segments);
        for segment in within(self.first, segments, range).filter(|s| s.is_under_way()) {
            if control.spares_losses() {
                path.on_spared_loss(segment);
            } else if let Some(lost) = path.on_lost(now, segment) {
                control.on_packet_lost(&lost);
            }
        }
    }
}

/// Returns the snapshots of the segments in `range`, as far as they are known; `first` is the
/// sequence number of the first.
fn within(
    first: u64,
    segments: &mut VecDeque<Snapshot>,
    range: Range<u64>,
) -> impl Iterator<Item = &mut Snapshot> {
    let index = |sequence: u64| {
        let index = usize::try_from(sequence.saturating_sub(first)).unwrap_or(usize::MAX);
        index.min(segments.len())
    };
    let (start, end) = (index(range.start), index(range.end));
    segments.range_mut(start.min(end)..end)
}

impl Sender {
    /// Records the delivery of the segments before `next` by an acknowledgement without SACK
    /// blocks.
    #[inline]
    pub(super) fn meter_delivery_below(&mut self, now: Time, next: u64) {
        if let Some(meter) = &mut self.meter {
            meter.on_acked_below(now, next);
        }
    }

    /// Records the deliveries of an acknowledgement. Call this before the scoreboard's update.
    pub(super) fn meter_delivery(&mut self, now: Time, ack: &Ack) {
        let Some(meter) = &mut self.meter else {
            return;
        };
        meter.on_acked_below(now, ack.next);
        for block in ack.sacked() {
            let block = block.start.max(ack.next + 1)..block.end.min(self.max);
            match self.scoreboard.as_deref() {
                Some(scoreboard) => {
                    for new in scoreboard.news(block) {
                        meter.on_acked(now, new);
                    }
                }
                None => meter.on_acked(now, block),
            }
        }
    }

    /// Passes the delivery rate to the controller.
    pub(super) fn meter_rate(&mut self, now: Time) {
        if let Some(meter) = &mut self.meter
            && let Some(sample) = meter.path.sample(now)
        {
            self.control.on_rate_sample(&sample);
        }
    }

    /// Passes the losses that an acknowledgement reveals to the controller.
    pub(super) fn meter_losses(&mut self, now: Time) {
        if let Some(meter) = &mut self.meter
            && self.in_recovery
            && self.by_time.is_none()
            && let Some(scoreboard) = &mut self.scoreboard
        {
            meter.lose(now, scoreboard.lost_below(), &mut self.control);
            let again = meter.lose_retransmissions(now, &mut self.control);
            scoreboard.pipe = (meter.path.in_flight() / u64::from(self.segment_size)) as i64;
            if again {
                self.restart_timer(now);
            }
        }
    }

    /// Passes the losses that RACK has just found to the controller.
    pub(super) fn meter_found(&mut self, now: Time) {
        if let (Some(meter), Some(by_time)) = (&mut self.meter, &self.by_time) {
            for &lost in &by_time.rack.found {
                meter.lose_range(now, lost..lost + 1, &mut self.control);
            }
        }
    }

    /// Returns a segment whose retransmission was lost, if `window` has room for it.
    pub(super) fn meter_again(&mut self, window: u64) -> Option<u64> {
        let meter = self.meter.as_mut()?;
        let scoreboard = self.scoreboard.as_mut()?;
        if !self.in_recovery || scoreboard.pipe >= window as i64 {
            return None;
        }
        let sequence = meter.next_again()?;
        scoreboard.pipe += 1;
        Some(sequence)
    }

    /// Reports to the controller that everything in flight is lost.
    pub(super) fn meter_timeout(&mut self, now: Time) {
        if let Some(meter) = &mut self.meter {
            // This includes segments that were examined before and retransmitted since.
            meter.settled = self.una;
            meter.lose(now, self.max, &mut self.control);
            meter.retransmissions.clear();
            meter.again.clear();
        }
    }

    /// Returns the rate at which segments leave, if they are paced.
    pub(super) fn pacing_rate(&self) -> Option<Rate> {
        self.meter.as_ref().and_then(|_| self.control.pacing_rate())
    }

    /// Returns whether the pacer allows a departure now, at this rate.
    pub(super) fn paced(&mut self, now: Time, rate: Option<Rate>) -> bool {
        match &mut self.meter {
            Some(meter) => meter.lets_leave(now, rate, self.segment_size),
            None => true,
        }
    }

    /// Records that segment `sequence` leaves at this pacing rate; `None` if no segment may leave.
    pub(super) fn meter_sent(&mut self, now: Time, sequence: Option<u64>, rate: Option<Rate>) {
        let Some(meter) = &mut self.meter else {
            return;
        };
        let Some(sequence) = sequence else {
            if self.nxt >= self.segments {
                meter.path.mark_app_limited();
            } else {
                meter.path.mark_window_limited();
            }
            return;
        };
        if meter.has_left(sequence) {
            meter.lose_range(now, sequence..sequence + 1, &mut self.control);
        }
        meter.on_sent(now, sequence, rate, self.segment_size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tcp::Options;
    use whyloss::Duration;
    use whyloss::congestion;

    /// A recovery may never ask for lost retransmissions, as with RACK. The meter still keeps only
    /// those of the window.
    #[test]
    fn arrived_retransmissions_are_forgotten() {
        let mut options = Options::rfc(1_000);
        let bbr = congestion::find("bbr").and_then(|entry| entry.build(&[]).ok());
        options.controller.kind = bbr.expect("a controller");
        let mut meter = Sender::new(&options).meter.expect("BBR has one");
        let mut now = Time::ZERO;
        for sequence in 0..1_000 {
            now += Duration::from_millis(1);
            meter.on_sent(now, sequence, None, 1_000);
            meter.on_sent(now, sequence, None, 1_000);
            meter.on_acked_below(now, sequence);
            assert!(meter.retransmissions.len() <= 2);
        }
    }
}
