//! Scores a classifier in a network and summarises scores over networks.
//!
//! ```text
//! received   packets delivered to the judged flows, divided by the number under the oracle
//! balanced   1 − (Mc + Mw)/2
//! excess     congestion losses / (received + lost), minus that of the oracle, in percentage points
//! harm       1 − a/b, for a competing flow without a classifier:
//!            a   packets delivered to it beside the judged flows
//!            b   packets delivered to it if no flow has a classifier
//! ```
//!
//! Each score uses sums over the seeds of a network. Mc is computed in networks with at least
//! [`LEAST`] congestion losses, and Mw in those with at least as many wireless losses. Means over
//! networks have Student's t interval.
//!
//! Quantiles interpolate linearly. Their interval is distribution-free: it extends from order
//! statistic l to u, where P(Bin(n, q) < l) ≤ 2.5 % and P(Bin(n, q) ≥ u) ≤ 2.5 %. If no l or no u
//! satisfies this, the interval ends at the smallest or the largest value.

use whyloss::{Cause, Confusion};

/// The minimum number of losses of a cause in a network for which Mc (or Mw) is computed.
pub const LEAST: u64 = 20;

/// The number of packets that the oracle must deliver in a run. With fewer, the network counts as
/// starved: such a count varies by more than 3 %, so a share of it is not meaningful.
pub const STARVED: u64 = 1_000;

/// The packet counts of a network's judged flows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// The number of packets delivered for the first time.
    pub delivered: u64,
    /// The number of packets that arrived, including repeated ones.
    pub received: u64,
    /// The number of packets lost to queues.
    pub congestion: u64,
    /// The number of packets lost to channels.
    pub wireless: u64,
    /// The verdicts on lost packets.
    pub packets: Confusion,
    /// The number of packets delivered to the competing flow without a classifier; 0 if there is
    /// none.
    pub plain: u64,
}

impl Tally {
    /// Builds a tally from counts in the order of the metrics in the arena's plan.
    pub(super) fn of(counts: [u64; 9]) -> Self {
        let [
            delivered,
            received,
            congestion,
            wireless,
            cc,
            cw,
            wc,
            ww,
            plain,
        ] = counts;
        Self {
            delivered,
            received,
            congestion,
            wireless,
            packets: Confusion::of([[cc, cw], [wc, ww]]),
            plain,
        }
    }

    /// Returns the sum of tallies over seeds.
    pub(super) fn sum<'a>(tallies: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for tally in tallies {
            sum.delivered += tally.delivered;
            sum.received += tally.received;
            sum.congestion += tally.congestion;
            sum.wireless += tally.wireless;
            sum.packets.merge(&tally.packets);
            sum.plain += tally.plain;
        }
        sum
    }

    /// Returns the packets lost to queues, in percent of all.
    fn congestion_percent(&self) -> f64 {
        let all = self.received + self.congestion + self.wireless;
        100.0 * self.congestion as f64 / all as f64
    }
}

/// The scores of a classifier in one network. A field is `None` if there were too few packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// The mean number of packets that the oracle delivers in a run.
    pub oracle: f64,
    /// The number of packets delivered as a share of the oracle's number.
    pub received: Option<f64>,
    /// Mc: the congestion losses called wireless, in percent.
    pub mc: Option<f64>,
    /// Mw: the wireless losses called congestion, in percent.
    pub mw: Option<f64>,
    /// The balanced accuracy 1 − (Mc + Mw)/2, in [0, 1].
    pub balanced: Option<f64>,
    /// The share of packets lost to queues minus the oracle's share, in percentage points.
    pub excess: Option<f64>,
    /// The harm to a flow without a classifier in the network as drawn, in percent.
    pub harm: Option<f64>,
    /// The harm to a flow without a classifier if no channel loses packets, in percent.
    pub clean_harm: Option<f64>,
}

impl Score {
    /// Scores a classifier's tally against the oracle's in the same network.
    pub(super) fn new(own: &Tally, oracle: &Tally) -> Self {
        let share = |of: fn(&Confusion) -> Option<f64>, cause| {
            let enough = own.packets.total(cause) >= LEAST;
            of(&own.packets)
                .filter(|_| enough)
                .map(|share| 100.0 * share)
        };
        let (mc, mw) = (
            share(Confusion::mc, Cause::Congestion),
            share(Confusion::mw, Cause::Wireless),
        );
        let finite = |value: f64| value.is_finite().then_some(value);
        Self {
            oracle: oracle.delivered as f64,
            received: finite(own.delivered as f64 / oracle.delivered as f64),
            mc,
            mw,
            balanced: mc.zip(mw).map(|(mc, mw)| 1.0 - (mc + mw) / 200.0),
            excess: finite(own.congestion_percent() - oracle.congestion_percent()),
            harm: None,
            clean_harm: None,
        }
    }

    /// Returns whether the oracle delivers fewer than [`STARVED`] packets a run.
    pub fn starves(&self) -> bool {
        self.oracle < STARVED as f64
    }

