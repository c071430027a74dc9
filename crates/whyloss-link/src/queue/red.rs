//! RED: random early detection (Floyd and Jacobson 1993), gentle (Floyd 2000) and adaptive (Floyd,
//! Gummadi and Shenker 2001). Details and automatic values follow ns-2.35 (`queue/red.cc`).
//!
//! ```text
//! each arrival   avg ← (1 − w)^(m+1)·avg + w·q        q: the queue; m = ⌊C·idle⌋ packets that an idle link could have
//!                                                     sent, C = rate/mean packet in packets/s
//! p_b            max_p·(avg − min)/(max − min)        min ≤ avg < max
//!                max_p + (1 − max_p)·(avg − max)/max  gentle, max ≤ avg < 2·max
//!                1                                    above
//! p_a            p_b/(1 − count·p_b)                  count: arrivals since the last drop, this one included
//!                0, then p_b/(2 − count·p_b)          wait: 0 while count·p_b < 1
//! adaptive       avg < min + 0.4·(max − min), max_p > bottom:  max_p ← 0.9·max_p
//!                avg > max − 0.4·(max − min), max_p < 0.5:     max_p ← max_p + min(0.01, max_p/4)
//!                                                     at an arrival, at least 0.5 s after the last change
//! ```
//!
//! The packet is dropped with probability p_a if avg ≥ min, and for certain if it finds no room.
//! Two exceptions follow ns-2. The first arrival after avg has passed min is admitted and sets
//! count to 1. No packet is dropped early while at most one packet waits (byte mode: none). In byte
//! mode, queue and thresholds are in bytes; a threshold of one packet is one mean packet. count is
//! then ⌊bytes since the last drop/mean packet⌋, and p_a is scaled by size/mean packet unless it is
//! 1. The automatic values are
//!
//! ```text
//! min            max(5, C·target delay/2) packets     max = 3·min
//! w              1 − exp(−1/(10·C·rtt)), rtt = max(100 ms, 3·(delay + 1/C))
//! bottom         min(0.01, 80 kbit/s ÷ rate)          at most one drop per 100 ms window of 1000-byte packets
//! ```
//!
//! # Where it departs
//!
//! From the papers: count starts at 1, not 0, after a drop, so gaps without `wait` are uniform over
//! 1 … 1/p_b − 1 (the paper's: 1/p_b). ns-2's exceptions above and `wait`, its default, are not in
//! the papers. From ns-2: the gentle branch starts at the current max_p, where ns-2 keeps the slope
//! of the first one.
//!
//! # Marks
//!
//! With `ecn`, an ECN-capable packet that would have been dropped by chance is marked instead while
//! avg < max (RFC 3168 §7: beyond, packets should be dropped). Therefore the gentle branch drops,
//! also in adaptive RED. ns-2 with `setbit_` marks while p_b < `mark_p_` = 0.1, which is the same
//! if max_p is 0.1. ns-3 also marks in its gentle branch.

use whyloss::{Duration, Rate, Time};

use super::Verdict;
use crate::random::Random;

/// The highest increase of max_p in adaptive RED; it is also at most a quarter of max_p (ns-2's
/// `alpha_`).
const INCREASE: f64 = 0.01;
/// The factor by which adaptive RED decreases max_p (ns-2's `beta_`).
const DECREASE: f64 = 0.9;
/// The highest max_p that adaptive RED still increases (ns-2's `top_`).
const TOP: f64 = 0.5;
/// The distance of the target range from min and from max, as a share of max − min.
const MARGIN: f64 = 0.4;
/// The shortest time between two changes of max_p (ns-2's `interval_`).
const INTERVAL: Duration = Duration::from_millis(500);

