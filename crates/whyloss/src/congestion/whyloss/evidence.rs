//! Computes the 35 quantities that the scheme's own trees weigh at a loss: 19 of the flow's
//! history, most of them in the formula of `whyloss.rs`, and the 16 signals of the sender's
//! `trees`.
//!
//! Each quantity is a 16-bit integer, limited to its range, and is computed from whole
//! microseconds. So the kernel's program (`evidence.h` of `whyloss-kernel`) computes the same
//! numbers.

use super::WEIGHT;
use super::history::Queue;
use super::table::TREES;
use crate::event::LossEvent;
use crate::sender::trees;

/// The number of quantities.
pub const COUNT: usize = BEFORE_SIGNALS + trees::COUNT;
/// The number of quantities before the signals of the classifier.
const BEFORE_SIGNALS: usize = 19;

/// The quantities about a loss, in the order of [`NAMES`].
pub type Evidence = [i16; COUNT];

/// The names and units of the quantities, in the formula's letters.
pub const NAMES: [(&str, &str); COUNT] = {
    let mut names = [("", ""); COUNT];
    let mut at = 0;
    while at < COUNT {
        names[at] = if at < BEFORE_SIGNALS {
            NEW_NAMES[at]
        } else {
            trees::NAMES[at - BEFORE_SIGNALS]
        };
        at += 1;
    }
    names
};

const NEW_NAMES: [(&str, &str); BEFORE_SIGNALS] = [
    ("rank", "rank of the last sample, 1024ths"),
    ("R", "mean rank, gain 1/8, 1024ths"),
    ("R32", "mean rank, gain 1/32, 1024ths"),
    ("L", "thousandths"),
    ("L_mean", "L̄, thousandths"),
    ("L32", "mean of L, gain 1/32, thousandths"),
    ("rho", "ρ, 1024ths"),
    ("e", "1024ths"),
    ("f", "1024ths"),
    ("wait", "(r − m)/m, 1024ths"),
    ("before", "(r′ − m)/m, 1024ths"),
    ("wait_abs", "r − m, tenths of a millisecond"),
    ("depth", "S − m, tenths of a millisecond"),
    ("least", "m, tenths of a millisecond"),
    ("own", "W·(S − m)/S, tenths of a segment"),
    ("waiting", "w·(1 − m/last sample), tenths of a segment"),
    ("window", "w, segments"),
    ("losses", "number of losses, this one included"),
    (
        "since",
        "offset of the first lost byte beyond that of the last loss, over w, 64ths",
    ),
];

/// The number of trees.
pub const GROWN: usize = TREES.len();

/// The log-odds, in thousandths, at which cuts by these trees begin.
pub const FIRST_CUT: i32 = -300;

/// Returns the table of trees, in the form of [`trees::table`].
pub fn table() -> impl Iterator<Item = (&'static [(u8, i16); 15], &'static [i16; 16])> {
    TREES.iter().map(|tree| (&tree.questions, &tree.leaves))
}

/// Returns T, the log-odds of congestion for this evidence, in thousandths.
pub fn log_odds(evidence: &Evidence) -> i32 {
    crate::trees::log_odds(&TREES, evidence)
}

/// Means over losses of a flow, as in the formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Means {
    /// The mean rank, in 65536ths.
    pub(super) rank: i32,
    /// The mean log-odds, in thousandths.
    pub(super) odds: i32,
}

impl Means {
    /// The means before the first loss.
    pub(super) const NONE: Self = Self {
        rank: 3 * 65536 / 4,
        odds: 0,
    };

    /// Adds a loss to means with gain 1/`losses`.
    pub(super) fn add(&mut self, (rank, odds): (i32, i32), losses: i32) {
        self.rank += (rank - self.rank) / losses;
        self.odds += (odds.clamp(-WEIGHT, WEIGHT) - self.odds) / losses;
    }
}

/// The losses of a flow so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Past {
    losses: u32,
    /// The offset of the last loss.
    first: u64,
    /// The means with gain 1/32.
    long: Means,
}

/// The knowledge of the rest of the scheme about a loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context<'a> {
    pub(super) queue: &'a Queue,
    pub(super) signals: &'a [i16; trees::COUNT],
    /// The rank of the last sample in 65536ths, and the log-odds in thousandths.
    pub(super) loss: (i32, i32),
    /// The means with gain 1/8.
    pub(super) means: Means,
    /// ρ, in 65536ths.
    pub(super) empties: i32,
}

impl Past {
    /// No losses.
    pub(super) const NONE: Self = Self {
        losses: 0,
        first: 0,
        long: Means::NONE,
    };

    /// Counts a loss, and returns the evidence about it.
    pub(super) fn on_loss(&mut self, loss: &LossEvent, context: Context<'_>) -> Evidence {
        let (rank, odds) = context.loss;
        let queue = context.queue;
        self.losses = self.losses.saturating_add(1);
        self.long.add(context.loss, 32);
        let since = loss.first.saturating_sub(self.first);
        self.first = loss.first;
        let [m, r, before, last, largest] = [
            queue.least,
            queue.now,
            queue.before,
            queue.last,
            queue.largest,
        ]
        .map(micros);
        let [wait, before, depth] = [r, before, largest].map(|rtt| rtt.saturating_sub(m));
        let segments = |window: u64| window / u64::from(loss.segment_size.max(1));
        let new = [
            signed(rank / 64),
            signed(context.means.rank / 64),
            signed(self.long.rank / 64),
            signed(odds),
            signed(context.means.odds),
            signed(self.long.odds),
            signed(context.empties / 64),
            share(queue.met.0, 1024, queue.met.1),
            share(queue.flat.0.into(), 1024, queue.flat.1.into()),
            share(wait, 1024, m),
            share(before, 1024, m),
            limited(wait / 100),
            limited(depth / 100),
            limited(m / 100),
            share(10 * segments(queue.window).min(MOST), depth, largest),
            share(
                10 * segments(loss.window).min(MOST),
                last.saturating_sub(m),
                last,
            ),
            limited(segments(loss.window)),
            limited(self.losses.into()),
            share(since, 64, loss.window),
        ];
        let mut all = [0; COUNT];
        all[..BEFORE_SIGNALS].copy_from_slice(&new);
        all[BEFORE_SIGNALS..].copy_from_slice(context.signals);
        all
    }
}

/// The number of segments up to which windows are told apart, so that products fit into 64 bits.
const MOST: u64 = 1 << 24;

/// Converts to whole microseconds.
fn micros(ns: i64) -> u64 {
    ns.max(0).cast_unsigned() / 1000
}

fn signed(value: i32) -> i16 {
    value.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

fn limited(value: u64) -> i16 {
    value.min(i16::MAX as u64) as i16
}

/// Returns value·unit/whole; 0 if the divisor is 0.
fn share(value: u64, unit: u64, whole: u64) -> i16 {
    limited(value.wrapping_mul(unit).checked_div(whole).unwrap_or(0))
}
