//! The loss history: from lost packets to loss events, loss intervals and p (RFC 5348, 5.2–5.5).
//!
//! ```text
//! event:     a loss at T begins one if T > T_old + R, T_old being when the last began          (5.2)
//! interval:  I_i = S_(i-1) − S_i, from the first lost packet of one event to that of the next; (5.3)
//!            I_0 is open and reaches to the highest sequence number received
//! average:   I_tot0 = Σ_{i=0}^{k-1} I_i·w_i·d_i,  I_tot1 = Σ_{i=1}^{k} I_i·w_(i-1)·DF_i       (5.4)
//!            w = 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2;  d_0 = 1, d_i = DF_i·DF; k ≤ 8 known intervals
//!            p = min(Σ w_i·d_i / I_tot0, Σ w_(i-1)·DF_i / I_tot1)
//! discount:  DF = max(2·mean(I_1..I_k) / I_0, THRESHOLD) if that is below 1; when an event     (5.5)
//!            closes I_0, every older DF_i is multiplied by DF, and the new I_1 has DF_1 = 1
//! ```

use crate::{Duration, Time};

use super::Options;

/// The number n of closed loss intervals that are remembered.
pub const INTERVALS: usize = 8;

/// The weights w_0..w_7 of the loss intervals (RFC 5348, 5.4).
const WEIGHTS: [f64; INTERVALS] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// The loss intervals of one flow.
#[derive(Clone, Copy, Debug)]
pub struct LossHistory {
    discount_floor: f64,
    needs_new_round: bool,
    /// Whether a loss event has begun, so that I_0 is open.
    open: bool,
    /// The first lost packet of the last event.
    start: u64,
    /// The time of packet `start`.
    time: Time,
    /// The round of packet `start`.
    round: u32,
    /// The closed intervals I_1, I_2, ... in packets, the newest first; `known` of them are in use.
    intervals: [f64; INTERVALS],
    /// The discount factors DF_1, DF_2, ..., the newest first.
    discounts: [f64; INTERVALS],
    known: usize,
}

impl LossHistory {
    /// Creates a history without losses.
    pub fn new(options: &Options) -> Self {
        Self {
            discount_floor: options.discount_floor.clamp(f64::MIN_POSITIVE, 1.0),
            needs_new_round: options.new_event_needs_new_round,
            open: false,
            start: 0,
            time: Time::ZERO,
            round: 0,
            intervals: [0.0; INTERVALS],
            discounts: [1.0; INTERVALS],
            known: 0,
        }
    }

    /// Records that packet `sequence` was lost at `time`, as estimated by 5.2. Returns whether that
    /// begins a loss event.
    ///
    /// `rtt` and `round` are those of the newest packet received. Losses must come in sequence
    /// order. The interval of the first event is unknown, so the caller sets it with
    /// [`Self::set_first_interval`].
    pub fn record(&mut self, sequence: u64, time: Time, rtt: Duration, round: u32) -> bool {
        if self.open {
            if self.opens_at(rtt) >= time || (self.needs_new_round && round <= self.round) {
                return false;
            }
            let closed = sequence.saturating_sub(self.start) as f64;
            let factor = self.discount(closed);
            for discount in &mut self.discounts {
                *discount *= factor;
            }
            self.push(closed);
        }
        self.open = true;
        self.start = sequence;
        self.time = time;
        self.round = round;
        true
    }

    /// Returns the time after which a loss begins a new event.
    pub fn opens_at(&self, rtt: Duration) -> Time {
        self.time + rtt
    }

    /// Returns whether an event has begun, but the interval before it is not known.
    pub fn needs_first_interval(&self) -> bool {
        self.open && self.known == 0
    }

    /// Sets the interval before the first loss event, in packets; at least 1. RFC 5348 (6.3.1)
    /// derives it from the receive rate at the first loss.
    pub fn set_first_interval(&mut self, packets: f64) {
        self.push(packets.max(1.0));
    }

    /// Returns the loss event rate p, in 0..=1, when `highest` is the highest sequence number
    /// received; 0 before the first event.
    pub fn loss_event_rate(&self, highest: u64) -> f64 {
        if self.known == 0 {
            return 0.0;
        }
        let open = highest.saturating_sub(self.start) as f64 + 1.0;
        let factor = self.discount(open);
        let (mut total, mut weight) = (open * WEIGHTS[0], WEIGHTS[0]);
        for (i, base) in WEIGHTS[1..self.known].iter().enumerate() {
            let w = base * self.discounts[i] * factor;
            total += self.intervals[i] * w;
            weight += w;
        }
        let with_open = weight / total;
        with_open.min(1.0 / self.closed_mean()).min(1.0)
    }

    fn push(&mut self, interval: f64) {
        self.intervals.copy_within(..INTERVALS - 1, 1);
        self.discounts.copy_within(..INTERVALS - 1, 1);
        self.intervals[0] = interval;
        self.discounts[0] = 1.0;
        self.known = (self.known + 1).min(INTERVALS);
    }

    /// Returns the discount factor DF for an I_0 of `open` packets.
    fn discount(&self, open: f64) -> f64 {
        if self.known == 0 {
            return 1.0;
        }
        (2.0 * self.closed_mean() / open)
            .min(1.0)
            .max(self.discount_floor)
    }

