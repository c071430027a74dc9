//! Measures the queueing delay of each round and whether it grows, from one-way delays.
//!
//! ```text
//! rott      ns, receive stamp − send stamp of one packet; the clocks need not agree
//! low, mean the smallest and the mean rott of each half of a round, over its latest 32 packets
//! queue     = min(low − lowest low, mean − lowest mean) of the second half − 4·σ/√n, or 0 if that
//!           is negative, s; lowest over the last 5 to 10 s
//! trend     slope of rott over the time of departure, least squares over the round, s per s; 0 if
//!           it is within two standard errors, or of fewer than four packets
//! σ, n      the deviation from that line, and the packets of half a round
//! ```
//!
//! A queue delays every packet, so it raises both the smallest rott and the mean. Jitter that only
//! delays packets does not change `low`. Jitter in both directions moves `low`, but not `mean`. The
//! smaller of the two rises therefore bounds the queue in both cases. For the same reason, Copa
//! uses the smallest round-trip time of half a round trip (Arun & Balakrishnan, NSDI 2018, section
//! 2.1). BBR's window for the base is also ten seconds (draft-ietf-ccwg-bbr, section 5.5.7). Within
//! this window, clocks that drift by 100 ppm move the base by 1 ms.
//!
//! The mean of n packets has the error σ/√n. The base is the lowest of about a hundred recent
//! means, about two and a half errors too low. The mean itself is one and a half errors too high in
//! one round of fifteen. Together, these are four errors. libwebrtc's trendline fits the same line
//! (`trendline_estimator.h`).
//!
//! No packet can wait longer than its report takes to return. A longer queue means that a clock
//! jumped, so the base restarts.

use whyloss::receiver::Arrival;
use whyloss::{Duration, Time};

/// The maximum number of packets used in each half of a round.
const MANY: usize = 32;

/// The length of each of the two buckets that hold the base.
pub(crate) const BUCKET: Duration = Duration::from_secs(5);

/// The smallest value of the last one to two buckets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Least {
    now: i64,
    before: i64,
}

impl Least {
    pub(crate) const NONE: Self = Self {
        now: i64::MAX,
        before: i64::MAX,
    };

    pub(crate) fn add(&mut self, value: i64) -> i64 {
        self.now = self.now.min(value);
        self.now.min(self.before)
    }

    /// Begins a bucket, `age` after the current one began.
    pub(crate) fn turn(&mut self, age: Duration) {
        let old = age >= BUCKET * 2;
        self.before = if old { i64::MAX } else { self.now };
        self.now = i64::MAX;
    }
}

/// The queue at the end of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Queue {
    /// The queueing delay, in seconds.
    pub(crate) delay: f64,
    /// Its growth, in seconds per second.
    pub(crate) trend: f64,
}

