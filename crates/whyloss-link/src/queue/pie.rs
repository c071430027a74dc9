//! PIE: proportional integral controller enhanced (Pan et al.; RFC 8033, sections 4 and 5).
//!
//! PIE drops arriving packets with a probability p that follows the queueing delay:
//!
//! ```text
//! every 15 ms    p ← p + s·(α·(d − target) + β·(d − d_old))     d: s, the waiting time of a packet that arrives now
//!                s: 1/2048, 1/512, 1/128, 1/32, 1/8, 1/2, 1 for p below 10⁻⁶, 10⁻⁵, … 0.1, above; α = 1/8, β = 1¼
//!                no step above 0.02 while p ≥ 0.1; p ← 0.98·p while d and d_old are 0; 0 ≤ p ≤ 1
//! admits all     for the first 150 ms, and for 150 ms again once p = 0 and d, d_old < target/2; while
//!                d_old < target/2 and p < 0.2; and while at most two mean packets wait
//! spreads        a = Σ p since the last drop: no drop while a < 0.85, a certain one if a ≥ 8.5,
//!                otherwise a drop with probability p
//! ```
//!
//! target is 15 ms by default. The RFC estimates the delay by timestamps or the rate of departures.
//! Here the delay is the time until all waiting packets have been sent at the fixed or mean rate of
//! the link, without retries. p changes at multiples of 15 ms.

use whyloss::{Duration, Time};

use super::Verdict;
use crate::random::Random;

/// The interval between two changes of the probability.
const UPDATE: Duration = Duration::from_millis(15);
const MAX_BURST: Duration = Duration::from_millis(150);
/// The gains of the delay's distance from the target and of its change, per second.
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// The mean size of a packet, in bytes.
const MEAN_PACKET: u64 = 1_500;
/// The probability above which ECN-capable packets are also dropped (`mark_ecnth`, section 5.1).
const MARKS_BELOW: f64 = 0.1;

/// Describes a PIE queue (RFC 8033).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieSpec {
    /// The queueing delay that the controller aims at.
    pub target: Duration,
    /// Whether the queue marks an ECN-capable packet instead of dropping it early.
    pub ecn: bool,
}

impl Default for PieSpec {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            ecn: false,
        }
    }
}

/// The state of PIE.
#[derive(Clone, Debug)]
pub(crate) struct Pie {
    target: f64,
    ecn: bool,
    probability: f64,
    /// The queueing delay at the last update, in seconds.
    delay: f64,
    burst: Duration,
    accumulated: f64,
    next_update: Time,
    random: Random,
}

impl Pie {
    pub(crate) fn new(spec: PieSpec, random: Random) -> Self {
        Self {
            target: spec.target.as_secs_f64(),
            ecn: spec.ecn,
            probability: 0.0,
            delay: 0.0,
            burst: MAX_BURST,
            accumulated: 0.0,
            next_update: Time::ZERO + UPDATE,
            random,
        }
    }

    /// Returns the verdict on a packet that arrives at `now` while `bytes` bytes wait. The link
    /// will have sent all earlier packets by `free`. Draws a random number only if chance decides.
    /// A mark counts as a drop.
    pub(crate) fn judges(&mut self, now: Time, free: Time, bytes: u64, room: bool) -> Verdict {
        while self.next_update <= now {
            let waits = (free - self.next_update).max(Duration::ZERO);
            self.update(waits.as_secs_f64());
            self.next_update += UPDATE;
        }
        if !room {
            return Verdict::Drop;
        }
        match self.draws(bytes) {
            false => Verdict::Admit,
            true if self.ecn && self.probability < MARKS_BELOW => Verdict::Mark,
            true => Verdict::Drop,
        }
    }

