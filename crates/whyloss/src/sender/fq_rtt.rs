//! fqRTT: a loss is congestion if the round-trip time is near its value at a full queue.
//!
//! The rule is from the design note for quicly's loss-based controllers (`h2o/quicly` issue 687,
//! 2026).
//!
//! ```text
//! congestion  ⇔  there is no sample of fqRTT yet
//!             or the loss before was found no more than a round trip ago
//!             or latestRTT ≥ min(sfqRTT − fqRTTvar, minRTT + guard)         else wireless;  guard = 5 ms
//!
//! at the end of a recovery, if there is no sample yet or several packets were lost:
//!             s        = the smallest latestRTT of its losses, and of the loss before if it was that close
//!             fqRTTvar ← 3/4·fqRTTvar + 1/4·|sfqRTT − s|                    first v·s
//!             sfqRTT   ← 7/8·sfqRTT + 1/8·s                                 first s
//!
//! latestRTT  ns, the last round-trip time when the loss was found
//! v          1/2
//! ```
//!
//! The guard covers queue managers such as CoDel, which drop at 5 ms of queueing delay or more.
//!
//! Departures, and where the note is silent:
//! - quicly judges every lost packet, but a classifier only the first of a loss event. A second
//!   loss in the same window changes fqRTT, not the verdict. "Within one round trip" means within
//!   latestRTT.
//! - Several packets were lost if, during a recovery, an acknowledgement is partial (RFC 6582 §1).
//!   The same holds if another loss is found before all data in flight at the start is
//!   acknowledged.
//! - A recovery, even one after a timeout, ends when all of that data is acknowledged.
//! - Limit: with QUIC events as in [`crate::event`], the left edge advances in every recovery, so
//!   each acknowledgement looks partial. Single losses then also update fqRTT. After a few of them
//!   at an empty queue, every loss is congestion. An adapter must hold the edge at the first loss
//!   until the recovery ends or a second packet is lost.
//! - Gains and v are those of RFC 9002 §5.3; the note says only "smoothed" and "variation". With v
//!   = 1/2, the threshold starts at half of the first sample. If a full queue does not double the
//!   round-trip time, this is below minRTT. Then every loss is congestion until several episodes
//!   with several losses have lowered fqRTTvar. v is a parameter.
//! - Without a round-trip time, a loss is congestion and fqRTT does not change.

use super::SenderClassifier;
use crate::event::{AckEvent, LossEvent};
use crate::{Cause, Duration, Time};

/// fqRTT: congestion if the round-trip time at the loss is near its value at a full queue.
#[derive(Clone, Debug, PartialEq)]
pub struct FqRtt {
    guard: Duration,
    /// The initial variation fqRTTvar, as a share of the first sample of a full queue's round-trip
    /// time.
    first_variation: f64,
    /// The last round-trip time, latestRTT.
    latest: Option<Duration>,
    /// The smallest round-trip time, minRTT.
    min: Duration,
    /// The offset after the last byte in flight.
    sent: u64,
    full: Option<FullQueue>,
    /// The time of the last loss and its latestRTT.
    last_loss: Option<(Time, Duration)>,
    episode: Option<Episode>,
}

impl FqRtt {
    /// The distance from minRTT above which a round-trip time always means congestion.
    pub const GUARD: Duration = Duration::from_millis(5);
    /// The default of the initial variation fqRTTvar, as a share of the first sample of a full
    /// queue's round-trip time.
    pub const FIRST_VARIATION: f64 = 0.5;

    /// Creates a classifier. A round-trip time more than `guard` above the lowest always means
    /// congestion. `first_variation` is the initial variation as a share of the first sample.
    pub fn new(guard: Duration, first_variation: f64) -> Self {
        Self {
            guard,
            first_variation,
            latest: None,
            min: Duration::MAX,
            sent: 0,
            full: None,
            last_loss: None,
            episode: None,
        }
    }

    /// Returns the smallest round-trip time at which a loss means congestion; `None` before the
    /// first sample of fqRTT.
    pub fn threshold(&self) -> Option<Duration> {
        let guard = self.min + self.guard;
        self.full
            .map(|full| guard.min(full.smoothed - full.variation))
    }

    /// Updates an episode with an acknowledgement during its recovery.
    fn repair(&mut self, ack: &AckEvent, mut episode: Episode) {
        if ack.acknowledged < episode.recover {
            episode.several |= ack.in_recovery && ack.acked > 0;
            self.episode = Some(episode);
            return;
        }
        self.episode = None;
        if self.full.is_none() || episode.several {
            let sample = episode.sample;
            self.full = Some(match self.full {
                Some(full) => full.after(sample),
                None => FullQueue::first(sample, self.first_variation),
            });
        }
    }
}

