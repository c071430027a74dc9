//! Loss recovery: handles duplicates, selective acknowledgements and partial acknowledgements, for
//! each [`Recovery`] except RACK-TLP.
//!
//! ```text
//! Reno, NewReno   third duplicate: retransmit una, the window is the controller's + 3 segments; each later
//! (RFC 5681,      duplicate adds one. New acknowledgement: Reno ends the recovery; NewReno ends it at `recover`,
//!  RFC 6582)      before that it retransmits una and takes the newly acknowledged segments − 1 off the window
//! fast retransmit third duplicate: retransmit una. New acknowledgement: the window grows; three more duplicates are
//! alone           another loss (`tcp-westwood.cc` 1.3 of ns-2)
//! SACK            third duplicate with news, or IsLost(una): retransmit una; then send NextSeg as long as
//! (RFC 6675)      pipe < window. Ends at `recover`
//! RACK-TLP        by departure times: see `rack_tlp.rs`
//! ```
//!
//! After a timeout, `recover` is the highest segment sent. NewReno and SACK begin no recovery
//! before it is acknowledged, because duplicates may answer needless retransmissions (RFC 6582
//! §4.1, RFC 6675 §5.1). The timer restarts when a recovery begins; NewReno restarts it for the
//! first partial acknowledgement only (RFC 6582 §4, "impatient").

use super::scoreboard::{DUP_THRESH, Scoreboard};
use super::{Attention, Sender};
use crate::host::tcp::{Ack, Dialect, Recovery};
use whyloss::Time;
use whyloss::event::{AckEvent, Detection};

impl Sender {
    /// Handles an acknowledgement while the sender is alert, or one that makes it alert.
    #[cold]
    #[inline(never)]
    pub(super) fn on_ack_alert(&mut self, now: Time, ack: &Ack, stamped: Time) {
        if ack.next == self.una && self.una == self.max {
            // Nothing is outstanding, so the acknowledgement is not a duplicate.
            self.on_needless_ack(ack);
            return;
        }
        if self.attention == Attention::Pacing && ack.next > self.una && ack.sack.is_empty() {
            self.meter_delivery_below(now, ack.next);
            self.on_foreseen_ack(now, ack, stamped);
            return;
        }
        self.retransmit &= ack.next == self.una;
        self.meter_delivery(now, ack);
        if self.recovery == Recovery::Vegas {
            self.on_ack_vegas(now, ack, stamped);
        } else if self.recovery == Recovery::Rack {
            self.on_ack_by_time(now, ack, stamped);
        } else if self.recovery == Recovery::Sack {
            self.on_ack_selective(now, ack, stamped);
        } else if self.recovery == Recovery::FastRetransmit {
            self.on_ack_without_recovery(now, ack, stamped);
        } else if ack.next == self.una {
            self.on_duplicate(now, stamped);
        } else if !self.in_recovery {
            self.on_new_ack(now, ack, stamped, 0);
        } else if self.recovery == Recovery::NewReno && ack.next < self.recover {
            self.on_partial_ack(now, ack, stamped);
        } else {
            self.end_recovery(now, ack, stamped);
        }
        self.meter_losses(now);
        self.settle();
    }

    /// Returns the next segment to leave while the sender is alert.
    #[cold]
    #[inline(never)]
    pub(super) fn next_alert(&mut self, now: Time) -> Option<u64> {
        if self.rests(now) {
            return None;
        }
        let rate = self.pacing_rate();
        if !self.paced(now, rate) {
            return None;
        }
        let next = if self.attention == Attention::Pacing {
            self.next_in_order()
        } else if self.by_time.is_some() {
            self.next_by_time(now)
        } else {
            self.next_unpaced()
        };
        self.meter_sent(now, next, rate);
        if let (Some(vegas), Some(next)) = (&mut self.vegas, next) {
            vegas.sent.leave(next, now);
        }
        next
    }

    /// Returns the next segment in order, if the window allows it.
    #[inline]
    fn next_in_order(&mut self) -> Option<u64> {
        let next = self.nxt;
        (next < self.edge.min(self.segments)).then(|| {
            self.nxt += 1;
            next
        })
    }

    /// Returns the next segment that windows and losses allow.
    fn next_unpaced(&mut self) -> Option<u64> {
        if self.handshaking && self.nxt > self.una {
            return None;
        }
        if self.retransmit {
            self.retransmit = false;
            return Some(self.una);
        }
        let window = self.window_segments();
        if let Some(again) = self.meter_again(window) {
            return Some(again);
        }
        let limit = self.una.saturating_add(u64::from(self.receive_window));
        let limit = limit.min(self.segments);
        let next = match self.scoreboard.as_deref_mut() {
            Some(scoreboard) if self.in_recovery => {
                scoreboard.next_segment(self.dialect, window, self.una, self.nxt, limit)?
            }
            Some(scoreboard) if self.dialect == Dialect::Rfc && !scoreboard.is_empty() => {
                // A sacked segment needs no sending and is no longer in flight.
                let next = scoreboard.hole_from(self.nxt);
                let spares = self.limited_transmit || next < self.max;
                let spared = scoreboard.count_from(next) * u64::from(spares);
                let edge = self.edge.saturating_add(spared).min(limit);
                (next < edge).then_some(next)?
            }
            _ => (self.nxt < self.edge.min(limit)).then_some(self.nxt)?,
        };
        self.nxt = self.nxt.max(next + 1);
        Some(next)
    }

