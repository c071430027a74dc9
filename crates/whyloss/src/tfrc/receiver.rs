//! The TFRC receiver (RFC 5348, 5.1, 5.2 and 6).
//!
//! ```text
//! lost:      a packet is lost when NDUPACK packets with higher numbers have arrived                       (5.1)
//! marked:    a packet that a queue marked (ECN-CE) counts as lost when it arrives, and has been received              (3.1, 5.2)
//! dated:     T_loss = T_before + (T_after − T_before)·(S_loss − S_before)/(S_after − S_before)            (5.2)
//! X_recv:    bytes since the latest report at least R old / time since                                    (6.2)
//! feedback:  R after the last one if data came since, else at the next arrival; immediately if p rose     (6.1)
//! first I:   1/p, where p is what the equation answers to the largest X_recv so far                       (6.3.1)
//! ```
//!
//! Where the RFC is silent, or a call needs a bound:
//!
//! - The cause is requested for each of the first [`ASKED_PER_GAP`] packets of a gap; the others
//!   share the last answer.
//! - At most eight gaps await confirmation. NDUPACK later packets confirm a gap, so only a larger
//!   [`Options::loss_threshold`] can reach that limit. The oldest gap is then confirmed early.
//! - A packet that arrives before its loss is confirmed fills its hole, if it is one of the first
//!   [`ASKED_PER_GAP`] of its gap. A later packet counts only for X_recv; the RFC's optional repair
//!   of the history (6.1) is not done.
//! - Before the sender has an R, losses are not counted, because events (5.2) and the equation
//!   (6.3.1) need R.

use crate::{Cause, Duration, Time};

use super::equation::Equation;
use super::loss_history::{INTERVALS, LossHistory};
use super::{Data, Feedback, FeedbackTiming, LossClock, Options};

/// The number of packets of one gap whose causes are requested one by one.
pub const ASKED_PER_GAP: u64 = 64;

/// The number of gaps that can await confirmation at a time.
const PENDING_GAPS: usize = 8;

/// The number of reports remembered to measure X_recv. There are rarely more than two or three per
/// R: one from the timer and one from a loss event.
const MARKS: usize = 4;

/// The receiving end of a flow (RFC 5348, 5.1, 5.2 and 6). See the [module](super) for the
/// contract.
///
/// Reports the loss event rate p and the receive rate X_recv in bytes per second, once per round
/// trip and when p rises. A packet is lost when [`Options::loss_threshold`] packets with higher
/// numbers have arrived. Losses within one round trip of the first are one loss event.
#[derive(Clone, Debug)]
pub struct Receiver {
    options: Options,
    packet_size: u32,
    /// The packet with the highest sequence number and its arrival time; `None` before the first
    /// packet.
    newest: Option<(Data, Time)>,
    history: LossHistory,
    pending: [Gap; PENDING_GAPS],
    pending_len: usize,
    /// The number of bytes received; it wraps.
    bytes: u64,
    /// Whether a packet has arrived since the last report.
    fresh: bool,
    /// Whether the next arrival triggers an immediate report.
    owed: bool,
    /// Whether a loss event began since the last report.
    new_loss_event: bool,
    timer: Time,
    /// R when the last report left: the shortest time over which to measure X_recv.
    window: Duration,
    /// The times of reports and the bytes received by then, newest first.
    marks: [Mark; MARKS],
    marks_len: usize,
    largest_receive_rate: f64,
    loss_event_rate: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    time: Time,
    bytes: u64,
}

/// A run of missing packets that are not yet lost.
#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    first: u64,
    missing: u64,
    /// One bit for each packet whose cause was requested; the last bit also covers the remaining
    /// packets.
    wireless: u64,
    /// One bit for each packet whose cause was requested: whether it arrived after all.
    filled: u64,
    /// The time of the packet before the gap: its arrival or its stamp.
    before: Time,
    /// The time of the packet after the gap.
    after: Time,
    /// The number of packets with higher numbers that have arrived.
    later: u8,
}

