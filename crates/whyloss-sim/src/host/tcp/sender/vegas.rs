//! Vegas's recovery (Brakmo & Peterson 1995, section 3.1): finds losses by a fine-grained timeout
//! in addition to the third duplicate.
//!
//! ```text
//! each duplicate                        una is lost if it left longer ago than the fine-grained timeout, or at the
//!                                       third: retransmit una; the window is the controller's + the duplicates, and
//!                                       each later one adds a segment, until new data is acknowledged
//! first and second new acknowledgement  the next segment is also lost if it left longer ago than that: retransmit it;
//! after a retransmission                otherwise the second acknowledgement is not checked. The window stays
//! ```
//!
//! There are no partial acknowledgements: each new one ends a recovery. The controller receives
//! every loss found at a duplicate, with the segment's last departure and its number of departures.
//! It cuts the window for segments that left after the last cut. After a timeout, duplicates of
//! earlier segments do not indicate a loss.

use super::Sender;
use super::scoreboard::DUP_THRESH;
use super::sent::SentLog;
use crate::host::tcp::{Ack, Dialect, Recovery};
use whyloss::Time;
use whyloss::event::Detection;

/// The state that only TCP Vegas needs.
#[derive(Clone, Debug, Default)]
pub(super) struct Vegas {
    pub(super) sent: SentLog,
    /// The number of new acknowledgements that are still to be checked after a retransmission.
    worried: u8,
    /// Whether the last loss was found by the retransmission timer.
    after_timeout: bool,
}

impl Sender {
    /// Handles an acknowledgement of TCP Vegas.
    pub(super) fn on_ack_vegas(&mut self, now: Time, ack: &Ack, stamped: Time) {
        if ack.next == self.una {
            self.on_duplicate_vegas(now, stamped);
        } else {
            self.on_new_ack_vegas(now, ack, stamped);
        }
    }

    /// Handles the expiry of the retransmission timer. As in ns-2, halves the window including its
    /// inflation by duplicates.
    pub(super) fn on_timeout_vegas(&mut self) {
        self.fold_inflation();
        if let Some(vegas) = &mut self.vegas {
            vegas.after_timeout = true;
            if self.dialect == Dialect::Rfc {
                vegas.worried = 0;
            }
        }
    }

    /// Returns how many segments are sent alone: ns-2's Vegas opens its window with the second
    /// acknowledgement.
    pub(super) fn handshake_length(&self) -> u64 {
        match (self.recovery, self.dialect) {
            (Recovery::Vegas, Dialect::Ns2) => 2,
            _ => 1,
        }
    }

    fn on_new_ack_vegas(&mut self, now: Time, ack: &Ack, stamped: Time) {
        let ns2 = self.dialect == Dialect::Ns2;
        let was_in_recovery = self.in_recovery;
        if ns2 && self.duplicates <= DUP_THRESH {
            self.fold_inflation();
        } else if ns2 || was_in_recovery {
            let inflation = if ns2 { u64::from(self.inflation) } else { 0 };
            let inflated = u64::from(self.segment_size) * inflation;
            let at_most = self.cwnd().saturating_add(inflated);
            self.control.on_recovery_end(now, at_most);
        }
        self.in_recovery = false;
        self.duplicates = 0;
        self.inflation = 0;
        self.measure(now, ack);
        let vegas = self.vegas.as_mut();
        let rtt = vegas.and_then(|vegas| vegas.sent.acknowledge(now, ack.next));
        if let Some(rtt) = rtt {
            self.note_rtt(rtt);
        }
        let in_recovery = (was_in_recovery && !ns2) || self.is_echoed();
        self.advance_with(now, ack, stamped, 0, in_recovery, rtt);
        self.restart_timer(now);
        let expired = self.has_expired(now) || (ns2 && self.is_idle());
        if let Some(vegas) = &mut self.vegas
            && vegas.worried > 0
        {
            vegas.worried = if expired { vegas.worried - 1 } else { 0 };
            if expired {
                self.nxt_before = self.nxt;
                self.duplicates = DUP_THRESH;
                self.in_recovery = true;
                self.retransmit = true;
            }
        }
        self.open_inflated_vegas();
    }

