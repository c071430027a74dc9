//! Summarises a path from one flow: delays, rate, buffer and losses.

use whyloss::Cause;

use crate::delay::{Delays, Histogram};
use crate::loss::{Evidence, Loss, Side};
use crate::vantage::Vantage;

/// The quantile of delivery rates that represents the rate of the path between losses.
const FULL: f64 = 0.9;
/// The minimum number of delays for which queueing delays are reported.
const DELAYS: u64 = 10;

/// The summary of a path. A value is `None` if the flow does not show it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Portrait {
    /// The shortest round-trip time, in ms.
    pub base_rtt_ms: Option<f64>,
    /// The median, 90 % and 99 % quantiles of the delay beyond the shortest, in ms: of round trips,
    /// or of one-way delays where those show the queue, as at the receiver.
    pub queueing_ms: Option<[f64; 3]>,
    /// The 90 % quantile of the delivery rate over windows of a round trip, in Mbit/s. This is the
    /// bottleneck's rate if the flow filled it, else less.
    pub full_mbps: Option<f64>,
    /// The mean delivery rate over the whole flow, in Mbit/s.
    pub mean_mbps: Option<f64>,
    /// The median queueing delay at congestion losses, in ms, as a measure of the buffer.
    pub buffer_ms: Option<f64>,
    /// The buffer in bytes: [`Self::buffer_ms`] at the rate [`Self::full_mbps`].
    pub buffer_bytes: Option<f64>,
    /// The median queueing delay at wireless losses, in ms.
    pub wireless_at_ms: Option<f64>,
    /// The mean number of packets that the link loses in a row.
    pub wireless_run: Option<f64>,
    /// The numbers of runs of 1, 2, 3–4, 5–8 and more lost packets.
    pub runs: [u64; 5],
    /// The numbers of lost packets by cause.
    pub by_cause: ByCause,
}

/// Numbers of lost packets by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByCause {
    /// The number of packets lost to a full queue.
    pub congestion: u64,
    /// The number of packets lost by the link.
    pub wireless: u64,
    /// The number of lost packets whose cause is unclear.
    pub unknown: u64,
}

impl ByCause {
    /// Returns the number of all lost packets.
    pub fn total(self) -> u64 {
        self.congestion + self.wireless + self.unknown
    }
}

impl Portrait {
    pub(crate) fn new(
        losses: &[Loss],
        (beyond, one_way): (&Delays, &Delays),
        vantage: Vantage,
        base: Option<u64>,
        rates: &Histogram,
        (bytes, span): (u64, u64),
    ) -> Self {
        let mut portrait = Self {
            base_rtt_ms: base.map(|ns| ns as f64 / 1e6),
            ..Self::default()
        };
        let queueing = match side_with_queue(vantage, beyond, one_way) {
            Side::Beyond => beyond,
            Side::Before => one_way,
        };
        if queueing.histogram.total() >= DELAYS {
            let over = |q| queueing_ms(queueing, q).unwrap_or(0.0);
            portrait.queueing_ms = Some([over(0.5), over(0.9), over(0.99)]);
        }
        portrait.full_mbps = rates
            .quantile(FULL)
            .filter(|_| rates.total() >= 5)
            .map(|kbit| f64::from(kbit) / 1000.0);
        portrait.mean_mbps = (span > 0 && bytes > 0).then(|| bytes as f64 * 8000.0 / span as f64);
        let mut at = [Histogram::default(), Histogram::default()];
        let mut wireless_runs = 0_u64;
        let mut last: Option<&Loss> = None;
        for loss in losses {
            let packets = u64::from(loss.packets);
            let cause = loss.verdict.map(|verdict| verdict.cause);
            match cause {
                Some(Cause::Congestion) => portrait.by_cause.congestion += packets,
                Some(Cause::Wireless) => portrait.by_cause.wireless += packets,
                None => portrait.by_cause.unknown += packets,
            }
            let delays = if loss.side == Side::Beyond {
                beyond
            } else {
                one_way
            };
            if let Some((cause, before)) = cause.zip(loss.around.before) {
                at[usize::from(cause == Cause::Wireless)].add(delays.above_least(before));
            }
            if last.is_none_or(|last| !last.runs_into(loss)) {
                wireless_runs += u64::from(cause == Some(Cause::Wireless));
                let class = match loss.run {
                    0 | 1 => 0,
                    2 => 1,
                    3..=4 => 2,
                    5..=8 => 3,
                    _ => 4,
                };
                // The lost numbers of a gap count one by one, even if one loss represents them.
                portrait.runs[class] += match loss.evidence {
                    Evidence::Number => packets,
                    _ => 1,
                };
            }
            last = Some(loss);
        }
        let median = |at: &Histogram| at.quantile(0.5).map(|us| f64::from(us) / 1000.0);
        portrait.buffer_ms = median(&at[0]);
        portrait.wireless_at_ms = median(&at[1]);
        portrait.wireless_run =
            (wireless_runs > 0).then(|| portrait.by_cause.wireless as f64 / wireless_runs as f64);
        portrait.buffer_bytes = portrait
            .buffer_ms
            .zip(portrait.full_mbps)
            .map(|(ms, mbps)| ms * mbps * 125.0);
        portrait
    }
}

