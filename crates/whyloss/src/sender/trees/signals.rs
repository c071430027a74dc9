//! Input signals of the sender's [`Trees`](super::Trees): numbers that describe a loss event.
//!
//! ```text
//! R       ns, the last round-trip time;  R′ the one before it;  w  segments, the window
//! min, max       extrema of R over the last 10 to 20 s (`_long`: 60 to 120 s)
//! position(r)  = (r − min)/(max − min)
//! B       segments, the backlog w·(1 − min_long/R)
//! T       ns per acknowledged segment between acknowledgements that move the left edge, outside
//!         repair;  T_avg ← T_avg + (T − T_avg)/16;  T_min the smallest > 0 over 10 to 20 s
//! dev     ← dev + (min(|T − T_avg|/T_avg, 4) − dev)/50
//! D_1     ns, from the last acknowledgement that moved the edge to the first duplicate;
//! D       ns, to the last of all d duplicates
//! density(x)     losses per segment at delays (windows) like x, relative to all: 16 classes of
//!                position (long; of w from 0 to the largest over 10 to 20 s), weight −1/20000 per
//!                segment, plus ten segments at the overall rate
//! ```
//!
//! Round-trip times of zero or less are ignored. Only time differences count, so a clock offset
//! cancels. A segment counts as lost at each event and each partial acknowledgement of its
//! recovery.

use super::super::rounds::Rounds;
use crate::event::{AckEvent, LossEvent};
use crate::trees::{CLASSES, Extrema, class, hundredths, larger, position, ratio, smaller};
use crate::{Duration, Time};

/// The number of signals that describe a loss event.
pub const COUNT: usize = 16;

/// The names and meanings of the signals, in order.
pub const NAMES: [(&str, &str); COUNT] = [
    (
        "backlog",
        "B, as a share of the largest of the last 10 to 20 s, %",
    ),
    (
        "trough",
        "position of the smallest R, forgotten with gain 1/8, %",
    ),
    ("before_long", "position(R) over the long time, %"),
    ("depth", "(max_long − min_long)/min_long, %"),
    ("density_before", "density(R), %"),
    ("density_window", "density(w), %"),
    ("loss_rate", "lost segments, gain 1/200, 0.01 %"),
    ("recent_losses", "the same with gain 1/20, 0.1 %"),
    (
        "gap",
        "D_1/T_avg, %: 100 if what was lost took no time of the link",
    ),
    ("duplicates", "time between duplicates/T_avg, %"),
    ("span", "D/((d + 1)·T_min), %"),
    ("spread", "T_avg/T_min, %"),
    ("irregular", "dev, %"),
    ("jump", "position(R) − position(R′), %"),
    ("growth", "w over that two round trips ago, %"),
    (
        "timeout",
        "1 if the timer expired, or all of a period was lost",
    ),
];

/// The number of edge-moving acknowledgements before the signals are meaningful.
const WARM_UP: u64 = 8;

/// The length of a bucket of extrema in ns; extrema cover the last one to two buckets.
const SHORT: Duration = Duration::from_secs(10);
const LONG: Duration = Duration::from_secs(60);

/// The unit of the extrema of windows and backlogs: fractions per segment.
const PARTS: f64 = 100.0;

/// Follows the acknowledgements and describes loss events.
#[derive(Clone, Debug, PartialEq)]
pub struct Signals {
    /// The number of acknowledgements that moved the edge.
    acks: u64,
    /// The arrival time of the last acknowledgement that moved the edge; [`Time::MAX`] before the
    /// first.
    advanced: Time,
    first_duplicate: Time,
    duplicates: u32,
    rtt: i64,
    /// The sample before `rtt`; 0 before the second one.
    rtt_before: i64,
    /// [`f64::MAX`] before the first sample.
    trough: f64,
    /// The end times of the current short and long buckets.
    ends: [Time; 2],
    /// The earlier of the two end times.
    next_end: Time,
    short: Extrema,
    long: Extrema,
    windows: Extrema,
    backlogs: Extrema,
    t_avg: f64,
    t_min: Extrema,
    irregular: f64,
    rounds: Rounds,
    /// The windows at the start of the current and the previous round trip.
    began: [u64; 2],
    loss_rate: f64,
    recent_losses: f64,
    /// The segments acknowledged and lost, by class of delay.
    by_delay: Density,
    /// The segments acknowledged and lost, by class of window.
    by_window: Density,
    /// The weight of the latest segment. It grows, so that older segments count less.
    weight: f32,
    /// The offset at which the recovery ends, when everything before it is acknowledged.
    recover: Option<u64>,
    /// The offset after the last byte in flight.
    sent: u64,
}