/// The sums of a least-squares line.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Line {
    fn add(&mut self, x: f64, y: f64) {
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
        self.yy += y * y;
    }

    /// Returns the slope of the line through `n` points and the deviation from the line. The slope
    /// is 0 if it is below two of its standard errors. Through fewer than four points, the line is
    /// their mean, because jitter alone puts two points on a slope.
    fn fit(&self, n: f64) -> (f64, f64) {
        let apart = self.yy - self.y * self.y / n;
        if n < 4.0 {
            return (0.0, (apart.max(0.0) / (n - 1.0).max(1.0)).sqrt());
        }
        let spread = self.xx - self.x * self.x / n;
        let slope = (self.xy - self.x * self.y / n) / spread;
        if !slope.is_finite() {
            return (0.0, 0.0);
        }
        let rest = apart - slope * slope * spread;
        let variance = rest.max(0.0) / (n - 2.0).max(1.0);
        let sure = slope * slope * spread > 4.0 * variance;
        (if sure { slope } else { 0.0 }, variance.sqrt())
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Delay {
    /// The delays of the round's latest packets, in order of arrival.
    rotts: [i64; 2 * MANY],
    /// The number of packets in this round, and the departure and rott of the first.
    count: usize,
    first: (Time, i64),
    line: Line,
    low: Least,
    mean: Least,
    since: Time,
}

impl Delay {
    pub(crate) fn new() -> Self {
        Self {
            rotts: [0; 2 * MANY],
            count: 0,
            first: (Time::ZERO, 0),
            line: Line::default(),
            low: Least::NONE,
            mean: Least::NONE,
            since: Time::ZERO,
        }
    }

    /// Updates the trend with an arrival.
    pub(crate) fn add(&mut self, arrival: &Arrival) {
        let rott = arrival.rott().as_nanos();
        if self.count == 0 {
            self.first = (arrival.sent, rott);
        }
        let x = (arrival.sent - self.first.0).as_secs_f64();
        self.line
            .add(x, rott.saturating_sub(self.first.1) as f64 / 1e9);
        self.rotts[self.count % (2 * MANY)] = rott;
        self.count += 1;
    }

    /// Begins a round without ending the open one. The base stays.
    pub(crate) fn clear(&mut self) {
        (self.count, self.line) = (0, Line::default());
    }

    /// Returns the smallest and the mean rott of the `count` packets before the latest `skip`.
    fn block(&self, skip: usize, count: usize) -> (i64, i64) {
        let end = self.count - skip;
        let rotts = (end - count..end).map(|at| self.rotts[at % (2 * MANY)]);
        let low = rotts.clone().min().unwrap_or(0);
        // Sum from the lowest, so that no sum overflows.
        let above: i128 = rotts.map(|rott| i128::from(rott) - i128::from(low)).sum();
        (
            low,
            low.saturating_add((above / count.max(1) as i128) as i64),
        )
    }

    /// Ends a round whose packets took at most `trip` from departure to report.
    pub(crate) fn measure(&mut self, now: Time, trip: Duration) -> Queue {
        let age = now - self.since;
        if age >= BUCKET {
            self.since = now;
            self.low.turn(age);
            self.mean.turn(age);
        }
        let half = (self.count / 2).min(MANY);
        let (trend, deviation) = self.line.fit(self.count as f64);
        let (earlier, latest) = (self.block(half, half), self.block(0, half));
        self.clear();
        if half == 0 {
            return Queue::default();
        }
        let mut above = i64::MAX;
        for (least, earlier, latest) in [
            (&mut self.low, earlier.0, latest.0),
            (&mut self.mean, earlier.1, latest.1),
        ] {
            least.add(earlier);
            above = above.min(latest.saturating_sub(least.add(latest)));
        }
        if above > trip.as_nanos() {
            (self.low, self.mean) = (Least::NONE, Least::NONE);
            self.low.add(latest.0);
            self.mean.add(latest.1);
            return Queue::default();
        }
        let noise = 4.0 * deviation / (half as f64).sqrt();
        let delay = (above as f64 / 1e9 - noise).max(0.0);
        Queue { delay, trend }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Runs a round of packets every 10 ms with these delays, in ms, and returns its queue.
    fn round(delay: &mut Delay, from: &mut u64, rotts: &[i64]) -> Queue {
        for rott in rotts {
            let sent = Time::from_nanos(*from);
            *from += 10 * MS as u64;
            let received = sent + Duration::from_millis(5_000 + rott);
            delay.add(&Arrival::new(0, sent, received, 1_200));
        }
        delay.measure(Time::from_nanos(*from), Duration::from_millis(200))
    }

    fn close(queue: Queue, delay: f64, trend: f64) -> bool {
        (queue.delay - delay).abs() < 1e-9 && (queue.trend - trend).abs() < 1e-9
    }

    #[test]
    fn queue_and_trend_by_hand() {
        let (mut delay, mut at) = (Delay::new(), MS as u64);
        assert!(close(round(&mut delay, &mut at, &[20; 8]), 0.0, 0.0));
        // Every packet waits 15 ms longer.
        assert!(close(round(&mut delay, &mut at, &[35; 8]), 0.015, 0.0));
        // Each packet waits a millisecond longer: in the second half, `low` is 4 ms higher, and the
        // mean 5.5.
        let rotts: Vec<i64> = (20..28).collect();
        assert!(close(round(&mut delay, &mut at, &rotts), 0.004, 0.1));
    }

    #[test]
    fn a_single_late_packet_is_no_queue_and_a_jump_no_delay() {
        let (mut delay, mut at) = (Delay::new(), MS as u64);
        round(&mut delay, &mut at, &[20; 8]);
        let late = round(&mut delay, &mut at, &[20, 20, 20, 20, 20, 90, 20, 20]);
        assert!(close(late, 0.0, 0.0), "{late:?}");
        let jump = round(&mut delay, &mut at, &[900_000; 8]);
        assert!(close(jump, 0.0, 0.0), "{jump:?}");
        assert!(close(round(&mut delay, &mut at, &[900_030; 8]), 0.030, 0.0));
    }

    #[test]
    fn few_packets_have_no_trend_and_an_old_base_is_forgotten() {
        let (mut delay, mut at) = (Delay::new(), MS as u64);
        for jitter in [[20, 35], [35, 20], [22, 40]] {
            assert!(close(round(&mut delay, &mut at, &jitter), 0.0, 0.0));
        }
        assert!(close(round(&mut delay, &mut at, &[35; 3]), 0.015, 0.0));
        // In ten minutes, a drift of 20 ppm moves the base by 12 ms.
        at += 600_000 * MS as u64;
        assert!(close(round(&mut delay, &mut at, &[32; 8]), 0.0, 0.0));
        assert!(close(round(&mut delay, &mut at, &[42; 8]), 0.010, 0.0));
    }
}
