//! The history of a path: its queue, its recent delays, and its delivered rate.
//!
//! [`Signals`] measures round trips. This file derives the quantities that the formula of `whyloss`
//! needs in addition to those of the trees.

use crate::Time;
use crate::event::{AckEvent, LossEvent};
use crate::sender::trees::{Heard, Signals};

use super::{EMPTY, SEEN};

/// The minimum number of samples in a round trip for its smallest one to distinguish a queue from
/// delayed acknowledgements.
const SAMPLES: u32 = 8;

/// The number of recent round-trip times among which the one before a loss is ranked.
const RECENT: usize = 64;

/// Follows acknowledgements, after [`Signals`].
#[derive(Clone, Debug)]
pub(super) struct History {
    /// The smallest sample of the current round trip, and the number of samples, both without
    /// recoveries.
    of_round: (i64, u32),
    /// The highest of the rounds' lowest samples, over one to two minutes.
    standing: Standing,
    /// The bytes acknowledged in the current and the previous round trip: those that met an empty
    /// queue, and all.
    met: [(u64, u64); 2],
    /// The samples of the same two round trips: those at a flat round-trip time, and all.
    flat: [(u32, u32); 2],
    recent: Recent,
    reached: Reached,
}

impl History {
    /// Creates a history without acknowledgements.
    pub(super) fn new() -> Self {
        Self {
            of_round: (i64::MAX, 0),
            standing: Standing::default(),
            met: [(0, 0); 2],
            flat: [(0, 0); 2],
            recent: Recent::NONE,
            reached: Reached::default(),
        }
    }

    /// Updates the history with an acknowledgement that moves the left edge. Update the signals
    /// first.
    #[inline]
    pub(super) fn on_ack(&mut self, ack: &AckEvent, heard: Heard, signals: &Signals) {
        for _ in 0..heard.turned {
            self.standing.turn();
        }
        self.met[0].1 = self.met[0].1.wrapping_add(ack.acked);
        if let Some(rtt) = heard.rtt {
            self.recent.add(rtt, ack.window / 32, ack.segment_size);
            let queue = self.queue(signals);
            self.flat[0].0 += u32::from(queue.is_flat_at(rtt));
            self.flat[0].1 += 1;
            if queue.is_empty_at(rtt) {
                // A filled hole acknowledges many segments with one sample.
                let few = ack.acked.min(2 * u64::from(ack.segment_size));
                self.met[0].0 = self.met[0].0.wrapping_add(few);
            }
            if !ack.in_recovery {
                let (least, samples) = self.of_round;
                self.of_round = (least.min(rtt), samples + 1);
            }
        }
        if heard.ended {
            self.met = [(0, 0), self.met[0]];
            self.flat = [(0, 0), self.flat[0]];
            self.reached.end_round(ack);
            let (least, samples) = core::mem::replace(&mut self.of_round, (i64::MAX, 0));
            if samples >= SAMPLES {
                self.standing.raise(least, ack.window);
            }
        }
    }

    /// Returns the queue that round trips indicate.
    #[inline]
    pub(super) fn queue(&self, signals: &Signals) -> Queue {
        let [last, before] = signals.last();
        let (largest, window) = self.standing.get();
        Queue {
            least: signals.least(),
            largest,
            window,
            last,
            now: last.min(signals.trough()),
            before: last.max(before),
            flat: (
                self.flat[0].0.saturating_add(self.flat[1].0),
                self.flat[0].1.saturating_add(self.flat[1].1),
            ),
            met: (
                self.met[0].0.saturating_add(self.met[1].0),
                self.met[0].1.saturating_add(self.met[1].1),
            ),
        }
    }

    /// Returns the rank of the last round-trip time among recent ones, in 65536ths.
    #[cold]
    pub(super) fn rank(&self, signals: &Signals) -> i32 {
        self.recent.rank(signals.last()[0])
    }