/// Returns the side of the point of capture whose delays show the queue of the path.
///
/// At the receiver, the delays beyond are those of its own acknowledgements. Between both ends, the
/// queue is on the side with the larger median.
pub(crate) fn side_with_queue(vantage: Vantage, beyond: &Delays, one_way: &Delays) -> Side {
    let many = |delays: &Delays| delays.histogram.total() >= DELAYS;
    let before = match vantage {
        Vantage::Sender => false,
        Vantage::Receiver => true,
        Vantage::Between(_) if many(beyond) && many(one_way) => {
            queueing_ms(one_way, 0.5) > queueing_ms(beyond, 0.5)
        }
        Vantage::Between(_) | Vantage::Log | Vantage::Unknown(_) => !many(beyond) && many(one_way),
    };
    if before { Side::Before } else { Side::Beyond }
}

/// Returns the `q`-quantile of queueing delays, in ms; `None` if there are no delays.
fn queueing_ms(delays: &Delays, q: f64) -> Option<f64> {
    let quantile = delays.histogram.quantile(q)?;
    Some(f64::from(delays.above_least(quantile)) / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(many: u64, delay: u32) -> Delays {
        let mut delays = Delays::default();
        for order in 0..many {
            let delay = if order % 4 == 0 { 0 } else { delay };
            delays.add(order * 1000, order, 1000 + delay);
        }
        delays
    }

    #[test]
    fn the_place_of_capture_tells_which_delays_show_the_queue() {
        let side = |vantage, beyond, one_way| {
            let [beyond, one_way] = [beyond, one_way].map(|(many, delay)| delays(many, delay));
            side_with_queue(vantage, &beyond, &one_way)
        };
        for (vantage, side_of_queue) in [
            (Vantage::Sender, Side::Beyond),
            (Vantage::Receiver, Side::Before),
            (Vantage::Between(0.5), Side::Before),
            (Vantage::Unknown(""), Side::Beyond),
        ] {
            let found = side(vantage, (50, 10), (20, 500));
            assert_eq!(found, side_of_queue, "{vantage:?}");
        }
        assert_eq!(
            side(Vantage::Between(0.5), (50, 500), (50, 10)),
            Side::Beyond
        );
        // Without delays on the other side, either serves.
        assert_eq!(side(Vantage::Log, (0, 0), (50, 10)), Side::Before);
        assert_eq!(side(Vantage::Between(0.5), (50, 10), (0, 0)), Side::Beyond);
    }

    #[test]
    fn acknowledgements_at_the_receiver_show_no_queue() {
        let of = |one_way: &Delays| {
            let beyond = delays(50, 10);
            let delays = (&beyond, one_way);
            let rates = Histogram::default();
            Portrait::new(&[], delays, Vantage::Receiver, None, &rates, (0, 0)).queueing_ms
        };
        assert_eq!(of(&Delays::default()), None);
        let mut known = delays(50, 2000);
        known.set_floor(Some(-3000));
        assert_eq!(of(&known), Some([6.0; 3]));
    }
}
