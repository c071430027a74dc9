//! Recovery by time: RACK finds losses, probes reveal lost tails, and PRR limits departures during
//! the recovery (RFC 8985, RFC 9937).
//!
//! ```text
//! acknowledgement  arrived segments → `rack.rs` → lost segments; the first of them begins a recovery
//! window           in a recovery what PRR allows, else pipe < cwnd; lost segments first, then new ones
//! timers           reordering, probe, retransmission; the last counts old departures as lost, and sends `una` again
//! ```
//!
//! Segments that left after a recovery or a timeout began may be lost. Their losses start another
//! recovery when the first one ends.

use super::Sender;
use super::probe::Probe;
use super::prr::Prr;
use super::rack::{Conditions, Rack};
use super::scoreboard::Scoreboard;
use crate::host::tcp::{Ack, RttSampling};
use whyloss::event::Detection;
use whyloss::{Duration, Time};

/// The state of recovery by time alone.
#[derive(Clone, Debug)]
pub(super) struct RackTlp {
    pub(super) rack: Rack,
    probe: Probe,
    prr: Prr,
    /// Whether segments sent before a timeout are being repaired.
    after_timeout: bool,
}

impl RackTlp {
    /// Creates the state for a receiver that delays acknowledgements by up to `ack_delay`.
    pub(super) fn new(ack_delay: Option<Duration>) -> Self {
        Self {
            rack: Rack::default(),
            probe: Probe::new(ack_delay),
            prr: Prr::default(),
            after_timeout: false,
        }
    }

    /// Returns when the reordering timer expires, or a probe is due.
    pub(super) fn next_timeout(&self) -> Time {
        self.rack.reordering_at.min(self.probe.at)
    }
}

impl Sender {
    /// Handles an acknowledgement when losses are found by time.
    pub(super) fn on_ack_by_time(&mut self, now: Time, ack: &Ack, stamped: Time) {
        let duplicate = ack.next == self.una;
        let Some(by_time) = &mut self.by_time else {
            return;
        };
        let board = self.scoreboard.get_or_insert_default();
        let delivered = by_time.rack.arrive(ack, board, self.max);
        let newest = by_time.rack.newest_arrival(now, ack.echo, self.min_rtt);
        let sacked = board.update(ack, self.max);
        let sacked_bytes = self.bytes(sacked);
        if !duplicate {
            self.duplicates = 0;
            let in_recovery = self.in_recovery || self.is_echoed();
            let rtt = self.measure_by_time(now, ack, newest.map(|(left, _)| left));
            self.advance_with(now, ack, stamped, sacked_bytes, in_recovery, rtt);
            self.restart_timer(now);
        } else if self.in_recovery {
            self.tell_duplicate(now, stamped, sacked_bytes);
        } else if sacked > 0 {
            self.count_duplicate(now, stamped, sacked_bytes);
        }
        let (una, nxt, min_rtt) = (self.una, self.nxt, self.min_rtt);
        let Some(by_time) = &mut self.by_time else {
            return;
        };
        by_time.rack.update(now, ack.echo, min_rtt);
        by_time.rack.adapt(ack.duplicate().is_some(), una, nxt);
        if !duplicate {
            by_time.probe.measured = true;
        }
        let repaired = by_time.probe.on_ack(ack, duplicate);
        self.end_repairs(now);
        self.find_losses(now, delivered, !duplicate);
        if let Some(repaired) = repaired
            && !self.in_recovery
        {
            self.on_repaired_by_probe(now, repaired);
        }
        if !duplicate {
            self.plan_probe(now);
        }
    }

    /// Measures the round trip of the echo for the timer. Returns the round trip of the newest
    /// arrival, which left at `newest`, because it excludes the receiver's delay.
    fn measure_by_time(&mut self, now: Time, ack: &Ack, newest: Option<Time>) -> Option<Duration> {
        let by_echo = self.measure(now, ack)?;
        let (RttSampling::EveryAck, Some(left)) = (self.rtt_sampling, newest) else {
            return Some(by_echo);
        };
        let (left, now) = self.ticks(left, now);
        let rtt = now.since(left);
        self.note_rtt(rtt);
        Some(rtt)
    }