impl Default for FqRtt {
    /// Uses the values of the design note: a guard of 5 ms, v = 1/2.
    fn default() -> Self {
        Self::new(Self::GUARD, Self::FIRST_VARIATION)
    }
}

impl SenderClassifier for FqRtt {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        self.sent = ack.acknowledged.saturating_add(ack.in_flight);
        if let Some(rtt) = ack.rtt.filter(|&rtt| rtt > Duration::ZERO) {
            self.latest = Some(rtt);
            self.min = self.min.min(rtt);
        }
        if let Some(episode) = self.episode {
            self.repair(ack, episode);
        }
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Cause {
        let Some(latest) = self.latest else {
            return Cause::Congestion;
        };
        let close = self
            .last_loss
            .replace((loss.now, latest))
            .filter(|&(at, _)| loss.now - at <= latest);
        let low = self.threshold().is_some_and(|threshold| latest < threshold);

        let mut episode = Episode {
            // Limited transmit adds to the data in flight without adding to FlightSize.
            recover: loss.first.saturating_add(loss.in_flight).max(self.sent),
            sample: latest,
            several: close.is_some() || self.episode.is_some(),
        };
        if let Some((_, rtt)) = close {
            episode.sample = episode.sample.min(rtt);
        }
        if let Some(open) = self.episode {
            episode.sample = episode.sample.min(open.sample);
        }
        self.episode = Some(episode);

        Cause::wireless_if(low && close.is_none())
    }
}

/// The round-trip time at a full queue, sfqRTT, and its variation, fqRTTvar.
#[derive(Clone, Copy, Debug, PartialEq)]
struct FullQueue {
    smoothed: Duration,
    variation: Duration,
}

impl FullQueue {
    /// Creates the state after the first sample; v is `share`.
    fn first(sample: Duration, share: f64) -> Self {
        let variation = libm::round(sample.as_nanos() as f64 * share);
        Self {
            smoothed: sample,
            variation: Duration::from_nanos(variation as i64),
        }
    }

    /// Returns the state after one more sample.
    fn after(self, sample: Duration) -> Self {
        let off = (self.smoothed - sample).as_nanos().saturating_abs();
        Self {
            smoothed: self.smoothed + (sample - self.smoothed) / 8,
            variation: self.variation + (Duration::from_nanos(off) - self.variation) / 4,
        }
    }
}

