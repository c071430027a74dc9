//! What [`Trees`](super::Trees) looks at: eighteen numbers about a gap, of what an end host sees.
//!
//! ```text
//! T       ns, between this arrival and the one before;  S likewise between their departures;  n packets are missing between
//! rott    ns, relative one-way trip time; rott₀ of the packet before the gap, rott₁ of the one that reveals it
//! min, max       ns, extrema of rott over the last 5 to 10 s (`_long`: 20 to 40 s), this packet's included
//! position(r)  = (r − min)/(max − min)
//! T_avg   ← T_avg + (T/(n+1) − T_avg)/8            dev ← dev + (min(|T/(n+1) − T_avg|/T_avg, 4) − dev)/50
//! T_min   the smallest T above zero of the last 5 to 10 s
//! T_10    tenth percentile of T/(n+1): T below it → T_10·(1 − 0.045), else T_10·(1 + 0.005)
//! density(r)     losses per packet at delays like r, as a share of those at all delays: 16 classes of position, a packet
//!                counts 1/2000 less with each one after it, and ten packets of the overall rate are added
//! ```
//!
//! All but the arrival itself is from before the gap. The delay counts from the first packet's, in whole nanoseconds, so an
//! offset between the clocks cancels; reals are added, multiplied and divided, which every machine does alike.

use super::super::Arrival;
use crate::Time;

/// How many signals there are.
pub const COUNT: usize = 18;

/// Names of the signals and what they say, in their order.
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
];

/// The first arrivals, after which the signals mean something.
const WARM_UP: u32 = 16;

/// Classes of delay.
const CLASSES: usize = 16;

/// ns that a bucket of extrema holds: they are of the last one to two buckets.
const SHORT: i64 = 5_000_000_000;
const LONG: i64 = 20_000_000_000;

/// Listens to arrivals, and describes gaps.
#[derive(Clone, Debug, PartialEq)]
pub struct Signals {
    /// Arrivals so far, up to [`WARM_UP`].
    arrivals: u32,
    received: Time,
    sent: Time,
    /// The first packet's rott, from which all others count.
    origin: i64,
    rott: i64,
    t_avg: f64,
    irregular: f64,
    t_10: f64,
    t_min: Extrema,
    back_to_back: f64,
    short: Extrema,
    long: Extrema,
    peak: f64,
    loss_rate: f64,
    recent_losses: f64,
    /// Packets that came, and that were lost, by class of delay.
    came: [f32; CLASSES],
    lost: [f32; CLASSES],
    /// What the latest packet counts there: growing weights, so that older ones count less.
    weight: f32,
}

impl Signals {
    /// Has heard nothing yet.
    pub fn new() -> Self {
        Self {
            arrivals: 0,
            received: Time::ZERO,
            sent: Time::ZERO,
            origin: 0,
            rott: 0,
            t_avg: 0.0,
            irregular: 0.0,
            t_10: 0.0,
            t_min: Extrema::new(SHORT),
            back_to_back: 0.0,
            short: Extrema::new(SHORT),
            long: Extrema::new(LONG),
            peak: 0.0,
            loss_rate: 0.0,
            recent_losses: 0.0,
            came: [0.0; CLASSES],
            lost: [0.0; CLASSES],
            weight: 1.0,
        }
    }

    /// Takes an arrival. Describes the gap before it, if there is one and enough has been heard.
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
        for extrema in [&mut self.short, &mut self.long, &mut self.t_min] {
            extrema.since = arrival.received;
        }
        self.short.add(arrival.received, 0);
        self.long.add(arrival.received, 0);
        (self.received, self.sent) = (arrival.received, arrival.sent);
    }

    #[cold]
    fn describe(&self, arrival: &Arrival, rott: i64, interval: i64, missing: u64) -> [i16; COUNT] {
        let packets = missing as f64 + 1.0;
        let per_packet = interval as f64 / packets;
        let spacing = (arrival.sent - self.sent).as_nanos() as f64 / packets;
        let (short, long) = (self.short.with(rott), self.long.with(rott));
        let larger = self.rott.max(rott);
        let t_min = self.t_min.least().map_or(0.0, |least| least as f64);
        let room = short.1.saturating_sub(rott) as f64 - spacing;
        let (came, lost): (f32, f32) = (self.came.iter().sum(), self.lost.iter().sum());
        let weight = self.weight;
        let overall = (lost + weight) / (came + lost + 20.0 * weight);
        let density = |rott: i64| {
            let class = class(short, rott);
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
            hundredths(ratio(
                self.peak - short.0 as f64,
                short.1.saturating_sub(short.0) as f64,
            )),
            hundredths(ratio(self.t_avg, t_min)),
            hundredths(ratio(room, t_min) / 10.0),
            hundredths(10.0 * self.recent_losses),
        ]
    }

    #[inline]
    fn update(&mut self, arrival: &Arrival, rott: i64, interval: i64, missing: u64) {
        let now = arrival.received;
        let per_packet = if missing == 0 {
            interval as f64
        } else {
            interval as f64 / (missing as f64 + 1.0)
        };
        if interval > 0 {
            self.t_min.add(now, interval);
        }
        let close = self
            .t_min
            .least()
            .is_some_and(|least| (interval as f64) < 1.25 * least as f64);
        self.back_to_back += 0.02 * (f64::from(u8::from(close)) - self.back_to_back);
        if self.t_avg <= 0.0 {
            (self.t_avg, self.t_10) = (per_packet, per_packet);
        }
        let apart = ratio((per_packet - self.t_avg).abs(), self.t_avg);
        self.irregular += 0.02 * (apart.min(4.0) - self.irregular);
        self.t_avg += (per_packet - self.t_avg) / 8.0;
        if per_packet > 0.0 {
            self.t_10 *= if per_packet < self.t_10 { 0.955 } else { 1.005 };
        }
        self.count(rott, missing);
        self.short.add(now, rott);
        self.long.add(now, rott);
        let delay = rott as f64;
        self.peak = delay.max(self.peak + (delay - self.peak) / 8.0);
        let share = if missing == 0 {
            0.0
        } else {
            missing as f64 / (missing as f64 + 1.0)
        };
        self.loss_rate += 0.005 * (share - self.loss_rate);
        self.recent_losses += 0.1 * (share - self.recent_losses);
        self.arrivals = (self.arrivals + 1).min(WARM_UP);
        (self.rott, self.received, self.sent) = (rott, now, arrival.sent);
    }

    /// Counts a packet at its delay, and those lost before it at the delay of the one before them.
    #[inline]
    fn count(&mut self, rott: i64, missing: u64) {
        let extrema = self.short.get();
        self.weight *= 1.0005;
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

/// Extrema of the last one to two buckets of time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Extrema {
    bucket: i64,
    since: Time,
    now: (i64, i64),
    last: (i64, i64),
}