    /// Handles an acknowledgement while nothing is outstanding, because it may answer a probe.
    pub(super) fn on_needless_ack(&mut self, ack: &Ack) {
        if let Some(by_time) = &mut self.by_time {
            by_time.probe.on_ack(ack, true);
            by_time
                .rack
                .adapt(ack.duplicate().is_some(), self.una, self.nxt);
        }
    }

    /// Handles the reordering timer or the probe timer, if one is due. Returns whether one was.
    pub(super) fn on_timers_by_time(&mut self, now: Time) -> bool {
        let Some(by_time) = &mut self.by_time else {
            return false;
        };
        if by_time.rack.reordering_at <= now {
            self.find_losses(now, 0, false);
            self.settle();
            return true;
        }
        if by_time.probe.at <= now {
            by_time.probe.expire();
            self.restart_timer(now);
            return true;
        }
        false
    }

    /// Handles the expiry of the retransmission timer.
    pub(super) fn on_timeout_by_time(&mut self, now: Time, reneged: bool) {
        let Some(by_time) = &mut self.by_time else {
            return;
        };
        by_time.rack.on_timeout(now, self.una, reneged);
        by_time.probe.reset();
        by_time.after_timeout = true;
        self.nxt = self.max;
        self.retransmit = true;
    }

    /// Returns the next segment to leave.
    pub(super) fn next_by_time(&mut self, now: Time) -> Option<u64> {
        let window = self.window_segments();
        let limit = self.una.saturating_add(u64::from(self.receive_window));
        let limit = limit.min(self.segments);
        let waits = self.handshaking && self.nxt > self.una;
        let spares = self.limited_transmit || self.in_recovery;
        let reduces = self.in_recovery && self.meter.is_none();
        let by_time = self.by_time.as_mut()?;
        let new = (self.nxt < limit && !waits).then_some(self.nxt);
        let probes = std::mem::take(&mut by_time.probe.leaves);
        let next = if std::mem::take(&mut self.retransmit) {
            self.una
        } else if probes {
            new.unwrap_or(self.max - 1)
        } else {
            let pipe = by_time.rack.pipe;
            let window = if reduces {
                by_time.prr.window()
            } else {
                window
            };
            if pipe >= window {
                return None;
            }
            let within = |next: &u64| spares || *next < self.edge;
            by_time.rack.next_lost().or(new.filter(within))?
        };
        by_time.rack.leave(next, now);
        by_time.prr.leave();
        let is_new = next == self.nxt;
        self.nxt = self.nxt.max(next + 1);
        if probes {
            by_time.probe.leave(self.nxt, !is_new);
            if !is_new {
                self.timed_sequence = super::UNTIMED;
            }
        } else if is_new {
            self.plan_probe(now);
        }
        Some(next)
    }

    /// Ends the recoveries that are over.
    fn end_repairs(&mut self, now: Time) {
        let Some(by_time) = &mut self.by_time else {
            return;
        };
        let repairs = self.in_recovery || by_time.after_timeout;
        if !repairs || self.una < self.recover {
            return;
        }
        by_time.rack.end_recovery();
        by_time.after_timeout = false;
        if std::mem::take(&mut self.in_recovery) {
            self.duplicates = 0;
            self.control.on_recovery_end(now, u64::MAX);
            self.conclude(now);
        }
        self.open_window();
    }