/// Describes a RED queue. The defaults are those of ns-2.35, except for `mean_packet` (500 bytes in
/// ns-2) and `bytes` (true in ns-2).
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent choices, not one state"
)]
pub struct RedSpec {
    /// The mean queue from which RED drops packets at random, in packets of `mean_packet` bytes
    /// (ns-2's `thresh_`). `None` means automatic.
    pub min: Option<f64>,
    /// The mean queue from which RED drops every packet, in packets of `mean_packet` bytes (ns-2's
    /// `maxthresh_`). With `gentle`, RED drops every packet from twice this value. `None` means 3 ×
    /// `min`.
    pub max: Option<f64>,
    /// The drop probability just below `max` (ns-2: 1/`linterm_`). Adaptive RED starts with it.
    pub max_p: f64,
    /// The gain w of the moving average of the queue, in (0, 1] (ns-2's `q_weight_`). `None` means
    /// automatic.
    pub weight: Option<f64>,
    /// Whether the drop probability grows to 1 between `max` and twice `max` instead of jumping to
    /// 1 at `max`.
    pub gentle: bool,
    /// Whether at least 1/p packets pass between two random drops, where p is the drop probability
    /// (ns-2's `wait_`).
    pub wait: bool,
    /// Whether max_p adapts to keep the mean queue between the thresholds.
    pub adaptive: bool,
    /// The queueing delay that the automatic thresholds aim at.
    pub target_delay: Duration,
    /// Whether the queue and drops are counted in bytes instead of packets, so that small packets
    /// are dropped less often.
    pub bytes: bool,
    /// The packet size, in bytes, that automatic values and the mean queue during idle times
    /// assume.
    pub mean_packet: u32,
    /// Whether the queue marks an ECN-capable packet instead of dropping it early (ns-2's
    /// `setbit_`).
    pub ecn: bool,
}

impl Default for RedSpec {
    fn default() -> Self {
        Self {
            min: None,
            max: None,
            max_p: 0.1,
            weight: None,
            gentle: true,
            wait: true,
            adaptive: false,
            target_delay: Duration::from_millis(5),
            bytes: false,
            mean_packet: 1_000,
            ecn: false,
        }
    }
}

impl RedSpec {
    /// Returns the thresholds `(min, max)` at a link of this rate, in packets of `mean_packet`
    /// bytes.
    pub fn thresholds(&self, rate: Rate) -> (f64, f64) {
        let target = self.target_delay.as_secs_f64() * self.capacity(rate);
        let min = self.min.unwrap_or((target / 2.0).max(5.0));
        (min, self.max.unwrap_or(3.0 * min))
    }

    /// Returns the capacity C, in packets per second.
    fn capacity(&self, rate: Rate) -> f64 {
        rate.as_bps().max(1) as f64 / (8.0 * f64::from(self.mean_packet.max(1)))
    }
}

/// The state of RED.
#[derive(Clone, Debug)]
pub(crate) struct Red {
    pub(super) spec: RedSpec,
    /// The lower threshold, in packets or bytes like `average`.
    min: f64,
    max: f64,
    weight: f64,
    /// The lowest max_p that adaptation still decreases; `None` if max_p is fixed.
    bottom: Option<f64>,
    /// The capacity C of the link, in packets per second.
    capacity: f64,
    average: f64,
    max_p: f64,
    /// The packets and bytes since the last drop.
    count: u64,
    count_bytes: u64,
    /// Whether the last arrival found the mean queue above `min`.
    above: bool,
    adapted: Time,
    random: Random,
}

impl Red {
    pub(crate) fn new(spec: &RedSpec, rate: Rate, delay: Duration, random: Random) -> Self {
        let spec = RedSpec {
            mean_packet: spec.mean_packet.max(1),
            ..*spec
        };
        let (capacity, (min, max)) = (spec.capacity(rate), spec.thresholds(rate));
        let unit = if spec.bytes {
            f64::from(spec.mean_packet)
        } else {
            1.0
        };
        let rtt = (3.0 * (delay.as_secs_f64() + 1.0 / capacity)).max(0.1);
        let automatic = || 1.0 - libm::exp(-1.0 / (10.0 * rtt * capacity));
        Self {
            spec,
            min: min * unit,
            max: max * unit,
            weight: spec.weight.unwrap_or_else(automatic),
            bottom: spec
                .adaptive
                .then(|| (80_000.0 / rate.as_bps() as f64).min(0.01)),
            capacity,
            average: 0.0,
            max_p: spec.max_p,
            count: 0,
            count_bytes: 0,
            above: false,
            adapted: Time::ZERO,
            random,
        }
    }

