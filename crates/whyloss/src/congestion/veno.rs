//! TCP Veno: Reno that reacts to its own backlog (Fu & Liew, IEEE JSAC 21(2), 2003).
//!
//! ```text
//! backlog           N = w − w·BaseRTT/RTT                                                     [segments]
//! acknowledgement   N < β: cwnd += SMSS²/cwnd;  else cwnd += SMSS²/(2·cwnd)       [bytes; slow start as Reno]
//! loss, timeout     N < β: ssthresh = max(4/5·w, 2·SMSS);  else max(w/2, 2·SMSS);  cwnd = ssthresh or SMSS
//! ```
//!
//! w is the window, β = 3 segments, BaseRTT the smallest round-trip time so far, RTT the smallest
//! of the last round. With a small backlog, a loss is more likely random than caused by a full
//! queue. Before RTT is known, Veno acts as Reno.
//!
//! The paper's text was not available. This file follows Linux's module, with three differences.
//! Linux restarts a round at every acknowledgement, so its "last round" is the latest sample
//! ([`BacklogRtt::Latest`]); here it is a round trip. Here, round trips measured during a recovery
//! count only for BaseRTT. In Linux, N is zero at first, so an early loss counts as random.
//!
//! A repeated timeout keeps ssthresh, as in RFC 5681. For the same decrease with another
//! controller, use the classifier `veno` with
//! [`WirelessPolicy::Percent`](super::WirelessPolicy::Percent) of 80.

use super::window::by_window;
use super::{Controller, Start, Window, may_grow};
use crate::event::{AckEvent, LossEvent};
use crate::{Duration, Time};

/// The threshold β: with a backlog of fewer segments, a loss counts as random.
const BETA: u64 = 3;

/// The round-trip time that the backlog is computed from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum BacklogRtt {
    /// The smallest round-trip time of the last round.
    #[default]
    LastRound,
    /// The latest round-trip time, as in Linux and in ns-2's `linux-veno`. A delayed
    /// acknowledgement or a burst of the sender's own then looks like a backlog.
    Latest,
}

/// TCP Veno (Fu & Liew 2003): Reno with a backlog estimate. At a backlog of three segments or more
/// it grows half as fast; at a smaller one, a loss cuts the window only by a fifth.
/// [`crate::schemes::veno`] has the formula.
#[derive(Clone, Debug)]
pub struct Veno {
    window: Window,
    round_trip: BacklogRtt,
    /// BaseRTT; [`Duration::MAX`] before the first sample.
    base_rtt: Duration,
    /// The smallest round-trip time of the last round that measured one; [`Duration::MAX`] before
    /// it.
    last_round: Duration,
    /// The smallest round-trip time of the current round; [`Duration::MAX`] before its first
    /// sample.
    this_round: Duration,
    /// The offset whose acknowledgement ends the round.
    round_end: u64,
}

impl Veno {
    /// Creates the controller in slow start.
    pub fn new(start: &Start, round_trip: BacklogRtt) -> Self {
        Self {
            window: Window::new(start),
            round_trip,
            base_rtt: Duration::MAX,
            last_round: Duration::MAX,
            this_round: Duration::MAX,
            round_end: 0,
        }
    }

    /// Returns whether N < β for this window in bytes; `None` before the first round trip.
    fn uncongested(&self, window: u64) -> Option<bool> {
        if self.last_round == Duration::MAX {
            return None;
        }
        let bytes_times =
            |bytes: u64, span: Duration| i128::from(bytes) * i128::from(span.as_nanos());
        let queued = self.last_round - self.base_rtt;
        let beta = BETA * self.window.segment();
        Some(bytes_times(window, queued) < bytes_times(beta, self.last_round))
    }

    fn measure(&mut self, ack: &AckEvent) {
        if let Some(rtt) = ack.rtt {
            self.base_rtt = self.base_rtt.min(rtt);
            if !ack.in_recovery {
                self.this_round = self.this_round.min(rtt);
            }
        }
        if self.round_trip == BacklogRtt::Latest || ack.acknowledged >= self.round_end {
            self.round_end = ack.acknowledged.saturating_add(ack.in_flight);
            if self.this_round < Duration::MAX {
                self.last_round = self.this_round;
                self.this_round = Duration::MAX;
            }
        }
    }