    /// Handles an acknowledgement of new data outside a recovery.
    fn on_new_ack(&mut self, now: Time, ack: &Ack, stamped: Time, sacked: u64) {
        self.duplicates = 0;
        self.advance(now, ack, stamped, sacked, self.is_echoed());
        self.restart_timer(now);
        self.open_window();
    }

    fn on_duplicate(&mut self, now: Time, stamped: Time) {
        self.count_duplicate(now, stamped, 0);
        if self.in_recovery {
            self.inflation = self.inflation.saturating_add(1);
            self.open_inflated();
        } else if self.duplicates == DUP_THRESH && self.may_begin_recovery() {
            self.begin_recovery(now, Detection::Duplicates);
            self.inflation = DUP_THRESH;
            self.open_inflated();
        } else if self.duplicates < DUP_THRESH {
            self.transmit_one();
        } else {
            self.open_window();
        }
    }

    /// Handles an acknowledgement under [`Recovery::FastRetransmit`], which only retransmits a lost
    /// segment.
    fn on_ack_without_recovery(&mut self, now: Time, ack: &Ack, stamped: Time) {
        if ack.next == self.una {
            self.count_duplicate(now, stamped, 0);
            if self.duplicates == DUP_THRESH {
                self.begin_recovery(now, Detection::Duplicates);
            }
            self.open_window();
            return;
        }
        if self.in_recovery {
            self.in_recovery = false;
            self.control.on_recovery_end(now, u64::MAX);
        }
        self.on_new_ack(now, ack, stamped, 0);
    }

    pub(super) fn count_duplicate(&mut self, now: Time, stamped: Time, sacked: u64) {
        if self.duplicates == 0 {
            self.nxt_before = self.nxt;
        }
        self.duplicates = self.duplicates.saturating_add(1);
        self.tell_duplicate(now, stamped, sacked);
    }

    pub(super) fn tell_duplicate(&mut self, now: Time, stamped: Time, sacked: u64) {
        let event = AckEvent::new(now, self.segment_size)
            .sacked(sacked)
            .acknowledged(self.bytes(self.una))
            .in_flight(self.bytes(self.nxt - self.una))
            .window(self.usable_window())
            .receiver_stamp(self.stamp(stamped))
            .app_limited(self.nxt >= self.segments)
            .in_recovery(self.in_recovery);
        self.tell(&event);
    }

    /// Allows one new segment by limited transmit (RFC 3042), at most `duplicates` beyond the
    /// window.
    pub(super) fn transmit_one(&mut self) {
        let window = self.window_segments();
        self.open_to(window.saturating_add(u64::from(self.duplicates)));
        let one = self.nxt + u64::from(self.limited_transmit);
        self.edge = self.edge.min(one);
    }

    fn may_begin_recovery(&self) -> bool {
        let repaired = self.una > self.recover || self.recover == 0;
        match (self.recovery, self.dialect) {
            (Recovery::Reno, Dialect::Rfc) => true,
            (Recovery::Sack, Dialect::Rfc) => self.una >= self.recover,
            _ => repaired,
        }
    }

    pub(super) fn begin_recovery(&mut self, now: Time, detection: Detection) {
        self.fast_recoveries += 1;
        self.in_recovery = true;
        self.retransmit = true;
        self.first_partial = true;
        self.deflation = 0;
        self.recover = self.max;
        // Excludes segments that limited transmit sent (RFC 5681 §3.2 step 2).
        let in_flight = self.nxt_before.saturating_sub(self.una);
        let loss = self.loss_event(now, detection, in_flight);
        let cause = self.classify(&loss, self.una);
        if !self.was_cut_by_mark(self.una) {
            self.control.on_loss(&loss, cause);
        }
        self.note_cut(Some(detection));
        self.timed_sequence = super::UNTIMED;
        self.restart_timer(now);
    }

    /// Opens the window of a fast recovery, with its inflation and deflation.
    fn open_inflated(&mut self) {
        let window = self.deflated_window() / u64::from(self.segment_size);
        self.open_to(window.saturating_add(u64::from(self.inflation)));
        if (self.dialect, self.recovery) == (Dialect::Ns2, Recovery::NewReno) {
            self.edge = self.edge.min(self.nxt + 2);
        }
    }

