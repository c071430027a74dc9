//! Input signals of [`Trees`](super::Trees): numbers that describe a gap, as an end host sees it.
//!
//! ```text
//! T       ns, from the previous arrival to this one, with n packets missing between; S likewise
//!         between their departures
//! rott    ns, relative one-way trip time; rott₀ before the gap, rott₁ of the revealing packet
//! min, max       ns, extrema of rott over the last 5 to 10 s (`_long`: 60 to 120 s), with rott₁
//! position(r)  = (r − min)/(max − min)
//! T_avg   ← T_avg + (T/(n+1) − T_avg)/8
//! dev     ← dev + (min(|T/(n+1) − T_avg|/T_avg, 4) − dev)/50
//! T_min   the smallest T > 0 over the last 5 to 10 s (`_long`: 60 to 120 s)
//! slope   the largest rise of rott between arrivals, per ns between departures, over 5 to 10 s
//! T_10    tenth percentile of T/(n+1): T below it → T_10·(1 − 0.045), else T_10·(1 + 0.005)
//! density(r)     losses per packet at delays like r, relative to all delays: 16 classes of
//!                position (long), weight −1/20000 per packet, plus ten packets at the overall rate
//! ```
//!
//! Only the revealing arrival is later than the gap. Delays are relative to the first packet's, in
//! whole nanoseconds, so a clock offset cancels.

use super::super::Arrival;
use crate::trees::{CLASSES, Extrema, class, hundredths, larger, position, ratio, smaller};
use crate::{Duration, Time};

/// The number of signals that describe a gap.
pub const COUNT: usize = 24;

/// The names and meanings of the signals, in order.
pub const NAMES: [(&str, &str); COUNT] = [
    ("pace", "T/((n+1)·T_avg), %"),
    ("slots", "T/((n+1)·T_min), %"),
    ("missing", "n"),
    ("before", "position(rott₀), %"),
    ("after", "position(rott₁), %"),
    ("larger", "the larger of these two"),
    ("before_long", "position(rott₀) over the long time, %"),
    ("after_long", "position(rott₁) over the long time, %"),
    ("irregular", "dev, %"),
    (
        "back_to_back",
        "share of arrivals with T < 1.25·T_min, gain 1/50, %",
    ),
    ("usual", "T/((n+1)·T_10), %"),
    ("density_before", "density(rott₀), %"),
    ("density_larger", "density(larger of rott₀ and rott₁), %"),
    ("loss_rate", "n/(n+1) of each arrival, gain 1/200, ‰"),
    (
        "peak",
        "position of the largest rott, forgotten with gain 1/8, %",
    ),
    ("spread", "T_avg/T_min, %"),
    (
        "room",
        "(max − rott₁ − S/(n+1))/T_min: slots free when the last missing packet left, 0.1",
    ),
    ("recent_losses", "the same with gain 1/10, ‰"),
    (
        "climb",
        "(max − rott₀)/(S·slope): 100 if the queue can just have filled since, %",
    ),
    ("slots_long", "T/((n+1)·T_min) over the long time, %"),
    (
        "trough",
        "position of the smallest rott, forgotten with gain 1/8, %",
    ),
    ("load", "S/((n+1)·T_min), %"),
    ("burst", "n of the gaps before, gain 1/8, 0.1"),
    ("depth", "(max − min)/T_min: slots of the queue, 0.1"),
];

/// The number of arrivals before the signals are meaningful.
const WARM_UP: u32 = 16;

/// The length of a bucket of extrema; extrema cover the last one to two buckets.
const SHORT: Duration = Duration::from_secs(5);
const LONG: Duration = Duration::from_secs(60);

/// Slope 1 in fixed point.
const SLOPE: f64 = 1024.0;

