//! Sources without congestion control: steady, or in bursts with pauses between.
//!
//! ```text
//! steady    a packet every size/rate; dithered: times a number drawn uniformly from 1/2 … 3/2
//!           (ns-2's Traffic/CBR with random_ 1); exponential: least + an exponential of mean size/rate − least
//!           (least = 0: Poisson)
//! bursts    a pause, then n packets every size/rate, and again from the end of the last one's interval
//!           (ns-2's Traffic/Exponential and Traffic/Pareto)
//!           n = burst·rate/size, at least 1; rounded up if exponential, else to the nearest
//! ```
//!
//! ns-2 also rounds exponential bursts to the nearest number.

use whyloss::{Duration, Rate, Time};
use whyloss_link::Random;

/// Describes when a source without congestion control sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Sends all the time, without pauses.
    Steady {
        /// The variation of the intervals between packets.
        spacing: Spacing,
        /// Later rates, each with its start time, in ascending order. The source is silent at a
        /// rate of zero; any other rate takes effect with the next packet.
        changes: Vec<(Time, Rate)>,
    },
    /// Sends in bursts with pauses between them, and starts with a pause.
    Bursts {
        /// The distribution of the lengths of bursts and pauses.
        law: Law,
        /// The mean length of a burst.
        burst: Duration,
        /// The mean length of a pause.
        idle: Duration,
    },
}

/// Says how the intervals of a steady source vary around size/rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Spacing {
    /// Every interval is exactly size/rate.
    #[default]
    Regular,
    /// Each interval is uniform between half and one and a half times its mean, so that sources do
    /// not synchronise.
    Dithered,
    /// Each interval is the shortest interval plus an exponential.
    Exponential {
        /// The shortest interval. Zero makes the source Poisson. The transmission time of the first
        /// link makes the *gaps* between packets exponential (ELA-A7). If the mean interval is
        /// shorter, every interval is the mean.
        least: Duration,
    },
}

/// The distribution of a length with a given mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Law {
    /// Every length is the mean.
    Constant,
    /// Lengths have an exponential distribution with this mean.
    #[default]
    Exponential,
    /// Pareto: lengths are above mean·(shape − 1)/shape, and longer than x with probability
    /// proportional to x^−shape.
    Pareto {
        /// The shape, above 1. Up to 2 the variance is infinite, and many such sources together are
        /// long-range dependent.
        shape: f64,
    },
}

/// The state of a source without congestion control.
#[derive(Clone, Debug)]
pub(crate) struct Datagrams {
    size: u32,
    spacing: Duration,
    /// The pattern. It holds the pending changes, in reverse order of time.
    pattern: Pattern,
    random: Random,
    pub(super) next: Time,
    /// The number of packets left in the burst.
    left: u64,
    sequence: u64,
}

impl Datagrams {
    pub(crate) fn new(
        rate: Rate,
        pattern: &Pattern,
        size: u32,
        start: Time,
        random: Random,
    ) -> Self {
        let mut source = Self {
            size,
            spacing: rate.transmission_time(size),
            pattern: pattern.clone(),
            random,
            next: start,
            left: 0,
            sequence: 0,
        };
        if let Pattern::Steady { changes, .. } = &mut source.pattern {
            changes.reverse();
        }
        source.go_on(start);
        source
    }

    /// Returns when the next packet is due.
    pub(crate) fn next_timeout(&self) -> Time {
        self.next
    }

    /// Returns the sequence number of the packet that is due at `now`, if one is.
    pub(crate) fn poll(&mut self, now: Time) -> Option<u64> {
        if self.next > now {
            return None;
        }
        self.sequence += 1;
        let interval = self.interval();
        self.go_on(self.next + interval);
        Some(self.sequence - 1)
    }

    /// Draws the interval from this packet to the next.
    fn interval(&mut self) -> Duration {
        let Pattern::Steady { spacing, .. } = self.pattern else {
            return self.spacing;
        };
        match spacing {
            Spacing::Regular => self.spacing,
            Spacing::Dithered => {
                let share = 0.5 + self.random.uniform();
                Duration::from_secs_f64(self.spacing.as_secs_f64() * share)
            }
            Spacing::Exponential { least } => {
                let least = least.min(self.spacing);
                let rest = (self.spacing - least).as_secs_f64();
                least + Duration::from_secs_f64(self.random.exponential(rest))
            }
        }
    }