    /// Returns the verdict on a packet of `size` bytes that arrives at `now`. The link will have
    /// sent all earlier packets by `free`. `length` is the current backlog; `room` tells whether
    /// the packet fits. A mark counts as a drop.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    pub(crate) fn judges(
        &mut self,
        now: Time,
        free: Time,
        length: u64,
        size: u32,
        room: bool,
    ) -> Verdict {
        self.average(now, free, length);
        if self.bottom.is_some() && now > self.adapted + INTERVAL {
            self.adapt(now);
        }
        self.count += 1;
        self.count_bytes += u64::from(size);
        let mut early = false;
        if self.average < self.min || length <= 1 {
            self.above = false;
        } else if self.above {
            let p = self.spread(self.probability(), size);
            early = self.random.chance(p);
        } else {
            self.above = true;
            self.count = 1;
            self.count_bytes = u64::from(size);
        }
        if early || !room {
            self.count = 0;
            self.count_bytes = 0;
        }
        let spared = self.spec.ecn && room && self.average < self.max;
        match (early, room) {
            (false, true) => Verdict::Admit,
            (true, _) if spared => Verdict::Mark,
            _ => Verdict::Drop,
        }
    }

    /// Updates the mean queue with the current length, as if m more packets had found the queue
    /// empty while the link was idle.
    fn average(&mut self, now: Time, free: Time, length: u64) {
        let mut keep = 1.0 - self.weight;
        if now > free {
            let m = libm::floor(self.capacity * (now - free).as_secs_f64());
            keep = libm::pow(keep, m + 1.0);
        }
        self.average = self.average * keep + self.weight * length as f64;
    }

    fn adapt(&mut self, now: Time) {
        let bottom = self.bottom.unwrap_or(self.max_p);
        let margin = MARGIN * (self.max - self.min);
        if self.average < self.min + margin && self.max_p > bottom {
            self.max_p *= DECREASE;
            self.adapted = now;
        } else if self.average > self.max - margin && self.max_p < TOP {
            self.max_p += INCREASE.min(0.25 * self.max_p);
            self.adapted = now;
        }
    }

    /// Returns p_b, the drop probability by the mean queue alone.
    fn probability(&self) -> f64 {
        if self.average < self.max {
            self.max_p * (self.average - self.min) / (self.max - self.min)
        } else if self.spec.gentle {
            let beyond = (self.average - self.max) / self.max;
            (self.max_p + (1.0 - self.max_p) * beyond).min(1.0)
        } else {
            1.0
        }
    }

    /// Returns p_a, which makes the gaps between drops uniform instead of geometric.
    fn spread(&self, p: f64, size: u32) -> f64 {
        let count = if self.spec.bytes {
            self.count_bytes / u64::from(self.spec.mean_packet)
        } else {
            self.count
        };
        let share = count as f64 * p;
        let spread = match (self.spec.wait, share) {
            (true, share) if share < 1.0 => 0.0,
            (true, share) if share < 2.0 => p / (2.0 - share),
            (false, share) if share < 1.0 => p / (1.0 - share),
            _ => 1.0,
        };
        if self.spec.bytes && spread < 1.0 {
            spread * f64::from(size) / f64::from(self.spec.mean_packet)
        } else {
            spread
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Streams;

    fn red(spec: &RedSpec, mbps: u64, delay_ms: i64) -> Red {
        let random = Streams::new(1).stream("queue", 0);
        let (rate, delay) = (Rate::from_mbps(mbps), Duration::from_millis(delay_ms));
        Red::new(spec, rate, delay, random)
    }

    /// Returns RED with thresholds of 5 and 15 packets, max_p 0.1, and a mean equal to the queue.
    fn fast() -> RedSpec {
        RedSpec {
            min: Some(5.0),
            max: Some(15.0),
            weight: Some(1.0),
            ..RedSpec::default()
        }
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{a} is not {b}");
    }

    #[test]
    fn automatic_values_by_hand() {
        let adaptive = RedSpec {
            adaptive: true,
            ..RedSpec::default()
        };
        // C = 1250/s: half of 5 ms is 3.1 packets, so 5; rtt 100 ms: w = 1 − exp(−1/1250).
        let thin = red(&adaptive, 10, 10);
        near(thin.min, 5.0);
        near(thin.max, 15.0);
        near(thin.weight, 0.000_799_680_085_316);
        assert_eq!(thin.bottom, Some(0.008));
        // C = 12 500/s: half of 5 ms is 31.25 packets; rtt = 3·(50 + 0.08) ms: w = 1 − exp(−1/18
        // 780).
        let thick = red(&adaptive, 100, 50);
        near(thick.min, 31.25);
        near(thick.max, 93.75);
        near(thick.weight, 1.0 - libm::exp(-1.0 / 18_780.0));
        assert_eq!(thick.bottom, Some(0.0008));
        assert_eq!(red(&adaptive, 1, 10).bottom, Some(0.01));
        // In bytes, a packet is one mean packet.
        let bytes = RedSpec {
            bytes: true,
            mean_packet: 500,
            ..fast()
        };
        near(red(&bytes, 10, 10).min, 2_500.0);
    }

    #[test]
    fn the_mean_forgets_while_idle() {
        let spec = RedSpec {
            weight: Some(0.5),
            ..fast()
        };
        let mut red = red(&spec, 8, 0);
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        // Busy: (0 + 8)/2, then (4 + 8)/2.
        red.average(at(0), at(9), 8);
        near(red.average, 4.0);
        red.average(at(1), at(9), 8);
        near(red.average, 6.0);
        // C = 1000/s, 2.5 ms idle: m = 2, so three halvings.
        red.average(Time::from_nanos(11_500_000), at(9), 0);
        near(red.average, 0.75);
    }

    #[test]
    fn drop_probability_by_hand() {
        let at = |spec: &RedSpec, average| {
            let mut red = red(spec, 10, 10);
            red.average = average;
            red.probability()
        };
        let strict = RedSpec {
            gentle: false,
            ..fast()
        };
        for (average, gentle, plain) in [
            (5.0, 0.0, 0.0),
            (10.0, 0.05, 0.05),
            (15.0, 0.1, 1.0),
            (22.5, 0.55, 1.0),
            (30.0, 1.0, 1.0),
            (40.0, 1.0, 1.0),
        ] {
            near(at(&fast(), average), gentle);
            near(at(&strict, average), plain);
        }
    }

    #[test]
    fn drops_are_spread_by_hand() {
        let after = |spec: &RedSpec, count: u64, size| {
            let mut red = red(spec, 10, 10);
            (red.count, red.count_bytes) = (count, 500 * count);
            red.spread(0.1, size)
        };
        let waits = fast();
        near(after(&waits, 9, 1000), 0.0);
        near(after(&waits, 10, 1000), 0.1);
        near(after(&waits, 15, 1000), 0.2);
        near(after(&waits, 20, 1000), 1.0);
        let eager = RedSpec {
            wait: false,
            ..fast()
        };
        near(after(&eager, 1, 1000), 1.0 / 9.0);
        near(after(&eager, 5, 1000), 0.2);
        near(after(&eager, 10, 1000), 1.0);
        // Ten packets of 500 bytes are five mean packets; 250 bytes are a quarter of one.
        let bytes = RedSpec {
            bytes: true,
            ..eager
        };
        near(after(&bytes, 10, 1000), 0.2);
        near(after(&bytes, 11, 250), 0.05);
        near(after(&bytes, 20, 250), 1.0);
    }

    #[test]
    fn max_p_adapts_by_hand() {
        let spec = RedSpec {
            adaptive: true,
            ..fast()
        };
        let mut red = red(&spec, 10, 10);
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let mut arrive = |millis, length| {
            red.judges(at(millis), at(millis + 1), length, 1000, true);
            red.max_p
        };
        // Below 5 + 4: down, but not within half a second.
        near(arrive(500, 3), 0.1);
        near(arrive(501, 3), 0.09);
        near(arrive(1001, 3), 0.09);
        near(arrive(1002, 3), 0.081);
        // The target range: no change. Above 15 − 4: up by 0.01, since a quarter of 0.081 is more.
        near(arrive(1600, 10), 0.081);
        near(arrive(1601, 12), 0.091);
        // Down to the last step above 0.008: 0.091·0.9^24 = 0.0073.
        let last = (1..100).map(|i| arrive(1601 + 501 * i, 3)).last();
        near(last.unwrap(), 0.091 * 0.9f64.powi(24));
        // Up again: a quarter of itself at a time, then 0.01, and no more above one half.
        near(arrive(60_000, 12), 0.091 * 0.9f64.powi(24) * 1.25);
        let last = (1..100).map(|i| arrive(60_000 + 501 * i, 12)).last();
        assert!((0.5..0.51).contains(&last.unwrap()), "{last:?}");
    }

    /// Returns the share of packets dropped while the queue stands at `length`.
    fn drop_rate(spec: &RedSpec, length: u64) -> f64 {
        const ARRIVALS: u64 = 1_000_000;
        let mut red = red(spec, 10, 10);
        let busy = Time::from_nanos(1);
        let dropped = (0..ARRIVALS)
            .filter(|_| red.judges(Time::ZERO, busy, length, 1000, true) != Verdict::Admit);
        dropped.count() as f64 / ARRIVALS as f64
    }

    #[test]
    fn a_standing_queue_drops_by_the_closed_form() {
        // p_b = max_p/2. Gaps are uniform over 1 … 1/p − 1, or with wait over 1/p … 2/p − 1.
        for n in [20.0, 80.0] {
            let spec = RedSpec {
                max_p: 2.0 / n,
                ..fast()
            };
            let gap = 1.0 / drop_rate(&spec, 10);
            let mean = 1.5 * n - 0.5;
            assert!((gap / mean - 1.0).abs() < 0.01, "{gap}, not {mean}");
            let eager = RedSpec {
                wait: false,
                ..spec
            };
            let gap = 1.0 / drop_rate(&eager, 10);
            let mean = n / 2.0;
            assert!((gap / mean - 1.0).abs() < 0.015, "{gap}, not {mean}");
        }
    }

    /// At a standing queue, RED with `ecn` marks exactly the packets that it drops without `ecn`,
    /// so the same closed form holds: gaps are uniform over 1 … 1/p_b − 1. At max and above, and at
    /// a full queue, no packet is marked.
    #[test]
    fn marks_take_the_place_of_drops_below_max() {
        let spec = RedSpec {
            max_p: 0.1,
            wait: false,
            ..fast()
        };
        let marking = RedSpec { ecn: true, ..spec };
        let busy = Time::from_nanos(1);
        for (length, early) in [
            (10, Verdict::Mark),
            (14, Verdict::Mark),
            (15, Verdict::Drop),
            (20, Verdict::Drop),
        ] {
            let (mut drops, mut marks) = (red(&spec, 10, 10), red(&marking, 10, 10));
            let mut hits = 0;
            for _ in 0..100_000 {
                let [dropped, marked] = [&mut drops, &mut marks]
                    .map(|red| red.judges(Time::ZERO, busy, length, 1000, true));
                assert_eq!(dropped == Verdict::Drop, marked == early);
                assert_eq!(dropped == Verdict::Admit, marked == Verdict::Admit);
                hits += i32::from(marked == early);
            }
            if length == 10 {
                // p_b = 0.05.
                let share = f64::from(hits) / 100_000.0;
                assert!((share * 10.0 - 1.0).abs() < 0.02, "{share}");
            }
            let full = marks.judges(Time::ZERO, busy, length, 1000, false);
            assert_eq!(full, Verdict::Drop);
        }
    }

    #[test]
    fn a_short_queue_is_spared_and_a_full_one_is_not() {
        let mut red = red(
            &RedSpec {
                gentle: false,
                ..fast()
            },
            10,
            10,
        );
        let (now, busy) = (Time::ZERO, Time::from_nanos(1));
        let mut refuses = |length, room| red.judges(now, busy, length, 1000, room) == Verdict::Drop;
        assert!(!refuses(1, true));
        assert!(refuses(1, false));
        // The first packet above the threshold enters; the next one is dropped.
        assert!(!refuses(50, true));
        assert!(refuses(50, true));
    }
}