impl Signals {
    /// Creates a state without acknowledgements.
    pub fn new() -> Self {
        Self {
            acks: 0,
            advanced: Time::MAX,
            first_duplicate: Time::ZERO,
            duplicates: 0,
            rtt: 0,
            rtt_before: 0,
            trough: f64::MAX,
            ends: [Time::ZERO; 2],
            next_end: Time::ZERO,
            short: Extrema::NONE,
            long: Extrema::NONE,
            windows: Extrema::NONE,
            backlogs: Extrema::NONE,
            t_avg: 0.0,
            t_min: Extrema::NONE,
            irregular: 0.0,
            rounds: Rounds::default(),
            began: [0; 2],
            loss_rate: 0.0,
            recent_losses: 0.0,
            by_delay: Density::NONE,
            by_window: Density::NONE,
            weight: 1.0,
            recover: None,
            sent: 0,
        }
    }

    /// Updates the signals with an acknowledgement.
    #[inline]
    pub fn on_ack(&mut self, ack: &AckEvent) {
        self.hear(ack);
    }

    /// Updates the signals with an acknowledgement; returns its effects if it moves the left edge.
    #[inline]
    pub(crate) fn hear(&mut self, ack: &AckEvent) -> Option<Heard> {
        self.sent = ack.acknowledged.wrapping_add(ack.in_flight);
        if let Some(recover) = self.recover {
            if ack.acknowledged >= recover {
                self.recover = None;
            } else if ack.in_recovery && ack.acked > 0 {
                self.count_loss();
            }
        }
        if ack.acked == 0 {
            if !ack.in_recovery {
                if self.duplicates == 0 {
                    self.first_duplicate = ack.now;
                }
                self.duplicates = self.duplicates.saturating_add(1);
            }
            return None;
        }
        self.duplicates = 0;
        Some(self.advance(ack))
    }

    /// Updates the signals with a loss event and returns those that describe the loss; `None`
    /// during the warm-up.
    pub fn on_loss(&mut self, loss: &LossEvent) -> Option<[i16; COUNT]> {
        let known = self.acks >= WARM_UP && self.rtt > 0;
        let described = known.then(|| self.describe(loss));
        self.count_loss();
        let window = segments(loss.window, loss.segment_size);
        self.by_delay.lost[class(self.long.get(), self.rtt)] += self.weight;
        self.by_window.lost[self.class_of(window)] += self.weight;
        let end = loss.first.saturating_add(loss.in_flight);
        self.recover = Some(end.max(self.sent));
        self.duplicates = 0;
        described
    }

    /// Returns the counts of losses, for [`Self::forget_loss`].
    #[cold]
    pub(crate) fn losses(&self) -> Losses {
        Losses {
            rates: [self.loss_rate, self.recent_losses],
            by_delay: self.by_delay.lost,
            by_window: self.by_window.lost,
            weight: self.weight,
            recover: self.recover,
        }
    }

    /// Forgets the losses after `before`, because they were spurious. The rates have decayed since,
    /// so they do not grow. Densities that were scaled down since keep the loss.
    #[cold]
    pub(crate) fn forget_loss(&mut self, before: &Losses) {
        self.loss_rate = smaller(self.loss_rate, before.rates[0]);
        self.recent_losses = smaller(self.recent_losses, before.rates[1]);
        if self.weight >= before.weight {
            self.by_delay.lost = before.by_delay;
            self.by_window.lost = before.by_window;
        }
        self.recover = before.recover;
    }

