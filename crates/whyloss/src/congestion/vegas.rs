//! TCP Vegas: the window follows the difference between the rate that an empty network would allow
//! and the actual rate. From Brakmo & Peterson, *TCP Vegas: End to End Congestion Avoidance on a
//! Global Internet*, IEEE JSAC 13(8), 1995.
//!
//! ```text
//! round      from one segment's departure to its acknowledgement; RTT: the mean of the round's samples
//! Diff       (Expected − Actual)·BaseRTT = flight − sent·BaseRTT/RTT                               [bytes]
//!            flight: bytes in flight before the acknowledgement; sent: in the round; BaseRTT: the smallest RTT
//! slow start every other round: Diff > γ: ssthresh = 2·SMSS, cwnd −= cwnd/8; else cwnd += SMSS per acknowledgement
//! avoidance  Diff < α: cwnd += SMSS over the round; Diff > β: cwnd −= SMSS, at least 2·SMSS remain; else it stays
//!            α = 1, β = 3, γ = 1 segments; cwnd grows only while less than two more segments fit into it
//! loss       of a packet that left after the last cut: of W whole segments remain ⌈3W/4⌉, ⌊W/2⌋ if the packet was
//!            sent more than once, 2 if W ≤ 3
//! timer      expired: ssthresh = cwnd/2, at least 2·SMSS, and cwnd = 2·SMSS
//! fine       (SRTT + 2·DEV)·17/16, gains 1/8 and 1/4; after the first sample R: SRTT = R, DEV = R/4, timeout 3R/2.
//! timeout    At a loss ×2 if the packet was sent more than once, else +1/8, until the next sample [ns]
//! ```
//!
//! The paper does not print the constants of the fine-grained timeout, of the end of slow start and
//! of the loss. These are from the NetBSD implementation in ns-2 2.35 (`tcp-vegas.cc`).
//! [`VegasDialect::Ns2`] adds ns-2's departures from the paper.
//!
//! A spared loss ([`Spared::Wholly`]) changes neither the window nor the timeout (MIL-6);
//! [`Spared::Window`] lets the timeout grow (MIL-8).

use super::{Controller, Spared, Start};
use crate::event::{AckEvent, LossEvent};
use crate::{Duration, Time};

/// The threshold α: below this number of segments in the network's queues, the window grows.
const ALPHA: i128 = 1;
/// The threshold β: above it, the window shrinks.
const BETA: i128 = 3;
/// The threshold γ: above it, slow start ends.
const GAMMA: i128 = 1;
/// The longest round trip that counts, 13 days; keeps all sums far from overflow.
const LONGEST_RTT: i64 = 1 << 50;

/// Selects the implementation of Vegas to follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum VegasDialect {
    /// The Vegas of the paper. A cut ends slow start.
    #[default]
    Paper,
    /// The Vegas of ns-2 2.35, which departs from the paper:
    /// - Diff is rounded to whole segments, so the window grows below half a segment and shrinks at
    ///   3½ or more;
    /// - the RTT of a round with a single segment becomes the BaseRTT, even if it is larger;
    /// - the end of a recovery, not its beginning, ends slow start;
    /// - at the end of a recovery, the window falls to the value after the last *cut*, even if this
    ///   recovery made no cut. A timeout counts as a cut to nothing (ns-2 then waits for the timer;
    ///   here a segment remains). A spared loss, or a loss from before the last cut, therefore
    ///   costs the growth since that cut. A sender whose losses are all spared falls to one segment
    ///   at every recovery.
    Ns2,
}

/// How the window grows until the round ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Growth {
    None,
    /// The window grows by a segment per acknowledgement.
    SlowStart,
    /// The window grows by a segment for this many acknowledged bytes, which are the window at the
    /// start of the round.
    Linear(u64),
}