    /// Draws whether this packet is dropped.
    fn draws(&mut self, bytes: u64) -> bool {
        if self.burst > Duration::ZERO {
            return false;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        if (self.delay < self.target / 2.0 && self.probability < 0.2) || bytes <= 2 * MEAN_PACKET {
            return false;
        }
        self.accumulated += self.probability;
        if self.accumulated < 0.85 {
            return false;
        }
        let refused = self.accumulated >= 8.5 || self.random.chance(self.probability);
        if refused {
            self.accumulated = 0.0;
        }
        refused
    }

    fn update(&mut self, delay: f64) {
        let p = self.probability;
        let scale = match p {
            p if p < 1e-6 => 1.0 / 2048.0,
            p if p < 1e-5 => 1.0 / 512.0,
            p if p < 1e-4 => 1.0 / 128.0,
            p if p < 1e-3 => 1.0 / 32.0,
            p if p < 1e-2 => 1.0 / 8.0,
            p if p < 0.1 => 0.5,
            _ => 1.0,
        };
        let step = scale * (ALPHA * (delay - self.target) + BETA * (delay - self.delay));
        let step = if p >= 0.1 { step.min(0.02) } else { step };
        let mut next = p + step;
        if delay == 0.0 && self.delay == 0.0 {
            next *= 0.98;
        }
        self.probability = next.clamp(0.0, 1.0);
        self.burst = (self.burst - UPDATE).max(Duration::ZERO);
        let calm = delay < self.target / 2.0 && self.delay < self.target / 2.0;
        if self.probability == 0.0 && calm {
            self.burst = MAX_BURST;
        }
        self.delay = delay;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Streams;

    fn pie() -> Pie {
        Pie::new(PieSpec::default(), Streams::new(1).stream("queue", 0))
    }

    /// The delay rises from 0 to 115 ms: (0.125·0.1 + 1.25·0.115)/2048 = 0.000 076 294; then
    /// 0.0125/128 more.
    #[test]
    fn updates_by_hand() {
        let mut pie = pie();
        pie.update(0.115);
        assert!((pie.probability - 0.156_25 / 2048.0).abs() < 1e-15);
        pie.update(0.115);
        let expected = 0.156_25 / 2048.0 + 0.0125 / 128.0;
        assert!((pie.probability - expected).abs() < 1e-15);
        // No step exceeds 0.02 once p is 0.1. p decays while the queue is empty.
        pie.probability = 0.1;
        pie.update(1.0);
        assert!((pie.probability - 0.12).abs() < 1e-15);
        pie.update(0.0);
        let before = pie.probability;
        pie.update(0.0);
        // 0.98·(p − s·0.001875), below 0.1 with s = 1/2.
        let scale = if before < 0.1 { 0.5 } else { 1.0 };
        let expected = (0.98 * (before - scale * 0.001_875)).max(0.0);
        assert!((pie.probability - expected).abs() < 1e-15);
    }

    #[test]
    fn a_burst_is_let_in() {
        let mut pie = pie();
        let free = Time::from_nanos(1_000_000_000);
        for millis in 0..150 {
            let now = Time::from_nanos(millis * 1_000_000);
            assert_eq!(pie.judges(now, free, 1_000_000, true), Verdict::Admit);
        }
        let last = pie.judges(Time::from_nanos(150_000_000), free, 1_000_000, false);
        assert_eq!(last, Verdict::Drop);
    }

    /// At a fixed p, a drop comes after N packets. N is geometric from ⌈0.85/p⌉, with mean ⌈0.85/p⌉
    /// − 1 + 1/p. The bound at 8.5/p hardly matters: (1 − p)^(7.65/p) = 0.05 % of the gaps reach
    /// it.
    #[test]
    fn drops_are_spread_by_the_closed_form() {
        let mut pie = pie();
        pie.burst = Duration::ZERO;
        pie.delay = 0.1;
        pie.probability = 0.02;
        pie.next_update = Time::MAX;
        let (mut drops, arrivals) = (0, 1_000_000);
        for _ in 0..arrivals {
            let verdict = pie.judges(Time::ZERO, Time::ZERO, 1_000_000, true);
            drops += i32::from(verdict == Verdict::Drop);
        }
        let gap = f64::from(arrivals) / f64::from(drops);
        let expected = 42.0 + 50.0;
        assert!((gap / expected - 1.0).abs() < 0.02, "{gap}");
    }

    /// With `ecn`, the same draws mark while p < 0.1 and drop otherwise. A full queue drops at any
    /// p.
    #[test]
    fn marks_while_the_probability_is_below_a_tenth() {
        let spec = PieSpec {
            ecn: true,
            ..PieSpec::default()
        };
        for (probability, early) in [
            (0.02, Verdict::Mark),
            (0.099, Verdict::Mark),
            (0.1, Verdict::Drop),
        ] {
            let mut pies = [spec, PieSpec::default()]
                .map(|spec| Pie::new(spec, Streams::new(1).stream("queue", 0)));
            for pie in &mut pies {
                pie.burst = Duration::ZERO;
                pie.delay = 0.1;
                pie.probability = probability;
                pie.next_update = Time::MAX;
            }
            let [marking, dropping] = &mut pies;
            let mut hits = 0;
            for _ in 0..1_000 {
                let [marks, drops] = [&mut *marking, dropping]
                    .map(|pie| pie.judges(Time::ZERO, Time::ZERO, 1_000_000, true));
                assert_eq!(marks == early, drops == Verdict::Drop);
                assert_eq!(marks == Verdict::Admit, drops == Verdict::Admit);
                hits += i32::from(drops == Verdict::Drop);
            }
            assert!(hits > 5, "{hits}");
            let full = marking.judges(Time::ZERO, Time::ZERO, 1_000_000, false);
            assert_eq!(full, Verdict::Drop);
        }
    }
}
