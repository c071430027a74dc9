//! The clocks at the edge: everything else takes the time as an argument.

use std::time;

use nix::time::{ClockId, clock_gettime};
use whyloss::Time;

/// Nanoseconds of the monotonic clock; 0 should the kernel not have one.
pub(crate) fn monotonic() -> u64 {
    read(ClockId::CLOCK_MONOTONIC)
}

/// Nanoseconds of the time of day since 1970.
pub(crate) fn time_of_day() -> u64 {
    read(ClockId::CLOCK_REALTIME)
}

fn read(clock: ClockId) -> u64 {
    clock_gettime(clock).map_or(0, |at| time::Duration::from(at).as_nanos() as u64)
}

/// Time since it was started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: u64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { start: monotonic() }
    }

    pub(crate) fn now(self) -> Time {
        Time::from_nanos(monotonic().saturating_sub(self.start))
    }
}