    fn on_duplicate_vegas(&mut self, now: Time, stamped: Time) {
        self.count_duplicate(now, stamped, 0);
        let expired = self.has_expired(now);
        let ns2 = self.dialect == Dialect::Ns2;
        if expired || self.duplicates == DUP_THRESH {
            if self.may_find_loss() {
                let detection = if expired {
                    Detection::TimeThreshold
                } else {
                    Detection::Duplicates
                };
                self.begin_recovery_vegas(now, detection);
            }
        } else if self.duplicates > DUP_THRESH && (ns2 || self.in_recovery) {
            self.inflation = self.inflation.saturating_add(1);
            self.open_inflated_vegas();
        } else if !self.in_recovery && self.duplicates < DUP_THRESH {
            self.transmit_one();
        }
    }

    fn begin_recovery_vegas(&mut self, now: Time, detection: Detection) {
        let ns2 = self.dialect == Dialect::Ns2;
        let again = self.in_recovery;
        self.fast_recoveries += 1;
        self.in_recovery = true;
        self.retransmit = true;
        self.recover = self.max;
        if let Some(vegas) = &mut self.vegas {
            vegas.worried = 2;
            vegas.after_timeout = false;
        }
        let in_flight = self.nxt_before.saturating_sub(self.una);
        let mut loss = self.loss_event(now, detection, in_flight);
        if ns2 {
            let inflation = self.bytes(u64::from(self.inflation));
            loss.window = loss.window.saturating_add(inflation);
        }
        let cause = self.classify(&loss, self.una);
        if !self.was_cut_by_mark(self.una) {
            self.control.on_loss(&loss, cause);
        }
        self.note_cut(Some(detection));
        if ns2 {
            if self
                .control
                .controller()
                .vegas()
                .and_then(whyloss::congestion::Vegas::last_cut)
                == Some(now)
            {
                self.inflation = self.duplicates;
            }
            if loss.transmissions == 1 {
                self.duplicates = DUP_THRESH;
            }
            self.rto.back_off();
        } else {
            self.inflation = if again {
                self.inflation.saturating_add(1)
            } else {
                self.duplicates
            };
            self.duplicates = self.duplicates.max(DUP_THRESH);
        }
        self.timed_sequence = super::UNTIMED;
        self.restart_timer(now);
        self.open_inflated_vegas();
    }

    /// Returns whether segment `una` has been in flight for longer than the fine-grained timeout.
    fn has_expired(&self, now: Time) -> bool {
        let departures = self.vegas.as_ref().and_then(|v| v.sent.of(self.una));
        let timeout = self.fine_timeout();
        match (departures, timeout) {
            (Some(departures), Some(timeout)) => now - departures.last >= timeout,
            _ => false,
        }
    }

    /// Returns whether nothing is in flight although there is something to send.
    fn is_idle(&self) -> bool {
        self.una == self.max && self.una < self.segments
    }

    fn may_find_loss(&self) -> bool {
        let after_timeout = self.vegas.as_ref().is_some_and(|v| v.after_timeout);
        !after_timeout || self.una > self.recover
    }

    fn open_inflated_vegas(&mut self) {
        let window = self.window_segments();
        self.open_to(window.saturating_add(u64::from(self.inflation)));
    }

    /// Makes the inflation by up to three duplicates permanent, as ns-2 does.
    fn fold_inflation(&mut self) {
        if self.dialect == Dialect::Ns2 && self.inflation > 0 {
            let inflation = self.bytes(u64::from(self.inflation));
            let controller = &mut self.control;
            let (window, ssthresh) = (controller.window(), controller.ssthresh());
            controller.set_window(window.saturating_add(inflation), ssthresh);
            self.inflation = 0;
        }
    }
}
