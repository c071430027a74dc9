//! Methods for stacks whose callbacks report each packet by its sending time, and then the end of
//! the batch. The adapters of quinn and noq use them. One call may report several packets that left
//! together.

use super::{Connection, Detection, FirstLost, MarkEvent, PACKET_THRESHOLD, SentEvent, Verdict};
use crate::congestion::Controller;
use crate::sender::SenderClassifier;
use crate::{Duration, Time};

#[doc(hidden)]
impl<S: SenderClassifier, C: Controller> Connection<S, C> {
    /// Reports that packets of `bytes` bytes in total leave, the last with number `last`.
    #[inline]
    pub fn on_sent(&mut self, now: Time, bytes: u64, last: u64) {
        let offset = self.ledger.push(now, bytes, last);
        let sent = SentEvent::new(now, bytes)
            .offset(offset)
            .in_flight(self.ledger.sent() - self.ledger.edge());
        self.control.on_sent(&sent);
    }

    /// Reports that only the window kept the stack from sending.
    pub fn on_window_limited(&mut self) {
        if let Some(meter) = self.ledger.meter() {
            meter.mark_window_limited();
        }
    }

    /// Infers that the window limits the stack if no more packets fit. For stacks that do not
    /// report it.
    pub fn infer_window_limited(&mut self) {
        // Only the rate meter uses the window limit.
        if self.ledger.meter().is_some()
            && self.ledger.sent() - self.ledger.edge() + u64::from(self.mtu) >= self.window()
        {
            self.on_window_limited();
        }
    }

    /// Reports the acknowledgement of a packet of `bytes` bytes that left at `left`.
    #[inline]
    pub fn on_acked_at(&mut self, now: Time, left: Time, bytes: u64) {
        if self.batch.left != Some(left) {
            self.enter(now, u64::MAX);
            self.batch.left = Some(left);
        }
        self.batch.bytes += bytes;
        self.batch.newest = self.batch.newest.max(Some(left));
    }

    /// Reports the acknowledgement of packet `number` of `bytes` bytes that left at `left`.
    #[inline]
    pub fn on_acked(&mut self, now: Time, left: Time, bytes: u64, number: u64) {
        self.ledger.acked(now, left, bytes, number);
        self.batch.newest = self.batch.newest.max(Some(left));
    }

    /// Enters the packets with one sending time in the ledger; `most` is the largest possible
    /// number.
    fn enter(&mut self, now: Time, most: u64) {
        if let Some(left) = self.batch.left.take() {
            let bytes = core::mem::take(&mut self.batch.bytes);
            self.ledger.acked(now, left, bytes, most);
        }
    }

    /// Ends the batch; `largest` is the largest number acknowledged so far. For stacks that report
    /// losses immediately: packets below the previous batch's number that are still open no longer
    /// count.
    pub fn on_end_acks(&mut self, now: Time, app_limited: bool, largest: Option<u64>) {
        self.enter(now, largest.unwrap_or(u64::MAX));
        if self.batch.newest.is_some()
            && let Some(before) = self.largest
        {
            self.ledger.overtake(before);
        }
        self.finish_batch(now, app_limited, largest);
    }

    /// Ends a batch of acknowledgements, for stacks that may report losses later than the next
    /// batch.
    pub fn finish_batch(&mut self, now: Time, app_limited: bool, largest: Option<u64>) {
        let Some(newest) = self.batch.newest.take() else {
            return;
        };
        self.largest = largest.max(self.largest);
        let mut rtt = None;
        if self.newest < Some(newest) {
            self.newest = Some(newest);
            rtt = Some(now - newest).filter(|&rtt| rtt > Duration::ZERO);
            self.min_rtt = self.min_rtt.into_iter().chain(rtt).min();
            if let (Some(rtt), Some(least), Some(told)) = (&mut rtt, self.min_rtt, self.told_rtt) {
                *rtt = told.clamp(least, *rtt);
            }
            self.latest_rtt = rtt.or(self.latest_rtt);
        }
        let in_recovery = self.recovery.goes_on;
        let ends = in_recovery && self.recovery.start < Some(newest);
        if ends {
            self.recovery.goes_on = false;
            self.recovery.hold = None;
        }
        self.tell_ack(now, rtt, app_limited, in_recovery);
        if ends
            && let Some(cause) = self.control.on_recovery_end(now, u64::MAX)
            && let Some(verdict) = &mut self.verdict
        {
            verdict.cause = cause;
        }
    }

    /// Marks packet `number` of `bytes` bytes as lost, before the congestion event.
    pub fn on_packet_lost(&mut self, number: u64, bytes: u64) {
        self.forget_old_losses();
        let first = self.ledger.lost(number, bytes);
        self.recovery.first = self.recovery.first.or(first);
        self.recovery.lost += u32::from(first.is_some());
    }

    /// Marks packets of `bytes` bytes in total as lost, before [`Self::on_lost`] reports the
    /// congestion event. The last of these packets left at `left`.
    pub fn on_lost_until(&mut self, left: Time, bytes: u64) {
        let mtu = u64::from(self.mtu);
        self.recovery.first = self.ledger.lost_until(left, bytes, mtu);
        self.recovery.lost = if bytes > mtu { 2 } else { 1 };
    }

    /// Reports the congestion event of losses and returns its verdict. The last lost packet left at
    /// `left`. Returns `None` if the losses belong to a recovery that has begun already.
    pub fn on_lost(&mut self, now: Time, left: Time, persistent: bool) -> Option<Verdict> {
        self.forget_old_losses();
        let first = self.recovery.first.take();
        let lost = core::mem::take(&mut self.recovery.lost);
        if self.belongs(left) && !persistent {
            self.recovery.hold = None;
            self.tell_lost(now);
            return None;
        }
        let overtaken = |first: FirstLost| {
            self.largest
                .is_some_and(|largest| first.number.saturating_add(PACKET_THRESHOLD) <= largest)
        };
        let detection = match first {
            _ if persistent => Detection::PersistentCongestion,
            Some(first) if overtaken(first) => Detection::Duplicates,
            _ => Detection::TimeThreshold,
        };
        let loss = self.loss(now, detection, first);
        Some(self.tell_loss(&loss, lost == 1))
    }

    /// Reports packets marked by ECN. The last of them left at `left`. Marks count once per
    /// recovery, and not if a loss has cut the window already.
    pub fn on_marked(&mut self, now: Time, left: Time) {
        let belongs = self.belongs(left);
        if belongs && !self.control.control().kept_window() {
            return self.tell_lost(now);
        }
        let mark = MarkEvent::new(now, self.mtu)
            .first(self.ledger.edge())
            .in_flight(self.ledger.sent() - self.ledger.edge())
            .window(self.control.window())
            .rtt(self.latest_rtt)
            .min_rtt(self.min_rtt);
        self.control.on_mark(&mark);
        let hold = self.recovery.hold.filter(|_| belongs);
        self.begin_recovery(now, true, hold);
    }

    /// Forgets lost packets that the edge has passed: a stack reports no congestion event for losses
    /// of an old path (noq).
    fn forget_old_losses(&mut self) {
        let edge = self.ledger.edge();
        if self.recovery.first.is_some_and(|first| first.offset < edge) {
            self.recovery.first = None;
            self.recovery.lost = 0;
        }
    }

    /// Returns whether a packet that left at `left` belongs to the last recovery.
    fn belongs(&self, left: Time) -> bool {
        self.recovery.start.is_some_and(|start| left <= start)
    }
}