    /// Returns I_tot1 over its weights, in packets; at least one interval must be known.
    fn closed_mean(&self) -> f64 {
        let (mut total, mut weight) = (0.0, 0.0);
        for (i, base) in WEIGHTS.iter().enumerate().take(self.known) {
            let w = base * self.discounts[i];
            total += self.intervals[i] * w;
            weight += w;
        }
        total / weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// Returns a history whose closed intervals are `intervals` packets, oldest first, and the
    /// sequence number at which an event is open.
    fn history(options: &Options, first: f64, intervals: &[u64]) -> (LossHistory, u64) {
        let mut history = LossHistory::new(options);
        let (mut sequence, mut time) = (1000, 1000);
        assert!(history.record(sequence, at(time), RTT, 1));
        history.set_first_interval(first);
        for (round, interval) in intervals.iter().enumerate() {
            sequence += interval;
            time += 1000;
            assert!(history.record(sequence, at(time), RTT, 2 + round as u32));
        }
        (history, sequence)
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }

    #[test]
    fn no_loss_no_rate() {
        let history = LossHistory::new(&Options::rfc5348());
        assert!(!history.needs_first_interval());
        close(history.loss_event_rate(1_000_000), 0.0);
    }

    /// RFC 5348, 5.2: "more than one round-trip time after the start".
    #[test]
    fn losses_within_one_rtt_are_one_event() {
        let mut history = LossHistory::new(&Options::rfc5348());
        assert!(history.record(10, at(1000), RTT, 1));
        history.set_first_interval(50.0);
        assert!(!history.record(12, at(1040), RTT, 1));
        assert!(!history.record(14, at(1100), RTT, 9));
        assert!(history.record(15, at(1101), RTT, 1));
        // I_1 = 15 − 10 = 5 and I_2 = 50, with mean (5 + 50)/2.
        close(history.loss_event_rate(15), 2.0 / 55.0);
    }

    #[test]
    fn a_new_round_can_be_required() {
        let mut history = LossHistory::new(&Options {
            new_event_needs_new_round: true,
            ..Options::rfc5348()
        });
        assert!(history.record(10, at(1000), RTT, 3));
        history.set_first_interval(50.0);
        assert!(!history.record(20, at(1500), RTT, 3));
        assert!(history.record(21, at(1500), RTT, 4));
    }

    /// The intervals are 8, 7, ..., 1 packets, the newest 1: Σ I·w = 1 + 2 + 3 + 4 + 5·0.8 + 6·0.6
    /// + 7·0.4 + 8·0.2 = 22, Σ w = 6. I_0 = 5 is below 2·22/6, so it has no discount: 5 + 1 + 2 + 3
    /// + 4·0.8 + 5·0.6 + 6·0.4 + 7·0.2 = 21, less than 22. I_0 = 7 gives 23, more than 22.
    #[test]
    fn weights_by_hand() {
        let (history, start) = history(&Options::rfc5348(), 8.0, &[7, 6, 5, 4, 3, 2, 1]);
        close(history.loss_event_rate(start), 6.0 / 22.0);
        close(history.loss_event_rate(start + 4), 6.0 / 22.0);
        close(history.loss_event_rate(start + 6), 6.0 / 23.0);
    }

    /// Only the newest eight intervals count: the ninth replaces the first.
    #[test]
    fn the_oldest_is_forgotten() {
        let (history, start) = history(&Options::rfc5348(), 1e6, &[10; 8]);
        close(history.loss_event_rate(start), 0.1);
    }

    /// Eight intervals of 10 precede I_0 = 60. DF = 20/60 = 1/3 gives (60 + 50/3)/(1 + 5/3) =
    /// 28.75. When closed, this interval becomes I_1 with DF_1 = 1 and the older ones keep 1/3, so
    /// the mean is the same. A floor of 0.5 gives (60 + 25)/3.5, and no discounting gives (60 +
    /// 50)/6.
    #[test]
    fn discounting_by_hand() {
        for (floor, p) in [(0.25, 1.0 / 28.75), (0.5, 3.5 / 85.0), (1.0, 6.0 / 110.0)] {
            let options = Options {
                discount_floor: floor,
                ..Options::rfc5348()
            };
            let (mut history, start) = history(&options, 10.0, &[10; 7]);
            close(history.loss_event_rate(start + 59), p);
            assert!(history.record(start + 60, at(100_000), RTT, 100));
            close(history.loss_event_rate(start + 60), p);
        }
        // I_0 = 160 reaches the floor of 0.25: (160 + 12.5)/(1 + 1.25).
        let (history, start) = history(&Options::rfc5348(), 10.0, &[10; 7]);
        close(history.loss_event_rate(start + 159), 2.25 / 172.5);
    }

    /// The discount of an event applies to the intervals that were older then: eight of 10, one of
    /// 60 (DF 1/3), one of 30. Expected:
    /// (30 + 60 + (10·(1 + 1 + 0.8 + 0.6 + 0.4 + 0.2))/3) / (2 + 4/3) = (90 + 40/3)/(10/3) = 31.
    #[test]
    fn discounts_stay() {
        let (mut history, start) = history(&Options::rfc5348(), 10.0, &[10; 7]);
        assert!(history.record(start + 60, at(100_000), RTT, 100));
        assert!(history.record(start + 90, at(200_000), RTT, 101));
        close(history.loss_event_rate(start + 90), 1.0 / 31.0);
    }
}