    /// Sets the time of the next packet: `at`, or the end of the pause or silence that starts at
    /// `at`.
    fn go_on(&mut self, at: Time) {
        self.next = at;
        match &mut self.pattern {
            Pattern::Steady { changes, .. } => {
                while let Some((from, rate)) = changes
                    .pop_if(|&mut (from, _)| from <= self.next || self.spacing == Duration::MAX)
                {
                    self.spacing = rate.transmission_time(self.size);
                    self.next = self.next.max(from);
                }
                if self.spacing == Duration::MAX {
                    self.next = Time::MAX;
                }
            }
            &mut Pattern::Bursts { law, burst, idle } => {
                if self.left == 0 {
                    self.next = at + law.draw(idle, &mut self.random);
                    let burst = law.draw(burst, &mut self.random);
                    self.left = packets(law, burst, self.spacing);
                }
                self.left -= 1;
            }
        }
    }
}

impl Law {
    fn draw(self, mean: Duration, random: &mut Random) -> Duration {
        let seconds = mean.as_secs_f64();
        match self {
            Self::Constant => mean,
            Self::Exponential => Duration::from_secs_f64(random.exponential(seconds)),
            Self::Pareto { shape } => Duration::from_secs_f64(random.pareto(seconds, shape)),
        }
    }
}