    /// Returns the smallest round-trip time of 60 to 120 s, in nanoseconds.
    #[inline]
    pub(crate) fn least(&self) -> i64 {
        self.long.get().0
    }

    /// Returns the last two round-trip times in nanoseconds, the latest first. A single one counts
    /// twice.
    #[inline]
    pub(crate) fn last(&self) -> [i64; 2] {
        match self.rtt_before {
            0 => [self.rtt; 2],
            before => [self.rtt, before],
        }
    }

    /// Returns the trough in whole nanoseconds. It falls to each lower round-trip time at once, and
    /// rises towards higher ones with gain 1/8.
    #[inline]
    pub(crate) fn trough(&self) -> i64 {
        self.trough as i64
    }

    /// Updates the signals with an acknowledgement that moves the left edge.
    #[inline]
    fn advance(&mut self, ack: &AckEvent) -> Heard {
        let turned = if ack.now >= self.next_end {
            self.turn(ack)
        } else {
            0
        };
        let acked = segments(ack.acked, ack.segment_size);
        let window = segments(ack.window, ack.segment_size);
        if ack.now >= self.advanced && self.recover.is_none() {
            let took = ack.now.since(self.advanced).as_nanos();
            self.pace(took as f64 / larger(acked, 0.5));
        }
        self.advanced = ack.now;
        self.loss_rate = decayed(self.loss_rate, 0.005 * acked);
        self.recent_losses = decayed(self.recent_losses, 0.05 * acked);
        self.windows.raise(parts(window));
        let rtt = ack.rtt.map(Duration::as_nanos).filter(|&rtt| rtt > 0);
        if let Some(rtt) = rtt {
            self.sample(rtt, window);
            if !ack.in_recovery {
                // During a recovery, the acknowledged segments may have waited at the receiver.
                self.count(acked, window);
            }
        }
        let ended = self.rounds.end_with(ack);
        if ended {
            self.began = [ack.window, self.began[0]];
            self.loss_rate = flushed(self.loss_rate);
            self.recent_losses = flushed(self.recent_losses);
        }
        self.acks += 1;
        Heard { turned, rtt, ended }
    }

    /// Begins new buckets of the extrema whose time has ended. Returns how many buckets of the long
    /// time have passed.
    #[cold]
    fn turn(&mut self, ack: &AckEvent) -> u8 {
        let (now, sampled) = (ack.now, ack.rtt.is_some_and(|rtt| rtt > Duration::ZERO));
        if self.acks == 0 {
            self.ends = [now.later(SHORT), now.later(LONG)];
            self.next_end = self.ends[0];
            return 0;
        }
        let [short, long] = [(0, SHORT), (1, LONG)].map(|(index, length)| {
            let passed = passed(self.ends[index], length, now, sampled);
            if passed > 0 {
                self.ends[index] = now.later(length);
            }
            passed
        });
        if short > 0 {
            self.short.turn_by(short);
            self.windows.turn_by(short);
            self.backlogs.turn_by(short);
            self.t_min.turn_by(short);
        }
        if long > 0 {
            self.long.turn_by(long);
        }
        self.next_end = self.ends[0].min(self.ends[1]);
        long
    }

    #[inline]
    fn pace(&mut self, each: f64) {
        if self.t_avg > 0.0 {
            let off = each - self.t_avg;
            let apart = smaller(off.abs() / self.t_avg, 4.0);
            self.irregular += 0.02 * (apart - self.irregular);
            self.t_avg += off / 16.0;
        } else {
            self.t_avg = each;
            self.irregular -= 0.02 * self.irregular;
        }
        if each >= 1.0 {
            self.t_min.lower_to(each);
        }
    }

    #[inline]
    fn sample(&mut self, rtt: i64, window: f64) {
        self.rtt_before = core::mem::replace(&mut self.rtt, rtt);
        let delay = rtt as f64;
        self.trough = smaller(self.trough + (delay - self.trough) / 8.0, delay);
        self.short.add(rtt);
        self.long.add(rtt);
        self.backlogs.raise_to(PARTS * self.backlog(window));
    }