impl Receiver {
    /// Creates a receiver of packets of about `packet_size` bytes, the s of the RFC.
    pub fn new(options: &Options, packet_size: u32) -> Self {
        Self {
            options: *options,
            packet_size,
            newest: None,
            history: LossHistory::new(options),
            pending: [Gap::default(); PENDING_GAPS],
            pending_len: 0,
            bytes: 0,
            fresh: false,
            owed: true,
            new_loss_event: false,
            timer: Time::MAX,
            window: Duration::ZERO,
            marks: [Mark::default(); MARKS],
            marks_len: 0,
            largest_receive_rate: 0.0,
            loss_event_rate: 0.0,
        }
    }

    /// Updates the loss history with a packet of `size` bytes. Returns the feedback to send now, if
    /// any.
    ///
    /// When an arrival reveals a gap, calls `cause` once for each missing packet, in order.
    #[inline]
    pub fn on_data(
        &mut self,
        now: Time,
        data: &Data,
        size: u32,
        cause: impl FnMut(u64) -> Cause,
    ) -> Option<Feedback> {
        self.take(now, data, size, false, cause)
    }

    /// Updates the loss history with a packet that a queue marked (ECN-CE). The mark begins a loss
    /// event unless one began less than a round-trip time ago (RFC 5348, 3.1 and 5.2). A gap before
    /// the packet that is confirmed later belongs to this event. Otherwise works like
    /// [`Self::on_data`].
    #[cold]
    pub fn on_marked_data(
        &mut self,
        now: Time,
        data: &Data,
        size: u32,
        cause: impl FnMut(u64) -> Cause,
    ) -> Option<Feedback> {
        self.take(now, data, size, true, cause)
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "what is not marked pays nothing")]
    fn take(
        &mut self,
        now: Time,
        data: &Data,
        size: u32,
        marked: bool,
        cause: impl FnMut(u64) -> Cause,
    ) -> Option<Feedback> {
        self.bytes = self.bytes.wrapping_add(u64::from(size));
        self.fresh = true;
        let mut event = false;
        match self.newest {
            Some((newest, _)) if data.sequence <= newest.sequence => {
                self.fill(data.sequence);
                event = self.confirm_older_than(data.sequence, now);
            }
            Some((newest, arrival)) if data.sequence - newest.sequence > 1 => {
                self.newest = Some((*data, now));
                event = self.confirm_older_than(data.sequence, now);
                event |= self.open_gap(&newest, arrival, now, cause);
            }
            _ => {
                self.newest = Some((*data, now));
                if self.pending_len > 0 {
                    event = self.confirm_older_than(data.sequence, now);
                }
            }
        }
        if marked {
            let time = match self.options.loss_clock {
                LossClock::Arrival => now,
                LossClock::Sender => data.stamp,
            };
            event |= self.lose_one(data.sequence, time, now);
        }
        self.new_loss_event |= event;
        self.is_due(now, data, event).then(|| self.report(now))
    }

    /// Returns when to call [`Self::on_timeout`]; [`Time::MAX`] means never.
    #[inline]
    pub fn next_timeout(&self) -> Time {
        self.timer
    }

    /// Handles the timeout at [`Self::next_timeout`]; returns the feedback to send, if any.
    pub fn on_timeout(&mut self, now: Time) -> Option<Feedback> {
        if now < self.timer {
            return None;
        }
        if self.fresh {
            return Some(self.report(now));
        }
        // RFC 5348, 6.2 restarts the timer here. It would have no effect before the next arrival,
        // which is reported immediately (6.1), so it stays off.
        self.owed = true;
        self.timer = Time::MAX;
        None
    }

    /// Returns the last reported loss event rate p, in 0..=1; 0 before the first loss event.
    pub fn loss_event_rate(&self) -> f64 {
        self.loss_event_rate
    }

    #[inline]
    fn is_due(&self, now: Time, data: &Data, event: bool) -> bool {
        match self.options.feedback {
            FeedbackTiming::Timer => self.owed || (event && self.rises()),
            FeedbackTiming::OnArrival => {
                event || data.urgent || self.owed || now - self.marks[0].time >= data.rtt
            }
        }
    }

    /// Returns whether p is above its last reported value (RFC 5348, 6.1).
    fn rises(&self) -> bool {
        self.newest.is_some_and(|(newest, _)| {
            self.history.loss_event_rate(newest.sequence) > self.loss_event_rate
        })
    }

    fn report(&mut self, now: Time) -> Feedback {
        let receive_rate = self.receive_rate(now);
        self.largest_receive_rate = self.largest_receive_rate.max(receive_rate);
        let (sequence, echo, hold, rtt) = self
            .newest
            .map_or((0, now, Duration::ZERO, Duration::ZERO), |(data, at)| {
                (data.sequence, data.stamp, now - at, data.rtt)
            });
        self.loss_event_rate = self.history.loss_event_rate(sequence);
        let feedback = Feedback {
            echo,
            hold,
            receive_rate,
            loss_event_rate: self.loss_event_rate,
            new_loss_event: self.new_loss_event,
        };
        self.marks.copy_within(..MARKS - 1, 1);
        self.marks[0] = Mark {
            time: now,
            bytes: self.bytes,
        };
        self.marks_len = (self.marks_len + 1).min(MARKS);
        self.fresh = false;
        self.new_loss_event = false;
        self.window = rtt;
        // Without an R, every packet is reported (RFC 5348, 6.3).
        self.owed = rtt <= Duration::ZERO;
        self.timer = match self.options.feedback {
            _ if self.owed => Time::MAX,
            FeedbackTiming::Timer => now + rtt,
            FeedbackTiming::OnArrival => now + rtt + rtt / 2,
        };
        feedback
    }

    /// Returns X_recv in bytes per second; 0 if no time has passed.
    fn receive_rate(&self, now: Time) -> f64 {
        let marks = &self.marks[..self.marks_len];
        let mark = marks
            .iter()
            .find(|mark| now - mark.time >= self.window)
            .or(marks.last());
        match mark {
            Some(mark) if now > mark.time => {
                self.bytes.wrapping_sub(mark.bytes) as f64 / (now - mark.time).as_secs_f64()
            }
            _ => 0.0,
        }
    }

    #[cold]
    fn open_gap(
        &mut self,
        newest: &Data,
        arrival: Time,
        now: Time,
        mut cause: impl FnMut(u64) -> Cause,
    ) -> bool {
        let Some((data, _)) = self.newest else {
            return false;
        };
        let mut gap = Gap {
            first: newest.sequence + 1,
            missing: data.sequence - newest.sequence - 1,
            later: 1,
            ..Gap::default()
        };
        (gap.before, gap.after) = match self.options.loss_clock {
            LossClock::Arrival => (arrival, now),
            LossClock::Sender => (newest.stamp, data.stamp),
        };
        for i in 0..gap.missing.min(ASKED_PER_GAP) {
            if cause(gap.first + i) == Cause::Wireless {
                gap.wireless |= 1 << i;
            }
        }
        if self.options.loss_threshold <= 1 {
            return self.lose(&gap, now);
        }
        let early = self.pending_len == PENDING_GAPS && self.confirm_oldest(now);
        self.pending[self.pending_len] = gap;
        self.pending_len += 1;
        early
    }

    /// Counts packet `sequence` as later than the gaps before it. Confirms the gaps with enough
    /// later packets. Older gaps have at least as many as newer ones, so gaps are confirmed in
    /// order.
    fn confirm_older_than(&mut self, sequence: u64, now: Time) -> bool {
        for gap in &mut self.pending[..self.pending_len] {
            if gap.first <= sequence && sequence - gap.first >= gap.missing {
                gap.later = gap.later.saturating_add(1);
            }
        }
        let mut event = false;
        while self.pending_len > 0 && self.pending[0].later >= self.options.loss_threshold {
            event |= self.confirm_oldest(now);
        }
        event
    }

    fn confirm_oldest(&mut self, now: Time) -> bool {
        let gap = self.pending[0];
        self.pending.copy_within(1.., 0);
        self.pending_len -= 1;
        self.lose(&gap, now)
    }

    /// Fills the hole of a late packet.
    fn fill(&mut self, sequence: u64) {
        for gap in &mut self.pending[..self.pending_len] {
            if let Some(i) = sequence.checked_sub(gap.first)
                && i < gap.missing.min(ASKED_PER_GAP)
            {
                gap.filled |= 1 << i;
            }
        }
    }

    /// Declares the packets of `gap` lost; those neither wireless nor filled enter the history.
    /// Returns whether a loss event began.
    fn lose(&mut self, gap: &Gap, now: Time) -> bool {
        let asked = gap.missing.min(ASKED_PER_GAP);
        let spared = gap.wireless | gap.filled;
        let mut event = false;
        for i in (0..asked).filter(|i| spared & (1 << i) == 0) {
            event |= self.lose_one(gap.first + i, gap.time(i), now);
        }
        if gap.missing > asked && gap.wireless & (1 << (asked - 1)) == 0 {
            event |= self.lose_rest(gap, asked, now);
        }
        event
    }

    fn lose_one(&mut self, sequence: u64, time: Time, now: Time) -> bool {
        let Some((newest, _)) = self.newest else {
            return false;
        };
        if newest.rtt <= Duration::ZERO
            || !self
                .history
                .record(sequence, time, newest.rtt, newest.round)
        {
            return false;
        }
        if self.history.needs_first_interval() {
            let equation = Equation {
                packet_size: f64::from(self.packet_size),
                rtt: newest.rtt.as_secs_f64(),
                t_rto: newest.t_rto.as_secs_f64().max(0.0),
                packets_per_ack: self.options.packets_per_ack,
                cap_timeouts: self.options.cap_timeouts,
            };
            let target = self.largest_receive_rate.max(self.receive_rate(now));
            self.history
                .set_first_interval(1.0 / equation.loss_event_rate(target));
        }
        true
    }

    /// Declares all packets of `gap` lost, starting at index `from`. Steps from event to event.
    /// Records at most as many of the last events as the history holds intervals.
    fn lose_rest(&mut self, gap: &Gap, from: u64, now: Time) -> bool {
        let mut event = self.lose_one(gap.first + from, gap.time(from), now);
        let rtt = self
            .newest
            .map_or(Duration::ZERO, |(newest, _)| newest.rtt.max(Duration::ZERO));
        let per_event = gap.packets_in(rtt);
        let next = gap.packets_in(self.history.opens_at(rtt) - gap.before) - 1;
        let mut i = next.max(from + 1);
        let events = gap.missing.saturating_sub(i) / per_event;
        i += events.saturating_sub(INTERVALS as u64) * per_event;
        // Times are truncated to nanoseconds, so a step can end one packet before an event. Allow
        // twice the steps.
        for _ in 0..2 * (INTERVALS + 1) {
            if i >= gap.missing {
                break;
            }
            let began = self.lose_one(gap.first + i, gap.time(i), now);
            event |= began;
            i = i.saturating_add(if began { per_event } else { 1 });
        }
        event
    }
}

impl Gap {
    /// Returns the time of loss of packet number `index` of the gap, interpolated between its
    /// neighbours.
    fn time(&self, index: u64) -> Time {
        let span = i128::from((self.after - self.before).as_nanos());
        let share = span * (i128::from(index) + 1) / (i128::from(self.missing) + 1);
        self.before + Duration::from_nanos(share as i64)
    }

    /// Returns how many packets of the gap span more than `time`; at least 1.
    fn packets_in(&self, time: Duration) -> u64 {
        let span = i128::from((self.after - self.before).as_nanos());
        let time = i128::from(time.as_nanos()).max(0);
        if span <= 0 {
            return u64::MAX;
        }
        let packets = time * (i128::from(self.missing) + 1) / span + 1;
        u64::try_from(packets).unwrap_or(u64::MAX)
    }
}