    /// Clears the scores of verdicts, for a contender that gives none.
    pub(super) fn forget_verdicts(&mut self) {
        (self.mc, self.mw, self.balanced) = (None, None, None);
    }

    /// Returns the percentage that a flow without a classifier loses when its neighbours have one.
    pub(super) fn harm(own: &Tally, plain: &Tally) -> Option<f64> {
        (plain.plain >= LEAST).then(|| 100.0 * (1.0 - own.plain as f64 / plain.plain as f64))
    }
}

/// Returns quantile `q` of the values and the ends of its 95 % interval, or `None` if there are
/// none.
pub fn quantile(values: &[f64], q: f64) -> Option<(f64, [f64; 2])> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let place = q * last as f64;
    let below = libm::floor(place) as usize;
    let rest = place - below as f64;
    let value = sorted[below] + rest * (sorted[(below + 1).min(last)] - sorted[below]);
    // P(X ≤ k) for k = 0, 1, …, n and X ~ Bin(n, q). The first term, (1 − q)ⁿ, underflows if n is
    // large, so the terms are logarithms.
    let n = sorted.len();
    let mut term = n as f64 * libm::log(1.0 - q);
    let mut cumulative = Vec::with_capacity(n + 1);
    let mut sum = 0.0;
    for k in 0..=n {
        sum += libm::exp(term);
        cumulative.push(sum);
        term += libm::log((n - k) as f64 / (k + 1) as f64 * q / (1.0 - q));
    }
    // P(X < l) = P(X ≤ l − 1), and P(X ≥ u) = 1 − P(X ≤ u − 1); ranks count from 1.
    let lower = (1..=n).rev().find(|&l| cumulative[l - 1] <= 0.025);
    let upper = (1..=n).find(|&u| 1.0 - cumulative[u - 1] <= 0.025);
    let end = |rank: Option<usize>, else_rank: usize| sorted[rank.unwrap_or(else_rank) - 1];
    Some((value, [end(lower, 1), end(upper, n)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_by_hand() {
        let mut packets = Confusion::default();
        for (truth, verdict, times) in [
            (Cause::Congestion, Cause::Wireless, 5),
            (Cause::Congestion, Cause::Congestion, 20),
            (Cause::Wireless, Cause::Congestion, 30),
            (Cause::Wireless, Cause::Wireless, 70),
        ] {
            for _ in 0..times {
                packets.record(truth, verdict);
            }
        }
        let own = Tally {
            delivered: 800,
            received: 875,
            congestion: 25,
            wireless: 100,
            packets,
            plain: 90,
        };
        let oracle = Tally {
            delivered: 1_000,
            received: 940,
            congestion: 10,
            wireless: 50,
            ..Tally::default()
        };
        let score = Score::new(&own, &oracle);
        assert_eq!(score.received, Some(0.8));
        assert_eq!((score.mc, score.mw), (Some(20.0), Some(30.0)));
        assert_eq!(score.balanced, Some(0.75));
        // The share is 25 of 1000, less 10 of 1000.
        assert!((score.excess.expect("measured") - 1.5).abs() < 1e-9);
        let plain = Tally {
            plain: 120,
            ..Tally::default()
        };
        assert_eq!(Score::harm(&own, &plain), Some(25.0));
        assert_eq!(Score::harm(&own, &Tally::default()), None);
        assert!(!Score::new(&own, &oracle).starves());
        let starving = Tally {
            delivered: STARVED - 1,
            ..oracle
        };
        assert!(Score::new(&own, &starving).starves());
        let few = Tally {
            packets: Confusion::default(),
            ..own
        };
        assert_eq!(Score::new(&few, &oracle).mc, None);
    }

    /// For 1 … 41, the first decile is 5. P(Bin(41, 0.1) ≤ 0) = 1.3 % and P(≤ 1) = 7.4 %: l = 1.
    /// P(≥ 9) = 1.8 % and P(≥ 8) = 4.8 %: u = 9.
    #[test]
    fn quantiles_by_hand() {
        let values: Vec<f64> = (1..=41).rev().map(f64::from).collect();
        let (value, ends) = quantile(&values, 0.1).expect("values");
        assert!((value - 5.0).abs() < 1e-12);
        assert_eq!(ends.map(|end| end as u32), [1, 9]);
        // The ninth decile is the mirror image.
        let (value, ends) = quantile(&values, 0.9).expect("values");
        assert!((value - 37.0).abs() < 1e-12);
        assert_eq!(ends.map(|end| end as u32), [33, 41]);
        // From exact integers. 0.1ⁿ has one digit left as a float at n = 323, and none above;
        // neither has 0.9ⁿ at n = 10,000.
        for (n, q, ranks) in [
            (323, 0.9, [280, 302]),
            (330, 0.9, [286, 308]),
            (10_000, 0.9, [8_941, 9_059]),
            (10_000, 0.1, [942, 1_060]),
        ] {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            let (_, ends) = quantile(&values, q).expect("values");
            assert_eq!(ends.map(|end| end as u32), ranks, "{n}, {q}");
        }
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[2.0], 0.5), Some((2.0, [2.0, 2.0])));
    }
}
