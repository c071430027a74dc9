//! Decides whether the sender was data-limited throughout the interval that a report covers (RFC
//! 5348, 8.2.1).
//!
//! An interval of one R ends with the echoed packet. It was *not* data-limited if, at some time in
//! it, the sender had sent everything that the rate allowed. Two such times are sufficient: the
//! first after `t_new` and the first after `t_next`.

use crate::{Duration, Time};

/// The state of one sender.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DataLimits {
    /// Whether the host has ever reported that it had no data.
    possible: bool,
    /// The first time after `t_new` at which the sender was not data-limited.
    first: Time,
    /// The first time after `t_next` at which the sender was not data-limited.
    second: Time,
    /// The stamp that the last report echoed.
    t_new: Time,
    /// The arrival time of the last report.
    t_next: Time,
}

impl DataLimits {
    /// Records that the host has no data to send.
    pub(super) fn ran_dry(&mut self) {
        self.possible = true;
    }

    /// Records that the sender has sent everything that the rate allows.
    #[inline]
    pub(super) fn not_limited(&mut self, now: Time) {
        if self.first <= self.t_new {
            self.first = now;
        } else if self.second <= self.t_next {
            self.second = now;
        }
    }

    /// Updates the state with the report for the packet sent at `echo`. Returns whether its
    /// interval of `rtt` seconds was data-limited.
    pub(super) fn on_feedback(&mut self, now: Time, echo: Time, rtt: f64) -> bool {
        self.t_new = echo;
        self.t_next = now;
        let old = echo - Duration::from_secs_f64(rtt);
        let covered = |time: Time| old < time && time <= echo;
        let limited = !covered(self.first) && !covered(self.second);
        if self.first <= self.t_new && self.second > self.t_new {
            self.first = self.second;
        }
        limited && self.possible
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn an_interval_with_one_full_moment_is_not_limited() {
        let mut limits = DataLimits::default();
        limits.ran_dry();
        limits.not_limited(at(1050));
        // The interval (1000, 1100] contains 1050.
        assert!(!limits.on_feedback(at(1200), at(1100), 0.1));
        // The interval (1100, 1200] contains no such time.
        assert!(limits.on_feedback(at(1300), at(1200), 0.1));
        // 1310 is after t_new = 1200, so it is stored as the first. 1390 is not needed.
        limits.not_limited(at(1310));
        limits.not_limited(at(1390));
        assert!(!limits.on_feedback(at(1500), at(1400), 0.1));
    }

    #[test]
    fn a_host_that_always_had_data_was_never_limited() {
        assert!(!DataLimits::default().on_feedback(at(1200), at(1100), 0.1));
    }
}