    /// Counts a loss of the first slow start at this window. Returns u, the number of such losses
    /// at windows of at least 1.5 times the one that last raised the delivered rate.
    pub(super) fn unpaid(&mut self, window: u64) -> u32 {
        let reached = &mut self.reached;
        // At least 1.5 times the window that last raised the rate.
        if window.saturating_mul(2) >= reached.window.saturating_mul(3) {
            reached.unpaid = reached.unpaid.saturating_add(1);
        }
        reached.unpaid
    }

    /// Returns u before the next loss.
    pub(super) fn unpaid_losses(&self) -> u32 {
        self.reached.unpaid
    }

    /// Forgets a spurious loss, before which u was `unpaid`. The delivered rate may have grown
    /// since.
    pub(super) fn forget_unpaid(&mut self, unpaid: u32) {
        self.reached.unpaid = self.reached.unpaid.min(unpaid);
    }
}

/// The queue that round trips indicate. Times are in nanoseconds; the letters are those of the
/// formula.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    /// m, the lowest round-trip time.
    pub(super) least: i64,
    /// S, the highest of the lowest samples of round trips; 0 before one is known.
    pub(super) largest: i64,
    /// W, the window in bytes at the end of the round trip of S.
    pub(super) window: u64,
    /// The last round-trip time.
    pub(super) last: i64,
    /// r, the lower of the last round-trip time and the trough.
    pub(super) now: i64,
    /// r′, the higher of the last two samples.
    pub(super) before: i64,
    /// The samples of f: the number of flat ones, and the total.
    pub(super) flat: (u32, u32),
    /// The bytes of e: those that met an empty queue, and the total.
    pub(super) met: (u64, u64),
}

impl Queue {
    fn depth(&self) -> i64 {
        self.largest - self.least
    }

    pub(super) fn is_seen(&self, loss: &LossEvent) -> bool {
        let depth = i128::from(self.depth());
        let own = depth * i128::from(self.window);
        let segments = i128::from(SEEN) * i128::from(loss.segment_size.max(1));
        depth > 0
            && (own >= segments * i128::from(self.largest) || 3 * depth >= i128::from(self.least))
    }

    pub(super) fn is_flat(&self) -> bool {
        self.is_flat_at(self.now)
    }

    /// Returns whether a round-trip time exceeds the smallest one by at most 1/32.
    #[inline]
    fn is_flat_at(&self, rtt: i64) -> bool {
        rtt - self.least <= self.least >> 5
    }

    /// Returns whether the last two samples and at least half of those of two round trips are flat.
    pub(super) fn stays_flat(&self) -> bool {
        self.is_flat_at(self.before) && self.flat.0.saturating_mul(2) >= self.flat.1
    }

    /// Returns whether this window is at most three quarters of W·m/S, the bandwidth-delay product
    /// when the queue was largest.
    pub(super) fn outsizes(&self, window: u64) -> bool {
        let [window, filled] = [window, self.window].map(i128::from);
        4 * window * i128::from(self.largest) <= 3 * filled * i128::from(self.least)
    }

    /// Returns whether the queue is empty now and was empty for at least 1/`of` of the recent
    /// bytes.
    pub(super) fn is_empty(&self, of: u64) -> bool {
        self.is_empty_at(self.now) && self.met.0.saturating_mul(of) >= self.met.1
    }

    /// Returns whether this round-trip time met an empty queue.
    #[inline]
    fn is_empty_at(&self, rtt: i64) -> bool {
        let waits = rtt - self.least;
        waits <= self.depth() >> 3 && waits <= EMPTY.as_nanos()
    }
}

/// The highest of the lowest samples of round trips over one to two buckets of time, in
/// nanoseconds. Also the window at the end of that round trip, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Standing {
    now: (i64, u64),
    /// The pair of this bucket and the one before.
    both: (i64, u64),
}

impl Standing {
    #[inline]
    fn raise(&mut self, rtt: i64, window: u64) {
        if rtt > self.now.0 {
            self.now = (rtt, window);
            if rtt > self.both.0 {
                self.both = self.now;
            }
        }
    }

