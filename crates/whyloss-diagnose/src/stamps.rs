//! Converts a sender's 32-bit timestamps to ticks, and to times once the length of a tick is known.

use whyloss::{Duration, Time};

/// The epoch of the sender's time, so that no time is negative.
const EPOCH: u64 = 1 << 61;
/// The assumed first relative delay, in µs.
pub(crate) const FIRST: i64 = 50_000;

/// The stamps of a sender.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stamps {
    /// When the first stamp passed, in ns.
    first: Option<u64>,
    /// The ticks since the first stamp, and the latest stamp.
    now: (i64, u32),
    /// The offset in µs that gives the first relative delay the assumed value.
    offset: Option<i64>,
    /// The smallest relative delay in µs, that of the first stamp included. It may be negative.
    least: Option<i64>,
}

impl Stamps {
    /// Reads a stamp that passes at `at` ns. Returns the time since the first stamp, in ns and in
    /// the sender's ticks.
    pub(crate) fn pass(&mut self, at: u64, stamp: u32) -> (u64, i64) {
        let first = *self.first.get_or_insert_with(|| {
            self.now = (0, stamp);
            at
        });
        let step = i64::from(stamp.wrapping_sub(self.now.1) as i32);
        let ticks = self.now.0 + step;
        if step > 0 {
            self.now = (ticks, stamp);
        }
        (at.saturating_sub(first), ticks)
    }

    /// Returns when a stamp was set, on the sender's clock, and the relative delay in µs. The stamp
    /// passed `elapsed` ns after the first stamp, and was set `sent` ns after it.
    pub(crate) fn set(&mut self, elapsed: u64, sent: i64) -> (Time, u32) {
        let elapsed = i64::try_from(elapsed).unwrap_or(i64::MAX);
        let delay = elapsed.saturating_sub(sent) / 1000;
        let offset = *self.offset.get_or_insert(FIRST - delay);
        let delay = delay.saturating_add(offset);
        // The first stamp passed before the tick was known; its delay is the offset.
        let least = self.least.get_or_insert(offset);
        *least = delay.min(*least);
        let delay = delay.clamp(0, i64::from(u32::MAX));
        let sent = Duration::from_nanos(sent.clamp(-(1 << 60), 1 << 60));
        (Time::from_nanos(EPOCH) + sent, delay as u32)
    }

    /// Returns the smallest relative delay in µs; `None` until one is known.
    pub(crate) fn least(&self) -> Option<i64> {
        self.least
    }
}