/// Follows the arrivals and describes gaps.
#[derive(Clone, Debug, PartialEq)]
pub struct Signals {
    /// The number of arrivals, up to [`WARM_UP`].
    arrivals: u32,
    received: Time,
    sent: Time,
    /// The first packet's rott, to which all others are relative.
    origin: i64,
    rott: i64,
    /// The start times of the current short and long buckets.
    since: [Time; 2],
    /// When the first of the two ends.
    turns: Time,
    t_avg: f64,
    irregular: f64,
    t_10: f64,
    t_min: Extrema,
    t_min_long: Extrema,
    slope: Extrema,
    back_to_back: f64,
    short: Extrema,
    long: Extrema,
    peak: f64,
    trough: f64,
    burst: f64,
    loss_rate: f64,
    recent_losses: f64,
    /// The weight of packets that arrived, by class of delay.
    came: [f32; CLASSES],
    /// The weight of packets lost, by class of delay.
    lost: [f32; CLASSES],
    /// The weight of the latest packet. It grows, so that older packets count less.
    weight: f32,
}

impl Signals {
    /// Creates a state without arrivals.
    pub fn new() -> Self {
        Self {
            arrivals: 0,
            received: Time::ZERO,
            sent: Time::ZERO,
            origin: 0,
            rott: 0,
            since: [Time::ZERO; 2],
            turns: Time::ZERO,
            t_avg: 0.0,
            irregular: 0.0,
            t_10: 0.0,
            t_min: Extrema::NONE,
            t_min_long: Extrema::NONE,
            slope: Extrema::NONE,
            back_to_back: 0.0,
            short: Extrema::NONE,
            long: Extrema::NONE,
            peak: 0.0,
            trough: 0.0,
            burst: 1.0,
            loss_rate: 0.0,
            recent_losses: 0.0,
            came: [0.0; CLASSES],
            lost: [0.0; CLASSES],
            weight: 1.0,
        }
    }

    /// Updates the signals with an arrival and returns those of the gap before it. Returns `None`
    /// if there is no gap, and during the warm-up.
    #[inline]
    pub fn on_arrival(&mut self, arrival: &Arrival, missing: u64) -> Option<[i16; COUNT]> {
        if self.arrivals == 0 {
            self.start(arrival);
            return None;
        }
        let rott = arrival.rott().as_nanos().saturating_sub(self.origin);
        let interval = (arrival.received - self.received).as_nanos();
        let described = (missing > 0 && self.arrivals >= WARM_UP)
            .then(|| self.describe(arrival, rott, interval, missing));
        self.update(arrival, rott, interval, missing);
        described
    }

    fn start(&mut self, arrival: &Arrival) {
        self.arrivals = 1;
        self.origin = arrival.rott().as_nanos();
        self.since = [arrival.received; 2];
        self.short.add(0);
        self.long.add(0);
        (self.received, self.sent) = (arrival.received, arrival.sent);
    }

