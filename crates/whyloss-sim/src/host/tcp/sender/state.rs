//! The observable state of a sender: its window, timers and counts.

use whyloss::congestion::Controller;
use whyloss::{Duration, Rate};

use super::Sender;
use crate::observe::SourceState;

impl Sender {
    /// Returns the congestion window in bytes, without the inflation of a fast recovery.
    pub fn cwnd(&self) -> u64 {
        self.control.window()
    }

    /// Returns the slow start threshold in bytes; [`u64::MAX`] if there is none yet.
    pub fn ssthresh(&self) -> u64 {
        self.control.ssthresh()
    }

    /// Returns the state of congestion control.
    pub(crate) fn state(&self) -> SourceState {
        let controller = self.control.controller();
        let pacing = controller.pacing_rate();
        SourceState {
            cwnd: Some(controller.window()),
            ssthresh: Some(controller.ssthresh()).filter(|&bytes| bytes < u64::MAX),
            in_flight: Some(self.bytes(self.nxt - self.una)),
            rate: pacing.map(|rate| rate.as_bps() as f64 / 8.0),
            rtt: Some(self.latest_rtt).filter(|&rtt| rtt < Duration::MAX),
            srtt: self.srtt(),
            rto: Some(self.rto.timeout()),
            una: self.una,
        }
    }

    /// Returns the controller's estimate of the bandwidth, if it has one.
    pub fn bandwidth(&self) -> Option<Rate> {
        self.control.bandwidth()
    }

    /// Returns the current fine-grained timeout, if the controller has one (Vegas).
    pub fn fine_timeout(&self) -> Option<Duration> {
        self.control.controller().vegas()?.fine_timeout()
    }

    /// Returns the number of the next new segment.
    pub fn next(&self) -> u64 {
        self.nxt
    }

    /// Returns the smoothed round-trip time; `None` before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.rto.srtt()
    }

    /// Returns the current retransmission timeout, back-off included.
    pub fn rto(&self) -> Duration {
        self.rto.timeout()
    }

    /// Returns whether a loss is being repaired without a timeout.
    pub fn in_recovery(&self) -> bool {
        self.in_recovery
    }

    /// Returns the number of segments that the receiver has acknowledged cumulatively.
    pub fn acknowledged(&self) -> u64 {
        self.una
    }

    /// Returns the number of segments sent, retransmissions included.
    pub fn sent(&self) -> u64 {
        self.max + u64::from(self.retransmitted)
    }

    /// Returns the number of retransmissions.
    pub fn retransmitted(&self) -> u64 {
        u64::from(self.retransmitted)
    }

    /// Returns how often the retransmission timer expired with data outstanding.
    pub fn timeouts(&self) -> u64 {
        u64::from(self.timeouts)
    }

    /// Returns the number of recoveries that duplicates or SACK blocks began.
    pub fn fast_recoveries(&self) -> u64 {
        u64::from(self.fast_recoveries)
    }
}
