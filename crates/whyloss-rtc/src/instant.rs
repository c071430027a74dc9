//! Converts instants of the standard library to times of this crate, for stacks that use them.

use crate::Time;
use std::time::{Duration, Instant};

/// The time of the first instant. Packets that left before the first report then also have a time.
const BEGIN: Duration = Duration::from_hours(1);

/// A clock that shows one hour at the first instant it reads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock(Option<Instant>);

impl Clock {
    /// Returns the time of `at`; zero for instants more than an hour before the first.
    pub(crate) fn read(&mut self, at: Instant) -> Time {
        let first = *self.0.get_or_insert(at);
        let after = at.saturating_duration_since(first);
        let before = first.saturating_duration_since(at);
        nanos((BEGIN + after).saturating_sub(before))
    }

    /// Returns the instant of a time, once the clock has read one.
    pub(crate) fn instant(&self, time: Time) -> Option<Instant> {
        let since = Duration::from_nanos(time.as_nanos());
        self.0?.checked_add(since.checked_sub(BEGIN)?)
    }
}

pub(crate) fn nanos(span: Duration) -> Time {
    Time::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}