/// TCP Vegas (Brakmo & Peterson 1995): a window that follows the difference between the expected
/// and the actual rate.
///
/// Diff = flight − sent·BaseRTT/RTT estimates how many of its own bytes wait in queues. Once per
/// round trip, the window grows by a segment if Diff is below one segment, and shrinks by one if it
/// is above three. A loss leaves three quarters of the window. [`crate::schemes::vegas`] defines
/// the scheme.
#[derive(Clone, Debug)]
pub struct Vegas {
    dialect: VegasDialect,
    segment: u64,
    cwnd: u64,
    ssthresh: u64,
    growth: Growth,
    /// The part of linear growth that is less than a byte of cwnd, in bytes².
    credit: u64,
    /// Whether slow start grew the window in the previous round.
    grew: bool,
    /// BaseRTT; `None` before the first sample.
    base_rtt: Option<Duration>,
    /// The round ends when a byte after this offset is acknowledged.
    round: u64,
    round_began: Time,
    /// The sum of the round's samples in ns, and their count.
    rtts: (i64, i64),
    /// 8·SRTT, in ns.
    srtt: i64,
    /// 4·DEV, in ns.
    dev: i64,
    fine_timeout: Duration,
    last_cut: Option<Time>,
    /// The window after the last cut; 0 before the first.
    cut_to: u64,
}

impl Vegas {
    /// Creates Vegas in slow start.
    pub fn new(start: &Start, dialect: VegasDialect) -> Self {
        let segment = u64::from(start.segment_size.max(1));
        Self {
            dialect,
            segment,
            cwnd: start.initial_window.max(segment),
            ssthresh: start.initial_ssthresh,
            growth: Growth::None,
            credit: 0,
            grew: true,
            base_rtt: None,
            round: 0,
            round_began: Time::ZERO,
            rtts: (0, 0),
            srtt: 0,
            dev: 0,
            fine_timeout: Duration::ZERO,
            last_cut: None,
            cut_to: 0,
        }
    }

    /// Returns the fine-grained timeout. A packet in flight for longer counts as lost at the first
    /// duplicate, and at the first two acknowledgements after a retransmission. `None` before the
    /// first sample.
    #[inline]
    pub fn fine_timeout(&self) -> Option<Duration> {
        self.base_rtt.map(|_| self.fine_timeout)
    }

    /// Returns the time of the last window cut; `None` before the first. Only packets sent later
    /// can cut it again.
    pub fn last_cut(&self) -> Option<Time> {
        self.last_cut
    }

    /// Stores the first sample, the base of later comparisons.
    fn begin(&mut self, now: Time, rtt: Duration) {
        self.base_rtt = Some(rtt);
        self.srtt = 8 * rtt.as_nanos();
        self.dev = rtt.as_nanos();
        self.fine_timeout = rtt + rtt / 2;
        self.round_began = now - rtt;
    }

    /// Ends a round: compares the rates and decides about the next round.
    fn end_round(&mut self, ack: &AckEvent, base_rtt: Duration) {
        let next = ack.acknowledged.saturating_add(ack.in_flight);
        let (sum, count) = core::mem::take(&mut self.rtts);
        let rtt = match count {
            0 => (ack.now - self.round_began).as_nanos(),
            _ => sum / count,
        };
        if rtt > 0 {
            let sent = next - self.round;
            let alone = self.dialect == VegasDialect::Ns2 && sent <= self.segment;
            let base_rtt = if alone || rtt < base_rtt.as_nanos() {
                Duration::from_nanos(rtt)
            } else {
                base_rtt
            };
            self.base_rtt = Some(base_rtt);
            let flight = i128::from(ack.in_flight) + i128::from(self.segment);
            let actual = i128::from(sent) * i128::from(base_rtt.as_nanos()) / i128::from(rtt);
            self.decide(flight - actual);
        }
        self.round = next;
        self.round_began = ack.now;
    }

    /// Decides the next round from `diff` bytes in the network's queues.
    fn decide(&mut self, diff: i128) {
        let segment = i128::from(self.segment);
        let diff = match self.dialect {
            VegasDialect::Paper => diff,
            VegasDialect::Ns2 => (diff + segment / 2) / segment * segment,
        };
        self.growth = Growth::None;
        if self.cwnd < self.ssthresh {
            self.grew = !self.grew;
            if self.grew && diff > GAMMA * segment {
                self.ssthresh = 2 * self.segment;
                self.shrink_by(self.cwnd / 8);
            } else if self.grew {
                self.growth = Growth::SlowStart;
            }
        } else if diff > BETA * segment {
            self.shrink_by(self.segment);
        } else if diff < ALPHA * segment {
            self.growth = Growth::Linear(self.cwnd);
        }
    }