    /// Returns B for a window.
    #[inline]
    fn backlog(&self, window: f64) -> f64 {
        window * (1.0 - ratio(self.long.get().0 as f64, self.rtt as f64))
    }

    /// Counts acknowledged segments at their delay and window.
    #[inline]
    fn count(&mut self, acked: f64, window: f64) {
        self.weight *= 1.0 + smaller(0.00005 * acked, 0.01) as f32;
        let weight = self.weight * smaller(acked, 1e3) as f32;
        self.by_delay.came[class(self.long.get(), self.rtt)] += weight;
        self.by_window.came[self.class_of(window)] += weight;
        if self.weight > 1e6 {
            self.by_delay.weigh_anew(self.weight);
            self.by_window.weigh_anew(self.weight);
            self.weight = 1.0;
        }
    }

    fn count_loss(&mut self) {
        self.loss_rate += 0.005 * (1.0 - self.loss_rate);
        self.recent_losses += 0.05 * (1.0 - self.recent_losses);
    }

    /// Returns the class of a window size.
    #[inline]
    fn class_of(&self, window: f64) -> usize {
        class((0, self.windows.get().1), parts(window))
    }

    #[cold]
    fn describe(&self, loss: &LossEvent) -> [i16; COUNT] {
        let window = segments(loss.window, loss.segment_size);
        let (short, long) = (self.short.get(), self.long.get());
        let (min, max) = (long.0 as f64, long.1 as f64);
        let range = short.1.saturating_sub(short.0) as f64;
        let t_min = self.t_min.least().map_or(0.0, |least| least as f64);
        let since = |earlier: Time| (loss.now - earlier).as_nanos() as f64;
        // −1 means that the distance is unknown.
        let (gap, apart) = match self.duplicates {
            0 => (-1.0, -1.0),
            duplicates => (
                (self.first_duplicate - self.advanced).as_nanos() as f64,
                since(self.first_duplicate) / f64::from(duplicates.max(2) - 1),
            ),
        };
        let span = since(self.advanced) / (f64::from(self.duplicates) + 1.0);
        let before = segments(self.began[1], loss.segment_size);
        let [rtt, rtt_before] = self.last();
        [
            hundredths(ratio(
                PARTS * self.backlog(window),
                self.backlogs.get().1 as f64,
            )),
            hundredths(ratio(self.trough - short.0 as f64, range)),
            hundredths(position(long, rtt)),
            hundredths(ratio(max - min, min)),
            hundredths(self.by_delay.at(class(long, rtt), self.weight)),
            hundredths(self.by_window.at(self.class_of(window), self.weight)),
            hundredths(100.0 * self.loss_rate),
            hundredths(10.0 * self.recent_losses),
            hundredths(ratio(gap, self.t_avg)),
            hundredths(ratio(apart, self.t_avg)),
            hundredths(ratio(span, t_min)),
            hundredths(ratio(self.t_avg, t_min)),
            hundredths(self.irregular),
            hundredths(position(short, rtt) - position(short, rtt_before)),
            hundredths(ratio(window, before)),
            i16::from(loss.detection.is_timeout()),
        ]
    }
}

/// The counts of losses at some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Losses {
    rates: [f64; 2],
    by_delay: [f32; CLASSES],
    by_window: [f32; CLASSES],
    weight: f32,
    recover: Option<u64>,
}

/// The effects of an acknowledgement that moves the left edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    /// The number of buckets of the long-time extrema that have passed: 0, 1, or 2 for more.
    pub(crate) turned: u8,
    /// The round-trip time that the acknowledgement gave, in nanoseconds.
    pub(crate) rtt: Option<i64>,
    /// Whether a round trip ended.
    pub(crate) ended: bool,
}

impl Default for Signals {
    fn default() -> Self {
        Self::new()
    }
}

/// Segments acknowledged and lost, by class.
#[derive(Clone, Debug, PartialEq)]
struct Density {
    came: [f32; CLASSES],
    lost: [f32; CLASSES],
}

impl Density {
    const NONE: Self = Self {
        came: [0.0; CLASSES],
        lost: [0.0; CLASSES],
    };

