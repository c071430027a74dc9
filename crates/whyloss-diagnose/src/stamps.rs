//! A sender's time stamps of 32 bits: how many ticks have passed, and what they say once the length
//! of a tick is known.

use whyloss::{Duration, Time};

/// Where the sender's time begins, so that it never gets negative.
const EPOCH: u64 = 1 << 61;
/// The assumed first relative delay, µs.
pub(crate) const FIRST: i64 = 50_000;

/// The stamps of a sender.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stamps {
    /// When the first one passed.
    first: Option<u64>,
    /// Ticks since the first stamp, and the stamp.
    now: (i64, u32),
    /// The offset that makes the first relative delay the assumed one, µs.
    offset: Option<i64>,
}

impl Stamps {
    /// A stamp passes at `at` ns; answers how long after the first one that is, in ns and in the
    /// sender's ticks.
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

    /// When the stamp that passed `elapsed` ns after the first one was set on the sender's clock,
    /// by which that is `sent` ns after the first, and the relative delay in µs.
    pub(crate) fn set(&mut self, elapsed: u64, sent: i64) -> (Time, u32) {
        let elapsed = i64::try_from(elapsed).unwrap_or(i64::MAX);
        let delay = elapsed.saturating_sub(sent) / 1000;
        let offset = *self.offset.get_or_insert(FIRST - delay);
        let delay = delay.saturating_add(offset).clamp(0, i64::from(u32::MAX));
        let sent = Duration::from_nanos(sent.clamp(-(1 << 60), 1 << 60));
        (Time::from_nanos(EPOCH) + sent, delay as u32)
    }
}