    fn turn(&mut self) {
        self.both = core::mem::take(&mut self.now);
    }

    #[inline]
    fn get(&self) -> (i64, u64) {
        self.both
    }
}

/// Round-trip times spread over the last few round trips.
#[derive(Clone, Debug, PartialEq)]
struct Recent {
    /// The samples in µs. Only the first `heard` of them are set.
    rtts: [u32; RECENT],
    /// The number of samples so far.
    heard: u64,
    /// The number of samples since the last one that was kept.
    skipped: u32,
}

impl Recent {
    const NONE: Self = Self {
        rtts: [0; RECENT],
        heard: 0,
        skipped: 0,
    };

    /// Adds a sample or skips it. Keeps one sample for each `share` bytes of segments, which is
    /// 1/32 of the window, and every sample while `share` is below two segments.
    #[inline]
    fn add(&mut self, rtt: i64, share: u64, segment_size: u32) {
        self.skipped += 1;
        if share >= u64::from(segment_size) * (u64::from(self.skipped) + 1) {
            return;
        }
        self.skipped = 0;
        self.rtts[self.heard as usize % RECENT] = micros(rtt);
        self.heard += 1;
    }

    /// Returns the share of recent samples that are smaller, plus half of the share that are equal,
    /// in 65536ths. Returns 65536 if fewer than [`SAMPLES`] are known.
    fn rank(&self, rtt: i64) -> i32 {
        let kept = self.heard.min(RECENT as u64) as u32;
        if kept < SAMPLES {
            return 65536;
        }
        let rtt = micros(rtt);
        let known = &self.rtts[..kept as usize];
        let twice = |kept: &u32| u32::from(*kept < rtt) + u32::from(*kept <= rtt);
        let below: u32 = known.iter().map(twice).sum();
        (below * 32768 / kept).cast_signed()
    }
}

/// Converts to whole microseconds, the unit of the kernel. More than an hour wraps.
#[inline]
fn micros(rtt: i64) -> u32 {
    (rtt.cast_unsigned() / 1000) as u32
}

/// The state when a round trip last raised the delivered rate by a quarter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Reached {
    /// The start of the current round trip, and the bytes acknowledged by then.
    began: (Time, u64),
    /// The rate, in bytes per second.
    rate: u64,
    /// The window at the end of that round trip, in bytes.
    window: u64,
    /// The number of losses in the first slow start since then at windows of at least 1.5 times
    /// [`Self::window`]: u of the formula.
    unpaid: u32,
}

impl Reached {
    #[inline]
    fn end_round(&mut self, ack: &AckEvent) {
        let (began, from) = core::mem::replace(&mut self.began, (ack.now, ack.acknowledged));
        let took = (ack.now - began).as_nanos() / 1000;
        if took <= 0 || began == Time::ZERO {
            return;
        }
        let bytes = ack.acknowledged.saturating_sub(from);
        if bytes == 0 {
            // The transport does not report offsets, so the rate is unknown.
            return;
        }
        let rate = bytes.saturating_mul(1_000_000) / took.cast_unsigned();
        if rate.saturating_mul(4) >= self.rate.saturating_mul(5) {
            self.rate = rate;
            self.window = ack.window;
            self.unpaid = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of eight samples, three are below 103 µs and one is equal: 3.5 of 8. With fewer than eight
    /// samples, the rank is 65536. With a share of three segments, every third sample is kept.
    #[test]
    fn ranks_by_hand() {
        let mut recent = Recent::NONE;
        for rtt in 100..107 {
            recent.add(1000 * rtt, 1, 1000);
        }
        assert_eq!(recent.rank(103_000), 65536);
        recent.add(107_000, 1, 1000);
        assert_eq!(recent.rank(103_999), 65536 * 7 / 16);
        for _ in 0..9 {
            recent.add(108_000, 3000, 1000);
        }
        assert_eq!(recent.heard, 11);
    }
}