    fn reduced(&self, loss: &LossEvent) -> u64 {
        let window = match self.uncongested(loss.window) {
            Some(true) => loss.window - loss.window.div_ceil(5),
            _ => loss.window / 2,
        };
        window.max(2 * self.window.segment())
    }
}

impl Controller for Veno {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        self.measure(ack);
        if !may_grow(ack) {
            return;
        }
        if self.window.in_slow_start() {
            self.window.slow_start(ack.acked);
        } else {
            let congested = self.uncongested(self.window.cwnd()) == Some(false);
            self.window
                .avoid_congestion(ack.acked, 1 + u64::from(congested));
        }
    }

    fn on_loss(&mut self, loss: &LossEvent) {
        let window = self.reduced(loss);
        self.window.set(window, window);
    }

    fn on_recovery_end(&mut self, _now: Time, at_most: u64) {
        self.window.limit(at_most);
    }

    fn on_timeout(&mut self, loss: &LossEvent) {
        let ssthresh = if loss.repeated {
            self.window.ssthresh()
        } else {
            self.reduced(loss)
        };
        self.window.set(0, ssthresh);
    }

    fn on_mtu_change(&mut self, segment_size: u32) {
        self.window.resize(segment_size);
    }

    by_window!();
}

#[cfg(test)]
mod tests {
    use super::super::tests::{START, ack, loss};
    use super::*;

    /// Returns Veno with a window of 30 segments, after a round of 100 ms and one of `rtt_ms`.
    fn after(rtt_ms: i64) -> Veno {
        let mut veno = Veno::new(&START, BacklogRtt::LastRound);
        for (acknowledged, rtt) in [(0, 100), (1000, rtt_ms)] {
            tell(&mut veno, acknowledged, rtt);
        }
        veno.set_window(30_000, 15_000);
        veno
    }

    /// Passes a duplicate with 1000 bytes in flight and returns the smallest round-trip time of the
    /// last round.
    fn tell(veno: &mut Veno, acknowledged: u64, rtt_ms: i64) -> Duration {
        veno.on_ack(&AckEvent {
            rtt: Some(Duration::from_millis(rtt_ms)),
            acknowledged,
            in_flight: 1000,
            ..ack(0)
        });
        veno.last_round
    }

    #[test]
    fn a_round_ends_when_what_was_under_way_is_acknowledged() {
        let ms = Duration::from_millis;
        let told = |round_trip| {
            let mut veno = Veno::new(&START, round_trip);
            // The first acknowledgement is a separate round. The next round lasts until 2000 is
            // acknowledged.
            let samples = [(1000, 100), (1500, 130), (1800, 120), (2000, 140)];
            samples.map(|(acknowledged, rtt)| tell(&mut veno, acknowledged, rtt))
        };
        assert_eq!(
            told(BacklogRtt::LastRound),
            [ms(100), ms(100), ms(100), ms(120)]
        );
        assert_eq!(
            told(BacklogRtt::Latest),
            [ms(100), ms(130), ms(120), ms(140)]
        );
    }

    #[test]
    fn a_small_backlog_loses_a_fifth() {
        // N = 30 − 30·100/RTT: 2.97 segments at 111 ms, 3.21 at 112 ms.
        for (rtt_ms, window) in [(100, 24_000), (111, 24_000), (112, 15_000)] {
            let mut veno = after(rtt_ms);
            veno.on_loss(&loss(30_000, 30_000));
            assert_eq!((veno.window(), veno.ssthresh()), (window, window));
            let mut veno = after(rtt_ms);
            veno.on_timeout(&loss(30_000, 30_000));
            assert_eq!((veno.window(), veno.ssthresh()), (1000, window));
        }
        let mut unmeasured = Veno::new(&START, BacklogRtt::LastRound);
        unmeasured.on_loss(&loss(30_000, 30_000));
        assert_eq!(unmeasured.window(), 15_000);
    }

    #[test]
    fn a_large_backlog_halves_the_pace() {
        // An acknowledgement adds 10⁶/30 000 = 33.3 bytes, so three add almost 100, or almost 50 at
        // half that pace.
        for (rtt_ms, grown) in [(111, 30_099), (112, 30_049)] {
            let mut veno = after(rtt_ms);
            for _ in 0..3 {
                veno.on_ack(&AckEvent {
                    acknowledged: 1000,
                    in_flight: 1000,
                    ..ack(1000)
                });
            }
            assert_eq!(veno.window(), grown);
        }
    }
}