/// A loss event in recovery.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Episode {
    /// The offset at which the episode ends, when all bytes before it are acknowledged.
    recover: u64,
    /// The smallest latestRTT of the losses in this episode.
    sample: Duration,
    /// Whether several packets were lost.
    several: bool,
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, loss};
    use super::*;
    use Cause::{Congestion, Wireless};

    const MS: i64 = 1_000_000;

    fn fresh() -> FqRtt {
        FqRtt::new(FqRtt::GUARD, FqRtt::FIRST_VARIATION)
    }

    /// A sender on a path of 100 ms, with ten segments in flight.
    struct Flow {
        classifier: FqRtt,
        now: Time,
        acknowledged: u64,
        under_way: u64,
    }

    impl Flow {
        fn new() -> Self {
            let mut flow = Self {
                classifier: fresh(),
                now: Time::from_nanos(1 << 40),
                acknowledged: 0,
                under_way: 10_000,
            };
            flow.ack(100, 1, false);
            flow
        }

        /// Reports a round-trip time of `ms` and `segments` acknowledged segments.
        fn ack(&mut self, ms: i64, segments: u64, in_recovery: bool) {
            self.acknowledged += segments * 1000;
            self.classifier.on_ack(&AckEvent {
                acked: segments * 1000,
                acknowledged: self.acknowledged,
                in_flight: self.under_way,
                in_recovery,
                ..ack(ms * MS, 10_000)
            });
        }

        /// Reports a loss at a round-trip time of `ms`, a second after the previous loss.
        fn loss(&mut self, ms: i64) -> Cause {
            self.loss_after(1000, ms)
        }

        fn loss_after(&mut self, later: i64, ms: i64) -> Cause {
            self.now += Duration::from_millis(later);
            self.ack(ms, 0, false);
            self.classifier.on_loss(&LossEvent {
                now: self.now,
                first: self.acknowledged,
                in_flight: 10_000,
                ..loss(10_000)
            })
        }

        /// Returns sfqRTT and fqRTTvar in microseconds.
        fn full(&self) -> Option<(i64, i64)> {
            let full = self.classifier.full?;
            Some((
                full.smoothed.as_nanos() / 1000,
                full.variation.as_nanos() / 1000,
            ))
        }
    }

    #[test]
    fn averages_by_hand() {
        let mut flow = Flow::new();
        // The first loss is congestion, because there is no sample yet. Its end gives the first
        // sample, although it is a single loss.
        assert_eq!(flow.loss(160), Congestion);
        assert_eq!(flow.full(), None);
        flow.ack(100, 10, true);
        assert_eq!(flow.full(), Some((160_000, 80_000)));
        // Later single losses do not change fqRTT.
        flow.loss(120);
        flow.ack(100, 10, true);
        assert_eq!(flow.full(), Some((160_000, 80_000)));
        // A partial acknowledgement shows that two packets were lost. sfqRTT is 160 + (176 − 160)/8
        // = 162, and fqRTTvar is 80 + (16 − 80)/4 = 64.
        flow.loss(176);
        flow.ack(150, 4, true);
        assert_eq!(flow.full(), Some((160_000, 80_000)));
        flow.ack(150, 6, true);
        assert_eq!(flow.full(), Some((162_000, 64_000)));
    }

    #[test]
    fn the_first_variation_is_a_share_of_the_first_sample() {
        for (share, threshold) in [(0.5, 80), (0.25, 105), (0.0, 105)] {
            let mut flow = Flow::new();
            flow.classifier.first_variation = share;
            flow.loss(160);
            assert_eq!(flow.classifier.threshold(), None);
            flow.ack(100, 10, true);
            let expected = Duration::from_millis(threshold);
            assert_eq!(flow.classifier.threshold(), Some(expected), "{share}");
        }
    }

    /// Returns a flow with sfqRTT 160 ms and fqRTTvar 20 ms.
    fn taught() -> Flow {
        let mut flow = Flow::new();
        flow.classifier.full = Some(FullQueue {
            smoothed: Duration::from_millis(160),
            variation: Duration::from_millis(20),
        });
        flow
    }

    #[test]
    fn thresholds_by_hand() {
        // minRTT + 5 ms = 105 ms is below 160 − 20 ms.
        assert_eq!(taught().loss(104), Wireless);
        assert_eq!(taught().loss(105), Congestion);
        // With a wide guard, the full queue decides.
        for (ms, expected) in [(139, Wireless), (140, Congestion)] {
            let mut flow = taught();
            flow.classifier.guard = Duration::from_millis(50);
            assert_eq!(flow.loss(ms), expected);
        }
    }

    #[test]
    fn a_second_loss_within_a_round_trip_is_congestion_and_teaches() {
        let mut flow = taught();
        assert_eq!(flow.loss(100), Wireless);
        flow.ack(100, 10, true);
        assert_eq!(flow.full(), Some((160_000, 20_000)));
        // The second loss comes 104 ms later, at 104 ms. The smaller of both round-trip times is
        // the sample: sfqRTT is 160 − 60/8 = 152.5, and fqRTTvar is 20 + (60 − 20)/4 = 30.
        assert_eq!(flow.loss_after(104, 104), Congestion);
        flow.ack(100, 10, true);
        assert_eq!(flow.full(), Some((152_500, 30_000)));
        assert_eq!(flow.loss_after(105, 104), Wireless);
    }

    #[test]
    fn a_loss_before_the_end_belongs_to_the_episode() {
        let mut flow = taught();
        flow.loss(120);
        flow.ack(100, 5, false);
        // A timeout comes a second later, with 10 more segments in flight.
        flow.loss(152);
        flow.ack(100, 5, false);
        assert_eq!(flow.full(), Some((160_000, 20_000)));
        flow.ack(100, 5, false);
        // The smaller round-trip time is the sample: sfqRTT is 160 − 40/8 = 155, and fqRTTvar is 20
        // + (40 − 20)/4 = 25.
        assert_eq!(flow.full(), Some((155_000, 25_000)));
    }

    #[test]
    fn outside_a_recovery_a_partial_acknowledgement_says_nothing() {
        // A timeout retransmits everything, so later partial acknowledgements do not prove losses.
        for (in_recovery, full) in [(false, (160_000, 20_000)), (true, (155_000, 25_000))] {
            let mut flow = taught();
            flow.loss(120);
            flow.ack(100, 5, in_recovery);
            flow.ack(100, 5, in_recovery);
            assert_eq!(flow.full(), Some(full));
        }
    }

    #[test]
    fn what_limited_transmit_sent_belongs_to_the_episode() {
        // Two segments more than FlightSize are in flight.
        let mut flow = taught();
        flow.under_way = 12_000;
        flow.loss(120);
        flow.ack(100, 11, true);
        flow.ack(100, 1, true);
        assert_eq!(flow.full(), Some((155_000, 25_000)));
    }

    #[test]
    fn without_a_round_trip_time_nothing_is_learnt() {
        let mut classifier = fresh();
        assert_eq!(classifier.on_loss(&loss(1000)), Congestion);
        classifier.on_ack(&ack(0, 1000));
        assert_eq!(classifier, fresh());
    }
}