    /// Looks for losses after an acknowledgement that delivered `delivered` segments, or after the
    /// reordering timer (0). Begins a recovery if there are losses and none is in progress.
    fn find_losses(&mut self, now: Time, delivered: u64, advances: bool) {
        let sacked = self.scoreboard.as_deref().map_or(0, Scoreboard::count);
        let (min_rtt, srtt) = (self.min_rtt, self.srtt());
        let Some(by_time) = &mut self.by_time else {
            return;
        };
        let conditions = Conditions {
            min_rtt,
            srtt,
            in_recovery: self.in_recovery || by_time.after_timeout,
            sacked,
        };
        by_time.rack.detect(now, &conditions);
        let found = !by_time.rack.found.is_empty();
        // Losses that came after the last repair began and were not handled at its end.
        let left_over = by_time.rack.lost_end > self.una.max(self.recover);
        let repairs = self.in_recovery || by_time.after_timeout;
        if !repairs && (found || left_over) {
            self.begin_recovery_by_time(now, delivered, sacked);
        }
        self.meter_found(now);
        self.open_window();
        let ssthresh = self.window_segments();
        let Some(by_time) = &mut self.by_time else {
            return;
        };
        if self.in_recovery {
            let safe = advances && !found;
            let in_flight = by_time.rack.pipe;
            by_time.prr.on_ack(delivered, safe, in_flight, ssthresh);
        }
        if sacked > 0 || self.una == self.max {
            by_time.probe.cancel();
        }
    }

    fn begin_recovery_by_time(&mut self, now: Time, delivered: u64, sacked: u64) {
        if self.duplicates == 0 {
            self.nxt_before = self.nxt;
        }
        self.begin_recovery(now, Detection::TimeThreshold);
        // RACK decides which segment leaves first.
        self.retransmit = false;
        let recover_fs = (self.max - self.una + delivered).saturating_sub(sacked);
        if let Some(by_time) = &mut self.by_time {
            by_time.prr = Prr::begin(recover_fs);
            by_time.probe.reset();
        }
    }

    /// Handles the repair of this segment by a probe: a loss event without a recovery (RFC 8985
    /// §7.4).
    fn on_repaired_by_probe(&mut self, now: Time, repaired: u64) {
        self.judge.on_repaired(repaired);
        // The segments in flight when the repaired segment was retransmitted, itself included.
        let in_flight = self.nxt - repaired;
        let loss = self
            .loss_event(now, Detection::TimeThreshold, in_flight)
            .first(self.bytes(repaired));
        let cause = self.classify(&loss, repaired);
        if !self.was_cut_by_mark(repaired) {
            self.control.on_loss(&loss, cause);
            self.control.on_recovery_end(now, u64::MAX);
        }
        self.note_cut(Some(Detection::TimeThreshold));
        self.conclude(now);
        self.open_window();
    }

    /// Starts the probe's timer, unless something is being repaired or has been sacked.
    fn plan_probe(&mut self, now: Time) {
        let sacked = self.scoreboard.as_deref().is_some_and(|b| !b.is_empty());
        let lone = self.nxt - self.una == 1;
        let rto = if self.deadline == Time::MAX {
            now + self.rto.timeout()
        } else {
            self.deadline
        };
        let outstanding = self.nxt > self.una;
        if let (Some(srtt), Some(by_time)) = (self.rto.srtt(), &mut self.by_time)
            && outstanding
            && !(self.in_recovery || by_time.after_timeout || sacked)
        {
            by_time.probe.schedule(now, srtt, lone, rto);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tcp::{Options, Recovery, SackBlocks};

    /// An acknowledgement waits for a second segment, or for a hole. The round trip is that of the
    /// newest arrival, and the timer uses that of the echo.
    #[test]
    fn a_delayed_acknowledgement_measures_its_newest_segment() {
        let ms = |millis: u64| Time::from_nanos(millis * 1_000_000);
        for (next, block) in [(2, None), (1, Some(2..3))] {
            let mut sender = Sender::new(&Options {
                recovery: Recovery::Rack,
                initial_window: 3,
                ..Options::rfc(1000)
            });
            for at in [0, 10, 20] {
                assert!(sender.poll_transmit(ms(at)).is_some());
            }
            let ack = Ack {
                next,
                echo: ms(0),
                sack: SackBlocks::new(next, block.clone()),
            };
            let newest = if block.is_some() { 20 } else { 10 };
            sender.on_ack(ms(130), &ack, ms(130));
            assert_eq!(sender.latest_rtt, Duration::from_millis(130 - newest));
            assert_eq!(sender.srtt(), Some(Duration::from_millis(130)));
        }
    }
}