    #[cold]
    fn describe(&self, arrival: &Arrival, rott: i64, interval: i64, missing: u64) -> [i16; COUNT] {
        let packets = missing as f64 + 1.0;
        let per_packet = interval as f64 / packets;
        let spacing = (arrival.sent - self.sent).as_nanos() as f64 / packets;
        let (short, long) = (self.short.with(rott), self.long.with(rott));
        let larger = self.rott.max(rott);
        let least = |extrema: &Extrema| extrema.least().map_or(0.0, |least| least as f64);
        let (t_min, t_min_long) = (least(&self.t_min), least(&self.t_min_long));
        let range = short.1.saturating_sub(short.0) as f64;
        let missed = short.1.saturating_sub(self.rott) as f64;
        let slope = self.slope.get().1.max(0) as f64 / SLOPE;
        let room = short.1.saturating_sub(rott) as f64 - spacing;
        let (came, lost): (f32, f32) = (self.came.iter().sum(), self.lost.iter().sum());
        let weight = self.weight;
        let overall = (lost + weight) / (came + lost + 20.0 * weight);
        let density = |rott: i64| {
            let class = class(long, rott);
            let (came, lost) = (self.came[class], self.lost[class]);
            let here = (lost + 10.0 * weight * overall) / (came + lost + 10.0 * weight);
            f64::from(here / overall)
        };
        [
            hundredths(ratio(per_packet, self.t_avg)),
            hundredths(ratio(per_packet, t_min)),
            missing.min(100) as i16,
            hundredths(position(short, self.rott)),
            hundredths(position(short, rott)),
            hundredths(position(short, larger)),
            hundredths(position(long, self.rott)),
            hundredths(position(long, rott)),
            hundredths(self.irregular),
            hundredths(self.back_to_back),
            hundredths(ratio(per_packet, self.t_10)),
            hundredths(density(self.rott)),
            hundredths(density(larger)),
            hundredths(10.0 * self.loss_rate),
            hundredths(ratio(self.peak - short.0 as f64, range)),
            hundredths(ratio(self.t_avg, t_min)),
            hundredths(ratio(room, t_min) / 10.0),
            hundredths(10.0 * self.recent_losses),
            hundredths(ratio(missed, slope * spacing * packets)),
            hundredths(ratio(per_packet, t_min_long)),
            hundredths(ratio(self.trough - short.0 as f64, range)),
            hundredths(ratio(spacing, t_min)),
            hundredths(self.burst / 10.0),
            hundredths(ratio(range, t_min) / 10.0),
        ]
    }

    #[inline]
    fn update(&mut self, arrival: &Arrival, rott: i64, interval: i64, missing: u64) {
        if arrival.received >= self.turns {
            self.turn(arrival.received);
        }
        let per_packet = if missing == 0 {
            interval as f64
        } else {
            interval as f64 / (missing as f64 + 1.0)
        };
        if interval > 0 {
            self.t_min.lower(interval);
            self.t_min_long.lower(interval);
        }
        let departed = (arrival.sent - self.sent).as_nanos();
        // Falling delays give negative slopes, which `describe` ignores. A branch on the direction
        // would be unpredictable.
        if departed > 0 {
            let rise = rott as f64 - self.rott as f64;
            self.slope.raise((SLOPE * rise / departed as f64) as i64);
        }
        let least = self.t_min.get().0;
        let close = least < i64::MAX && interval.saturating_mul(4) < least.saturating_mul(5);
        self.back_to_back += 0.02 * (f64::from(u8::from(close)) - self.back_to_back);
        if self.t_avg <= 0.0 {
            (self.t_avg, self.t_10) = (per_packet, per_packet);
        }
        let apart = ratio((per_packet - self.t_avg).abs(), self.t_avg);
        self.irregular += 0.02 * (smaller(apart, 4.0) - self.irregular);
        self.t_avg += (per_packet - self.t_avg) / 8.0;
        if per_packet > 0.0 {
            self.t_10 *= if per_packet < self.t_10 { 0.955 } else { 1.005 };
        }
        self.count(rott, missing);
        self.short.add(rott);
        self.long.add(rott);
        let delay = rott as f64;
        self.peak = larger(delay, self.peak + (delay - self.peak) / 8.0);
        self.trough = smaller(delay, self.trough + (delay - self.trough) / 8.0);
        let share = if missing == 0 {
            0.0
        } else {
            self.burst += (missing as f64 - self.burst) / 8.0;
            missing as f64 / (missing as f64 + 1.0)
        };
        self.loss_rate += 0.005 * (share - self.loss_rate);
        self.recent_losses += 0.1 * (share - self.recent_losses);
        self.arrivals = (self.arrivals + 1).min(WARM_UP);
        (self.rott, self.received, self.sent) = (rott, arrival.received, arrival.sent);
    }

    /// Begins new buckets of extrema if the current ones have ended.
    #[cold]
    fn turn(&mut self, now: Time) {
        if now - self.since[0] >= SHORT {
            self.since[0] = now;
            for extrema in [&mut self.short, &mut self.t_min, &mut self.slope] {
                extrema.turn();
            }
        }
        if now - self.since[1] >= LONG {
            self.since[1] = now;
            self.long.turn();
            self.t_min_long.turn();
        }
        self.turns = (self.since[0] + SHORT).min(self.since[1] + LONG);
    }