    fn on_partial_ack(&mut self, now: Time, ack: &Ack, stamped: Time) {
        let acked = u32::try_from(ack.next - self.una).unwrap_or(u32::MAX);
        self.advance(now, ack, stamped, 0, true);
        // The window shrinks by the acknowledged segments, except one. Those that duplicates had
        // added go first.
        let from_inflation = (acked - 1).min(self.inflation.saturating_sub(1));
        self.inflation -= from_inflation;
        // The rest comes off the controller's window.
        let own = acked - 1 - from_inflation;
        self.deflation = self.deflation.saturating_add(own);
        self.retransmit = true;
        if self.first_partial {
            self.first_partial = false;
            self.restart_timer(now);
        }
        self.open_inflated();
    }

    fn end_recovery(&mut self, now: Time, ack: &Ack, stamped: Time) {
        self.in_recovery = false;
        self.duplicates = 0;
        self.inflation = 0;
        match self.dialect {
            Dialect::Rfc => {
                self.advance(now, ack, stamped, 0, true);
                let at_most = if self.recovery == Recovery::NewReno {
                    self.bytes((self.nxt - self.una).max(1) + 1)
                } else {
                    u64::MAX
                };
                self.control.on_recovery_end(now, at_most);
            }
            Dialect::Ns2 => {
                self.apply_deflation(now);
                self.advance(now, ack, stamped, 0, self.is_echoed());
            }
        }
        self.deflation = 0;
        self.conclude(now);
        self.restart_timer(now);
        self.open_window();
    }

    /// Subtracts the deflation by partial acknowledgements from the congestion window, as ns-2
    /// does, unless the window was spared (MIL-2, MAR-3).
    pub(super) fn apply_deflation(&mut self, now: Time) {
        if self.dialect == Dialect::Ns2 {
            let at_most = if self.control.spares_losses() {
                u64::MAX
            } else {
                self.deflated_window()
            };
            self.control.on_recovery_end(now, at_most);
        }
        self.deflation = 0;
    }

    /// Returns the controller's window minus the deflation by partial acknowledgements; at least a
    /// segment.
    fn deflated_window(&self) -> u64 {
        let deflated = self.bytes(u64::from(self.deflation));
        let window = self.control.window().saturating_sub(deflated);
        window.max(u64::from(self.segment_size))
    }

    fn on_ack_selective(&mut self, now: Time, ack: &Ack, stamped: Time) {
        let duplicate = ack.next == self.una;
        let ns2 = self.dialect == Dialect::Ns2;
        if ns2 && !self.in_recovery {
            if duplicate && self.una_at_timeout == self.una {
                return;
            }
            if !duplicate {
                self.clear_scoreboard();
                self.on_new_ack(now, ack, stamped, 0);
                return;
            }
        }
        let max = self.max;
        let sacked = self.scoreboard.get_or_insert_default().update(ack, max);
        let sacked_bytes = self.bytes(sacked);
        if self.in_recovery {
            self.on_recovery_ack_selective(now, ack, stamped, sacked_bytes);
        } else if !duplicate {
            self.on_new_ack(now, ack, stamped, sacked_bytes);
        } else if sacked > 0 {
            self.count_duplicate(now, stamped, sacked_bytes);
            let lost = |board: &Scoreboard| board.lost_below() > self.una;
            let found = if ns2 {
                self.duplicates == DUP_THRESH
            } else {
                self.duplicates >= DUP_THRESH || self.scoreboard.as_deref().is_some_and(lost)
            };
            if found && self.may_begin_recovery() {
                self.begin_recovery(now, Detection::Duplicates);
                let una = self.una;
                if let Some(scoreboard) = &mut self.scoreboard {
                    scoreboard.begin(una);
                    if ns2 {
                        scoreboard.pipe = (max - una) as i64 - i64::from(DUP_THRESH);
                    } else {
                        scoreboard.set_pipe(una, max);
                    }
                }
            } else if ns2 {
                if self.duplicates < DUP_THRESH {
                    self.transmit_one();
                } else {
                    self.edge = self.nxt;
                }
            } else {
                self.open_window();
            }
        }
    }

    fn on_recovery_ack_selective(&mut self, now: Time, ack: &Ack, stamped: Time, sacked: u64) {
        let duplicate = ack.next == self.una;
        let ns2 = self.dialect == Dialect::Ns2;
        if duplicate {
            self.tell_duplicate(now, stamped, sacked);
        } else {
            self.advance(now, ack, stamped, sacked, true);
            self.restart_timer(now);
        }
        if self.una >= self.recover {
            self.in_recovery = false;
            self.duplicates = 0;
            self.control.on_recovery_end(now, u64::MAX);
            self.conclude(now);
            if ns2 {
                self.recover = 0;
                self.clear_scoreboard();
            }
            self.open_window();
            return;
        }
        let (una, max) = (self.una, self.max);
        if let Some(scoreboard) = &mut self.scoreboard {
            if ns2 {
                scoreboard.pipe -= if duplicate { 1 } else { 2 };
            } else {
                scoreboard.set_pipe(una, max);
            }
        }
        if ns2 && !duplicate {
            self.rto.end_back_off();
        }
    }

    fn clear_scoreboard(&mut self) {
        if let Some(scoreboard) = &mut self.scoreboard {
            scoreboard.clear();
        }
    }
}