    /// Returns the loss rate of a class relative to the overall rate. The latest segment has weight
    /// `weight`.
    fn at(&self, class: usize, weight: f32) -> f64 {
        let (came, lost): (f32, f32) = (self.came.iter().sum(), self.lost.iter().sum());
        let overall = (lost + weight) / (came + lost + 20.0 * weight);
        let (came, lost) = (self.came[class], self.lost[class]);
        let here = (lost + 10.0 * weight * overall) / (came + lost + 10.0 * weight);
        f64::from(here / overall)
    }

    #[cold]
    fn weigh_anew(&mut self, weight: f32) {
        for count in self.came.iter_mut().chain(&mut self.lost) {
            *count /= weight;
        }
    }
}

/// Returns how many buckets of this length have passed, where the current one ends at `end`: 0, 1,
/// or 2 for more. After a long pause, the old buckets stay until a sample replaces them.
fn passed(end: Time, length: Duration, now: Time, sampled: bool) -> u8 {
    if now < end {
        0
    } else if now < end.later(length) {
        1
    } else {
        2 * u8::from(sampled)
    }
}

/// Returns a rate after forgetting `share` of it, at most half.
#[inline]
fn decayed(rate: f64, share: f64) -> f64 {
    rate * (1.0 - smaller(share, 0.5))
}

/// Returns the rate, or 0 if it is below 1e-30, because subnormal numbers are slow.
fn flushed(rate: f64) -> f64 {
    if rate < 1e-30 { 0.0 } else { rate }
}

/// Returns segments in whole [`PARTS`]. Converting to 32 bits takes few instructions.
#[inline]
fn parts(segments: f64) -> i64 {
    i64::from((PARTS * segments) as u32)
}