    /// Counts a packet at its delay, and lost packets at the delay of the packet before the gap.
    #[inline]
    fn count(&mut self, rott: i64, missing: u64) {
        let extrema = self.long.get();
        self.weight *= 1.00005;
        self.came[class(extrema, rott)] += self.weight;
        if missing > 0 {
            self.lost[class(extrema, self.rott)] += self.weight * missing as f32;
        }
        if self.weight > 1e6 {
            self.weigh_anew();
        }
    }

    #[cold]
    fn weigh_anew(&mut self) {
        for count in self.came.iter_mut().chain(&mut self.lost) {
            *count /= self.weight;
        }
        self.weight = 1.0;
    }
}

impl Default for Signals {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::arrival;
    use super::*;

    const MS: u64 = 1_000_000;

    fn signal(described: &[i16; COUNT], name: &str) -> i16 {
        let at = NAMES.iter().position(|(known, _)| *known == name);
        described[at.expect("a signal")]
    }

    /// Packets arrive every 10 ms. Their delay rises by 1 ms each, from 20 ms. Then one packet is
    /// missing.
    #[test]
    fn described_by_hand() {
        let mut signals = Signals::new();
        for k in 0..21 {
            assert_eq!(
                signals.on_arrival(&arrival(k * 10 * MS, (20 + k) * MS), 0),
                None
            );
        }
        // The packet before the gap had a delay of 40 ms. This packet has 35 ms and arrives 30 ms
        // later.
        let described = signals.on_arrival(&arrival(230 * MS, 35 * MS), 1);
        let described = described.expect("enough was heard");
        for (name, expected) in [
            ("pace", 150),
            ("slots", 150),
            ("missing", 1),
            ("before", 100),
            ("after", 75),
            ("larger", 100),
            ("before_long", 100),
            ("after_long", 75),
            ("irregular", 0),
            ("spread", 100),
            // The delay is 5 ms below the largest one. 17.5 ms pass between two departures (35 ms
            // for two), so the room is −12.5 of 10 ms.
            ("room", -12),
            ("recent_losses", 0),
            ("loss_rate", 0),
            // The delay before the gap was the largest so far.
            ("climb", 0),
            ("slots_long", 150),
            ("load", 175),
            ("burst", 10),
            ("depth", 20),
        ] {
            assert_eq!(signal(&described, name), expected, "{name}");
        }
        // The delay must climb 5 ms in 30 ms between departures. The steepest rise was 1 ms in 9
        // (113 of 1024).
        let described = signals.on_arrival(&arrival(260 * MS, 35 * MS), 1);
        assert_eq!(signal(&described.expect("enough was heard"), "climb"), 151);
    }

    /// A gap before the first arrival has no signals. Extrema are forgotten after two buckets.
    #[test]
    fn knows_what_it_does_not_know() {
        let mut signals = Signals::new();
        assert_eq!(signals.on_arrival(&arrival(0, 20 * MS), 3), None);
        assert_eq!(signals.on_arrival(&arrival(10 * MS, 90 * MS), 3), None);
        let hear = |signals: &mut Signals, arrivals: std::ops::Range<u64>| {
            for k in arrivals {
                signals.on_arrival(&arrival(k * 10 * MS, (20 + k % 11) * MS), 0);
            }
        };
        hear(&mut signals, 2..1_500);
        assert_eq!(signals.short.get(), (0, 10 * MS as i64));
        assert_eq!(signals.long.get(), (0, 70 * MS as i64));
        // After two minutes, only delays within 10 ms are remembered. They fill the classes evenly.
        hear(&mut signals, 1_500..15_000);
        assert_eq!(signals.long.get(), (0, 10 * MS as i64));
        assert!(signals.came.iter().filter(|&&count| count > 40.0).count() >= 10);
    }
}
