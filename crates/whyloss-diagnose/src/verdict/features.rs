//! Computes the features of a loss for the combined verdict.
//!
//! Delays are those of the neighbours of the lost packet. *d* is the delay just before it, *low*
//! the smallest delay of the flow, and *top* its 99.5 % quantile.
//!
//! ```text
//! time on the link   (spacing/transmission − 1)/missing: the time between the arrivals of the
//!                    neighbours, in packets, per missing packet. A packet lost on the channel used
//!                    the link (1); one that a full queue dropped did not (0)
//! ```

use crate::delay::{Around, Delays, Ranks};
use crate::loss::Votes;

/// The number of features other than verdicts of classifiers.
const OWN: usize = 18;
/// The maximum number of features.
const ALL: usize = 32;
/// The height, as a share of the queue's range, at which the queue counts as full.
const FULL: f64 = 0.85;
/// The share of congestion losses at which the delay reaches that height.
const FULL_AT_LOSS: f64 = 0.9;

/// The names of the features. The verdicts of classifiers follow them: 1 for wireless, −1 for
/// congestion, 0 for none.
pub const NAMES: [&str; OWN] = [
    "1",
    "height (d − low)/(top − low)",
    "height squared",
    "rank of d among all delays",
    "height of the delay after",
    "height in the range of the last seconds",
    "ln(1 + packets queued)",
    "ln(1 + packets that top stands for)",
    "ln of the run",
    "log odds that losses of the flow come with a full queue",
    "full",
    "full × those log odds",
    "ln(1 + losses of the flow)",
    "ln of the share lost",
    "(d − low)/low",
    "time on the link that the lost packets took",
    "the same × height",
    "the same × ln(1 + packets queued)",
];

/// The features of one loss: those of [`NAMES`], then one for each classifier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Features(pub [f64; ALL]);

/// The features that the losses of a flow share.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    ranks: Ranks,
    low: f64,
    top: f64,
    /// The transmission time of a packet at the bottleneck, in µs.
    transmission: f64,
    odds: f64,
    losses: f64,
    share: f64,
}

impl Shared {
    /// Computes the features of a flow from its delays, and from the delays near its losses.
    /// Returns `None` if there are too few delays.
    pub(crate) fn new(
        delays: &Delays,
        around: impl Iterator<Item = Around>,
        transmission: Option<f64>,
        (lost, packets): (u64, u64),
    ) -> Option<Self> {
        const DELAYS: u64 = 20;
        let low = f64::from(delays.least()?);
        let top = f64::from(
            delays
                .histogram
                .quantile(0.995)
                .filter(|_| delays.histogram.total() >= DELAYS)?,
        );
        let level = low + FULL * (top - low);
        let (mut full, mut known) = (0.0, 0.0);
        for before in around.filter_map(|around| around.before) {
            known += 1.0;
            full += f64::from(u8::from(f64::from(before) >= level));
        }
        // Random losses have the delays of all packets.
        let ranks = delays.histogram.ranks();
        let blind = 1.0 - ranks.rank(level as u32);
        let share = (full + blind) / (known + 1.0);
        let mixed = ((share - blind) / (FULL_AT_LOSS - blind).max(0.05)).clamp(0.02, 0.98);
        Some(Self {
            ranks,
            low,
            top: top.max(low + 1.0),
            transmission: transmission.unwrap_or(1000.0).max(0.1),
            odds: (mixed / (1.0 - mixed)).ln(),
            losses: lost as f64,
            share: lost as f64 / packets.max(1) as f64,
        })
    }

    /// Returns the features of a loss; `None` if no delay near it is known.
    pub(crate) fn features(
        &self,
        around: Around,
        run: u32,
        votes: Votes,
        before_capture: bool,
    ) -> Option<Features> {
        let before = around.before.or(around.after)?;
        let height =
            |delay: u32| ((f64::from(delay) - self.low) / (self.top - self.low)).clamp(0.0, 1.2);
        let queued = (f64::from(before) - self.low).max(0.0);
        let full = f64::from(u8::from(height(before) >= FULL));
        let local = around.range.map_or(height(before), |(low, high)| {
            ((f64::from(before) - f64::from(low)) / f64::from(high.saturating_sub(low).max(1)))
                .clamp(0.0, 1.2)
        });
        // One half means unknown.
        let turn = around.spacing.map_or(0.5, |(ns, steps)| {
            let missing = if before_capture { run.into() } else { 1 };
            let missing = steps.saturating_sub(1).max(missing).max(1);
            let packets = ns as f64 / 1000.0 / self.transmission;
            ((packets - 1.0) / missing as f64).clamp(0.0, 1.5)
        });
        let own = [
            1.0,
            height(before),
            height(before).powi(2),
            self.ranks.rank(before),
            height(around.after.unwrap_or(before)),
            local,
            (1.0 + queued / self.transmission).ln(),
            (1.0 + (self.top - self.low) / self.transmission).ln(),
            f64::from(run.max(1)).ln(),
            self.odds,
            full,
            full * self.odds,
            (1.0 + self.losses).ln(),
            self.share.max(1e-5).ln(),
            (queued / self.low.max(1.0)).min(10.0),
            turn,
            turn * height(before),
            turn * (1.0 + queued / self.transmission).ln(),
        ];
        let mut features = [0.0; ALL];
        features[..OWN].copy_from_slice(&own);
        for (index, answer) in features[OWN..].iter_mut().enumerate() {
            *answer = match votes.of(index) {
                Some(whyloss::Cause::Wireless) => 1.0,
                Some(whyloss::Cause::Congestion) => -1.0,
                None => 0.0,
            };
        }
        Some(Features(features))
    }
}