impl Extrema {
    const NONE: (i64, i64) = (i64::MAX, i64::MIN);

    fn new(bucket: i64) -> Self {
        Self {
            bucket,
            since: Time::ZERO,
            now: Self::NONE,
            last: Self::NONE,
        }
    }

    #[inline]
    fn add(&mut self, at: Time, value: i64) {
        if (at - self.since).as_nanos() >= self.bucket {
            (self.last, self.now) = (self.now, Self::NONE);
            self.since = at;
        }
        self.now = (self.now.0.min(value), self.now.1.max(value));
    }

    #[inline]
    fn get(&self) -> (i64, i64) {
        (self.now.0.min(self.last.0), self.now.1.max(self.last.1))
    }

    /// With one value more.
    fn with(&self, value: i64) -> (i64, i64) {
        let (min, max) = self.get();
        (min.min(value), max.max(value))
    }

    #[inline]
    fn least(&self) -> Option<i64> {
        Some(self.get().0).filter(|&least| least < i64::MAX)
    }
}

/// Where a delay lies between extrema: 0 to 1; 0 if they are the same.
#[inline]
fn position((min, max): (i64, i64), rott: i64) -> f64 {
    let range = max.saturating_sub(min) as f64;
    ratio(rott.saturating_sub(min) as f64, range)
}

#[inline]
fn class(extrema: (i64, i64), rott: i64) -> usize {
    (15.99 * position(extrema, rott).clamp(0.0, 1.0)) as usize
}

/// 0 where there is nothing to divide by.
#[inline]
fn ratio(value: f64, by: f64) -> f64 {
    if by > 0.0 { value / by } else { 0.0 }
}

fn hundredths(value: f64) -> i16 {
    (100.0 * value) as i16
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

    /// Arrivals every 10 ms whose delay rises by 1 ms each, from 20 ms; then one packet is missing.
    #[test]
    fn described_by_hand() {
        let mut signals = Signals::new();
        for k in 0..21 {
            assert_eq!(
                signals.on_arrival(&arrival(k * 10 * MS, (20 + k) * MS), 0),
                None
            );
        }
        // The one before the gap took 40 ms, this one takes 35, and comes 30 ms after it.
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
            // 5 ms below the largest delay, of which 17.5 pass between two departures (35 ms over two): −12.5 of 10 ms.
            ("room", -12),
            ("recent_losses", 0),
            ("loss_rate", 0),
        ] {
            assert_eq!(signal(&described, name), expected, "{name}");
        }
    }

    /// A gap before anything was heard has no description; extrema are forgotten after two buckets.
    #[test]
    fn knows_what_it_does_not_know() {
        let mut signals = Signals::new();
        assert_eq!(signals.on_arrival(&arrival(0, 20 * MS), 3), None);
        assert_eq!(signals.on_arrival(&arrival(10 * MS, 90 * MS), 3), None);
        for k in 2..1_500 {
            signals.on_arrival(&arrival(k * 10 * MS, (20 + k % 11) * MS), 0);
        }
        assert_eq!(signals.short.get(), (0, 10 * MS as i64));
        assert_eq!(signals.long.get(), (0, 70 * MS as i64));
        // All arrivals but the first two of these 1500 lie within 10 ms: they fill the classes evenly.
        assert!(signals.came.iter().filter(|&&count| count > 40.0).count() >= 10);
    }
}