    fn shrink_by(&mut self, bytes: u64) {
        self.cwnd = self.cwnd.saturating_sub(bytes).max(2 * self.segment);
    }

    fn grow(&mut self, ack: &AckEvent) {
        if self.cwnd > ack.in_flight.saturating_add(3 * self.segment) {
            return;
        }
        match self.growth {
            Growth::SlowStart if self.cwnd >= self.ssthresh => self.growth = Growth::None,
            Growth::SlowStart => self.cwnd = self.cwnd.saturating_add(self.segment),
            Growth::Linear(window) => {
                let credit = (self.segment * self.segment).saturating_add(self.credit);
                self.credit = credit % window;
                self.cwnd = self.cwnd.saturating_add(credit / window);
            }
            Growth::None => {}
        }
    }

    fn sample(&mut self, rtt: Duration) {
        self.base_rtt = self.base_rtt.map(|base| base.min(rtt));
        let rtt = rtt.as_nanos();
        self.rtts = (self.rtts.0.saturating_add(rtt), self.rtts.1 + 1);
        let error = rtt - self.srtt / 8;
        self.srtt += error;
        self.dev += error.abs() - self.dev / 4;
        let timeout = (self.srtt / 4).midpoint(self.dev);
        self.fine_timeout = Duration::from_nanos(timeout + timeout / 16);
    }

    fn extend_timeout(&mut self, loss: &LossEvent) {
        self.fine_timeout = if loss.transmissions > 1 {
            self.fine_timeout * 2
        } else {
            self.fine_timeout + self.fine_timeout / 8
        };
    }
}

impl Controller for Vegas {
    fn on_ack(&mut self, ack: &AckEvent) {
        if ack.acked == 0 {
            return;
        }
        let longest = Duration::from_nanos(LONGEST_RTT);
        let rtt = ack.rtt.filter(|rtt| *rtt > Duration::ZERO);
        let mut rtt = rtt.map(|rtt| rtt.min(longest));
        if self.base_rtt.is_none()
            && let Some(first) = rtt.take()
        {
            self.begin(ack.now, first);
        }
        let Some(base_rtt) = self.base_rtt else {
            return;
        };
        if ack.acknowledged > self.round {
            self.end_round(ack, base_rtt);
        }
        if !ack.in_recovery {
            self.grow(ack);
        }
        if let Some(rtt) = rtt {
            self.sample(rtt);
        }
    }

    fn on_loss(&mut self, loss: &LossEvent) {
        self.extend_timeout(loss);
        if let (Some(sent), Some(cut)) = (loss.sent, self.last_cut)
            && sent <= cut
        {
            return;
        }
        let window = loss.window / self.segment;
        let remaining = match window {
            0..=3 => 2,
            _ if loss.transmissions > 1 => window / 2,
            _ => window - window / 4,
        };
        self.cwnd = remaining.saturating_mul(self.segment);
        self.cut_to = self.cwnd;
        self.last_cut = Some(loss.now);
        self.credit = 0;
        if self.dialect == VegasDialect::Paper {
            self.ssthresh = 2 * self.segment;
            self.growth = Growth::None;
        }
    }

    fn on_spared_loss(&mut self, loss: &LossEvent, spared: Spared) {
        if spared == Spared::Window {
            self.extend_timeout(loss);
            self.cut_to = self.cut_to.max(self.cwnd);
        }
    }

    fn on_recovery_end(&mut self, _now: Time, at_most: u64) {
        let cwnd = match self.dialect {
            VegasDialect::Paper => self.cwnd.min(at_most),
            VegasDialect::Ns2 => self.cut_to.min(at_most),
        };
        if self.dialect == VegasDialect::Ns2 && at_most > self.cut_to {
            self.ssthresh = 2 * self.segment;
        }
        self.cwnd = cwnd.max(self.segment);
    }

    fn on_timeout(&mut self, loss: &LossEvent) {
        let half = loss.window / 2;
        let whole = half - half % self.segment;
        self.set_window(2 * self.segment, whole.max(2 * self.segment));
        self.cut_to = 0;
        self.last_cut = Some(loss.now);
    }

    fn on_mtu_change(&mut self, segment_size: u32) {
        self.segment = u64::from(segment_size);
        self.cwnd = self.cwnd.max(self.segment);
    }

    fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
        self.cwnd = cwnd.max(self.segment);
        self.ssthresh = ssthresh;
        self.credit = 0;
    }

    #[inline]
    fn window(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{START, loss};
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// Builds an acknowledgement with `acknowledged` bytes in total, `in_flight` bytes in flight,
    /// and a round-trip sample in milliseconds.
    fn ack(now: u64, acknowledged: u64, in_flight: u64, rtt: i64) -> AckEvent {
        AckEvent {
            now: ms(now),
            acknowledged,
            in_flight,
            rtt: (rtt > 0).then(|| Duration::from_millis(rtt)),
            ..super::super::tests::ack(1000)
        }
    }

    fn vegas(dialect: VegasDialect) -> Vegas {
        let mut vegas = Vegas::new(&START, dialect);
        vegas.on_ack(&ack(100, 1000, 1000, 100));
        vegas
    }

    const BOTH: [VegasDialect; 2] = [VegasDialect::Paper, VegasDialect::Ns2];

    #[test]
    fn the_fine_timeout_by_hand() {
        let micros = |vegas: &Vegas| vegas.fine_timeout().map(|t| t.as_nanos() as f64 / 1000.0);
        let mut vegas = vegas(VegasDialect::Paper);
        assert_eq!(micros(&vegas), Some(150_000.0));
        vegas.on_ack(&ack(140, 2000, 0, 140));
        // 8·SRTT = 800 + 40 and 4·DEV = 100 + 40 − 25 = 115. (840/4 + 115)/2 = 162.5, plus 1/16 of
        // it.
        assert_eq!(micros(&vegas), Some(172_656.25));
        vegas.on_loss(&loss(1000, 2000));
        assert_eq!(micros(&vegas), Some(194_238.281));
        let again = LossEvent {
            transmissions: 2,
            ..loss(1000, 2000)
        };
        vegas.on_loss(&again);
        assert_eq!(micros(&vegas), Some(388_476.562));
        vegas.on_spared_loss(&again, Spared::Wholly);
        assert_eq!(micros(&vegas), Some(388_476.562));
        vegas.on_spared_loss(&again, Spared::Window);
        assert_eq!(micros(&vegas), Some(776_953.124));
        // The next sample ends the back-off. 8·SRTT = 840 − 5 and 4·DEV = 115 + 5 − 28.75 = 91.25.
        // (208.75 + 91.25)/2 = 150, plus 1/16 of it.
        vegas.on_ack(&ack(240, 3000, 0, 100));
        assert_eq!(micros(&vegas), Some(159_375.0));
    }

    #[test]
    fn slow_start_grows_every_other_round() {
        for dialect in BOTH {
            let mut vegas = vegas(dialect);
            assert_eq!(vegas.window(), 2000);
            vegas.on_ack(&ack(110, 2000, 0, 100));
            assert_eq!(vegas.window(), 2000, "the first round only looks");
            // Segments 2 and 3 left in the round, so Diff = 2 − 2·100/100 = 0.
            vegas.on_ack(&ack(200, 3000, 1000, 100));
            vegas.on_ack(&ack(210, 4000, 3000, 100));
            assert_eq!(vegas.window(), 4000);
            // The round from segment 4 has five segments at 125 ms, so Diff = 4 − 5·100/125 = 0.
            vegas.on_ack(&ack(325, 5000, 3000, 125));
            vegas.on_ack(&ack(326, 6000, 3000, 125));
            assert_eq!(vegas.window(), 4000);
            // A growing round with Diff = 8 − 4·100/125 = 4.8 ends slow start; 4 − 4/8 segments
            // remain.
            vegas.on_ack(&ack(450, 9000, 7000, 125));
            assert_eq!((vegas.window(), vegas.ssthresh()), (3500, 2000));
        }
    }

    #[test]
    fn the_window_keeps_one_to_three_segments_in_the_queue() {
        use VegasDialect::{Ns2, Paper};
        // Ten segments are sent in a round of `rtt` ms, and ten are in flight: Diff = 10 −
        // 10·100/RTT.
        for (dialect, rtt, expected, growth) in [
            (Paper, 105, 10_000, Growth::Linear(10_000)), // 0.477
            (Ns2, 105, 10_000, Growth::Linear(10_000)),
            (Paper, 110, 10_000, Growth::Linear(10_000)), // 0.910
            (Ns2, 110, 10_000, Growth::None),             // rounded to 1
            (Paper, 125, 10_000, Growth::None),           // 2
            (Ns2, 125, 10_000, Growth::None),
            (Paper, 150, 9000, Growth::None), // 3.334
            (Ns2, 150, 10_000, Growth::None), // rounded to 3
            (Ns2, 160, 9000, Growth::None),   // 3.75
        ] {
            let mut vegas = vegas(dialect);
            vegas.set_window(10_000, 2000);
            vegas.on_ack(&ack(200, 2000, 9000, rtt));
            vegas.round = 1000;
            vegas.on_ack(&ack(200, 2000, 9000, 0));
            assert_eq!(vegas.growth, growth, "{dialect:?} {rtt}");
            let grown = if growth == Growth::None { 0 } else { 100 };
            assert_eq!(vegas.window(), expected + grown, "{dialect:?} {rtt}");
        }
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut vegas = vegas(VegasDialect::Paper);
        vegas.set_window(10_000, 2000);
        vegas.growth = Growth::Linear(10_000);
        vegas.on_ack(&ack(110, 1000, 6999, 100));
        assert_eq!(vegas.window(), 10_000);
        vegas.on_ack(&ack(110, 1000, 7000, 100));
        assert_eq!(vegas.window(), 10_100);
    }

    #[test]
    fn a_lone_segment_sets_the_base_of_ns2() {
        let base = |dialect| {
            let mut vegas = vegas(dialect);
            vegas.on_ack(&ack(400, 3000, 0, 0));
            vegas.base_rtt
        };
        assert_eq!(base(VegasDialect::Paper), Some(Duration::from_millis(100)));
        assert_eq!(base(VegasDialect::Ns2), Some(Duration::from_millis(300)));
    }

    #[test]
    fn a_loss_cuts_once_for_what_was_sent_before() {
        for dialect in BOTH {
            let lost = |now, sent, transmissions, window| LossEvent {
                now: ms(now),
                sent: Some(ms(sent)),
                transmissions,
                ..loss(window, window)
            };
            let mut vegas = vegas(dialect);
            vegas.set_window(11_500, u64::MAX);
            vegas.on_loss(&lost(1000, 900, 1, 11_500));
            assert_eq!(vegas.window(), 9000, "11 − 2");
            assert_eq!(vegas.last_cut(), Some(ms(1000)));
            vegas.on_loss(&lost(1100, 1000, 1, 9000));
            assert_eq!(vegas.window(), 9000);
            vegas.on_loss(&lost(1200, 1001, 2, 9000));
            assert_eq!(vegas.window(), 4000);
            vegas.on_loss(&lost(1300, 1201, 1, 3999));
            assert_eq!(vegas.window(), 2000);
        }
    }

    #[test]
    fn a_recovery_of_ns2_ends_with_the_last_cut() {
        let after = |dialect, at_most| {
            let mut vegas = vegas(dialect);
            vegas.set_window(10_000, 50_000);
            vegas.on_loss(&loss(10_000, 10_000));
            vegas.set_window(9000, 50_000);
            vegas.on_recovery_end(ms(200), at_most);
            (vegas.window(), vegas.ssthresh())
        };
        assert_eq!(after(VegasDialect::Paper, 12_000), (9000, 50_000));
        assert_eq!(after(VegasDialect::Ns2, 12_000), (8000, 2000));
        assert_eq!(after(VegasDialect::Ns2, 7000), (7000, 50_000));
        // No cut was made, or the timer has expired since.
        let mut ns2 = vegas(VegasDialect::Ns2);
        ns2.set_window(10_000, 50_000);
        ns2.on_recovery_end(ms(200), 12_000);
        assert_eq!(ns2.window(), 1000);
    }

    #[test]
    fn a_timeout_leaves_two_segments() {
        for dialect in BOTH {
            let mut vegas = vegas(dialect);
            vegas.on_timeout(&loss(11_000, 11_000));
            assert_eq!((vegas.window(), vegas.ssthresh()), (2000, 5000));
        }
    }
}
