//! The clocks of the machine; all other code takes the time as an argument.

#[cfg(not(target_os = "linux"))]
use std::sync::LazyLock;
use std::time;

#[cfg(target_os = "linux")]
use nix::time::{ClockId, clock_gettime};
use whyloss::Time;

/// Returns the nanoseconds of the monotonic clock; 0 if the kernel has none.
#[cfg(target_os = "linux")]
pub(crate) fn monotonic() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map_or(0, |at| time::Duration::from(at).as_nanos() as u64)
}

/// Returns the nanoseconds of the monotonic clock since its first reading.
#[cfg(not(target_os = "linux"))]
#[expect(
    clippy::disallowed_methods,
    reason = "this module is the edge that reads the clock"
)]
pub(crate) fn monotonic() -> u64 {
    static START: LazyLock<time::Instant> = LazyLock::new(time::Instant::now);
    START.elapsed().as_nanos() as u64
}

/// Returns the nanoseconds of the time of day since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "this module is the edge that reads the clock"
)]
pub(crate) fn time_of_day() -> u64 {
    let since = time::SystemTime::now().duration_since(time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Returns the processor time of all threads of this process so far, in seconds, without child
/// processes. Returns `None` where the system does not report it.
pub(crate) fn processor() -> Option<f64> {
    #[cfg(target_os = "linux")]
    return clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)
        .ok()
        .map(|at| time::Duration::from(at).as_secs_f64());
    #[cfg(not(target_os = "linux"))]
    None
}

/// A clock that starts at zero.
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