/// Returns the number of packets of a burst.
fn packets(law: Law, burst: Duration, spacing: Duration) -> u64 {
    let (burst, spacing) = (burst.as_nanos() as u64, spacing.as_nanos().max(1) as u64);
    let packets = match law {
        Law::Exponential => burst.div_ceil(spacing),
        Law::Constant | Law::Pareto { .. } => (burst + spacing / 2) / spacing,
    };
    packets.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use whyloss_link::Streams;

    /// Returns a source of packets of 1000 bytes.
    fn source(kbps: u64, pattern: &Pattern, start_ms: i64) -> Datagrams {
        let random = Streams::new(1).stream("on-off", 0);
        let rate = Rate::from_kbps(kbps);
        Datagrams::new(rate, pattern, 1_000, millis(start_ms), random)
    }

    fn millis(millis: i64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// Returns when packets are sent, up to `end_ms`, in ms.
    fn sent(mut source: Datagrams, end_ms: i64) -> Vec<f64> {
        let mut times = Vec::new();
        while source.next_timeout() <= millis(end_ms) {
            let now = source.next_timeout();
            assert_eq!(source.poll(now), Some(times.len() as u64));
            times.push(now.as_secs_f64() * 1e3);
        }
        times
    }

    fn steady(spacing: Spacing, changes: &[(i64, u64)]) -> Pattern {
        let change = |&(at, kbps)| (millis(at), Rate::from_kbps(kbps));
        Pattern::Steady {
            spacing,
            changes: changes.iter().map(change).collect(),
        }
    }

    fn bursts(law: Law, burst_ms: i64, idle_ms: i64) -> Pattern {
        Pattern::Bursts {
            law,
            burst: Duration::from_millis(burst_ms),
            idle: Duration::from_millis(idle_ms),
        }
    }

    #[test]
    fn rates_change_by_hand() {
        // 8 Mbit/s is a packet per ms.
        let changes = [(3, 4_000), (10, 0), (15, 2_000), (20, 0), (21, 0)];
        let times = sent(source(8_000, &steady(Spacing::Regular, &changes), 1), 100);
        assert_eq!(times, [1., 2., 3., 5., 7., 9., 15., 19.]);
        // The source is silent at first. A change during silence takes effect immediately.
        let changes = [(2, 0), (5, 8_000), (7, 0)];
        let times = sent(source(0, &steady(Spacing::Regular, &changes), 1), 100);
        assert_eq!(times, [5., 6.]);
        assert_eq!(sent(source(0, &steady(Spacing::Regular, &[]), 1), 100), []);
        assert_eq!(
            sent(source(8_000, &steady(Spacing::Regular, &[(0, 0)]), 1), 100),
            []
        );
    }

    #[test]
    fn dither_keeps_the_rate() {
        let times = sent(source(8_000, &steady(Spacing::Dithered, &[]), 0), 100_000);
        let intervals = times.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(intervals.clone().all(|ms| (0.499..1.501).contains(&ms)));
        let squares: f64 = intervals.map(|ms| (ms - 1.0).powi(2)).sum();
        // A uniform interval of width w has the variance w²/12.
        assert!((times.len() as f64 / 1e5 - 1.0).abs() < 0.005);
        assert!((squares / times.len() as f64 * 12.0 - 1.0).abs() < 0.03);
    }

    /// 8 Mbit/s in packets of 1000 bytes: a packet per ms on average.
    #[test]
    fn exponential_intervals_have_their_mean_least_and_law() {
        for least in [0.0, 0.8] {
            let spacing = Spacing::Exponential {
                least: Duration::from_secs_f64(least * 1e-3),
            };
            let times = sent(source(8_000, &steady(spacing, &[]), 0), 100_000);
            let mut intervals: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
            intervals.sort_by(f64::total_cmp);
            let count = intervals.len() as f64;
            let (rest, shortest) = (1.0 - least, intervals[0]);
            assert!(
                shortest >= least - 1e-6 && shortest < least + 1e-3,
                "{shortest}"
            );
            // The standard deviation of the mean of n is rest/√n: 4 σ.
            let mean: f64 = intervals.iter().sum::<f64>() / count;
            assert!((mean - 1.0).abs() < 4.0 * rest / count.sqrt(), "{mean}");
            // Kolmogorov–Smirnov: the distance exceeds 2.23/√n with probability 10⁻⁴.
            let law = |interval: f64| -libm::expm1(-(interval - least) / rest);
            let distance = intervals.iter().enumerate().map(|(i, &x)| {
                let expected = law(x);
                (expected - i as f64 / count)
                    .abs()
                    .max((expected - (i + 1) as f64 / count).abs())
            });
            let distance = distance.fold(0.0, f64::max);
            assert!(distance < 2.23 / count.sqrt(), "{distance}");
        }
        // The rate is higher than the shortest interval allows, so the interval is the mean.
        let spacing = Spacing::Exponential {
            least: Duration::from_millis(5),
        };
        assert_eq!(
            sent(source(8_000, &steady(spacing, &[]), 0), 3),
            [0., 1., 2., 3.]
        );
    }

    #[test]
    fn constant_bursts_by_hand() {
        // 5 ms at 2 ms per packet round to 3 packets.
        let mut half = source(4_000, &bursts(Law::Constant, 5, 4), 1);
        half.spacing = Duration::from_micros(2_000);
        assert_eq!(sent(half, 21), [5., 7., 9., 15., 17., 19.]);
    }

    #[test]
    fn bursts_of_zero_length_have_a_packet() {
        let times = sent(source(8_000, &bursts(Law::Constant, 0, 4), 0), 20);
        assert_eq!(times, [4., 9., 14., 19.]);
    }

    /// MAR-11: 30 sources of 0.5 Mbit/s that are on for 100 ms and off for 200 ms send 5 Mbit/s in
    /// total.
    #[test]
    fn pareto_sources_bring_their_mean() {
        let pattern = bursts(Law::Pareto { shape: 1.5 }, 100, 200);
        let load = |seed| {
            let random = Streams::new(seed).stream("on-off", 0);
            let rate = Rate::from_kbps(500);
            let source = Datagrams::new(rate, &pattern, 1_500, Time::ZERO, random);
            sent(source, 2_000_000).len() as f64 * 12_000.0 / 2e9
        };
        let total: f64 = (1..=30).map(load).sum();
        assert!((total - 5.0).abs() < 0.25, "{total}");
    }

    proptest::proptest! {
        /// An exponential burst has as many packets as begin within it.
        #[test]
        fn exponential_bursts_hold_what_begins_in_them(burst in 0i64..1_000, spacing in 1i64..100) {
            let begins = (0..1_000).filter(|k| k * spacing < burst).count().max(1);
            let nanos = Duration::from_nanos;
            let counted = packets(Law::Exponential, nanos(burst), nanos(spacing));
            proptest::prop_assert_eq!(counted, begins as u64);
        }
    }
}