/// Converts bytes to full segments.
#[inline]
fn segments(bytes: u64, segment_size: u32) -> f64 {
    bytes.min(i64::MAX as u64) as i64 as f64 / f64::from(segment_size.max(1))
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::{ack, loss};
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64, ack: AckEvent) -> AckEvent {
        AckEvent {
            now: Time::from_nanos(ms * MS),
            ..ack
        }
    }

    /// Acknowledgements arrive every 10 ms at a window of ten segments. Their delay rises by 1 ms
    /// each, from 100 ms. Then three duplicates follow, the first 20 ms after the last
    /// acknowledgement, the others 10 ms apart.
    #[test]
    fn described_by_hand() {
        let mut signals = Signals::new();
        for k in 0..21 {
            let ack = ack(((100 + k) * MS) as i64, 10_000);
            let ack = ack.acknowledged((k + 1) * 1000).in_flight(10_000);
            signals.on_ack(&at(10 * k, ack));
        }
        for ms in [220, 230, 240] {
            let duplicate = ack(0, 10_000).acked(0).acknowledged(21_000);
            signals.on_ack(&at(ms, duplicate.in_flight(10_000)));
        }
        let lost = LossEvent {
            now: Time::from_nanos(240 * MS),
            ..loss(10_000)
        };
        let described = signals.on_loss(&lost.first(21_000).in_flight(10_000));
        let described = described.expect("enough was heard");
        for (name, expected) in [
            // The backlog is 10·(1 − 100/120) segments, the largest so far.
            ("backlog", 100),
            // During a rise of 1 ms each, the trough lags by 7·(1 − (7/8)^20) = 6.516 of 20 ms.
            ("trough", 67),
            ("before_long", 100),
            ("depth", 20),
            ("loss_rate", 0),
            ("recent_losses", 0),
            ("gap", 200),
            ("duplicates", 100),
            ("span", 100),
            ("spread", 100),
            ("irregular", 0),
            ("jump", 5),
            ("growth", 100),
            ("timeout", 0),
        ] {
            let place = NAMES.iter().position(|(known, _)| *known == name);
            assert_eq!(described[place.expect("a signal")], expected, "{name}");
        }
        // The loss rate after the loss event and a partial acknowledgement: the event gives 1/20,
        // which decays by 1/20 over one segment. The acknowledgement adds 1/20 of the remainder.
        signals.on_ack(&at(
            350,
            ack(0, 10_000).acknowledged(25_000).in_recovery(true),
        ));
        let recent = (0.05 + 0.05 * 0.95) * 0.95;
        assert!((signals.recent_losses - recent).abs() < 1e-12);
        // Everything in flight is acknowledged, so the recovery is over and no acknowledgement is
        // partial.
        for edge in [31_000, 32_000] {
            let ack = ack(0, 10_000).acknowledged(edge).in_recovery(true);
            signals.on_ack(&at(450, ack));
        }
        assert!((signals.recent_losses - recent * 0.95 * 0.95).abs() < 1e-12);
    }

    /// A coarse clock gives a single round-trip time, 100 ms. It also counts as the one before, so
    /// there is no jump.
    #[test]
    fn a_single_sample_does_not_jump() {
        let mut signals = Signals::new();
        for k in 0..8 {
            let rtt = if k == 3 { 100 } else { 0 };
            signals.on_ack(&at(10 * k, ack((rtt * MS) as i64, 10_000)));
        }
        assert_eq!(signals.last(), [100_000_000; 2]);
        assert_eq!(signals.trough(), 100_000_000);
        let described = signals.on_loss(&loss(10_000)).expect("enough was heard");
        let jump = NAMES.iter().position(|(name, _)| *name == "jump");
        assert_eq!(described[jump.expect("a signal")], 0);
    }

    /// The path changes while nothing is sent. The first sample afterwards is the only one in the
    /// extrema of a time that has passed, and an acknowledgement without a sample leaves them.
    #[test]
    fn extrema_expire_in_a_pause() {
        for (pause_s, short, long) in [
            (9, 100, 100),
            (19, 100, 100),
            (21, 200, 100),
            (119, 200, 100),
            (121, 200, 200),
        ] {
            let mut signals = Signals::new();
            signals.on_ack(&at(0, ack(100_000_000, 10_000)));
            let end = at(1000 * pause_s, ack(0, 10_000).rtt(None));
            signals.on_ack(&end);
            assert_eq!(signals.least(), 100_000_000, "{pause_s}");
            let turned = signals.hear(&end.rtt(Some(Duration::from_millis(200))));
            let least = [signals.short.get().0, signals.long.get().0];
            assert_eq!(least, [short, long].map(|ms| ms * 1_000_000), "{pause_s}");
            let turned = turned.map(|heard| heard.turned);
            assert_eq!(turned, Some(2 * u8::from(pause_s > 120)), "{pause_s}");
        }
    }

    /// 1e-30 is 69 factors of e below 1. After 20,000 segments, the rates are zero, and none was
    /// subnormal before.
    #[test]
    fn rates_of_loss_end_at_zero() {
        let mut signals = Signals::new();
        signals.count_loss();
        for segment in 1..=20_000_u64 {
            let ack = ack(100_000_000, 10_000)
                .acknowledged(1000 * segment)
                .in_flight(10_000);
            signals.on_ack(&ack);
            let rates = [signals.loss_rate, signals.recent_losses];
            assert!(rates.iter().all(|rate| !rate.is_subnormal()), "{rates:?}");
        }
        assert!(signals.loss_rate <= 0.0 && signals.recent_losses <= 0.0);
    }

    /// A thousand segments have delays of 100 to 115 ms, and two are lost at each delay. Then a
    /// hundred are lost at the largest delay alone.
    #[test]
    fn losses_that_look_at_the_delay_are_dense_there() {
        let mut density = Density::NONE;
        density.came = [62.5; CLASSES];
        density.lost = [2.0; CLASSES];
        assert!((density.at(15, 1.0) - 1.0).abs() < 0.1);
        density.lost[15] += 100.0;
        // In class 15, 102 of 164.5 segments are lost, a rate of 0.62. In all classes, 132 of 1132
        // are lost, a rate of 0.117. The added constants move both slightly towards each other.
        assert!((density.at(15, 1.0) - 5.1).abs() < 0.1);
        assert!(density.at(3, 1.0) < 0.5);
    }
}
