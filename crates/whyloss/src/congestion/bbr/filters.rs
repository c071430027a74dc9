//! The bandwidth of two cycles and the two windowed minima of BBR (draft-ietf-ccwg-bbr-06 §5.5.3,
//! §5.5.7, §5.5.9).

use crate::bandwidth::delivery_rate::RateSample;
use crate::{Duration, Rate, Time};

/// How long a smallest round trip counts (BBR.MinRTTFilterLen).
const MIN_RTT_FILTER: Duration = Duration::from_secs(10);
/// The time between two phases of ProbeRTT (BBR.ProbeRTTInterval).
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);

/// The largest delivery rate of this cycle of ProbeBW and of the previous one (BBR.max_bw_filter).
#[derive(Clone, Debug, Default)]
pub(super) struct MaxBandwidth {
    last_cycle: Rate,
    this_cycle: Rate,
}

impl MaxBandwidth {
    pub(super) fn get(&self) -> Rate {
        self.last_cycle.max(self.this_cycle)
    }

    pub(super) fn update(&mut self, rate: Rate) {
        self.this_cycle = self.this_cycle.max(rate);
    }

    /// Ends a cycle. A cycle without a sample does not count.
    pub(super) fn advance(&mut self) {
        if self.this_cycle > Rate::default() {
            self.last_cycle = core::mem::take(&mut self.this_cycle);
        }
    }
}

/// BBR.min_rtt over ten seconds, and the smallest round-trip time that schedules ProbeRTT.
#[derive(Clone, Debug)]
pub(super) struct MinRtt {
    /// BBR.min_rtt, the smallest round-trip time; `None` before the first sample.
    min: Option<Duration>,
    stamp: Time,
    /// BBR.probe_rtt_min_delay, the smallest round-trip time since the last ProbeRTT;
    /// [`Duration::MAX`] before the first sample.
    probe_min: Duration,
    /// BBR.probe_rtt_min_stamp, the time of `probe_min`.
    probe_stamp: Time,
}

impl MinRtt {
    pub(super) fn new() -> Self {
        Self {
            min: None,
            stamp: Time::ZERO,
            probe_min: Duration::MAX,
            probe_stamp: Time::ZERO,
        }
    }

    pub(super) fn get(&self) -> Option<Duration> {
        self.min
    }

    /// Starts the filter when the connection starts, at `now`.
    pub(super) fn start(&mut self, now: Time) {
        self.stamp = now;
        self.probe_stamp = now;
    }

    /// Updates the lowest round-trip time (UpdateMinRTT) and returns whether ProbeRTT is due.
    pub(super) fn update(&mut self, sample: &RateSample) -> bool {
        let now = sample.now;
        let expired = now > self.probe_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = sample.rtt
            && (rtt < self.probe_min || expired)
        {
            self.probe_min = rtt;
            self.probe_stamp = now;
        }
        let outdated = now > self.stamp + MIN_RTT_FILTER;
        if self.probe_min < Duration::MAX
            && (outdated || self.min.is_none_or(|min| self.probe_min < min))
        {
            self.min = Some(self.probe_min);
            self.stamp = self.probe_stamp;
        }
        expired
    }

    /// Ends ProbeRTT; the next one is due an interval later.
    pub(super) fn probed(&mut self, now: Time) {
        self.probe_stamp = now;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn the_bandwidth_is_that_of_two_cycles() {
        let mut filter = MaxBandwidth::default();
        let mbps = Rate::from_mbps;
        filter.update(mbps(8));
        filter.update(mbps(5));
        filter.advance();
        filter.update(mbps(6));
        assert_eq!(filter.get(), mbps(8));
        filter.advance();
        assert_eq!(filter.get(), mbps(6));
        filter.advance();
        assert_eq!(filter.get(), mbps(6));
    }

    #[test]
    fn the_minimum_holds_for_ten_seconds_and_probing_is_due_after_five() {
        let mut filter = MinRtt::new();
        filter.start(Time::ZERO);
        let mut told = |seconds: f64, rtt_ms| {
            let due = filter.update(&RateSample {
                now: Time::from_secs_f64(seconds),
                rtt: Some(Duration::from_millis(rtt_ms)),
                ..sample()
            });
            (due, filter.get().unwrap_or_default().as_nanos() / 1_000_000)
        };
        assert_eq!(told(1.0, 100), (false, 100));
        assert_eq!(told(6.0, 120), (false, 100));
        assert_eq!(told(6.1, 120), (true, 100));
        // The minimum set at 1 s expires at 11 s. The next sample replaces it with the one set at
        // 6.1 s.
        assert_eq!(told(11.0, 130), (false, 100));
        assert_eq!(told(11.05, 130), (false, 120));
        assert_eq!(told(11.06, 90), (false, 90));
    }
}
