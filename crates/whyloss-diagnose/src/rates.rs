//! Measures the delivery rate of data over windows of a round trip.

use crate::delay::Histogram;
use crate::track::Track;

/// The shortest window, in ns.
const WINDOW: u64 = 10_000_000;

/// Measures rates of delivery, in kbit/s.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rates {
    /// The start of the window, and the bytes delivered by then.
    window: (u64, u64),
    pub(crate) histogram: Histogram,
    /// The kilobytes delivered over time.
    pub(crate) track: Track,
}

impl Rates {
    /// Records that `delivered` bytes had arrived by `now`. A window is as long as the shortest
    /// round trip, in µs.
    pub(crate) fn measure(&mut self, now: u64, delivered: u64, round_trip: Option<u32>) {
        self.track
            .add(now, (delivered / 1000).min(u64::from(u32::MAX)) as u32);
        let (since, before) = self.window;
        if since == 0 {
            self.window = (now, delivered);
            return;
        }
        let span = WINDOW.max(u64::from(round_trip.unwrap_or(0)) * 1000);
        let passed = now.saturating_sub(since);
        if passed >= span {
            let bits = (delivered - before) as f64 * 8.0;
            let kbit = bits / (passed as f64 / 1e9) / 1000.0;
            self.histogram.add(kbit.min(f64::from(u32::MAX)) as u32);
            self.window = (now, delivered);
        }
    }

    /// Returns the memory in use, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.histogram.memory() + self.track.memory()
    }
}
